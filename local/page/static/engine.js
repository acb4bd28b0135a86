// Behind the shop: queues and jobs, to look at only.

import { badge, byId, duration, element, moment, plural, say, showItems, words } from "./dom.js";
import { jobName } from "./names.js";

const STATES = [
  "pending",
  "queued",
  "processing",
  "retry_waiting",
  "completed",
  "dead_letter",
  "cancelled",
];
const TONES = {
  pending: "is-wait",
  queued: "is-wait",
  processing: "is-wait",
  retry_waiting: "is-bad",
  completed: "is-good",
  dead_letter: "is-bad",
};
const SHOWN = 12;

let jobs = null;
let counts = {};
let chosenState = null;

const secondsBetween = (earlier, later) => (new Date(later) - new Date(earlier)) / 1000;
const why = (row) => (row.error_class ? `${row.error_class}: ${row.error_message ?? ""}` : null);

export function showQueues(queues) {
  say(byId("queues-empty"), "");
  showItems(byId("queue-list"), queues.map(rounded), (queue) => queue.name, buildQueue);
}

// Whole seconds: a tile is built anew only when its text changes.
const whole = (seconds) => (seconds === null ? null : Math.floor(seconds));
const rounded = (queue) => ({
  ...queue,
  oldest_s: whole(queue.oldest_s),
  oldest_dead_s: whole(queue.oldest_dead_s),
});

function buildQueue(queue) {
  const fact = (name, value, tone = "") =>
    element(
      "div",
      { className: tone },
      element("dt", {}, name),
      element("dd", {}, value === null ? "–" : String(value)),
    );
  return element(
    "li",
    {},
    element(
      "div",
      { className: "head" },
      element("h3", {}, words(queue.name)),
      queue.has_worker ? badge("worker is up", "is-good") : badge("no worker", "is-wait"),
    ),
    element(
      "dl",
      { className: "facts" },
      fact("waiting", queue.waiting === null ? null : queue.waiting + queue.delayed),
      fact("in work", queue.in_work),
      fact("oldest", queue.oldest_s === null ? null : duration(queue.oldest_s)),
      fact("dead", queue.dead, queue.dead ? "is-bad" : ""),
    ),
    queue.oldest_dead_s === null
      ? null
      : element("p", { className: "quiet" }, `The oldest dead letter is ${duration(queue.oldest_dead_s)} old.`),
  );
}

export function showPauses(pauses) {
  showItems(byId("pause-list"), pauses, (pause) => `${pause.scope} ${pause.name}`, buildPause);
}

function buildPause(pause) {
  const end = pause.ends_at ? `until ${moment(pause.ends_at)}` : "until somebody resumes";
  return element(
    "li",
    {},
    badge("paused", "is-wait"),
    ` ${pause.name ? `${pause.scope} ${words(pause.name)}` : "all jobs"} since ${moment(pause.paused_at)}, ${end}: ${pause.reason}`,
    element("span", { className: "quiet" }, ` ${plural(pause.held, "due job")} held`),
  );
}

export function showJobs(found = jobs, foundCounts = counts) {
  if (found === null) return;
  jobs = found;
  counts = foundCounts;
  if (chosenState && !counts[chosenState]) chosenState = null;
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const present = STATES.filter((state) => counts[state]).map((state) => ({ state, count: counts[state] }));
  showItems(
    byId("job-states"),
    [{ state: null, count: total }, ...present].map((each) => ({ ...each, on: each.state === chosenState })),
    ({ state }) => state ?? "all",
    buildStateChoice,
  );
  const ofState = chosenState ? jobs.filter((row) => row.state === chosenState) : jobs;
  const rows = ofState.slice(0, SHOWN);
  const there = chosenState ? counts[chosenState] : total;
  say(byId("jobs-empty"), rows.length ? "" : "No jobs yet. An order brings the first one.");
  byId("jobs-bound").hidden = rows.length >= there;
  say(byId("jobs-bound"), `The newest ${rows.length} of ${there}; skincare jobs list shows up to 1,000.`);
  showItems(byId("job-list"), rows, (row) => row.id, buildJob);
}

function buildStateChoice({ state, count, on }) {
  const made = element(
    "button",
    {
      type: "button",
      onclick: () => {
        chosenState = state;
        showJobs();
      },
    },
    `${state ? words(state) : "all"} ${count}`,
  );
  made.dataset.focus = "state";
  made.setAttribute("aria-pressed", on);
  return made;
}

function buildJob(row) {
  return element(
    "li",
    { className: "job" },
    element(
      "div",
      {},
      element("h3", {}, jobName(row.type)),
      element("span", { className: "quiet number" }, row.order_number ?? "no order"),
    ),
    element("span", { className: "state" }, badge(words(row.state) + (row.paused ? ", paused" : ""), TONES[row.state])),
    element("span", { className: "quiet tries" }, tries(row)),
    why(row) ? element("span", { className: "why" }, why(row)) : null,
  );
}

function tries(row) {
  const parts = [moment(row.created_at), plural(row.attempts, "attempt")];
  if (row.crashes) parts.push(plural(row.crashes, "crash", "crashes"));
  if (row.state === "retry_waiting" && row.retry_at) parts.push(`next try ${moment(row.retry_at)}`);
  if (row.state === "completed") parts.push(`done after ${duration(secondsBetween(row.created_at, row.finished_at))}`);
  return parts.join(" · ");
}
