"""Customers find products by words, and narrow down what they found."""

import base64
import json
import threading
from itertools import product
from urllib.parse import quote_plus, urlencode

import psycopg
import pytest
from psycopg import Connection

from skincare.app import App
from skincare.identifiers import Sku, uuid7
from skincare.inventory import repository as inventory
from skincare.inventory.models import Move, Reason
from tests.support.catalog import fill_shop, make_found
from tests.support.factories import make_product
from tests.support.http import Client
from tests.support.local_system import wait_for

TO_ANOTHER_BRAND = """
    UPDATE product_details d SET brand = 'Batu' FROM products p WHERE p.id = d.product_id AND p.sku = 'HAIR-1'"""
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.fixture
def client(conn: Connection, app: App) -> Client:
    fill_shop(conn)
    return Client(app)


def found(client: Client, **query: object) -> list[str]:
    """Return the SKUs of the first page; what was only nearest does not count."""
    answer = client.get("/v1/products", urlencode(query))
    assert answer.status == 200, answer.body
    return [] if answer.body["nearest"] else [each["sku"] for each in answer.body["data"]]


def damage_one(conn: Connection, sku: str) -> None:
    move = Move(sku=Sku(sku), on_hand=-1, reason=Reason.DAMAGED, key=str(uuid7()), moved_by="shelf")
    inventory.move(conn, move)


def walk(client: Client, **query: object) -> list[str]:
    """Return the SKUs of all pages."""
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        body = client.get("/v1/products", urlencode({**query, **cursor})).body
        seen += [each["sku"] for each in body["data"]]
        if not body["has_more"]:
            return seen
        cursor = {"cursor": body["next_cursor"]}


class TestWords:
    @pytest.mark.parametrize(
        ("q", "skus"),
        [
            ("niacinamide", {"SERUM-NIA-30"}),
            ("nias", set()),
            ("niac", {"SERUM-NIA-30"}),
            ("NIACINAMIDE serum", {"SERUM-NIA-30"}),
            ("serum", {"SERUM-NIA-30", "SERUM-VITC-20"}),
            ("tirta serum", {"SERUM-NIA-30", "SERUM-VITC-20"}),
            ("cerah", {"SERUM-NIA-30"}),
            ("mencerahkan", {"SERUM-NIA-30"}),
            ("dull skin", {"SERUM-NIA-30"}),
            ("zinc", {"SERUM-NIA-30"}),
            ("moisturizer", {"MOIST-ALOE"}),
            ("moisturiser", {"MOIST-ALOE"}),
            ("sunscreen", {"SUN-50"}),
            ("sunblock daun", {"SUN-50"}),
            ("tabir surya", {"SUN-50"}),
            ("sampo", {"HAIR-1"}),
            ("dry skin", {"MOIST-ALOE"}),
            ("serum-nia", {"SERUM-NIA-30"}),
            ("niacinamide shampoo", set()),
        ],
    )
    def test_find_what_has_all_of_them(self, client: Client, q: str, skus: set[str]) -> None:
        assert set(found(client, q=q)) == skus

    @pytest.mark.parametrize("q", ["SERUM-NIA-30", " serum-nia-30 ", "8991234567890"])
    def test_that_are_a_sku_or_barcode_find_that_product_alone(self, client: Client, q: str) -> None:
        assert found(client, q=q) == ["SERUM-NIA-30"]
        assert found(client, q=q, sort="price") == ["SERUM-NIA-30"]

    def test_in_a_name_count_more_than_in_a_description(self, conn: Connection, client: Client) -> None:
        make_found(conn, "AAA", "Toner", description_id="Dipakai sebelum serum vitamin.")
        assert found(client, q="vitamin serum") == ["SERUM-VITC-20", "AAA"]

    @pytest.mark.parametrize(
        ("q", "first"),
        [
            ("niasinamid", "SERUM-NIA-30"),
            ("nias", "SERUM-NIA-30"),
            ("vitamni c", "SERUM-VITC-20"),
            ("shampo kelappa", "HAIR-1"),
            ("pelembb", "MOIST-ALOE"),
        ],
    )
    def test_that_are_misspelt_find_the_nearest_and_say_so(self, client: Client, q: str, first: str) -> None:
        body = client.get("/v1/products", urlencode({"q": q})).body
        assert (body["data"][0]["sku"], body["nearest"]) == (first, True)

    def test_with_a_digit_are_never_taken_for_others(self, conn: Connection, client: Client) -> None:
        make_found(conn, "PART", "Toner 123456")
        assert client.get("/v1/products", "q=123457").body["data"] == []

    def test_of_which_no_product_has_all_find_what_has_one(self, client: Client) -> None:
        body = client.get("/v1/products", "q=niacinamide+shampoo").body
        assert ({each["sku"] for each in body["data"]}, body["nearest"]) == ({"SERUM-NIA-30", "HAIR-1"}, True)

    def test_that_look_like_nothing_find_nothing(self, client: Client) -> None:
        body = client.get("/v1/products", "q=xqzwvk").body
        nothing: dict[str, list[object]] = {"category": [], "brand": [], "price": []}
        assert (body["data"], body["nearest"], body["facets"]) == ([], False, nothing)

    def test_are_highlighted_where_they_stand(self, client: Client) -> None:
        (hit,) = client.get("/v1/products", "q=cerah+niacin").body["data"]
        matches = {
            text: [each["text"] for each in hit["highlights"][text] if each["is_match"]]
            for text in ("name", "description")
        }
        assert matches == {"name": ["Niacinamide"], "description": ["mencerahkan"]}
        assert "".join(each["text"] for each in hit["highlights"]["name"]) == hit["name"]

    def test_are_highlighted_in_whatever_a_name_holds(self, conn: Connection, client: Client) -> None:
        name = "<b>Toner</b> & \ue000 %s \\ “Mawar” \ue001 🌸"
        make_found(conn, "ODD", name)
        (hit,) = client.get("/v1/products", "q=mawar").body["data"]
        whole = "".join(each["text"] for each in hit["highlights"]["name"])
        assert whole == name.replace("\ue000", "").replace("\ue001", "")
        assert [each["text"] for each in hit["highlights"]["name"] if each["is_match"]] == ["Mawar"]


class TestWhatIsFound:
    @pytest.mark.parametrize("status", ["draft", "archived"])
    def test_is_active(self, conn: Connection, client: Client, status: str) -> None:
        conn.execute("UPDATE products SET status = %s WHERE sku = 'SUN-50'", [status])
        assert found(client, q="tabir surya") == []
        assert "SUN-50" not in found(client, brand="Daun")
        conn.execute("UPDATE products SET status = 'active' WHERE sku = 'SUN-50'")
        assert found(client, q="tabir surya") == ["SUN-50"]

    def test_follows_each_change_of_the_product(self, conn: Connection, client: Client) -> None:
        conn.execute("UPDATE products SET name = 'Masker Lumpur' WHERE sku = 'HAIR-1'")
        assert (found(client, q="lumpur"), found(client, q="shampoo kelapa")) == (["HAIR-1"], [])
        conn.execute(
            "UPDATE product_details SET brand = 'Batu' FROM products p WHERE p.id = product_id AND sku = 'HAIR-1'"
        )
        assert (found(client, q="batu lumpur"), found(client, brand="Batu")) == (["HAIR-1"], ["HAIR-1"])
        conn.execute("DELETE FROM product_details d USING products p WHERE p.id = product_id AND sku = 'HAIR-1'")
        assert (found(client, brand="Batu"), found(client, q="lumpur")) == ([], ["HAIR-1"])

    def test_has_the_price_and_stock_of_this_moment(self, conn: Connection, client: Client) -> None:
        conn.execute("UPDATE products SET price_rupiah = 1000 WHERE sku = 'SUN-50'")
        damage_one(conn, "SUN-50")
        (hit,) = client.get("/v1/products", "q=sunscreen&max_price_rupiah=1000").body["data"]
        assert (hit["price_rupiah"], hit["stock"]) == (1000, 2)

    def test_shows_both_of_two_changes_at_once(self, conn: Connection, client: Client, database_url: str) -> None:
        """Name and details change in two sessions: the later one does not bring the other's old words back."""
        with psycopg.connect(database_url) as first, psycopg.connect(database_url, autocommit=True) as second:
            first.execute("UPDATE products SET name = 'Masker Lumpur' WHERE sku = 'HAIR-1'")
            other = threading.Thread(target=second.execute, args=[TO_ANOTHER_BRAND])
            other.start()
            wait_for(lambda: conn.execute(WAITING).fetchone() == (1,), "the second change to wait for the first")
            first.commit()
            other.join()
        assert found(client, q="lumpur batu") == ["HAIR-1"]


class TestFilters:
    @pytest.mark.parametrize(
        ("query", "skus"),
        [
            ({"category": "skin"}, ["MOIST-ALOE", "SERUM-NIA-30", "SERUM-VITC-20", "SUN-50"]),
            ({"category": "skin/serum"}, ["SERUM-NIA-30", "SERUM-VITC-20"]),
            ({"category": "skin/ser"}, []),
            ({"category": "%"}, []),
            ({"brand": "Daun"}, ["HAIR-1", "MOIST-ALOE", "SUN-50"]),
            ({"brand": "daun"}, []),
            ({"min_price_rupiah": 99_000, "max_price_rupiah": 129_000}, ["SERUM-NIA-30", "SUN-50"]),
            ({"in_stock": "true", "category": "skin/serum"}, ["SERUM-NIA-30"]),
            ({"in_stock": "false"}, ["SERUM-VITC-20"]),
            ({"q": "serum", "in_stock": "true"}, ["SERUM-NIA-30"]),
            ({"sort": "price"}, ["MOIST-ALOE", "SUN-50", "SERUM-NIA-30", "SERUM-VITC-20", "HAIR-1"]),
            ({"sort": "-price"}, ["HAIR-1", "SERUM-VITC-20", "SERUM-NIA-30", "SUN-50", "MOIST-ALOE"]),
            ({"sort": "newest"}, ["HAIR-1", "SUN-50", "MOIST-ALOE", "SERUM-VITC-20", "SERUM-NIA-30"]),
            ({"sort": "name"}, ["SERUM-NIA-30", "MOIST-ALOE", "HAIR-1", "SUN-50", "SERUM-VITC-20"]),
            ({"sort": "relevance"}, ["HAIR-1", "MOIST-ALOE", "SERUM-NIA-30", "SERUM-VITC-20", "SUN-50"]),
            ({"q": "serum", "sort": "price"}, ["SERUM-NIA-30", "SERUM-VITC-20"]),
        ],
    )
    def test_narrow_and_order(self, client: Client, query: dict[str, object], skus: list[str]) -> None:
        assert found(client, **query) == skus

    def test_agree_with_a_list_in_memory_in_every_combination(self, conn: Connection, client: Client) -> None:
        rows = conn.execute(
            "SELECT p.sku, p.price_rupiah, p.stock > 0, d.brand, d.category"
            " FROM products p JOIN product_details d ON d.product_id = p.id ORDER BY p.sku"
        ).fetchall()
        options = product(
            (None, "skin", "hair"), (None, "Daun", "Tirta"), (None, 99_000), (None, 189_000), (None, "true", "false")
        )
        for category, brand, low, high, in_stock in options:
            wanted = {
                "category": category,
                "brand": brand,
                "min_price_rupiah": low,
                "max_price_rupiah": high,
                "in_stock": in_stock,
            }
            expected = [
                sku
                for sku, price, there, its_brand, its_category in rows
                if (category is None or its_category.startswith(f"{category}/"))
                and (brand is None or its_brand == brand)
                and (low is None or price >= low)
                and (high is None or price <= high)
                and (in_stock is None or there == (in_stock == "true"))
            ]
            assert found(client, **{key: value for key, value in wanted.items() if value is not None}) == expected

    def test_are_counted_over_all_pages(self, client: Client) -> None:
        facets = client.get("/v1/products", "category=skin&limit=1").body["facets"]
        assert facets["brand"] == [{"value": "Daun", "count": 2}, {"value": "Tirta", "count": 2}]
        assert facets["category"][0] == {"value": "skin/serum", "count": 2}
        assert facets["price"] == [
            {"min_price_rupiah": None, "max_price_rupiah": 49_999, "count": 1},
            {"min_price_rupiah": 50_000, "max_price_rupiah": 99_999, "count": 1},
            {"min_price_rupiah": 100_000, "max_price_rupiah": 249_999, "count": 2},
        ]
        for each in facets["price"]:
            bounds = {key: each[key] for key in ("min_price_rupiah", "max_price_rupiah") if each[key] is not None}
            assert len(found(client, category="skin", **bounds)) == each["count"]

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ("q=", "q"),
            ("q=%20", "q"),
            ("q=%00", "q"),
            (f"q={'a' * 201}", "q"),
            ("q=a%E2%80%AEb", "q"),
            ("q=%ff", "q"),
            ("min_price_rupiah=-1", "min_price_rupiah"),
            ("min_price_rupiah=1e3", "min_price_rupiah"),
            ("max_price_rupiah=100000001", "max_price_rupiah"),
            ("max_price_rupiah=%D9%A1", "max_price_rupiah"),
            ("min_price_rupiah=2&max_price_rupiah=1", "max_price_rupiah"),
            ("in_stock=1", "in_stock"),
            ("sort=cheapest", "sort"),
            ("category=", "category"),
            ("brand=%0A", "brand"),
            ("q=serum&cursor=abc", "cursor"),
            ("colour=red", "colour"),
        ],
    )
    def test_that_are_not_valid_are_named(self, client: Client, query: str, field: str) -> None:
        answer = client.get("/v1/products", query)
        assert (answer.status, answer.code) == (422, "validation_failed")
        assert [each["pointer"] for each in answer.body["errors"]] == [f"/query/{field}"]


class TestPages:
    @pytest.mark.parametrize("sort", ["relevance", "price", "-price", "newest", "name"])
    @pytest.mark.parametrize("words", [{"q": "serum"}, {"brand": "Tirta"}])
    @pytest.mark.parametrize("limit", [1, 7])
    def test_show_everything_once_although_products_come_go_and_change(
        self, conn: Connection, app: App, sort: str, words: dict[str, str], limit: int
    ) -> None:
        for n in range(14):
            make_found(
                conn,
                f"S-{n:02}",
                f"Serum {'serum ' * (n % 3)}{n % 4}",
                price_rupiah=1000 + n % 5,
                brand="Tirta",
                stock=50,
            )
        client, seen, step = Client(app), [], 0
        cursor: dict[str, str] = {}
        before = walk(client, **words, sort=sort, limit=100)
        while True:
            body = client.get("/v1/products", urlencode({**words, "sort": sort, "limit": limit, **cursor})).body
            seen += [each["sku"] for each in body["data"]]
            if not body["has_more"]:
                break
            cursor = {"cursor": body["next_cursor"]}
            step += 1
            if step <= 5:
                make_found(conn, f"NEW-{step}", f"Serum baru {step}", price_rupiah=1000 + step % 5, brand="Tirta")
            damage_one(conn, "S-03")
            conn.execute("UPDATE products SET name = name WHERE sku LIKE 'S-%'")
        assert [sku for sku in seen if sku.startswith("S-")] == before
        assert len(seen) == len(set(seen))

    def test_of_the_nearest_go_on_to_the_end(self, conn: Connection, app: App) -> None:
        for n in range(7):
            make_found(conn, f"S-{n}", f"Niacinamide {n}")
        assert sorted(walk(Client(app), q="niasinamid", limit=2)) == [f"S-{n}" for n in range(7)]

    def test_after_the_first_one_have_no_facets(self, client: Client) -> None:
        first = client.get("/v1/products", "q=serum&limit=1").body
        second = client.get("/v1/products", f"q=serum&limit=1&cursor={first['next_cursor']}").body
        assert (first["facets"] is None, second["facets"]) == (False, None)

    @pytest.mark.parametrize("other", ["q=tirta", "q=serum&brand=Tirta", "q=serum&sort=price", "brand=Tirta", ""])
    def test_belong_to_one_search(self, client: Client, other: str) -> None:
        cursor = client.get("/v1/products", "q=serum&limit=1").body["next_cursor"]
        answer = client.get("/v1/products", f"{other}&cursor={cursor}")
        assert [each["pointer"] for each in answer.body["errors"]] == ["/query/cursor"]

    @pytest.mark.parametrize("sort", ["relevance", "price", "-price", "newest", "name"])
    def test_cannot_be_forged_into_an_error(self, client: Client, sort: str) -> None:
        """The fingerprint is no secret: whoever reads the code puts any key behind it."""
        cursor = client.get("/v1/products", f"q=serum&sort={sort}&limit=1").body["next_cursor"]
        fingerprint, reading, key, product_id = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        odd: list[object] = [
            "x",
            "\x00",
            "\ud800",
            "",
            "NaN",
            "1e999",
            "9" * 40,
            "1e-99",
            None,
            1,
            1.5,
            [],
            {},
            True,
            "٣",
            "-1",
        ]
        for place in (
            *([fingerprint, reading, each, product_id] for each in odd),
            *([fingerprint, reading, key, each] for each in (*odd, 0, -1, 2**63, 10**40)),
            *([fingerprint, each, key, product_id] for each in odd),
            *odd,
            [fingerprint],
        ):
            forged = base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")
            assert client.get("/v1/products", f"q=serum&sort={sort}&cursor={forged}").status in {200, 422}, place


class TestSuggestions:
    @pytest.mark.parametrize(
        ("q", "skus"),
        [
            ("ni", ["SERUM-NIA-30"]),
            ("ser", ["SERUM-NIA-30", "SERUM-VITC-20"]),
            ("nias", ["SERUM-NIA-30"]),
            ("sunsc", ["SUN-50"]),
            ("sunscreen", ["SUN-50"]),
            ("+-*&|", []),
        ],
    )
    def test_are_products_that_the_text_may_mean(self, client: Client, q: str, skus: list[str]) -> None:
        answer = client.get("/v1/products/suggest", f"q={quote_plus(q)}")
        assert (answer.status, [each["sku"] for each in answer.body["data"]]) == (200, skus)

    def test_are_few(self, conn: Connection, app: App) -> None:
        for n in range(30):
            make_product(conn, sku=f"S-{n:02}", name=f"Serum {n:02}")
        assert len(Client(app).get("/v1/products/suggest", "q=se").body["data"]) == 8
        assert len(Client(app).get("/v1/products/suggest", "q=se&limit=20").body["data"]) == 20

    @pytest.mark.parametrize(("query", "field"), [("", "q"), ("q=", "q"), ("q=a&limit=21", "limit"), ("q=a&x=1", "x")])
    def test_that_are_asked_for_wrongly_say_so(self, client: Client, query: str, field: str) -> None:
        answer = client.get("/v1/products/suggest", query)
        assert [each["pointer"] for each in answer.body["errors"]] == [f"/query/{field}"]
