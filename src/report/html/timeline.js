/* The timeline: a row for each device and link, drawn on a canvas, with the part of time that the
 * view shows. Times are in ticks until they are shown. */

const axisHeight = 40, phases = ["forward", "backward", "gradient", "update", "comm"];
const timelineEnd = data.timeline.end_s / data.timeline.tick_s;
const view = { from: 0, to: timelineEnd };
const viewWatchers = []; /* functions to call when the view has changed */
const timelineState = { rows: [], row: 0, bar: -1, segment: -1, colours: {} };

const tickSeconds = ticks => seconds(ticks * data.timeline.tick_s);

/* Where bars lie on the canvas, in pixels; asked of the page once a drawing, as asking is slow. */
const plot = { left: 0, width: 0, right: 0, rowHeight: 18, paper: false, colourBy: "phase" };
const paperWidth = 690, paperHeight = 800;

/* The labels stand whole: bars begin right of the widest one. */
function measurePlot(rows) {
  const context = byId("timeline-canvas").getContext("2d");
  context.font = plotFont;
  plot.left = 14 + Math.ceil(Math.max(...["critical path", ...timelineState.rows.map(({ label }) => label)].map(text => context.measureText(text).width)));
  plot.right = plot.paper ? paperWidth : byId("timeline-box").clientWidth;
  plot.width = plot.right - plot.left;
  plot.rowHeight = plot.paper ? Math.max(4, Math.min(18, paperHeight / rows)) : 18;
  plot.colourBy = byId("timeline-colour").value;
}

const toX = ticks => plot.left + (ticks - view.from) / (view.to - view.from) * plot.width;
const toTicks = x => view.from + (x - plot.left) / plot.width * (view.to - view.from);

/* View ---------------------------------------------------------------------------------- */

function setView(from, to) {
  const shortest = 20, length = Math.min(timelineEnd, Math.max(shortest, to - from));
  view.from = Math.max(0, Math.min(from, timelineEnd - length));
  view.to = view.from + length;
  for (const watcher of viewWatchers) watcher();
}

/* `factor` below 1 zooms in; what is at `center` stays there. */
function zoom(factor, center) {
  const at = center === undefined ? (view.from + view.to) / 2 : center;
  setView(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

function pan(share) {
  const by = share * (view.to - view.from);
  setView(view.from + by, view.to + by);
}

function showWhole() {
  setView(0, timelineEnd);
}

/* So that [start, end] is in view, in the middle if it was not. */
function reveal(start, end) {
  if (start >= view.from && end <= view.to) return;
  const length = Math.max(view.to - view.from, (end - start) * 1.5), middle = (start + end) / 2;
  setView(middle - length / 2, middle + length / 2);
}

/* Bars ---------------------------------------------------------------------------------- */

/* The first bar that ends after `time`. */
function firstBarAfter(bars, time) {
  let low = 0, high = bars.n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (bars.end[middle] > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

function barAt(row, time) {
  const i = firstBarAfter(row.bars, time);
  return i < row.bars.n && row.bars.start[i] <= time ? i : -1;
}

/* Forward is lighter than backward, whatever the colours tell. */
function barColour(name, micro) {
  const [, kind, stage] = data.timeline.names[name];
  const number = plot.colourBy === "stage" ? stage : plot.colourBy === "micro" ? micro : -1;
  if (number < 0) return timelineState.colours[kind];
  return numberedColour(number, { forward: 70, backward: 48, gradient: 40 }[kind] || 58);
}

/* Of asynchronous pipelines the instances of a task are whole minibatches. */
const instanceWord = () => data.timeline.minibatches ? "minibatch" : "micro-batch";

function barWords(row, i) {
  const bars = row.bars, [text, kind, stage] = data.timeline.names[bars.name[i]];
  const words = [row.label, kind === "comm" ? "exchange" : kind];
  if (stage >= 0) words.push("stage " + stage);
  if (bars.micro[i] >= 0) words.push(instanceWord() + " " + bars.micro[i]);
  words.push("starts at " + tickSeconds(bars.start[i]), "takes " + tickSeconds(bars.end[i] - bars.start[i]));
  const others = bars.tasks[i] > 1 ? " and " + (bars.tasks[i] - 1) + " more" : "";
  return text + others + "\n" + words.join(", ");
}

/* Drawing ------------------------------------------------------------------------------- */

/* Does the choice of rows show this one: its kind, its device, or as a link of that device? */
function isShown(row, index, which, onPath) {
  if (which === "all") return true;
  if (which === "path") return onPath.has(index);
  if (which === "devices") return row.device !== undefined;
  if (which === "links") return row.link !== undefined;
  const device = Number(which);
  return row.device === device || (row.link !== undefined && (row.from === device || row.to === device));
}

/* Links of one class are near copies of each other: one row shows the busiest of them, unless each link is asked for. */
function foldLinks(rows) {
  const folded = new Map();
  for (const shown of rows) {
    const linkClass = shown.row.class, known = linkClass === undefined ? undefined : folded.get(linkClass);
    if (known) known.all.push(shown.index);
    else folded.set(linkClass === undefined ? shown : linkClass, shown);
    if (!known && linkClass !== undefined && data.timeline.classes[linkClass].links > 1) shown.label = data.timeline.classes[linkClass].label;
  }
  return [...folded.values()];
}

/* Rows as { row, index, label, all: the indices of the rows that it stands for }. */
function visibleRows() {
  const which = byId("timeline-rows").value, onPath = new Set(data.timeline.path.map(segment => segment.row));
  const rows = data.timeline.rows.map((row, index) => ({ row, index, label: row.label, all: [index] })).filter(({ row, index }) => isShown(row, index, which, onPath));
  return byId("timeline-each").checked || !["all", "links"].includes(which) ? rows : foldLinks(rows);
}

/* Steps of the axis: 1, 2 or 5 times a power of ten. */
function axisStep(length, most) {
  const step = Math.pow(10, Math.floor(Math.log10(length / most)));
  return [1, 2, 5, 10].map(factor => factor * step).find(wide => length / wide <= most);
}

function drawAxis() {
  const context = beginDrawing(byId("timeline-axis"), plot.right, axisHeight);
  const step = axisStep(view.to - view.from, Math.max(2, plot.width / 110));
  context.fillStyle = styleColour("faint");
  context.textBaseline = "middle";
  context.textAlign = "center";
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    context.fillRect(toX(at), 16, 1, 5);
    context.fillText(at === 0 ? "0" : tickSeconds(at), Math.min(toX(at), plot.right - 24), 9);
  }
  context.textAlign = "left";
  context.fillText("critical path", 6, 30);
  drawPathStrip(context);
}

/* The critical path by itself, in the colours of what it does. */
function drawPathStrip(context) {
  let drawn = -1;
  for (const segment of data.timeline.path) {
    if (segment.end < view.from) continue;
    if (segment.start > view.to) break;
    const left = Math.round(Math.max(plot.left, toX(segment.start))), right = Math.max(left + 1, Math.round(Math.min(toX(segment.end), plot.right)));
    if (right <= drawn) continue;
    context.fillStyle = segment.name < 0 ? timelineState.colours.other : barColour(segment.name, segment.micro);
    context.fillRect(left, 23, right - left, 13);
    drawn = right;
  }
  const end = data.timeline.path.length ? data.timeline.path[data.timeline.path.length - 1].end : 0;
  context.fillStyle = styleColour("path");
  context.fillRect(plot.left, 36, Math.max(0, Math.min(toX(end), plot.right) - plot.left), 2);
}

/* Bars begin and end at whole pixels, so that neighbours meet without a seam. */
function drawBars(context, bars, top) {
  let drawn = -1;
  const height = Math.max(2, plot.rowHeight - 5);
  for (let i = firstBarAfter(bars, view.from); i < bars.n && bars.start[i] < view.to; i++) {
    const x = Math.round(Math.max(plot.left, toX(bars.start[i]))), end = Math.max(x + 1, Math.round(Math.min(plot.right, toX(bars.end[i]))));
    if (end <= drawn) continue; /* under what is drawn already */
    context.fillStyle = barColour(bars.name[i], bars.micro[i]);
    context.fillRect(x, top + 2, end - x - (end - x > 8 ? 1 : 0), height);
    if (end - x > 24 && plot.rowHeight > 12) drawBarName(context, data.timeline.names[bars.name[i]][0], x, end, top);
    drawn = end;
  }
}

/* The whole name, or the operators alone, or nothing: a name that is cut might be another one's. */
function drawBarName(context, text, left, right, top) {
  const fitting = [text, text.split(" ")[0]].find(words => context.measureText(words).width <= right - left - 6);
  context.fillStyle = "#10151c";
  if (fitting) context.fillText(fitting, left + 3, top + plot.rowHeight / 2);
}

/* Where the critical path is: a line under its tasks, and thin ones from row to row. */
function drawPath(context, place) {
  const under = new Path2D(), across = new Path2D();
  let last = null, crossed = -10;
  for (const segment of data.timeline.path) {
    const at = place.get(segment.row);
    if (at === undefined || segment.end < view.from || segment.start > view.to) {
      last = null;
      continue;
    }
    const y = at * plot.rowHeight + plot.rowHeight - 2, x = Math.max(plot.left, toX(segment.start));
    if (last !== null && last !== y && x > crossed + 1.5) { /* not so many that they hide the bars */
      across.moveTo(x, last);
      across.lineTo(x, y);
      crossed = x;
    }
    under.moveTo(x, y);
    under.lineTo(Math.max(x + 1, Math.min(toX(segment.end), plot.right)), y);
    last = y;
  }
  context.strokeStyle = styleColour("path");
  context.lineWidth = 1;
  context.globalAlpha = 0.55;
  context.stroke(across);
  context.lineWidth = 2.5;
  context.globalAlpha = 1;
  context.stroke(under);
}

function drawLabels(context) {
  const every = Math.ceil(11 / plot.rowHeight); /* on paper there may be no room for all */
  context.textAlign = "left";
  timelineState.rows.forEach(({ label }, i) => {
    if (i % every) return;
    context.fillStyle = i === timelineState.row ? styleColour("accent") : styleColour("text");
    context.fillText(label, 6, i * plot.rowHeight + plot.rowHeight / 2);
  });
}

function drawSelection(context) {
  const chosen = timelineState.rows[timelineState.row];
  if (!chosen || timelineState.bar < 0) return;
  const { bars } = chosen.row, x = toX(bars.start[timelineState.bar]), end = toX(bars.end[timelineState.bar]);
  context.strokeStyle = styleColour("focus");
  context.lineWidth = 3;
  context.strokeRect(x - 1, timelineState.row * plot.rowHeight + 1, Math.max(4, end - x + 1), plot.rowHeight - 3);
}

function drawTimeline() {
  const rows = timelineState.rows = visibleRows();
  measurePlot(rows.length);
  for (const name of [...phases, "other"]) timelineState.colours[name] = styleColour(name);
  timelineState.row = Math.min(timelineState.row, Math.max(0, rows.length - 1));
  const context = beginDrawing(byId("timeline-canvas"), plot.right, Math.max(1, rows.length) * plot.rowHeight);
  context.textBaseline = "middle";
  rows.forEach(({ row }, i) => {
    context.fillStyle = styleColour(i % 2 ? "card" : "shade");
    context.fillRect(plot.left, i * plot.rowHeight, plot.width, plot.rowHeight);
    drawBars(context, row.bars, i * plot.rowHeight);
  });
  if (byId("timeline-path").checked) drawPath(context, new Map(rows.flatMap(({ all }, i) => all.map(index => [index, i]))));
  drawSelection(context);
  drawLabels(context);
  drawAxis();
  byId("timeline-canvas").setAttribute("aria-label", rows.length + " rows, from " + tickSeconds(view.from) + " to " + tickSeconds(view.to));
}

/* Choosing tasks ------------------------------------------------------------------------ */

function selectBar(rowPlace, bar) {
  timelineState.row = rowPlace;
  timelineState.bar = bar;
  const chosen = timelineState.rows[rowPlace];
  if (bar >= 0) {
    byId("timeline-detail").textContent = barWords(chosen.row, bar).replace("\n", ": ");
    reveal(chosen.row.bars.start[bar], chosen.row.bars.end[bar]);
  } else if (chosen) {
    byId("timeline-detail").textContent = chosen.label + (chosen.label === chosen.row.label ? "" : ", " + chosen.row.label) + ": busy " + seconds(chosen.row.busy_s);
  }
  const box = byId("timeline-box"), top = rowPlace * plot.rowHeight;
  if (top < box.scrollTop) box.scrollTop = top;
  if (top + plot.rowHeight + axisHeight > box.scrollTop + box.clientHeight) box.scrollTop = top + plot.rowHeight + axisHeight - box.clientHeight;
  drawTimeline();
}

/* The next task of the row, or the one before; of none, the first in view. */
function selectNeighbour(by) {
  const chosen = timelineState.rows[timelineState.row];
  if (!chosen || !chosen.row.bars.n) return;
  const bar = timelineState.bar < 0 ? firstBarAfter(chosen.row.bars, view.from) : timelineState.bar + by;
  selectBar(timelineState.row, Math.max(0, Math.min(bar, chosen.row.bars.n - 1)));
}

function selectRow(by) {
  const place = Math.max(0, Math.min(timelineState.row + by, timelineState.rows.length - 1));
  selectBar(place, -1);
}

/* The next task of the critical path that is on a row in view. */
function selectOnPath(by) {
  const path = data.timeline.path, place = new Map(timelineState.rows.map(({ index }, i) => [index, i]));
  for (let i = timelineState.segment + by; i >= 0 && i < path.length; i += by) {
    const at = place.get(path[i].row);
    const bar = at === undefined ? -1 : barAt(timelineState.rows[at].row, (path[i].start + path[i].end) / 2);
    if (bar < 0) continue;
    timelineState.segment = i;
    selectBar(at, bar);
    return;
  }
}

function zoomToSelection() {
  const chosen = timelineState.rows[timelineState.row];
  if (!chosen || timelineState.bar < 0) return;
  const start = chosen.row.bars.start[timelineState.bar], length = chosen.row.bars.end[timelineState.bar] - start;
  setView(start - 2 * length, start + 3 * length);
}

/* Controls ------------------------------------------------------------------------------ */

const timelineKeys = {
  "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), "0": showWhole, Home: () => setView(0, view.to - view.from),
  End: () => setView(timelineEnd - (view.to - view.from), timelineEnd), ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
  ArrowUp: () => selectRow(-1), ArrowDown: () => selectRow(1), n: () => selectNeighbour(1), p: () => selectNeighbour(-1),
  c: () => selectOnPath(1), C: () => selectOnPath(-1), Enter: zoomToSelection, PageUp: () => pan(-0.9), PageDown: () => pan(0.9),
};

function onTimelineKey(event) {
  const action = timelineKeys[event.key];
  if (!action || event.ctrlKey || event.altKey || event.metaKey) return;
  event.preventDefault();
  action();
}

function pointed(event) {
  const box = byId("timeline-canvas").getBoundingClientRect();
  const place = Math.floor((event.clientY - box.top) / plot.rowHeight), x = event.clientX - box.left;
  const chosen = timelineState.rows[place];
  return { place, x, bar: chosen && x >= plot.left ? barAt(chosen.row, toTicks(x)) : -1 };
}

function showTooltip(event, text) {
  const tooltip = byId("tooltip");
  tooltip.hidden = !text;
  if (!text) return;
  tooltip.textContent = text;
  tooltip.style.left = Math.min(event.clientX + 14, window.innerWidth - tooltip.offsetWidth - 8) + "px";
  tooltip.style.top = Math.min(event.clientY + 14, window.innerHeight - tooltip.offsetHeight - 8) + "px";
}

function watchPointer(canvas) {
  let grabbed = null;
  canvas.addEventListener("pointerdown", event => {
    grabbed = { x: event.clientX, from: view.from, to: view.to, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", event => {
    if (!grabbed) {
      const { place, bar } = pointed(event);
      showTooltip(event, bar >= 0 ? barWords(timelineState.rows[place].row, bar) : "");
      return;
    }
    const by = (grabbed.x - event.clientX) / plot.width * (grabbed.to - grabbed.from);
    grabbed.moved = grabbed.moved || Math.abs(grabbed.x - event.clientX) > 3;
    if (grabbed.moved) setView(grabbed.from + by, grabbed.to + by);
  });
  canvas.addEventListener("pointerup", event => {
    const { place, bar } = pointed(event);
    if (grabbed && !grabbed.moved && timelineState.rows[place]) selectBar(place, bar);
    grabbed = null;
  });
  canvas.addEventListener("pointerleave", event => showTooltip(event, ""));
  canvas.addEventListener("dblclick", event => zoom(0.4, toTicks(pointed(event).x)));
  canvas.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    if (event.ctrlKey) zoom(event.deltaY < 0 ? 0.8 : 1.25, toTicks(pointed(event).x));
    else pan((event.deltaY || event.deltaX) / 800);
  }, { passive: false });
}

function showTimelineLegend() {
  const items = phases.map(name => legendItem("var(--" + name + ")", name === "gradient" ? "gradient of parameters" : name === "comm" ? "exchange" : name));
  if (byId("timeline-colour").value !== "phase")
    items.splice(0, 3, legendItem(numberedColour(0, 70), "forward"), legendItem(numberedColour(0, 48), "backward"), legendItem(numberedColour(0, 40), "gradient of parameters"));
  byId("timeline-legend").replaceChildren(...items, legendItem("var(--path)", "critical path"));
}

function timelineNote() {
  const t = data.timeline, devices = t.rows.filter(row => row.device !== undefined && !row.measured).length, links = t.rows.filter(row => row.link !== undefined).length, notes = [];
  if (devices < t.devices) notes.push(devices + " of " + t.devices + " devices are shown: those of the critical path and the first of each stage among them.");
  if (links < t.links) notes.push("Of " + t.links + " links that carry something the busiest of each class have rows: " + links + ".");
  if (t.merged_s > 0) notes.push("Tasks that lie within " + seconds(t.merged_s) + " are drawn as one bar.");
  if (t.minibatches) notes.push("The window goes from an empty pipeline to an empty one.");
  return notes.join(" ");
}

function startTimeline() {
  if (windowWords()) {
    byId("timeline-title").textContent = "Timeline of " + windowWords();
    byId("zoom-all").textContent = "whole window";
    byId("zoom-all").title = "The whole window (0)";
  }
  byId("timeline-box").prepend(make("canvas", { id: "timeline-axis", "aria-hidden": "true" }));
  document.body.append(make("div", { id: "tooltip", role: "tooltip", hidden: "" }));
  for (const row of data.timeline.rows)
    if (row.device !== undefined && !row.measured) byId("timeline-rows").append(make("option", { value: row.device }, "device " + row.device + " and its links"));
  byId("timeline-colour").querySelector("[value=micro]").textContent = instanceWord();
  if (data.headline.stages < 2) byId("timeline-colour").querySelector("[value=stage]").remove();
  if (data.headline.micro_batches < 2 && !data.timeline.minibatches) byId("timeline-colour").querySelector("[value=micro]").remove();
  byId("timeline-canvas").addEventListener("keydown", onTimelineKey);
  watchPointer(byId("timeline-canvas"));
  for (const [id, action] of [["zoom-in", timelineKeys["+"]], ["zoom-out", timelineKeys["-"]], ["pan-left", timelineKeys.ArrowLeft], ["pan-right", timelineKeys.ArrowRight], ["zoom-all", showWhole]])
    byId(id).addEventListener("click", action);
  for (const id of ["timeline-rows", "timeline-colour", "timeline-path", "timeline-each"])
    byId(id).addEventListener("change", () => {
      timelineState.bar = timelineState.segment = -1;
      showTimelineLegend();
      drawTimeline();
    });
  viewWatchers.push(drawTimeline);
  byId("timeline-note").textContent = timelineNote();
  showTimelineLegend();
}
