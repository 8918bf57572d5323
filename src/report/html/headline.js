/* What stands at the top, and what bounds the step. */

/* Under schedule pipedream a step is a minibatch in steady state; path and timeline are of a window of so many. */
const windowWords = () => data.timeline.minibatches ? "a window of " + data.timeline.minibatches + " minibatches" : "";

/* "gpt2 on cluster:4x8,device=a100, planner 3d: a step of 93.5 ms" */
function titleWords(h) {
  return h.model + " on " + h.machine + (h.planner ? ", planner " + h.planner : "") + ": a " + (h.forward ? "forward pass" : "step") + " of " + seconds(h.step_s) +
    (windowWords() ? " (a minibatch in steady state)" : "");
}

/* "8 of 10: 14.1 s to 16.2 s" */
const intervalWords = h => (h.calibrated_rows ? "8 of 10: " : "not calibrated, expect ") + seconds(h.step_low_s) + " to " + seconds(h.step_high_s);

function describe(h) {
  const parts = ["batch " + h.batch, h.precision, h.optimizer, "on " + h.devices + (h.devices === 1 ? " device" : " devices")];
  if (h.stages > 1) parts.push(h.stages + " stages, schedule " + h.schedule);
  if (h.micro_batches > 1) parts.push(h.micro_batches + " micro-batches");
  if (h.forward) parts.push("forward phases alone");
  return parts.join(", ") + ". " + h.run_as + ".";
}

function headlineItems(h) {
  const items = [
    { key: "step_s", name: h.forward ? "Forward pass" : "Step", value: seconds(h.step_s), small: intervalWords(h) + "; " + h.tasks.toLocaleString("en") + " tasks" + (windowWords() ? " in " + windowWords() : ""), first: true },
    { key: "samples_per_s", name: "Samples per second", value: quantity(h.samples_per_s, ""), small: h.tokens_per_s ? quantity(h.tokens_per_s, "") + " tokens per second" : "" },
    { key: "mfu", name: "Of the peak", value: percent(h.mfu), small: "model FLOPs" },
    { key: "peak_memory_bytes", name: "Memory", value: bytes(h.peak_memory_bytes), small: "of " + bytes(h.memory_limit_bytes) + " on device " + h.fullest_device + (h.fits ? "; it fits" : "") },
    { key: "energy_j", name: "Energy", value: quantity(h.energy_j, "J"), small: "a step, by counted operations" },
    { key: "comm_bytes", name: "Sent", value: bytes(h.comm_bytes), small: "a step, each byte once" },
  ];
  if (h.bound_s) items.push({ key: "bound_s", name: "No plan is faster by this model than", value: seconds(h.bound_s), small: h.bound_by + "; the gap is " + percent(h.step_s / h.bound_s - 1) });
  return items;
}

function showHeadline() {
  const h = data.headline;
  document.title = titleWords(h) + " - hypar report";
  byId("title").textContent = titleWords(h);
  byId("about").textContent = describe(h);
  byId("headline").replaceChildren(...headlineItems(h).map(item =>
    make("div", { class: item.first ? "first" : null },
      make("dt", {}, item.name),
      make("dd", { id: "value-" + item.key, "data-value": h[item.key] }, item.value, make("small", {}, item.small)))));
  if (!h.fits) byId("value-peak_memory_bytes").append(make("small", { class: "warn" }, "It does not fit."));
  byId("footer").textContent = h.figures + ". Predicted by simulation; times and bytes are of one training step" + (windowWords() ? "; the path and the timeline are of " + windowWords() : "") + ".";
}

const boundColours = { computing: "forward", recomputation: "backward", update: "update", exchange: "comm", bubble: "gradient", launches: "other" };

/* Rows of one kind together, the longest first. */
function sumByKind(rows) {
  const sums = new Map();
  for (const row of rows) sums.set(row.kind, (sums.get(row.kind) || 0) + row.share);
  return [...sums].sort((a, b) => b[1] - a[1]);
}

function showBound() {
  const kinds = sumByKind(data.bound_by);
  if (windowWords()) byId("bound-title").textContent = "What bounds " + windowWords();
  byId("bound-words").textContent = "The critical path goes from task to task, from the begin of the " + (windowWords() ? "window" : "step") + " to its end; its time goes to: " +
    kinds.map(([kind, share]) => kind + " " + percent(share)).join(", ") + ".";
  fillShareBar(byId("bound-bar"), kinds.map(([kind, share]) => ({ name: kind, value: share, text: percent(share), colour: "var(--" + boundColours[kind] + ")" })));
  const columns = [
    { name: "on the critical path", cell: row => [make("i", { class: "swatch", style: "background:var(--" + boundColours[row.kind] + ")" }), row.name === row.kind ? row.kind : row.kind + ": " + row.name] },
    { name: "time", number: true, cell: row => seconds(row.seconds) },
    { name: "share", number: true, cell: row => percent(row.share) },
    { name: "in queues", number: true, cell: row => row.queued_s > 0 ? seconds(row.queued_s) : "-" },
  ];
  const few = 8, rest = data.bound_by.slice(few);
  byId("bound-table").replaceChildren(make("div", { class: "scroll" }, makeTable(columns, data.bound_by.slice(0, few))));
  if (rest.length)
    byId("bound-table").append(make("details", {}, make("summary", {}, rest.length + " more"), make("div", { class: "scroll" }, makeTable(columns, rest.slice(0, 200)))));
}
