"""Each role allows what its function was seen to do in a whole day, and nothing that has no reason."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

import pytest

from tests.artefact.calls import Call
from tests.artefact.deployed import Deployed
from tests.artefact.policy import Grant, grants

FUNCTIONS = [
    *("api", "mail-events", "migrator", "oncall", "outbox-relay"),
    *("worker-documents", "worker-notifications", "worker-payments"),
]


@dataclass(frozen=True)
class Unseen:
    """Why roles hold what no function was seen to do here. The first three are patterns."""

    who: str
    action: str
    resource: str
    reason: str

    def explains(self, who: str, grant: Grant) -> bool:
        pairs = ((who, self.who), (grant.action, self.action), (grant.resource, self.resource))
        return all(fnmatchcase(text, pattern) for text, pattern in pairs)


UNSEEN = [
    Unseen("*", "logs:*", "*", "Lambda writes the log in the function's name."),
    Unseen("*", "xray:*", "[*]", "Lambda sends the traces in the function's name."),
    Unseen("*", "ec2:*", "[*]", "Lambda joins the network in the function's name."),
    Unseen("*", "rds-db:connect", "*/app", "A token is made without a call; the database asks IAM, and here is none."),
    Unseen("outbox-relay", "sqs:SendMessage", "*-outbox-relay-failures", "Lambda tells of a run that failed."),
    Unseen("mail-events", "sqs:SendMessage", "*-mail-event-failures", "Lambda keeps an event that failed."),
    Unseen("*", "sqs:GetQueue*", "*-failures", "The CDK grants it to whoever may send, and takes no less."),
]


@pytest.fixture(scope="session")
def calls(whole_day: Deployed) -> set[Call]:
    return {call for call in whole_day.aws.calls if call.who != "tests"}


def granted(deployed: Deployed, name: str) -> list[Grant]:
    return list(grants(deployed.templates.statements_of(deployed.templates.function(name))))


class TestARole:
    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_allows_everything_that_its_function_did(self, whole_day: Deployed, calls: set[Call], name: str) -> None:
        held = granted(whole_day, name)
        denied = [
            call
            for call in sorted(calls)
            if call.who == name and not any(grant.covers(call.action, call.resource) for grant in held)
        ]
        assert denied == []

    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_holds_nothing_without_a_use_or_a_reason(self, whole_day: Deployed, calls: set[Call], name: str) -> None:
        unused = [grant for grant in granted(whole_day, name) if not _used(grant, name, calls)]
        assert [grant for grant in unused if not any(each.explains(name, grant) for each in UNSEEN)] == []

    def test_of_every_function_is_looked_at(self, whole_day: Deployed) -> None:
        names = {each.properties["FunctionName"] for each in whole_day.templates.functions()}
        assert names == {f"skincare-dev-{name}" for name in FUNCTIONS}


class TestTheRecord:
    def test_read_every_request_of_a_function(self, whole_day: Deployed) -> None:
        assert [each for each in whole_day.aws.unread if not each.startswith("tests:")] == []

    def test_knows_each_function_that_calls_aws(self, calls: set[Call]) -> None:
        assert {call.who for call in calls} == {*FUNCTIONS} - {"mail-events"}


@pytest.mark.parametrize("reason", UNSEEN, ids=lambda each: f"{each.who} {each.action}")
def test_a_reason_is_still_needed(whole_day: Deployed, calls: set[Call], reason: Unseen) -> None:
    unused = [
        (name, grant) for name in FUNCTIONS for grant in granted(whole_day, name) if not _used(grant, name, calls)
    ]
    assert any(reason.explains(name, grant) for name, grant in unused)


def _used(grant: Grant, name: str, calls: set[Call]) -> bool:
    return any(call.who == name and grant.covers(call.action, call.resource) for call in calls)
