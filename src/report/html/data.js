/* What the page tells of: the object that hypar wrote, with its arrays of numbers spelt out. */

const data = JSON.parse(byId("data").textContent);

/* Bars of a row: parallel arrays of start, end (in ticks), name, micro-batch and tasks. */
function readBars(numbers) {
  const n = numbers.length / 5;
  const bars = { n, start: new Float64Array(n), end: new Float64Array(n), name: new Int32Array(n), micro: new Int32Array(n), tasks: new Int32Array(n) };
  for (let i = 0, at = 0; i < n; i++) {
    bars.start[i] = at + numbers[5 * i];
    bars.end[i] = at = bars.start[i] + numbers[5 * i + 1];
    bars.name[i] = numbers[5 * i + 2];
    bars.micro[i] = numbers[5 * i + 3];
    bars.tasks[i] = numbers[5 * i + 4];
  }
  return bars;
}

function readRows(timeline) {
  for (const row of timeline.rows) {
    row.bars = row.as === undefined ? readBars(row.bars) : timeline.rows[row.as].bars;
    row.label = row.device === undefined ? row.link : row.name + (row.measured ? " measured" : "");
  }
  for (const linkClass of timeline.classes) linkClass.label = classLabel(timeline.classes, linkClass);
}

/* "network cards out: busiest of 32"; the bandwidth is in it where another class has the same name. */
function classLabel(classes, { name, bytes_per_s, links }) {
  const alike = classes.filter(other => other.name === name).length;
  return name + (alike > 1 && bytes_per_s ? ", " + quantity(bytes_per_s, "B/s") : "") + ": busiest of " + links;
}

/* Segments { row, start, end, name, micro } of the critical path. */
function readPath(timeline) {
  const numbers = timeline.path, path = [];
  for (let i = 0, at = 0; i < numbers.length; i += 4) {
    const end = at + numbers[i + 1];
    path.push({ row: numbers[i], start: at, end, name: numbers[i + 2], micro: numbers[i + 3] });
    at = end;
  }
  timeline.path = path;
}

/* Points of a device: parallel arrays of time (in ticks) and bytes. */
function readPoints(numbers, unit) {
  const n = numbers.length / 2, time = new Float64Array(n), amount = new Float64Array(n);
  for (let i = 0, t = 0, a = 0; i < n; i++) {
    time[i] = t += numbers[2 * i];
    amount[i] = unit * (a += numbers[2 * i + 1]);
  }
  return { n, time, amount };
}

function readMemory(memory) {
  for (const device of memory.devices)
    device.points = device.as === undefined ? readPoints(device.points, memory.unit_bytes) : memory.devices[device.as].points;
}

readRows(data.timeline);
readPath(data.timeline);
readMemory(data.memory);
