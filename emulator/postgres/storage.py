"""Folders that the server's account reaches: where the data lives, and a cache of what is dear to make."""

import contextlib
import fcntl
import hashlib
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from emulator.postgres.account import is_root
from emulator.postgres.errors import PostgresFailed
from emulator.postgres.process import stop_survivor

STATE_OF_ROOT = Path("/var/lib/skincare-postgres")
CACHE_OF_ROOT = Path("/var/cache/skincare-postgres")
"""Not /var/tmp: systemd-tmpfiles deletes single files there that nobody read for 30 days, and a database
has such files."""


@contextlib.contextmanager
def sole_use(folder: Path) -> Iterator[None]:
    """Hold the folder's lock: it tells the server of a living parent from one that was left behind.

    Raises PostgresFailed when another program holds it.
    """
    with open(folder / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PostgresFailed(f"Another program runs the database in {folder}; stop it first.") from None
        yield


def open_to_all(path: Path) -> bool:
    """Whether an account that owns none of it may pass all folders down to `path`, and `path` itself."""
    path = path.resolve()
    return all(part.stat().st_mode & stat.S_IXOTH for part in (path, *path.parents))


def data_folder(folder: Path) -> Path:
    """Return where the data is, or where it shall be created so that the server's account reaches it."""
    data = folder / "data"
    if data.exists():
        return data.resolve()
    if not is_root() or open_to_all(folder):
        return data.resolve()
    _folder_for_all(STATE_OF_ROOT)
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    remote = _folder_for_all(STATE_OF_ROOT / name) / "data"
    if remote.exists():  # its folder was deleted, so the data was meant to go as well
        stop_survivor(remote)
        shutil.rmtree(remote)
    return remote


@contextlib.contextmanager
def complete_or_absent(target: Path) -> Iterator[Path]:
    """Give a new folder that takes the name `target` only when the block is through.

    What an interrupted block left behind is thus never mistaken for the real thing, and is removed here.
    """
    prefix = f"{target.name}.building-"
    for leftover in target.parent.glob(f"{prefix}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    building = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
    try:
        yield building
        building.rename(target)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise


def cached(name: str, build: Callable[[Path], None]) -> Path:
    """Return a cache entry, built the first time; of several processes one builds and the others wait."""
    cache = _folder_for_all(CACHE_OF_ROOT if is_root() else Path.home() / ".cache" / "skincare-postgres")
    target = cache / name
    if not target.exists():
        with open(cache / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                with complete_or_absent(target) as building:
                    build(building)
    return target


def _folder_for_all(folder: Path) -> Path:
    """Make a folder of ours that the server's account may pass, whatever the umask is."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    return folder
