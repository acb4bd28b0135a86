"""A container that lacks a setting fails at its start, with the setting's name and no value."""

from datetime import timedelta

import pytest

from skincare.bootstrap import build_app, get_app
from skincare.config import AwsKeys, Settings
from skincare.database.connection import DatabaseUnavailable
from skincare.deployment.functions import FUNCTIONS, Function
from skincare.deployment.queues import QueueName
from skincare.errors import ConfigurationError
from skincare.invoices.models import Seller
from skincare.invoices.service import seller_of
from skincare.jobs.ports import OutgoingMessage
from skincare.notifications.ports import Email
from skincare.orders.terms import Terms, WayToPay, terms_of

SECRET = "postgresql://app:canary@127.0.0.1:1/shop"
COMPLETE = {
    "DATABASE_URL": SECRET,
    "MAIL_FROM": "shop@example.com",
    **{f"QUEUE_URL_{queue.upper()}": "https://sqs.example.com/1" for queue in QueueName},
    **{f"DEAD_LETTER_QUEUE_URL_{queue.upper()}": "https://sqs.example.com/2" for queue in QueueName},
}


def needed_by(function: Function) -> dict[str, str]:
    """An environment with everything that the function needs, and nothing else."""
    return {name: COMPLETE.get(name, "payments" if name == "WORKER_QUEUE" else "given") for name in function.needs}


class TestSettings:
    @pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
    def test_what_a_function_needs_makes_an_app_without_connecting_anywhere(self, function: Function) -> None:
        environment = needed_by(function)
        app = build_app(Settings.from_env(environment, needs=function.needs))
        assert set(app.queues) == set(QueueName)

    @pytest.mark.parametrize(
        ("function", "missing"),
        [(function, name) for function in FUNCTIONS for name in function.needs],
        ids=lambda value: value if isinstance(value, str) else value.name,
    )
    @pytest.mark.parametrize("value", [None, ""])
    def test_what_is_missing_is_named_at_the_start_and_nothing_else_is_told(
        self, monkeypatch: pytest.MonkeyPatch, function: Function, missing: str, value: str | None
    ) -> None:
        for name in (*COMPLETE, missing):
            monkeypatch.delenv(name, raising=False)
        for name, text in needed_by(function).items():
            if name != missing:
                monkeypatch.setenv(name, text)
        if value is not None:
            monkeypatch.setenv(missing, value)
        get_app.cache_clear()
        with pytest.raises(ConfigurationError) as refused:
            get_app(function)
        assert str(refused.value) == f"the environment variable {missing} is not set"

    def test_what_a_function_is_not_given_is_missed_where_it_is_used(self) -> None:
        app = build_app(Settings.from_env({"DATABASE_URL": SECRET}))
        pair = app.queues[QueueName.DOCUMENTS]
        refused = pair.source.enqueue([OutgoingMessage("a"), OutgoingMessage("b")])
        assert [(failure.index, failure.sender_fault) for failure in refused] == [(0, False), (1, False)]
        with pytest.raises(ConfigurationError, match="DEAD_LETTER_QUEUE_URL_DOCUMENTS"):
            pair.dead_letters.receive(limit=1, wait=timedelta(0))
        with pytest.raises(ConfigurationError, match="MAIL_FROM"):
            app.email.send(Email(to="buyer@example.com", to_name="Buyer", subject="s", text="t\n", html="<p>h</p>\n"))

    def test_a_gateway_can_be_asked_once_its_address_is_known(self) -> None:
        urls = {"standard_webhooks": "http://127.0.0.1:8000/pay", "xendit": "https://api.xendit.co"}
        environment = {f"GATEWAY_URL_{name.upper()}": url for name, url in urls.items()}
        assert set(build_app(Settings.from_env(COMPLETE | environment)).gateways) == set(urls)
        midtrans = {
            "GATEWAY_URL_MIDTRANS": "https://api.midtrans.com",
            "GATEWAY_URL_MIDTRANS_SNAP": "https://app.midtrans.com",
        }
        assert set(build_app(Settings.from_env(COMPLETE | midtrans)).gateways) == {"midtrans"}
        assert build_app(Settings.from_env(COMPLETE)).gateways == {}

    def test_a_gateway_at_an_unsafe_address_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="GATEWAY_URL_MIDTRANS"):
            build_app(Settings.from_env(COMPLETE | {"GATEWAY_URL_MIDTRANS": "http://api.midtrans.com"}))

    def test_a_worker_of_no_queue_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="WORKER_QUEUE"):
            build_app(Settings.from_env(COMPLETE | {"WORKER_QUEUE": "nonsense"}))

    def test_a_login_with_tokens_asks_for_no_secret(self) -> None:
        keys = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "ap-southeast-3"}
        url = "postgresql://app@127.0.0.1:1/shop"
        app = build_app(Settings.from_env(COMPLETE | keys | {"DATABASE_URL": url, "DATABASE_IAM_AUTH": "true"}))
        # Nobody listens there: what matters is that the way to a connection needs nothing else.
        with pytest.raises(DatabaseUnavailable), app.database.connection():
            pass

    def test_settings_do_not_show_the_database_password(self) -> None:
        assert "canary" not in repr(Settings.from_env(COMPLETE))

    def test_settings_do_not_show_aws_keys(self) -> None:
        keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"), "canary")
        settings = Settings.from_env(COMPLETE | keys)
        assert settings.aws_keys == AwsKeys("canary", "canary", "canary")
        assert "canary" not in repr(settings)

    @pytest.mark.parametrize("missing", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
    def test_half_a_pair_of_aws_keys_is_none(self, missing: str) -> None:
        keys = {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", missing: ""}
        assert Settings.from_env(COMPLETE | keys).aws_keys is None

    def test_the_seller_of_the_invoices_is_told_by_the_environment(self) -> None:
        given = {"SELLER_NAME": "A", "SELLER_ADDRESS": "B\nC", "SELLER_TAX_ID": "D", "TAX_PERCENT": "12"}
        assert seller_of(Settings.from_env(COMPLETE | given)) == Seller("A", "B\nC", "D", 12)
        assert seller_of(Settings.from_env(COMPLETE | given | {"TAX_PERCENT": "0"})).tax_percent == 0
        assert seller_of(Settings.from_env(COMPLETE | given | {"TAX_PERCENT": ""})).tax_percent == 11

    @pytest.mark.parametrize("missing", ["SELLER_NAME", "SELLER_ADDRESS", "SELLER_TAX_ID"])
    @pytest.mark.parametrize("stage", ["local", "dev", "prod"])
    def test_no_seller_is_made_up(self, stage: str, missing: str) -> None:
        given = {"SELLER_NAME": "A", "SELLER_ADDRESS": "B", "SELLER_TAX_ID": "C", missing: ""}
        with pytest.raises(ConfigurationError, match=missing):
            seller_of(Settings.from_env(COMPLETE | given | {"STAGE": stage}))

    @pytest.mark.parametrize("value", ["11.5", "-1", "101", "eleven", "١١"])
    def test_a_tax_that_is_no_whole_percentage_is_refused(self, value: str) -> None:
        with pytest.raises(ConfigurationError, match="TAX_PERCENT"):
            Settings.from_env(COMPLETE | {"TAX_PERCENT": value})

    def test_an_order_has_an_hour_and_its_customer_three_of_them_where_nothing_is_said(self) -> None:
        hour = timedelta(minutes=60)
        terms = terms_of(Settings.from_env(COMPLETE))
        assert terms == Terms(hour, {WayToPay.BANK_TRANSFER: hour, WayToPay.COUNTER: hour}, 3, 10)
        assert [terms.window_of(way) for way in (None, *WayToPay)] == [None, hour, hour]

    def test_the_shop_says_how_long_and_how_much_is_held_unpaid(self) -> None:
        given = {
            "PAYMENT_WINDOW_MINUTES": "15",
            "PAYMENT_WINDOW_BANK_TRANSFER_MINUTES": "1440",
            "OPEN_ORDER_LIMIT": "1",
            "OPEN_UNIT_LIMIT": "99",
        }
        quarter, day = timedelta(minutes=15), timedelta(hours=24)
        windows = {WayToPay.BANK_TRANSFER: day, WayToPay.COUNTER: quarter}
        assert terms_of(Settings.from_env(COMPLETE | given)) == Terms(quarter, windows, 1, 99)

    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            *(("PAYMENT_WINDOW_MINUTES", value) for value in ("0", "14", "1441", "-60", "60.5", "٦٠", "9" * 5000)),
            *(("PAYMENT_WINDOW_BANK_TRANSFER_MINUTES", value) for value in ("59", "1441", "x")),
            *(("PAYMENT_WINDOW_COUNTER_MINUTES", value) for value in ("59", "1441", " 60")),
            *(("OPEN_ORDER_LIMIT", value) for value in ("0", "1001", "none")),
            *(("OPEN_UNIT_LIMIT", value) for value in ("0", "100001", "+5")),
        ],
    )
    def test_what_makes_no_sense_about_unpaid_orders_is_refused_by_name(self, variable: str, value: str) -> None:
        with pytest.raises(ConfigurationError, match=f"{variable} is no whole number from"):
            Settings.from_env(COMPLETE | {variable: value})

    def test_a_way_to_pay_never_has_less_time_than_the_others(self) -> None:
        given = {"PAYMENT_WINDOW_MINUTES": "120", "PAYMENT_WINDOW_COUNTER_MINUTES": "90"}
        with pytest.raises(ConfigurationError, match="PAYMENT_WINDOW_COUNTER_MINUTES is no whole number from 120 to"):
            Settings.from_env(COMPLETE | given)

    def test_the_region_has_two_names(self) -> None:
        both = {"AWS_REGION": "ap-southeast-3", "AWS_DEFAULT_REGION": "eu-west-1"}
        assert Settings.from_env(COMPLETE | both).aws_region == "ap-southeast-3"
        assert Settings.from_env(COMPLETE | both | {"AWS_REGION": ""}).aws_region == "eu-west-1"
        assert Settings.from_env(COMPLETE).aws_region is None
