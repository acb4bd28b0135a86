"""The cart over HTTP: its lines, its limits, its versions."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg import Connection, errors

from skincare.app import App
from skincare.carts.models import MAX_LINES
from tests.support.factories import fill_cart, make_product
from tests.support.http import Client, open_app
from tests.support.shop import set_price


class TestACart:
    def test_that_was_never_filled_is_empty(self, app: App) -> None:
        assert Client(app, "ani").get("/v1/cart").body == {"version": 0, "items": [], "total_rupiah": 0}

    def test_shows_its_lines_in_the_order_in_which_they_came(self, conn: Connection, app: App) -> None:
        make_product(conn, sku="B", name="Toner", price_rupiah=90_000, stock=3)
        make_product(conn, sku="A", name="Serum", price_rupiah=150_000, stock=7)
        client = Client(app, "ani")
        client.put_item("B", 2)
        answer = client.put_item("A", 1)
        assert answer.body == client.get("/v1/cart").body
        assert answer.body == {
            "version": 2,
            "items": [
                {
                    "sku": "B",
                    "name": "Toner",
                    "quantity": 2,
                    "price_rupiah": 90_000,
                    "line_total_rupiah": 180_000,
                    "stock": 3,
                },
                {
                    "sku": "A",
                    "name": "Serum",
                    "quantity": 1,
                    "price_rupiah": 150_000,
                    "line_total_rupiah": 150_000,
                    "stock": 7,
                },
            ],
            "total_rupiah": 330_000,
        }

    def test_has_todays_prices(self, conn: Connection, app: App) -> None:
        sku = make_product(conn, price_rupiah=100_000).sku
        Client(app, "ani").put_item(sku, 3)
        set_price(conn, sku, 120_000)
        assert Client(app, "ani").get("/v1/cart").body["total_rupiah"] == 360_000

    def test_belongs_to_its_customer(self, conn: Connection, app: App) -> None:
        sku = make_product(conn).sku
        Client(app, "ani").put_item(sku, 3)
        assert Client(app, "budi").get("/v1/cart").body["items"] == []
        Client(app, "budi").request("DELETE", f"/v1/cart/items/{sku}")
        assert len(Client(app, "ani").get("/v1/cart").body["items"]) == 1


class TestPuttingAnItem:
    def test_replaces_the_quantity(self, conn: Connection, app: App) -> None:
        sku = make_product(conn).sku
        Client(app, "ani").put_item(sku, 3)
        body = Client(app, "ani").put_item(sku, 99).body
        assert [(item["sku"], item["quantity"]) for item in body["items"]] == [(sku, 99)]
        assert body["version"] == 2

    def test_that_does_not_exist_is_404_and_makes_no_cart(self, conn: Connection, app: App) -> None:
        assert Client(app, "ani").put_item("NONE", 1).code == "product_unknown"
        assert conn.execute("SELECT count(*) FROM carts").fetchone() == (0,)

    def test_takes_the_price_and_the_owner_from_the_server(self, conn: Connection, app: App) -> None:
        sku = make_product(conn, price_rupiah=150_000).sku
        body = {"quantity": 1, "price_rupiah": 1, "user_id": "budi"}
        answer = Client(app, "ani").request("PUT", f"/v1/cart/items/{sku}", body=body)
        assert (answer.status, sorted(answer.pointers)) == (422, ["/price_rupiah", "/user_id"])
        assert Client(app, "ani").get("/v1/cart").body["items"] == []

    @pytest.mark.parametrize("quantity", [0, -1, -5, 100, 100_000_000])
    def test_of_an_impossible_quantity_is_refused_by_the_database_too(self, conn: Connection, quantity: int) -> None:
        sku = make_product(conn).sku
        with pytest.raises(errors.CheckViolation):
            fill_cart(conn, "ani", {sku: quantity})
        assert conn.execute("SELECT count(*) FROM carts").fetchone() == (0,)


class TestTakingAnItemOut:
    def test_answers_the_cart_without_it(self, conn: Connection, app: App) -> None:
        one, other = make_product(conn).sku, make_product(conn).sku
        fill_cart(conn, "ani", {one: 1, other: 2})
        body = Client(app, "ani").request("DELETE", f"/v1/cart/items/{one}").body
        assert [item["sku"] for item in body["items"]] == [other]
        assert body["version"] == 3

    def test_that_is_not_in_it_changes_nothing(self, conn: Connection, app: App) -> None:
        one, other = make_product(conn).sku, make_product(conn).sku
        fill_cart(conn, "ani", {one: 1})
        answer = Client(app, "ani").request("DELETE", f"/v1/cart/items/{other}")
        assert (answer.status, answer.body["version"], len(answer.body["items"])) == (200, 1, 1)

    def test_from_a_cart_that_never_was_is_fine(self, conn: Connection, app: App) -> None:
        sku = make_product(conn).sku
        assert Client(app, "ani").request("DELETE", f"/v1/cart/items/{sku}").body["version"] == 0

    def test_that_does_not_exist_is_404(self, app: App) -> None:
        assert Client(app, "ani").request("DELETE", "/v1/cart/items/NONE").code == "product_unknown"


class TestTheLimitOfFiftyLines:
    def test_holds_for_the_next_product_and_not_for_the_next_quantity(self, conn: Connection, app: App) -> None:
        skus = [make_product(conn).sku for _ in range(MAX_LINES + 1)]
        fill_cart(conn, "ani", dict.fromkeys(skus[:MAX_LINES], 1))
        answer = Client(app, "ani").put_item(skus[MAX_LINES], 1)
        assert (answer.status, answer.code) == (409, "cart_full")
        body = Client(app, "ani").put_item(skus[0], 2).body
        assert (len(body["items"]), body["version"]) == (MAX_LINES, MAX_LINES + 1)

    def test_holds_for_requests_that_race(self, conn: Connection, database_url: str) -> None:
        skus = [make_product(conn).sku for _ in range(MAX_LINES + 10)]
        fill_cart(conn, "ani", dict.fromkeys(skus[: MAX_LINES - 5], 1))
        with open_app(database_url, max_connections=8) as app, ThreadPoolExecutor(15) as threads:
            answers = list(threads.map(lambda sku: Client(app, "ani").put_item(sku, 1), skus[MAX_LINES - 5 :]))
            assert sorted(answer.status for answer in answers) == [200] * 5 + [409] * 10
            assert len(Client(app, "ani").get("/v1/cart").body["items"]) == MAX_LINES

    def test_counts_each_change_of_requests_that_race(self, conn: Connection, database_url: str) -> None:
        sku = make_product(conn).sku
        with open_app(database_url, max_connections=8) as app, ThreadPoolExecutor(20) as threads:
            answers = list(threads.map(lambda quantity: Client(app, "ani").put_item(sku, quantity), range(1, 21)))
            assert {answer.status for answer in answers} == {200}
            assert Client(app, "ani").get("/v1/cart").body["version"] == 20
