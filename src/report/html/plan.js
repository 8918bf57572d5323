/* The model with its splits: stages, layers that are alike once, and the matrix of layers by level or
 * by device. */

function pieceBox(piece) {
  const more = piece.ops > 2 ? " (" + piece.ops + ")" : "";
  return make("div", { class: "piece role-" + piece.role, title: piece.kind + ", " + piece.whole_split + "; divided: " + data.plan.roles[piece.role] },
    piece.name, make("b", {}, (piece.split || piece.whole_split) + more));
}

function layerBox(row) {
  const words = [row.count > 1 ? row.count + " times" : "", row.all ? "all " + row.all : "", row.marks].filter(Boolean).join("; ");
  return make("div", { class: row.count > 1 ? "layer pile" : "layer" },
    make("span", { class: "layer-title" }, row.name), make("span", { class: "layer-words" }, words),
    make("div", { class: "pieces" }, row.pieces.map(pieceBox)));
}

/* Rows of one piece stand side by side, others in boxes of their own. */
function layerBoxes(rows) {
  const boxes = [];
  let line = null;
  for (const row of rows) {
    if (row.name !== undefined) {
      boxes.push(layerBox(row));
      line = null;
      continue;
    }
    if (!line) boxes.push(line = make("div", { class: "pieces" }));
    const box = pieceBox(row.pieces[0]);
    if (row.marks) box.append(make("small", {}, row.marks));
    line.append(box);
  }
  return boxes;
}

function roleLegend(roles) {
  return [make("span", {}, "divided:"), ...[...roles].map(role => legendItem("var(--" + role + ")", data.plan.roles[role]))];
}

function showStages() {
  if (!data.plan.stages.length) return;
  const columns = [
    { name: "stages", cell: group => group.stages }, { name: "layers", cell: group => group.layers }, { name: "each", cell: group => group.each },
    { name: "devices", cell: group => group.devices }, { name: "replicas", number: true, cell: group => group.replicas }, { name: "parts", number: true, cell: group => group.parts },
  ];
  byId("plan-stages").replaceChildren(make("div", { class: "scroll" }, makeTable(columns, data.plan.stages)));
}

function showPlan() {
  const pieces = data.plan.rows.flatMap(row => row.pieces);
  showStages();
  byId("plan-legend").replaceChildren(...roleLegend(new Set(pieces.map(piece => piece.role))));
  byId("plan-rows").replaceChildren(...layerBoxes(data.plan.rows));
  byId("plan-note").textContent = [data.plan.idle ? data.plan.idle + "." : "", data.plan.rows_left_out ? data.plan.rows_left_out + " more rows are left out." : ""].join(" ");
}

/* By level, by device --------------------------------------------------------------------- */

/* The role of the axis of this letter, in a piece. */
function axisRole(piece, letter) {
  const axis = piece.axes.find(([name]) => name === letter);
  return axis ? axis[1] : "inner";
}

/* What a level divides of a piece: letters of axes, null between stages. */
function choiceCell(piece, letters) {
  if (letters === null) return make("td", { class: "choice role-stage", title: "its neighbours at this level have other layers, or none" }, "stage");
  if (letters === "") return make("td", { class: "choice role-copy", title: "neighbours have the same" }, "same");
  const role = axisRole(piece, letters[letters.length - 1]);
  return make("td", { class: "choice role-" + role, title: "divided: " + data.plan.roles[role] }, [...letters].join(" "));
}

/* The places of `device` in runs of devices, as first and number. */
function placesIn(runs, device) {
  const places = [];
  for (let i = 0, at = 0; i < runs.length; at += runs[i + 1], i += 2)
    if (device >= runs[i] && device < runs[i] + runs[i + 1]) places.push(at + device - runs[i]);
  return places;
}

/* The layers that have parts of a piece on `device`, of a piece whose layers lie on different ones. */
function layersOn(piece, device) {
  return [...piece.devices.keys()].filter(layer => placesIn(piece.devices[layer], device).length);
}

/* The numbers of the parts of a piece that `device` has, of any layer. */
function partsOn(piece, device) {
  return [...new Set(piece.devices.flatMap(runs => placesIn(runs, device)))];
}

/* "n 0-15 of 64, k 256-511 of 1024": a part of a piece by its number. */
function partWords(piece, part) {
  const words = [];
  for (const [letter, , ...bounds] of [...piece.axes].reverse()) {
    const degree = bounds.length - 1, i = part % degree;
    part = Math.floor(part / degree);
    words.unshift(letter === "r" ? "copy " + i + " of " + degree : letter + " " + bounds[i] + "-" + (bounds[i + 1] - 1) + " of " + bounds[degree]);
  }
  return words.join(", ") || "all of it";
}

/* Every piece with its row and the name of its layers. */
function namedPieces() {
  return data.plan.rows.flatMap(row => row.pieces.map(piece =>
    ({ row, piece, layers: row.name === undefined ? "" : row.name + (row.count > 1 ? " (" + row.count + ")" : "") })));
}

/* "0-1, 4-5": numbers that ascend, as runs. */
function runWords(numbers) {
  const runs = [];
  for (const number of numbers)
    if (runs.length && runs[runs.length - 1][1] === number - 1) runs[runs.length - 1][1] = number;
    else runs.push([number, number]);
  return runs.map(([first, last]) => first === last ? first : first + "-" + last).join(", ");
}

/* Of layers on different devices those that are on this one: "h.0 .. h.47: number 15-17". */
function layersWords({ row, piece, layers }, device) {
  if (piece.devices.length === 1) return layers;
  const on = layersOn(piece, device);
  return row.name + (on.length ? ": number " + runWords(on) : ": none");
}

function levelTable() {
  const head = make("tr", {}, make("th", { scope: "col" }, "layers"), make("th", { scope: "col" }, "operators"),
    data.plan.levels.map((level, h) => make("th", { scope: "col", class: "choice", title: level.ways + " groups, " + quantity(level.bytes_per_s, "B/s") + " from one to the others" },
      "H" + (h + 1), make("br"), make("small", {}, level.ways + " x"))));
  let before = null;
  const rows = namedPieces().map(({ piece, layers }) => {
    const name = layers === before ? "" : layers;
    before = layers;
    return make("tr", {}, make("td", {}, name), make("td", {}, piece.name), piece.levels.map(letters => choiceCell(piece, letters)));
  });
  return make("table", {}, make("thead", {}, head), make("tbody", {}, rows));
}

function deviceTable(device) {
  return makeTable([
    { name: "layers", cell: place => layersWords(place, device) }, { name: "operators", cell: ({ piece }) => piece.name },
    { name: "split", cell: ({ piece }) => piece.whole_split }, { name: "on device " + device, cell: ({ piece }) => partsOn(piece, device).map(part => partWords(piece, part)).join("; ") || "-" },
  ], namedPieces(), ({ piece }) => partsOn(piece, device).length ? "role-" + piece.role : null);
}

function showLevels() {
  const byDevice = byId("levels-mode").value === "device", device = Number(byId("levels-device").value) || 0;
  byId("levels-device-label").hidden = !byDevice;
  byId("levels-words").textContent = byDevice
    ? "The part of each operator that device " + device + " has: ranges of its axes."
    : "Each level of the machine divides a group of devices further, H1 first; a cell names the axes that devices on its two sides have different parts of: n are samples (data parallel), others divide the layer (model parallel).";
  byId("levels-table").replaceChildren(byDevice ? deviceTable(device) : levelTable());
}

function startLevels() {
  const open = () => byId("levels-folded").setAttribute("open", ""); /* a link to the section opens it */
  document.querySelector('nav a[href="#levels"]').addEventListener("click", open);
  if (location.hash === "#levels") open();
  byId("levels-device").max = data.headline.devices - 1;
  byId("levels-mode").addEventListener("change", showLevels);
  byId("levels-device").addEventListener("input", showLevels);
  byId("levels-legend").replaceChildren(...roleLegend(["sample", "attribute", "parameter", "reduction", "copy"]), legendItem("var(--stage)", "stages"));
  showLevels();
}
