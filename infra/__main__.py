"""What cdk.json names as the app: `python -m infra`."""

import json
import os
import sys

from infra.node import use_our_node
from infra.stage import StageUnknown, stage_named


def main() -> int:
    """Make the templates of the stage that `-c stage=…` names, or say in one sentence which there are."""
    # How the CDK command line hands `-c` on. Read here, so that a mistake is reported before seconds of loading.
    context = json.loads(os.environ.get("CDK_CONTEXT_JSON", "{}"))
    try:
        stage = stage_named(context.get("stage"))
    except StageUnknown as error:
        sys.stderr.write(f"{error}\n")
        return 2
    use_our_node()
    # Imported only now: it starts Node.
    from infra.app import synthesize

    synthesize(stage)
    return 0


if __name__ == "__main__":
    sys.exit(main())
