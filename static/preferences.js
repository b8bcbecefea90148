// Choosing keys: a field takes the key that is pressed in it, and two fields with one key say so at once.

const fields = [...document.querySelectorAll("[data-takes-key]")];
const nameOf = (field) => document.querySelector(`label[for="${field.id}"]`).textContent.split(/[:.]/)[0];

function showClashes() {
  for (const field of fields) {
    const others = fields.filter((each) => each !== field && field.value && each.value === field.value);
    const row = field.closest(".own-key");
    row.classList.toggle("is-wrong", others.length > 0);
    field.toggleAttribute("aria-invalid", others.length > 0);
    row.querySelector(".own-key-wrong").textContent = others.length ? `Also: ${others.map(nameOf).join(", ")}` : "";
  }
}

document.addEventListener("keydown", (event) => {
  const field = event.target;
  if (!fields.includes(field) || event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
  const isErased = event.key === "Backspace" || event.key === "Delete";
  const name = isErased ? "" : window.nameOfKey(event);
  if (name === null) return;
  event.preventDefault();
  field.value = name;
  field.select();
  showClashes();
});

function takeWritten(field, text) {
  field.value = text.trim().slice(-1).toLowerCase() || (text && "Space");
  showClashes();
}

for (const field of fields) {
  field.addEventListener("focus", () => field.select());
  // What an on-screen keyboard writes without naming a key.
  field.addEventListener("input", () => takeWritten(field, field.value));
  // A key pressed before this ran stands beside the one it is to replace.
  const early = field.value.replace(field.defaultValue, "");
  if (early.length === 1 && early.length + field.defaultValue.length === field.value.length) takeWritten(field, early);
}
