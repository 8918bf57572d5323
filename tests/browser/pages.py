"""The page of `hypar report` in a browser: loads without an error, shows the numbers of `hypar simulate`, and answers its controls."""
import json
import os
import re
import subprocess
import sys
import tempfile

from driver import Browser

failed = 0


def check(what, holds, *told):
    global failed
    if not holds:
        failed += 1
        print("failed:", what, *(str(thing)[:400] for thing in told))


def hypar(*arguments):
    done = subprocess.run(["hypar", *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit("hypar %s: exit %d: %s" % (" ".join(arguments), done.returncode, done.stderr))
    return done.stdout


def number(browser, key):
    return float(browser.run("return document.getElementById(arguments[0]).dataset.value", "value-" + key))


def view(browser):
    return browser.run("return [view.from, view.to]")


def check_numbers(browser, plan):
    """What stands at the top is what the simulation says, and the rows are its rows."""
    said = json.loads(hypar("simulate", plan, "--json", "-q"))
    for key in ["step_s", "samples_per_s", "mfu", "peak_memory_bytes", "comm_bytes"]:
        check(key, number(browser, key) == said[key], number(browser, key), said[key])
    check("energy", number(browser, "energy_j") == said["energy"]["total_j"])
    rows = browser.run("return data.timeline.rows.filter(row => row.device !== undefined).map(row => row.busy_s)")
    check("devices", rows == [device["busy_s"] for device in said["devices"]][:64])
    peaks = browser.run("return data.memory.devices.map(device => Math.max(...device.points.amount) / device.peak_bytes)")
    check("the curves' highest points are the peaks", all(abs(peak - 1) < 1e-5 for peak in peaks), peaks)
    ends = browser.run("return data.timeline.path.map(segment => segment.end)")
    check("the critical path ends with the step", abs(ends[-1] - browser.run("return timelineEnd")) <= 1)
    computed = browser.run("return data.timeline.rows.map(row => { let sum = 0; for (let i = 0; i < row.bars.n; i++) sum += row.bars.end[i] - row.bars.start[i]; return sum * data.timeline.tick_s })")
    for device, bars in zip(said["devices"], computed):
        check("bars of a device are as long as it is busy", abs(bars - device["busy_s"]) < 1e-3 * said["step_s"], bars, device["busy_s"])


def check_timeline_keys(browser):
    canvas = "#timeline-canvas"
    whole = view(browser)
    browser.keys(canvas, "+", "+")
    near = view(browser)
    check("+ zooms in", near[1] - near[0] < 0.5 * (whole[1] - whole[0]), near)
    browser.keys(canvas, "Right")
    later = view(browser)
    check("the right arrow goes to later tasks", later[0] > near[0] and abs((later[1] - later[0]) - (near[1] - near[0])) < 1)
    browser.keys(canvas, "-")
    check("- zooms out", view(browser)[1] - view(browser)[0] > later[1] - later[0])
    browser.keys(canvas, "0")
    check("0 shows the whole step", view(browser) == whole)
    browser.keys(canvas, "c")
    task = browser.text("#timeline-detail")
    check("c tells of a task of the path", "starts at" in task and "takes" in task, task)
    browser.keys(canvas, "n")
    check("n tells of the next task", browser.text("#timeline-detail") not in ("", task))
    browser.keys(canvas, "Enter")
    check("Enter zooms to it", view(browser)[1] - view(browser)[0] < 0.5 * whole[1])
    browser.keys(canvas, "0", "Down")
    check("the down arrow goes to the next row", browser.run("return timelineState.row") >= 1)


def check_timeline_mouse(browser):
    canvas, whole = "#timeline-canvas", view(browser)
    browser.click("#zoom-in")
    near = view(browser)
    check("the button zooms in", near[1] - near[0] < whole[1] - whole[0])
    browser.run("document.querySelector('#timeline').scrollIntoView()")
    browser.pointer(canvas, ("move", 100, -60), ("down",), ("move", -100, -60), ("up",))
    check("dragging to the left goes to later tasks", view(browser)[0] > near[0], view(browser), near)
    browser.click("#zoom-all")
    check("the button shows the whole step", view(browser) == whole)


def open_levels(browser):
    """The section is folded until it is asked for."""
    check("levels are folded", not browser.run("return document.getElementById('levels-folded').open"))
    browser.click("#levels-folded > summary")
    check("a click opens them", browser.run("return document.getElementById('levels-folded').open"))


def check_title(browser, *words):
    """What the page is of: model, machine, planner and step."""
    for title in [browser.text("h1"), browser.run("return document.title")]:
        check("the title says all", all(word in title for word in words), title, words)


def check_folded(browser):
    """Links of a class have one row, network cards first; a box shows each link; labels stand whole."""
    labels = "return timelineState.rows.map(shown => shown.label)"
    folded = [label for label in browser.run(labels) if not label.startswith("device ") or "->" in label]
    check("a row for each class of links", len(folded) == 4 == browser.run("return data.timeline.classes.length"), folded)
    check("network cards first", folded and folded[0] == "network cards out: busiest of 2", folded)
    check("the busiest link stands for its class", browser.run("""return timelineState.rows.filter(shown => shown.row.class !== undefined).every(shown =>
        shown.row.busy_s === Math.max(...data.timeline.rows.filter(row => row.class === shown.row.class).map(row => row.busy_s)))"""))
    browser.click("#timeline-each")
    each = browser.run(labels)
    check("the box shows each link", len(each) == browser.run("return data.timeline.rows.length") > 8 + 4, len(each))
    browser.click("#timeline-each")
    widest = browser.run("""const context = document.createElement("canvas").getContext("2d"); context.font = plotFont;
        return Math.max(...timelineState.rows.map(shown => context.measureText(shown.label).width))""")
    check("labels stand whole, left of the bars", 6 + widest < browser.run("return plot.left"), widest)


def check_choices(browser, devices):
    rows = "return timelineState.rows.length"
    everything = browser.run(rows)
    browser.choose("#timeline-rows", "devices")
    check("rows of devices alone", browser.run(rows) == devices < everything)
    browser.choose("#timeline-rows", "1")
    check("rows of one device and its links", 1 <= browser.run(rows) < devices)
    browser.choose("#timeline-rows", "all")
    browser.choose("#memory-device", "1")
    check("memory of another device", browser.text("#memory-detail").startswith("Device 1 "), browser.text("#memory-detail"))
    open_levels(browser)
    check("a cell for each level", browser.run("return document.querySelectorAll('#levels-table td.choice').length") > 0)
    browser.choose("#levels-mode", "device")
    browser.choose("#levels-device", "1")
    table = browser.text("#levels-table")
    check("what lies on one device", "on device 1" in table, table[:200])
    browser.choose("#levels-mode", "level")
    before = browser.text("#matrix-detail")
    browser.keys("#matrix-canvas", "Down", "Down")
    check("arrow keys choose a pair of the matrix", browser.text("#matrix-detail") != before)


def check_theme(browser):
    background = "return getComputedStyle(document.body).backgroundColor"
    light = browser.run(background)
    browser.click("#theme")
    dark = browser.run(background)
    check("the button makes it dark", dark != light and browser.run("return document.documentElement.dataset.theme") == "dark", dark)
    browser.click("#theme")
    check("and light again", browser.run(background) == light)
    browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    check("it is dark where the system is", browser.until(background, dark) == dark)
    browser.devtools("Emulation.setEmulatedMedia", features=[])
    check("and light where it is not", browser.until(background, light) == light)


def check_tab(browser, page):
    """Every control is reached by the Tab key, in order, and shows that it has the focus."""
    browser.open(page)
    reached, hidden = [], []
    for _ in range(60):
        browser.press("Tab")
        tag, name, outline = browser.run("const e = document.activeElement; return [e.tagName, e.id || e.textContent.trim(), getComputedStyle(e).outlineStyle]")
        if tag == "BODY":
            break
        reached.append(name)
        if outline == "none":
            hidden.append(name)
    for name in ["theme", "timeline-rows", "timeline-colour", "timeline-each", "zoom-in", "timeline-canvas", "memory-device", "By level, by device", "matrix-canvas"]:
        check("Tab reaches " + name, name in reached, reached)
    check("the focus is seen", not hidden, hidden)
    order = [reached.index(name) for name in ["theme", "timeline-rows", "timeline-canvas", "memory-device", "By level, by device", "matrix-canvas"] if name in reached]
    check("in order", order == sorted(order), reached)


def check_named(browser):
    """Everything that is drawn, chosen or pressed has a name for those who do not see it."""
    nameless = browser.run("""return [...document.querySelectorAll("button, select, input, canvas, svg, nav")].filter(element =>
        !(element.getAttribute("aria-label") || element.getAttribute("aria-hidden") || element.textContent.trim() || (element.labels && element.labels.length) ||
          element.title)).map(element => element.outerHTML.slice(0, 80))""")
    check("controls and pictures have names", not nameless, nameless)


def check_small(browser, page):
    """A telephone: nothing is wider than it."""
    browser.devtools("Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=1, mobile=True)
    browser.open(page)
    wide = browser.run("return document.documentElement.scrollWidth")
    check("the page is as wide as the screen", wide <= 400, wide)
    browser.devtools("Emulation.clearDeviceMetricsOverride")


def whole_page(folder):
    plan, page = folder + "/plan.json", folder + "/page.html"
    hypar("plan", "alexnet", "--batch", "64", "--on", "cluster:2x4", "--planner", "hypar", "-q", "-o", plan)
    hypar("report", plan, "-q", "-o", page)
    with Browser() as browser:
        browser.open(page)
        check_title(browser, "alexnet", "cluster:2x4", "planner hypar", browser.run("return seconds(data.headline.step_s)"))
        check_numbers(browser, plan)
        check_folded(browser)
        check_timeline_keys(browser)
        check_timeline_mouse(browser)
        check_choices(browser, 8)
        check_theme(browser)
        check_tab(browser, page)
        check_named(browser)
        check("it can be printed", browser.pdf().startswith(b"%PDF"))
        check("it is as it was after that", browser.run("return document.documentElement.dataset.theme") == "light")
        check_small(browser, page)
        check("what there is nothing to tell of is hidden", browser.run("return document.getElementById('planners').hidden && document.getElementById('measured').hidden"))
        check("no error is told", browser.run("return document.getElementById('errors').hidden"))
        check("the browser has nothing to complain of", not (told := browser.errors()), told)


def odd_names(folder):
    """Names that would end a script or an element, were they not escaped."""
    graph, plan, page = folder + "/odd.json", folder + "/odd.plan.json", folder + "/odd.html"
    name = "</script><script>document.title='x'</script><b>&amp;\"'\u2028"
    hypar("import", "lenet5", "-q", "-o", graph)
    with open(graph, encoding="utf-8") as file:
        text = file.read().replace('"conv1"', json.dumps(name[:-1]))
    with open(graph, "w", encoding="utf-8") as file:
        file.write(text)
    hypar("plan", graph, "--on", "torus:2x2", "--planner", "dp", "-q", "-o", plan)
    hypar("report", plan, "-q", "-o", page)
    with Browser() as browser:
        browser.open(page)
        check("the script has not ended early", browser.run("return document.documentElement.dataset.loaded") is not None)
        open_levels(browser)
        check("the name is shown as it is", name[:-1] in browser.text("#levels-table"), browser.text("#levels-table")[:300])
        check("and was not run", "hypar report" in browser.run("return document.title"))
        check("the browser has nothing to complain of", not (told := browser.errors()), told)


def beside(folder):
    """Planners, and a run, beside the plan: the numbers of `hypar compare`."""
    plan, page, trace = folder + "/beside.plan.json", folder + "/beside.html", folder + "/trace.json"
    hypar("plan", "lenet5", "--batch", "8", "--on", "torus:2x2", "--planner", "dp", "-q", "-o", plan)
    hypar("train", plan, "--in-process", "--steps", "3", "--trace", trace, "-q")
    hypar("report", plan, "--planner", "mp,hypar", "--measured", trace, "-q", "-o", page)
    planners = json.loads(hypar("compare", plan, "--planner", "mp,hypar", "--json", "-q"))
    measured = json.loads(hypar("compare", plan, "--measured", trace, "--json", "-q"))
    with Browser() as browser:
        browser.open(page)
        shown = browser.run("return data.comparison.map(row => row.predicted.step_s)")
        check("planners", shown == [row["predicted"]["step_s"] for row in planners["plans"]], shown)
        check("a row for each", browser.run("return document.querySelectorAll('#planners-table tbody tr').length") == 3)
        said = browser.run("return [data.measured.measured_s, data.measured.predicted_s]")
        check("measured", said == [measured["measured_s"], measured["predicted_s"]], said)
        check("both are told", not browser.run("return document.getElementById('planners').hidden || document.getElementById('measured').hidden"))
        check("ranks have rows", browser.run("return data.timeline.rows.filter(row => row.measured && row.bars.n > 0).length") == 4)
        check("the browser has nothing to complain of", not (told := browser.errors()), told)


def beside_torch(folder):
    """What PyTorch's profiler saw beside the plan."""
    plan, page, trace = folder + "/torch.plan.json", folder + "/torch.html", "tests/fuzz/corpus/trace/torch-host"
    hypar("plan", "mlp:4-3-2", "--batch", "2", "--on", "full:1", "--planner", "dp", "-q", "-o", plan)
    hypar("report", plan, "--measured", trace, "-q", "-o", page)
    measured = json.loads(hypar("compare", plan, "--measured", trace, "--json", "-q"))
    with Browser() as browser:
        browser.open(page)
        said = browser.run("return [data.measured.measured_s, data.measured.predicted_s]")
        check("measured by PyTorch", said == [measured["measured_s"], measured["predicted_s"]], said)
        check("operators have rows", browser.run("return document.querySelectorAll('#measured-table tbody tr').length") == 3 + len(measured["operators"]))
        check("the browser has nothing to complain of", not (told := browser.errors()), told)


def on_device(browser, device):
    """The rows that tell what lies on one device: layers, operators, part."""
    browser.choose("#levels-device", str(device))
    return browser.run("return [...document.querySelectorAll('#levels-table tbody tr')].map(row => [0, 1, 3].map(i => row.cells[i].textContent))")


def stages(folder):
    """Layers in several stages: device 0 has numbers 0, 1, 4 and 5, and of c_fc, which is on the other device of each stage, nothing."""
    plan, page = folder + "/stages.plan.json", folder + "/stages.html"
    layout = {"tensor": 2, "pipeline": 2, "chunks": 2, "micro_batches": 2, "schedule": "interleaved"}
    ops = [{"name": "h.%d.mlp.c_fc" % layer, "devices": [1 + layer // 2 % 2 * 2]} for layer in range(8)]
    with open(plan, "w", encoding="utf-8") as file:
        json.dump({"format": "hypar-plan/1", "model": "gpt:layers=8,hidden=8,heads=2,seq=4,vocab=8", "batch": 4, "machine": "full:4", "layout": layout, "ops": ops}, file)
    hypar("report", plan, "-q", "-o", page)
    with Browser() as browser:
        browser.open(page)
        open_levels(browser)
        browser.choose("#levels-mode", "device")
        for device, numbers in enumerate(["0-1, 4-5", "0-1, 4-5", "2-3, 6-7", "2-3, 6-7"]):
            rows = [row for row in on_device(browser, device) if row[0].startswith("h.0 .. h.7")]
            moved = [row for row in rows if row[1] == "mlp.c_fc"]
            others = [row for row in rows if row not in moved]
            said = ": none" if device % 2 == 0 else ": number " + numbers
            check("what is on one device of a stage", len(moved) == 1 and moved[0][0].endswith(said), device, moved)
            check("parts of it", len(moved) == 1 and moved[0][2] == ("-" if device % 2 == 0 else "all of it"), device, moved)
            check("layers of a device are told as runs", others and all(row[0].endswith(": number " + numbers) for row in others), device, others)
            check("parts of them", others and all(row[2] not in ("", "-") for row in others), device, others)
        check("the browser has nothing to complain of", not (told := browser.errors()), told)


def window(folder):
    """Path and timeline of a pipeline with delayed updates are of a window of minibatches, and say so."""
    plan, page = folder + "/window.plan.json", folder + "/window.html"
    hypar("plan", "mlp:64-64-64-10", "--batch", "8", "--on", "full:2", "--planner", "pipedream", "--straight", "-q", "-o", plan)
    hypar("report", plan, "-q", "-o", page)
    with Browser() as browser:
        browser.open(page)
        check_title(browser, "a minibatch in steady state")
        for name in ["#bound-title", "#timeline-title"]:
            check("a heading tells what it is of", re.search(r"a window of \d+ minibatches$", browser.text(name)), name, browser.text(name))
        check("the button, too", browser.text("#zoom-all") == "whole window", browser.text("#zoom-all"))


def alone(folder):
    """Nothing is fetched."""
    with open(folder + "/page.html", encoding="utf-8") as file:
        text = file.read()
    for word in ["http://", "https://", "src=", "@import", "url("]:
        there = text.replace("http://www.w3.org/2000/svg", "")
        check("no " + word, word not in there)


with tempfile.TemporaryDirectory() as folder:
    whole_page(os.path.realpath(folder))
    odd_names(os.path.realpath(folder))
    beside(os.path.realpath(folder))
    beside_torch(os.path.realpath(folder))
    stages(os.path.realpath(folder))
    window(os.path.realpath(folder))
    alone(folder)
sys.exit(failed > 0)
