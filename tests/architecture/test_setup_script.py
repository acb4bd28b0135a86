"""scripts/setup, as far as it goes without a network: what it looks for, what it says, and when it does nothing."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

LAYER = "layers/shared/requirements.txt"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder, with a space in its path, of what the script reads. The script looks for no Python of this machine."""
    folder = tmp_path / "a check out"
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    shutil.copytree(ROOT / "requirements", folder / "requirements")
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / LAYER).parent.mkdir(parents=True)
    shutil.copy(ROOT / LAYER, folder / LAYER)
    script = folder / "scripts" / "setup"
    text = script.read_text()
    for place in ("/usr/", "/opt/", "/Library/"):
        assert place in text
        text = text.replace(place, "/nonexistent/")
    script.write_text(text)
    return folder


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder for the PATH with the commands that the script calls, and no Python."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("sh", "cat", "cmp", "dirname", "head"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return folder


def set_up(checkout: Path, tools: Path, group: str, **environment: str) -> tuple[int, str, str]:
    """Run the script; return its exit status and what it said on standard output and standard error."""
    done = subprocess.run(
        [checkout / "scripts" / "setup", group],
        env={"PATH": str(tools), "HOME": str(tools), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def command(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def working_python(path: Path) -> None:
    """Make an interpreter that passes as one, and that only says so where the work would begin."""
    command(path, f'case "$3" in *fcntl*) echo set up with "$0";; *) "{sys.executable}" "$@" >&2 && echo "$0";; esac')


def pretend_environment(checkout: Path, group: str) -> None:
    """Leave what a finished set-up of this group leaves."""
    command(checkout / ".venv" / "bin" / "python", "exit 0")
    names = (f"requirements/{group}.txt", "requirements/uv.txt", LAYER, "pyproject.toml")
    made_of = "".join((checkout / name).read_text() for name in names)
    (checkout / ".venv" / "made-of").write_text(f"{group}\n{checkout}\n{made_of}")


class TestAnEnvironment:
    def test_that_is_up_to_date_is_left_alone(self, checkout: Path, tools: Path) -> None:
        pretend_environment(checkout, "local")
        assert set_up(checkout, tools, "local") == (0, "", "")

    def test_of_the_tests_serves_the_system_too(self, checkout: Path, tools: Path) -> None:
        pretend_environment(checkout, "dev")
        assert set_up(checkout, tools, "local") == (0, "", "")

    def test_of_the_system_does_not_serve_the_tests(self, checkout: Path, tools: Path) -> None:
        pretend_environment(checkout, "local")
        working_python(tools / "python3.13")
        assert set_up(checkout, tools, "dev") == (0, f"set up with {tools}/python3.13\n", "")

    @pytest.mark.parametrize("changed", ["requirements/local.txt", "requirements/uv.txt", LAYER, "pyproject.toml"])
    def test_is_stale_once_a_file_changed_that_it_was_made_of(self, checkout: Path, tools: Path, changed: str) -> None:
        pretend_environment(checkout, "local")
        with (checkout / changed).open("a") as file:
            file.write("# changed\n")
        working_python(tools / "python3.13")
        assert set_up(checkout, tools, "local") == (0, f"set up with {tools}/python3.13\n", "")

    def test_that_was_moved_is_stale(self, checkout: Path, tools: Path) -> None:
        pretend_environment(checkout, "local")
        moved = checkout.rename(checkout.with_name("moved"))
        working_python(tools / "python3.13")
        assert set_up(moved, tools, "local") == (0, f"set up with {tools}/python3.13\n", "")

    def test_whose_interpreter_is_gone_is_stale(self, checkout: Path, tools: Path) -> None:
        pretend_environment(checkout, "local")
        command(checkout / ".venv" / "bin" / "python", "exit 127")
        working_python(tools / "python3.13")
        assert set_up(checkout, tools, "local") == (0, f"set up with {tools}/python3.13\n", "")

    def test_of_an_unknown_group_is_refused(self, checkout: Path, tools: Path) -> None:
        assert set_up(checkout, tools, "all") == (1, "", "setup: unknown group 'all': local or dev\n")


class TestLookingForPython:
    def test_none_gives_one_sentence_that_says_what_to_install(self, checkout: Path, tools: Path) -> None:
        command(tools / "python3.13", "echo 'version 3.13 is not installed' >&2; exit 127")
        status, output, said = set_up(checkout, tools, "local")
        assert (status, output) == (1, "")
        assert said.startswith("setup: no working Python 3.13 found: install it (")
        assert said.count("\n") == 1

    def test_one_without_venv_gives_one_sentence_that_names_the_package(self, checkout: Path, tools: Path) -> None:
        command(tools / "python3.13", 'echo "$0"; exit 3')
        assert set_up(checkout, tools, "local") == (
            1,
            "",
            f"setup: {tools}/python3.13 lacks the modules that make environments: "
            "install the package python3.13-venv, then run this again.\n",
        )

    @pytest.mark.parametrize(
        "place",
        [
            "python3",
            ".pyenv/versions/3.13.9/bin/python3.13",
            ".local/share/uv/python/cpython-3.13.9-linux/bin/python3.13",
        ],
    )
    def test_a_working_one_is_found_behind_a_shim_that_fails(self, checkout: Path, tools: Path, place: str) -> None:
        command(tools / "python3.13", "exit 127")
        working_python(tools / place)
        assert set_up(checkout, tools, "local") == (0, f"set up with {tools}/{place}\n", "")

    def test_the_one_that_is_named_wins(self, checkout: Path, tools: Path) -> None:
        working_python(tools / "python3.13")
        working_python(tools / "elsewhere" / "python")
        named = str(tools / "elsewhere" / "python")
        assert set_up(checkout, tools, "local", PYTHON=named) == (0, f"set up with {named}\n", "")


SAYS_WHERE = {
    "PIP_USER": "1",
    "PIP_TARGET": "/elsewhere",
    "PIP_PREFIX": "/elsewhere",
    "PIP_ROOT": "/elsewhere",
    "PIP_PYTHON": "/elsewhere/python",
    "PIP_DRY_RUN": "1",
    "UV_TARGET": "/elsewhere",
    "UV_PREFIX": "/elsewhere",
    "UV_SYSTEM_PYTHON": "1",
    "UV_BREAK_SYSTEM_PACKAGES": "1",
    "UV_PYTHON": "3.12",
    "UV_PROJECT_ENVIRONMENT": "/elsewhere",
    "UV_WORKING_DIR": "/elsewhere",
    "UV_NO_EDITABLE": "1",
    "UV_REQUIRE_HASHES": "1",
    "PYTHONPATH": "/elsewhere",
}
SAYS_FROM_WHERE = {
    "PIP_INDEX_URL": "https://packages.example.com/simple",
    "PIP_CERT": "/certificates",
    "PIP_CONFIG_FILE": "/pip.conf",
    "UV_DEFAULT_INDEX": "https://packages.example.com/simple",
    "UV_CACHE_DIR": "/cache",
    "HTTPS_PROXY": "http://proxy.example.com",
    "SSL_CERT_FILE": "/certificates",
}


@pytest.fixture
def calls(checkout: Path, tools: Path) -> Path:
    """The calls of pip and uv by a set-up that goes all the way with an interpreter and a uv of ours."""
    for name in ("cat", "date", "grep", "mkdir", "mktemp", "printf", "rm", "sh"):
        if not (tools / name).exists() and (found := shutil.which(name)):
            (tools / name).symlink_to(found)
    given = checkout / "calls"
    tell = f'{{ echo "$@"; env; }} >> "{given}"'
    (tools / "env").symlink_to(shutil.which("env") or "")
    command(checkout / "made" / "uv", tell)
    command(checkout / "made" / "python", f'case "$*" in *"-m pip --python= install"*) {tell};; esac')
    make = 'mkdir -p .venv/bin && cp made/* .venv/bin && echo "$PWD/.venv" > .venv/bin/activate'
    (tools / "cp").symlink_to(shutil.which("cp") or "")
    script = f'''case "$3" in
*fcntl*) shift 3; exec sh "$@";;
venv) {make};;
*) "{sys.executable}" "$@" >&2 && echo "$0";;
esac'''
    command(tools / "python3.13", script)
    return given


class TestWhereThingsAreInstalled:
    def test_is_said_by_nobody_but_the_script(self, checkout: Path, tools: Path, calls: Path) -> None:
        status, _, said = set_up(checkout, tools, "local", **SAYS_WHERE, **SAYS_FROM_WHERE)
        assert (status, said) == (0, "")
        lines = calls.read_text().splitlines()
        assert [name for name in SAYS_WHERE if any(line.startswith(f"{name}=") for line in lines)] == []
        times = sum(line.startswith(("-I -m pip", "pip ")) for line in lines)
        assert times == 3
        for name, value in SAYS_FROM_WHERE.items():
            assert lines.count(f"{name}={value}") == times, name

    def test_is_taken_back_from_a_settings_file_of_pip(self, checkout: Path, tools: Path, calls: Path) -> None:
        set_up(checkout, tools, "local")
        (line,) = [line for line in calls.read_text().splitlines() if line.startswith("-I -m pip")]
        # An empty prefix or root is a folder to pip, and an empty target is none.
        for option in ("--python=", "--no-user", "--target=", f"--prefix={checkout}/.venv", "--root=/"):
            assert f" {option} " in line

    @pytest.mark.parametrize("text", ['[pip]\ntarget = "/elsewhere"\n', '  pip.prefix="x"\n'])
    def test_by_a_settings_file_of_uv_gives_one_sentence(
        self, checkout: Path, tools: Path, calls: Path, text: str
    ) -> None:
        settings = tools / ".config" / "uv" / "uv.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(text)
        status, _, said = set_up(checkout, tools, "local")
        assert (status, said.count("\n"), calls.exists()) == (1, 1, False)
        assert said.startswith(f"setup: {settings} says where uv installs")
        other = checkout / "uv.toml"
        other.write_text('index-url = "https://packages.example.com/simple"\n')
        assert set_up(checkout, tools, "local", UV_CONFIG_FILE=str(other))[0] == 0
