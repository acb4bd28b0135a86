"""A catalog to search in."""

from typing import Any

from psycopg import Connection

from tests.support.factories import make_product

DETAILS = ("description_id", "description_en", "brand", "category", "barcode", "ingredients")


def make_found(conn: Connection, sku: str, name: str, **fields: Any) -> None:
    """A product with what it is found by; `price_rupiah` and `stock` may be among the fields."""
    usual = {key: fields[key] for key in ("price_rupiah", "stock") if key in fields}
    make_product(conn, sku=sku, name=name, **usual)
    conn.execute(
        """
        INSERT INTO product_details (
            product_id, description_id, description_en, brand, category, barcode, ingredients
        )
        SELECT id, %(description_id)s, %(description_en)s, %(brand)s, %(category)s, %(barcode)s, %(ingredients)s
        FROM products WHERE sku = %(sku)s""",
        {"sku": sku} | {name: fields.get(name) for name in DETAILS},
    )


def fill_shop(conn: Connection) -> None:
    """Some products in two languages, of two brands and four categories."""
    make_found(
        conn,
        "SERUM-NIA-30",
        "Niacinamide 10% Serum 30 ml",
        price_rupiah=129_000,
        brand="Tirta",
        category="skin/serum",
        barcode="8991234567890",
        description_id="Serum yang mencerahkan kulit kusam.",
        description_en="Brightens dull skin.",
        ingredients="Aqua, Niacinamide, Zinc PCA",
    )
    make_found(
        conn,
        "SERUM-VITC-20",
        "Vitamin C Serum 20 ml",
        price_rupiah=189_000,
        stock=0,
        brand="Tirta",
        category="skin/serum",
        description_id="Membantu meratakan warna kulit.",
    )
    make_found(
        conn,
        "MOIST-ALOE",
        "Pelembab Aloe 50 ml",
        price_rupiah=49_000,
        brand="Daun",
        category="skin/moisturizer",
        description_id="Melembapkan kulit kering sepanjang hari.",
    )
    make_found(conn, "SUN-50", "Tabir Surya SPF 50", price_rupiah=99_000, brand="Daun", category="skin/sun", stock=3)
    make_found(conn, "HAIR-1", "Shampoo Kelapa", price_rupiah=600_000, brand="Daun", category="hair/shampoo")


def fill_with_many(conn: Connection, number: int) -> None:
    """So many products of six brands in five categories, whose texts are put together from few and from rare words."""
    conn.execute(
        """
        INSERT INTO products (sku, name, price_rupiah, stock)
        SELECT 'MANY-' || n,
            (ARRAY['Serum', 'Toner', 'Pelembab', 'Masker', 'Sabun', 'Krim Malam', 'Tabir Surya'])[1 + n %% 7] || ' '
            || (ARRAY['Niacinamide', 'Vitamin C', 'Aloe', 'Retinol', 'Ceramide'])[1 + n / 7 %% 5] || ' '
            || (ARRAY['Melati', 'Mawar', 'Kenanga', 'Teratai', 'Anggrek', 'Dahlia', 'Kamboja', 'Seruni',
                'Cempaka', 'Lavender', 'Matahari'])[1 + n / 35 %% 11] || ' ' || n,
            10000 + n * 7919 %% 900000, n %% 5
        FROM generate_series(1, %(number)s) n""",
        {"number": number},
    )
    conn.execute(
        """
        INSERT INTO product_details (product_id, brand, category, description_id, description_en)
        SELECT p.id, (ARRAY['Tirta', 'Daun', 'Batu', 'Angin', 'Awan', 'Rimba'])[1 + p.id % 6],
            (ARRAY['skin/serum', 'skin/toner', 'skin/mask', 'hair/shampoo', 'body/soap'])[1 + p.id % 5],
            'Membantu mencerahkan dan melembapkan kulit kering, cocok dipakai pagi dan malam. Nomor ' || p.id,
            'Brightens and moisturises dry skin by day and by night. Number ' || p.id
        FROM products p WHERE p.sku LIKE 'MANY-%%'"""
    )
