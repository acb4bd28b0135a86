import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.log.lines import LineFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.log"


class FullDisk:
    """Takes so many bytes and then none."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._write = os.write

    def __call__(self, descriptor: int, content: bytes) -> int:
        if not self._room:
            raise OSError(28, "No space left on device")
        taken = self._write(descriptor, content[: self._room])
        self._room -= taken
        return taken


class TestALine:
    def test_is_added_to_what_is_there(self, path: Path) -> None:
        for line in ("one", "two"):
            file = LineFile(path)
            file.append(line)
            file.close()
        assert path.read_text() == "one\ntwo\n"

    def test_that_a_kill_cut_off_takes_no_other_with_it(self, path: Path) -> None:
        path.write_text('whole\n{"to": "bu')
        LineFile(path).append("next")
        assert path.read_text().splitlines() == ["whole", '{"to": "bu', "next"]

    def test_is_written_again_once_there_is_room(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = LineFile(path)
        with monkeypatch.context() as disk:
            disk.setattr(os, "write", FullDisk(room=3))
            with pytest.raises(OSError, match="No space left"):
                file.append("precious")
        file.append("precious")
        assert path.read_text().splitlines() == ["pre", "precious"]


@given(
    lines=st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1)),
    room=st.integers(0, 40),
)
def test_whatever_was_acknowledged_is_a_line_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], room: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "file"
    file, acknowledged = LineFile(path), []
    with pytest.MonkeyPatch.context() as disk:
        disk.setattr(os, "write", FullDisk(room))
        for line in lines:
            try:
                file.append(line)
                acknowledged.append(line)
            except OSError:
                pass
    file.append("the last one")
    file.close()
    found = path.read_text(errors="replace").split("\n")
    whole = [line for line in found if line]
    # At most the one that the disk cut off stands between them.
    assert [*acknowledged, "the last one"] in (whole, whole[: len(acknowledged)] + whole[len(acknowledged) + 1 :])
