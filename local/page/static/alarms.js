// The alarms that would fire on AWS, and the switches that make them fire.

import { act, Problem } from "./api.js";
import { byId, duration, element, plural, say, showItems, showResult } from "./dom.js";
import { explain } from "./problem.js";

export function openSwitches() {
  byId("switches-off").addEventListener("click", () => turn("all", false));
}

export function showIndicators(indicators) {
  const count = indicators.filter((indicator) => indicator.lit).length;
  say(byId("alarms-empty"), count ? `${plural(count, "alarm")} would fire.` : "No alarm would fire.");
  showItems(byId("alarm-list"), indicators.map(rounded), (indicator) => indicator.name, buildIndicator);
}

/** Say how many alarms would fire, nothing where none would. */
export function firing(indicators) {
  const count = indicators.filter((indicator) => indicator.lit).length;
  return count ? plural(count, "alarm") : "";
}

// Whole numbers: an indicator is built anew only when its text changes.
const rounded = (indicator) => ({ ...indicator, value: indicator.value === null ? null : Math.floor(indicator.value) });

const measured = (number, unit) => (unit === "s" && number > 0 ? duration(number) : String(number));

function buildIndicator({ name, value, threshold, unit, runbook, lit: firing }) {
  const now = value === null ? "unknown" : measured(value, unit);
  const limit = unit === "s" ? duration(threshold) : `${threshold} ${unit}`;
  return element(
    "li",
    { className: firing ? "is-firing" : "" },
    element("h3", {}, element("span", { className: "bulb", "aria-hidden": "true" }), name),
    element("p", { className: "number" }, `${firing ? "firing" : "quiet"}: ${now} (from ${limit})`),
    element("code", { className: "quiet" }, runbook),
  );
}

export function showSwitches(switches) {
  byId("switches-off").disabled = !switches.some(({ on }) => on);
  showItems(byId("switch-list"), switches, ({ name }) => name, buildSwitch);
}

/** Say how many things are broken on purpose, nothing where none is. */
export function broken(switches) {
  const count = switches.filter(({ on }) => on).length;
  return count ? `${count} broken on purpose` : "";
}

function buildSwitch({ name, title, effect, on }) {
  const made = element(
    "button",
    { type: "button", className: "secondary switch", role: "switch", onclick: () => turn(name, !on) },
    on ? "on" : "off",
  );
  made.setAttribute("aria-checked", on);
  made.setAttribute("aria-label", title);
  made.dataset.focus = "switch";
  return element(
    "li",
    {},
    element("div", {}, element("h3", {}, title), element("p", { className: "quiet" }, effect)),
    made,
  );
}

async function turn(name, on) {
  try {
    showSwitches((await act("/_local/chaos", { switch: name, on })).switches);
    byId("switch-result").replaceChildren();
  } catch (error) {
    const body = error instanceof Problem ? error.body : null;
    showResult(byId("switch-result"), {
      good: false,
      title: body ? body.title : "No answer",
      lines: body ? explain(body) : ["The system does not answer."],
    });
  }
}
