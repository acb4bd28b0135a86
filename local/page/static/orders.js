// Orders and what happened to each.

import { Problem } from "./api.js";
import { badge, button, byId, duration, element, moment, rupiah, say, showItems, showResult, words } from "./dom.js";
import { showMailAbout } from "./mails.js";
import { INVOICE_JOB, jobName, MAIL_OF, mailName } from "./names.js";
import { explain } from "./problem.js";
import { currentCustomer } from "./shop.js";

const AT_FIRST = 3;
const MORE = 8;

const TONES = { pending: "is-wait", paid: "is-good", cancelled: "", expired: "is-bad" };
const STEPS = {
  order_placed: ["Order placed", "is-good"],
  order_paid: ["Order paid", "is-good"],
  order_cancelled: ["Order cancelled", ""],
  job_queued: ["queued", ""],
  attempt_failed: ["failed, will be tried again", "is-bad"],
  attempt_crashed: ["lost with its worker, will be tried again", "is-bad"],
  retry_planned: ["to be tried again", "is-wait"],
  job_completed: ["done", "is-good"],
  job_dead: ["given up: a dead letter", "is-bad"],
  job_cancelled: ["cancelled", ""],
  mail_sent: ["sent", "is-good"],
  mail_undeliverable: ["cannot be delivered", "is-bad"],
};
const ENDS = new Set([
  "mail_sent",
  "mail_undeliverable",
  "job_completed",
  "job_dead",
  "job_cancelled",
  "retry_planned",
]);

let orders = null;
let onlyMine = false;
let visible = AT_FIRST;

export function openOrders() {
  byId("orders-all").addEventListener("click", () => choose(false));
  byId("orders-mine").addEventListener("click", () => choose(true));
  byId("orders-more").addEventListener("click", () => {
    visible += MORE;
    showOrders();
  });
}

function choose(mine) {
  onlyMine = mine;
  visible = AT_FIRST;
  byId("orders-all").setAttribute("aria-pressed", !mine);
  byId("orders-mine").setAttribute("aria-pressed", mine);
  showOrders();
}

/** Show the orders of this look at the system, or the last ones again. */
export function showOrders(found = orders) {
  if (found === null) return;
  orders = found;
  const customer = currentCustomer();
  const marked = orders.map((order) => ({ ...order, mine: customer?.isNamed(order.email) ?? false }));
  const chosen = onlyMine ? marked.filter((order) => order.mine) : marked;
  const none = onlyMine ? "This customer has not ordered anything lately." : "No orders yet. Place the first one.";
  say(byId("orders-empty"), chosen.length ? "" : none);
  byId("orders-more").hidden = chosen.length <= visible;
  showItems(byId("order-list"), chosen.slice(0, visible), (order) => order.order_number, buildOrder);
}

function buildOrder(order) {
  const items = order.items.map((item) => `${item.quantity}\u00a0×\u00a0${item.name}`).join(", ");
  const actions = element("div", { className: "actions" });
  if (order.timeline.some((step) => step.event === "mail_sent")) {
    actions.append(
      button("Read the mail", "secondary", {
        label: `Read the mail about order ${order.order_number}`,
        focus: "mail",
        onclick: () => showMailAbout(order.order_number),
      }),
    );
  }
  if (order.mine && order.timeline.some((step) => step.event === "job_completed" && step.about === INVOICE_JOB)) {
    actions.append(
      button("Invoice", "secondary", {
        label: `Invoice of order ${order.order_number}`,
        focus: "invoice",
        onclick: (event) => saveInvoice(order, event.currentTarget),
      }),
    );
  }
  if (order.mine && order.status === "pending") {
    actions.append(
      button("Pay", "secondary", {
        label: `Pay order ${order.order_number}`,
        focus: "pay",
        onclick: (event) => pay(order, event.currentTarget),
      }),
      button("Cancel order", "secondary", {
        label: `Cancel order ${order.order_number}`,
        focus: "cancel",
        onclick: (event) => cancel(order, event.currentTarget),
      }),
    );
  }
  return element(
    "li",
    { className: "order" },
    element(
      "div",
      { className: "head" },
      element("h3", {}, order.order_number),
      badge(words(order.status), TONES[order.status]),
    ),
    element("p", { className: "quiet" }, `${rupiah(order.total_rupiah)} · ${order.email} · ${items}`),
    buildTimeline(order),
    actions.childElementCount ? actions : null,
  );
}

function buildTimeline(order) {
  const list = element("ol", { className: "timeline" });
  list.setAttribute("aria-label", `What happened to order ${order.order_number}`);
  const mailed = new Set(order.timeline.filter((step) => step.event.startsWith("mail_")).map((step) => step.about));
  const [first] = order.timeline;
  for (const step of order.timeline) {
    // That the mail is sent says all there is to say about its job.
    if (step.event === "job_completed" && mailed.has(MAIL_OF[step.about])) continue;
    list.append(buildStep(step, first));
  }
  if (!order.timeline.some((step) => ENDS.has(step.event))) {
    list.append(element("li", { className: "is-wait" }, element("span", {}, "Mail is on its way…")));
  }
  return list;
}

function buildStep(step, first) {
  const [, tone] = STEPS[step.event] ?? [null, ""];
  const noMail = step.event === "job_completed" && step.about in MAIL_OF;
  const seconds = (new Date(step.at) - new Date(first.at)) / 1000;
  const time = element("time", { dateTime: step.at, title: moment(step.at) });
  time.append(step === first ? moment(step.at) : `+${duration(seconds)}`);
  return element(
    "li",
    { className: noMail ? "" : tone },
    element("span", {}, noMail ? `${jobName(step.about)} was no longer needed` : describe(step)),
    time,
    step.detail ? element("span", { className: "why" }, step.detail) : null,
  );
}

function describe(step) {
  const [text] = STEPS[step.event] ?? [words(step.event)];
  if (step.event.startsWith("mail_")) return `${mailName(step.about)} ${text}`;
  return step.about ? `${jobName(step.about)} ${text}` : text;
}

async function saveInvoice(order, pressed) {
  pressed.disabled = true;
  const box = byId("order-result");
  try {
    const file = await currentCustomer().fetchFile(`/v1/orders/${order.order_number}/invoice`);
    if (file === null) {
      showResult(box, { good: true, title: "The invoice is being made", lines: ["Ask again in a moment."] });
      return;
    }
    const address = URL.createObjectURL(file);
    element("a", { href: address, download: `invoice-${order.order_number}.pdf` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    showResult(box, { good: true, title: `The invoice of order ${order.order_number} is saved` });
  } catch (error) {
    const body = error instanceof Problem ? error.body : null;
    showResult(box, {
      good: false,
      title: body ? body.title : "No answer",
      lines: body ? explain(body) : ["The system, or its store of files, does not answer."],
      raw: body,
    });
  } finally {
    pressed.disabled = false;
  }
}

async function pay(order, pressed) {
  pressed.disabled = true;
  try {
    const started = await currentCustomer().call("POST", `/v1/orders/${order.order_number}/payment`);
    location.assign(started.redirect_url);
  } catch (error) {
    pressed.disabled = false;
    const body = error instanceof Problem ? error.body : null;
    showResult(byId("order-result"), {
      good: false,
      title: body ? body.title : "No answer",
      lines: body ? explain(body) : ["The system does not answer. Trying again does no harm."],
      raw: body,
    });
  }
}

async function cancel(order, pressed) {
  const customer = currentCustomer();
  pressed.disabled = true;
  const box = byId("order-result");
  try {
    await customer.call("POST", `/v1/orders/${order.order_number}/cancel`);
    showResult(box, {
      good: true,
      title: `Order ${order.order_number} is cancelled`,
      lines: ["Its units are back in stock."],
    });
  } catch (error) {
    pressed.disabled = false;
    const body = error instanceof Problem ? error.body : null;
    showResult(box, {
      good: false,
      title: body ? body.title : "No answer",
      lines: body ? explain(body) : ["The system does not answer. Cancelling again does no harm."],
      raw: body,
    });
  }
}
