// An answer is "saved" only when the server has said so. Until then it stays here: in the form, in this tab's
// storage, and on its way again with the same lease token, which the server counts once however often it comes.

const RETRY_MS = [2_000, 4_000, 8_000, 15_000, 30_000];
const IDLE_MS = 120_000;

const desk = () => document.getElementById("desk");
const answer = () => document.getElementById("answer");

// --- active time: the page is visible, and somebody did something within two minutes ---

let activeMs = 0;
let since = null;
let idle = null;

function pause() {
  if (since !== null) activeMs += performance.now() - since;
  since = null;
}

function resume() {
  if (document.hidden) return;
  since ??= performance.now();
  clearTimeout(idle);
  idle = setTimeout(pause, IDLE_MS);
}

for (const kind of ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"]) {
  document.addEventListener(kind, resume, { passive: true, capture: true });
}
document.addEventListener("visibilitychange", () => (document.hidden ? pause() : resume()));

function activeSeconds() {
  return (activeMs + (since === null ? 0 : performance.now() - since)) / 1000;
}

// --- the draft, kept in this tab ---

const draftKey = () => `draft:${desk().dataset.task}`;

function keepDraft(sending = null) {
  const form = answer();
  if (!form) return;
  const picks = [...form.querySelectorAll("input[type=radio]:checked")].map((input) => [input.name, input.value]);
  const said = [...form.querySelectorAll("[name^='said:']:not([type=radio])")].map((input) => [input.id, input.value]);
  const panel = form.querySelector("[data-else][open]")?.dataset.else;
  const draft = { note: form.elements.note.value, picks, said, panel, sending };
  sessionStorage.setItem(draftKey(), JSON.stringify(draft));
}

// Refused: what was typed stays, and is not sent by itself again.
function stopSending(key) {
  const kept = sessionStorage.getItem(key);
  if (kept) sessionStorage.setItem(key, JSON.stringify({ ...JSON.parse(kept), sending: null }));
}

document.addEventListener("input", (event) => {
  if (event.target.form?.id === "answer") keepDraft();
});

// --- sending ---

let pending = null; // { path, values, tries } between the key and the server's word

document.addEventListener("htmx:configRequest", ({ detail }) => {
  if (detail.elt.id !== "answer") return;
  if (!pending) {
    detail.parameters.seconds = activeSeconds().toFixed(1);
    pending = { draft: draftKey(), path: detail.path, values: Object.fromEntries(detail.formData), tries: 0 };
    keepDraft(pending.values);
  }
  markPicked(); // at once: on a slow line the key would seem lost
});

function send() {
  clearTimeout(pending?.timer);
  if (!pending || !answer()) return;
  const again = { source: "#answer", target: "#desk", swap: "outerHTML", values: pending.values };
  htmx.ajax("POST", pending.path, again).catch(() => {
    // The events below have already said why, and what happens next.
  });
}

// Which button it was: an answer that waits can be seen.
function markPicked() {
  for (const button of answer().querySelectorAll("button[name][value]")) {
    button.classList.toggle("is-picked", pending?.values[button.name] === button.value);
  }
}

function notSaved(text, { again = false, link = null } = {}) {
  const box = document.getElementById("not-saved");
  if (!box) return;
  markPicked();
  const words = box.querySelector("p");
  words.textContent = text;
  if (link) {
    // The way on leaves this page: what is kept in storage is sent when the desk is open again.
    pending = null;
    const anchor = document.createElement("a");
    anchor.href = link.href;
    anchor.textContent = link.text;
    words.append(" ", anchor);
  }
  box.hidden = false;
  box.querySelector("[data-send-again]").hidden = !again;
  desk().dataset.waiting = "";
  const controls = ".desk-fields :is(button, input, textarea), .desk-skip button, .desk-undo button";
  for (const control of desk().querySelectorAll(controls)) control.disabled = true;
}

function sendLater() {
  if (!pending) return;
  const wait = RETRY_MS[Math.min(pending.tries, RETRY_MS.length - 1)];
  pending.tries += 1;
  notSaved("Not saved — your answer is kept here and will be sent again.", { again: true });
  clearTimeout(pending.timer);
  pending.timer = setTimeout(send, wait);
}

function isOfAnswer(event) {
  return event.detail.elt?.id === "answer" || event.detail.requestConfig?.elt?.id === "answer";
}

function warn(text) {
  document.dispatchEvent(new CustomEvent("message", { detail: { text, level: "warning" } }));
}

for (const failure of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(failure, (event) => {
    if (isOfAnswer(event)) sendLater();
    else if (event.detail.requestConfig?.verb === "post") warn("No connection: nothing was changed. Try again.");
  });
}

document.addEventListener("htmx:responseError", (event) => {
  const { status } = event.detail.xhr;
  const here = { href: location.pathname, text: "Reload" };
  const isAsked = event.detail.requestConfig?.verb === "post";
  if (!isOfAnswer(event)) {
    // What the page asks for by itself, it asks for again.
    if (status >= 500 && isAsked) warn("The server is away for a moment: nothing was changed. Try again.");
    else if (status < 500) warn(`The server refused (${status}). Reload the page.`);
  } else if (status >= 500) sendLater();
  else if (status === 403) notSaved("Not saved — this page is out of date. Reload it: your answer is kept.", { link: here });
  else notSaved(`Not saved — the server refused (${status}). Reload the page: your answer is kept.`, { link: here });
});

// Not a page of whoever stands before the server while it is renewed, such as "back soon".
const isOurs = (xhr) => xhr.responseText.includes('id="desk"');

// Signed out meanwhile: the sign-in page is not an item. After signing in the answer is still here, and sent.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, requestConfig } = event.detail;
  if (!xhr.responseURL || new URL(xhr.responseURL).pathname === new URL(requestConfig.path, location).pathname) {
    if (!isOfAnswer(event) || !event.detail.shouldSwap || isOurs(xhr)) return;
    event.detail.shouldSwap = false;
    sendLater();
    return;
  }
  event.detail.shouldSwap = false;
  const signIn = new URL(xhr.responseURL);
  signIn.search = `?next=${encodeURIComponent(location.pathname)}`;
  const link = { href: signIn.pathname + signIn.search, text: "Sign in" };
  if (answer()) notSaved("You are signed out. Your answer is kept here.", { link });
  else location.assign(link.href);
});

document.addEventListener("htmx:afterRequest", (event) => {
  if (!isOfAnswer(event) || !pending) return;
  const { xhr } = event.detail;
  if (!isOurs(xhr)) return;
  const { draft } = pending;
  if (xhr.status === 409 || xhr.status === 422) {
    pending = null;
    stopSending(draft);
  } else if (xhr.status === 200 && new URL(xhr.responseURL).pathname === pending.path) {
    pending = null;
    sessionStorage.removeItem(draft);
  }
});

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-send-again]")) send();
});
addEventListener("online", send);
addEventListener("beforeunload", (event) => {
  if (pending) event.preventDefault();
});

// --- a new item, or the same one after a reload ---

function restoreDraft() {
  const form = answer();
  const kept = form && sessionStorage.getItem(draftKey());
  if (!kept) return;
  const { note, picks, said = [], panel, sending } = JSON.parse(kept);
  if (note && !form.elements.note.value) {
    form.elements.note.value = note;
    form.elements.note.closest("details").open = true;
  }
  for (const [name, value] of picks) {
    const input = form.querySelector(`input[name="${CSS.escape(name)}"][value="${CSS.escape(value)}"]`);
    if (input) input.checked = true;
  }
  for (const [id, text] of said) {
    const input = document.getElementById(id);
    if (input && text) input.value = text;
  }
  const opened = panel && form.querySelector(`[data-else="${CSS.escape(panel)}"]`);
  if (opened) opened.open = true;
  if (sending?.lease !== desk().dataset.lease) return;
  pending = { draft: draftKey(), path: form.getAttribute("hx-post"), values: sending, tries: 0 };
  pending.values.csrfmiddlewaretoken = form.elements.csrfmiddlewaretoken.value;
  send();
}

let shown = desk()?.dataset.lease;
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.elt.id !== "desk" || desk().dataset.lease === shown) return;
  shown = desk().dataset.lease;
  activeMs = 0;
  since = null;
  resume();
  restoreDraft();
});

resume();
restoreDraft();
