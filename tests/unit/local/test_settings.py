import pytest

from local.errors import LocalSystemError
from local.settings import LocalSettings


class TestLocalSettings:
    def test_without_anything_said_the_port_is_8000_and_the_data_stays(self) -> None:
        assert LocalSettings.from_env({}) == LocalSettings(port=8000, reset=False, stop_with_parent=False)
        assert LocalSettings.from_env({"PORT": "", "RESET": ""}) == LocalSettings.from_env({})

    def test_port_and_reset_are_read(self) -> None:
        assert LocalSettings.from_env({"PORT": "8123", "RESET": "1"}) == LocalSettings(port=8123, reset=True)

    @pytest.mark.parametrize("text", ["0", "false", "no"])
    def test_a_reset_that_says_no_is_none(self, text: str) -> None:
        assert not LocalSettings.from_env({"RESET": text}).reset

    @pytest.mark.parametrize("text", ["abc", "0", "65536", "-1", "8000.5", "٨٠٠٠", "8000 "])
    def test_a_port_that_is_none_is_refused_in_one_sentence(self, text: str) -> None:
        with pytest.raises(LocalSystemError, match=r"^PORT must be a number from 1 to 65535, not .+\.$"):
            LocalSettings.from_env({"PORT": text})

    def test_started_by_make_it_ends_with_make(self) -> None:
        assert LocalSettings.from_env({"MAKELEVEL": "1"}).stop_with_parent
