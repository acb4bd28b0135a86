"""Earlier releases, kept as the code that they ran: `python -m tests.support.releases COMMIT` records one.

An archive is named after the last migration of its release. It holds what a function runs, but no fonts and no
certificates, and `release_at_work.py` as it was then.
"""

import io
import lzma
import subprocess
import sys
import tarfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "data/releases"
SCRIPT = Path(__file__).with_name("release_at_work.py")
PACKAGES = ("functions", "layers/shared/python")
LEFT_OUT = (".ttf", ".pem")
ENDING = ".tar.xz"


def recorded() -> list[str]:
    """Return the names of the releases, the earliest first."""
    return sorted(path.name.removesuffix(ENDING) for path in FOLDER.glob(f"*{ENDING}"))


def unpack(name: str, folder: Path) -> Path:
    """Put the code of a release into a folder and return it."""
    with tarfile.open(FOLDER / f"{name}{ENDING}") as archive:
        archive.extractall(folder, filter="data")
    return folder


def record(commit: str) -> Path:
    """Write the archive of a commit; the same for the same commit and the same script."""
    packed = subprocess.run(["git", "archive", commit, *PACKAGES], check=True, capture_output=True).stdout
    tar = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(packed)) as source, tarfile.open(fileobj=tar, mode="w") as target:
        members = [each for each in source if not each.name.endswith(LEFT_OUT)]
        for member in members:
            target.addfile(member, source.extractfile(member))
        script = tarfile.TarInfo(SCRIPT.name)
        script.size = SCRIPT.stat().st_size
        target.addfile(script, io.BytesIO(SCRIPT.read_bytes()))
    last = max(Path(each.name).name for each in members if "/database/migrations/" in each.name)
    path = FOLDER / f"{last[:4]}{ENDING}"
    path.write_bytes(lzma.compress(tar.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    return path


if __name__ == "__main__":
    print(record(sys.argv[1]))
