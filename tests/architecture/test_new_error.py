"""What an error means over HTTP is said in one place: tried in a copy of the tree."""

import json
from pathlib import Path

import pytest

from tests.support.copied_tree import copied_tree, run
from tests.support.http import http_event

CLASS = """

class CartFrozen(SkincareError):
    def __init__(self, until: str) -> None:
        super().__init__(f"the cart is frozen until {until}")
        self.until = until
"""
MEANING = """CART_FROZEN = ProblemType(
    "cart_frozen",
    423,
    "The cart is frozen",
    "Nothing can be changed now.",
    errors=(carts.CartFrozen,),
    members=lambda error: {"detail": f"Come back at {error.until}."},
    header="retry-after",
    headers=lambda _: {"retry-after": "9"},
)

"""
MEET_IT = """
import json, sys
from aws_lambda_powertools.utilities.typing import LambdaContext
from api.app import handle
from api.openapi import document
answer = handle(json.loads(sys.argv[1]), LambdaContext(), lambda: None)
documented = document()["paths"]["/v1/cart"]["get"]["responses"]["423"]
print(json.dumps({
    "status": answer["statusCode"],
    "wait": answer["headers"]["retry-after"],
    "body": json.loads(answer["body"]),
    "documented": documented["description"],
    "headers": sorted(documented["headers"]),
}))
"""


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert text.count(before) == 1
    file.write_text(text.replace(before, after))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with one more class of error, its meaning, and a route that meets and documents it."""
    copy = copied_tree(tmp_path_factory.mktemp("tree-"))
    errors = copy / "layers/shared/python/skincare/carts/errors.py"
    errors.write_text(errors.read_text() + CLASS)
    problems = copy / "functions/api/problems.py"
    change(problems, "REPEATABLE = ", f"{MEANING}REPEATABLE = ")
    change(
        problems,
        "from skincare.carts.errors import",
        "from skincare.carts import errors as carts\nfrom skincare.carts.errors import",
    )
    route = copy / "functions/api/routes/cart.py"
    change(
        route,
        '"/v1/cart", show_cart, CartAnswer)',
        '"/v1/cart", show_cart, CartAnswer, problems=(problems.CART_FROZEN,))',
    )
    change(
        route,
        "    return service.get_cart(request.customer.user_id, database=app.database)\n",
        '    from skincare.carts.errors import CartFrozen\n    raise CartFrozen("noon")\n',
    )
    return copy


def test_is_answered_and_documented(tree: Path) -> None:
    event = http_event(
        "GET", "/v1/cart", claims={"sub": "0191d8a0-0000-7000-8000-000000000001", "email": "a@example.com"}
    )
    *_, last = run(tree, MEET_IT, json.dumps(event)).splitlines()
    met = json.loads(last)
    assert (met["status"], met["wait"], met["body"]["code"]) == (423, "9", "cart_frozen")
    assert met["body"]["detail"] == "Come back at noon."
    assert met["documented"] == "`cart_frozen`: Nothing can be changed now."
    assert "retry-after" in met["headers"]
