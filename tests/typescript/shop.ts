// A customer's way through the shop, with the types of docs/openapi.json: it is compiled and never run.
import createClient from "openapi-fetch";

import type { components, paths } from "./schema";

type Order = components["schemas"]["OrderAnswer"];
type Activity = components["schemas"]["ActivityAnswer"];

export class Refused extends Error {}

export async function buy(baseUrl: string, token: string, show: (text: string) => void): Promise<Order> {
  const shop = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });

  const products = await shop.GET("/v1/products", { params: { query: { limit: 10 } } });
  // Without a look at what else the answer may be.
  if (products.error?.code === "unavailable") throw new Refused("The shop is closed for a moment.");
  const product = products.data?.data.find((each) => each.stock > 0);
  if (product === undefined) throw new Refused("There is nothing to buy.");
  show(`${product.name}: ${product.price_rupiah} rupiah`);

  const cart = await shop.PUT("/v1/cart/items/{sku}", {
    params: { path: { sku: product.sku } },
    body: { quantity: 1 },
  });
  if (cart.data === undefined) throw new Refused("The product cannot be put into the cart.");

  const placed = await shop.POST("/v1/orders", {
    params: { header: { "Idempotency-Key": crypto.randomUUID() } },
    body: { expected_total_rupiah: cart.data.total_rupiah, recipient_name: "Ani" },
  });
  if (placed.error !== undefined) throw new Refused(explain(placed.error));
  return placed.data;
}

type Answers = paths["/v1/orders"]["post"]["responses"];
type Content<Answer> = Answer extends { content: infer Body } ? Body[keyof Body] : never;
type Refusal = Content<Answers[Exclude<keyof Answers, 201>]>;

// The compiler knows which members come with which code.
export function explain(refusal: Refusal): string {
  if (!refusal.code) return refusal.message; // the gateway's own words
  switch (refusal.code) {
    case "out_of_stock":
      return refusal.items.map((item) => `${item.sku}: ${item.available} of ${item.requested}`).join(", ");
    case "too_many_open_orders":
      return `Pay or cancel ${refusal.order_numbers.join(", ")} first.`;
    case "purchase_limit_exceeded":
      return refusal.items.map((item) => `${item.sku}: ${item.allowed} of ${item.requested}`).join(", ");
    case "price_changed":
      return `It costs ${refusal.total_rupiah} rupiah now.`;
    case "cart_already_ordered":
      return `See ${refusal.order_number}.`;
    case "validation_failed":
      return refusal.errors.map((error) => `${error.pointer} ${error.message}`).join(", ");
    default:
      return `${refusal.detail} (${refusal.request_id})`;
  }
}

export async function follow(baseUrl: string, token: string, orderNumber: string): Promise<readonly Activity[]> {
  const shop = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
  for (;;) {
    const { data, response } = await shop.GET("/v1/orders/{order_number}", {
      params: { path: { order_number: orderNumber } },
    });
    if (data === undefined) throw new Refused("There is no such order.");
    const wait = response.headers.get("Retry-After");
    if (wait === null) return data.activity;
    await new Promise((resolve) => setTimeout(resolve, Number(wait) * 1000));
  }
}
