/* Tables that sort by a click on a title and filter by words; a few rows at a time, so that long ones cost nothing. */
"use strict";
situs.STEP = 50;

/* columns: {title, number, value: row => for sorting, show: row => text or element, words: row => text to search} */
situs.table = (id, caption, columns, rows, options = {}) => {
  const state = { sort: options.sort ?? -1, down: options.down ?? true, words: "", shown: options.step ?? situs.STEP };
  const body = situs.el("tbody");
  const status = situs.el("span", { class: "muted", role: "status" });
  const more = situs.el("button", { type: "button", class: "more no-print", onclick: () => { state.shown += 200; draw(); } });
  const heads = columns.map((column, number) => situs.el("th", { scope: "col", class: column.number ? "number" : "" },
    situs.el("button", { type: "button", onclick: () => {
      state.down = state.sort === number ? !state.down : Boolean(column.number);
      state.sort = number;
      draw();
    } }, column.title)));
  const words = (row) => row.__words ??= columns.map((column) => String(column.words ? column.words(row) : column.value(row))).join(" ").toLowerCase();
  const chosen = () => {
    const wanted = state.words.toLowerCase().split(/\s+/).filter(Boolean);
    let found = wanted.length ? rows.filter((row) => wanted.every((word) => words(row).includes(word))) : rows.slice();
    const column = columns[state.sort];
    if (column) {
      const sign = state.down ? -1 : 1;
      found.sort((a, b) => {
        const x = column.value(a), y = column.value(b);
        return sign * (typeof x === "number" ? x - y : String(x).localeCompare(String(y)));
      });
    }
    return found;
  };
  const draw = () => {
    const found = chosen();
    body.replaceChildren(...found.slice(0, state.shown).map((row) => situs.el("tr", options.open ? { class: "opens", tabindex: "0",
      onclick: () => options.open(row), onkeydown: (event) => { if (event.key === "Enter" && event.target === event.currentTarget) options.open(row); } } : {},
      columns.map((column) => situs.el("td", { class: column.number ? "number" : column.class ?? "", "data-title": column.title },
        column.show ? column.show(row) : column.number ? situs.count(column.value(row)) : situs.name(column.value(row)))))));
    if (!found.length) body.append(situs.el("tr", {}, situs.el("td", { colspan: columns.length, class: "muted" }, rows.length ? "No matches." : options.nothing ?? "None.")));
    heads.forEach((head, number) => {
      if (number === state.sort) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    status.textContent = rows.length > 8 ? `${situs.count(found.length)} of ${situs.count(rows.length)}` : "";
    more.hidden = found.length <= state.shown;
    more.textContent = `Show ${situs.count(Math.min(200, found.length - state.shown))} more`;
  };
  const filter = rows.length > 8 ? situs.el("input", { type: "search", placeholder: options.placeholder ?? "Filter …", "aria-label": `Filter: ${caption}`, class: "no-print",
    oninput: (event) => { state.words = event.target.value; state.shown = options.step ?? situs.STEP; draw(); } }) : null;
  const element = situs.el("div", { class: "table", id }, filter ? situs.el("div", { class: "tools" }, filter, status) : null,
    situs.el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      situs.el("table", {}, situs.el("caption", { class: "hidden" }, caption), situs.el("thead", { hidden: !rows.length }, situs.el("tr", {}, heads)), body)), more);
  draw();
  return element;
};

situs.deviceTag = (report, device) => situs.el("span", { class: "tag" }, situs.el("span", { class: "chip", style: { background: situs.colour(report, device) } }), report.device(device));
situs.lineCell = (report, line) => (line ? situs.el("span", { title: report.sources[line] ? `${line}\n${report.sources[line]}` : line }, situs.shortLine(line)) : "");
situs.bar = (part, colour, text) => situs.el("span", { class: "bar" }, situs.el("span", { style: { width: `${Math.max(0, Math.min(100, part * 100))}%`, background: colour ?? "var(--accent)" } }), situs.el("em", {}, text));

situs.opsTable = (report) => {
  const rows = report.totals.filter((row) => !["copy", "run", "trace"].includes(row.kind));
  const most = Math.max(1, ...rows.map((row) => row.time));
  return situs.table("ops-table", "Ops by device and line", [
    { title: "op", value: (row) => row.op },
    { title: "device", value: (row) => report.device(row.device), show: (row) => situs.deviceTag(report, row.device) },
    { title: "line", value: (row) => situs.shortLine(row.line), show: (row) => situs.lineCell(report, row.line), class: "mono" },
    { title: "calls", number: true, value: (row) => row.count },
    { title: "total", number: true, value: (row) => row.time, show: (row) => situs.bar(row.time / most, situs.colour(report, row.device), situs.time(row.time)) },
    { title: "mean", number: true, value: (row) => row.time / row.count, show: (row) => situs.time(row.time / row.count) },
    { title: "max", number: true, value: (row) => row.longest, show: (row) => situs.time(row.longest) },
    { title: "output", number: true, value: (row) => row.bytes, show: (row) => situs.bytes(row.bytes) },
  ], rows, { sort: 4, placeholder: "Op, device or line …", step: 20, open: (row) => {
    const at = report.events.op.findIndex((op, event) => report.text(op) === row.op && report.events.device[event] === row.device && report.text(report.events.line[event]) === row.line);
    if (at >= 0) { report.timeline?.select(at, true); situs.showEvent(report, at); }
  } });
};

situs.copiesTable = (report) => situs.table("copies-table", "Copies between devices", [
  { title: "from", value: (row) => report.device(row.source), show: (row) => (row.source < 0 ? "" : situs.deviceTag(report, row.source)) },
  { title: "to", value: (row) => report.device(row.device), show: (row) => situs.deviceTag(report, row.device) },
  { title: "line", value: (row) => situs.shortLine(row.line), show: (row) => situs.lineCell(report, row.line), class: "mono" },
  { title: "calls", number: true, value: (row) => row.count },
  { title: "bytes", number: true, value: (row) => row.bytes, show: (row) => situs.bytes(row.bytes) },
  { title: "time", number: true, value: (row) => row.time, show: (row) => situs.time(row.time) },
  { title: "speed", number: true, value: (row) => (row.time ? row.bytes / row.time : 0), show: (row) => (row.time ? `${situs.bytes((1e9 * row.bytes) / row.time)}/s` : "") },
], report.totals.filter((row) => row.kind === "copy"), { sort: 4, nothing: "Nothing was copied between devices.", step: 20 });

situs.collectivesTable = (report) => situs.table("collectives-table", "Collectives", [
  { title: "op", value: (row) => row.op },
  { title: "device", value: (row) => report.device(row.device), show: (row) => situs.deviceTag(report, row.device) },
  { title: "calls", number: true, value: (row) => row.count },
  { title: "bytes", number: true, value: (row) => row.bytes, show: (row) => situs.bytes(row.bytes) },
  { title: "time", number: true, value: (row) => row.time, show: (row) => situs.time(row.time) },
], report.totals.filter((row) => row.kind === "collective"), { sort: 4 });

situs.placementTable = (report) => situs.table("placement-table", "Soft placements and refusals", [
  { title: "kind", value: (row) => row.kind, show: (row) => situs.el("span", { class: `badge ${row.kind}` }, row.kind) },
  { title: "op", value: (row) => row.what },
  { title: "requested", value: (row) => row.requested, class: "mono" },
  { title: "placed on", value: (row) => (row.device < 0 ? "" : report.device(row.device)), show: (row) => (row.device < 0 ? "" : situs.deviceTag(report, row.device)) },
  { title: "why", value: (row) => row.reason, class: "wide" },
  { title: "line", value: (row) => situs.shortLine(row.line), show: (row) => situs.lineCell(report, row.line), class: "mono" },
  { title: "calls", number: true, value: (row) => row.count },
], report.placements, { nothing: "Every op ran where the program asked, or where the defaults put it." });

situs.tracesTable = (report) => situs.table("traces-table", "Traces of functions", [
  { title: "function", value: (row) => row.function },
  { title: "why it was traced", value: (row) => row.reason, class: "wide" },
  { title: "operations", number: true, value: (row) => row.nodes },
  { title: "took", number: true, value: (row) => row.duration, show: (row) => situs.time(row.duration) },
  { title: "line", value: (row) => situs.shortLine(row.line), show: (row) => situs.lineCell(report, row.line), class: "mono" },
], report.traces, { nothing: "No function was traced." });

situs.compiledTable = (report) => {
  const rows = report.compiled.flatMap((each) => each.ways.map(([operation, how]) => ({ graph: report.graphs[each.graph]?.title ?? "", operation, how })));
  return situs.table("compiled-table", "What compiled and what did not", [
    { title: "graph", value: (row) => row.graph },
    { title: "operation", value: (row) => row.operation, class: "mono" },
    { title: "runs as", value: (row) => row.how, class: "wide" },
  ], rows, { nothing: "Nothing was compiled. tf.function(jit_compile=True) compiles a function." });
};
