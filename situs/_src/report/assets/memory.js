/* Memory over time, by uPlot: what each op held, the limit, the peak; and who held it then, by line. */
"use strict";
situs.memoryView = (report) => {
  const el = situs.el;
  if (!report.memory.length) return el("p", { class: "muted" }, "No GPU memory was used. (Host memory is not recorded.)");
  return el("div", { class: "memories" }, report.memory.map((memory) => situs.memoryOf(report, memory)));
};

situs.memoryOf = (report, memory) => {
  const el = situs.el, name = report.device(memory.device), colour = situs.colour(report, memory.device);
  const peak = memory.peak, part = memory.limit ? peak.size / memory.limit : 0;
  const place = el("div", { class: "plot", role: "img", "aria-label": `Memory of ${name} over time: at most ${situs.bytes(peak.size)} of ${situs.bytes(memory.limit)}, at ${situs.time(peak.time ?? 0)}. The table below says what held it.` });
  const draw = () => situs.plotMemory(report, memory, place, colour);
  new ResizeObserver(() => { if (place.clientWidth && place.clientWidth !== place.drawn) { place.drawn = place.clientWidth; draw(); } }).observe(place);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  const most = Math.max(1, ...peak.holders.map((each) => each.size));
  const byLine = new Map();
  for (const each of peak.holders) {
    const row = byLine.get(each.line + "\n" + each.op) ?? { op: each.op, line: each.line, caller: each.caller, count: 0, size: 0 };
    row.count += each.count; row.size += each.size;
    byLine.set(each.line + "\n" + each.op, row);
  }
  return el("div", { class: "memory" },
    el("h3", {}, situs.deviceTag(report, memory.device), el("span", { class: "muted" }, ` peak ${situs.bytes(peak.size)} of ${situs.bytes(memory.limit)} (${situs.percent(part)}) at ${situs.time(peak.time ?? 0)}`)),
    place,
    situs.table(`holders-${memory.device}`, `What held the memory of ${name} at its peak`, [
      { title: "line", value: (row) => situs.shortLine(row.line), show: (row) => situs.lineCell(report, row.line), class: "mono" },
      { title: "allocated by", value: (row) => row.op },
      ...(peak.holders.some((each) => each.caller) ? [{ title: "called from", value: (row) => row.caller, class: "mono" }] : []),
      { title: "blocks", number: true, value: (row) => row.count },
      { title: "at the peak", number: true, value: (row) => row.size, show: (row) => situs.bar(row.size / most, colour, situs.bytes(row.size)) },
    ], [...byLine.values()], { sort: peak.holders.some((each) => each.caller) ? 4 : 3, step: 7 }));
};

situs.plotMemory = (report, memory, place, colour) => {
  place.replaceChildren();
  const times = memory.times.map((each) => each / 1e9);
  const last = Math.max(report.end / 1e9, times[times.length - 1] ?? 0);
  const steps = (values) => [...values, values[values.length - 1]];
  const xs = [...times, last];
  const layers = memory.layers.slice(0, 8);
  const series = [{ label: "time" }], data = [xs];
  const shades = layers.map((_, at) => `color-mix(in oklab, ${colour} ${90 - at * (64 / Math.max(1, layers.length - 1))}%, ${situs.css("--card")})`);
  const stepped = uPlot.paths.stepped({ align: 1 });
  let below = new Array(memory.times.length).fill(0);
  const sums = layers.map((layer) => (below = below.map((each, at) => each + layer.values[at])));
  [...sums].reverse().forEach((sum, at) => {
    const layer = layers.length - 1 - at;
    series.push({ label: layers[layer].op, fill: shades[layer], width: 0, paths: stepped, points: { show: false } });
    data.push(steps(sum));
  });
  series.push({ label: "held", stroke: colour, width: 1.5, fill: layers.length ? undefined : `color-mix(in oklab, ${colour} 25%, transparent)`, paths: stepped, points: { show: false } });
  data.push(steps(memory.held));
  const most = memory.peak.size, near = memory.limit && memory.limit < most * 4;
  const ink = situs.css("--ink"), muted = situs.css("--muted"), rule = situs.css("--rule"), warn = situs.css("--warn");
  const axis = { stroke: muted, grid: { stroke: rule, width: 1 }, ticks: { stroke: rule, width: 1 }, font: "11px system-ui" };
  const marks = (plot) => {
    const pen = plot.ctx, ratio = devicePixelRatio || 1, { left, width, top } = plot.bbox;
    pen.save();
    pen.font = `${11 * ratio}px system-ui`;
    if (near) {
      const y = plot.valToPos(memory.limit, "y", true);
      pen.strokeStyle = pen.fillStyle = warn;
      pen.lineWidth = 1.5 * ratio;
      pen.setLineDash([6 * ratio, 4 * ratio]);
      pen.beginPath(); pen.moveTo(left, y); pen.lineTo(left + width, y); pen.stroke();
      pen.textAlign = "right";
      pen.fillText(`limit ${situs.bytes(memory.limit)}`, left + width - 4 * ratio, y - 6 * ratio);
    } else {
      pen.strokeStyle = pen.fillStyle = warn;
      pen.globalAlpha = 0.8;
      pen.setLineDash([2 * ratio, 4 * ratio]);
      pen.beginPath(); pen.moveTo(left, top); pen.lineTo(left + width, top); pen.stroke();
      pen.textAlign = "left";
      pen.fillText(`↑ limit ${situs.bytes(memory.limit)}`, left + 4 * ratio, top - 6 * ratio);
      pen.globalAlpha = 1;
    }
    const x = plot.valToPos((memory.peak.time ?? 0) / 1e9, "x", true), y = plot.valToPos(most, "y", true);
    pen.setLineDash([]);
    pen.fillStyle = ink;
    pen.beginPath(); pen.arc(x, y, 4 * ratio, 0, 7); pen.fill();
    const isRight = x > left + width * 0.7;
    pen.textAlign = isRight ? "right" : "left";
    pen.fillText(`peak ${situs.bytes(most)}`, x + (isRight ? -9 : 9) * ratio, y - 7 * ratio);
    pen.restore();
  };
  const splits = (u, axisNumber, low, high) => {
    const rough = high / 4, power = 2 ** Math.floor(Math.log2(Math.max(rough, 1)));
    const step = rough > power * 1.5 ? power * 2 : power, found = [];
    for (let at = 0; at <= high; at += step) found.push(at);
    return found;
  };
  new uPlot({
    width: place.clientWidth, height: 220, legend: { show: false }, cursor: { y: false, points: { show: false } }, padding: [16, 26, 0, 0],
    scales: { x: { time: false, range: [(report.timeline?.begin ?? 0) / 1e9, last] }, y: { range: [0, (near ? Math.max(memory.limit, most) : most) * 1.12] } },
    axes: [{ ...axis, values: (u, all) => all.map((each) => situs.time(each * 1e9)) }, { ...axis, size: 70, splits, values: (u, all) => all.map(situs.bytes) }],
    series,
    hooks: { draw: [marks], setCursor: [(plot) => {
      const at = plot.cursor.idx, box = plot.over.getBoundingClientRect();
      if (at === null || at === undefined || plot.cursor.left < 0) { situs.tip(); return; }
      const own = Math.min(at, memory.held.length - 1);
      const parts = layers.map((layer) => [layer.op, layer.values[own]]).filter((each) => each[1] > 0).sort((a, b) => b[1] - a[1]).slice(0, 6);
      situs.tip(box.left + plot.cursor.left, box.top + plot.cursor.top, [`${situs.bytes(memory.held[own])} at ${situs.time(memory.times[own])}`, ...parts.map(([op, size]) => `${op}: ${situs.bytes(size)}`)]);
    }] },
  }, data, place);
};
