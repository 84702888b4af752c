// The chat: what happens arrives step by step, as server-sent events in the answer to the form.

const form = document.querySelector("#say");
const log = document.querySelector("#log");
const trace = document.querySelector("#trace");
const field = form.elements.message;

function bubble(name, text) {
  const made = document.createElement("div");
  made.className = `bubble ${name}`;
  made.append(text);
  log.append(made);
  log.scrollTop = log.scrollHeight;
  return made;
}

function card(under) {
  const made = document.createElement("div");
  made.className = "card";
  under.append(made);
  return made;
}

function article(message) {
  const made = document.createElement("article");
  made.className = "stack";
  const title = document.createElement("p");
  title.className = "small muted said";
  title.textContent = `“${message.slice(0, 140)}”`;
  made.append(title);
  trace.replaceChildren(made);
  return made;
}

async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    let end;
    while ((end = rest.indexOf("\n\n")) >= 0) {
      const lines = rest.slice(0, end).split("\n");
      rest = rest.slice(end + 2);
      const read = (name) => lines.find((line) => line.startsWith(name))?.slice(name.length) ?? "";
      yield { name: read("event: "), data: JSON.parse(read("data: ") || "null") };
    }
  }
}

async function send(message) {
  const body = new URLSearchParams(new FormData(form));
  log.querySelector("#first")?.remove();
  bubble("mine", message);
  const answer = bubble("theirs none", "…");
  const about = article(message);
  const learned = card(about);
  const block = card(about);
  const response = await fetch(form.action, { method: "POST", body, headers: { accept: "text/event-stream" } });
  if (!response.ok || !response.headers.get("content-type")?.includes("event-stream")) {
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    answer.textContent = page.querySelector("main .empty")?.innerText.trim() || "That did not work: reload the page.";
    return;
  }
  let begun = false;
  for await (const event of events(response)) {
    if (event.name === "block") block.innerHTML = event.data;
    if (event.name === "learned") learned.innerHTML = event.data;
    if (event.name === "piece") {
      if (!begun) {
        answer.className = "bubble theirs";
        answer.textContent = "";
        begun = true;
      }
      answer.append(event.data);
    }
    if (event.name === "answer") {
      const holder = document.createElement("template");
      holder.innerHTML = event.data;
      answer.replaceWith(holder.content);
    }
    log.scrollTop = log.scrollHeight;
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const message = field.value.trim();
  if (!message) return;
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    const sending = send(message);
    field.value = "";
    await sending;
  } catch {
    bubble("theirs none", "The server cannot be reached. Is `memstone serve` still running? Your message is in the field again.");
    field.value = message;
  } finally {
    button.disabled = false;
    field.focus();
  }
});

field.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});

log.scrollTop = log.scrollHeight;
