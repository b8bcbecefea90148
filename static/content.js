// What came in: a mail as sent or as text, the rest of a long text, and pictures that are looked at closely.
// And the guidelines beside it.

const LARGEST = 8;
const STEP = 1.25;
const LINE_PX = 40;
const PAGE_SHARE = 0.9;
const TAKES_KEYS = "a, button, input, select, textarea, summary, iframe, dialog, [tabindex='0']";

// --- mail: its text, or as its sender laid it out ---

function toggleSent(button) {
  const mail = button.closest("[data-mail]");
  const isSent = button.getAttribute("aria-pressed") !== "true";
  const panel = mail.querySelector("#mail-sent");
  button.setAttribute("aria-pressed", String(isSent));
  panel.hidden = !isSent;
  mail.querySelector("[data-mail-text]").hidden = isSent;
  if (isSent && !panel.querySelector("iframe")) htmx.trigger(button, "show");
}

// Keys typed into the frame reach no script of ours. Who clicked there goes on with the desk's keys;
// who came by Tab, to scroll it, stays.
let lastKey = "";
document.addEventListener("keydown", (event) => { lastKey = event.key; }, { capture: true });
document.addEventListener("pointermove", () => { lastKey = ""; }, { passive: true, capture: true });
addEventListener("blur", () => {
  setTimeout(() => {
    const frame = document.activeElement;
    if (frame?.matches("iframe.mail-frame") && lastKey !== "Tab") frame.blur();
  });
});

// --- a long text: its rest comes when it is scrolled to; all of it when somebody searches the page ---

let isSearching = false;

function bringRest(within) {
  for (const rest of within.querySelectorAll("[data-rest]")) htmx.trigger(rest, "wanted");
}

document.addEventListener("keydown", (event) => {
  const isFind = event.key === "F3" || ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f");
  if (!isFind) return;
  isSearching = true;
  bringRest(document);
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.elt.id === "desk") isSearching = false;
  else if (isSearching) bringRest(document);
});

// The keys that scroll a page scroll the item first, where nothing else has the focus: no Tab for every long mail.
function wayOf({ key, shiftKey }, text) {
  const page = PAGE_SHARE * text.clientHeight;
  if (key === " ") return shiftKey ? -page : page;
  const ways = {
    PageDown: page, PageUp: -page, ArrowDown: LINE_PX, ArrowUp: -LINE_PX, End: text.scrollHeight, Home: -text.scrollHeight,
  };
  return ways[key] ?? 0;
}

document.addEventListener("keydown", (event) => {
  const text = document.querySelector("#desk .desk-text");
  if (!text || event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
  const way = event.target.closest(TAKES_KEYS) ? 0 : wayOf(event, text);
  const room = way > 0 ? text.scrollHeight - text.clientHeight - text.scrollTop : text.scrollTop;
  if (way === 0 || room < 1) return;
  event.preventDefault();
  text.scrollBy({ top: way });
});

// --- guidelines: a panel that stays open from item to item, until the tab is closed ---

const guidelines = () => document.getElementById("guidelines-panel");
const hasRoom = () => matchMedia("(min-width: 80rem)").matches;

function showGuidelines(isOpen) {
  const panel = guidelines();
  if (!panel) return;
  panel.hidden = !isOpen;
  for (const button of document.querySelectorAll("[data-toggles-guidelines][aria-expanded]")) {
    button.setAttribute("aria-expanded", String(isOpen));
  }
  if (isOpen) loadGuidelines(panel.querySelector("#guidelines"));
}

// The next item may be asked by another version of the questions.
function loadGuidelines(text) {
  const address = document.getElementById("desk")?.dataset.guidelines;
  if (!address && !text.dataset.from) text.textContent = "They come with the first item.";
  if (!address || text.dataset.from === address) return;
  text.dataset.from = address;
  const forget = () => { if (text.dataset.from === address) delete text.dataset.from; };
  htmx.ajax("GET", address, { source: text, target: text, swap: "innerHTML" }).catch(forget);
}

function toggleGuidelines() {
  const isOpen = guidelines().hidden;
  sessionStorage.setItem("guidelines", isOpen ? "open" : "");
  showGuidelines(isOpen);
  if (!isOpen) document.querySelector("[data-toggles-guidelines][aria-expanded]")?.focus();
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-toggles-guidelines]")) toggleGuidelines();
});
// Where it lies over the answer, Escape takes it away from anywhere but a field, which Escape leaves first.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !(event.target instanceof Element)) return;
  if (guidelines()?.hidden !== false || document.querySelector("dialog[open]")) return;
  const isInside = event.target.closest("#guidelines-panel");
  if (isInside || (!hasRoom() && !event.target.closest("input, select, textarea"))) toggleGuidelines();
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.elt.id === "desk") showGuidelines(!guidelines()?.hidden);
});
document.addEventListener("DOMContentLoaded", () => {
  // Where the panel would lie over the item, a page does not begin with it.
  if (sessionStorage.getItem("guidelines") === "open" && hasRoom()) showGuidelines(true);
});

// --- pictures ---

const views = new WeakMap(); // of a picture's paper: { zoom, turn }
const viewOf = (paper) => views.get(paper) ?? { zoom: 1, turn: 0 };
const stageOf = (element) => element.closest("[data-pictures]").querySelector(".picture-stage");

// As the style sheet lays it: as wide as there is room, never larger than it is.
function fitting(stage, width) {
  return Math.min(1, stage.clientWidth / width);
}

function lay(stage, view) {
  const paper = stage.querySelector(".picture-paper");
  const image = paper.querySelector("img");
  const middle = {
    x: (stage.scrollLeft + stage.clientWidth / 2) / Math.max(stage.scrollWidth, 1),
    y: (stage.scrollTop + stage.clientHeight / 2) / Math.max(stage.scrollHeight, 1),
  };
  views.set(paper, view);
  const isPlain = view.zoom === 1 && view.turn === 0;
  paper.toggleAttribute("data-laid", !isPlain);
  stage.toggleAttribute("data-larger", view.zoom > 1);
  if (isPlain) {
    for (const element of [paper, image]) element.removeAttribute("style");
  } else {
    const [width, height] = [Number(image.getAttribute("width")), Number(image.getAttribute("height"))];
    const [across, down] = view.turn % 180 ? [height, width] : [width, height];
    const scale = fitting(stage, across) * view.zoom;
    Object.assign(paper.style, { inlineSize: `${across * scale}px`, blockSize: `${down * scale}px` });
    const transform = `translate(-50%, -50%) rotate(${view.turn}deg)`;
    Object.assign(image.style, { inlineSize: `${width * scale}px`, blockSize: `${height * scale}px`, transform });
  }
  stage.scrollLeft = middle.x * stage.scrollWidth - stage.clientWidth / 2;
  stage.scrollTop = isPlain ? 0 : middle.y * stage.scrollHeight - stage.clientHeight / 2;
  const told = stage.closest("[data-pictures]").querySelector("[data-zoomed]");
  told.textContent = isPlain ? "" : `${Math.round(view.zoom * 100)} %${view.turn ? `, turned ${view.turn}°` : ""}`;
}

function zoom(stage, how) {
  const view = viewOf(stage.querySelector(".picture-paper"));
  const factor = { in: STEP, out: 1 / STEP, fit: 1 / view.zoom }[how];
  const wanted = Math.min(LARGEST, Math.max(1 / LARGEST, view.zoom * factor));
  lay(stage, { ...view, zoom: Math.abs(wanted - 1) < 0.01 ? 1 : wanted });
}

function turn(stage) {
  const view = viewOf(stage.querySelector(".picture-paper"));
  lay(stage, { ...view, turn: (view.turn + 90) % 360 });
}

function show(link) {
  const stage = stageOf(link);
  const image = stage.querySelector("img");
  lay(stage, { zoom: 1, turn: 0 });
  image.width = link.dataset.width;
  image.height = link.dataset.height;
  image.alt = link.querySelector("img").alt;
  image.src = link.href;
  stage.scrollTop = 0;
  for (const each of link.closest(".picture-strip").querySelectorAll("a")) {
    if (each === link) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
  }
}

function next(button) {
  const links = [...button.closest("[data-pictures]").querySelectorAll("[data-picture]")];
  const at = links.findIndex((link) => link.hasAttribute("aria-current"));
  show(links[(at + 1) % links.length]);
}

document.addEventListener("click", (event) => {
  const target = event.target.closest("[data-shows-sent], [data-zoom], [data-turn], [data-next-picture], [data-picture]");
  if (!target) return;
  if (target.matches("[data-shows-sent]")) toggleSent(target);
  else if (target.matches("[data-zoom]")) zoom(stageOf(target), target.dataset.zoom);
  else if (target.matches("[data-turn]")) turn(stageOf(target));
  else if (target.matches("[data-next-picture]")) next(target);
  else if (!event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    show(target);
  }
});

// The wheel alone scrolls; with Ctrl, as in maps and with two fingers, it zooms.
function onWheel(event) {
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  zoom(event.currentTarget, event.deltaY < 0 ? "in" : "out");
}

function drag(event) {
  const stage = event.currentTarget;
  if (event.pointerType !== "mouse" || event.button !== 0 || event.offsetX > stage.clientWidth) return;
  stage.toggleAttribute("data-grabbed", true);
  const move = (moved) => stage.scrollBy(-moved.movementX, -moved.movementY);
  stage.setPointerCapture(event.pointerId);
  stage.addEventListener("pointermove", move);
  stage.addEventListener("lostpointercapture", () => {
    stage.removeEventListener("pointermove", move);
    stage.removeAttribute("data-grabbed");
  }, { once: true });
}

function wire() {
  for (const stage of document.querySelectorAll(".picture-stage:not([data-wired])")) {
    stage.dataset.wired = "";
    stage.addEventListener("wheel", onWheel, { passive: false });
    stage.addEventListener("pointerdown", drag);
  }
}

document.addEventListener("htmx:afterSettle", wire);
wire();
