"""One way to the client of a gateway, and one error where there is none."""

import pytest

from skincare.errors import ConfigurationError, TransientError
from skincare.payments.errors import GatewayNotConfigured
from skincare.payments.gateways import GATEWAYS
from skincare.payments.gateways.clients import client, connect
from skincare.payments.gateways.samples import sample
from skincare.payments.gateways.webhooks import READERS
from tests.fakes.gateway_client import FakeGatewayClient
from tests.support.log import recorded_log
from tests.support.webhooks import FixedSecrets

ASKED = {name: settings.urls for name, settings in GATEWAYS.items() if settings.asked_with}


class TestTheClientOfAGateway:
    @pytest.mark.parametrize("gateway", ASKED)
    def test_is_there_once_its_first_address_is_known(self, gateway: str) -> None:
        clients = connect({ASKED[gateway][0]: "https://gateway.example.com"}, FixedSecrets({}))
        assert client(clients, gateway).name == gateway
        assert list(clients) == [gateway]

    def test_is_the_one_that_was_given(self) -> None:
        fake = FakeGatewayClient("midtrans")
        assert client({"midtrans": fake}, "midtrans") is fake

    @pytest.mark.parametrize("gateway", ASKED)
    def test_whose_address_is_missing_waits_for_it_and_rings(self, gateway: str) -> None:
        with (
            recorded_log() as log,
            pytest.raises(GatewayNotConfigured, match=f"GATEWAY_URL_{gateway.upper()}") as raised,
        ):
            client({}, gateway)
        assert isinstance(raised.value, TransientError)
        assert isinstance(raised.value, ConfigurationError)
        assert "payment.gateway_misconfigured" in log.text

    @pytest.mark.parametrize("gateway", [*(set(GATEWAYS) - set(ASKED)), "tukang"])
    def test_that_this_release_does_not_have_asks_for_no_setting(self, gateway: str) -> None:
        with pytest.raises(GatewayNotConfigured, match="this release has no client") as raised:
            client({}, gateway)
        assert "GATEWAY_URL" not in str(raised.value)


class TestAFolder:
    @pytest.mark.parametrize("gateway", GATEWAYS)
    def test_has_the_name_of_its_gateway(self, gateway: str) -> None:
        assert (GATEWAYS[gateway].name, READERS[gateway].name) == (gateway, gateway)
        assert sample(gateway).request.__module__.split(".")[-2] == gateway

    @pytest.mark.parametrize("gateway", GATEWAYS)
    def test_that_must_be_asked_can_be(self, gateway: str) -> None:
        """Otherwise no event of it would ever move money."""
        assert READERS[gateway].status_is_signed or gateway in ASKED
