// The review desk: where the focus goes, which question is current, and the hold on the item.

const HEARTBEAT_SHARE = 3; // renewals in the time of one lease
const LOOK_EVERY_MS = 15_000;

const desk = () => document.getElementById("desk");
let lastUsedAt = Date.now();
let wasEmpty = desk()?.hasAttribute("data-empty");

for (const kind of ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"]) {
  document.addEventListener(kind, () => { lastUsedAt = Date.now(); }, { passive: true, capture: true });
}

// --- several questions: digits answer the current one; the last answer sends the form ---

const questions = () => [...document.querySelectorAll("#answer [data-question]")];
const isAnswered = (question) => question.querySelector("input[type=radio]:checked") !== null;

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

document.addEventListener("pressed-by-key", (event) => {
  const question = event.target.closest("[data-question]");
  if (question && event.target.matches("input[type=radio]")) goOn(question);
  if (event.target.matches("summary")) event.target.parentElement.querySelector("textarea")?.focus();
});

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

function holdForm() {
  const form = new FormData();
  form.append("lease", desk().dataset.lease);
  form.append("csrfmiddlewaretoken", document.querySelector("#answer [name=csrfmiddlewaretoken]").value);
  return form;
}

let renewedAt = Date.now();

async function renew() {
  const held = desk()?.dataset;
  if (!held?.lease || document.hidden) return;
  renewedAt = Date.now();
  let response;
  try {
    response = await fetch(held.renew, { method: "POST", body: holdForm(), redirect: "manual" });
  } catch {
    return; // Without a network there is nothing to renew; sending the answer says so.
  }
  if (response.status !== 409 || desk()?.dataset.lease !== held.lease) return;
  const { message } = await response.json();
  document.dispatchEvent(new CustomEvent("message", { detail: { text: message, level: "warning" } }));
  delete desk().dataset.lease;
}

setInterval(() => {
  const lease = Number(desk()?.dataset.leaseSeconds ?? 0) * 1000;
  if (!lease || Date.now() - lastUsedAt > lease) return;
  if (Date.now() - renewedAt > lease / HEARTBEAT_SHARE) renew();
}, 5_000);

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  renew();
  look();
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

// --- an empty desk looks for work while somebody looks at it ---

function look() {
  if (desk()?.hasAttribute("data-empty") && !document.hidden) htmx.trigger("#desk", "look");
}
setInterval(() => { if (Date.now() - lastUsedAt < 10 * 60_000) look(); }, LOOK_EVERY_MS);

// --- after each answer ---

// In a long list the suggestion may stand below the edge.
function showSuggested() {
  for (const list of document.querySelectorAll(".options.is-long")) {
    const suggested = list.querySelector(".is-suggested");
    if (suggested) list.scrollTop = suggested.offsetTop - (list.clientHeight - suggested.offsetHeight) / 2;
  }
}

function settleIn({ isFirst }) {
  showSuggested();
  const first = questions()[0];
  if (first) makeCurrent(questions().find((each) => !isAnswered(each)) ?? first);
  const isEmpty = desk()?.hasAttribute("data-empty");
  const focus = desk()?.querySelector(".error-summary[data-focus]") ?? desk()?.querySelector("[data-focus]");
  if (!isFirst && !(isEmpty && wasEmpty)) focus?.focus({ preventScroll: true });
  wasEmpty = isEmpty;
  renewedAt = Date.now();
  if (!isFirst) for (const old of document.querySelectorAll("#messages .message")) old.remove();
  const done = desk()?.querySelector("[data-fades]:not(.is-past)");
  if (done) setTimeout(() => done.classList.add("is-past"), Number(done.dataset.fades) * 1000);
}

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.elt.id === "desk") settleIn({ isFirst: false });
});
settleIn({ isFirst: true });
