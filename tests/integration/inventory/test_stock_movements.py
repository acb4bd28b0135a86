"""Stock is the sum of its movements: whoever moves it, in any order, at once and again."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import Connection, errors

from skincare.identifiers import OrderNumber, Sku, UserId, new_order_number
from skincare.inventory import repository
from skincare.inventory.errors import StockKeyReused, StockNegative
from skincare.inventory.models import Move, Reason, Stock
from skincare.orders import repository as orders
from skincare.orders.errors import CheckoutRefused
from tests.support.factories import make_order, make_product, make_user_id
from tests.support.randomness import Times, examples
from tests.support.shop import reserved_differs, stock_differs


def adjust(conn: Connection, sku: Sku, delta: int, key: str) -> Stock:
    move = Move(sku=sku, on_hand=delta, reason=Reason.CORRECTION, key=key, moved_by="me", reference="counted again")
    moved = repository.move(conn, move)
    assert moved is not None
    return moved.stock


def numbers(conn: Connection, sku: Sku) -> tuple[int, int, int]:
    found = repository.find(conn, sku)
    assert found is not None
    return found.available, found.on_hand, found.reserved


def reasons(conn: Connection, sku: Sku) -> list[tuple[str, int, int]]:
    return [(m.reason, m.on_hand, m.reserved) for m in repository.movements(conn, sku, before=None, limit=100)]


class TestAProduct:
    def test_begins_with_a_movement(self, conn: Connection) -> None:
        sku = make_product(conn, stock=7).sku
        assert numbers(conn, sku) == (7, 7, 0)
        assert reasons(conn, sku) == [("received", 7, 0)]

    def test_of_nothing_has_none(self, conn: Connection) -> None:
        sku = make_product(conn, stock=0).sku
        assert (numbers(conn, sku), reasons(conn, sku)) == ((0, 0, 0), [])

    def test_that_is_not_there_has_no_stock(self, conn: Connection) -> None:
        assert repository.find(conn, Sku("NOBODY")) is None
        assert repository.move(conn, Move(sku=Sku("NOBODY"), reason=Reason.COUNTED, key="k", moved_by="me")) is None


class TestAnOrder:
    def test_reserves_and_its_end_gives_back(self, conn: Connection) -> None:
        sku = make_product(conn, stock=5).sku
        user = make_user_id()
        order = make_order(conn, user_id=user, lines={sku: 2}).order
        assert numbers(conn, sku) == (3, 5, 2)
        orders.cancel(conn, user, order.order_number)
        assert numbers(conn, sku) == (5, 5, 0)
        assert reasons(conn, sku) == [("given_back", 0, -2), ("sold", 0, 2), ("received", 5, 0)]
        moved = repository.movements(conn, sku, before=None, limit=2)
        assert [each.order_number for each in moved] == [order.order_number] * 2

    def test_that_was_shipped_gives_nothing_back(self, conn: Connection) -> None:
        sku = make_product(conn, stock=5).sku
        user = make_user_id()
        order = make_order(conn, user_id=user, lines={sku: 3}).order
        conn.execute(
            "SELECT move_stock(%s, -2, -2, 'shipped', 's-1', 'warehouse', p_order_id => id) FROM orders"
            " WHERE order_number = %s",
            [sku, order.order_number],
        )
        assert numbers(conn, sku) == (2, 3, 1)
        orders.cancel(conn, user, order.order_number)
        assert numbers(conn, sku) == (3, 3, 0)

    def test_raises_the_version_with_each_change_of_what_is_for_sale(self, conn: Connection) -> None:
        sku = make_product(conn, stock=5).sku
        versions = []
        for step in (
            lambda: adjust(conn, sku, 1, "a"),
            lambda: make_order(conn, lines={sku: 1}),
            lambda: adjust(conn, sku, 1, "a"),
        ):
            step()
            found = repository.find(conn, sku)
            assert found is not None
            versions.append(found.version)
        assert versions == [2, 3, 3]


class TestAMove:
    def test_happens_once_for_each_key(self, conn: Connection) -> None:
        sku = make_product(conn, stock=5).sku
        assert [adjust(conn, sku, -2, "k").available for _ in range(3)] == [3, 3, 3]

    @pytest.mark.parametrize("other", [{"on_hand": -1}, {"reason": Reason.DAMAGED}, {"sku": True}])
    def test_by_the_key_of_another_is_refused(self, conn: Connection, other: dict[str, object]) -> None:
        sku, second = make_product(conn, stock=5).sku, make_product(conn, stock=5).sku
        adjust(conn, sku, -2, "k")
        changes: dict[str, object] = {"sku": sku, "on_hand": -2, "reason": Reason.CORRECTION} | other
        if other.get("sku"):
            changes["sku"] = second
        with pytest.raises(StockKeyReused):
            repository.move(conn, Move(key="k", moved_by="me", **changes))  # type: ignore[arg-type]
        assert (numbers(conn, sku), numbers(conn, second)) == ((3, 3, 0), (5, 5, 0))

    def test_below_nothing_is_refused_with_the_numbers(self, conn: Connection) -> None:
        sku = make_product(conn, stock=5).sku
        make_order(conn, lines={sku: 4})
        with pytest.raises(StockNegative, match="5 on the shelf, 4 of them reserved and 1 for sale") as refused:
            adjust(conn, sku, -2, "k")
        assert (refused.value.stock.available, refused.value.stock.on_hand) == (1, 5)
        assert adjust(conn, sku, -1, "k").available == 0

    def test_of_fifty_at_once_with_one_key_is_one(self, conn: Connection, database_url: str) -> None:
        skus = [make_product(conn, stock=100).sku for _ in range(2)]

        def move(number: int) -> str:
            with psycopg.connect(database_url, autocommit=True) as own:
                try:
                    adjust(own, skus[number % 2], 1, "the same")
                except StockKeyReused:
                    return "refused"
                return "known"

        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(move, range(50)))
        assert sorted(numbers(conn, sku)[0] for sku in skus) == [100, 101]
        assert outcomes.count("known") == 25

    def test_is_never_rewritten(self, conn: Connection) -> None:
        sku = make_product(conn).sku
        for change in ("UPDATE stock_movements SET on_hand_delta = 1", "DELETE FROM stock_movements"):
            with pytest.raises(errors.InsufficientPrivilege):
                conn.execute(change)
        assert len(reasons(conn, sku)) == 1


@dataclass
class Model:
    """A shelf as a child would count it."""

    on_hand: int
    reserved: int = 0
    holds: dict[OrderNumber, tuple[UserId, int]] = field(default_factory=dict)

    @property
    def available(self) -> int:
        return self.on_hand - self.reserved


STEPS = st.lists(
    st.tuples(st.sampled_from(["order", "order", "cancel", "adjust", "again"]), st.integers(-6, 9)), max_size=30
)


@settings(
    max_examples=examples(15),
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS)
def test_any_history_is_what_a_model_in_memory_says(conn: Connection, steps: list[tuple[str, int]]) -> None:
    sku = make_product(conn, stock=6).sku
    model, done = Model(6), list[tuple[int, str]]()
    for number, (step, amount) in enumerate(steps):
        match step:
            case "order" if amount > 0:
                user = make_user_id()
                try:
                    placed = make_order(conn, user_id=user, lines={sku: amount}).order.order_number
                except CheckoutRefused:
                    assert amount > model.available
                else:
                    model.reserved += amount
                    model.holds[placed] = (user, amount)
            case "cancel" if model.holds:
                placed = next(iter(model.holds))
                user, units = model.holds.pop(placed)
                orders.cancel(conn, user, placed)
                orders.cancel(conn, user, placed)
                model.reserved -= units
            case "adjust" if amount:
                key = f"{sku}-{number}"
                try:
                    adjust(conn, sku, amount, key)
                except StockNegative:
                    assert model.available + amount < 0
                else:
                    model.on_hand += amount
                    done.append((amount, key))
            case "again" if done:
                adjust(conn, sku, *done[amount % len(done)])
        assert numbers(conn, sku) == (model.available, model.on_hand, model.reserved)
    assert not stock_differs(conn)
    assert not reserved_differs(conn)


def test_orders_cancellations_and_corrections_at_once_lose_and_make_no_unit(
    conn: Connection, database_url: str, times: Times, random_seed: int
) -> None:
    skus = [make_product(conn, stock=30).sku for _ in range(3)]
    each = times(short=30, long=250)

    def shop(worker: int) -> int:
        rng, corrected = random.Random(f"{random_seed}-{worker}"), 0
        with psycopg.connect(database_url, autocommit=True) as own:
            for number in range(each):
                user, lines = make_user_id(), {str(sku): rng.randint(1, 3) for sku in rng.sample(skus, 2)}
                try:
                    placed = make_order(own, user_id=user, lines=lines).order.order_number
                except CheckoutRefused:
                    placed = new_order_number()
                if rng.random() < 0.8:
                    orders.cancel(own, user, placed)
                delta = rng.choice([-2, -1, 1, 2])
                try:
                    adjust(own, rng.choice(skus), delta, f"{worker}-{number}")
                    corrected += delta
                except StockNegative:
                    pass
        return corrected

    with ThreadPoolExecutor(4) as pool:
        corrected = sum(pool.map(shop, range(4)))
    found = [numbers(conn, sku) for sku in skus]
    assert all(min(each) >= 0 for each in found)
    assert sum(on_hand for _, on_hand, _ in found) == 90 + corrected
    assert not stock_differs(conn)
    assert not reserved_differs(conn)
