import errno
import io
import json
import os
import re
from pathlib import Path

import pytest

from emulator.log.logbook import LogBook, readable


def no_space(_descriptor: int, _content: bytes) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


class ClosedTerminal(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError


class TestALineOnTheTerminal:
    def test_it_is_the_event_and_its_ids(self) -> None:
        line = json.dumps(
            {
                "level": "INFO",
                "location": "place:10",
                "message": "order.placed",
                "timestamp": "2026-01-01",
                "service": "skincare",
                "aws_request_id": "a-1",
                "request_id": "r-1",
                "order_number": "SKN-1",
                "attempt": 2,
                "absent": None,
            }
        )
        assert readable(line) == ("INFO", "order.placed request_id=r-1 order_number=SKN-1 attempt=2")

    def test_what_is_no_information_says_so_first(self) -> None:
        assert readable('{"level": "ERROR", "message": "job.failed"}') == ("ERROR", "ERROR job.failed")

    def test_an_error_of_the_runtime_has_its_type(self) -> None:
        line = '{"level": "ERROR", "errorType": "ValueError", "errorMessage": "no", "stackTrace": ["…"]}'
        assert readable(line) == ("ERROR", "ERROR ValueError errorMessage=no")

    @pytest.mark.parametrize("line", ["plain text", "[1]", "3", '"text"'])
    def test_what_is_no_json_object_stays_as_it_is(self, line: str) -> None:
        assert readable(line) == ("INFO", line)

    @pytest.mark.parametrize(
        "line", ['{"_aws": {}, "Orders": 1}', '{"message": "x", "route": "/health", "status": 200}']
    )
    def test_metrics_and_good_health_are_not_shown(self, line: str) -> None:
        assert readable(line) is None


class TestTheLogBook:
    def test_a_line_is_raw_in_the_file_and_readable_on_the_terminal(self, tmp_path: Path) -> None:
        terminal = io.StringIO()
        log = LogBook(tmp_path / "logs", terminal)
        log.relay("api", '{"level": "INFO", "message": "order.placed", "service": "skincare"}')
        log.close()
        assert (tmp_path / "logs" / "api.log").read_text() == (
            '{"level": "INFO", "message": "order.placed", "service": "skincare"}\n'
        )
        assert re.fullmatch(r"[0-9-]{10} [0-9:]{8} UTC api                   order.placed\n", terminal.getvalue())

    def test_a_line_does_not_act_on_the_terminal(self, tmp_path: Path) -> None:
        terminal = io.StringIO()
        log = LogBook(tmp_path, terminal)
        log.relay("api", "\x1b[31mred")
        log.close()
        assert terminal.getvalue().endswith(r"\x1b[31mred" + "\n")

    def test_without_a_terminal_the_file_is_written(self, tmp_path: Path) -> None:
        log = LogBook(tmp_path, None)
        log.event("gateway", "started", port=8000)
        log.say("nobody reads this")
        log.close()
        assert json.loads((tmp_path / "gateway.log").read_text())["port"] == 8000

    def test_a_terminal_that_was_closed_stops_nothing(self, tmp_path: Path) -> None:
        log = LogBook(tmp_path, ClosedTerminal())
        log.say("hello")
        log.relay("api", "one")
        log.relay("api", "two")
        log.close()
        assert (tmp_path / "api.log").read_text() == "one\ntwo\n"

    def test_a_full_disk_stops_nothing_and_what_it_swallowed_is_counted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log = LogBook(tmp_path, None)
        log.relay("api", "before")
        with monkeypatch.context() as disk:
            disk.setattr(os, "write", no_space)
            for _ in range(3):
                log.relay("api", "swallowed")
        log.relay("api", "after")
        log.close()
        before, lost, after = (tmp_path / "api.log").read_text().splitlines()
        assert (before, after) == ("before", "after")
        assert {name: json.loads(lost)[name] for name in ("message", "lines")} == {
            "message": "log.lines_lost",
            "lines": 3,
        }

    def test_what_json_does_not_know_stops_nothing(self, tmp_path: Path) -> None:
        log = LogBook(tmp_path, None)
        log.event("api", "some.event", at=tmp_path)
        assert json.loads((tmp_path / "api.log").read_text())["at"] == str(tmp_path)

    def test_a_line_that_a_kill_cut_off_takes_no_other_with_it(self, tmp_path: Path) -> None:
        (tmp_path / "api.log").write_text('{"message": "half')
        LogBook(tmp_path, None).relay("api", "whole")
        assert (tmp_path / "api.log").read_text().splitlines()[-1] == "whole"
