// The slider of each label (all its numbers came with the page) and charts as PNG.

const PNG_SCALE = 3;
const STANDINGS = {
  certified: "Certified",
  supported: "Supported by today's reading, not certified",
  "": "Not certified",
};
const percent = (share, digits = 1) => `${(share * 100).toFixed(digits)} %`;
const count = (number) => number.toLocaleString("en-GB").replaceAll(",", "\u202f");

function wordsOf(step) {
  if (!step.items) return { from: step.from, share: "no items", bound: "nothing is known", standing: STANDINGS[step.standing] };
  return {
    from: step.from,
    share: `${percent(step.share)}, ${count(step.items)} of ${count(step.of)} items`,
    bound: `at most ${percent(step.bound)} by the bound; ${count(step.wrong)} of ${count(step.labelled)} answers were`,
    standing: `${STANDINGS[step.standing]}; ${step.within ? "the bound is within the target" : "the bound is above the target"}`,
  };
}

for (const box of document.querySelectorAll("[data-slider]")) {
  const { steps } = JSON.parse(document.getElementById(box.dataset.slider).textContent);
  const input = box.querySelector("input");
  const marker = box.closest(".stack").querySelector(".chart-chosen");
  const show = () => {
    const step = steps[input.valueAsNumber];
    const words = wordsOf(step);
    for (const [name, text] of Object.entries(words)) box.querySelector(`[data-shows=${name}]`).textContent = text;
    input.setAttribute(
      "aria-valuetext",
      `From ${words.from}: ${words.share} act by themselves; decided otherwise ${words.bound}. ${words.standing}.`,
    );
    const [line, circle] = marker.children;
    line.setAttribute("x1", step.x);
    line.setAttribute("x2", step.x);
    circle.setAttribute("cx", step.x);
    circle.setAttribute("cy", step.y);
    marker.setAttribute("visibility", step.items ? "visible" : "hidden");
  };
  input.addEventListener("input", show);
  show();
}

async function toPng(address) {
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * PNG_SCALE;
  canvas.height = image.naturalHeight * PNG_SCALE;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => { canvas.toBlob(resolve, "image/png"); });
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-png]");
  if (!button) return;
  try {
    const address = URL.createObjectURL(await toPng(button.dataset.png));
    const link = document.createElement("a");
    link.href = address;
    link.download = button.dataset.name;
    link.click();
    // The download has its own hold on the data once it has begun.
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  } catch (error) {
    const detail = { text: "The picture could not be made. The SVG has the same content.", level: "error" };
    document.dispatchEvent(new CustomEvent("message", { detail }));
    console.warn(error);
  }
});
