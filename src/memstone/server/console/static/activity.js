// The live feed: rows arrive as they would be listed, and stand at the top.

const feed = document.querySelector("#feed");
const state = document.querySelector("#live [data-state]");
const dot = document.querySelector("#live .dot");
const button = document.querySelector("#pause");
const MOST = 200;
let source = null;

function show(text, tone) {
  state.textContent = text;
  dot.className = `dot ${tone}`;
}

function add(event) {
  if (feed.dataset.kind && event.type !== feed.dataset.kind) return;
  const holder = document.createElement("template");
  holder.innerHTML = event.data;
  const row = holder.content.firstElementChild;
  row.classList.add("fresh");
  feed.prepend(row);
  while (feed.children.length > MOST) feed.lastElementChild.remove();
  document.querySelector("#nothing").hidden = true;
}

function connect() {
  source = new EventSource(feed.dataset.stream);
  source.addEventListener("open", () => show("Live", "ok"));
  source.addEventListener("error", () => show("Reconnecting …", "warn"));
  source.addEventListener("over", () => {
    source.close();
    show("Signed out: reload the page", "danger");
  });
  source.addEventListener("more", (event) => show(`Live; ${event.data} more a moment ago: refresh to see them`, "ok"));
  for (const kind of ["change", "recall", "job", "failure"]) source.addEventListener(kind, add);
}

button.addEventListener("click", () => {
  const paused = button.getAttribute("aria-pressed") === "true";
  button.setAttribute("aria-pressed", String(!paused));
  button.textContent = paused ? "Pause" : "Go on";
  if (paused) connect();
  else {
    source.close();
    show("Paused", "");
  }
});

addEventListener("pagehide", () => source?.close());
connect();
