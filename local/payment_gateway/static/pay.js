// One payment: what it is for, the buttons, and what the shop answered.

import { badge, byId, element, moment, rupiah, say, showItems, showResult, words } from "/_local/dom.js";

const reference = new URLSearchParams(location.search).get("reference") ?? "";
const TONES = { open: "is-wait", paid: "is-good", closed: "is-bad", failed: "is-bad", expired: "is-bad" };
const DONE = { pay: "Paid", fail: "The payment failed", expire: "The payment is closed", refund: "Given back" };
const ALLOWED = {
  open: ["pay", "fail", "expire"],
  paid: ["refund"],
  partially_refunded: ["refund"],
  refunded: [],
  closed: [],
};
const buttons = [...document.querySelectorAll("[data-action]")];

let csrfToken = "";
let payment = null;

async function call(path, options) {
  let response, answer;
  try {
    response = await fetch(path, { cache: "no-store", ...options });
    answer = await response.json();
  } catch {
    throw new Error("The system does not answer. Start it with `make run`.");
  }
  if (!response.ok) throw new Error(answer.detail ?? answer.title ?? "Something went wrong.");
  return answer;
}

async function load() {
  try {
    const state = await call(`state?reference=${encodeURIComponent(reference)}`);
    csrfToken = state.csrf_token;
    show(state.payment);
    byId("pay").hidden = false;
  } catch (error) {
    byId("lost").hidden = false;
    say(byId("lost"), error.message);
  }
}

function show(found) {
  payment = found;
  say(byId("order-number"), payment.order_number);
  byId("state").replaceChildren(badge(words(payment.state), TONES[payment.state]));
  say(byId("total"), rupiah(payment.amount_rupiah));
  say(byId("until"), `${words(payment.gateway)}, attempt ${payment.attempt_no ?? 1}, to be paid by ${moment(payment.expires_at)}.`);
  say(byId("entries-empty"), payment.entries.length ? "" : "Nothing yet.");
  showItems(byId("entries"), payment.entries, (entry) => entry.event_id, buildEntry);
  allow();
}

function allow() {
  const allowed = ALLOWED[payment.state] ?? [];
  for (const each of buttons) {
    const { action } = each.dataset;
    each.disabled = action === "again" ? payment.entries.length === 0 : !allowed.includes(action);
  }
}

function buildEntry(entry) {
  return element(
    "li",
    {},
    element("span", {}, badge(words(entry.status), TONES[entry.status]), " ", rupiah(entry.amount_rupiah)),
    element("span", { className: "quiet" }, `${entry.transaction_id} · ${moment(entry.occurred_at)}`),
  );
}

async function act(action) {
  const delivery = document.querySelector("input[name=delivery]:checked").value;
  for (const each of buttons) each.disabled = true;
  try {
    const answer = await call("act", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRF-Token": csrfToken },
      body: JSON.stringify({ reference, action, delivery }),
    });
    show(answer.payment);
    tell(action, answer.answers);
  } catch (error) {
    allow();
    showResult(byId("result"), { good: false, title: "Not done", lines: [error.message] });
  }
}

const saidBy = (body) => (body?.code ? `${body.code}. ${body.detail}` : JSON.stringify(body));

function tell(action, answers) {
  const heard = answers.every((answer) => answer.status === 200);
  const said = answers.map((answer) => `The shop answered ${answer.status || "nothing"}: ${saidBy(answer.body)}`);
  const advice = heard ? [] : ["So the shop does not know it yet: choose “once” and send it again."];
  showResult(byId("result"), {
    good: heard,
    title: `${DONE[action] ?? "Sent again"}${heard ? "" : ", but the shop did not take it"}`,
    lines: [...said, ...advice],
    action: element("p", {}, element("a", { href: "/_local/#orders" }, "Back to the shop")),
  });
}

for (const each of buttons) each.addEventListener("click", () => act(each.dataset.action));
load();
