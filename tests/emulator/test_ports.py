import errno
import socket

import pytest

from emulator.loopback.ports import PortRefused, free_port, listen


class TestAPort:
    def test_that_is_taken_is_refused_by_name(self) -> None:
        with listen() as taken:
            port = taken.getsockname()[1]
            with pytest.raises(PortRefused, match=f"^Port {port} is taken by another program$"):
                listen(port)

    @pytest.mark.parametrize(
        ("number", "reason"),
        [
            (errno.EACCES, "may be used by the administrator only"),
            (errno.EADDRNOTAVAIL, "cannot be used (no such address)"),
        ],
    )
    def test_that_cannot_be_had_says_why(self, monkeypatch: pytest.MonkeyPatch, number: int, reason: str) -> None:
        def refuse(*_: object, **__: object) -> socket.socket:
            raise OSError(number, "no such address")

        monkeypatch.setattr(socket, "create_server", refuse)
        with pytest.raises(PortRefused) as refusal:
            listen(80)
        assert str(refusal.value) == f"Port 80 {reason}"

    def test_that_is_free_can_be_had(self) -> None:
        with listen(free_port()) as listener:
            assert listener.getsockname()[0] == "127.0.0.1"
