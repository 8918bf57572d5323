/* Numbers as the command prints them, and elements of the page. */

const prefixes = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "u"], [1e-9, "n"], [1e-12, "p"]];

/* 0.01472, "s" -> "14.7 ms" */
function quantity(value, unit) {
  if (value === null || value === undefined) return "-";
  if (value === 0) return "0 " + unit;
  const size = Math.abs(value);
  const whole = unit === "B" || unit === "";
  for (const [factor, letter] of prefixes) {
    if (whole && factor < 1) break;
    const digits = Number((size / factor).toPrecision(3));
    if (digits >= 1) return (value < 0 ? "-" : "") + digits + (letter || unit ? " " : "") + letter + unit;
  }
  return Number(value.toPrecision(3)) + (unit ? " " + unit : "");
}

const seconds = value => quantity(value, "s");
const bytes = value => quantity(value, "B");
const percent = share => (100 * share).toFixed(1) + " %";

/* How much longer or shorter: "-41 %", "+5.8 %", "2.3 x". */
function change(value, now) {
  const ratio = value / now - 1;
  if (ratio > 2) return (ratio + 1).toFixed(1) + " x";
  const size = Math.abs(100 * ratio), text = size.toFixed(size < 9.95 ? 1 : 0);
  return (text === "0.0" ? "" : ratio > 0 ? "+" : "-") + text + " %";
}

const byId = id => document.getElementById(id);

/* An element with attributes, and children that are elements or texts. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {}))
    if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
  element.append(...children.flat());
  return element;
}

function makeSvg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/* A table: columns are { name, number, cell: row -> text or element }. */
function makeTable(columns, rows, rowClass) {
  const head = make("tr", {}, columns.map(c => make("th", { scope: "col", class: c.number ? "number" : null }, c.name)));
  const body = rows.map(row => make("tr", { class: rowClass ? rowClass(row) : null },
    columns.map(c => make("td", { class: c.number ? "number" : null }, c.cell(row)))));
  return make("table", {}, make("thead", {}, head), make("tbody", {}, body));
}

function legendItem(colour, text) {
  return make("span", {}, make("i", { class: "swatch", style: "background:" + colour }), text);
}

/* Shares of a whole, one behind the other: { name, value, text, colour }. One whose words do not fit has none. */
function fillShareBar(bar, parts) {
  const whole = parts.reduce((sum, part) => sum + part.value, 0);
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", parts.map(part => part.name + " " + part.text).join(", "));
  bar.replaceChildren(...parts.map(part => {
    const share = part.value / whole, words = part.name + " " + part.text, narrow = share * bar.clientWidth < 14 + 7.2 * words.length;
    return make("span", { style: "flex:" + share + ";background:" + part.colour, title: words, class: narrow ? "narrow" : null }, narrow ? "" : words);
  }));
}

/* A colour of the style, as it is now: light or dark. */
function styleColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

/* Colours of things that are numbered: stages, micro-batches. */
function numberedColour(i, shade) {
  return "hsl(" + (i * 137.5) % 360 + " 55% " + shade + "%)";
}

/* 0..1 -> from the card's colour to the critical path's. */
function heatColour(share) {
  return "color-mix(in srgb, " + styleColour("path") + " " + Math.round(100 * Math.min(1, share)) + "%, " + styleColour("shade") + ")";
}

const plotFont = "11px system-ui, sans-serif";

/* A canvas in pixels of the screen, to be drawn on in pixels of the style. */
function beginDrawing(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = plotFont;
  return context;
}
