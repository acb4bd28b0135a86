"""Objects of the local S3 that outlive a run: moto forgets them when it ends.

An upload is kept as it was sent, and sent to moto again when somebody asks for the object for the first time.
"""

import io
import json
import os
import threading
from pathlib import Path
from urllib.parse import quote
from wsgiref.types import WSGIApplication

from werkzeug import Request, Response
from werkzeug.test import EnvironBuilder

_SCOPE = "/s3/aws4_request"


def file_of(folder: Path, bucket: str, key: str) -> Path:
    """Return where an object is kept."""
    return folder / bucket / quote(key, safe="")


class KeptFiles:
    """The objects of all buckets, below one folder. Safe to use from many threads."""

    def __init__(self, moto: WSGIApplication, folder: Path) -> None:
        self._moto = moto
        self._folder = folder
        self._lock = threading.Lock()
        self._known: set[Path] = set()
        """Those that moto has had in this run."""

    def holds(self, request: Request) -> bool:
        """Tell whether a request is about one object."""
        signed = request.headers.get("Authorization", "") + request.args.get("X-Amz-Credential", "")
        return _SCOPE in signed and self._file(request) is not None

    def answer(self, request: Request) -> Response:
        """Let moto answer. Raises OSError where an upload cannot be kept: it is not acknowledged then."""
        file = self._file(request)
        assert file is not None  # noqa: S101  the caller asked `holds`
        with self._lock:
            if file not in self._known and file.exists():
                self._send_again(file)
            body = request.get_data() if request.method == "PUT" else b""
            if body:
                request.environ["wsgi.input"] = io.BytesIO(body)
            response = Response.from_app(self._moto, request.environ, buffered=True)
            if request.method == "PUT" and response.status_code == 200:
                self._keep(file, request, body)
            elif request.method == "DELETE" and response.status_code == 204:
                file.unlink(missing_ok=True)
        return response

    def _file(self, request: Request) -> Path | None:
        bucket, _, key = request.path.strip("/").partition("/")
        return file_of(self._folder, bucket, key) if key and ".." not in bucket else None

    def _keep(self, file: Path, request: Request, body: bytes) -> None:
        self._known.add(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        building = file.with_suffix(".tmp")
        head = {"path": request.path, "headers": list(request.headers.items())}
        building.write_bytes(json.dumps(head).encode() + b"\n" + body)
        os.replace(building, file)

    def _send_again(self, file: Path) -> None:
        head, _, body = file.read_bytes().partition(b"\n")
        upload = json.loads(head)
        headers = [(name, value) for name, value in upload["headers"] if name.lower() != "content-length"]
        again = EnvironBuilder(path=upload["path"], method="PUT", headers=headers, data=body)
        Response.from_app(self._moto, again.get_environ(), buffered=True).close()
        self._known.add(file)
