"""What CONTRIBUTING tells people to write, as the blocks of code of one of its sections."""

import re
import textwrap

from tests.architecture.tree import text_of


def blocks(section: str) -> list[str]:
    """Return the Python of a section, block by block, each ending with a line break."""
    _, _, text = text_of("CONTRIBUTING.md").partition(f"\n## {section}\n")
    found = re.findall(r"^( *)```python\n(.*?)^\1```$", text.partition("\n## ")[0], flags=re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block) for _, block in found]
