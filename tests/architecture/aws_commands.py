"""Command lines of `aws` as documents write them, held against the API models of the AWS SDK. Nothing is called."""

import re
from functools import cache

from botocore import xform_name
from botocore.model import ServiceModel
from botocore.session import Session

_CODE = re.compile(r"^```sh\n(.*?)^```|`([^`\n]+)`", flags=re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"\baws ([a-z0-9]+) ([a-z0-9-]+)((?:(?!\baws )[^#)\n])*)")
_OPTION = re.compile(r"(?:^| )--([a-z][a-z0-9-]*)")

_NAMES = {"deploy": "codedeploy"}
"""What the command line calls other than the SDK does."""
_OF_EVERY_COMMAND = {"query", "output", "region"}
# Not in the SDK. Source: AWS CLI command reference, "logs tail" and "rds wait".
_OF_THE_COMMAND_LINE = {
    ("logs", "tail"): {"since", "filter-pattern", "follow"},
    ("rds", "wait"): {"db-instance-identifier", "db-snapshot-identifier"},
}


def aws_commands_in(document: str) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return service, operation and options of each `aws` command in the code of a Markdown document."""
    pieces = [(block or inline).replace("\\\n", " ") for block, inline in _CODE.findall(document)]
    return [
        (found[1], found[2], tuple(_OPTION.findall(found[3]))) for piece in pieces for found in _COMMAND.finditer(piece)
    ]


def flaw_of(service: str, operation: str, options: tuple[str, ...]) -> str | None:
    """Return why AWS does not know a command, None where it does."""
    known = _OF_THE_COMMAND_LINE.get((service, operation))
    if known is None:
        model = _model(_NAMES.get(service, service))
        names = {xform_name(name, "-"): name for name in model.operation_names} if model else {}
        if operation not in names:
            return f"AWS knows no {service} {operation}"
        shape = model.operation_model(names[operation]).input_shape if model else None
        known = {xform_name(member, "-") for member in shape.members} if shape else set()
    unknown = set(options) - known - _OF_EVERY_COMMAND
    return f"{service} {operation} has no {', '.join(sorted(unknown))}" if unknown else None


@cache
def _model(service: str) -> ServiceModel | None:
    session = Session()
    return session.get_service_model(service) if service in session.get_available_services() else None
