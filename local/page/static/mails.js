// The mails that the local SES took, each as its reader sees it.

import { readMails } from "./api.js";
import { byId, element, moment, say, showItems } from "./dom.js";

const LOADED = 50;
const AT_FIRST = 4;

let mails = [];
let version = null;
let loading = false;
let chosen = null; // the key of a mail that somebody picked; otherwise the newest is shown
let wanted = null; // an order whose mail is shown as soon as it is there
let asText = false;
let visible = AT_FIRST;
let letter = ""; // what the frame shows now

const keyOf = (mail) => `${mail.sent_at} ${mail.to} ${mail.subject}`;

export function openMails() {
  byId("as-seen").addEventListener("click", () => choose(false));
  byId("as-text").addEventListener("click", () => choose(true));
  byId("mails-more").addEventListener("click", () => {
    visible = LOADED;
    showMails();
  });
}

function choose(text) {
  asText = text;
  byId("as-seen").setAttribute("aria-pressed", !text);
  byId("as-text").setAttribute("aria-pressed", text);
  showMails();
}

/** Load the mails when there are others than last time. */
export async function refreshMails(found) {
  if (found === version || loading) return;
  loading = true;
  try {
    mails = await readMails(LOADED);
    version = found;
    showMails();
  } catch {
    // The next look at the system tries again, and says what is wrong.
  } finally {
    loading = false;
  }
}

/** Show the mail about an order and bring the reader to it. */
export function showMailAbout(orderNumber) {
  wanted = orderNumber;
  showMails();
  byId("letter").focus({ preventScroll: true });
  byId("letter").scrollIntoView({ block: "start" });
}

function showMails() {
  say(byId("mails-empty"), mails.length ? "" : "No mail yet. It follows an order within a moment.");
  byId("mailbox").hidden = mails.length === 0;
  if (!mails.length) return;
  const about = wanted && mails.find((mail) => mail.subject.includes(wanted) || mail.text?.includes(wanted));
  if (about) {
    chosen = keyOf(about);
    wanted = null;
  }
  const current = mails.find((mail) => keyOf(mail) === chosen) ?? mails[0];
  if (mails.indexOf(current) >= visible) visible = LOADED;
  byId("mails-more").hidden = mails.length <= visible;
  showItems(
    byId("mail-list"),
    mails.slice(0, visible).map(({ to, subject, sent_at }) => ({
      to,
      subject,
      sent_at,
      current: sent_at === current.sent_at && to === current.to && subject === current.subject,
    })),
    keyOf,
    buildChoice,
  );
  showLetter(current);
}

function buildChoice(mail) {
  const choice = element(
    "button",
    {
      type: "button",
      className: "mail-choice",
      onclick: () => {
        chosen = keyOf(mail);
        showMails();
      },
    },
    element("strong", {}, mail.subject),
    element(
      "span",
      { className: "about quiet" },
      element("span", {}, mail.to),
      element("time", { dateTime: mail.sent_at, className: "number" }, moment(mail.sent_at)),
    ),
  );
  choice.dataset.focus = "mail";
  if (mail.current) choice.setAttribute("aria-current", "true");
  return element("li", {}, choice);
}

function showLetter(mail) {
  const wantedLetter = `${keyOf(mail)} ${asText}`;
  if (letter === wantedLetter) return;
  letter = wantedLetter;
  say(byId("letter-subject"), mail.subject);
  say(byId("letter-to"), `to ${mail.to}, ${moment(mail.sent_at)}`);
  byId("letter-body").replaceChildren(asText || mail.html === null ? buildText(mail) : buildFrame(mail));
}

function buildText(mail) {
  return element("pre", { tabIndex: 0, "aria-label": "The mail as text" }, mail.text ?? "This mail has no text part.");
}

/** A frame that may do nothing: no scripts, no forms, no way out, no name of ours. */
function buildFrame(mail) {
  const frame = element("iframe", { title: `Mail: ${mail.subject}` });
  frame.setAttribute("sandbox", "");
  frame.srcdoc = mail.html;
  return frame;
}
