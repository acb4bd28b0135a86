// What the types must refuse: the compiler reports each line here that it does not find wrong.
import createClient from "openapi-fetch";

import type { components, paths } from "./schema";

const shop = createClient<paths>({ baseUrl: "/" });
const params = { path: { sku: "SERUM-NIA-30" } };

// @ts-expect-error  a quantity is a number
void shop.PUT("/v1/cart/items/{sku}", { params, body: { quantity: "1" } });
// @ts-expect-error  an order needs a key
void shop.POST("/v1/orders", { body: {} });
// @ts-expect-error  there is no such path
void shop.GET("/v1/order");

export function stockOf(problem: components["schemas"]["CartEmptyProblem"]): unknown {
  // @ts-expect-error  only out_of_stock names items
  return problem.items;
}
