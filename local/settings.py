"""Settings of the local system: the only place in `local` that reads the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from local.errors import LocalSystemError

ROOT = Path(__file__).resolve().parents[1]
LOOPBACK = "127.0.0.1"

REGION = "ap-southeast-3"
ACCOUNT_ID = "123456789012"
"""The account that moto pretends to be."""

RELAY_INTERVAL = timedelta(seconds=60)
"""What the schedule of the outbox relay will be: EventBridge Scheduler knows no shorter rate."""

API_CONTAINERS = 4
WORKER_CONTAINERS = 2
"""Two cores gain nothing from more; a queue's own maximum concurrency holds where it is lower."""

DEFAULT_PORT = 8000

PAYMENT_GATEWAYS = ("standard_webhooks", "midtrans", "xendit")
"""Where customers can be sent to; the first one is where they are unless somebody wants another."""

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


def inherited_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the few variables a child process needs to run at all; everything else is ours to set."""
    env = os.environ if environ is None else environ
    return {name: env[name] for name in ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR") if name in env}


def forget_aws_account() -> None:
    """Make boto3 and libpq in this process blind to the developer's own AWS account, PostgreSQL and proxies."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "PG")) or name.lower() in {"http_proxy", "https_proxy", "all_proxy"}:
            del os.environ[name]
    os.environ.update(aws_credentials())


def use_local_account(secret_access_key: str) -> None:
    """Make boto3 in this process sign with this key, and blind to the developer's own AWS account."""
    forget_aws_account()
    os.environ["AWS_SECRET_ACCESS_KEY"] = secret_access_key


def aws_credentials() -> dict[str, str]:
    """Return the environment of every AWS client here: moto takes any key, and no real file is read."""
    return {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
