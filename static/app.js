// What every page shares: the theme switch, menus, times in the reader's zone, short messages, announcements.

const root = document.documentElement;

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

for (const input of document.querySelectorAll("input[name=theme]")) {
  input.checked = input.value === (root.dataset.theme ?? "auto");
  input.addEventListener("change", () => setTheme(input.value));
}

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
document.addEventListener("htmx:afterSwap", (event) => {
  showLocalTimes(event.detail.elt);
  announce(event.detail.elt.dataset.announce?.trim());
});

showLocalTimes(document);
for (const name of document.querySelectorAll("[data-time-zone]")) name.textContent = PLACE;
