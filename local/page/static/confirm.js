// Asks before something is done that cannot be taken back, and why it is done.

import { byId, element, say } from "./dom.js";

let answer = null;

export function openConfirm() {
  const dialog = byId("confirm");
  byId("confirm-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const reason = byId("confirm-reason").value.trim();
    if (!reason && byId("confirm-reason").required) {
      say(byId("confirm-said"), "Say why: it goes into the audit.");
      byId("confirm-reason").setAttribute("aria-invalid", "true");
      byId("confirm-reason").focus();
      return;
    }
    settle(reason || null);
  });
  byId("confirm-back").addEventListener("click", () => settle(undefined));
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    settle(undefined);
  });
}

/** Resolve to the reason, null where none was given, undefined where the reader went back. */
export function confirm({ title, lines, yes, needsReason }) {
  say(byId("confirm-title"), title);
  byId("confirm-lines").replaceChildren(...lines.map((line) => element("p", {}, line)));
  say(byId("confirm-yes"), yes);
  say(byId("confirm-said"), "");
  say(byId("confirm-label"), needsReason ? "Reason" : "Reason (optional)");
  const reason = byId("confirm-reason");
  reason.value = "";
  reason.required = needsReason;
  reason.removeAttribute("aria-invalid");
  byId("confirm").showModal();
  reason.focus();
  return new Promise((resolve) => {
    answer = resolve;
  });
}

function settle(reason) {
  byId("confirm").close();
  answer?.(reason);
  answer = null;
}
