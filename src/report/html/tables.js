/* What would help, planners side by side, and what was measured. */

function changeCell(step, now) {
  return make("span", { class: step < now ? "better" : step > now ? "worse" : null }, change(step, now));
}

function showWhatIf() {
  const now = data.headline.step_s, there = data.what_if.filter(row => row.step_s && !row.why_not), rest = data.what_if.filter(row => !row.step_s || row.why_not);
  const rows = [{ what: "as it is", step_s: now, fits: data.headline.fits, peak_memory_bytes: data.headline.peak_memory_bytes, now: true }, ...there];
  byId("what-if").replaceChildren(makeTable([
    { name: "what would help", cell: row => row.what }, ...numberColumns(data.what_if_columns, row => row),
    { name: "change", number: true, cell: row => row.now ? "" : changeCell(row.step_s, now) },
    { name: "", cell: row => row.fits === false ? "does not fit" : "" },
  ], rows, row => row.now ? "now" : null));
  if (rest.length) byId("what-if").append(make("p", { class: "note" }, "Left out: " + rest.map(row => row.what + (row.why_not ? ": " + row.why_not : "")).join("; ") + "."));
}

/* "k=8 +16 %, h=8 +23 %" */
function alternativeWords(alternatives, now) {
  if (!alternatives.length) return "-";
  return alternatives.flatMap((other, i) => [i ? ", " : "", other.what + " ", changeCell(other.step_s, now)]);
}

function showOperators() {
  const now = data.headline.step_s;
  byId("operators").replaceChildren(makeTable([
    { name: "costliest operators", cell: row => row.name + (row.alike > 1 ? " (of " + row.alike + " alike)" : "") }, { name: "kind", cell: row => row.kind },
    { name: "split", cell: row => row.split }, { name: "time", number: true, cell: row => seconds(row.seconds) },
    { name: "the step, if it were split", cell: row => alternativeWords(row.alternatives.filter(other => other.step_s), now) },
  ], data.operators));
  if (data.alternatives_left_out) byId("operators").append(make("p", { class: "note" }, data.alternatives_left_out));
}

/* Why a plan is not ranked; "": it is. */
function notRanked(predicted) {
  return !predicted.fits ? "does not fit" : predicted.delayed_updates ? "updates are delayed" : predicted.batch_per_replica ? "a batch for each replica" : "";
}

/* Forms of columns (hp_put_columns()). */
const forms = { seconds, bytes, percent, joules: value => quantity(value, "J"), times: value => value ? value.toFixed(2) + " x" : "-" };

/* Columns that hp_put_columns() wrote, of the numbers of `of(row)`. */
function numberColumns(columns, of) {
  const known = (row, key) => of(row) && of(row)[key] !== null && of(row)[key] !== undefined;
  return columns.map(c => ({ name: c.name, number: true, cell: row => known(row, c.key) ? forms[c.form](of(row)[c.key]) : "-" }));
}

/* Rows of planners and plans; those that have no plan say why. */
function showPlanners() {
  const rows = data.comparison, ranked = rows.filter(row => row.predicted && !notRanked(row.predicted));
  const best = Math.min(...ranked.map(row => row.predicted.step_s));
  byId("planners-table").replaceChildren(makeTable([
    { name: "", cell: row => row.planner || "this plan" },
    ...numberColumns(data.comparison_columns, row => row.predicted),
    { name: "search", number: true, cell: row => row.search ? seconds(row.search.seconds) : "-" },
    { name: "", cell: row => row.error || notRanked(row.predicted) },
  ], rows, row => row.plan ? "now" : row.predicted && row.predicted.step_s === best ? "best" : null));
}

/* What PyTorch's profiler saw, as rows like those of hypar's own runs. */
function torchRows(m) {
  const sum = row => ({ name: row.name, predicted_s: row.forward.predicted_s + row.backward.predicted_s, measured_s: row.forward.measured_s + row.backward.measured_s });
  return { phases: ["forward", "backward", "update"].map(name => ({ name, ...m[name] })), operators: m.operators.map(sum) };
}

function measuredColumns(name) {
  return [
    { name, cell: row => row.name }, { name: "predicted", number: true, cell: row => seconds(row.predicted_s) },
    { name: "measured", number: true, cell: row => seconds(row.measured_s) },
    { name: "predicted / measured", number: true, cell: row => row.measured_s > 0 ? (row.predicted_s / row.measured_s).toFixed(2) : "-" },
  ];
}

function showMeasured() {
  const m = data.measured, torch = m.ranks === undefined, rows = torch ? torchRows(m) : m, most = 12;
  const who = torch ? "rank " + m.rank : m.ranks === 1 ? "1 rank" : m.ranks + " ranks";
  byId("measured-words").textContent = "A step of " + who + " took " + seconds(m.measured_s) + ", predicted " + seconds(m.predicted_s) +
    " (" + change(m.predicted_s, m.measured_s) + "); " + (m.steps === 1 ? "1 step was" : m.steps + " steps were") + " measured." +
    (m.in_process ? " Ranks took turns in one process: a step is all of them, and nothing is told of waiting." : "");
  const longest = list => [...list].sort((a, b) => Math.max(b.predicted_s, b.measured_s) - Math.max(a.predicted_s, a.measured_s));
  byId("measured-table").replaceChildren(...[["phase", rows.phases], ["operator", rows.operators], ["exchange", rows.exchanges]].filter(([, list]) => list && list.length)
    .flatMap(([name, list]) => [makeTable(measuredColumns(name), name === "phase" ? list : longest(list).slice(0, most)),
      list.length > most ? make("p", { class: "note" }, "The longest " + most + " of " + list.length + ".") : ""]));
}
