// Dead letters by type and error, and messages of nobody: what a person may do about them goes through the on-call
// function, as the command line's does.

import { act, Problem } from "./api.js";
import { confirm } from "./confirm.js";
import { badge, button, byId, element, moment, plural, say, showItems, showResult } from "./dom.js";
import { jobName } from "./names.js";
import { explain } from "./problem.js";

const SHOWN = 5;
const AT_ONCE = 100;

const ask = async (request) => (await act("/_local/oncall", request)).answer;

export function showDead({ groups, jobs, quarantined }) {
  say(byId("dead-empty"), groups.length ? "" : "None. Every job is done or will be tried again.");
  const whole = groups.map((group) => ({ ...group, jobs: jobs.filter((job) => isOf(job, group)).slice(0, SHOWN) }));
  showItems(byId("dead-list"), whole, (group) => `${group.job_type} ${group.error_class}`, buildGroup);
  byId("quarantine").hidden = quarantined.length === 0;
  showItems(byId("quarantine-list"), quarantined, (message) => message.id, buildMessage);
}

const isOf = (job, group) => job.job_type === group.job_type && job.error_class === group.error_class;

function buildGroup(group) {
  const name = `${jobName(group.job_type)}, ${group.error_class}`;
  const orders = group.orders ? ` · ${plural(group.orders, "order")} such as ${group.order_numbers.join(", ")}` : "";
  const more = group.count - group.jobs.length;
  const known = group.acknowledged === group.count ? "acknowledged" : `${group.acknowledged} acknowledged`;
  return element(
    "li",
    {},
    element(
      "div",
      { className: "head" },
      element("h3", {}, name),
      badge(plural(group.count, "job"), "is-bad"),
      group.acknowledged ? badge(known, "is-wait") : null,
    ),
    element("p", { className: "quiet" }, `The oldest failed at ${moment(group.oldest_failed_at)}${orders}`),
    element(
      "p",
      {},
      badge(group.safe ? "safe to run again" : "not safe to run again", group.safe ? "is-good" : "is-bad"),
      ` ${group.why}.`,
    ),
    group.count > 1
      ? element(
          "div",
          { className: "actions" },
          button(`Redrive all ${group.count}`, "secondary", {
            label: `Redrive all: ${name}`,
            focus: "redrive-all",
            onclick: () => redrive({ what: `all ${group.count} jobs: ${name}`, group, find: () => inGroup(group) }),
          }),
          button(`Discard all ${group.count}`, "plain", {
            label: `Discard all: ${name}`,
            focus: "discard-all",
            onclick: () => discard({ what: `all ${group.count} jobs: ${name}`, find: () => inGroup(group) }),
          }),
        )
      : null,
    element("ul", { className: "rows" }, ...group.jobs.map((job) => buildJob(job, group))),
    more > 0 ? element("p", { className: "quiet" }, `And ${more} more: skincare dlq list.`) : null,
  );
}

function buildJob(job, group) {
  const about = [job.order_number ?? "no order", plural(job.attempts, "attempt")];
  if (job.crashes) about.push(plural(job.crashes, "crash", "crashes"));
  if (job.dead_letter_no > 1) about.push(`dead-lettered ${job.dead_letter_no} times`);
  const which = `${jobName(job.job_type)} of ${job.order_number ?? job.id}`;
  return element(
    "li",
    {},
    element("p", {}, about.join(" · ")),
    element("p", { className: "why" }, `${job.error_class}: ${job.error_message}`),
    job.past_use ? element("p", { className: "quiet" }, `A run would find nothing left to do: ${job.past_use}.`) : null,
    job.acknowledgement ? element("p", { className: "quiet" }, acknowledged(job.acknowledgement)) : null,
    element(
      "div",
      { className: "actions" },
      button("Redrive", "secondary", {
        label: `Redrive: ${which}`,
        focus: `redrive ${job.id}`,
        onclick: () => redrive({ what: which, group, find: () => single(job) }),
      }),
      button("Discard", "plain", {
        label: `Discard: ${which}`,
        focus: `discard ${job.id}`,
        onclick: () => discard({ what: which, find: () => single(job) }),
      }),
    ),
  );
}

const acknowledged = ({ by, at, until, reason }) =>
  `Acknowledged at ${moment(at)} by ${by}, no alarm before ${moment(until)}: ${reason}`;

// what is meant, page by page; a dead letter that was not looked at is left alone

async function* single(job) {
  yield [job];
}

async function* inGroup({ job_type, error_class }) {
  let after = null;
  for (let more = true; more; ) {
    const page = await ask({ operation: "find_dead", job_type, error_class, after, limit: AT_ONCE });
    if (page.jobs.length) {
      after = page.jobs.at(-1).id;
      yield page.jobs;
    }
    more = page.more;
  }
}

const refs = (jobs) => jobs.map(({ id, dead_letter_no }) => ({ job_id: id, dead_letter_no }));

async function redrive({ what, group, find }) {
  const crashed = group.error_class === "WorkerCrashed";
  const warning = group.safe ? [] : [`Not safe to run again: ${group.why}.`];
  const reason = await confirm({
    title: `Redrive ${what}?`,
    lines: ["It runs again with a new budget; its history stays.", ...warning],
    yes: group.safe ? "Redrive" : "Redrive all the same",
    needsReason: false,
  });
  if (reason === undefined) return;
  await change(find, (jobs) => ({ operation: "redrive", deaths: refs(jobs), force: !group.safe, even_crashed: crashed, reason }), "redriven");
}

async function discard({ what, find }) {
  const reason = await confirm({
    title: `Discard ${what}?`,
    lines: ["It never runs again. What it was to do stays undone."],
    yes: "Discard for good",
    needsReason: true,
  });
  if (reason === undefined) return;
  await change(find, (jobs) => ({ operation: "discard", deaths: refs(jobs), reason }), "discarded");
}

async function change(find, requestFor, word) {
  let done = 0;
  const counts = {};
  try {
    for await (const jobs of find()) {
      const answer = await ask(requestFor(jobs));
      done += answer.changed;
      for (const [name, count] of Object.entries(answer.counts)) counts[name] = (counts[name] ?? 0) + count;
    }
  } catch (error) {
    tellProblem(error, done ? [`${plural(done, "job")} ${word} before that.`] : []);
    return;
  }
  const lines = Object.entries(counts)
    .filter(([name, count]) => count && name !== word)
    .map(([name, count]) => `${count} ${name.replaceAll("_", " ")}.`);
  showResult(byId("dead-result"), { good: done > 0, title: `${plural(done, "job")} ${word}`, lines });
}

// messages that belong to no job

function buildMessage(message) {
  return element(
    "li",
    {},
    element(
      "div",
      { className: "head" },
      element("h3", {}, `Message ${message.id} of ${message.queue}`),
      badge("quarantined", "is-wait"),
    ),
    element("p", { className: "why" }, message.reason),
    element(
      "p",
      { className: "quiet" },
      `${message.size_bytes} bytes · found at ${moment(message.found_at)}`,
    ),
    element(
      "div",
      { className: "actions" },
      button("Show", "secondary", {
        label: `Show message ${message.id}`,
        focus: "show",
        onclick: () => showMessage(message),
      }),
      button("Close", "plain", {
        label: `Close message ${message.id}`,
        focus: "close",
        onclick: () => closeMessage(message),
      }),
    ),
  );
}

async function showMessage(message) {
  try {
    const { body } = await ask({ operation: "show_quarantined", message_id: message.id });
    showResult(byId("dead-result"), {
      good: true,
      title: `Message ${message.id}, as it was received`,
      action: element("pre", {}, body),
    });
  } catch (error) {
    tellProblem(error);
  }
}

async function closeMessage(message) {
  const reason = await confirm({
    title: `Close message ${message.id}?`,
    lines: ["It was dealt with: it is no longer listed, but kept."],
    yes: "Close",
    needsReason: true,
  });
  if (reason === undefined) return;
  try {
    await ask({ operation: "close_quarantined", message_id: message.id, reason });
    showResult(byId("dead-result"), { good: true, title: `Message ${message.id} is closed` });
  } catch (error) {
    tellProblem(error);
  }
}

function tellProblem(error, lines = []) {
  const body = error instanceof Problem ? error.body : null;
  showResult(byId("dead-result"), {
    good: false,
    title: body ? body.title : "No answer",
    lines: [...lines, ...(body ? explain(body) : ["The system does not answer. Trying again does no harm."])],
    raw: body,
  });
}
