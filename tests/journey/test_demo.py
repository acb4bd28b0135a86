import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class TestTheDemonstration:
    def test_it_follows_every_order_to_its_mail_and_leaves_nothing_behind(self) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "local", "demo"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        lines = done.stdout.splitlines()
        assert sum("gets the mail" in line for line in lines) == 3
        for who, result in [("double-click", "201 SKN-"), ("too-late", "409 out_of_stock"), ("broken-app", "400 ")]:
            assert any(who in line and result in line for line in lines)
        assert lines[-2:] == [
            "3 orders, 3 mails: each customer got one confirmation.",
            "Everything is stopped.",
        ]
