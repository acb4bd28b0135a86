"""What an order is worth, and why a checkout was refused: pure decisions."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skincare.carts.errors import CartFull
from skincare.carts.models import MAX_LINES, Cart, CartItem
from skincare.errors import SkincareError
from skincare.identifiers import OrderNumber, Sku
from skincare.orders.errors import (
    CartAlreadyOrdered,
    CartEmpty,
    CheckoutOvertaken,
    Excess,
    OutOfStock,
    PriceChanged,
    PurchaseLimitExceeded,
    Shortage,
    TooManyOpenOrders,
)
from skincare.orders.models import CartLine, CheckoutState, Order, OrderStatus
from skincare.orders.service import refusal
from skincare.orders.terms import Terms
from tests.support.factories import UNLIMITED as ANYTHING
from tests.support.factories import make_place_order

NUMBER = OrderNumber("SKN-00000-00001")
LINES = st.lists(
    st.builds(
        CartLine,
        sku=st.integers(0, 10**6).map(lambda number: Sku(f"S{number}")),
        quantity=st.integers(1, 99),
        price_rupiah=st.integers(1, 100_000_000),
        stock=st.integers(0, 2**31 - 1),
    ),
    min_size=1,
    max_size=MAX_LINES,
).map(tuple)


def line(quantity: int = 1, price: int = 150_000, stock: int = 10) -> CartLine:
    return CartLine(Sku("A"), quantity, price, stock)


class TestWhyACheckoutWasRefused:
    @pytest.mark.parametrize(
        ("state", "expected_total", "error"),
        [
            (CheckoutState(NUMBER, ()), None, CartAlreadyOrdered),
            (CheckoutState(None, ()), None, CartEmpty),
            (CheckoutState(None, (line(quantity=2, stock=1),)), None, OutOfStock),
            (CheckoutState(None, (line(),)), 149_999, PriceChanged),
            (CheckoutState(None, (line(quantity=2, stock=1),)), 1, OutOfStock),
            (CheckoutState(None, (line(),) * (MAX_LINES + 1)), None, CartFull),
            (CheckoutState(None, (line(),)), None, CheckoutOvertaken),
            (CheckoutState(None, (line(),), (NUMBER,) * 999), None, CheckoutOvertaken),
            (CheckoutState(None, (line(),), (NUMBER,) * 1_000), None, TooManyOpenOrders),
            (CheckoutState(NUMBER, (line(),), (NUMBER,) * 1_000), None, CartAlreadyOrdered),
            (CheckoutState(None, (), (NUMBER,) * 1_000), None, CartEmpty),
            (CheckoutState(None, (line(quantity=2, stock=1),), (NUMBER,) * 1_000), None, TooManyOpenOrders),
            (CheckoutState(None, (line(),)), 150_000, CheckoutOvertaken),
        ],
    )
    def test_is_read_off_the_cart(
        self, state: CheckoutState, expected_total: int | None, error: type[SkincareError]
    ) -> None:
        assert type(refusal(state, expected_total, ANYTHING)) is error

    @given(LINES)
    def test_names_exactly_what_is_short_and_what_is_left(self, lines: tuple[CartLine, ...]) -> None:
        found = refusal(CheckoutState(None, lines), None, ANYTHING)
        short = [Shortage(each.sku, each.quantity, each.stock) for each in lines if each.stock - each.quantity < 0]
        assert (list(found.items) if isinstance(found, OutOfStock) else []) == short

    @given(LINES, st.integers(1, 120), st.data())
    def test_names_exactly_what_is_over_the_limit_and_what_is_allowed(
        self, lines: tuple[CartLine, ...], limit: int, data: st.DataObject
    ) -> None:
        held = tuple(replace(each, stock=99, unpaid=data.draw(st.integers(0, 130))) for each in lines)
        found = refusal(CheckoutState(None, held), None, Terms(open_units=limit))
        over = [
            Excess(each.sku, each.quantity, limit - each.unpaid if each.unpaid < limit else 0)
            for each in held
            if each.quantity > limit - each.unpaid
        ]
        assert (list(found.items) if isinstance(found, PurchaseLimitExceeded) else []) == over

    @given(LINES, st.integers(1, 10**12))
    def test_tells_the_new_total_only_where_it_is_higher(self, lines: tuple[CartLine, ...], expected: int) -> None:
        enough = tuple(CartLine(each.sku, each.quantity, each.price_rupiah, 99) for each in lines)
        found = refusal(CheckoutState(None, enough), expected, ANYTHING)
        total = sum(each.quantity * each.price_rupiah for each in lines)
        assert isinstance(found, PriceChanged) == (total > expected)
        if isinstance(found, PriceChanged):
            assert found.total_rupiah == total


class TestACart:
    @given(LINES)
    def test_costs_the_sum_of_its_lines(self, lines: tuple[CartLine, ...]) -> None:
        items = tuple(CartItem(each.sku, "Serum", each.quantity, each.price_rupiah, each.stock) for each in lines)
        cart = Cart(1, items)
        assert cart.total_rupiah == sum(item.line_total_rupiah for item in items)
        assert cart.total_rupiah <= MAX_LINES * 99 * 100_000_000 < 2**63

    def test_that_is_empty_costs_nothing(self) -> None:
        assert Cart(0, ()).total_rupiah == 0


class TestThePaymentStatus:
    @pytest.mark.parametrize(
        ("status", "expected"),
        [
            ("pending", "unpaid"),
            ("paid", "paid"),
            ("cancelled", "unpaid"),
            ("expired", "unpaid"),
            ("refunded", "refunded"),
            ("partially_refunded", "partially_refunded"),
        ],
    )
    def test_follows_from_the_status(self, status: str, expected: str) -> None:
        order = Order(NUMBER, OrderStatus(status), 1, datetime.now(UTC), None, ())
        assert order.payment_status == expected


class TestAFingerprint:
    FIELDS = st.fixed_dictionaries(
        {},
        optional={
            "expected_total_rupiah": st.none() | st.integers(1, 10**12),
            "recipient_name": st.none() | st.text(min_size=1, max_size=20),
            "shipping_address": st.none() | st.text(min_size=1, max_size=20),
            "note": st.none() | st.text(min_size=1, max_size=20),
        },
    )

    @given(FIELDS, FIELDS)
    def test_is_the_same_for_the_same_wishes_only(self, one: dict[str, Any], other: dict[str, Any]) -> None:
        def said(fields: dict[str, Any]) -> dict[str, Any]:
            return {name: value for name, value in fields.items() if value is not None}

        same = make_place_order("u", **one).fingerprint == make_place_order("u", **other).fingerprint
        assert same == (said(one) == said(other))

    def test_does_not_depend_on_who_asks_or_when(self) -> None:
        one = make_place_order("user-1", email="buyer@example.com", note="x")
        other = make_place_order("user-2", email="ani@example.com", note="x")
        assert one.fingerprint == other.fingerprint
