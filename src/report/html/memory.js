/* Memory over time, of the device that is chosen or of all, with the timeline's view. */

const memoryHeight = 190;

function chosenMemory() {
  const value = byId("memory-device").value;
  return value === "all" ? data.memory.devices : data.memory.devices.filter(device => String(device.device) === value);
}

/* What a device holds stays until the next point. */
function curvePath(points, toY) {
  const path = new Path2D();
  let y = toY(points.n ? points.amount[0] : 0);
  path.moveTo(plot.left, y);
  for (let i = 0; i < points.n; i++) {
    const x = Math.min(plot.right, Math.max(plot.left, toX(points.time[i])));
    path.lineTo(x, y);
    y = toY(points.amount[i]);
    path.lineTo(x, y);
  }
  path.lineTo(plot.right, y);
  return path;
}

function drawCurve(context, points, toY, colour, filled) {
  const path = curvePath(points, toY);
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = filled ? 1.5 : 1;
  context.stroke(path);
  if (!filled) return;
  path.lineTo(plot.right, toY(0));
  path.lineTo(plot.left, toY(0));
  context.globalAlpha = 0.35;
  context.fill(path);
  context.globalAlpha = 1;
}

function drawMemory() {
  const devices = chosenMemory();
  const limit = Math.max(...devices.map(device => device.limit_bytes)), peak = Math.max(...devices.map(device => device.peak_bytes));
  const top = peak > 0.4 * limit ? Math.max(limit, peak) * 1.04 : peak * 1.15;
  const toY = amount => 8 + (1 - amount / top) * (memoryHeight - 30);
  const context = beginDrawing(byId("memory-canvas"), plot.right, memoryHeight);
  context.textBaseline = "middle";
  context.textAlign = "right";
  const step = axisStep(top, 4);
  for (let at = 0; at <= top; at += step) {
    context.fillStyle = styleColour("line");
    context.fillRect(plot.left, toY(at), plot.width, 1);
    context.fillStyle = styleColour("faint");
    context.fillText(at === 0 ? "0" : bytes(at), plot.left - 6, toY(at));
  }
  const alike = devices.filter(device => device.as === undefined || devices.length === 1);
  alike.forEach((device, i) => drawCurve(context, device.points, toY, alike.length > 1 ? numberedColour(i, 55) : styleColour("accent"), alike.length === 1));
  if (limit <= top) {
    context.fillStyle = styleColour("path");
    context.fillRect(plot.left, toY(limit), plot.width, 2);
    context.fillText("limit", plot.left - 6, toY(limit) + (toY(limit) < 20 ? 10 : 0));
  }
  drawMemoryAxis(context);
}

function drawMemoryAxis(context) {
  const step = axisStep(view.to - view.from, Math.max(2, plot.width / 110));
  context.textAlign = "center";
  context.fillStyle = styleColour("faint");
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step)
    context.fillText(at === 0 ? "0" : tickSeconds(at), Math.min(toX(at), plot.right - 24), memoryHeight - 8);
}

function memoryWords(devices) {
  const fullest = devices.reduce((a, b) => b.peak_bytes / b.limit_bytes > a.peak_bytes / a.limit_bytes ? b : a);
  return { fullest, text: "Device " + fullest.device + (devices.length > 1 ? ", the fullest," : "") + " holds at most " + bytes(fullest.peak_bytes) + " of " + bytes(fullest.limit_bytes) +
    " (" + percent(fullest.peak_bytes / fullest.limit_bytes) + "): " + fullest.items.map(item => item.name + " " + bytes(item.bytes)).join(", ") + "." };
}

function showMemory() {
  const { fullest, text } = memoryWords(chosenMemory());
  byId("memory-detail").textContent = text;
  byId("memory-canvas").setAttribute("aria-label", text);
  fillShareBar(byId("memory-items"), fullest.items.map(item => ({ name: item.name, value: item.bytes, text: bytes(item.bytes), colour: "var(--" + item.colour + ")" })));
  drawMemory();
}

function startMemory() {
  const select = byId("memory-device");
  select.append(make("option", { value: "all" }, "all that differ"), ...data.memory.devices.map(device => make("option", { value: device.device }, String(device.device))));
  if (data.memory.devices.some(device => device.device === data.headline.fullest_device)) select.value = data.headline.fullest_device;
  select.addEventListener("change", showMemory);
  viewWatchers.push(drawMemory);
  showMemory();
}
