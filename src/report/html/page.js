/* The page as a whole: sections, theme, printing. */

window.addEventListener("error", event => {
  byId("errors").hidden = false;
  byId("errors").textContent = "This page has an error: " + event.message;
});

function redraw() {
  drawTimeline();
  drawMemory();
  if (matrixRows()) drawMatrix();
  if (canDrawTopology()) drawTopology();
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = theme === "dark" ? "Light" : "Dark";
  byId("theme").setAttribute("aria-pressed", String(theme === "dark"));
}

function startTheme() {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  setTheme(system.matches ? "dark" : "light");
  system.addEventListener("change", () => {
    setTheme(system.matches ? "dark" : "light");
    redraw();
  });
  byId("theme").addEventListener("click", () => {
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    redraw();
  });
}

/* On paper the page is light, as wide as the paper, and shows the whole step. */
function startPrinting() {
  const before = {};
  window.addEventListener("beforeprint", () => {
    Object.assign(before, { theme: document.documentElement.dataset.theme, from: view.from, to: view.to });
    setTheme("light");
    plot.paper = true;
    showWhole();
    redraw();
  });
  window.addEventListener("afterprint", () => {
    setTheme(before.theme);
    plot.paper = false;
    setView(before.from, before.to);
    redraw();
  });
}

/* Sections and links to them that have nothing to tell are hidden. */
function hideEmpty() {
  for (const element of document.querySelectorAll("[data-needs]")) element.hidden = !data[element.dataset.needs];
}

function start() {
  startTheme();
  hideEmpty();
  showHeadline();
  showBound();
  startTimeline();
  drawTimeline();
  startMemory();
  showPlan();
  startLevels();
  startTraffic();
  showWhatIf();
  showOperators();
  if (data.comparison) showPlanners();
  if (data.measured) showMeasured();
  startPrinting();
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    redraw();
  });
  document.documentElement.dataset.loaded = Math.round(performance.now());
}

start();
