"""Times as people read and type them: one zone in both directions, whatever the machine is set to."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skincare.moments import iso, read_moment, shown

DIED = datetime(2026, 11, 30, 15, 27, 52, 123456, tzinfo=UTC)

moments = st.datetimes(timezones=st.timezones() | st.just(UTC)).filter(lambda each: 2 <= each.year <= 9998)


@pytest.fixture(params=["UTC", "Asia/Jakarta", "America/Los_Angeles"])
def machine_zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("machine_zone")
class TestAMomentIsPrinted:
    def test_with_its_year_and_its_zone(self) -> None:
        assert shown(DIED) == "2026-11-30 22:27:52 WIB"

    def test_for_programs_in_utc(self) -> None:
        assert iso(DIED.astimezone(timezone(timedelta(hours=-8)))) == "2026-11-30T15:27:52.123456Z"

    def test_even_where_jakarta_has_no_such_year(self) -> None:
        assert shown(datetime.max.replace(tzinfo=UTC)) == "9999-12-31 23:59:59 UTC"


@pytest.mark.usefixtures("machine_zone")
class TestAMomentIsRead:
    @pytest.mark.parametrize(
        "text",
        [
            "2026-11-30 22:27:52 WIB",
            "2026-11-30 22:27:52",
            "2026-11-30T22:27:52",
            "2026-11-30t22:27:52wib",
            " 2026-11-30  22:27:52 ",
            "2026-11-30T15:27:52Z",
            "2026-11-30 15:27:52 UTC",
            "2026-11-30T15:27:52.000000Z",
            "2026-11-30T23:27:52+08:00",
            "2026-11-30T07:27:52-0800",
        ],
    )
    def test_in_the_zone_that_it_names_and_else_in_the_one_that_is_printed(self, text: str) -> None:
        assert read_moment(text) == DIED.replace(microsecond=0)

    def test_without_seconds_or_without_a_time(self) -> None:
        assert read_moment("2026-11-30 22:27") == datetime(2026, 11, 30, 15, 27, tzinfo=UTC)
        assert read_moment("2026-11-30") == datetime(2026, 11, 29, 17, tzinfo=UTC)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "yesterday",
            "30.11. 22:27:52",
            "2026-13-01",
            "2026-11-30 24:61",
            "2026-W48-1",
            "20261130",
            "2026-11-30 22",
            "2026-11-30 22:27:52 PST",
            "2026-11-30 22:27:52 +99:00",
            "0001-01-01",
            "\u0662\u0660\u0662\u0666-11-30",
            "2026-11-30\x00",
        ],
    )
    def test_only_where_it_has_one_meaning(self, text: str) -> None:
        sentence = "must be a time such as 2026-11-30 22:27:52 WIB; without a zone it is WIB"
        with pytest.raises(ValueError, match=f"^{sentence}$"):
            read_moment(text)


class TestAPrintedMoment:
    @given(moments)
    def test_can_be_typed_back(self, moment: datetime) -> None:
        assert read_moment(shown(moment)) == moment.astimezone(UTC).replace(microsecond=0)
        assert read_moment(iso(moment)) == moment.astimezone(UTC)

    @given(st.text())
    def test_is_the_only_way_to_get_one_from_any_text(self, text: str) -> None:
        try:
            read = read_moment(text)
        except ValueError:
            return
        assert read_moment(iso(read)) == read
