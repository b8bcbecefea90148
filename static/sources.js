// Copies an address that others post to.

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copies);
  field.select();
  let said = "Copied";
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    // No permission, or no HTTPS: it is selected, and the keyboard copies it.
    said = "Press Ctrl C";
  }
  button.textContent = said;
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
});
