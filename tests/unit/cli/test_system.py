import pytest

from cli import system
from local.errors import LocalSystemError
from local.state import StateFolder


@pytest.mark.parametrize(
    ("others", "sentence"),
    [
        ([], "No local system runs on port 1: start it with `PORT=1 make run`."),
        ([8261], "No local system runs on port 1: start it with `PORT=1 make run`, or say PORT=8261, where one runs."),
    ],
)
def test_a_system_on_another_port_is_named(monkeypatch: pytest.MonkeyPatch, others: list[int], sentence: str) -> None:
    monkeypatch.setenv("PORT", "1")
    monkeypatch.setattr(StateFolder, "running_ports", lambda: others)
    with pytest.raises(LocalSystemError) as refusal:
        system.running_system()
    assert str(refusal.value) == sentence
