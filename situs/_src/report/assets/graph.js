/* The graph, coloured by device. Operations are grouped by name scope (Keras' layers are scopes); groups open and close.

   Each open group is laid out by itself, by dagre, and is one box in the layout of the group around it; so no layout
   has more than MANY boxes, and opening a group lays out that group and those around it. A tensor that goes from one
   group to another is an edge between these groups, drawn once, in the innermost group that has both.

   A group of more than MANY things is divided further: names that differ by their number alone become one group, and
   what is still too much is cut into pieces of MANY. */
"use strict";
const MANY = 48;   // things in one group
const SEEN = 320;  // boxes on the screen
const LOOSE = 12;  // operations beside groups
const HEADER = 26; // of an open group, where its name stands

situs.scopes = (graph) => {
  const root = { name: "", label: "", groups: new Map(), nodes: [], parent: null, path: "" };
  graph.nodes.name.forEach((name, node) => {
    const parts = name.split("/");
    let at = root;
    for (let depth = 0; depth < parts.length - 1; depth += 1) {
      const part = parts[depth] || "(unnamed)";
      if (!at.groups.has(part)) at.groups.set(part, { name: part, label: part, groups: new Map(), nodes: [], parent: at, path: `${at.path}/${part}` });
      at = at.groups.get(part);
    }
    at.nodes.push(node);
  });
  const settle = (group) => {
    for (const [name, inner] of [...group.groups]) {
      settle(inner);
      if (inner.nodes.length + inner.groups.size === 1 && inner.groups.size === 1) {  /* a scope around one scope: one box */
        const only = [...inner.groups.values()][0];
        only.label = `${inner.label}/${only.label}`;
        only.parent = group;
        group.groups.set(name, only);
      } else if (inner.nodes.length === 1 && !inner.groups.size) { group.nodes.push(inner.nodes[0]); group.groups.delete(name); }
    }
    if (group.groups.size > 2 && group.nodes.length > LOOSE) {  /* what has no scope of its own, beside what has */
      const loose = group.nodes;
      group.nodes = [];
      const made = adopt(group, "(no scope)", loose, []);
      if (loose.length > MANY) divide(made, graph);
    }
    if (group.nodes.length + group.groups.size > MANY) divide(group, graph);
    group.count = group.nodes.length;
    for (const inner of group.groups.values()) group.count += inner.count;
  };
  const adopt = (parent, label, nodes, groups) => {
    let name = label;
    for (let number = 2; parent.groups.has(name); number += 1) name = `${label} ${number}`;
    const made = { name, label, groups: new Map(groups.map((each) => [each.name, each])), nodes, parent, path: `${parent.path}/${name}` };
    groups.forEach((each) => { each.parent = made; });
    made.count = nodes.length + groups.reduce((sum, each) => sum + each.count, 0);
    parent.groups.set(name, made);
    return made;
  };
  const divide = (group, graph) => {
    const base = (name) => name.slice(name.lastIndexOf("/") + 1).replace(/_\d+$/, "");
    const families = new Map();
    for (const node of group.nodes) { const key = base(graph.nodes.name[node]); if (!families.has(key)) families.set(key, []); families.get(key).push(node); }
    if (families.size > 1 && families.size < group.nodes.length / 2) {
      group.nodes = [];
      for (const [key, nodes] of families) {
        if (nodes.length === 1) group.nodes.push(nodes[0]);
        else { const made = adopt(group, `${key} × ${nodes.length}`, nodes, []); if (nodes.length > MANY) cut(made); }
      }
    }
    if (group.nodes.length + group.groups.size > MANY) cut(group);
  };
  const cut = (group) => {
    const things = [...[...group.groups.values()].map((each) => ({ group: each, at: first(each) })), ...group.nodes.map((node) => ({ node, at: node }))].sort((a, b) => a.at - b.at);
    const pieces = Math.min(MANY, Math.ceil(things.length / MANY)), size = Math.ceil(things.length / pieces);
    group.groups = new Map();
    group.nodes = [];
    for (let from = 0; from < things.length; from += size) {
      const piece = things.slice(from, from + size);
      const made = adopt(group, `${titled(piece[0])} … ${titled(piece[piece.length - 1])}`, piece.filter((each) => each.node !== undefined).map((each) => each.node), piece.filter((each) => each.group).map((each) => each.group));
      if (made.nodes.length + made.groups.size > MANY) cut(made);
    }
  };
  const titled = (thing) => (thing.group ? thing.group.label : graph.nodes.name[thing.node].slice(graph.nodes.name[thing.node].lastIndexOf("/") + 1));
  const first = (group) => Math.min(...[group.nodes[0] ?? Infinity], ...[...group.groups.values()].map(first));
  settle(root);
  return root;
};

situs.GraphView = class {
  constructor(report) {
    this.report = report;
    this.number = report.graphs.reduce((best, graph, at) => (graph.nodes.name.length > (report.graphs[best]?.nodes.name.length ?? -1) ? at : best), 0);
    this.trees = new Map();
    this.scale = 1;
    const el = situs.el;
    this.picture = situs.svg("svg", { role: "group", "aria-label": "Graph of operations. Tab goes from box to box, Enter opens a group or shows an operation." });
    this.layer = situs.svg("g");
    this.picture.append(situs.svg("defs", {}, this.arrow("arrow", "var(--edge)"), this.arrow("arrow-copy", "var(--critical)")), this.layer);
    this.status = el("span", { class: "muted", role: "status" });
    this.choose = el("select", { "aria-label": "Which graph", onchange: () => { this.number = Number(this.choose.value); this.draw(true); } },
      report.graphs.map((graph, at) => el("option", { value: at, selected: at === this.number }, `${graph.title} (${situs.count(graph.nodes.name.length)})`)));
    this.search = el("input", { type: "search", placeholder: "Find an operation …", "aria-label": "Find an operation of the graph",
      onkeydown: (event) => { if (event.key === "Enter") this.find(this.search.value); } });
    const button = (text, label, act) => el("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    this.legend = el("div", { class: "legend" });
    this.frame = el("div", { class: "graph-frame" }, this.picture);
    this.element = el("div", { class: "graph" },
      el("div", { class: "tools no-print" }, report.graphs.length > 1 ? this.choose : null, this.search, this.status, el("span", { class: "grow" }),
        button("Close all", "Close all groups", () => { this.closeAll(); this.draw(true); }), button("−", "Zoom out", () => this.zoom(1 / 1.3)), button("+", "Zoom in", () => this.zoom(1.3)), button("Fit", "Show all", () => this.fit())),
      this.frame, this.legend);
    this.listen();
    new ResizeObserver(() => { if (this.frame.clientWidth && !this.isDrawn) this.draw(true); }).observe(this.frame);
  }
  arrow(id, colour) {
    return situs.svg("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerUnits: "userSpaceOnUse", markerWidth: 9, markerHeight: 9, orient: "auto-start-reverse" }, situs.svg("path", { d: "M0 0.5 L8 4 L0 7.5 z", fill: colour }));
  }
  tree() {
    if (!this.trees.has(this.number)) {
      const root = situs.scopes(this.report.graphs[this.number]);
      const tree = { root, open: new Set(), place: new Map() };
      const walk = (group) => { for (const node of group.nodes) tree.place.set(node, group); for (const inner of group.groups.values()) walk(inner); };
      walk(root);
      let only = root;  /* a single group at the top is opened, again and again */
      while (only.groups.size === 1 && !only.nodes.length) { only = [...only.groups.values()][0]; tree.open.add(only); }
      if (root.count <= 24) { const all = (group) => { for (const inner of group.groups.values()) { tree.open.add(inner); all(inner); } }; all(root); }
      this.trees.set(this.number, tree);
    }
    return this.trees.get(this.number);
  }
  /* What goes between the children of each group, from the edges of the whole graph; made once. */
  flows() {
    const tree = this.tree();
    if (!tree.flows) {
      tree.flows = new Map();
      const { source, target, copied } = this.report.graphs[this.number].edges;
      const depth = (group) => { let count = 0; for (let at = group; at.parent; at = at.parent) count += 1; return count; };
      for (let at = 0; at < source.length; at += 1) {
        let left = tree.place.get(source[at]), right = tree.place.get(target[at]);
        let from = `n${source[at]}`, to = `n${target[at]}`;
        let deepLeft = depth(left), deepRight = depth(right);
        while (left !== right) {
          if (deepLeft >= deepRight) { from = left.path; left = left.parent; deepLeft -= 1; }
          else { to = right.path; right = right.parent; deepRight -= 1; }
        }
        if (from === to) continue;
        if (!tree.flows.has(left)) tree.flows.set(left, new Map());
        const flows = tree.flows.get(left), key = `${from}\n${to}`, known = flows.get(key);
        if (known) { known.count += 1; known.copied ||= copied[at]; } else flows.set(key, { from, to, count: 1, copied: copied[at] });
      }
    }
    return tree.flows;
  }
  /* The boxes of a group, with their places inside of it. */
  layout(group) {
    if (group.layout) return group.layout;
    const graph = this.report.graphs[this.number], { open } = this.tree();
    const short = (text) => (text.length > 30 ? `${text.slice(0, 29)}…` : text);
    const boxes = [...group.groups.values()].map((inner) => ({ key: inner.path, group: inner, isOpen: open.has(inner), title: short(inner.label), sub: situs.plural(inner.count, "op") }));
    for (const node of group.nodes) boxes.push({ key: `n${node}`, node, title: short(graph.nodes.name[node].slice(graph.nodes.name[node].lastIndexOf("/") + 1)), sub: this.report.text(graph.nodes.op[node]) });
    const net = new dagre.graphlib.Graph({ multigraph: false });
    net.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 34, edgesep: 8, marginx: group.parent ? 14 : 16, marginy: group.parent ? 14 : 16 });
    net.setDefaultEdgeLabel(() => ({}));
    for (const box of boxes) {
      const title = Math.max(96, Math.max(box.title.length, box.sub.length * 0.85) * 7.7 + (box.group ? 54 : 32));
      box.inner = box.isOpen ? this.layout(box.group) : null;
      net.setNode(box.key, box.inner ? { width: Math.max(box.inner.width, title), height: box.inner.height + HEADER } : { width: title, height: 42 });
    }
    const flows = [...(this.flows().get(group)?.values() ?? [])];
    for (const flow of flows) net.setEdge(flow.from, flow.to, { weight: Math.min(4, flow.count) });
    dagre.layout(net);
    const { width, height } = net.graph();
    for (const box of boxes) Object.assign(box, net.node(box.key));
    group.layout = { boxes, width: width > 0 ? width : 1, height: height > 0 ? height : 1, edges: flows.map((flow) => ({ ...flow, points: net.edge(flow.from, flow.to).points })) };
    return group.layout;
  }
  changed(group) { for (let at = group; at; at = at.parent) at.layout = null; }
  draw(refit) {
    if (!this.report.graphs.length || !this.frame.clientWidth) return;
    this.isDrawn = true;
    const graph = this.report.graphs[this.number], { root } = this.tree();
    this.boxes = new Map();
    const whole = this.layout(root);
    this.layer.replaceChildren(...this.inside(whole, 0, 0, graph));
    this.size = [whole.width, whole.height];
    this.status.textContent = `${situs.plural(graph.nodes.name.length, "operation")}, ${this.boxes.size === 1 ? "1 box" : `${situs.count(this.boxes.size)} boxes`} shown`;
    this.drawLegend(graph);
    if (refit) this.fit(); else this.place();
  }
  inside(layout, left, top, graph) {
    const made = [];
    for (const box of layout.boxes.filter((each) => each.inner)) {
      const x = left + box.x - box.width / 2, y = top + box.y - box.height / 2;
      made.push(this.cluster(box, x, y), ...this.inside(box.inner, x + (box.width - box.inner.width) / 2, y + HEADER, graph));
    }
    for (const edge of layout.edges) made.push(this.edge(edge, left, top));
    for (const box of layout.boxes.filter((each) => !each.inner)) {
      const at = { x: left + box.x, y: top + box.y, width: box.width, height: box.height };
      made.push(box.group ? this.closed(box, at) : this.operation(box, at, graph));
    }
    return made;
  }
  edge(edge, left, top) {
    const points = edge.points.map((each) => [left + each.x, top + each.y]), [begin, ...rest] = points, last = rest[rest.length - 1];
    let d = `M${begin[0]} ${begin[1]}`;
    for (let at = 0; at < rest.length - 1; at += 1) d += ` Q${rest[at][0]} ${rest[at][1]} ${(rest[at][0] + rest[at + 1][0]) / 2} ${(rest[at][1] + rest[at + 1][1]) / 2}`;
    d += ` L${last[0]} ${last[1]}`;
    return situs.svg("path", { class: edge.copied ? "edge copied" : "edge", d, "marker-end": `url(#${edge.copied ? "arrow-copy" : "arrow"})`, "stroke-width": Math.min(4, 1 + Math.log2(edge.count) * 0.5) },
      situs.svg("title", {}, `${situs.plural(edge.count, "tensor")}${edge.copied ? ", copied between devices" : ""}`));
  }
  drawLegend(graph) {
    const used = [...new Set(graph.nodes.device)].sort((a, b) => a - b);
    this.legend.replaceChildren(...used.filter((device) => device >= 0).map((device) => situs.deviceTag(this.report, device)),
      situs.el("span", { class: "tag" }, situs.el("span", { class: "swatch copy" }), "copied between devices"), ...graph.reductions.slice(0, 4).map((text) => situs.el("span", { class: "tag" }, text)));
  }
  acting(box, attributes, act, ...children) {
    const made = situs.svg("g", { tabindex: "0", role: "button", ...attributes, onclick: (event) => { if (!this.dragged) act(event); },
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); act(event); } } }, ...children);
    this.boxes.set(box.key, made);
    return made;
  }
  operation(box, at, graph) {
    const svg = situs.svg, left = at.x - at.width / 2, top = at.y - at.height / 2, colour = situs.colour(this.report, graph.nodes.device[box.node]);
    return this.acting(box, { class: "op", "aria-label": `${graph.nodes.name[box.node]}, ${box.sub}, on ${this.report.device(graph.nodes.device[box.node])}` }, () => this.showNode(box.node),
      svg("rect", { x: left, y: top, width: at.width, height: at.height, rx: 7, class: "box" }), svg("rect", { x: left, y: top, width: 5, height: at.height, rx: 2.5, fill: colour }),
      svg("text", { x: left + 14, y: at.y - 4, class: "name" }, box.title), svg("text", { x: left + 14, y: at.y + 11, class: "sub" }, box.sub), svg("title", {}, graph.nodes.name[box.node]));
  }
  closed(box, at) {
    const svg = situs.svg, left = at.x - at.width / 2, top = at.y - at.height / 2;
    const shares = this.shares(box.group);
    let x = left + 14;
    const wide = at.width - 28;
    const bars = shares.map(([device, part]) => { const bar = svg("rect", { x, y: top + at.height - 7, width: Math.max(0, part * wide), height: 3, fill: situs.colour(this.report, device) }); x += part * wide; return bar; });
    return this.acting(box, { class: "group", "aria-expanded": "false", "aria-label": `group ${box.group.label}, ${box.sub}` }, () => this.open(box.group),
      svg("rect", { x: left + 3, y: top + 3, width: at.width, height: at.height, rx: 8, class: "box behind" }), svg("rect", { x: left, y: top, width: at.width, height: at.height, rx: 8, class: "box" }),
      svg("text", { x: left + 14, y: at.y - 5, class: "name" }, box.title), svg("text", { x: left + 14, y: at.y + 8, class: "sub" }, box.sub), svg("text", { x: left + at.width - 14, y: at.y - 4, class: "sign" }, "+"), ...bars, svg("title", {}, `${box.group.label}: open`));
  }
  cluster(box, x, y) {
    const svg = situs.svg;
    return this.acting(box, { class: "cluster", "aria-expanded": "true", "aria-label": `group ${box.group.label}, open` }, () => this.close(box.group),
      svg("rect", { x, y, width: box.width, height: box.height, rx: 10, class: "field" }), svg("text", { x: x + 12, y: y + 19, class: "name" }, `− ${box.title}`), svg("title", {}, `${box.group.label}: close`));
  }
  shares(group) {
    if (!group.shares) {
      const counts = new Map(), graph = this.report.graphs[this.number];
      const walk = (each) => { for (const node of each.nodes) { const device = graph.nodes.device[node]; counts.set(device, (counts.get(device) ?? 0) + 1); } for (const inner of each.groups.values()) walk(inner); };
      walk(group);
      group.shares = [...counts].map(([device, count]) => [device, count / group.count]).sort((a, b) => b[1] - a[1]);
    }
    return group.shares;
  }
  open(group) {
    const { open } = this.tree();
    if (this.boxes.size + group.nodes.length + group.groups.size > SEEN) { this.status.textContent = "That many boxes would not be readable: close another group first."; return; }
    open.add(group);
    this.changed(group);
    this.draw(true);
    this.boxes.get(group.path)?.focus({ preventScroll: true });
  }
  closeAll() {
    const { open } = this.tree();
    for (const group of open) this.changed(group);
    open.clear();
  }
  close(group) {
    this.tree().open.delete(group);
    this.changed(group);
    this.draw(true);
    this.boxes.get(group.path)?.focus({ preventScroll: true });
  }
  show(number, node) {
    this.number = number;
    if (this.choose) this.choose.value = String(number);
    const { open, place } = this.tree();
    this.closeAll();
    for (let at = place.get(node); at && at.parent; at = at.parent) { open.add(at); this.changed(at); }
    document.getElementById("graph")?.scrollIntoView({ block: "start" });
    this.draw(true);
    const box = this.boxes.get(`n${node}`);
    box?.classList.add("found");
    box?.focus({ preventScroll: true });
    this.showNode(node);
  }
  find(words) {
    const graph = this.report.graphs[this.number], wanted = words.trim().toLowerCase();
    if (!wanted) return;
    const found = graph.nodes.name.map((name, node) => node).filter((node) => graph.nodes.name[node].toLowerCase().includes(wanted));
    this.at = this.last === wanted ? (this.at + 1) % Math.max(1, found.length) : 0;
    this.last = wanted;
    if (!found.length) { this.status.textContent = "No operation has that name."; return; }
    this.show(this.number, found[this.at]);
    this.status.textContent = `${this.at + 1} of ${situs.count(found.length)}`;
    this.search.focus({ preventScroll: true });
  }
  showNode(node) {
    const report = this.report, { nodes, edges } = report.graphs[this.number];
    const ends = (own, other) => { const found = []; for (let at = 0; at < own.length && found.length < 8; at += 1) if (own[at] === node) found.push(other[at]); return found; };
    const list = (all) => (all.length ? situs.el("ul", { class: "plain" }, all.map((each) => situs.el("li", {}, situs.el("button", { type: "button", class: "link", onclick: () => this.show(this.number, each) }, nodes.name[each]), ` on ${report.device(nodes.device[each])}`))) : null);
    const event = report.events.node.findIndex((each, at) => each === node && report.events.graph[at] === this.number);
    situs.details(nodes.name[node], report.text(nodes.op[node]), [
      ["device", report.device(nodes.device[node])],
      ["why there", report.text(nodes.why[node])],
      ["requested", report.text(nodes.requested[node])],
      ["result", report.text(nodes.result[node])],
      ["time", nodes.count[node] ? `${situs.time(nodes.time[node] / nodes.count[node])} each, ${situs.plural(nodes.count[node], "time")}` : "no kernel call: its value is known before the run"],
      ["bytes", nodes.bytes[node] ? situs.bytes(nodes.bytes[node]) : ""],
      ["line", situs.lineOf(report, report.text(nodes.line[node]))],
      ["inputs", list(ends(edges.target, edges.source))],
      ["used by", list(ends(edges.source, edges.target))],
      ["in the timeline", event >= 0 ? situs.el("button", { type: "button", class: "link", onclick: () => { report.timeline.select(event); document.getElementById("timeline")?.scrollIntoView({ block: "start" }); } }, "show when it ran") : null],
    ], situs.colour(report, nodes.device[node]));
  }

  /* Looking around. */
  fit() {
    const [wide, tall] = this.size ?? [1, 1], box = this.frame;
    const byWidth = Math.max(0.28, Math.min(1.15, (box.clientWidth - 16) / wide));
    const room = Math.max(200, Math.min(tall * byWidth + 32, innerHeight * 0.72, 680));
    box.style.height = `${room}px`;
    this.scale = Math.min(1.15, (box.clientWidth - 16) / wide, (room - 16) / tall);
    if (this.scale < 0.28) this.scale = Math.max(this.scale, Math.min(0.5, 0.28));
    this.x = Math.max((box.clientWidth - wide * this.scale) / 2, wide * this.scale > box.clientWidth ? (box.clientWidth - wide * this.scale) / 2 : 0);
    this.y = Math.max(8, (room - tall * this.scale) / 2);
    this.place();
  }
  place() { this.layer.setAttribute("transform", `translate(${this.x} ${this.y}) scale(${this.scale})`); }
  zoom(by, x = this.frame.clientWidth / 2, y = this.frame.clientHeight / 2) {
    const to = Math.max(0.05, Math.min(4, this.scale * by)), real = to / this.scale;
    this.x = x - (x - this.x) * real;
    this.y = y - (y - this.y) * real;
    this.scale = to;
    this.place();
  }
  listen() {
    const pointers = new Map();
    this.picture.addEventListener("wheel", (event) => { if (!event.ctrlKey && !event.metaKey && !this.frame.matches(":focus-within")) return; event.preventDefault(); this.zoom(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 160), event.offsetX, event.offsetY); }, { passive: false });
    this.picture.addEventListener("pointerdown", (event) => { pointers.set(event.pointerId, [event.clientX, event.clientY]); this.dragged = false; });
    window.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const x = event.clientX - before[0], y = event.clientY - before[1];
      if (Math.abs(x) + Math.abs(y) > 3 || this.dragged) { this.dragged = true; this.x += x; this.y += y; pointers.set(event.pointerId, [event.clientX, event.clientY]); this.place(); }
    });
    window.addEventListener("pointerup", (event) => { pointers.delete(event.pointerId); setTimeout(() => { this.dragged = false; }); });
    this.frame.addEventListener("keydown", (event) => {
      const act = { "+": () => this.zoom(1.3), "=": () => this.zoom(1.3), "-": () => this.zoom(1 / 1.3), 0: () => this.fit(),
        ArrowLeft: () => { this.x += 60; this.place(); }, ArrowRight: () => { this.x -= 60; this.place(); }, ArrowUp: () => { this.y += 60; this.place(); }, ArrowDown: () => { this.y -= 60; this.place(); } }[event.key];
      if (act) { act(); event.preventDefault(); }
    });
  }
};
