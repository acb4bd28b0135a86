import json
import os
import re
import stat
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from local.errors import LocalSystemError
from local.state import StateFolder


def assert_unusable(use: Callable[[], object], reason: str = "") -> None:
    """The use fails with one sentence that names the folder, the reason and what to do."""
    with pytest.raises(LocalSystemError) as caught:
        use()
    sentence = r"The state folder .+8123 cannot be used \((.+)\): `PORT=8123 RESET=1 make run` .+\."
    found = re.fullmatch(sentence, str(caught.value))
    assert found, str(caught.value)
    assert reason in found[1]


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    folder = StateFolder(tmp_path / "8123", port=8123)
    with folder.hold("run.lock", "unused"):
        folder.prepare(reset=False)
    return folder


class TestStateFolder:
    def test_secrets_are_made_once_and_only_their_owner_may_read_them(self, state: StateFolder) -> None:
        assert state.known_secrets() is None
        made = state.secrets()
        assert state.secrets() == made == state.known_secrets()
        assert stat.S_IMODE((state.folder / "secrets.json").stat().st_mode) == 0o600

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{",
            "[]",
            "null",
            '"text"',
            '{"app_password": "x"}',
            '{"app_password": "x", "signing_key": {}}',
            '{"app_password": "x", "signing_key": null}',
            '{"app_password": "x", "signing_key": []}',
            '{"app_password": "x", "signing_key": {"kty": "oct", "k": "AAAA"}}',
            '{"app_password": "x", "signing_key": {"kty": "RSA", "n": null, "e": null}}',
        ],
    )
    def test_damaged_secrets_give_one_sentence_that_says_what_to_do(self, state: StateFolder, text: str) -> None:
        (state.folder / "secrets.json").write_text(text)
        assert_unusable(state.secrets)
        assert_unusable(state.known_secrets)

    @pytest.mark.parametrize(
        ("member", "value"),
        [
            ("app_password", None),
            ("app_password", 5),
            ("app_password", ""),
            ("app_password", "a\0b"),
            ("kid", 5),
            ("alg", "HS256"),
            ("d", "AQAB"),
            ("p", None),
        ],
    )
    def test_so_does_one_damaged_member(self, state: StateFolder, member: str, value: Any) -> None:
        made = asdict(state.secrets())
        (made if member in made else made["signing_key"])[member] = value
        (state.folder / "secrets.json").write_text(json.dumps(made))
        assert_unusable(state.secrets)

    def test_so_does_a_key_that_cannot_sign(self, state: StateFolder) -> None:
        made = asdict(state.secrets())
        made["signing_key"] = {name: made["signing_key"][name] for name in ("kty", "n", "e")}
        (state.folder / "secrets.json").write_text(json.dumps(made))
        assert_unusable(state.secrets)

    @pytest.mark.parametrize("name", ["mails.jsonl", "workers.json", "running.json", "logs/aws.log", "logs/api.log"])
    def test_a_folder_in_the_place_of_a_file_gives_one_sentence_that_names_it(
        self, state: StateFolder, name: str
    ) -> None:
        (state.folder / name).mkdir()
        assert_unusable(lambda: state.prepare(reset=False), name.rpartition("/")[2])
        state.prepare(reset=True)

    def test_a_file_in_the_place_of_the_folder_gives_one_sentence(self, tmp_path: Path) -> None:
        (tmp_path / "8123").write_text("")
        state = StateFolder(tmp_path / "8123", port=8123)
        sentence = r"8123 is in the way of the state folder: delete it\.$"
        with pytest.raises(LocalSystemError, match=sentence), state.hold("run.lock", "unused"):
            pass

    def test_reset_empties_it_but_keeps_the_locks_that_somebody_holds(self, state: StateFolder) -> None:
        state.secrets()
        state.mailbox.write_text("{}\n")
        with state.hold("run.lock", "unused"):
            state.prepare(reset=True)
            left = {entry.name for entry in state.folder.iterdir()}
        assert left == {"run.lock", "logs", "children"}

    def test_reset_tells_what_it_deleted(self, state: StateFolder) -> None:
        state.prepare(reset=True)
        (state.folder / "mails.jsonl").write_text("x")
        (state.folder / "run.lock").write_text("1")
        assert state.prepare(reset=True) == ["children", "logs", "mails.jsonl"]
        assert state.prepare(reset=False) == []

    def test_without_reset_the_data_stays(self, state: StateFolder) -> None:
        secrets = state.secrets()
        state.prepare(reset=False)
        assert state.known_secrets() == secrets

    def test_a_lock_is_held_by_one_process_whose_number_the_other_is_told(self, state: StateFolder) -> None:
        with state.hold("run.lock", "unused"):
            sentence = f"^taken by {os.getpid()}$"
            with pytest.raises(LocalSystemError, match=sentence), state.hold("run.lock", "taken by {pid}"):
                pass
            with state.hold("worker.lock", "unused"):
                pass
        with state.hold("run.lock", "unused"):
            pass


class TestTheRunningSystem:
    def test_it_is_found_while_its_process_lives(self, state: StateFolder) -> None:
        assert state.running() is None
        state.announce(database_url="postgresql://a", aws_endpoint_url="http://b", functions_endpoint_url="http://c")
        system = state.running()
        assert system is not None
        assert (system.process.pid, system.database_url, system.aws_endpoint_url) == (
            os.getpid(),
            "postgresql://a",
            "http://b",
        )
        assert stat.S_IMODE((state.folder / "running.json").stat().st_mode) == 0o600
        state.withdraw()
        assert state.running() is None

    def test_a_system_that_was_killed_is_not_found(self, state: StateFolder) -> None:
        state.announce(database_url="postgresql://a", aws_endpoint_url="http://b", functions_endpoint_url="http://c")
        file = state.folder / "running.json"
        note = json.loads(file.read_text())
        note["process"]["started"] = "at another time"
        file.write_text(json.dumps(note))
        assert state.running() is None

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"process": 1}', '{"process": {"pid": 1}}'])
    def test_a_damaged_note_means_that_nothing_runs(self, state: StateFolder, text: str) -> None:
        (state.folder / "running.json").write_text(text)
        assert state.running() is None

    def test_starting_withdraws_what_a_killed_one_had_announced(self, state: StateFolder) -> None:
        state.announce(database_url="postgresql://a", aws_endpoint_url="http://b", functions_endpoint_url="http://c")
        state.prepare(reset=False)
        assert not (state.folder / "running.json").exists()

    def test_what_it_knows_is_not_in_its_representation(self, state: StateFolder) -> None:
        state.announce(
            database_url="postgresql://user:secret@host", aws_endpoint_url="http://b", functions_endpoint_url="http://c"
        )
        assert "secret" not in repr(state.running())
        assert state.secrets().app_password not in repr(state.secrets())


class TestTheRunningSystems:
    def test_are_those_of_living_processes(self, tmp_path: Path) -> None:
        assert StateFolder.running_ports(tmp_path) == []
        for port in (8261, 8000, 8001):
            state = StateFolder(tmp_path / str(port), port=port)
            state.folder.mkdir()
            if port != 8001:
                state.announce(database_url="", aws_endpoint_url="", functions_endpoint_url="")
        (tmp_path / "demo-9000").mkdir()
        assert StateFolder.running_ports(tmp_path) == [8000, 8261]
