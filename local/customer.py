"""A customer of the shop, as a program."""

import json

from emulator.loopback.client import Answer, LoopbackClient


class Customer(LoopbackClient):
    """Calls the shop's API."""

    def put_in_cart(self, sku: str, quantity: int) -> Answer:
        return self.call("PUT", f"/v1/cart/items/{sku}", json.dumps({"quantity": quantity}).encode())

    def order(self, idempotency_key: str, body: bytes = b"{}") -> Answer:
        """Check the cart out; `body` is sent as it is."""
        return self.call("POST", "/v1/orders", body, {"Idempotency-Key": idempotency_key})
