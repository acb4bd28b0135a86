"""The catalog over HTTP."""

import pytest
from psycopg import Connection, errors

from skincare.app import App
from tests.support.factories import make_product
from tests.support.http import Client


class TestTheHealthRoute:
    def test_is_ok_once_the_database_has_answered(self, app: App) -> None:
        answer = Client(app).get("/health")
        assert (answer.status, answer.body) == (200, {"status": "ok"})


class TestTheListOfProducts:
    def test_shows_the_whole_small_shop_to_a_client_that_says_nothing(self, conn: Connection, app: App) -> None:
        for number in range(14):
            make_product(
                conn, sku=f"SERUM-{number:02}", name=f"Serum {number}", price_rupiah=1000 + number, stock=number
            )
        body = Client(app).get("/v1/products").body
        assert (len(body["data"]), body["has_more"], body["next_cursor"]) == (14, False, None)
        shown = {"sku": "SERUM-03", "name": "Serum 3", "price_rupiah": 1003, "stock": 3}
        assert body["data"][3] == shown | {"highlights": None}

    def test_is_empty_in_an_empty_shop(self, app: App) -> None:
        assert Client(app).get("/v1/products").body == {
            "data": [],
            "has_more": False,
            "next_cursor": None,
            "facets": None,
            "nearest": False,
        }

    @pytest.mark.parametrize("limit", [1, 2, 5, 6])
    def test_shows_everything_once_although_products_are_added(self, conn: Connection, app: App, limit: int) -> None:
        """A product that is added behind the reader is not seen; nothing that was there is left out or seen twice."""
        for name in "BDFHJ":
            make_product(conn, sku=name)
        seen: list[str] = []
        query = f"limit={limit}"
        while True:
            body = Client(app).get("/v1/products", query).body
            seen += [product["sku"] for product in body["data"]]
            if not body["has_more"]:
                break
            make_product(conn, sku=f"A{len(seen)}")
            query = f"limit={limit}&cursor={body['next_cursor']}"
        assert seen == list("BDFHJ")

    def test_leaves_out_what_is_not_active(self, conn: Connection, app: App) -> None:
        for status in ("draft", "active", "archived"):
            make_product(conn, sku=status.upper())
            conn.execute("UPDATE products SET status = %s WHERE sku = %s", [status, status.upper()])
        assert [each["sku"] for each in Client(app).get("/v1/products").body["data"]] == ["ACTIVE"]
        assert [Client(app).get(f"/v1/products/{sku}").status for sku in ("DRAFT", "ARCHIVED")] == [404, 404]


class TestAProduct:
    def test_is_found_by_its_sku(self, conn: Connection, app: App) -> None:
        product = make_product(conn, sku="TONER-1", name="Toner — “Aloe” 测试", price_rupiah=100_000_000, stock=0)
        answer = Client(app).get("/v1/products/TONER-1")
        assert answer.body == {"sku": "TONER-1", "name": product.name, "price_rupiah": 100_000_000, "stock": 0}

    @pytest.mark.parametrize("sku", ["NONE", "toner-1", "TONER-1%20", "1%27%20OR%201=1", "x" * 5000, "%F0%9F%8C%B8"])
    def test_that_does_not_exist_is_404(self, conn: Connection, app: App, sku: str) -> None:
        make_product(conn, sku="TONER-1")
        answer = Client(app).get(f"/v1/products/{sku}")
        assert (answer.status, answer.code) == (404, "product_unknown")

    @pytest.mark.parametrize(
        "fields",
        [{"price_rupiah": 0}, {"price_rupiah": -1}, {"price_rupiah": 100_000_001}, {"stock": -1}, {"sku": "a b"}],
    )
    def test_cannot_be_impossible(self, conn: Connection, fields: dict[str, int]) -> None:
        with pytest.raises(errors.CheckViolation):
            make_product(conn, **fields)  # type: ignore[arg-type]
