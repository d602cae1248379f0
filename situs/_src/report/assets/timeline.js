/* The timeline: rows of bars on a canvas. Wheel zooms, dragging pans, keys do both; only what is seen is drawn.

   The model is apart from the canvas: `view` = [from, to] in nanoseconds; rows hold the events of a lane by start. */
"use strict";
situs.Timeline = class {
  constructor(report, options = {}) {
    this.report = report;
    this.end = options.end ?? report.end;
    const first = report.events.start.reduce((least, each) => Math.min(least, each), this.end);
    this.begin = options.end || first >= this.end ? 0 : Math.max(0, first - (this.end - first) * 0.02);
    this.view = [this.begin, this.end];
    this.rowHeight = 24;
    this.head = 26;
    this.marks = { critical: true, idle: true };
    this.selected = -1;
    this.hits = [];
    this.hit = -1;
    this.rows = report.lanes.map((lane) => ({ name: lane.name, device: lane.device, events: [], idle: [] }));
    for (let event = 0; event < report.size; event += 1) this.rows[report.events.lane[event]].events.push(event);
    report.idle.forEach((idle, number) => {
      this.rows[report.events.lane[idle.next]].idle.push(number);  /* the row of what ended the wait */
    });
    this.element = this.build(options);
  }

  build(options) {
    const el = situs.el;
    this.canvas = el("canvas", { tabindex: "0", role: "application", "aria-roledescription": "timeline",
      "aria-label": `Timeline${options.name ? ` ${options.name},` : ""} of ${situs.plural(this.report.size, "event")} in ${situs.plural(this.rows.length, "row")}. Arrow keys move, plus and minus zoom, N and P go through what was found, Enter shows the event, Home shows all. The table of ops below has the same in rows.` });
    this.labels = el("div", { class: "lanes", "aria-hidden": "true" }, el("div", { class: "lane-head" }), this.rows.map((row) =>
      el("div", { class: "lane", title: row.name }, row.name && el("span", { class: "chip", style: { background: situs.colour(this.report, row.device) } }), el("span", {}, row.name))));
    this.status = el("span", { class: "muted", role: "status" });
    this.search = el("input", { type: "search", id: options.searchId, placeholder: "Search by op name …", "aria-label": "Search the timeline by op name",
      oninput: () => this.find(this.search.value), onkeydown: (event) => { if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1); } });
    const button = (text, label, act) => el("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    const toggle = (name, text) => el("label", { class: "toggle" }, el("input", { type: "checkbox", checked: true,
      onchange: (event) => { this.marks[name] = event.target.checked; this.draw(); } }), el("span", { class: `swatch ${name}` }), text);
    this.tools = el("div", { class: "tools no-print" }, this.search, button("‹", "Previous match", () => this.next(-1)), button("›", "Next match", () => this.next(1)), this.status,
      el("span", { class: "grow" }), toggle("critical", "critical path"), toggle("idle", "idle"),
      button("−", "Zoom out", () => this.zoom(2)), button("+", "Zoom in", () => this.zoom(0.5)), button("Fit", "Show all", () => this.show(this.begin, this.end)));
    this.live = el("div", { class: "hidden", "aria-live": "polite" });
    const body = el("div", { class: "timeline-body" }, this.labels, el("div", { class: "timeline-canvas" }, this.canvas));
    this.overview = el("canvas", { class: "overview", "aria-hidden": "true" });
    this.listen();
    return el("div", { class: "timeline" }, options.bare ? null : this.tools, body, options.bare ? null : this.overview, this.live);
  }

  listen() {
    const canvas = this.canvas;
    canvas.addEventListener("wheel", (event) => {
      const scrolling = event.timeStamp - (situs.scrolled ?? -Infinity) < 350;  /* a turn of the wheel that began elsewhere on the page goes on scrolling it */
      if (scrolling && !event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan((event.deltaX || event.deltaY) / this.width);
      else if (event.ctrlKey || event.metaKey || document.activeElement === canvas || this.isZoomed() || event.deltaY < 0) this.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 120), this.at(event.offsetX));
      else return;
      event.preventDefault();
    }, { passive: false });
    const pointers = new Map();
    canvas.addEventListener("pointerdown", (event) => { pointers.set(event.pointerId, event); canvas.setPointerCapture(event.pointerId); this.moved = 0; });
    canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) { this.hover(event); return; }
      const others = [...pointers.values()].filter((each) => each.pointerId !== event.pointerId);
      if (others.length) {
        const other = others[0];
        const was = Math.abs(before.offsetX - other.offsetX), is = Math.abs(event.offsetX - other.offsetX);
        if (was > 8 && is > 8) this.zoom(was / is, this.at((event.offsetX + other.offsetX) / 2));
      } else this.pan((before.offsetX - event.offsetX) / this.width);
      this.moved += Math.abs(before.offsetX - event.offsetX);
      pointers.set(event.pointerId, event);
      situs.tip();
    });
    canvas.addEventListener("pointerup", (event) => { pointers.delete(event.pointerId); if (this.moved < 4) this.click(event); });
    canvas.addEventListener("pointercancel", (event) => pointers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => situs.tip());
    canvas.addEventListener("keydown", (event) => {
      const act = {
        ArrowLeft: () => this.pan(-0.15), ArrowRight: () => this.pan(0.15),
        ArrowUp: () => this.step(-1), ArrowDown: () => this.step(1),
        "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), Home: () => this.show(this.begin, this.end), 0: () => this.show(0, this.end),
        n: () => this.next(1), p: () => this.next(-1),
        Enter: () => this.selected >= 0 && situs.showEvent(this.report, this.selected),
        "/": () => this.search.focus(),
      }[event.key];
      if (act && !event.ctrlKey && !event.metaKey && !event.altKey) { act(); event.preventDefault(); }
    });
    this.watcher = new ResizeObserver(() => this.resize());
    this.watcher.observe(canvas.parentElement ?? canvas);
    queueMicrotask(() => { if (canvas.parentElement) this.watcher.observe(canvas.parentElement); });
  }

  /* The view. */
  isZoomed() { return this.view[1] - this.view[0] < (this.end - this.begin) * 0.999; }
  at(x) { return this.view[0] + (x / this.width) * (this.view[1] - this.view[0]); }
  x(time) { return ((time - this.view[0]) / (this.view[1] - this.view[0])) * this.width; }
  show(from, to, quiet) {
    const least = Math.max(50, this.end / 1e7);
    let span = Math.max(least, Math.min(to - from, this.end));
    from = Math.max(0, Math.min(from, this.end - span));
    this.view = [from, from + span];
    this.draw();
    if (!quiet) this.onView?.(this.view);
  }
  zoom(by, around) {
    const [from, to] = this.view;
    const middle = around ?? (this.selected >= 0 && this.inView(this.selected) ? this.report.events.start[this.selected] + this.report.events.duration[this.selected] / 2 : (from + to) / 2);
    this.show(middle - (middle - from) * by, middle + (to - middle) * by);
  }
  pan(part) { const span = this.view[1] - this.view[0]; this.show(this.view[0] + part * span, this.view[1] + part * span); }
  inView(event) { const { start, duration } = this.report.events; return start[event] + duration[event] > this.view[0] && start[event] < this.view[1]; }

  /* Selecting and searching. */
  select(event, reveal = true) {
    this.selected = event;
    if (reveal && event >= 0) {
      const { start, duration } = this.report.events;
      const span = this.view[1] - this.view[0], long = duration[event];
      if (long > span || long < span / 400) { const wide = Math.max(long * 40, this.end / 5000); this.show(start[event] + long / 2 - wide / 2, start[event] + long / 2 + wide / 2); }
      else if (start[event] < this.view[0] || start[event] + long > this.view[1]) this.show(start[event] + long / 2 - span / 2, start[event] + long / 2 + span / 2);
    }
    if (event >= 0) this.live.textContent = `${this.report.label(event)}, ${situs.time(this.report.events.duration[event])} on ${this.report.device(this.report.events.device[event])}`;
    this.draw();
  }
  step(by) {
    const row = this.selected >= 0 ? this.rows[this.report.events.lane[this.selected]] : this.rows.find((each) => each.events.length);
    if (!row) return;
    const at = row.events.indexOf(this.selected);
    this.select(row.events[Math.max(0, Math.min(row.events.length - 1, at + by))]);
  }
  find(words) {
    const wanted = words.trim().toLowerCase();
    const { name, op } = this.report.events;
    const matches = new Map();
    const fits = (place) => { if (!matches.has(place)) matches.set(place, this.report.text(place).toLowerCase().includes(wanted)); return matches.get(place); };
    this.hits = [];
    if (wanted) for (let event = 0; event < this.report.size; event += 1) if (fits(name[event]) || fits(op[event])) this.hits.push(event);
    this.isHit = new Uint8Array(this.report.size);
    for (const event of this.hits) this.isHit[event] = 1;
    this.hit = -1;
    this.status.textContent = wanted ? situs.plural(this.hits.length, "event").replace("event", "match").replace("matchs", "matches") : "";
    this.draw();
  }
  next(by) {
    if (!this.hits.length) return;
    this.hit = (this.hit + by + this.hits.length) % this.hits.length;
    this.status.textContent = `${situs.count(this.hit + 1)} of ${situs.count(this.hits.length)}`;
    this.select(this.hits[this.hit]);
  }
  rowAt(y) { return this.rows[Math.floor((y - this.head) / this.rowHeight)]; }
  under(x, y) {
    const row = this.rowAt(y);
    if (!row) return null;
    const { start, duration } = this.report.events;
    const time = this.at(x), slack = ((this.view[1] - this.view[0]) / this.width) * 2;
    let low = 0, high = row.events.length;
    while (low < high) { const middle = (low + high) >> 1; if (start[row.events[middle]] <= time + slack) low = middle + 1; else high = middle; }
    for (let at = low - 1; at >= Math.max(0, low - 3); at -= 1) {
      const event = row.events[at];
      if (start[event] + duration[event] >= time - slack) return { event };
    }
    const idle = row.idle.find((number) => { const gap = this.report.idle[number]; return gap.start <= time && time <= gap.start + gap.duration; });
    return idle === undefined ? null : { idle };
  }
  hover(pointer) {
    const found = this.under(pointer.offsetX, pointer.offsetY);
    this.canvas.style.cursor = found ? "pointer" : "grab";
    if (!found) { situs.tip(); return; }
    const report = this.report, events = report.events;
    if (found.event !== undefined) {
      const event = found.event;
      situs.tip(pointer.clientX, pointer.clientY, [report.label(event), `${situs.time(events.duration[event])} on ${report.device(events.device[event])}${report.isCritical[event] ? " · critical" : ""}`,
        [report.text(events.result[event]), events.bytes[event] ? situs.bytes(events.bytes[event]) : ""].filter(Boolean).join(" · "), situs.shortLine(report.text(events.line[event]))].filter(Boolean));
    } else {
      const gap = report.idle[found.idle];
      situs.tip(pointer.clientX, pointer.clientY, [`${report.device(gap.device)} idle for ${situs.time(gap.duration)}`, gap.text]);
    }
  }
  click(pointer) {
    const found = this.under(pointer.offsetX, pointer.offsetY);
    this.canvas.focus({ preventScroll: true });
    if (!found) return;
    if (found.event !== undefined) { this.select(found.event, false); situs.showEvent(this.report, found.event); }
    else situs.showIdle(this.report, found.idle);
  }

  /* Drawing. */
  resize() {
    const box = this.canvas.parentElement;
    if (!box) return;
    const width = box.clientWidth, height = this.head + this.rows.length * this.rowHeight + 4, ratio = devicePixelRatio || 1;
    if (!width) return;
    this.width = width;
    for (const [canvas, tall] of [[this.canvas, height], [this.overview, 34]]) {
      const wide = canvas === this.overview ? canvas.clientWidth || width : width;
      canvas.width = wide * ratio;
      canvas.height = tall * ratio;
      canvas.style.height = `${tall}px`;
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.draw();
  }
  draw() {
    if (this.pending || !this.width) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.paint(); this.paintOverview(); });
  }
  paint() {
    const { start, duration, device } = this.report.events, pen = this.canvas.getContext("2d");
    const ink = situs.css("--ink"), muted = situs.css("--muted"), rule = situs.css("--rule"), critical = situs.css("--critical"), paper = situs.css("--card");
    pen.clearRect(0, 0, this.width, this.canvas.height);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    this.axis(pen, muted, rule);
    const colours = this.report.devices.map((_, number) => situs.colour(this.report, number)), host = situs.css("--host");
    const searching = this.hits.length > 0 || (this.search?.value ?? "").trim() !== "";
    this.rows.forEach((row, number) => {
      const top = this.head + number * this.rowHeight, tall = this.rowHeight - 6;
      pen.fillStyle = rule;
      pen.fillRect(0, top + this.rowHeight - 1, this.width, 1);
      if (this.marks.idle) this.paintIdle(pen, row, top, tall, muted);
      let low = 0, high = row.events.length;
      while (low < high) { const middle = (low + high) >> 1, event = row.events[middle]; if (start[event] + duration[event] < this.view[0]) low = middle + 1; else high = middle; }
      let filledTo = -1, filledAs = "";
      for (let at = low; at < row.events.length; at += 1) {
        const event = row.events[at];
        if (start[event] > this.view[1]) break;
        const left = this.x(start[event]), right = Math.max(this.x(start[event] + duration[event]), left + 1);
        const isHit = searching && this.isHit?.[event], faint = searching && !isHit;
        const isOnPath = this.marks.critical && this.report.isCritical[event];
        const state = `${faint}${isOnPath}`;
        if (right <= filledTo && state === filledAs && event !== this.selected) continue;
        const from = Math.max(left, -2), wide = Math.max(1, Math.min(right, this.width + 2) - from - (right - left > 3 ? 0.6 : 0));
        pen.globalAlpha = faint ? 0.16 : 1;
        pen.fillStyle = device[event] < 0 ? host : colours[device[event]];
        if (wide > 4) { pen.beginPath(); pen.roundRect(from, top + 3, wide, tall, 3); pen.fill(); } else pen.fillRect(from, top + 3, wide, tall);
        if (isOnPath) { pen.fillStyle = critical; pen.fillRect(from, top + 3 + tall - 3, wide, 3); }
        if (wide > 34 && !faint) {
          pen.fillStyle = device[event] < 0 ? ink : paper;
          pen.fillText(this.fitted(pen, this.report.text(this.report.events.name[event]), wide - 10), Math.max(from, 0) + 5, top + 3 + tall / 2);
        }
        pen.globalAlpha = 1;
        if (event === this.selected) { pen.strokeStyle = ink; pen.lineWidth = 2; pen.strokeRect(from - 1, top + 2, Math.max(wide, 3) + 2, tall + 2); }
        filledTo = Math.floor(right);
        filledAs = state;
      }
    });
    if (this.selected >= 0) this.arrows(pen, ink);
  }
  paintIdle(pen, row, top, tall, muted) {
    pen.strokeStyle = muted;
    pen.globalAlpha = 0.35;
    pen.lineWidth = 1;
    for (const number of row.idle) {
      const gap = this.report.idle[number];
      if (gap.start + gap.duration < this.view[0] || gap.start > this.view[1]) continue;
      const left = Math.max(0, this.x(gap.start)), right = Math.min(this.width, this.x(gap.start + gap.duration));
      if (right - left < 3) continue;
      pen.save();
      pen.beginPath();
      pen.rect(left, top + 8, right - left, tall - 10);
      pen.clip();
      pen.beginPath();
      for (let x = left - tall - (left % 6); x < right; x += 6) { pen.moveTo(x, top + 3 + tall); pen.lineTo(x + tall, top + 3); }
      pen.stroke();
      pen.restore();
    }
    pen.globalAlpha = 1;
  }
  arrows(pen, ink) {
    const { start, duration, lane } = this.report.events, links = this.report.links();
    const middle = (event) => this.head + lane[event] * this.rowHeight + this.rowHeight / 2;
    pen.strokeStyle = ink;
    pen.globalAlpha = 0.55;
    pen.lineWidth = 1.2;
    const line = (first, then) => {
      const x = this.x(start[first] + duration[first]), to = this.x(start[then]), bend = Math.max(12, Math.abs(to - x) / 3);
      pen.beginPath();
      pen.moveTo(x, middle(first));
      pen.bezierCurveTo(x + bend, middle(first), to - bend, middle(then), to, middle(then));
      pen.stroke();
    };
    for (const first of (links.from.get(this.selected) ?? []).slice(0, 40)) line(first, this.selected);
    for (const then of (links.to.get(this.selected) ?? []).slice(0, 40)) line(this.selected, then);
    pen.globalAlpha = 1;
  }
  axis(pen, muted, rule) {
    const span = this.view[1] - this.view[0], rough = span / Math.max(3, this.width / 120), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
    for (let time = Math.ceil(this.view[0] / step) * step; time <= this.view[1]; time += step) {
      const x = this.x(time);
      pen.fillStyle = rule;
      pen.fillRect(x, this.head - 6, 1, this.rows.length * this.rowHeight + 6);
      pen.fillStyle = muted;
      const text = situs.time(time);
      if (x + 40 < this.width) pen.fillText(text, x + 4, this.head / 2);
    }
  }
  fitted(pen, text, wide) {
    if (text.length > 80) text = text.slice(0, 80);
    if (pen.measureText(text).width <= wide) return text;
    const last = text.slice(text.lastIndexOf("/") + 1);
    if (pen.measureText(last).width <= wide) return last;
    const fits = Math.floor(wide / 6.2);
    return fits > 2 ? `${last.slice(0, fits - 1)}…` : "";
  }
  paintOverview() {
    const pen = this.overview.getContext("2d"), wide = this.overview.clientWidth;
    if (!wide) return;
    const { start, duration, device, kind } = this.report.events, tall = 34;
    if (!this.busy || this.busy.length !== wide) {
      this.busy = new Float64Array(wide);
      const cell = this.end / wide;
      for (let event = 0; event < this.report.size; event += 1) {
        if (device[event] < 0) continue;
        const from = start[event], to = from + duration[event];
        for (let at = Math.max(0, Math.floor(from / cell)); at <= Math.min(wide - 1, Math.floor(to / cell)); at += 1) this.busy[at] += Math.max(0, Math.min(to, (at + 1) * cell) - Math.max(from, at * cell)) / cell;
      }
      this.mostBusy = this.busy.reduce((most, each) => Math.max(most, each), 1);
    }
    pen.clearRect(0, 0, wide, tall);
    pen.fillStyle = situs.css("--muted");
    pen.globalAlpha = 0.45;
    this.busy.forEach((each, at) => { const high = (each / this.mostBusy) * (tall - 6); pen.fillRect(at, tall - high, 1, high); });
    pen.globalAlpha = 1;
    const left = (this.view[0] / this.end) * wide, right = (this.view[1] / this.end) * wide;
    pen.fillStyle = situs.css("--accent");
    pen.globalAlpha = 0.14;
    pen.fillRect(left, 0, Math.max(2, right - left), tall);
    pen.globalAlpha = 1;
    pen.fillRect(left, 0, 2, tall);
    pen.fillRect(Math.max(left, right - 2), 0, 2, tall);
  }
};

situs.showIdle = (report, number) => {
  const gap = report.idle[number];
  const go = (event, text) => situs.el("button", { type: "button", class: "link", onclick: () => { report.timeline?.select(event); situs.showEvent(report, event); } }, text);
  situs.details(`${report.device(gap.device)} was idle`, situs.time(gap.duration), [
    ["why", gap.text],
    ["because of", gap.cause >= 0 ? go(gap.cause, report.label(gap.cause)) : null],
    ["until", go(gap.next, report.label(gap.next))],
    ["from", situs.time(gap.start)],
    ["line", situs.lineOf(report, report.text(report.events.line[gap.next]))],
  ], situs.colour(report, gap.device));
};

/* The longest waits, as a table: what the hatched parts of the canvas say. */
situs.idleTable = (report) => situs.table("idle-table", "Idle times and what devices waited for", [
  { title: "device", value: (row) => report.device(row.device), show: (row) => situs.deviceTag(report, row.device) },
  { title: "idle", number: true, value: (row) => row.duration, show: (row) => situs.time(row.duration) },
  { title: "from", number: true, value: (row) => row.start, show: (row) => situs.time(row.start) },
  { title: "waiting for", value: (row) => row.text, class: "wide" },
  { title: "then", value: (row) => report.label(row.next) },
], report.idle.map((row, number) => ({ ...row, number })), { sort: 1, step: 8, nothing: "No device waited long enough to be noticed.",
  open: (row) => { report.timeline?.show(row.start - row.duration * 0.5, row.start + row.duration * 1.5); situs.showIdle(report, row.number); } });
