// Sending files: dropped ones too, with how far it is, stoppable, and what is too large told before it is sent.

const form = document.querySelector("[data-upload]");
const part = (name) => form.querySelector(`[data-${name}]`);
const input = form.elements.file;
const megabytes = (bytes) => `${(bytes / 1024 / 1024).toFixed(1)} MB`;

function showProblem(text) {
  part("problem").hidden = !text;
  part("problem").querySelector("p").textContent = text;
}

function whyNot(files) {
  if (files.length > Number(form.dataset.mostFiles)) return `Choose at most ${form.dataset.mostFiles} files at once.`;
  const most = Number(form.dataset.mostBytes);
  const large = files.find((file) => file.size > most);
  if (large) return `${large.name} has ${megabytes(large.size)}; a file may have ${megabytes(most)}.`;
  const all = files.reduce((sum, file) => sum + file.size, 0);
  return all > most ? `Together they have ${megabytes(all)}; send at most ${megabytes(most)} at once.` : "";
}

function showChosen() {
  const files = [...input.files];
  part("chosen").replaceChildren(...files.map((file) => {
    const line = document.createElement("li");
    const name = document.createElement("bdi");
    name.textContent = file.name;
    line.append(name, ` ${megabytes(file.size)}`);
    return line;
  }));
  part("chosen").hidden = files.length < 2;
  showProblem(whyNot(files));
}

function showSending(isSending) {
  part("sending").hidden = part("stop").hidden = !isSending;
  form.querySelector("[type=submit]").disabled = isSending;
  if (isSending) part("stop").focus();
}

function answered(request) {
  if (request.status < 400) {
    location.assign(request.responseURL);
    return;
  }
  const page = new DOMParser().parseFromString(request.responseText, "text/html");
  const why = page.querySelector("[data-problem] p")?.textContent || page.querySelector("main p")?.textContent;
  showSending(false);
  showProblem(why?.trim() || "The server could not take it. Try again.");
}

function send() {
  const request = new XMLHttpRequest();
  request.open("POST", form.action);
  request.upload.addEventListener("progress", (event) => {
    form.querySelector("progress").value = event.loaded / event.total;
    part("sent").textContent = `${megabytes(event.loaded)} of ${megabytes(event.total)}`;
  });
  request.addEventListener("load", () => answered(request));
  request.addEventListener("error", () => {
    showSending(false);
    showProblem("The connection broke off. Nothing was taken; send it again.");
  });
  request.addEventListener("abort", () => showSending(false));
  part("stop").onclick = () => request.abort();
  showSending(true);
  request.send(new FormData(form));
}

input.addEventListener("change", showChosen);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const why = whyNot([...input.files]);
  showProblem(why);
  if (!why) send();
});

const drop = part("drop");
for (const name of ["dragenter", "dragover"]) {
  drop.addEventListener(name, (event) => {
    event.preventDefault();
    drop.classList.add("is-over");
  });
}
for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("is-over"));
drop.addEventListener("drop", (event) => {
  event.preventDefault();
  if (!event.dataTransfer.files.length) return;
  input.files = event.dataTransfer.files;
  showChosen();
});
