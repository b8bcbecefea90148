// Runs before the first paint, so that a dark page never flashes white.
// "auto" is the absence of a choice: the style sheet then follows the system.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  let chosen = null;
  try {
    chosen = localStorage.getItem("theme");
  } catch {
    // Storage is closed to this site in some private modes: the system's choice stays.
  }
  if (chosen === "light" || chosen === "dark") root.dataset.theme = chosen;
})();
