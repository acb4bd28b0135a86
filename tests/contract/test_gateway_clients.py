"""The clients of payment gateways and the fake keep one contract; the real ones over real sockets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.payment_gateway.payment_store import PaymentStore
from local.settings import PAYMENT_API
from skincare.payments.errors import GatewayMisconfigured, GatewayUnavailable, ReferenceTaken
from skincare.payments.gateways.midtrans.client import MidtransClient
from skincare.payments.gateways.standard_webhooks.client import StandardWebhooksClient
from skincare.payments.gateways.xendit.client import XenditClient
from skincare.payments.models import Attempt, Closing, EventStatus
from skincare.payments.ports import GatewayClient
from tests.contract.gateway_client_contract import Bench, GatewayClientContract, new_attempt
from tests.fakes.gateway_client import FakeGatewayClient, report_of
from tests.support.payment_gateways import KEYS, NOBODY, payment_gateways
from tests.support.webhooks import SECRETS, FixedSecrets

OURS = "standard_webhooks"


class TestTheFake(GatewayClientContract):
    @pytest.fixture
    def bench(self) -> Bench:
        client, unreachable = FakeGatewayClient(), FakeGatewayClient()
        for _ in range(4):
            unreachable.fail_next(GatewayUnavailable(OURS, "timeout"))
        return Bench(
            client,
            client.pay,
            unreachable,
            lambda attempt: client.tell(attempt.reference, report_of(attempt.reference, status=EventStatus.PENDING)),
        )


class TestOurOwnGateway(GatewayClientContract):
    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        with payment_gateways(tmp_path) as (url, store):
            yield Bench(
                StandardWebhooksClient(f"{url}{PAYMENT_API}", secrets=KEYS),
                lambda attempt: pay(store, attempt),
                StandardWebhooksClient(NOBODY, secrets=KEYS),
            )


class TestMidtrans(GatewayClientContract):
    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        with payment_gateways(tmp_path) as (home, store):
            url = f"{home}{PAYMENT_API}/midtrans"
            yield Bench(
                MidtransClient(url, url, secrets=KEYS),
                lambda attempt: pay(store, attempt),
                MidtransClient(NOBODY, NOBODY, secrets=KEYS),
                lambda attempt: wait_for_money(store, attempt),
            )

    def test_a_reference_that_was_paid_gets_no_other_page(self, bench: Bench) -> None:
        attempt = new_attempt()
        bench.client.start(attempt)
        bench.pay(attempt)
        with pytest.raises(ReferenceTaken):
            bench.client.start(attempt)

    def test_what_waits_for_money_is_told_as_pending_until_it_comes(self, bench: Bench) -> None:
        attempt = new_attempt()
        bench.client.start(attempt)
        bench.wait_for_money(attempt)
        (pending,) = bench.client.transactions(attempt)
        bench.pay(attempt)
        (paid,) = bench.client.transactions(attempt)
        assert [pending.status, paid.status] == [EventStatus.PENDING, EventStatus.PAID]
        assert pending.transaction_id == paid.transaction_id

    def test_a_page_where_nobody_chose_how_to_pay_cannot_be_closed(self, bench: Bench) -> None:
        attempt = new_attempt()
        bench.client.start(attempt)
        assert bench.client.close(attempt) is Closing.UNKNOWN
        bench.pay(attempt)
        assert bench.client.close(attempt) is Closing.PAID

    def test_is_closed_by_its_transaction_as_well(self, bench: Bench) -> None:
        attempt = new_attempt()
        bench.client.start(attempt)
        bench.wait_for_money(attempt)
        (pending,) = bench.client.transactions(attempt)
        assert bench.client.close(new_attempt(), [pending.transaction_id]) is Closing.CLOSED
        assert [each.status for each in bench.client.transactions(attempt)] == [EventStatus.EXPIRED]


class TestXendit(GatewayClientContract):
    TestGivingBack = None  # type: ignore[assignment]
    TestAGatewayThatDoesNotAnswer = None  # type: ignore[assignment]

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        with payment_gateways(tmp_path) as (url, store):
            yield Bench(
                XenditClient(f"{url}{PAYMENT_API}/xendit", secrets=KEYS),
                lambda attempt: pay(store, attempt),
                XenditClient(NOBODY, secrets=KEYS),
                lambda attempt: wait_for_money(store, attempt),
            )

    def test_that_does_not_answer_may_answer_later(self, bench: Bench) -> None:
        for call in (bench.unreachable.start, bench.unreachable.transactions, bench.unreachable.close):
            with pytest.raises(GatewayUnavailable):
                call(new_attempt())


@pytest.mark.parametrize("gateway", ["midtrans", "xendit", OURS])
def test_a_gateway_answers_nobody_without_its_own_key(tmp_path: Path, gateway: str) -> None:
    wrong = FixedSecrets(dict.fromkeys([*SECRETS, "xendit_api"], ("another",)))
    with payment_gateways(tmp_path) as (home, _):
        url = f"{home}{PAYMENT_API}"
        clients: dict[str, GatewayClient] = {
            "midtrans": MidtransClient(f"{url}/midtrans", f"{url}/midtrans", secrets=wrong),
            "xendit": XenditClient(f"{url}/xendit", secrets=wrong),
            OURS: StandardWebhooksClient(url, secrets=wrong),
        }
        with pytest.raises(GatewayMisconfigured, match="401"):
            clients[gateway].start(new_attempt())


def pay(store: PaymentStore, attempt: Attempt) -> None:
    # What was written down is what is known after a restart.
    store.happen(attempt.reference, "paid")


def wait_for_money(store: PaymentStore, attempt: Attempt) -> None:
    store.happen(attempt.reference, "pending")
