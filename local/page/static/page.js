// Looks at the system each second and lets each part of the page show its share.

import { Problem, readState } from "./api.js";
import { openConfirm } from "./confirm.js";
import { showDead } from "./dead.js";
import { byId, say } from "./dom.js";
import { showJobs, showPauses, showQueues } from "./engine.js";
import { broken, firing, openSwitches, showIndicators, showSwitches } from "./alarms.js";
import { openMails, refreshMails } from "./mails.js";
import { openOrders, showOrders } from "./orders.js";
import { openShop, refreshProducts, refreshShop } from "./shop.js";
import { offerGateways, offerOrders, openWebhooks } from "./webhooks.js";

const EACH_MS = 1000;
const UNSEEN_MS = 5000;
const WITHOUT_IT_NOBODY_IS_SERVED = new Set(["api", "database"]);

let isUp = false;
let sold = null; // changes with each order and cancellation, and so does the stock
let timer;

async function look() {
  clearTimeout(timer);
  try {
    await show(await readState());
  } catch (error) {
    showStopped(error instanceof Problem && error.body.status === 503);
  }
  clearTimeout(timer);
  timer = setTimeout(look, document.hidden ? UNSEEN_MS : EACH_MS);
}

async function show(state) {
  const isBack = !isUp;
  isUp = true;
  byId("stopped").hidden = true;
  byId("parts").inert = false;
  const missing = [...new Set([...state.health, ...state.missing])].join(", ");
  const isDown = state.health.some((part) => WITHOUT_IT_NOBODY_IS_SERVED.has(part));
  const troubles = [firing(state.lamps), broken(state.switches)].filter(Boolean);
  const running = missing ? `Running without ${missing}` : "Running";
  if (isDown) showHealth("stopped", `Down: no ${missing}`);
  else showHealth(missing || troubles.length ? "partly" : "up", [running, ...troubles].join(", "));

  showQueues(state.queues);
  showIndicators(state.lamps);
  showSwitches(state.switches);
  offerGateways(state.gateways);
  if (state.orders) {
    showOrders(state.orders);
    showPauses(state.pauses);
    showJobs(state.jobs, state.job_counts);
    showDead(state.dead);
    offerOrders(state.orders);
    const now = state.orders.map((order) => order.order_number + order.status).join();
    if (!isBack && now !== sold) refreshProducts();
    sold = now;
  }
  refreshMails(state.mails_version);
  if (isBack) await refreshShop();
}

function showStopped(isStarting) {
  isUp = false;
  byId("parts").inert = true;
  byId("stopped").hidden = false;
  if (isStarting) {
    showHealth("partly", "Starting…");
    say(byId("stopped-title"), "The system is starting");
    say(byId("stopped-text"), "This takes a few seconds.");
  } else {
    showHealth("stopped", "Stopped");
    say(byId("stopped-title"), "The system has stopped");
    say(byId("stopped-text"), "Start it with `make run`. This page goes on by itself, your cart is kept.");
  }
}

function showHealth(state, text) {
  byId("health").dataset.state = state;
  say(byId("health"), text);
}

// What a link or the Tab key leads to stands below the header, which is as high as what it says.
new ResizeObserver(([header]) => {
  document.documentElement.style.scrollPaddingTop = `${header.target.offsetHeight + 16}px`;
}).observe(document.querySelector("header"));

openShop(() => showOrders());
openOrders();
openMails();
openConfirm();
openSwitches();
openWebhooks();
document.addEventListener("visibilitychange", () => document.hidden || look());
look();
