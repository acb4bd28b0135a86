"""Living SQL has one home: what runs is the text that a reader finds in `database/functions/`."""

import re

import psycopg
import pytest

from skincare.database.sql_files import functions, migrations
from tests.architecture.tree import text_of, tracked_files

PRODUCT = ("layers/", "functions/", "local/", "cli/")

NAMED = re.compile(r"^CREATE OR REPLACE (?:FUNCTION (\w+)\(|TRIGGER (\w+)\b)", re.MULTILINE)
BODY = re.compile(r"AS \$\$(.*?)\$\$;", re.DOTALL)

INSERTING = {"products_begin_with_a_movement", "enqueue_job", "enqueue_jobs", "jobs_keep_schedule"}
"""They insert into tables without foreign keys and read none."""

FILES = {each.name.removesuffix(".sql"): each for each in functions()}


class TestNumberedFiles:
    @pytest.mark.parametrize("migration", migrations(), ids=lambda each: each.name)
    def test_hold_no_function_and_no_trigger(self, migration: object) -> None:
        text = getattr(migration, "text", "")
        assert (
            re.search(r"\bCREATE\s+(?:OR\s+REPLACE\s+)?(?:FUNCTION|PROCEDURE|TRIGGER)\b", text, re.IGNORECASE) is None
        )

    def test_have_a_number_each(self) -> None:
        numbers = [each.name[:4] for each in migrations()]
        assert all(number.isdecimal() for number in numbers)
        assert len(numbers) == len(set(numbers))


class TestFunctionFiles:
    @pytest.mark.parametrize("name", FILES)
    def test_state_a_version_and_begin_with_what_they_are_named_after(self, name: str) -> None:
        assert FILES[name].version >= 1
        first = NAMED.search(FILES[name].text)
        assert first is not None
        assert name in first.groups()

    @pytest.mark.parametrize("name", FILES)
    def test_replace_and_never_only_create(self, name: str) -> None:
        """An installed one is in the way of `CREATE FUNCTION`."""
        assert len(re.findall(r"^\s*(?:CREATE|DROP|ALTER)\b", FILES[name].text, re.MULTILINE)) == len(
            NAMED.findall(FILES[name].text)
        )

    @pytest.mark.parametrize("name", FILES)
    def test_that_look_into_tables_are_planned_by_their_indexes(self, name: str) -> None:
        """A session keeps such a plan, and may have made it when the tables were empty; unless it plans each time."""
        if "SET plan_cache_mode = force_custom_plan" in FILES[name].text:
            return
        body = BODY.search(FILES[name].text)
        looks = body is not None and re.search(r"\b(?:FROM|UPDATE|INTO) [a-z_]+\b", body[1]) is not None
        assert ("SET enable_seqscan = off" in FILES[name].text) == (looks and name not in INSERTING)

    def test_are_what_runs(self, owner_url: str) -> None:
        with psycopg.connect(owner_url) as conn:
            installed = conn.execute(
                "SELECT proname, prosrc FROM pg_proc p WHERE pronamespace = 'public'::regnamespace"
            ).fetchall()
            triggers = conn.execute("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal").fetchall()
        assert sorted(name for name, _ in installed) == sorted(name for name in FILES if not FILES[name].is_trigger)
        for name, source in installed:
            body = BODY.search(FILES[name].text)
            assert source == (body[1] if body else ""), name
        written = [trigger for each in FILES.values() for _, trigger in NAMED.findall(each.text) if trigger]
        assert sorted(name for (name,) in triggers) == sorted(written)


class TestJobs:
    def test_are_inserted_in_one_place(self) -> None:
        inserts = [
            name for name in tracked_files() if name.startswith(PRODUCT) and "INSERT INTO jobs " in text_of(name)
        ]
        assert inserts == ["layers/shared/python/skincare/database/functions/enqueue_jobs.sql"]

    def test_die_in_one_place(self) -> None:
        """What a death changes is written once: the next number of its dead letter."""
        raising = [
            (name, line)
            for name in tracked_files()
            if name.startswith(PRODUCT)
            for line in text_of(name).splitlines()
            if re.search(r"dead_letter_no = (?:j\.)?dead_letter_no \+", line)
        ]
        assert [name for name, _ in raising] == ["layers/shared/python/skincare/database/functions/dead_letter_job.sql"]
