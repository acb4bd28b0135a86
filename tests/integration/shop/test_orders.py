"""A customer's orders over HTTP, after they were placed."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg import Connection

from skincare.app import App
from skincare.identifiers import UserId
from skincare.orders import repository
from tests.support.factories import make_order, make_product
from tests.support.http import Answer, Client, open_app
from tests.support.shop import set_price, stock


def without_request(answer: Answer) -> dict[str, object]:
    """The body apart from what names this very request."""
    return {name: value for name, value in answer.body.items() if name not in {"request_id", "instance"}}


def by_itself(app: App, number: str) -> dict[str, object]:
    """The order's own answer apart from its activity, which only that one has."""
    return {
        name: value for name, value in Client(app, "ani").get(f"/v1/orders/{number}").body.items() if name != "activity"
    }


class TestAnOrder:
    def test_is_the_answer_that_placed_it_with_what_happened_since(self, conn: Connection, app: App) -> None:
        sku = make_product(conn).sku
        client = Client(app, "ani")
        client.put_item(sku, 2)
        placed = client.order()
        body = client.get(placed.headers["location"]).body
        assert [each["what"] for each in body.pop("activity")] == ["confirmation_email"]
        assert body == placed.body

    def test_keeps_the_prices_and_names_of_its_day(self, conn: Connection, app: App) -> None:
        sku = make_product(conn, price_rupiah=150_000, name="Serum").sku
        number = make_order(conn, user_id="ani", lines={sku: 1}).order.order_number
        set_price(conn, sku, 170_000)
        conn.execute("UPDATE products SET name = 'Other' WHERE sku = %s", [sku])
        body = Client(app, "ani").get(f"/v1/orders/{number}").body
        assert (body["total_rupiah"], body["items"][0]["name"]) == (150_000, "Serum")

    def test_of_somebody_else_looks_like_one_that_does_not_exist(self, conn: Connection, app: App) -> None:
        number = make_order(conn, user_id="ani").order.order_number
        others = Client(app, "budi").get(f"/v1/orders/{number}")
        missing = Client(app, "budi").get("/v1/orders/SKN-ZZZZZ-ZZZZZ")
        assert (others.status, without_request(others)) == (404, without_request(missing))
        assert set(others.headers) == set(missing.headers)

    @pytest.mark.parametrize("number", ["1", "SKN-00000-0000", "%25", "ani@example.com", "x" * 3000])
    def test_is_not_found_by_anything_else(self, conn: Connection, app: App, number: str) -> None:
        make_order(conn, user_id="ani")
        answer = Client(app, "ani").get(f"/v1/orders/{number}")
        assert (answer.status, answer.code) == (404, "order_unknown")

    def test_is_found_by_its_number_as_it_was_heard(self, conn: Connection, app: App) -> None:
        customer, number = Client(app, "ani"), make_order(conn, user_id="ani").order.order_number
        heard = number.removeprefix("SKN-").replace("0", "o").replace("1", "I").lower()
        for text in (number.lower(), number.replace("-", ""), f"%20{number}", heard):
            answer = customer.get(f"/v1/orders/{text}")
            assert (answer.status, answer.body["order_number"]) == (200, number), text
        cancelled = customer.request("POST", f"/v1/orders/{heard}/cancel")
        assert (cancelled.body["order_number"], cancelled.body["status"]) == (number, "cancelled")
        # A number is a name and no key, however it is written.
        assert Client(app, "budi").get(f"/v1/orders/{heard}").code == "order_unknown"

    def test_number_cannot_be_guessed_from_the_one_before(self, conn: Connection, app: App) -> None:
        one, other = (make_order(conn, user_id=user).order.order_number for user in ("ani", "budi"))
        assert sum(a == b for a, b in zip(one, other, strict=True)) < 12
        assert {one[:4], other[:4]} == {"SKN-"}

    @pytest.mark.parametrize(("number", "field"), [("%00", "/path/order_number"), ("SKN%7F", "/path/order_number")])
    def test_number_with_a_control_character_is_named(self, app: App, number: str, field: str) -> None:
        assert Client(app, "ani").get(f"/v1/orders/{number}").pointers == [field]


class TestTheListOfOrders:
    def test_is_empty_for_a_new_customer(self, conn: Connection, app: App) -> None:
        make_order(conn, user_id="ani")
        assert Client(app, "budi").get("/v1/orders").body == {"data": [], "has_more": False, "next_cursor": None}

    @pytest.mark.parametrize("limit", [1, 2, 5, 6])
    def test_goes_from_the_newest_back_and_is_stable_while_orders_are_placed(
        self, conn: Connection, app: App, limit: int
    ) -> None:
        placed = [make_order(conn, user_id="ani").order.order_number for _ in range(5)]
        seen: list[str] = []
        query = f"limit={limit}"
        while True:
            body = Client(app, "ani").get("/v1/orders", query).body
            seen += [order["order_number"] for order in body["data"]]
            if not body["has_more"]:
                break
            make_order(conn, user_id="ani")
            query = f"limit={limit}&cursor={body['next_cursor']}"
        assert seen == placed[::-1]

    def test_shows_each_order_as_it_is_by_itself(self, conn: Connection, app: App) -> None:
        make_order(conn, user_id="ani", lines={make_product(conn).sku: 2, make_product(conn).sku: 1})
        (listed,) = Client(app, "ani").get("/v1/orders").body["data"]
        assert by_itself(app, listed["order_number"]) == listed

    def test_cannot_be_entered_through_somebody_elses_order(self, conn: Connection, app: App) -> None:
        for _ in range(2):
            make_order(conn, user_id="ani")
            make_order(conn, user_id="budi")
        cursor = Client(app, "ani").get("/v1/orders", "limit=1").body["next_cursor"]
        assert Client(app, "budi").get("/v1/orders", f"cursor={cursor}").body["data"] == []


class TestCancellingAnOrder:
    def test_gives_back_exactly_its_own_units_once(self, conn: Connection, app: App) -> None:
        sku = make_product(conn, stock=10).sku
        make_order(conn, user_id="ani", lines={sku: 3})
        number = make_order(conn, user_id="ani", lines={sku: 2}).order.order_number
        assert stock(conn, sku) == 5
        first, second = (Client(app, "ani").cancel(number) for _ in range(2))
        assert (first.status, first.body["status"], first.body["payment_status"]) == (200, "cancelled", "unpaid")
        assert first.body == second.body == by_itself(app, number)
        assert stock(conn, sku) == 7

    def test_gives_them_back_once_to_requests_that_race(self, conn: Connection, database_url: str) -> None:
        sku = make_product(conn, stock=10).sku
        number = make_order(conn, user_id="ani", lines={sku: 4}).order.order_number
        with open_app(database_url, max_connections=6) as app, ThreadPoolExecutor(12) as threads:
            answers = list(threads.map(lambda _: Client(app, "ani").cancel(number), range(12)))
        assert {answer.status for answer in answers} == {200}
        assert stock(conn, sku) == 10

    @pytest.mark.parametrize("status", ["paid", "expired", "refunded", "partially_refunded"])
    def test_that_has_gone_too_far_is_refused(self, conn: Connection, app: App, status: str) -> None:
        sku = make_product(conn, stock=10).sku
        number = make_order(conn, user_id="ani", lines={sku: 4}).order.order_number
        conn.execute("UPDATE orders SET status = %s", [status])
        answer = Client(app, "ani").cancel(number)
        assert (answer.status, answer.code, answer.body["order_status"]) == (409, "order_not_cancellable", status)
        assert stock(conn, sku) == 6

    def test_of_somebody_else_is_404_and_does_nothing(self, conn: Connection, app: App) -> None:
        sku = make_product(conn, stock=10).sku
        number = make_order(conn, user_id="ani", lines={sku: 4}).order.order_number
        others, missing = Client(app, "budi").cancel(number), Client(app, "budi").cancel("SKN-ZZZZZ-ZZZZZ")
        assert (others.status, without_request(others)) == (404, without_request(missing))
        assert Client(app, "ani").get(f"/v1/orders/{number}").body["status"] == "pending"
        assert stock(conn, sku) == 6

    def test_sells_the_units_to_the_next_customer(self, conn: Connection, app: App) -> None:
        sku = make_product(conn, stock=1).sku
        number = make_order(conn, user_id="ani", lines={sku: 1}).order.order_number
        budi = Client(app, "budi")
        budi.put_item(sku)
        assert budi.order().code == "out_of_stock"
        Client(app, "ani").cancel(number)
        assert budi.order().status == 201

    def test_of_a_cart_does_not_let_it_be_ordered_again(self, conn: Connection, app: App) -> None:
        number = make_order(conn, user_id="ani").order.order_number
        assert repository.cancel(conn, UserId("ani"), number) == "cancelled"
        assert Client(app, "ani").order().code == "cart_already_ordered"
