// What every page shares: the theme, menus, times in the reader's zone, short messages, announcements, and keys.
// It runs while the head is read, before the first paint: a dark page never flashes white.

"use strict";

const root = document.documentElement;

// "auto" is the absence of a choice: the style sheet then follows the system.
function savedTheme() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null; // Storage is closed to this site in some private modes: the system's choice stays.
  }
}

function setTheme(choice) {
  if (choice === "auto") delete root.dataset.theme;
  else root.dataset.theme = choice;
  try {
    if (choice === "auto") localStorage.removeItem("theme");
    else localStorage.setItem("theme", choice);
  } catch {
    // Storage is closed to this site: the choice holds until the page is left.
  }
}

root.classList.add("js");
if (["light", "dark"].includes(savedTheme())) root.dataset.theme = savedTheme();
document.addEventListener("change", (event) => {
  if (event.target.matches("input[name=theme]")) setTheme(event.target.value);
});

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens)?.showModal();
  if (event.target.closest("[data-dismiss]")) event.target.closest(".message").remove();
});

document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

// Drafts are kept for the person who wrote them; they leave with the person.
document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-ends-session]")) sessionStorage.clear();
});

const FORMATS = {
  short: { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" },
  long: { dateStyle: "medium", timeStyle: "long" },
  clock: { hour: "2-digit", minute: "2-digit", timeZoneName: "short" },
};
const PLACE = Intl.DateTimeFormat().resolvedOptions().timeZone;

function showLocalTimes(within) {
  for (const time of within.querySelectorAll("time[datetime]:not([data-local])")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.dataset.local = "";
    time.textContent = new Intl.DateTimeFormat("en-GB", FORMATS[time.dataset.format] ?? FORMATS.short).format(at);
    time.title = `${new Intl.DateTimeFormat("en-GB", FORMATS.long).format(at)}, ${PLACE}`;
  }
}

// A live region that is filled in the same tick as it appears is not read: it stands in every page, empty.
function announce(text) {
  const region = document.getElementById("announce");
  if (!region || !text) return;
  region.textContent = "";
  setTimeout(() => { region.textContent = text; }, 60);
}

function showMessage(text, level = "info") {
  // What is said again is said once, where it is seen.
  for (const old of document.querySelectorAll("#messages .message")) {
    if (old.querySelector("span")?.textContent === text) old.remove();
  }
  const message = document.createElement("div");
  message.className = `message ${level}`;
  const words = document.createElement("span");
  words.textContent = text;
  const close = document.createElement("button");
  close.type = "button";
  close.dataset.dismiss = "";
  close.setAttribute("aria-label", "Dismiss");
  close.textContent = "✕";
  message.append(words, close);
  document.getElementById("messages").append(message);
  announce(text);
  if (level === "info" || level === "success") setTimeout(() => message.remove(), 8000);
}

document.addEventListener("message", (event) => showMessage(event.detail.text, event.detail.level));
// A reply that leaves the page as it is has swapped nothing: nothing is announced, and no focus moves.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.getResponseHeader("HX-Reswap") === "none") event.detail.shouldSwap = false;
});
document.addEventListener("htmx:afterSwap", (event) => {
  showLocalTimes(event.detail.elt);
  announce(event.detail.elt.dataset.announce?.trim());
});

document.addEventListener("DOMContentLoaded", () => {
  for (const input of document.querySelectorAll("input[name=theme]")) {
    input.checked = input.value === (root.dataset.theme ?? "auto");
  }
  for (const name of document.querySelectorAll("[data-time-zone]")) name.textContent = PLACE;
  showLocalTimes(document);
});

// --- keys: one key, one act, declared in the markup: data-key="3", data-key="n Enter", data-key="?" ---
//
// A key presses what carries it (or moves into it, when it is a field). Where several things on the page carry the
// same key, the one in the [data-key-scope] around the focus counts, then the one in the scope that is
// [data-current]. Silent while somebody types or composes, with Ctrl, Alt or Meta, while a key is held down, and
// behind an open dialog.

const TYPING = "textarea, select, [contenteditable], input:not([type=radio], [type=checkbox], [type=button], [type=submit])";
const PRESSED_BY_ENTER = "a, button, summary";
const PRESSED_BY_SPACE = "button, summary, input";
const SIGNS_BY_PLACE = {
  Minus: "-", NumpadSubtract: "-", NumpadAdd: "+", Comma: ",", Period: ".", Semicolon: ";", Quote: "'",
  BracketLeft: "[", BracketRight: "]", Equal: "=", Slash: "/", NumpadDivide: "/",
};

// Digits by their place on the keyboard, where French and Arabic layouts write something else. Letters and signs by
// what they say, so that Z is Z on a German keyboard; where that is no Latin one, by the place of a Latin layout.
function nameOfKey({ code, key, shiftKey }) {
  if (code === "Enter" || code === "NumpadEnter") return "Enter";
  if (code === "Space") return "Space";
  const place = /^(Digit|Numpad|Key)([0-9A-Z])$/.exec(code);
  if (/^[0-9]$/.test(key)) return key;
  if (place?.[1] === "Digit" && !shiftKey) return place[2];
  // The number pad without its lock moves the cursor.
  if (place?.[1] === "Numpad") return /^\p{Nd}$/u.test(key) ? place[2] : null;
  if (/^[a-z]$/i.test(key)) return shiftKey && key !== key.toLowerCase() ? null : key.toLowerCase();
  if (/^[!-~]$/.test(key)) return key;
  if (key === "؟" || (code === "Slash" && shiftKey)) return "?";
  if (shiftKey) return null;
  return place?.[1] === "Key" ? place[2].toLowerCase() : (SIGNS_BY_PLACE[code] ?? null);
}

function isSilent(event, target) {
  // 229: Safari ends a composition with a key of its own.
  if (event.defaultPrevented || event.isComposing || event.keyCode === 229 || event.repeat) return true;
  if (event.ctrlKey || event.altKey || event.metaKey || event.getModifierState?.("AltGraph")) return true;
  if (target.closest(TYPING)) return true;
  if (document.querySelector("dialog[open], details.menu[open]")) return true;
  if (event.key === " " && target.closest(PRESSED_BY_SPACE)) return true;
  return event.key === "Enter" && Boolean(target.closest(PRESSED_BY_ENTER));
}

function carrierOf(name, target) {
  const carriers = [...document.querySelectorAll(`[data-key~="${CSS.escape(name)}"]`)].filter(
    (element) => !element.matches(":disabled") && element.checkVisibility(),
  );
  const scopeOf = (element) => element?.closest("[data-key-scope]");
  for (let scope = scopeOf(target); scope; scope = scopeOf(scope.parentElement)) {
    const own = carriers.find((element) => scopeOf(element) === scope);
    if (own) return own;
  }
  return (
    carriers.find((element) => element.closest("[data-key-scope][data-current]")) ??
    carriers.find((element) => !scopeOf(element))
  );
}

document.addEventListener("keydown", (event) => {
  const target = event.target instanceof Element ? event.target : document.body;
  if (isSilent(event, target)) return;
  const name = nameOfKey(event);
  const carrier = name && carrierOf(name, target);
  if (!carrier) return;
  event.preventDefault();
  if (carrier.matches(TYPING)) {
    carrier.focus();
    return;
  }
  carrier.click();
  carrier.dispatchEvent(new CustomEvent("pressed-by-key", { bubbles: true, detail: { key: name } }));
});
