"""What cdk.json names as the app: `python -m infra`."""

import sys

from infra.node import use_our_node
from infra.stage import StageUnknown


def main() -> int:
    use_our_node()
    # Imported only now: it starts Node.
    from infra.app import synthesize

    try:
        synthesize()
    except StageUnknown as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
