"""A draft or archived product: nobody sees it, nobody orders it, and what was ordered stays ordered."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import Connection

from skincare.app import App
from skincare.identifiers import new_job_id, new_order_number
from skincare.orders.errors import CheckoutRefused
from skincare.orders.repository import place
from tests.support.factories import fill_cart, make_order, make_place_order, make_product
from tests.support.http import Client
from tests.support.shop import somebody_waits_for_a_lock, stock, wait_until, written

NOTHING = {"orders": 0, "order_items": 0, "idempotency_keys": 0, "jobs": 0, "timers": 0}


def set_status(conn: Connection, sku: str, status: str) -> None:
    conn.execute("UPDATE products SET status = %s WHERE sku = %s", [status, sku])


@pytest.mark.parametrize("status", ["draft", "archived"])
class TestAProductThatIsNotForSale:
    def test_is_unknown_to_the_catalog_and_to_carts(self, conn: Connection, app: App, status: str) -> None:
        sku = make_product(conn).sku
        set_status(conn, sku, status)
        client = Client(app, "ani")
        assert client.get(f"/v1/products/{sku}").code == "product_unknown"
        assert client.get("/v1/products").body["data"] == []
        assert client.put_item(sku).code == "product_unknown"
        assert client.get("/v1/cart").body["items"] == []

    def test_has_no_unit_left_in_a_cart_and_can_be_taken_out(self, conn: Connection, app: App, status: str) -> None:
        sku, other = make_product(conn).sku, make_product(conn).sku
        fill_cart(conn, "ani", {sku: 2, other: 1})
        set_status(conn, sku, status)
        client = Client(app, "ani")
        items = client.get("/v1/cart").body["items"]
        assert [(item["sku"], item["quantity"], item["stock"]) for item in items] == [(sku, 2, 0), (other, 1, 10)]
        assert client.put_item(sku, 1).code == "product_unknown"
        left = client.request("DELETE", f"/v1/cart/items/{sku}").body["items"]
        assert [item["sku"] for item in left] == [other]
        assert client.order().status == 201

    @pytest.mark.parametrize("units", [0, 1, 10])
    def test_is_out_of_stock_for_a_checkout(self, conn: Connection, app: App, status: str, units: int) -> None:
        sku, other = make_product(conn, stock=units).sku, make_product(conn).sku
        fill_cart(conn, "ani", {other: 1, sku: 1})
        set_status(conn, sku, status)
        client = Client(app, "ani")
        refused = client.order("k")
        assert (refused.status, refused.code) == (409, "out_of_stock")
        assert refused.body["items"] == [{"sku": sku, "requested": 1, "available": 0}]
        assert (written(conn), stock(conn, sku), stock(conn, other)) == (NOTHING, units, 10)
        if units:
            set_status(conn, sku, "active")
            assert client.order("k").status == 201

    def test_stays_what_was_ordered_and_comes_back_with_its_order(
        self, conn: Connection, app: App, status: str
    ) -> None:
        sku = make_product(conn, stock=5).sku
        number = make_order(conn, user_id="ani", lines={sku: 2}).order.order_number
        set_status(conn, sku, status)
        client = Client(app, "ani")
        assert [item["sku"] for item in client.get(f"/v1/orders/{number}").body["items"]] == [sku]
        assert client.cancel(number).status == 200
        assert stock(conn, sku) == 5


def test_a_checkout_that_meets_an_archiving_under_way_waits_and_is_refused(conn: Connection, database_url: str) -> None:
    sku = make_product(conn, stock=5).sku
    fill_cart(conn, "ani", {sku: 1})

    def buy() -> None:
        with psycopg.connect(database_url, autocommit=True) as own:
            place(own, make_place_order("ani"), order_number=new_order_number(), job_id=new_job_id())

    with psycopg.connect(database_url) as staff, ThreadPoolExecutor(1) as pool:
        set_status(staff, sku, "archived")
        bought = pool.submit(buy)
        wait_until(lambda: somebody_waits_for_a_lock(conn))
        staff.commit()
        with pytest.raises(CheckoutRefused):
            bought.result()
    assert (written(conn), stock(conn, sku)) == (NOTHING, 5)
