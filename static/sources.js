// Copies an address that others post to.

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copies]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copies);
  field.select();
  let text = "Copied.";
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    // No permission, or no HTTPS: it is selected, and the keyboard copies it.
    text = "The address is selected: copy it with the keyboard.";
  }
  document.dispatchEvent(new CustomEvent("message", { detail: { text } }));
});
