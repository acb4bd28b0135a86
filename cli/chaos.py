"""`skincare chaos …`: break parts of the running local system and repair them, as docs/local-page.md describes."""

from typing import Annotated, Any

import typer

from cli.system import plain_errors, running_system
from local.chaos import Switch
from local.errors import LocalSystemError

app = typer.Typer(no_args_is_help=True, help="Break parts of the local system on purpose.")


@app.callback()
def chaos() -> None:
    """Break parts of the local system on purpose."""


@app.command(name="list")
def list_switches() -> None:
    """Print every switch and whether it is on."""
    with plain_errors():
        _print(_call("GET", "/_local/state")["switches"])


@app.command()
def on(switches: Annotated[list[Switch], typer.Argument(help="What to break.")]) -> None:
    """Break something."""
    with plain_errors():
        _turn([switch.value for switch in switches], on=True)


@app.command()
def off(
    switches: Annotated[list[Switch] | None, typer.Argument(help="What to repair; all by default.")] = None,
) -> None:
    """Repair something, or everything."""
    with plain_errors():
        _turn([switch.value for switch in switches] if switches else ["all"], on=False)


def _turn(names: list[str], *, on: bool) -> None:
    token = _call("GET", "/_local/state")["csrf_token"]
    for name in names:
        answer = _call("POST", "/_local/chaos", {"switch": name, "on": on}, {"X-CSRF-Token": token})
    _print(answer["switches"])


def _call(method: str, path: str, content: Any = None, headers: dict[str, str] | None = None) -> Any:
    """Return the JSON of an answer. Raises `LocalSystemError`."""
    import json

    from emulator.loopback.client import LoopbackClient
    from emulator.settings import LOOPBACK
    from local.settings import LocalSettings

    running_system()
    client = LoopbackClient(f"http://{LOOPBACK}:{LocalSettings.from_env().port}")
    try:
        answer = client.call(method, path, None if content is None else json.dumps(content).encode(), headers)
    except (OSError, ValueError) as error:
        raise LocalSystemError(f"The local system does not answer ({type(error).__name__}).") from error
    if answer.status != 200:
        raise LocalSystemError(f"The local system refuses: {answer.status} {answer.body.get('detail', '')}")
    return answer.body


def _print(switches: list[dict[str, Any]]) -> None:
    for switch in switches:
        print(f"{'on ' if switch['on'] else 'off'}  {switch['name']:<19} {switch['effect']}")
