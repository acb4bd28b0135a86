"""What new identifiers look like."""

import re
import time

from skincare.identifiers import new_order_number, uuid7


class TestOrderNumber:
    def test_is_readable_and_has_no_letter_that_is_heard_wrong(self) -> None:
        numbers = [new_order_number() for _ in range(1000)]
        assert all(re.fullmatch("SKN-[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}", number) for number in numbers)
        assert len(set(numbers)) == len(numbers)

    def test_uses_every_letter_at_every_place(self) -> None:
        numbers = [new_order_number().replace("-", "")[3:] for _ in range(2000)]
        assert {len(set(letters)) for letters in zip(*numbers, strict=True)} == {32}


class TestUuid7:
    def test_has_the_version_and_the_variant_of_rfc_9562(self) -> None:
        made = [uuid7() for _ in range(100)]
        assert {each.version for each in made} == {7}
        assert {each.variant for each in made} == {"specified in RFC 4122"}

    def test_starts_with_the_milliseconds_of_now(self) -> None:
        before = time.time_ns() // 1_000_000
        milliseconds = uuid7().int >> 80
        assert before <= milliseconds <= time.time_ns() // 1_000_000
