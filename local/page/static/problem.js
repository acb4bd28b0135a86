// What a problem (RFC 9457) means, in sentences for the person who met it.

import { rupiah, words } from "./dom.js";

/** Return lines of text; `names` gives a product's name by its SKU. */
export function explain(problem, names = new Map()) {
  switch (problem.code) {
    case "out_of_stock":
      return problem.items.map(
        (item) => `${names.get(item.sku) ?? item.sku}: ${item.requested} asked for, ${item.available} left.`,
      );
    case "purchase_limit_exceeded":
      return problem.items.map(
        (item) => `${names.get(item.sku) ?? item.sku}: ${item.requested} asked for, ${item.allowed} may be ordered.`,
      );
    case "too_many_open_orders":
      return [`Pay or cancel one of these first: ${problem.order_numbers.join(", ")}.`];
    case "price_changed":
      return [`The cart costs ${rupiah(problem.total_rupiah)} now. Look at it, then place the order again.`];
    case "cart_already_ordered":
      return [`This cart became order ${problem.order_number}.`];
    case "order_not_payable":
      if (problem.order_status === "pending") return ["Its time to be paid is over."];
      return [`The order is ${words(problem.order_status)} already.`];
    case "order_not_cancellable":
      return [`The order is ${words(problem.order_status)} already.`];
    case "validation_failed":
      return problem.errors?.map((error) => `${error.pointer} ${error.message}.`) ?? [problem.detail];
    default:
      return problem.detail ? [problem.detail] : [];
  }
}
