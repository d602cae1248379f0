/* Puts the page together. */
"use strict";
situs.overview = (report) => {
  const el = situs.el, program = report.program;
  const when = new Date(program.started / 1e6);
  const figures = situs.figures(report).filter((each) => each.value > 0 || ["wall time", "ops run"].includes(each.name));
  const notes = [...report.notes];
  if (report.left_out.events) notes.push(`A long program: of its ${situs.count(program.events)} events, the first and the last are shown in full (${situs.count(report.size)}); the tables count the other ${situs.count(report.left_out.events)} too.`);
  if (report.left_out.graphs) notes.push(`${situs.plural(report.left_out.graphs, "graph")} did not fit and ${report.left_out.graphs === 1 ? "is" : "are"} not drawn.`);
  return el("section", { class: "hero", id: "overview", "aria-labelledby": "overview-title" },
    el("h1", { id: "overview-title" }, report.title),
    el("p", { class: "muted" }, [program.name ? `${program.name} ${program.arguments.join(" ")}`.trim() : "", program.started ? when.toLocaleString() : "",
      `Situs ${report.versions.situs}, Python ${report.versions.python}, PyTorch ${report.versions.torch}`].filter(Boolean).join(" · ")),
    program.error ? el("div", { class: "error", role: "alert" }, el("strong", {}, `It ended with ${program.error.type}: `), situs.short(program.error.message.split("\n")[0], 400),
      el("details", {}, el("summary", {}, "The whole message"), el("pre", {}, program.error.traceback || program.error.message))) : null,
    el("dl", { class: "figures" }, figures.map((each) => el("div", {}, el("dt", {}, each.name), el("dd", {}, each.text(each.value))))),
    el("div", { class: "devices" }, report.devices.map((device, number) => situs.deviceCard(report, device, number))),
    notes.length ? el("ul", { class: "notes" }, notes.map((note) => el("li", {}, note))) : null);
};

situs.deviceCard = (report, device, number) => {
  const el = situs.el, colour = situs.colour(report, number), busy = device.busy / report.end;
  const memory = report.memory.find((each) => each.device === number);
  const meter = (name, part, text) => el("div", { class: "meter" }, el("span", {}, name), situs.bar(part, colour, ""), el("span", { class: "value" }, text));
  return el("article", { class: device.ops || memory ? "device" : "device unused", style: { "--own": colour } },
    el("h3", {}, device.name, device.virtual ? el("span", { class: "badge" }, "virtual") : null),
    el("p", { class: "muted" }, device.description || device.type),
    device.ops ? meter("busy", busy, `${situs.percent(busy)}, ${situs.plural(device.ops, "op")}`) : el("p", { class: "muted" }, "not used"),
    memory ? meter("memory", memory.peak.size / memory.limit, `${situs.bytes(memory.peak.size)} of ${situs.bytes(memory.limit)}`) : null);
};

situs.sections = (report) => {
  const el = situs.el, count = (kind) => report.totals.filter((row) => row.kind === kind).length;
  report.timeline = new situs.Timeline(report, { searchId: "timeline-search" });
  report.graphView = report.graphs.length ? new situs.GraphView(report) : null;
  const critical = report.critical.reduce((sum, event) => sum + report.events.duration[event], 0);
  const reductions = report.graphs.flatMap((graph) => graph.reductions);
  return [
    situs.overview(report),
    situs.section("timeline", "Timeline", `Wheel or + and − zoom, drag or arrows move, click an event for its details.${report.critical.length ? ` The critical path is ${situs.plural(report.critical.length, "event")}, ${situs.time(critical)}.` : ""}`, report.timeline.element,
      report.idle.length ? el("details", { class: "fold", open: report.idle.length < 400 }, el("summary", {}, "Idle times, explained"), situs.idleTable(report)) : null),
    situs.section("memory", "Memory", "Memory of tensors on each GPU, by the op that allocated it.", situs.memoryView(report)),
    report.graphView ? situs.section("graph", "Graph", "Coloured by device. Click a group to open or close it, or an operation for its details.", report.graphView.element) : null,
    situs.section("ops", "Ops", report.left_out.events ? "All events, including those that the timeline leaves out." : null, situs.opsTable(report)),
    situs.section("copies", "Copies", "Between devices, by bytes.", situs.copiesTable(report),
      count("collective") || reductions.length ? [el("h3", {}, "Collectives and reductions"), count("collective") ? situs.collectivesTable(report) : null, reductions.length ? el("ul", { class: "notes" }, [...new Set(reductions)].slice(0, 30).map((text) => el("li", {}, text))) : null] : null),
    situs.section("placement", "Placement", "What did not run where the program asked: soft placements and errors.", situs.placementTable(report)),
    situs.section("traces", "Traces", "Every trace of a function, and why the call needed a new one.", situs.tracesTable(report)),
    situs.section("compiled", "Compiled", null, situs.compiledTable(report)),
  ].filter(Boolean);
};

situs.show = (reports, which) => {
  const main = document.getElementById("main");
  document.getElementById("details").hidden = true;
  document.body.classList.remove("with-details");
  const sections = situs.sections(reports[which]);
  if (reports.length === 2) sections.splice(0, 0, situs.compareView(reports[0], reports[1]));
  main.replaceChildren(...sections);
  document.getElementById("nav").replaceChildren(...sections.filter((each) => each.id !== "overview").map((each) => situs.el("a", { href: `#${each.id}` }, each.querySelector("h2").textContent.replace(" side by side", ""))));
  const switcher = document.getElementById("which");
  switcher.hidden = reports.length < 2;
  if (reports.length > 1) switcher.replaceChildren(...reports.map((report, at) => situs.el("button", { type: "button", "aria-pressed": String(at === which), onclick: () => situs.show(reports, at) }, "AB"[at])));
  document.body.dataset.ready = "true";
};

(async () => {
  try {
    const reports = [];
    for (const element of document.querySelectorAll("script[data-report]")) reports.push(await situs.load(element));
    situs.reports = reports;
    situs.show(reports, 0);
    const again = () => situs.show(reports, [...document.querySelectorAll("#which button")].findIndex((each) => each.getAttribute("aria-pressed") === "true") === 1 ? 1 : 0);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    document.addEventListener("scroll", (event) => { situs.scrolled = event.timeStamp; }, { passive: true });
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) { event.preventDefault(); document.getElementById("timeline-search")?.focus(); }
    });
  } catch (error) {
    document.getElementById("main").replaceChildren(situs.el("p", { class: "error", role: "alert" }, `The report cannot be shown: ${error.message}`));
    document.body.dataset.ready = "failed";
    throw error;
  }
})();
