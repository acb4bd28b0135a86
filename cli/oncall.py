"""How commands reach the on-call function, and how they end.

Exit codes: 0 done; 1 nothing matched, or not everything could be done; 2 typed wrongly, or the function found the
request malformed; 3 the function, AWS or the database could not be reached.
"""

from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from cli.system import known_secrets, running_system
from local.errors import LocalSystemError

if TYPE_CHECKING:
    from oncall.request import Request
    from skincare.adapters.functions import LambdaFunctions

LOCAL = "local"


class Exit(IntEnum):
    """What an exit code says."""

    DONE = 0
    NOT_ALL = 1
    WRONG = 2
    UNREACHABLE = 3


def _stage(value: str) -> str:
    if not value.isascii() or not value.replace("-", "").isalnum():
        raise typer.BadParameter("a stage consists of letters, digits and hyphens")
    return value


Stage = Annotated[str, typer.Option(help="Which system: local, or the name of a deployed stage.", callback=_stage)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON: the function's answer.")]


def end(code: Exit, sentence: str = "") -> NoReturn:
    """End the command, with a sentence on stderr."""
    if sentence:
        typer.echo(sentence, err=True)
    raise typer.Exit(code)


def of_stage(stage: str) -> str:
    """Return what a command that is printed for people ends in, so that it means the same system."""
    return "" if stage == LOCAL else f" --stage {stage}"


def typed[R: Request](request: type[R], **fields: Any) -> R:
    """Return a request made of what was typed; what does not fit ends the command as the function would end it."""
    from pydantic import ValidationError

    from oncall.refusals import broken_rules

    try:
        return request(**fields)
    except ValidationError as error:
        rules = broken_rules(error).items()
        end(Exit.WRONG, "".join(f"The {field.replace('_', ' ')} {rule}.\n" for field, rule in rules).rstrip())


class OnCall:
    """The on-call function of one stage."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.name = f"skincare-{stage}-oncall"

    def ask(self, request: "Request") -> Any:
        """Return the answer, None where there is no such thing; ends the command where there is none."""
        from pydantic import ValidationError

        from oncall.answers import Refusal, read_answer
        from skincare.adapters.functions import FunctionFailed, FunctionUnreachable

        try:
            answer = read_answer(request, self._functions.invoke(self.name, request.model_dump(mode="json")))
        except FunctionUnreachable as error:
            end(Exit.UNREACHABLE, f"The on-call function of stage {self.stage} cannot be reached: {error}.")
        except FunctionFailed as error:
            end(Exit.UNREACHABLE, f"No answer: {error}.")
        except ValidationError:
            end(Exit.UNREACHABLE, "The function answers what this release does not know: use the release of the stage.")
        if not isinstance(answer, Refusal):
            return answer
        if answer.error.code == "not_found":
            return None
        if answer.error.code == "not_possible":
            end(Exit.NOT_ALL, answer.error.message)
        malformed = answer.error.code == "request_malformed"
        fields = "".join(f"\n  {field}: {problem}" for field, problem in answer.error.fields.items())
        end(Exit.WRONG if malformed else Exit.UNREACHABLE, answer.error.message + fields)

    @cached_property
    def identity(self) -> str:
        """Who we are, as STS says; the function writes it down as what we claim."""
        from skincare.adapters.functions import FunctionUnreachable

        if self.stage == LOCAL:
            return LOCAL
        try:
            return self._functions.caller_identity()
        except FunctionUnreachable as error:
            end(Exit.UNREACHABLE, f"AWS does not say who you are: {error}.")

    @cached_property
    def _functions(self) -> "LambdaFunctions":
        from skincare.adapters.aws import AwsSession
        from skincare.adapters.functions import LambdaFunctions

        if self.stage != LOCAL:
            return LambdaFunctions(AwsSession())
        from emulator.settings import use_local_account

        try:
            endpoint, secrets = running_system().functions_endpoint_url, known_secrets()
        except LocalSystemError as error:
            end(Exit.UNREACHABLE, str(error))
        use_local_account(secrets.invocation_key)
        return LambdaFunctions(AwsSession(endpoint))
