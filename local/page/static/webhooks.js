// Webhooks of payment gateways about any order: true, forged, twice and late ones.

import { act, Problem } from "./api.js";
import { byId, element, rupiah, say, showItems, showResult } from "./dom.js";
import { explain } from "./problem.js";

let totals = new Map();
let chosen = null;

export function openWebhooks() {
  byId("webhook-order").addEventListener("change", suggestAmount);
  byId("webhook-form").addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
}

/** Offer the gateways that the shop takes webhooks of. */
export function offerGateways(gateways) {
  showItems(byId("webhook-gateway"), gateways, ({ name }) => name, ({ name, title }) =>
    element("option", { value: name }, title),
  );
}

/** Offer the orders of this look at the system, the newest first. */
export function offerOrders(orders) {
  totals = new Map(orders.map((order) => [order.order_number, order.total_rupiah]));
  const offered = orders.map(({ order_number, status }) => ({ order_number, status }));
  const select = byId("webhook-order");
  const before = select.value;
  showItems(select, offered, ({ order_number }) => order_number, ({ order_number, status }) =>
    element("option", { value: order_number }, `${order_number}, ${status.replaceAll("_", " ")}`),
  );
  if (totals.has(before)) select.value = before;
  byId("webhook-send").disabled = orders.length === 0;
  if (select.value !== chosen) suggestAmount();
}

function suggestAmount() {
  chosen = byId("webhook-order").value;
  const total = totals.get(chosen);
  byId("webhook-amount").value = total ?? "";
  say(byId("webhook-total"), total === undefined ? "" : `The order's total is ${rupiah(total)}.`);
}

async function send() {
  byId("webhook-send").disabled = true;
  const value = (id) => byId(id).value;
  try {
    const { answers } = await act("/_local/webhooks", {
      gateway: value("webhook-gateway"),
      order_number: value("webhook-order"),
      status: value("webhook-status"),
      amount_rupiah: Number(value("webhook-amount")),
      delivery: value("webhook-delivery"),
    });
    showResult(byId("webhook-result"), {
      good: answers.every(({ status }) => status === 200),
      title: `The shop answered ${answers.map(({ status }) => status || "nothing").join(" and ")}`,
      action: element("pre", {}, answers.map(({ body }) => JSON.stringify(body, null, 2)).join("\n")),
    });
  } catch (error) {
    const body = error instanceof Problem ? error.body : null;
    showResult(byId("webhook-result"), {
      good: false,
      title: body ? body.title : "No answer",
      lines: body ? explain(body) : ["The system does not answer."],
      raw: body,
    });
  } finally {
    byId("webhook-send").disabled = totals.size === 0;
  }
}
