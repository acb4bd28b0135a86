"""Documents lead somewhere: no dead link, no dead anchor, no decision that its index forgot."""

import posixpath
import re

import pytest

from api import problems
from api.app import ROUTES
from api.problem import ProblemType
from infra.routes_page import page
from skincare.payments.gateways import GATEWAYS
from skincare.payments.gateways.webhooks import READERS
from tests.architecture.tree import ROOT, text_of, tracked_files

LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", flags=re.MULTILINE | re.DOTALL)
MENTION = re.compile(r"\bdocs/[\w./\-]+\.md\b")
RECORD = re.compile(r"docs/decisions/(\d{4})-[a-z0-9]+(?:-[a-z0-9]+)*\.md")

DOCUMENTS = [name for name in tracked_files() if name.endswith(".md")]
RECORDS = [name for name in DOCUMENTS if name.startswith("docs/decisions/") and not name.endswith("README.md")]


def links(name: str) -> list[str]:
    """Return the targets of a document's links, without those to other sites and those inside code blocks."""
    targets = LINK.findall(FENCE.sub("", text_of(name)))
    return [target for target in targets if not re.match(r"[a-z][a-z0-9+.\-]*:", target)]


def anchors(name: str) -> set[str]:
    """Return the anchors that a Markdown viewer makes of the headings."""
    headings = re.findall(r"^#{1,6} +(.+?) *$", FENCE.sub("", text_of(name)), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class TestDocuments:
    @pytest.mark.parametrize("name", DOCUMENTS)
    def test_links_resolve(self, name: str) -> None:
        dead = []
        for link in links(name):
            path, _, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            exists = (ROOT / target).exists()
            if not exists or (anchor and target.endswith(".md") and anchor not in anchors(target)):
                dead.append(link)
        assert dead == []

    @pytest.mark.parametrize("name", DOCUMENTS)
    def test_each_table_has_a_head_and_ends_with_a_blank_line(self, name: str) -> None:
        """A row on its own is a piece of another table that a merge left behind."""
        lines = ["", *FENCE.sub("", text_of(name)).splitlines(), ""]
        starts = [i for i, line in enumerate(lines) if line.startswith("|") and not lines[i - 1].startswith("|")]
        headless = [lines[i] for i in starts if lines[i - 1] or not re.match(r"\|(?: ?:?-+:? ?\|)+$", lines[i + 1])]
        ends = [i for i, line in enumerate(lines) if not line.startswith("|") and lines[i - 1].startswith("|")]
        assert [headless, [lines[i] for i in ends if lines[i].strip()]] == [[], []]

    def test_mentions_of_documents_in_the_code_resolve(self) -> None:
        mentions = [
            (name, mention)
            for name in tracked_files()
            if not name.startswith(("docs/", "tests/architecture/"))
            for mention in MENTION.findall(text_of(name))
        ]
        assert mentions
        assert [f"{name}: {mention}" for name, mention in mentions if not (ROOT / mention).is_file()] == []

    @pytest.mark.parametrize("name", [name for name in DOCUMENTS if name.startswith("docs/")])
    def test_each_document_is_reachable_from_the_readme(self, name: str) -> None:
        seen: set[str] = set()
        queue = ["README.md"]
        while queue:
            document = queue.pop()
            if document in seen or document not in DOCUMENTS:
                continue
            seen.add(document)
            folder = posixpath.dirname(document)
            queue += [posixpath.normpath(posixpath.join(folder, link.partition("#")[0])) for link in links(document)]
        assert name in seen


def headless_tables(text: str) -> list[str]:
    """Return the first line of each table that has no header: a viewer shows its rows as they are typed."""
    lines = ["", *FENCE.sub("", text).splitlines(), ""]
    return [
        line
        for before, line, after in zip(lines, lines[1:], lines[2:], strict=False)
        if line.startswith("|") and not before.startswith("|") and not re.fullmatch(r"\|(?:\s*:?-+:?\s*\|)+", after)
    ]


def said_twice(text: str) -> list[str]:
    """Return the long lines of prose that a text has more than once: what a merge leaves behind."""
    lines = [line.strip() for line in FENCE.sub("", text).splitlines()]
    return sorted({line for line in lines if len(line) > 60 and not line.startswith("|--") and lines.count(line) > 1})


class TestTheTextOfADocument:
    @pytest.mark.parametrize("name", DOCUMENTS)
    def test_has_no_table_without_a_header(self, name: str) -> None:
        assert headless_tables(text_of(name)) == []

    @pytest.mark.parametrize("name", DOCUMENTS)
    def test_says_nothing_twice(self, name: str) -> None:
        assert said_twice(text_of(name)) == []

    def test_that_a_merge_garbled_is_found(self) -> None:
        row = "| `booked` | the gateway's event with that key was applied: the money went back |"
        garbled = f"Then:\n\n{row}\n\n| state | meaning |\n|---|---|\n{row}\n"
        assert headless_tables(garbled) == [row]
        assert said_twice(garbled) == [row]


ON_THE_COMMAND_LINE = [
    re.compile(r"<<<"),
    re.compile(r"--secret-(?:string|binary)[= ](?!file:///dev/stdin)"),
    re.compile(r"--(?:password|api-key|secret|token)[= ](?!\$\()", flags=re.IGNORECASE),
    re.compile(r"\b\w*(?:SECRET|PASSWORD|API_KEY)=(?!\$\(|$)\S", flags=re.IGNORECASE),
    re.compile(r"\b(?:echo|printf)\b[^|]*(?:secret|whsec_|password)[^|]*\|", flags=re.IGNORECASE),
    re.compile(r"whsec_\w|://\w+:[^@\s$]+@"),
]
"""What puts a secret where the shell's history and every process list keep it."""


def commands(text: str) -> list[str]:
    """Return the lines of a document's blocks of code, and its spans of code."""
    blocks = [match.group(0) for match in FENCE.finditer(text)]
    lines = [line for block in blocks for line in re.sub(r"\\\n\s*", "", block).splitlines()]
    return lines + re.findall(r"`([^`\n]+)`", FENCE.sub("", text))


class TestACommand:
    @pytest.mark.parametrize("name", DOCUMENTS)
    def test_of_a_document_has_no_secret_in_its_line(self, name: str) -> None:
        typed = commands(text_of(name))
        assert [line for line in typed if any(pattern.search(line) for pattern in ON_THE_COMMAND_LINE)] == []

    @pytest.mark.parametrize(
        "line",
        [
            """aws secretsmanager put-secret-value --secret-string file:///dev/stdin <<< '{"secrets": ["…"]}'""",
            """aws secretsmanager put-secret-value --secret-string '{"secrets": ["…"]}'""",
            "PGPASSWORD=… psql",
            "export GATEWAY_SECRET=…",
            "echo '{\"secrets\": []}' | aws secretsmanager put-secret-value",
            "psql postgresql://app:hunter2@host/skincare",
            "tool --password hunter2",
        ],
    )
    def test_with_one_is_found(self, line: str) -> None:
        assert any(pattern.search(line) for pattern in ON_THE_COMMAND_LINE)


class TestTheHttpDocument:
    def test_has_a_row_for_each_route_as_it_is(self) -> None:
        text = text_of("docs/http.md")
        assert page(text) == text, "docs/http.md is stale: run `make openapi`"
        assert [route for route in ROUTES if f"| `{route.method} {route.path}` |" not in text] == []

    def test_names_every_problem_with_its_status(self) -> None:
        rows = [line for line in text_of("docs/http.md").splitlines() if line.startswith("| ")]
        kinds = [kind for kind in vars(problems).values() if isinstance(kind, ProblemType)]
        assert kinds
        missing = [
            kind.code
            for kind in kinds
            if not any(row.startswith(f"| {kind.status} |") and f"`{kind.code}`" in row for row in rows)
        ]
        assert missing == []


class TestThePaymentsDocument:
    @staticmethod
    def rows(head: str) -> dict[str, list[str]]:
        """The cells of the table that begins so, by the gateway in the first one."""
        _, _, table = text_of("docs/payments.md").partition(f"\n| gateway | {head} |")
        rows = [[cell.strip() for cell in row.split("|")] for row in table.partition("\n\n")[0].splitlines()[2:]]
        return {row[1].split()[0].strip("`"): row[2:] for row in rows}

    def test_says_of_every_gateway_whether_it_starts_payments(self) -> None:
        given = {name: cells[0] for name, cells in self.rows("starts payments").items()}
        assert given == {name: "yes" if each.asked_with else "no" for name, each in GATEWAYS.items()}

    def test_says_of_every_gateway_where_its_webhooks_arrive_and_whether_their_status_is_signed(self) -> None:
        given = {name: (cells[0], cells[2]) for name, cells in self.rows("path").items()}
        assert given == {
            name: (f"`{each.webhook_path}`", "yes" if READERS[name].status_is_signed else "no")
            for name, each in GATEWAYS.items()
        }

    @pytest.mark.parametrize("gateway", GATEWAYS)
    def test_names_every_setting_of_a_gateway(self, gateway: str) -> None:
        text, settings = text_of("docs/payments.md"), GATEWAYS[gateway]
        names = [f"GATEWAY_URL_{name.upper()}" for name in settings.urls]
        names += [f"WEBHOOK_SECRET_ID_{name.upper()}" for name in settings.secrets if name != gateway]
        assert [name for name in names if f"`{name}`" not in text] == []


class TestDecisionRecords:
    def test_numbers_have_neither_gaps_nor_twins(self) -> None:
        numbers = [int(match[1]) for name in RECORDS if (match := RECORD.fullmatch(name))]
        assert len(numbers) == len(RECORDS) > 0
        assert numbers == list(range(1, len(RECORDS) + 1))

    @pytest.mark.parametrize("name", RECORDS)
    def test_a_record_is_in_the_index_under_its_own_title(self, name: str) -> None:
        title = text_of(name).partition("\n")[0].removeprefix("# ")
        number, _, sentence = title.partition(". ")
        assert number == name.removeprefix("docs/decisions/")[:4]
        assert f"[{sentence}]({name.removeprefix('docs/decisions/')})" in text_of("docs/decisions/README.md")

    @pytest.mark.parametrize("name", RECORDS)
    def test_a_record_says_what_was_decided_why_and_what_would_change_it(self, name: str) -> None:
        parts = re.findall(r"^\*\*(.+?)\.\*\*", text_of(name), flags=re.MULTILINE)
        assert parts == ["Context", "Decision", "Why", "What would change it"]
