// The review desk: where the focus goes, which question is current, what is said beside an answer, the hold on the
// item, and what goes on meanwhile. Sending is in desk-saving.js, keys in app.js.

const HEARTBEAT_SHARE = 3; // renewals in the time of one lease
const WARN_MS = 60_000;
const LOOK_EVERY_MS = 15_000;
const FIGURES_EVERY_MS = 10_000;
const AWAY_MS = 10 * 60_000; // nobody is there: nothing is asked for
const NOT_AN_OPTION = ["none", "cannot_tell"];

const desk = () => document.getElementById("desk");
const tell = (text, level = "warning") => document.dispatchEvent(new CustomEvent("message", { detail: { text, level } }));
let lastUsedAt = Date.now();
let wasEmpty = desk()?.hasAttribute("data-empty");

// --- several questions: digits answer the current one; the last answer sends the form ---

const questions = () => [...document.querySelectorAll("#answer [data-question]")];
const isAnswered = (question) => question.querySelector('input[name^="q:"]:checked') !== null;

function makeCurrent(question) {
  for (const each of questions()) each.toggleAttribute("data-current", each === question);
}

function goOn(from) {
  const all = questions();
  const later = all.slice(all.indexOf(from) + 1);
  const next = later.find((each) => !isAnswered(each)) ?? all.find((each) => !isAnswered(each));
  if (!next) {
    const form = document.getElementById("answer");
    form.requestSubmit(form.querySelector(".desk-actions [type=submit]"));
    return;
  }
  makeCurrent(next);
  next.querySelector("input[type=radio]").focus();
}

document.addEventListener("focusin", (event) => {
  const question = event.target.closest("[data-question]");
  if (question) makeCurrent(question);
});

// "Save" by Enter before every question has an answer: say which one is missing instead of sending.
document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-save]")) return;
  const missing = questions().find((each) => !isAnswered(each));
  if (!missing) return;
  event.preventDefault();
  makeCurrent(missing);
  missing.querySelector("input[type=radio]").focus();
});

// --- none of these, cannot tell: what is said beside it, in a panel of one question or under a radio button ---

const firstField = (panel) => panel.querySelector("input:checked") ?? panel.querySelector("input:not([type=hidden])");
const isWordy = (radio) => NOT_AN_OPTION.includes(radio.value) && radio.name.startsWith("q:");

// Only what is in sight is sent; and while a panel is open, Enter saves what it says, wherever the focus is.
function settleSaid() {
  for (const panel of document.querySelectorAll("[data-else]")) {
    panel.querySelector(".else-body").toggleAttribute("data-current", panel.open);
    for (const input of panel.querySelectorAll("input")) input.disabled = !panel.open;
  }
  for (const said of document.querySelectorAll("[data-said]")) {
    const picked = said.closest(".question").querySelector('input[name^="q:"]:checked');
    said.hidden = picked?.value !== said.dataset.said;
    for (const input of said.querySelectorAll("input")) input.disabled = said.hidden;
  }
}

// On a phone the answer stands over the page and scrolls by itself: the page stays where it is read.
function bringIntoSight(body) {
  const sheet = document.getElementById("answer");
  if (getComputedStyle(sheet).position !== "sticky") body.scrollIntoView({ block: "nearest" });
  else sheet.scrollTop += Math.max(0, body.getBoundingClientRect().bottom - sheet.getBoundingClientRect().bottom);
}

function openPanel(panel, { isTouched = false } = {}) {
  panel.open = true;
  settleSaid();
  bringIntoSight(panel.querySelector(".else-body"));
  // What is typed is optional: no keyboard over half of a phone before somebody wants it.
  if (!isTouched) firstField(panel).focus({ preventScroll: true });
}

document.addEventListener("toggle", (event) => {
  if (event.target.matches("[data-else]")) settleSaid();
}, true);
document.addEventListener("change", (event) => {
  if (event.target.form?.id === "answer" && event.target.type === "radio") settleSaid();
});

document.addEventListener("click", (event) => {
  const reason = event.target.closest("[data-reason]")?.dataset.reason;
  const question = event.target.closest(".question");
  const pressed = event.detail > 0 && event.target.closest("[data-else]:not([open]) > summary");
  if (pressed) {
    event.preventDefault();
    openPanel(pressed.parentElement, { isTouched: event.pointerType === "touch" });
  } else if (reason) {
    const panel = question.querySelector("[data-else=cannot_tell]");
    panel.querySelector(`input[value="${CSS.escape(reason)}"]`).checked = true;
    openPanel(panel);
  } else if (event.target.closest("[data-clears]")) {
    for (const input of question.querySelectorAll("input:checked")) input.checked = false;
    settleSaid();
  }
});

document.addEventListener("pressed-by-key", (event) => {
  const { target } = event;
  const question = target.closest("[data-question]");
  if (target.matches("[data-else] > summary")) {
    if (target.parentElement.open) openPanel(target.parentElement);
  } else if (target.matches("summary")) {
    const fold = target.parentElement;
    const typed = fold.querySelector("textarea");
    if (typed?.value) fold.open = true; // its key leads back to what was typed, and does not fold it away
    const field = typed?.value ? typed : fold.querySelector("textarea, select, input:not([type=hidden])");
    (fold.open && field ? field : target).focus();
  } else if (target.matches("input[type=radio]") && isWordy(target)) {
    firstField(target.closest(".elses").querySelector(`[data-said="${target.value}"]`)).focus();
  } else if (target.matches("input[type=radio]")) {
    target.focus();
    if (question && target.name.startsWith("q:")) goOn(question);
  }
});

document.addEventListener("keydown", (event) => {
  if (!(event.target instanceof Element) || event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
  const panel = event.target.closest(".else-body, [data-said]");
  if (event.key === "Escape" && (panel || event.target.closest("#desk :is(textarea, select, [data-unasked])"))) {
    const owner = panel?.closest("[data-else]");
    if (owner) owner.open = false;
    desk().querySelector("[data-focus]").focus({ preventScroll: true });
  } else if (panel && event.key === "Enter" && event.target.matches("input") && !event.repeat) {
    event.preventDefault();
    const question = panel.closest("[data-question]");
    if (question) goOn(question);
    else panel.querySelector("[type=submit]")?.click();
  }
}, true);

// --- many options: a filter over their names and descriptions ---

document.addEventListener("input", (event) => {
  const list = document.getElementById(event.target.dataset?.filters ?? "");
  if (!list) return;
  const wanted = event.target.value.trim().toLocaleLowerCase();
  for (const option of list.querySelectorAll(".option")) {
    option.hidden = !option.textContent.toLocaleLowerCase().includes(wanted);
  }
});

document.addEventListener("keydown", (event) => {
  const filter = event.target;
  if (!filter.dataset?.filters || event.isComposing) return;
  if (event.key === "Escape") {
    filter.value = "";
    filter.dispatchEvent(new Event("input", { bubbles: true }));
    filter.blur();
  } else if (event.key === "Enter") {
    event.preventDefault();
    const first = document.querySelector(`#${CSS.escape(filter.dataset.filters)} .option:not([hidden])`);
    const target = first?.querySelector("input") ?? first;
    if (!filter.value.trim() || !target) return;
    target.click();
    target.dispatchEvent(new CustomEvent("pressed-by-key", { bubbles: true, detail: { key: "Enter" } }));
  }
});

// --- the hold on the item: renewed while the page is looked at and used, given back when it is left ---

const usualTitle = document.title;
let renewedAt = Date.now();
let isRenewing = false;

function holdForm() {
  const form = new FormData();
  form.append("lease", desk().dataset.lease);
  form.append("csrfmiddlewaretoken", document.querySelector("#answer [name=csrfmiddlewaretoken]").value);
  return form;
}

// Told once, and the form stays as it is: what was typed can still be read and copied.
function loseHold(lease, message) {
  if (desk()?.dataset.lease !== lease || document.querySelector("#answer.htmx-request, .desk[data-waiting]")) return;
  delete desk().dataset.lease;
  showTimeLeft();
  tell(message);
}

async function renew() {
  const held = desk()?.dataset;
  if (!held?.lease || document.hidden || isRenewing) return;
  const { lease } = held;
  const askedAt = Date.now();
  isRenewing = true;
  try {
    const response = await fetch(held.renew, { method: "POST", body: holdForm(), redirect: "manual" });
    if (response.ok) renewedAt = askedAt;
    else if (response.status === 409) loseHold(lease, (await response.json()).message);
  } catch {
    // Without a network there is nothing to renew; sending the answer says so.
  } finally {
    isRenewing = false;
  }
}

const leaseMs = () => (desk()?.dataset.lease ? Number(desk().dataset.leaseSeconds) * 1000 : 0);

// In the last minute the end is in sight: beside the figures, and in the title for who looks at another tab.
function showTimeLeft() {
  const shown = document.getElementById("hold");
  const left = Math.ceil((renewedAt + leaseMs() - Date.now()) / 1000);
  const isEnding = leaseMs() > 0 && left <= Math.min(WARN_MS, leaseMs() / 2) / 1000;
  document.title = isEnding ? `Your hold ends · ${usualTitle}` : usualTitle;
  if (!shown || shown.hidden === !isEnding) {
    if (shown && isEnding) shown.querySelector("[data-time-left]").textContent = left > 0 ? `for ${left} s` : "no longer";
    return;
  }
  shown.hidden = !isEnding;
  if (isEnding) showTimeLeft();
}

setInterval(() => {
  const lease = leaseMs();
  if (lease && Date.now() - lastUsedAt < lease && Date.now() - renewedAt > lease / HEARTBEAT_SHARE) renew();
  showTimeLeft();
}, 1_000);

for (const kind of ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"]) {
  document.addEventListener(kind, () => {
    lastUsedAt = Date.now();
    // Who comes back in the last minute has the item again at once.
    if (document.getElementById("hold")?.hidden === false) renew();
  }, { passive: true, capture: true });
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  renew();
  look();
  refreshFigures();
});

// Only where the person goes elsewhere on purpose: a reload or a second tab keeps the same item.
function release() {
  const held = desk()?.dataset;
  if (held?.lease && document.getElementById("not-saved")?.hidden) navigator.sendBeacon(held.release, holdForm());
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (link.target || link.hasAttribute("hx-get") || link.origin !== location.origin) return;
  if (link.pathname !== location.pathname) release();
});
document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-ends-session]")) release();
}, true);
// "Back" may bring this page out of the browser's memory, with an item that was given back: ask for what is true now.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});

// --- meanwhile: the figures, and whether somebody else has the item; an empty desk looks for work ---

let figuresAt = Date.now();
let left = desk()?.querySelector("[data-left]")?.innerHTML ?? "";

async function refreshFigures() {
  const shown = desk()?.querySelector("[data-figures]");
  if (!shown || document.hidden) return;
  figuresAt = Date.now();
  const { lease } = desk().dataset;
  const address = lease ? `${shown.dataset.figures}?lease=${lease}` : shown.dataset.figures;
  let text;
  try {
    const response = await fetch(address, { redirect: "manual" });
    if (!response.ok) return;
    text = await response.text();
  } catch {
    return; // No network, or the server starts anew: the next time will do.
  }
  const fresh = new DOMParser().parseFromString(text, "text/html").querySelector("[data-figures]");
  if (!fresh) return;
  left = fresh.querySelector("[data-left]").innerHTML;
  const gone = fresh.querySelector(".desk-gone")?.textContent;
  if (gone) loseHold(lease, gone);
  if (shown.isConnected) shown.replaceWith(fresh);
  else keepLeft();
}

// The reply to an answer does not count what is left: it stays as it was until it is counted again.
function keepLeft() {
  const shown = desk()?.querySelector("[data-left]");
  if (shown && !shown.innerHTML.trim()) shown.innerHTML = left;
}

function look() {
  if (desk()?.hasAttribute("data-empty") && !document.hidden) htmx.trigger("#desk", "look");
}
setInterval(() => { if (Date.now() - lastUsedAt < AWAY_MS) look(); }, LOOK_EVERY_MS);
setInterval(() => {
  if (Date.now() - lastUsedAt < AWAY_MS && Date.now() - figuresAt >= FIGURES_EVERY_MS) refreshFigures();
}, 1_000);

// --- after each answer ---

// The server was renewed while this page stood: once nothing waits, it is loaded anew, with the same item.
const version = desk()?.dataset.version;
function keepUp() {
  const served = desk()?.dataset.version;
  if (!served || served === version || sessionStorage.getItem("renewed-for") === served) return;
  sessionStorage.setItem("renewed-for", served);
  location.reload();
}

// In a long list the suggestion may stand below the edge.
function showSuggested() {
  for (const list of document.querySelectorAll(".options.is-long")) {
    const suggested = list.querySelector(".is-suggested");
    if (suggested) list.scrollTop = suggested.offsetTop - (list.clientHeight - suggested.offsetHeight) / 2;
  }
}

function settleIn({ isFirst }) {
  keepLeft();
  settleSaid();
  showSuggested();
  const first = questions()[0];
  if (first) makeCurrent(questions().find((each) => !isAnswered(each)) ?? first);
  const isEmpty = desk()?.hasAttribute("data-empty");
  const focus = desk()?.querySelector(".error-summary[data-focus]") ?? desk()?.querySelector("[data-focus]");
  if (!isFirst && !(isEmpty && wasEmpty)) focus?.focus({ preventScroll: true });
  wasEmpty = isEmpty;
  renewedAt = Date.now();
  showTimeLeft();
  if (!isFirst) for (const old of document.querySelectorAll("#messages .message")) old.remove();
  const done = desk()?.querySelector("[data-fades]:not(.is-past)");
  if (done) setTimeout(() => done.classList.add("is-past"), Number(done.dataset.fades) * 1000);
}

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.elt.id !== "desk") return;
  settleIn({ isFirst: false });
  keepUp();
});
settleIn({ isFirst: true });
