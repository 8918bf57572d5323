/* Where bytes go: a matrix of devices, and the machine with how busy its links are. */

const matrixState = { from: 0, to: 0 };
const matrixRows = () => data.traffic.matrix ? Math.round(Math.sqrt(data.traffic.matrix.length)) : 0;

function matrixName(i) {
  const together = data.traffic.devices_in_row, last = Math.min(data.traffic.devices, (i + 1) * together) - 1;
  return together === 1 ? "Device " + i : "Devices " + i * together + "-" + last;
}

function drawMatrix() {
  const n = matrixRows(), box = byId("matrix-canvas").parentElement, size = Math.max(120, Math.min(520, box.clientWidth)), margin = 26, cell = (size - margin) / n;
  const matrix = data.traffic.matrix, most = Math.max(...matrix, 1), least = Math.min(...matrix.filter(value => value > 0), most);
  const context = beginDrawing(byId("matrix-canvas"), size, size), step = value => most > least ? Math.round(8 * Math.log(value / least) / Math.log(most / least)) : 8;
  const colours = Array.from({ length: 9 }, (_, i) => heatColour(0.15 + 0.85 * i / 8));
  for (let from = 0; from < n; from++)
    for (let to = 0; to < n; to++) {
      const value = matrix[from * n + to];
      context.fillStyle = value > 0 ? colours[step(value)] : styleColour("shade");
      context.fillRect(margin + to * cell, margin + from * cell, cell - (cell > 4 ? 1 : 0), cell - (cell > 4 ? 1 : 0));
    }
  context.fillStyle = styleColour("faint");
  context.textBaseline = "middle";
  context.textAlign = "center";
  for (let i = 0, step = Math.ceil(n / 8); i < n; i += step) {
    context.fillText(i * data.traffic.devices_in_row, margin + (i + 0.5) * cell, 12);
    context.fillText(i * data.traffic.devices_in_row, 12, margin + (i + 0.5) * cell);
  }
  context.strokeStyle = styleColour("focus");
  context.lineWidth = 2;
  context.strokeRect(margin + matrixState.to * cell, margin + matrixState.from * cell, cell, cell);
}

function showMatrixCell(from, to) {
  const n = matrixRows();
  matrixState.from = Math.max(0, Math.min(n - 1, from));
  matrixState.to = Math.max(0, Math.min(n - 1, to));
  byId("matrix-detail").textContent = matrixName(matrixState.from) + (data.traffic.devices_in_row > 1 ? " send " : " sends ") +
    bytes(data.traffic.matrix[matrixState.from * n + matrixState.to]) + " to " + matrixName(matrixState.to).toLowerCase() + ".";
  drawMatrix();
}

function startMatrix() {
  const canvas = byId("matrix-canvas"), n = matrixRows();
  if (!n) return;
  canvas.addEventListener("click", event => {
    const box = canvas.getBoundingClientRect(), cell = (box.width - 26) / n;
    showMatrixCell(Math.floor((event.clientY - box.top - 26) / cell), Math.floor((event.clientX - box.left - 26) / cell));
  });
  canvas.addEventListener("keydown", event => {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!by) return;
    event.preventDefault();
    showMatrixCell(matrixState.from + by[0], matrixState.to + by[1]);
  });
  const sent = data.traffic.matrix.filter(value => value > 0);
  if (sent.length) byId("matrix-scale").textContent = "Pairs that send anything send from " + bytes(Math.min(...sent)) + " to " + bytes(Math.max(...sent)) + "; colours follow the logarithm.";
  canvas.setAttribute("aria-label", "Bytes between " + n + " rows of devices; arrow keys choose a pair");
  const largest = data.traffic.matrix.indexOf(Math.max(...data.traffic.matrix));
  showMatrixCell(Math.floor(largest / n), largest % n);
}

/* The machine ----------------------------------------------------------------------------- */

function neighboursOf(links, n) {
  const neighbours = Array.from({ length: n }, () => []);
  for (const [from, to] of links) {
    neighbours[from].push(to);
    neighbours[to].push(from);
  }
  return neighbours;
}

/* How far each node is from the nearest device. */
function ranksOf(neighbours, devices) {
  const rank = neighbours.map((_, node) => node < devices ? 0 : -1), queue = rank.flatMap((r, node) => r === 0 ? [node] : []);
  for (let i = 0; i < queue.length; i++)
    for (const next of neighbours[queue[i]])
      if (rank[next] < 0) {
        rank[next] = rank[queue[i]] + 1;
        queue.push(next);
      }
  return rank;
}

/* Devices below, switches above the middle of what they connect. */
function placeTree(neighbours, devices, width) {
  const rank = ranksOf(neighbours, devices), highest = Math.max(...rank), place = [];
  for (let node = 0; node < devices; node++) place[node] = { x: (node + 0.5) * width / devices, y: highest * 90 + 24 };
  for (let r = 1; r <= highest; r++)
    for (let node = devices; node < rank.length; node++) {
      if (rank[node] !== r) continue;
      const below = neighbours[node].filter(other => rank[other] < r && place[other]);
      place[node] = { x: below.reduce((sum, other) => sum + place[other].x, 0) / below.length, y: (highest - r) * 90 + 24 };
    }
  return { place, height: highest * 90 + 52 };
}

/* Rows of as many devices as the last dimension of "torus:4x8" has. */
function placeGrid(devices, columns, width) {
  const rows = Math.ceil(devices / columns), cell = Math.min(width / columns, 90);
  const left = (width - columns * cell) / 2;
  return { place: Array.from({ length: devices }, (_, i) => ({ x: left + (i % columns + 0.5) * cell, y: (Math.floor(i / columns) + 0.5) * cell })), height: rows * cell };
}

function placeCircle(devices, width) {
  const radius = Math.min(width / 2 - 30, 30 + devices * 9), turn = 2 * Math.PI / devices;
  return { place: Array.from({ length: devices }, (_, i) => ({ x: width / 2 + radius * Math.sin(i * turn), y: radius + 20 - radius * Math.cos(i * turn) })), height: 2 * radius + 40 };
}

function placeNodes(traffic, width) {
  if (traffic.switches) return placeTree(neighboursOf(traffic.links, traffic.devices + traffic.switches), traffic.devices, width);
  const sizes = (/:([0-9]+(x[0-9]+)+)/.exec(data.headline.machine) || ["", ""])[1].split("x").map(Number);
  const fits = sizes.length > 1 && sizes.reduce((a, b) => a * b, 1) === traffic.devices;
  return fits && traffic.topology !== "full" ? placeGrid(traffic.devices, sizes[sizes.length - 1], width) : placeCircle(traffic.devices, width);
}

const nodeName = node => node < data.traffic.devices ? "device " + node : "switch " + node;

function linkWords([from, to, bandwidth, there, thereBusy, back, backBusy]) {
  const way = (a, b, size, busy) => nodeName(a) + " to " + nodeName(b) + ": " + bytes(size) + ", busy " + percent(busy / data.headline.step_s);
  return way(from, to, there, thereBusy) + "; " + way(to, from, back, backBusy) + "; " + quantity(bandwidth, "B/s");
}

const linkBusy = link => Math.max(link[4], link[6]) / data.headline.step_s;

/* A line, bent where it goes around what lies between: the ends of a torus. */
function linkShape(a, b, spacing) {
  const dx = b.x - a.x, dy = b.y - a.y, far = Math.hypot(dx, dy) > 1.5 * spacing;
  const bend = far ? 0.18 : 0;
  return "M" + a.x + " " + a.y + " Q" + ((a.x + b.x) / 2 - dy * bend) + " " + ((a.y + b.y) / 2 + dx * bend) + " " + b.x + " " + b.y;
}

const canDrawTopology = () => data.traffic.links && data.traffic.devices > 1;

function drawTopology() {
  const traffic = data.traffic, width = 720, { place, height } = placeNodes(traffic, width);
  const spacing = traffic.switches ? Infinity : Math.hypot(place[1].x - place[0].x, place[1].y - place[0].y);
  const svg = makeSvg("svg", { viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": "The machine's " + traffic.links.length + " links; the busiest are listed below" });
  const several = new Map(), most = Math.max(...traffic.links.map(linkBusy)) || 1;
  for (const link of traffic.links) {
    const key = link[0] + " " + link[1], count = several.get(key) || 0, share = linkBusy(link) / most;
    several.set(key, count + 1);
    const shift = { x: place[link[1]].x + 3 * count, y: place[link[1]].y };
    const path = makeSvg("path", { d: linkShape(place[link[0]], shift, spacing), fill: "none", stroke: heatColour(0.08 + share), "stroke-width": 1 + 4 * share });
    path.append(makeSvg("title", {}, linkWords(link)));
    svg.append(path);
  }
  const size = Math.max(5, Math.min(22, 0.8 * width / traffic.devices));
  place.forEach(({ x, y }, node) => {
    const device = node < traffic.devices;
    const box = makeSvg("rect", { class: "node", x: x - size / 2, y: y - (device ? size : 10) / 2, width: size, height: device ? size : 10, rx: device ? 3 : 5 });
    box.append(makeSvg("title", {}, nodeName(node)));
    svg.append(box);
    if (device && size > 12) svg.append(makeSvg("text", { x, y: y + 3.5 }, String(node)));
  });
  byId("topology").replaceChildren(svg, busiestLinks());
  byId("topology-detail").textContent = "The stronger a link is drawn, the longer one of its directions is busy: up to " + percent(most) + " of the step.";
}

function busiestLinks() {
  const links = data.timeline.rows.filter(row => row.link !== undefined).sort((a, b) => b.busy_s - a.busy_s).slice(0, 6);
  return makeTable([
    { name: "busiest links", cell: row => row.link }, { name: "busy", number: true, cell: row => seconds(row.busy_s) },
    { name: "of the step", number: true, cell: row => percent(row.busy_s / data.headline.step_s) },
  ], links);
}

function startTraffic() {
  startMatrix();
  if (canDrawTopology()) {
    drawTopology();
    return;
  }
  byId("topology").append(busiestLinks());
  if (data.traffic.devices > 1) byId("topology-detail").textContent = "The machine has too many links to be drawn.";
}
