"""What every part of the emulator agrees on, and the environment of the processes that it starts."""

import os
from collections.abc import Mapping

LOOPBACK = "127.0.0.1"

REGION = "ap-southeast-3"
ACCOUNT_ID = "123456789012"
"""The account that moto pretends to be."""


def inherited_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the few variables a child process needs to run at all; everything else is ours to set."""
    env = os.environ if environ is None else environ
    return {name: env[name] for name in ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR") if name in env}


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
