"""What Lambda's own image has: a Python without any package of ours, the runtime interface client and the SDK."""

import re
import sys
from importlib import metadata
from pathlib import Path

INTERPRETER = str(getattr(sys, "_base_executable", sys.executable))
"""The Python that the environment was made of: none of the environment's packages is importable there."""

_BROUGHT = ("awslambdaric", "boto3")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def make_runtime(folder: Path) -> Path:
    """Fill a folder with links to the packages that Lambda brings, and return it."""
    for name in sorted(_with_dependencies(_BROUGHT)):
        distribution = metadata.distribution(name)
        for top in {file.parts[0] for file in distribution.files or () if file.parts[0] not in {"..", "__pycache__"}}:
            link = folder / top
            if not link.exists():
                link.symlink_to(Path(str(distribution.locate_file(top))))
    return folder


def _with_dependencies(names: tuple[str, ...]) -> set[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        for requirement in metadata.requires(name) or ():
            match = _NAME.match(requirement)
            if match and "extra ==" not in requirement:
                waiting.append(match[0])
    return found
