"""Numbers that sentences repeat are those of the code, in every document that says them."""

import re
from datetime import timedelta

import pytest

from api.schemas import OrderRequest, PageQuery
from cli import webhook
from skincare.carts.models import MAX_LINES
from skincare.deployment import alarms
from skincare.deployment.functions import API, ONCALL
from skincare.deployment.http import HTTP
from skincare.deployment.queues import DEAD_LETTER_RETENTION, MAX_RECEIVE_COUNT
from skincare.invoices.service import LINK_LASTS
from skincare.jobs import relay, retry
from skincare.jobs.catalog import ExpireOrder, JobPayload, ProcessPayment, SendConfirmationEmail, SendRefund
from skincare.jobs.worker import lease_session, unprocessable
from skincare.orders.terms import EXPIRY_GRACE, USUAL
from skincare.payments import confirmation
from skincare.payments.findings.models import LOOK_BACK, PIECE, PIECE_OF_PRODUCTS
from skincare.payments.findings.repository import looks
from skincare.payments.gateways.http import CALL_S
from tests.architecture.test_facts_in_documents import LIVING, NUMBERS
from tests.architecture.tree import text_of

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
ORDINALS = [*NUMBERS[:1], "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
NUMBER = r"(\d[\d,]*|" + "|".join(NUMBERS + ORDINALS) + r")"
FORM = OrderRequest.model_json_schema()["properties"]
PAGE = PageQuery.model_json_schema()["properties"]["limit"]


def longest(field: str) -> int:
    (text,) = (option for option in FORM[field].get("anyOf", [FORM[field]]) if option["type"] == "string")
    return int(text["maxLength"])


def late_minutes() -> int:
    (said,) = re.findall(r"interval '(\d+) minutes'\)::integer AS late", text_of(_BACKLOG))
    return int(said)


_BACKLOG = "layers/shared/python/skincare/operations/repository/backlog.py"

# What a sentence says, where # stands for the number, and the number.
FIGURES: list[tuple[str, float]] = [
    ("crashe[sd] # times", retry.CRASH_LIMIT),
    ("worker down # times", retry.CRASH_LIMIT),
    ("# crash dead-letters", retry.CRASH_LIMIT),
    ("this claim found its # crash", retry.CRASH_LIMIT),
    ("[Dd]ead letters (?:keep )?for # days", DEAD_LETTER_RETENTION / DAY),
    ("the DLQ keeps #:", DEAD_LETTER_RETENTION / DAY),
    ("`maxReceiveCount` is #", MAX_RECEIVE_COUNT),
    ("at its # receive", unprocessable.GIVE_UP_AT_RECEIVE),
    ("redelivery \\(# function timeouts\\)", 6),
    ("takes up to # due rows", relay.TAKE_LIMIT),
    ("the message comes again in # s", lease_session.SOON.total_seconds()),
    ("seconds, at most #, plus", retry._LONGEST_S),
    ("`retry_after` gets that, up to # minutes", retry._LONGEST_ASKED / MINUTE),
    ("# h for mail", SendConfirmationEmail.budget / HOUR),
    ("for mail, # h unless", JobPayload.budget / HOUR),
    ("does not confirm is tried again for # hours", ProcessPayment.budget / HOUR),
    ("\\*Tried again\\* ends after # hours", ProcessPayment.budget / HOUR),
    ("quarantines the event after # hours", ProcessPayment.budget / HOUR),
    ("has waited for its order for # hours", ProcessPayment.budget / HOUR),
    ("tried again for # days", SendRefund.budget / DAY),
    ("set aside by itself # days after it came", ProcessPayment.budget / DAY),
    ("It took longer than # days", SendRefund.budget / DAY),
    ("After # hours it is dead and a person decides", ExpireOrder.budget / HOUR),
    ("timer goes off # minutes", EXPIRY_GRACE / MINUTE),
    ("`expire_order`, due # minutes after", EXPIRY_GRACE / MINUTE),
    ("a customer has # unpaid ones", USUAL.open_orders),
    ("with # units of a product", USUAL.open_units),
    ("links? that lasts? # minutes", LINK_LASTS / MINUTE),
    ("leads to the PDF for # minutes", LINK_LASTS / MINUTE),
    ("a cart holds at most # lines", MAX_LINES),
    ("up to # characters, one line", longest("recipient_name")),
    ("up to # characters each", longest("shipping_address")),
    ("nested at most # deep", HTTP.max_nesting),
    ("`\\?limit=` \\(1–#,", PAGE["maximum"]),
    ("`\\?limit=` \\(1–\\d+, default #\\)", PAGE["default"]),
    ("late by more than # minutes", late_minutes()),
    ("due for more than # minutes", late_minutes()),
    ("deadline, however slowly bytes come: # seconds a call", CALL_S),
    ("seconds a call, # a job", confirmation._WITHIN_S),
    ("orders and payments of # days", LOOK_BACK / DAY),
    ("a paid order of the last # days", LOOK_BACK / DAY),
    ("in pieces of # rows", PIECE),
    ("all products, # products at a time", PIECE_OF_PRODUCTS),
    ("`refund_not_booked` for # days", looks._UNBOOKED / DAY),
    ("a time of # minutes ago is refused", webhook._OLD / MINUTE),
    ("failed items stay below # in five minutes", alarms.ITEMS_FAILED.threshold),
    ("One request in a hundred takes longer than # seconds", alarms.API_SLOW.threshold / 1000),
    ("may be paid, # by default", USUAL.window / MINUTE),
    ("unpaid orders a customer may have, # by default", USUAL.open_orders),
    ("unpaid orders of a customer, # by default", USUAL.open_units),
    ("`oncall.lambda_function.lambda_handler` with a timeout of # s", ONCALL.timeout.total_seconds()),
    ("requests of 30 ms at # GB", API.memory_mb / 1024),
]


def number_of(said: str) -> int:
    for words in (NUMBERS, ORDINALS):
        if said.lower() in words:
            return words.index(said.lower())
    return int(said.replace(",", ""))


def said(sentence: str) -> dict[str, set[int]]:
    """Return the numbers that documents say in such a sentence, by document."""
    pattern = re.compile(r"\s+".join(sentence.replace("#", NUMBER + "(?:th)?").split()), flags=re.IGNORECASE)
    found = {name: {number_of(number) for number in pattern.findall(text_of(name))} for name in LIVING}
    return {name: numbers for name, numbers in found.items() if numbers}


@pytest.mark.parametrize(("sentence", "number"), FIGURES, ids=[sentence for sentence, _ in FIGURES])
def test_a_number_in_a_sentence_is_that_of_the_code(sentence: str, number: float) -> None:
    documents = said(sentence)
    assert documents, "no document says it any more: take the sentence out of the table"
    assert {name: numbers for name, numbers in documents.items() if numbers != {number}} == {}


def test_a_number_is_read_as_digits_as_a_word_and_as_an_ordinal() -> None:
    assert [number_of(word) for word in ("5,000", "five", "Fifth")] == [5000, 5, 5]
