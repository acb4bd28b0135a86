// Builds the page's elements. Text reaches the document as text only, whoever wrote it.

export const byId = (id) => document.getElementById(id);

/** Make an element; `properties` are DOM properties, or attributes where their name has a dash. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-")) made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Make a button; its `focus` is a name by which it keeps the focus when what is around it is built anew. */
export function button(text, className, { label, focus, onclick, disabled = false }) {
  const made = element("button", { type: "button", className, onclick, disabled }, text);
  if (label) made.setAttribute("aria-label", label);
  if (focus) made.dataset.focus = focus;
  return made;
}

export function badge(text, tone = "") {
  return element("span", { className: `badge ${tone}` }, text);
}

const shown = new WeakMap();

/**
 * Make the list show these items. An item that did not change keeps its element, so that a look each second
 * disturbs neither the reader nor the focus.
 */
export function showItems(list, items, keyOf, build) {
  const wanted = new Map(items.map((item) => [String(keyOf(item)), item]));
  const present = new Map();
  for (const child of [...list.children]) {
    if (wanted.has(child.dataset.key)) present.set(child.dataset.key, child);
    else child.remove();
  }
  const first = !("shown" in list.dataset);
  list.dataset.shown = "";
  let place = list.firstElementChild;
  for (const [key, item] of wanted) {
    const text = JSON.stringify(item);
    let node = present.get(key);
    if (!node || shown.get(node) !== text) {
      const made = build(item);
      made.dataset.key = key;
      shown.set(made, text);
      if (node) {
        const next = place === node;
        replace(node, made);
        if (next) place = made;
      } else if (!first) {
        made.classList.add("is-new");
      }
      node = made;
    }
    if (node === place) place = place.nextElementSibling;
    else list.insertBefore(node, place);
  }
}

function replace(old, made) {
  const name = old.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
  const part = old.closest("section");
  old.replaceWith(made);
  if (name === undefined) return;
  const heir = [...made.querySelectorAll("[data-focus]")].find((each) => each.dataset.focus === name && !each.disabled);
  (heir ?? part)?.focus({ preventScroll: true });
}

/** Set a text only when it changes: what is announced would be announced again. */
export function say(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/** Show how something ended in a box of its own, and bring the reader there. */
export function showResult(box, { good, title, lines = [], raw = null, action = null }) {
  const heading = element("h3", { tabIndex: -1 }, title);
  const parts = [heading, ...lines.map((line) => element("p", {}, line))];
  if (action) parts.push(action);
  if (raw) {
    parts.push(
      element(
        "details",
        {},
        element("summary", {}, `What the API answered: ${raw.status} ${raw.code}`),
        element("pre", {}, JSON.stringify(raw, null, 2)),
      ),
    );
  }
  box.replaceChildren(element("div", { className: `result ${good ? "is-good" : "is-bad"}` }, ...parts));
  heading.focus();
}

const rupiahs = new Intl.NumberFormat("id-ID");
/** Write whole rupiah as the command line and the mails do: Rp59.000. */
export const rupiah = (amount) => `Rp${rupiahs.format(amount)}`;

export const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

const shopClock = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium", timeZone: "Asia/Jakarta" });

/** Write a moment as the command line does, and reads it: 2026-11-30 22:27:52 WIB, whatever the machine is set to. */
export const moment = (text) => `${shopClock.format(new Date(text))} WIB`;

/** Write a time of seconds as people say it: 84 ms, 2.1 s, 5 min, 3 h. */
export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

export const words = (name) => name.replaceAll("_", " ");
