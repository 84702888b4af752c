// A small force-directed graph: nodes repel each other, edges pull, everything is drawn towards the middle.
// Choosing a node (click, or Enter on the keyboard) fetches what stands around it.

const box = document.querySelector("#graph");
const SVG = "http://www.w3.org/2000/svg";
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

class Graph {
  constructor(box) {
    this.box = box;
    this.svg = box.querySelector("svg");
    this.note = box.querySelector(".graph-note");
    this.nodes = new Map();
    this.edges = new Map();
    this.heat = 0;
    this.view = { x: 0, y: 0, scale: 1 };
    this.world = this.make("g", {}, this.svg);
    this.lines = this.make("g", {}, this.world);
    this.labels = this.make("g", {}, this.world);
    this.marks = this.make("g", {}, this.world);
    this.listen();
  }

  make(name, attributes, under) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    under?.append(made);
    return made;
  }

  async load(around) {
    const url = new URL(this.box.dataset.source, location.href);
    if (around) url.searchParams.set("around", around);
    try {
      const answer = await fetch(url);
      if (!answer.ok) throw new Error(String(answer.status));
      this.add(await answer.json(), around);
    } catch {
      this.note.textContent = "The graph could not be loaded. The list below has the same; reload to try again.";
    }
  }

  add({ nodes, edges, most }, around) {
    const before = this.nodes.size;
    const middle = this.nodes.get(around) ?? { x: 0, y: 0 };
    for (const one of nodes) {
      if (this.nodes.has(one.id) || this.nodes.size >= most) continue;
      const turn = this.nodes.size * 2.4;
      const far = 30 + 9 * Math.sqrt(this.nodes.size + 1);
      this.nodes.set(one.id, { ...one, x: middle.x + far * Math.cos(turn), y: middle.y + far * Math.sin(turn), vx: 0, vy: 0 });
      this.draw(this.nodes.get(one.id));
    }
    for (const one of edges) {
      const name = `${one.source}\n${one.target}\n${one.label}`;
      if (this.edges.has(name) || !this.nodes.has(one.source) || !this.nodes.has(one.target)) continue;
      const edge = { from: this.nodes.get(one.source), to: this.nodes.get(one.target) };
      edge.line = this.make("line", { class: "edge" }, this.lines);
      edge.text = this.make("text", { class: "edge-label" }, this.labels);
      edge.text.textContent = one.label;
      this.edges.set(name, edge);
    }
    const added = this.nodes.size - before;
    if (around) this.note.textContent = added ? `${added} more around ${middle.name}` : `Nothing more is known around ${middle.name}`;
    else this.note.textContent = `${this.nodes.size} names, ${this.edges.size} relations`;
    this.warm(around ? 0.5 : 1);
  }

  draw(node) {
    const kinds = ["self", "person", "location", "place", "organization"];
    const group = this.make("g", { class: `node ${kinds.includes(node.type) ? node.type : "other"}`, tabindex: 0, role: "button" }, this.marks);
    group.setAttribute("aria-label", `${node.name}, ${node.type === "self" ? "this person" : node.type}, ${node.degree} relations`);
    node.radius = 7 + Math.min(9, 2 * Math.sqrt(node.degree + node.mentions / 2));
    this.make("circle", { r: node.radius }, group);
    const text = this.make("text", { y: node.radius + 14 }, group);
    text.textContent = node.name.length > 24 ? `${node.name.slice(0, 23)}…` : node.name;
    node.group = group;
    group.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        this.choose(node);
      }
    });
    group.addEventListener("pointerdown", (event) => this.grab(event, node));
  }

  choose(node) {
    for (const one of this.nodes.values()) one.group.classList.toggle("chosen", one === node);
    this.load(node.id);
  }

  // --- layout ---

  warm(heat) {
    const resting = this.heat <= 0.02;
    this.heat = Math.max(this.heat, heat);
    if (calm) {
      while (this.heat > 0.02) this.step();
      this.fit();
      this.place();
    } else if (resting) requestAnimationFrame(() => this.tick());
  }

  tick() {
    for (let round = 0; round < 3; round++) this.step();
    if (!this.moved) this.fit();
    this.place();
    if (this.heat > 0.02) requestAnimationFrame(() => this.tick());
  }

  step() {
    const all = [...this.nodes.values()];
    for (let i = 0; i < all.length; i++) {
      for (let j = i + 1; j < all.length; j++) {
        const [a, b] = [all[i], all[j]];
        const dx = b.x - a.x || 0.1;
        const dy = b.y - a.y || 0.1;
        const square = Math.max(dx * dx + dy * dy, 60);
        const push = (5200 * this.heat) / square / Math.sqrt(square);
        a.vx -= dx * push;
        a.vy -= dy * push;
        b.vx += dx * push;
        b.vy += dy * push;
      }
    }
    for (const { from, to } of this.edges.values()) {
      if (all.length < 60) this.clearLabel(all, from, to);
      const dx = to.x - from.x;
      const dy = to.y - from.y;
      const far = Math.hypot(dx, dy) || 1;
      const pull = (0.06 * this.heat * (far - 110)) / far;
      from.vx += dx * pull;
      from.vy += dy * pull;
      to.vx -= dx * pull;
      to.vy -= dy * pull;
    }
    for (const node of all) {
      node.vx -= node.x * 0.012 * this.heat;
      node.vy -= node.y * 0.02 * this.heat;
      if (node !== this.held) {
        node.x += Math.max(-30, Math.min(30, node.vx));
        node.y += Math.max(-30, Math.min(30, node.vy));
      }
      node.vx *= 0.72;
      node.vy *= 0.72;
    }
    this.heat *= 0.985;
  }

  // Names near the middle of an edge would hide what it says.
  clearLabel(all, from, to) {
    for (const node of all) {
      if (node === from || node === to) continue;
      const dx = node.x - (from.x + to.x) / 2 || 0.1;
      const dy = node.y - (from.y + to.y) / 2 || 0.1;
      const square = Math.max(dx * dx + dy * dy, 60);
      const push = (2600 * this.heat) / square / Math.sqrt(square);
      node.vx += dx * push;
      node.vy += dy * push;
    }
  }

  place() {
    for (const { group, x, y } of this.nodes.values()) group.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    for (const { from, to, line, text } of this.edges.values()) {
      for (const [key, value] of [["x1", from.x], ["y1", from.y], ["x2", to.x], ["y2", to.y]]) line.setAttribute(key, value.toFixed(1));
      text.setAttribute("x", ((from.x + to.x) / 2).toFixed(1));
      text.setAttribute("y", ((from.y + to.y) / 2 - 3).toFixed(1));
    }
    const { x, y, scale } = this.view;
    this.world.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    this.labels.setAttribute("visibility", this.edges.size < 40 || scale > 1.4 ? "visible" : "hidden");
  }

  // Show all of it, as long as nobody has moved it.
  fit() {
    const all = [...this.nodes.values()];
    if (!all.length) return;
    const { width, height } = this.svg.getBoundingClientRect();
    const xs = all.map((node) => node.x);
    const ys = all.map((node) => node.y);
    const [left, right, top, bottom] = [Math.min(...xs) - 70, Math.max(...xs) + 70, Math.min(...ys) - 40, Math.max(...ys) + 50];
    const scale = Math.min(1.4, width / (right - left), height / (bottom - top));
    this.view = { scale, x: width / 2 - (scale * (left + right)) / 2, y: height / 2 - (scale * (top + bottom)) / 2 };
  }

  // --- moving it ---

  listen() {
    this.svg.addEventListener("pointerdown", (event) => this.grab(event, null));
    this.svg.addEventListener("pointermove", (event) => this.drag(event));
    for (const name of ["pointerup", "pointercancel"]) this.svg.addEventListener(name, (event) => this.drop(event));
    this.svg.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.zoom(event.deltaY < 0 ? 1.12 : 1 / 1.12, event.offsetX, event.offsetY);
      },
      { passive: false },
    );
    this.svg.addEventListener("keydown", (event) => {
      const { width, height } = this.svg.getBoundingClientRect();
      if (event.key === "+" || event.key === "=") this.zoom(1.2, width / 2, height / 2);
      if (event.key === "-") this.zoom(1 / 1.2, width / 2, height / 2);
    });
    this.marks.addEventListener("focusin", (event) => this.show(event.target));
  }

  // Bring what the keyboard has reached into sight.
  show(group) {
    const node = [...this.nodes.values()].find((one) => one.group === group);
    if (!node) return;
    const { width, height } = this.svg.getBoundingClientRect();
    const x = node.x * this.view.scale + this.view.x;
    const y = node.y * this.view.scale + this.view.y;
    if (x > 0 && y > 0 && x < width && y < height) return;
    this.moved = true;
    this.view.x += width / 2 - x;
    this.view.y += height / 2 - y;
    this.place();
  }

  grab(event, node) {
    if (this.from) return;
    this.from = { x: event.clientX, y: event.clientY, moved: false };
    this.held = node;
    this.svg.setPointerCapture(event.pointerId);
    this.svg.classList.add("dragging");
  }

  drag(event) {
    if (!this.from) return;
    const [dx, dy] = [event.clientX - this.from.x, event.clientY - this.from.y];
    if (!this.from.moved && Math.hypot(dx, dy) < 4) return;
    Object.assign(this.from, { x: event.clientX, y: event.clientY, moved: true });
    this.moved = true;
    if (this.held) {
      this.held.x += dx / this.view.scale;
      this.held.y += dy / this.view.scale;
      this.warm(0.15);
    } else {
      this.view.x += dx;
      this.view.y += dy;
    }
    this.place();
  }

  drop() {
    if (this.from && !this.from.moved && this.held) this.choose(this.held);
    this.from = this.held = null;
    this.svg.classList.remove("dragging");
  }

  zoom(by, x, y) {
    const scale = Math.max(0.15, Math.min(4, this.view.scale * by));
    const really = scale / this.view.scale;
    this.moved = true;
    this.view = { scale, x: x - (x - this.view.x) * really, y: y - (y - this.view.y) * really };
    this.place();
  }
}

if (box) new Graph(box).load();

// The slider writes its day into the field beside it, and shows that day when it is let go.
const slide = document.querySelector("#slide");
if (slide) {
  const day = document.querySelector("#day");
  const first = new Date(`${slide.dataset.first}T00:00:00Z`);
  slide.addEventListener("input", () => {
    day.value = new Date(first.getTime() + slide.value * 86400000).toISOString().slice(0, 10);
  });
  slide.addEventListener("change", () => slide.form.requestSubmit());
}
