/* What every part of the page uses: elements, numbers as text, colours, the data with its texts. */
"use strict";
const situs = {};

/* Elements. Text goes in by textContent alone: nothing of the program is ever read as HTML. */
situs.el = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (name === "style") for (const [property, to] of Object.entries(value)) made.style.setProperty(property, to);
    else made.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) made.append(child instanceof Node ? child : String(child));
  }
  return made;
};
situs.svg = (tag, attributes = {}, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  for (const child of children) made.append(child instanceof Node ? child : String(child));
  return made;
};

/* Text with its middle left out where it is very long. */
situs.short = (text, most = 160) => (text.length > most ? `${text.slice(0, most - 41)} … ${text.slice(-38)}` : text);

/* A name that may break after its slashes; of a very long one, the rest is in its title. */
situs.name = (text) => {
  const whole = String(text), shown = situs.short(whole);
  const parts = shown.split(/(?<=\/)/).flatMap((part, at) => (at ? [situs.el("wbr"), part] : [part]));
  return shown === whole ? parts : [situs.el("span", { title: whole }, parts)];
};

/* Figures. */
situs.time = (ns) => {
  const size = Math.abs(ns);
  if (size >= 1e9) return `${(ns / 1e9).toFixed(size >= 1e10 ? 1 : 2)} s`;
  if (size >= 1e6) return `${(ns / 1e6).toFixed(size >= 1e8 ? 0 : size >= 1e7 ? 1 : 2)} ms`;
  if (size >= 1e3) return `${(ns / 1e3).toFixed(size >= 1e5 ? 0 : 1)} µs`;
  return `${Math.round(ns)} ns`;
};
situs.bytes = (size) => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let number = size, unit = 0;
  while (Math.abs(number) >= 1024 && unit < units.length - 1) { number /= 1024; unit += 1; }
  return `${unit === 0 || Math.abs(number) >= 100 ? Math.round(number) : number.toFixed(1)} ${units[unit]}`;
};
situs.count = (number) => number.toLocaleString("en");
situs.percent = (part) => `${(100 * part).toFixed(part < 0.1 && part > 0 ? 1 : 0)} %`;
situs.shortLine = (line) => line.slice(Math.max(line.lastIndexOf("/"), line.lastIndexOf("\\")) + 1);
situs.plural = (number, word) => `${situs.count(number)} ${word}${number === 1 ? "" : "s"}`;

/* Colours: one for each device, told apart in light and dark and by most who do not see all colours. */
const HUES = {
  light: ["#64748b", "#2563eb", "#0d9488", "#c2410c", "#7c3aed", "#be185d", "#4d7c0f", "#0369a1", "#a16207"],
  dark: ["#94a3b8", "#60a5fa", "#2dd4bf", "#fb923c", "#a78bfa", "#f472b6", "#a3e635", "#38bdf8", "#facc15"],
};
situs.isDark = () => matchMedia("(prefers-color-scheme: dark)").matches && !matchMedia("print").matches;
situs.colour = (report, device) => {
  const hues = HUES[situs.isDark() ? "dark" : "light"];
  if (device < 0) return situs.css("--muted");
  const isHost = report.devices[device].type === "CPU";
  return isHost ? hues[0] : hues[1 + (report.gpuNumber[device] % (hues.length - 1))];
};
situs.css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/* The data. */
situs.Report = class {
  constructor(data) {
    Object.assign(this, data);
    this.text = (place) => this.strings[place];
    this.gpuNumber = [];
    let gpus = 0;
    for (const device of this.devices) this.gpuNumber.push(device.type === "CPU" ? 0 : gpus++);
    this.size = this.events.start.length;
    this.isCritical = new Uint8Array(this.size);
    for (const event of this.critical) this.isCritical[event] = 1;
    this.end = Math.max(this.program.duration, 1);
  }
  device(place) { return place < 0 ? "host" : this.devices[place].name; }
  kind(event) { return this.kinds[this.events.kind[event]]; }
  label(event) {
    const name = this.text(this.events.name[event]), op = this.text(this.events.op[event]);
    return this.kind(event) === "copy" ? `copy ${name}` : name === op || this.kind(event) === "run" ? name : `${name} (${op})`;
  }
  /* Which events an event waited for, and who waited for it; made when it is first asked for. */
  links() {
    if (!this._links) {
      const from = new Map(), to = new Map();
      const put = (map, key, value) => { const list = map.get(key); if (list) list.push(value); else map.set(key, [value]); };
      this.waits.event.forEach((event, at) => { put(from, event, this.waits.for[at]); put(to, this.waits.for[at], event); });
      this._links = { from, to };
    }
    return this._links;
  }
};

situs.load = async (element) => {
  const text = element.textContent;
  if (element.type === "application/json") return new situs.Report(JSON.parse(text));
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser cannot unpack the report: it needs one of 2023 or later. The data are also in report.json.");
  }
  const packed = Uint8Array.from(atob(text.trim()), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new situs.Report(JSON.parse(await new Response(stream).text()));
};

/* The small window that follows the pointer. */
situs.tip = (x, y, lines) => {
  const tip = document.getElementById("tip");
  if (!lines) { tip.hidden = true; return; }
  tip.replaceChildren(...lines.map((line, at) => situs.el("div", { class: at === 0 ? "first" : "" }, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - box.width - 8))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(8, y - box.height - 12) : y + 18}px`;
};

/* The panel with all that is known of one thing. */
situs.details = (title, subtitle, rows, colour) => {
  const panel = document.getElementById("details");
  const close = () => { panel.hidden = true; document.body.classList.remove("with-details"); situs.returnFocus?.focus({ preventScroll: true }); };
  if (panel.hidden) situs.returnFocus = document.activeElement;
  panel.replaceChildren(
    situs.el("div", { class: "details-head" },
      situs.el("span", { class: "chip", style: { background: colour ?? "var(--muted)" } }),
      situs.el("div", { class: "grow" }, situs.el("h2", {}, title), situs.el("div", { class: "muted" }, subtitle)),
      situs.el("button", { type: "button", class: "icon", "aria-label": "Close details", onclick: close }, "×")),
    situs.el("dl", {}, rows.filter((row) => row && row[1] !== "" && row[1] !== null && row[1] !== undefined).flatMap(([name, value]) => [
      situs.el("dt", {}, name), situs.el("dd", {}, value)])));
  panel.hidden = false;
  panel.onkeydown = (event) => { if (event.key === "Escape") close(); };
  document.body.classList.add("with-details");
};

situs.lineOf = (report, line) => {
  if (!line) return null;
  const source = report.sources[line];
  return situs.el("div", { class: "source" }, situs.el("div", { title: line }, situs.shortLine(line)), source ? situs.el("code", {}, source) : null);
};

situs.showEvent = (report, event) => {
  const events = report.events, links = report.links();
  const others = (list) => list && situs.el("ul", { class: "plain" }, list.slice(0, 8).map((other) =>
    situs.el("li", {}, situs.el("button", { type: "button", class: "link", onclick: () => { report.timeline?.select(other); situs.showEvent(report, other); } },
      report.label(other)), ` ${situs.time(events.duration[other])} on ${report.device(events.device[other])}`)));
  const source = events.source[event];
  situs.details(report.label(event), `${report.kind(event)}${report.isCritical[event] ? ", on the critical path" : ""}`, [
    ["device", source >= 0 ? `${report.device(source)} → ${report.device(events.device[event])}` : report.device(events.device[event])],
    ["why there", report.text(events.why[event])],
    ["result", report.text(events.result[event])],
    ["time", `${situs.time(events.duration[event])}, from ${situs.time(events.start[event])}`],
    ["bytes", events.bytes[event] ? `${situs.bytes(events.bytes[event])} (${situs.count(events.bytes[event])})` : ""],
    ["line", situs.lineOf(report, report.text(events.line[event]))],
    ["row", report.lanes[events.lane[event]].name],
    ["waited for", others(links.from.get(event))],
    ["waiting for it", others(links.to.get(event))],
    ["in the graph", events.node[event] >= 0 && report.graphView ? situs.el("button", { type: "button", class: "link",
      onclick: () => report.graphView.show(events.graph[event], events.node[event]) }, "show the operation") : null],
  ], situs.colour(report, events.device[event]));
};

/* A card of the page. */
situs.section = (id, title, note, ...children) => situs.el("section", { class: "card", id, "aria-labelledby": `${id}-title` },
  situs.el("div", { class: "head" }, situs.el("h2", { id: `${id}-title` }, title), note ? situs.el("p", { class: "muted" }, note) : null), children);
