from pathlib import Path

from emulator.switches import Fault, Switches


class TestSwitches:
    def test_are_off_where_nobody_has_turned_one(self, tmp_path: Path) -> None:
        switches = Switches(tmp_path / "switches")
        assert (switches.on(), switches.is_on(Fault.SQS_DOWN), switches.on_since(Fault.SQS_DOWN)) == (
            frozenset(),
            False,
            None,
        )
        switches.all_off()
        switches.turn(Fault.SQS_DOWN, on=False)

    def test_are_seen_by_whoever_shares_the_folder_also_those_that_the_emulator_does_not_know(
        self, tmp_path: Path
    ) -> None:
        ours, theirs = Switches(tmp_path / "switches"), Switches(tmp_path / "switches")
        ours.turn(Fault.MAIL_DOWN, on=True)
        ours.turn("of_a_product", on=True)
        assert theirs.on() == {"mail_down", "of_a_product"}
        theirs.all_off()
        assert ours.on() == frozenset()

    def test_turned_on_again_keep_their_time(self, tmp_path: Path) -> None:
        switches = Switches(tmp_path)
        switches.turn(Fault.MAIL_DOWN, on=True)
        since = switches.on_since(Fault.MAIL_DOWN)
        switches.turn(Fault.MAIL_DOWN, on=True)
        assert since is not None
        assert switches.on_since(Fault.MAIL_DOWN) == since
