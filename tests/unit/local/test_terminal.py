"""What the local shop tells the emulator, so that its output is the shop's: times, text, switches, tokens."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from emulator.gateway.tokens import Unauthorized, new_signing_key
from emulator.switches import Fault
from local.chaos import Switch
from local.terminal import log_book
from local.tokens import token_issuer


def test_lines_on_the_terminal_have_the_shops_time_and_act_on_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = log_book(tmp_path)
    log.relay("api", "\x1b[31mred\u202e")
    log.close()
    assert re.fullmatch(
        r"[0-9-]{10} [0-9:]{8} WIB api                   \\u001b\[31mred\\u202e\n", capsys.readouterr().out
    )
    assert (tmp_path / "api.log").read_text() == "\x1b[31mred\u202e\n"


def test_every_fault_of_the_emulator_is_a_switch_of_the_shop_by_the_same_name() -> None:
    assert {fault.value for fault in Fault} <= {switch.value for switch in Switch}
    assert all(type(switch.value) is str and switch.heading and switch.effect for switch in Switch)


def test_tokens_of_one_system_are_no_tokens_of_another() -> None:
    ours, theirs = token_issuer(new_signing_key()), token_issuer(new_signing_key())
    token = ours.issue("buyer@example.com", expires_in=timedelta(minutes=1))
    assert ours.claims(f"Bearer {token}")["aud"] == "skincare-local"
    with pytest.raises(Unauthorized):
        theirs.claims(f"Bearer {token}")
