/* Two reports side by side: figures, timelines on one scale, ops, and what went to another device. */
"use strict";
situs.figures = (report) => {
  const critical = report.critical.reduce((sum, event) => sum + report.events.duration[event], 0);
  const copied = report.totals.filter((row) => row.kind === "copy").reduce((sum, row) => sum + row.bytes, 0);
  const peak = report.memory.reduce((most, each) => Math.max(most, each.peak.size), 0);
  const idle = report.idle.reduce((sum, each) => sum + each.duration, 0);
  const ops = report.totals.filter((row) => !["copy", "run", "trace"].includes(row.kind)).reduce((sum, row) => sum + row.count, 0);
  return [
    { name: "wall time", value: report.program.duration, text: situs.time },
    { name: "ops run", value: ops, text: situs.count },
    { name: "critical path", value: critical, text: situs.time },
    { name: "idle, all devices", value: idle, text: situs.time },
    { name: "copied", value: copied, text: situs.bytes },
    { name: "peak memory", value: peak, text: situs.bytes },
    { name: "traces", value: report.traces.length + report.left_out.traces, text: situs.count },
  ];
};

situs.compareView = (first, second) => {
  const el = situs.el, end = Math.max(first.end, second.end);
  const ours = situs.figures(first), theirs = situs.figures(second);
  const change = (a, b) => (a === b ? "same" : a === 0 ? "new" : `${b > a ? "+" : "−"}${Math.abs((100 * (b - a)) / a).toFixed(Math.abs(b - a) < a / 10 ? 1 : 0)} %`);
  const figures = situs.table("compare-figures", "Figures of both", [
    { title: "figure", value: (row) => row.name }, { title: "A", number: true, value: (row) => row.a, show: (row) => row.text(row.a) },
    { title: "B", number: true, value: (row) => row.b, show: (row) => row.text(row.b) },
    { title: "B against A", number: true, value: (row) => (row.a ? row.b / row.a : 0), show: (row) => el("span", { class: row.b < row.a ? "better" : row.b > row.a ? "worse" : "muted" }, change(row.a, row.b)) },
  ], ours.map((each, at) => ({ name: each.name, a: each.value, b: theirs[at].value, text: each.text })));
  const lines = [first, second].map((report, at) => new situs.Timeline(report, { end, bare: true, name: "AB"[at] }));
  lines.forEach((line, at) => { line.onView = ([from, to]) => lines[1 - at].show(from, to, true); });
  const rows = new Map();
  /* Lines of the program itself are the same in both, whatever its file is called. */
  const own = (report, line) => (report.program.name && line.startsWith(`${report.program.name}:`) ? line.slice(report.program.name.length) : line);
  [first, second].forEach((report, which) => {
    for (const row of report.totals) {
      if (["run", "trace"].includes(row.kind)) continue;
      const key = `${row.op}\n${own(report, row.line)}`;
      if (!rows.has(key)) rows.set(key, { op: row.op, line: row.line, time: [0, 0], count: [0, 0], devices: [new Set(), new Set()] });
      const found = rows.get(key);
      found.time[which] += row.time;
      found.count[which] += row.count;
      found.devices[which].add(report.device(row.device));
    }
  });
  const where = (set) => [...set].sort().join(", ");
  const ops = situs.table("compare-ops", "Ops of both by line", [
    { title: "op", value: (row) => row.op },
    { title: "line", value: (row) => situs.shortLine(row.line), show: (row) => situs.lineCell(first, row.line), class: "mono" },
    { title: "devices", value: (row) => `${where(row.devices[0])} ${where(row.devices[1])}`, show: (row) => (where(row.devices[0]) === where(row.devices[1]) ? where(row.devices[0]) : el("strong", {}, `${where(row.devices[0]) || "–"} → ${where(row.devices[1]) || "–"}`)) },
    { title: "calls A", number: true, value: (row) => row.count[0] }, { title: "calls B", number: true, value: (row) => row.count[1] },
    { title: "A", number: true, value: (row) => row.time[0], show: (row) => situs.time(row.time[0]) }, { title: "B", number: true, value: (row) => row.time[1], show: (row) => situs.time(row.time[1]) },
    { title: "B − A", number: true, value: (row) => Math.abs(row.time[1] - row.time[0]), show: (row) => el("span", { class: row.time[1] < row.time[0] ? "better" : "worse" }, `${row.time[1] >= row.time[0] ? "+" : "−"}${situs.time(Math.abs(row.time[1] - row.time[0]))}`) },
  ], [...rows.values()], { sort: 7, step: 15 });
  const moved = situs.moved(first, second);
  return situs.section("compare", "A and B side by side", [first, second].map((report, at) => `${"AB"[at]}: ${[report.title, ...report.program.arguments].join(" ")}`).join(" · "),
    figures, el("h3", {}, "Both timelines, on one scale"),
    el("div", { class: "pair" }, el("div", {}, el("div", { class: "pair-name" }, "A"), lines[0].element), el("div", {}, el("div", { class: "pair-name" }, "B"), lines[1].element)),
    el("h3", {}, "Operations that moved to another device"), moved, el("h3", {}, "Ops, by what changed most"), ops);
};

/* Operations of graphs of the same title that have the same name and another device. */
situs.moved = (first, second) => {
  const devices = (report) => {
    const found = new Map();
    for (const graph of report.graphs) graph.nodes.name.forEach((name, node) => found.set(`${graph.title}\n${name}`, { device: report.device(graph.nodes.device[node]), why: report.text(graph.nodes.why[node]) }));
    return found;
  };
  const before = devices(first), after = devices(second), rows = [];
  for (const [key, { device }] of before) {
    const now = after.get(key);
    if (now && now.device !== device) { const [graph, name] = key.split("\n"); rows.push({ graph, name, from: device, to: now.device, why: now.why }); }
  }
  return situs.table("compare-moved", "Operations that moved", [
    { title: "operation", value: (row) => row.name, class: "mono" }, { title: "graph", value: (row) => row.graph },
    { title: "A", value: (row) => row.from }, { title: "B", value: (row) => row.to }, { title: "why, in B", value: (row) => row.why, class: "wide" },
  ], rows, { step: 12, nothing: "No operation of a graph moved to another device." });
};
