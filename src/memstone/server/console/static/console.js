// What the pages do beyond plain links and forms. Everything here is an addition: without it, pages can still be read.

document.documentElement.classList.remove("no-js");

// Copy buttons: <button data-copy="#id-of-the-text">.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.querySelector(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source.textContent.trim());
    say("Copied");
  } catch {
    getSelection().selectAllChildren(source);
    say("Press Ctrl+C to copy");
  }
});

// Messages: they leave by themselves, unless they offer something or somebody looks at them.
function say(text, tone = "ok") {
  const toast = document.createElement("div");
  toast.className = `toast ${tone}`;
  toast.setAttribute("role", tone === "danger" ? "alert" : "status");
  toast.append(text);
  document.querySelector(".toasts")?.append(toast);
  retire(toast);
}

function retire(toast) {
  const seconds = toast.querySelector("form") ? 20 : 5;
  let timer = setTimeout(() => toast.remove(), seconds * 1000);
  toast.addEventListener("pointerenter", () => clearTimeout(timer));
  toast.addEventListener("focusin", () => clearTimeout(timer));
  toast.addEventListener("pointerleave", () => (timer = setTimeout(() => toast.remove(), 4000)));
}

function greet(root) {
  for (const toast of root.querySelectorAll(".toast:not([data-known])")) {
    toast.dataset.known = "";
    retire(toast);
  }
  const url = new URL(location.href);
  if (url.searchParams.has("toast")) {
    url.searchParams.delete("toast");
    history.replaceState(history.state, "", url);
  }
}

document.addEventListener("click", (event) => {
  event.target.closest(".dismiss")?.closest(".toast")?.remove();
  for (const open of document.querySelectorAll("details.dropdown[open]")) {
    if (!open.contains(event.target)) open.open = false;
  }
});

// Keyboard: "/" goes to the search, Escape closes menus.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    const search = document.querySelector("[data-search]");
    if (search) {
      event.preventDefault();
      search.focus();
      search.select();
    }
  }
  if (event.key === "Escape") {
    for (const open of document.querySelectorAll("details.dropdown[open]")) {
      open.open = false;
      open.querySelector("summary").focus();
    }
  }
});

// Choosing many: <form data-many> with checkboxes named "id", a [data-count], and a bar that shows when any is chosen.
function count(form) {
  const boxes = [...form.querySelectorAll('input[name="id"]')];
  const chosen = boxes.filter((box) => box.checked).length;
  for (const place of form.querySelectorAll("[data-count]")) place.textContent = chosen;
  for (const bar of form.querySelectorAll("[data-bar]")) bar.hidden = chosen === 0;
  const all = form.querySelector("[data-all]");
  if (all) {
    all.checked = chosen > 0 && chosen === boxes.length;
    all.indeterminate = chosen > 0 && chosen < boxes.length;
  }
}

let last = null;
document.addEventListener("click", (event) => {
  const box = event.target.closest('form[data-many] input[type="checkbox"]');
  if (!box) return;
  const form = box.closest("form");
  const boxes = [...form.querySelectorAll('input[name="id"]')];
  if (box.matches("[data-all]")) {
    for (const one of boxes) one.checked = box.checked;
  } else if (event.shiftKey && last && boxes.includes(last)) {
    const [from, to] = [boxes.indexOf(last), boxes.indexOf(box)].sort((a, b) => a - b);
    for (const one of boxes.slice(from, to + 1)) one.checked = box.checked;
  }
  last = box;
  count(form);
});

// Selects and switches that act at once: <select data-submit>.
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});

// What the server sends in pieces.
document.addEventListener("htmx:afterSettle", (event) => {
  greet(document);
  for (const form of document.querySelectorAll("form[data-many]")) count(form);
  if (event.detail.target?.id === "main") document.title = event.detail.target.dataset.title || document.title;
});
document.addEventListener("htmx:sendError", () =>
  say("The server cannot be reached. Is `memstone serve` still running? Your text is still here: try again.", "danger"),
);
document.addEventListener("htmx:timeout", () => say("The server took too long. Try again.", "danger"));

greet(document);
for (const form of document.querySelectorAll("form[data-many]")) count(form);
