"""What is registered: one handler for each job type, and batch handlers that can reach nothing but the database."""

from typing import get_type_hints

import pytest

from skincare.app import App
from skincare.database.connection import Connection
from skincare.jobs.catalog import PAYLOADS
from skincare.jobs.registry import Registration
from worker.registry import REGISTRY

WITH_BATCH = [each for each in REGISTRY if each.batch is not None]


def test_each_job_type_has_a_handler() -> None:
    assert {each.payload_class for each in REGISTRY} == {
        each for each in PAYLOADS if each.__module__.startswith("skin")
    }


@pytest.mark.parametrize("registration", WITH_BATCH, ids=lambda each: each.payload_class.job_type)
def test_a_batch_handler_gets_a_connection_and_payloads_and_no_app(registration: Registration[App]) -> None:
    assert registration.batch is not None
    hints = get_type_hints(registration.batch)
    returned = hints.pop("return")
    conn, payloads = hints.values()
    assert conn is Connection
    assert payloads.__args__ == returned.__args__ == (registration.payload_class,)
