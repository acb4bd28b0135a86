"""A refunded order's goods are for sale again: once, whole refunds only, and never more than there are."""

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from skincare.app import App
from skincare.identifiers import OrderNumber, Sku
from skincare.payments.errors import RefundNotPossible
from skincare.payments.refunds.models import RefundRequest, RefundRow
from tests.support.factories import make_order, make_product, make_user_id
from tests.support.payments import anomalies, ask_for_refund, order_status, tell
from tests.support.randomness import examples
from tests.support.shop import stock

TOTAL = 150_000


class Shop:
    """One product of 75,000 rupiah and orders of two units."""

    def __init__(self, app: App, conn: Connection, units: int = 10) -> None:
        self.app, self.conn = app, conn
        self.sku: Sku = make_product(conn, price_rupiah=75_000, stock=units).sku

    def order(self) -> OrderNumber:
        return make_order(self.conn, user_id=make_user_id(), lines={self.sku: 2}).order.order_number

    def paid(self) -> OrderNumber:
        number = self.order()
        tell(self.app, number, "paid", f"{number}-one")
        return number

    def refunded(
        self, number: OrderNumber, amount: int = TOTAL, *, of: str = "one", minute: int = 9, key: str = ""
    ) -> None:
        transaction = f"{number}-{of}"
        refund_id = key or f"{number}-{of}-{minute}"
        tell(self.app, number, "refunded", transaction, minute=minute, amount_rupiah=amount, refund_id=refund_id)

    def ask(self, number: OrderNumber, amount: int | None = None, **changes: Any) -> RefundRow:
        return ask_for_refund(self.app, RefundRequest(number, "damaged", "service desk", amount, **changes))

    @property
    def left(self) -> int:
        return stock(self.conn, self.sku)


@pytest.fixture
def shop(app: App, conn: Connection) -> Shop:
    return Shop(app, conn)


class TestAFullRefund:
    def test_puts_the_goods_back_on_sale_once(self, shop: Shop) -> None:
        number = shop.paid()
        assert shop.left == 8
        for _ in range(3):
            shop.refunded(number)
        assert (order_status(shop.conn, number), shop.left) == ("refunded", 10)
        tell(shop.app, number, "failed", f"{number}-two", minute=20)
        assert shop.left == 10

    def test_in_parts_puts_them_back_with_the_last_part(self, shop: Shop) -> None:
        number = shop.paid()
        shop.refunded(number, 50_000, minute=1)
        assert (order_status(shop.conn, number), shop.left) == ("partially_refunded", 8)
        shop.refunded(number, 100_000, minute=2)
        assert (order_status(shop.conn, number), shop.left) == ("refunded", 10)

    def test_known_before_its_payment_puts_them_back_with_the_payment(self, shop: Shop) -> None:
        number = shop.order()
        shop.refunded(number)
        assert shop.left == 8
        tell(shop.app, number, "paid", f"{number}-one")
        assert (order_status(shop.conn, number), shop.left) == ("refunded", 10)

    def test_of_a_release_that_gave_no_goods_back_is_left_as_it_is(self, shop: Shop) -> None:
        number = shop.paid()
        shop.refunded(number)
        shop.conn.execute("UPDATE orders SET restocked_at = NULL")
        shop.conn.execute("UPDATE products SET stock = 8")
        shop.conn.execute(
            "INSERT INTO stock_movements (product_id, on_hand_delta, reserved_delta, reason, order_id, moved_by)"
            " SELECT product_id, 0, -reserved_delta, 'sold', order_id, 'shop' FROM stock_movements"
            " WHERE reason = 'given_back'"
        )
        tell(shop.app, number, "failed", f"{number}-two", minute=20)
        assert (order_status(shop.conn, number), shop.left) == ("refunded", 8)

    def test_of_goods_that_are_gone_leaves_the_stock(self, shop: Shop) -> None:
        number = shop.paid()
        refund = shop.ask(number, keep_stock=True)
        assert refund.keep_stock
        shop.refunded(number, key=refund.key)
        assert (order_status(shop.conn, number), shop.left) == ("refunded", 8)

    def test_one_part_of_which_says_that_the_goods_are_gone_leaves_the_stock(self, shop: Shop) -> None:
        number = shop.paid()
        for minute, (amount, keep) in enumerate(((50_000, True), (100_000, False))):
            shop.refunded(number, amount, minute=minute, key=shop.ask(number, amount, keep_stock=keep).key)
        assert (order_status(shop.conn, number), shop.left) == ("refunded", 8)

    def test_asked_for_again_under_its_key_means_the_same_goods(self, shop: Shop) -> None:
        number = shop.paid()
        shop.ask(number, key="k-1", keep_stock=True)
        assert shop.ask(number, key="k-1", keep_stock=True).keep_stock
        with pytest.raises(RefundNotPossible):
            shop.ask(number, key="k-1")


class TestNoGoodsComeBack:
    def test_by_a_partial_refund_or_a_chargeback(self, shop: Shop) -> None:
        part, charged = shop.paid(), shop.paid()
        shop.refunded(part, TOTAL - 1)
        tell(shop.app, charged, "chargeback", f"{charged}-one", minute=5)
        assert shop.left == 6

    def test_by_the_refund_of_a_double_payment(self, shop: Shop) -> None:
        number = shop.paid()
        tell(shop.app, number, "paid", f"{number}-two", minute=1)
        shop.refunded(number, of="two")
        assert (order_status(shop.conn, number), shop.left) == ("paid", 8)

    @pytest.mark.parametrize("end", ["cancel", "expire"])
    def test_a_second_time_by_the_refund_of_money_for_a_closed_order(self, shop: Shop, end: str) -> None:
        number = shop.order()
        if end == "cancel":
            shop.conn.execute(
                "SELECT cancel_order(user_id, order_number) FROM orders WHERE order_number = %s", [number]
            )
        else:
            shop.conn.execute("SELECT expire_order(%s, 0)", [number])
        assert shop.left == 10
        tell(shop.app, number, "paid", f"{number}-one")
        shop.refunded(number)
        assert shop.left == 10


class TestAnOrderThatIsPaidAgain:
    """An earlier payment comes to light after the later one went back."""

    def come_to_light(self, shop: Shop, number: OrderNumber) -> None:
        tell(shop.app, number, "paid", f"{number}-earlier", minute=-5)

    def test_takes_its_goods_again(self, shop: Shop) -> None:
        number = shop.paid()
        shop.refunded(number)
        self.come_to_light(shop, number)
        assert (order_status(shop.conn, number), shop.left) == ("paid", 8)
        assert "goods_given_back" not in {kind for kind, *_ in anomalies(shop.conn)}

    def test_whose_goods_are_sold_waits_for_a_person_and_sells_nothing_twice(self, app: App, conn: Connection) -> None:
        shop = Shop(app, conn, units=2)
        number = shop.paid()
        shop.refunded(number)
        shop.order()
        assert shop.left == 0
        self.come_to_light(shop, number)
        assert (order_status(conn, number), shop.left) == ("paid", 0)
        assert ("goods_given_back", "review", TOTAL, TOTAL, 0) in anomalies(conn)
        # Further news of the order leaves the task, and what a person resolved stays resolved.
        tell(app, number, "failed", f"{number}-other", minute=20)
        assert ("goods_given_back", "review", TOTAL, TOTAL, 0) in anomalies(conn)
        conn.execute("UPDATE payment_anomalies SET resolved_at = now()")
        tell(app, number, "failed", f"{number}-another", minute=21)
        assert anomalies(conn) == []

    def test_takes_its_goods_once_there_are_some_and_is_withdrawn(self, app: App, conn: Connection) -> None:
        shop = Shop(app, conn, units=2)
        number = shop.paid()
        shop.refunded(number)
        other = shop.order()
        self.come_to_light(shop, number)
        conn.execute("SELECT cancel_order(user_id, order_number) FROM orders WHERE order_number = %s", [other])
        tell(app, number, "failed", f"{number}-other", minute=20)
        assert (shop.left, "goods_given_back" in {kind for kind, *_ in anomalies(conn)}) == (0, False)

    def test_and_refunded_again_gives_them_back_once(self, shop: Shop) -> None:
        number = shop.paid()
        shop.refunded(number)
        self.come_to_light(shop, number)
        shop.refunded(number, of="earlier", minute=30)
        assert (order_status(shop.conn, number), shop.left) == ("refunded", 10)

    def test_of_which_goods_were_sold_and_refunded_again_gives_nothing_back(self, app: App, conn: Connection) -> None:
        shop = Shop(app, conn, units=2)
        number = shop.paid()
        shop.refunded(number)
        shop.order()
        self.come_to_light(shop, number)
        shop.refunded(number, of="earlier", minute=30)
        assert (order_status(conn, number), shop.left) == ("refunded", 0)
        assert "goods_given_back" not in {kind for kind, *_ in anomalies(conn)}


NEWS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 2]),
        st.sampled_from(["paid", "refunded", "cancel", "expire", "chargeback"]),
        st.sampled_from(["one", "two"]),
        st.integers(-9, 9),
        st.sampled_from([TOTAL, TOTAL, 100_000]),
    ),
    max_size=14,
)


class TestManyOrdersOfScarceGoods:
    @settings(
        max_examples=examples(20),
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(news=NEWS)
    def test_never_sell_a_unit_twice_whatever_happens_to_them(
        self, app: App, conn: Connection, news: list[Any]
    ) -> None:
        """Every unit is on the shelf or an order's: those that hold none are closed, restocked, or a person's task."""
        shop = Shop(app, conn, units=4)
        numbers: list[OrderNumber] = []
        for index, what, transaction, minute, amount in news:
            while len(numbers) <= index and shop.left >= 2:
                numbers.append(shop.order())
            if index >= len(numbers):
                continue
            number = numbers[index]
            match what:
                case "cancel":
                    conn.execute(
                        "SELECT cancel_order(user_id, order_number) FROM orders WHERE order_number = %s", [number]
                    )
                case "expire":
                    conn.execute("SELECT expire_order(%s, 0)", [number])
                case _:
                    tell(app, number, what, f"{number}-{transaction}", minute=minute, amount_rupiah=amount)
            rows = conn.execute(
                "SELECT order_number, status, restocked_at IS NOT NULL FROM orders WHERE order_number = ANY (%s)",
                [numbers],
            ).fetchall()
            holding = [each for each, status, back in rows if status not in {"cancelled", "expired"} and not back]
            assert shop.left == 4 - 2 * len(holding)
            for each, status, back in rows:
                if back and status != "refunded":
                    tasks = conn.execute(
                        "SELECT 1 FROM payment_anomalies a JOIN orders o ON o.id = a.order_id"
                        " WHERE o.order_number = %s AND a.kind = 'goods_given_back' AND a.withdrawn_at IS NULL",
                        [each],
                    ).fetchall()
                    assert len(tasks) == 1
                assert status != "refunded" or back
