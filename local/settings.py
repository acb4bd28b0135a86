"""Settings of the local system: the only place in `local` that reads the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from emulator.settings import LOOPBACK
from local.errors import LocalSystemError
from skincare.payments.gateways import GATEWAYS

ROOT = Path(__file__).resolve().parents[1]

RELAY_INTERVAL = timedelta(seconds=60)
"""What the schedule of the outbox relay will be: EventBridge Scheduler knows no shorter rate."""

API_CONTAINERS = 4
WORKER_CONTAINERS = 2
"""Two cores gain nothing from more; a queue's own maximum concurrency holds where it is lower."""

DEFAULT_PORT = 8000

_STAND_INS = Path(__file__).parent / "payment_gateway" / "stand_ins"
PAYMENT_GATEWAYS = tuple(name for name in GATEWAYS if (_STAND_INS / f"{name}.py").exists())
"""Those that have a stand-in, so that customers can be sent there: to the first one unless somebody wants
another."""

PAYMENT_API = "/_local/payment-gateway"
"""Where the gateway's server answers for our own payment gateway."""


def payment_gateway_url(port: int) -> str:
    """Return the address of the payment gateway's API in the system on this port."""
    return f"http://{LOOPBACK}:{port}{PAYMENT_API}"


@dataclass(frozen=True)
class LocalSettings:
    """What a person asked for. Every command finds the running system by the same `port`."""

    port: int = DEFAULT_PORT
    reset: bool = False
    payment_gateway: str = PAYMENT_GATEWAYS[0]
    stop_with_parent: bool = False
    """Started by make: when make is killed, the terminal that showed our output is gone too."""

    @staticmethod
    def from_env(environ: Mapping[str, str] | None = None) -> "LocalSettings":
        """Read PORT, RESET and PAYMENT_GATEWAY; raises `LocalSystemError` naming the one that cannot be used."""
        env = os.environ if environ is None else environ
        text = env.get("PORT") or str(DEFAULT_PORT)
        if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
            raise LocalSystemError(f"PORT must be a number from 1 to 65535, not {text!r}.")
        gateway = env.get("PAYMENT_GATEWAY") or PAYMENT_GATEWAYS[0]
        if gateway not in PAYMENT_GATEWAYS:
            raise LocalSystemError(f"PAYMENT_GATEWAY must be one of {', '.join(PAYMENT_GATEWAYS)}, not {gateway!r}.")
        return LocalSettings(
            payment_gateway=gateway,
            port=int(text),
            reset=env.get("RESET", "") not in {"", "0", "false", "no"},
            stop_with_parent="MAKELEVEL" in env,
        )
