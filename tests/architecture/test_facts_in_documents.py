"""What documents say of the tree is true: paths, modules, targets, settings, and lists and counts of what is there."""

import re
from functools import cache

import pytest

from local.chaos import Switch
from skincare.deployment.http import HTTP
from skincare.deployment.metrics import Metric
from skincare.deployment.queues import QueueName
from skincare.payments.gateways import GATEWAYS
from tests.architecture.test_documents import DOCUMENTS, FENCE, RECORDS
from tests.architecture.tree import ROOT, text_of, tracked_files

LIVING = [name for name in DOCUMENTS if name not in RECORDS]
PACKAGES = ("", "functions/", "layers/shared/python/", "layers/shared/python/skincare/", "tests/journey/")
"""Where a path in a document may begin."""

MADE = re.compile(r"\.local/|cdk\.out|/[_v]|send_thank_you_email\.py$|bench/results\.json$|openapi\.json$")
"""What is made while things run, what is a URL, and the example of CONTRIBUTING."""
PATH = re.compile(r"[\w.\-]+(?:/[\w.\-]+)+/?|[\w\-]+/|[\w\-]+\.(?:py|sql|toml|json|md|in|txt)")
MODULE = re.compile(r"(?:api|infra|local|cli|emulator|skincare|oncall|worker)(?:\.[a-z_]+)+")
MENTION = re.compile(
    r"(?<![\w./<{-])(?:tests|docs|scripts|requirements|infra|local|emulator|cli|functions|layers|skincare|bench)"
    r"/[\w/.-]*\.(?:py|sql|md|toml|json|in|txt)\b"
)
"""A path in a block of code of a document, or in code itself."""
IDENTIFIER = re.compile(
    r"[a-z]+(?:_[a-z0-9]+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+|([a-z_.]+)\(…?\)|[a-z]+\.[a-z]+_[a-z_]+"
)
"""Such as `publish_at`, `SendRefund`, `place_order(…)` or the event `job.retry_scheduled`."""
OF_AWS = {
    "EnforcementStatus",
    "SendingEnabled",
    "ImportModuleError",
    "NatGateway",
    "SecurityGroupEgress",
    "SecurityGroupIngress",
}
"""What runbooks and the guide to deploying quote of the answers of AWS."""
SETTING = re.compile(r"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+_?)(?:<[A-Z]+>)?")
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
OUTWORN = re.compile(
    r"\b(?:mend(?:s|ed|ing)?|chores?|lamps?|lit|bur(?:y|ied|ies)|call(?:s|ed)? off|hand(?:s|ed)? back"
    r"|past (?:its|their) use|dearest|lend(?:s|er)?|lent|deaths?|happenings?)\b",
    flags=re.IGNORECASE,
)
"""Words of ours for what has a name in the trade; the glossary has that."""


def spans(name: str) -> set[str]:
    """Return the spans of code in a document's sentences and tables."""
    return set(re.findall(r"`([^`\n]+)`", FENCE.sub("", text_of(name))))


def prose(name: str) -> str:
    """Return a document without code and without the targets of its links."""
    return re.sub(r"`[^`\n]+`|\]\([^)]*\)", "", FENCE.sub("", text_of(name)))


def rows(name: str, head: str) -> list[str]:
    """Return the first cells of the table that has this head, as code."""
    table = text_of(name).partition(f"\n{head}\n|")[2].partition("\n\n")[0]
    return re.findall(r"^\| `([^`]+)`", table, flags=re.MULTILINE)


def headless(document: str) -> list[str]:
    """Return the tables of a document whose first row is not followed by a line of hyphens: a merge cut them."""
    tables = re.findall(r"(?:^\|.*\n?)+", FENCE.sub("", document), flags=re.MULTILINE)
    return [table for table in tables if not re.match(r"\|.*\|\n\|(?:---\|)+", table)]


def folders(below: str) -> set[str]:
    """Return the folders of the tree that lie directly below a folder, and hold something that is tracked."""
    inside = (name.removeprefix(below) for name in tracked_files() if name.startswith(below))
    return {name.partition("/")[0] for name in inside if "/" in name}


def exists(path: str) -> bool:
    return any((ROOT / package / path).exists() for package in PACKAGES) or any(
        file.endswith(f"/{path}") for file in tracked_files()
    )


@cache
def code_words() -> frozenset[str]:
    """Return every word of the code, of tests too, but of no test that is about documents."""
    texts = (
        text_of(name)
        for name in tracked_files()
        if not name.startswith(("docs/", "tests/architecture/")) and not name.endswith((".md", ".json", ".pem"))
    )
    return frozenset(word for text in texts for word in re.findall(r"\w+", text))


def test_the_code_names_files_that_exist() -> None:
    sources = [name for name in tracked_files() if name.endswith((".py", ".sql", ".toml", "Makefile"))]
    sources = [name for name in sources if not name.startswith(("tests/", "bench/"))]
    named = {(name, path) for name in sources for path in MENTION.findall(text_of(name))}
    assert len(named) > 10
    assert sorted((name, path) for name, path in named if not exists(path) and not MADE.search(path)) == []


def test_a_table_without_its_head_is_found() -> None:
    assert headless("| a | b |\n|---|---|\n| 1 | 2 |\n\ntext\n") == []
    assert headless("text\n\n| 1 | 2 |\n| 3 | 4 |\n\ntext\n") == ["| 1 | 2 |\n| 3 | 4 |\n"]


class TestADocument:
    @pytest.mark.parametrize("name", LIVING)
    def test_names_paths_that_exist(self, name: str) -> None:
        paths = {span for span in spans(name) if PATH.fullmatch(span) and not MADE.search(span) and span[0] != "/"}
        kinds = re.compile(r"/$|\.(py|sql|toml|json|md|in|txt)$|^(tests|docs|scripts|requirements|skincare|\.ci)/")
        assert sorted(path for path in paths if kinds.search(path) and not exists(path)) == []

    @pytest.mark.parametrize("name", LIVING)
    def test_names_modules_that_exist(self, name: str) -> None:
        modules = {span for span in spans(name) if MODULE.fullmatch(span) and not span.endswith(".md")}
        missing = [
            module
            for module in modules
            if not any(exists(f"{path}{end}") for path in self._files(module) for end in (".py", "/__init__.py"))
        ]
        assert missing == []

    @staticmethod
    def _files(module: str) -> tuple[str, str]:
        """Return a module's path, and that of the module of which the last part is a name."""
        path = module.replace(".", "/")
        return path, path.rpartition("/")[0]

    @pytest.mark.parametrize("name", LIVING)
    def test_names_targets_of_make_that_exist(self, name: str) -> None:
        targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), flags=re.MULTILINE))
        code = [*spans(name), *(line for block in FENCE.finditer(text_of(name)) for line in block[0].splitlines())]
        named = {found[1] for span in code if (found := re.match(r"(?:[A-Z_]+=\S+ )*make ([a-z-]+)", span.strip()))}
        assert named - targets == set()

    @pytest.mark.parametrize("name", LIVING)
    def test_names_settings_that_the_code_reads(self, name: str) -> None:
        sources = [file for file in tracked_files() if file.endswith((".py", "Makefile", ".toml", ".sh"))]
        code = "\n".join(text_of(file) for file in sources if not file.startswith("tests/"))
        named = {found[1] for span in spans(name) if (found := SETTING.fullmatch(span))}
        # A setting for each queue or gateway is read by what stands before their name.
        missing = {setting for setting in named if not re.search(rf"\b{setting}\b|\b{setting.rstrip('_')}_", code)}
        prefixed = re.compile(r"(WEBHOOK_SECRET_ID|GATEWAY_URL|MERCHANT_ID|(DEAD_LETTER_)?QUEUE_URL)_")
        assert {setting for setting in missing if not prefixed.match(setting)} == set()

    @pytest.mark.parametrize("name", [name for name in LIVING if name != "CHANGELOG.md"])
    def test_names_tables_columns_functions_classes_and_events_that_exist(self, name: str) -> None:
        named = {found[1] or found[0] for span in spans(name) if (found := IDENTIFIER.fullmatch(span))}
        known = code_words()
        assert {word for word in named - OF_AWS if not set(word.split(".")) <= known} == set()

    @pytest.mark.parametrize("name", LIVING)
    def test_names_files_that_exist_in_its_blocks_of_code(self, name: str) -> None:
        paths = {path for block in FENCE.finditer(text_of(name)) for path in MENTION.findall(block[0])}
        assert sorted(path for path in paths if not exists(path) and not MADE.search(path)) == []

    @pytest.mark.parametrize("name", DOCUMENTS)
    def test_has_no_row_of_a_table_without_its_head(self, name: str) -> None:
        assert headless(text_of(name)) == []

    @pytest.mark.parametrize("name", LIVING)
    def test_uses_the_words_of_the_trade(self, name: str) -> None:
        assert OUTWORN.findall(prose(name)) == []


class TestTheReadme:
    def test_fits_a_hundred_lines(self) -> None:
        assert len(text_of("README.md").splitlines()) <= 100

    def test_names_every_folder_of_code(self) -> None:
        code = {name.partition("/")[0] for name in tracked_files() if name.endswith(".py")}
        paragraph = text_of("README.md").partition("The code: ")[2].partition("\n\n")[0]
        named = {path.partition("/")[0] for path in re.findall(r"`([\w/]+/)`", paragraph)}
        assert named == code - {"bench"}


class TestContributing:
    def test_lists_every_folder_of_tests(self) -> None:
        table = text_of("CONTRIBUTING.md").partition("| folder | holds |")[2].partition("\n\n")[0]
        listed = re.findall(r"`tests/(\w+)`", table)
        assert sorted(listed) == sorted(folders("tests/"))


class TestTheArchitecture:
    def test_lists_every_function(self) -> None:
        assert sorted(rows("docs/architecture.md", "| function | invoked by | does |")) == sorted(folders("functions/"))

    @pytest.mark.parametrize("below", ["", "emulator/", "functions/"])
    def test_draws_every_folder_of_the_house(self, below: str) -> None:
        tree = text_of("docs/architecture.md").partition("## The house")[2].partition("## Who may")[0]
        drawn = set(re.findall(r"([a-z_]+)/", tree))
        assert {folder for folder in folders(below) if folder[0] != "."} - drawn == set()

    def test_names_files_of_a_folder_that_are_there(self) -> None:
        tree = text_of("docs/architecture.md").partition("## The house")[2].partition("## Who may")[0]
        folder, missing, seen = "", [], 0
        for line in tree.splitlines():
            found = re.match(r"( *)([\w/]+)/ ", line)
            if found is None:
                continue
            folder = found[2] if not found[1] else f"{folder.partition('/')[0]}/{found[2]}"
            files = re.findall(r"(?<![\w/>])\w+\.(?:py|md|txt)", line)
            seen += len(files)
            missing += [
                f"{folder}/{file}" for file in files if not (ROOT / folder / file).exists() and not exists(file)
            ]
        assert seen > 5
        assert missing == []

    def test_names_every_queue(self) -> None:
        paragraph = text_of("docs/architecture.md").partition("## Queues")[2].partition("\n## ")[0]
        assert {queue.value for queue in QueueName} <= set(re.findall(r"`([a-z]+)`", paragraph))


class TestATable:
    def test_of_switches_is_that_of_the_code(self) -> None:
        listed = rows("docs/local-page.md", "| switch | what it does | where |")
        assert sorted(listed) == sorted(switch.value for switch in Switch)

    def test_of_metrics_is_that_of_the_code(self) -> None:
        assert [metric for metric in Metric if f"`{metric.value}`" not in text_of("docs/metrics.md")] == []

    def test_of_gateways_is_that_of_the_code(self) -> None:
        table = text_of("docs/payments.md").partition("| gateway | path | proof |")[2].partition("\n\n")[0]
        assert len(re.findall(r"^\| (?!---)", table, flags=re.MULTILINE)) == len(GATEWAYS)
        assert [name for name in GATEWAYS if name != "standard_webhooks" and f"| `{name}` |" not in table] == []


def migrations() -> int:
    return len([name for name in tracked_files() if re.search(r"/database/migrations/\d{4}_\w+\.sql$", name)])


def runbooks_in_the_game_day() -> int:
    return len(set(re.findall(r'\.follow\("([a-z-]+)"', text_of("tests/journey/test_game_day.py"))))


class TestACount:
    @pytest.mark.parametrize(
        ("name", "sentence", "count"),
        [
            ("docs/deploy.md", r"the migrator applied (\w+) migrations", migrations()),
            ("docs/runbooks/README.md", r"A test makes (\w+) of these failures", runbooks_in_the_game_day()),
            ("CHANGELOG.md", r"a game day that makes (\w+) failures", runbooks_in_the_game_day()),
            ("CHANGELOG.md", r"Webhooks of (\w+) gateways", len(GATEWAYS)),
            ("docs/http.md", r"(\d+) KiB", HTTP.max_body_bytes // 1024),
        ],
    )
    def test_in_a_sentence_is_what_is_there(self, name: str, sentence: str, count: int) -> None:
        said = re.findall(sentence, text_of(name))
        assert said, f"{name} does not say {sentence}"
        assert {NUMBERS.index(word) if word in NUMBERS else int(word) for word in said} == {count}
