// One key, one act. Keys are declared in the markup: data-key="3", data-key="n Enter", data-key="?".
//
// A key presses what carries it (or moves into it, when it is a field). Where several things on the page carry
// the same key, the one in the current [data-key-scope] counts. Silent while somebody types or composes, with
// Ctrl, Alt or Meta, while a key is held down, and behind an open dialog.

const TYPING = "textarea, select, [contenteditable], input:not([type=radio], [type=checkbox], [type=button], [type=submit])";
const PRESSED_BY_ENTER = "a, button, summary";

// Digits and letters by their place on the keyboard, so that an Arabic layout works like a Latin one;
// a Latin letter by what it says, so that Z is Z on a German keyboard.
function nameOf(event) {
  const { code, key } = event;
  if (code === "Enter" || code === "NumpadEnter") return "Enter";
  const digit = /^(?:Digit|Numpad)([0-9])$/.exec(code);
  if (digit) return event.shiftKey ? null : digit[1];
  if (key === "+" || code === "NumpadAdd") return "+";
  if (key === "-" || code === "NumpadSubtract") return "-";
  if (key === "?" || key === "؟" || (code === "Slash" && event.shiftKey)) return "?";
  if (key === "/" || code === "Slash") return "/";
  if (/^[a-z]$/i.test(key)) return key.toLowerCase();
  const letter = /^Key([A-Z])$/.exec(code);
  return letter ? letter[1].toLowerCase() : null;
}

function isSilent(event) {
  const target = event.target instanceof Element ? event.target : document.body;
  if (event.defaultPrevented || event.isComposing || event.repeat) return true;
  if (event.ctrlKey || event.altKey || event.metaKey) return true;
  if (target.closest(TYPING)) return true;
  if (document.querySelector("dialog[open], details.menu[open]")) return true;
  return event.key === "Enter" && Boolean(target.closest(PRESSED_BY_ENTER));
}

function carrierOf(name) {
  const carriers = [...document.querySelectorAll(`[data-key~="${CSS.escape(name)}"]`)].filter(
    (element) => !element.matches(":disabled") && element.checkVisibility(),
  );
  return (
    carriers.find((element) => element.closest("[data-key-scope][data-current]")) ??
    carriers.find((element) => !element.closest("[data-key-scope]"))
  );
}

document.addEventListener("keydown", (event) => {
  if (isSilent(event)) return;
  const name = nameOf(event);
  const carrier = name && carrierOf(name);
  if (!carrier) return;
  event.preventDefault();
  if (carrier.matches(TYPING)) {
    carrier.focus();
    return;
  }
  carrier.click();
  carrier.dispatchEvent(new CustomEvent("pressed-by-key", { bubbles: true, detail: { key: name } }));
});
