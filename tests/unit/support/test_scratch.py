"""Folders for the databases of tests."""

import os
import time

from tests.support.scratch import scratch_folder


class TestAScratchFolder:
    def test_of_a_killed_run_is_removed_by_the_next_and_one_in_use_is_not(self) -> None:
        with scratch_folder() as used:
            left = used.with_name(f"{used.name}-left")
            left.mkdir()
            long_ago = time.time() - 3600
            for old in (left, used):
                os.utime(old, (long_ago, long_ago))
            with scratch_folder() as another:
                assert not left.exists()
                assert used.exists()
            assert not another.exists()
