"""What the commands print: for people in the shop's zone, for programs in UTC, and never as a stranger likes it."""

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from cli.tables import Rupiah, print_facts, print_json, print_table

DIED = datetime(2026, 11, 30, 15, 27, 52, tzinfo=UTC)


@dataclass(frozen=True)
class Row:
    at: datetime
    id: UUID
    counts: Counter[str]


class TestForPeople:
    def test_a_table_has_the_year_and_the_zone_of_a_time(self, capsys: pytest.CaptureFixture[str]) -> None:
        print_table(("when",), [(DIED,)])
        assert "2026-11-30 22:27:52 WIB" in capsys.readouterr().out

    def test_amounts_stand_to_the_right(self, capsys: pytest.CaptureFixture[str]) -> None:
        print_table(("told",), [(Rupiah(1),), (Rupiah(129_000),)])
        assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
            "     told",
            "      Rp1",
            "Rp129.000",
        ]

    @pytest.mark.parametrize("stranger", ["a\x1b[31mb", "a\u202eb", "a\nb", "a\u200bb", "a\U000e0041b"])
    def test_nothing_acts_on_the_screen(self, capsys: pytest.CaptureFixture[str], stranger: str) -> None:
        print_table(("reason",), [(stranger,)])
        print_facts({"reason": stranger})
        printed = capsys.readouterr().out
        assert stranger not in printed
        assert printed.count(f"u{ord(stranger[1]):04x}") + printed.count(f"U{ord(stranger[1]):08x}") == 2


class TestForPrograms:
    def test_a_time_is_utc_wherever_the_database_is(self, capsys: pytest.CaptureFixture[str]) -> None:
        jakarta = DIED.astimezone(timezone(timedelta(hours=7)))
        print_json([Row(jakarta, UUID(int=7), Counter({"redriven": 1}))])
        assert json.loads(capsys.readouterr().out) == [
            {"at": "2026-11-30T15:27:52Z", "id": str(UUID(int=7)), "counts": {"redriven": 1}}
        ]
