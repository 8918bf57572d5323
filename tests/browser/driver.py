"""A browser without a window, driven by chromium-driver over its HTTP protocol (W3C WebDriver)."""
import base64
import json
import re
import subprocess
import time
import urllib.request

KEYS = {"Tab": "\ue004", "Enter": "\ue007", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015"}


class Browser:
    """One session; to be used in a `with`."""

    def __init__(self, width=1280, height=800):
        self.size = (width, height)

    def __enter__(self):
        self.process = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        port = None
        for line in self.process.stdout:
            port = re.search(r"successfully on port (\d+)", line)
            if port:
                break
        self.address = "http://127.0.0.1:" + port.group(1)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--force-prefers-reduced-motion", "--window-size=%d,%d" % self.size]
        wanted = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"}, "goog:chromeOptions": {"args": arguments}}
        answer = self.ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.address += "/session/" + answer["sessionId"]
        return self

    def __exit__(self, *_):
        try:
            self.ask("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait()

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.address + path, method=method, headers={"Content-Type": "application/json"},
                                         data=json.dumps(body).encode() if body is not None else None)
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)["value"]

    def open(self, path):
        self.ask("POST", "/url", {"url": "file://" + path})

    def run(self, script, *arguments):
        """What `return ...` gives."""
        return self.ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def until(self, script, wanted):
        """What `return ...` gives, once it is what is wanted, or after ten seconds: some things happen in their own time."""
        end = time.monotonic() + 10
        while (given := self.run(script)) != wanted and time.monotonic() < end:
            time.sleep(0.05)
        return given

    def element(self, selector):
        found = self.ask("POST", "/element", {"using": "css selector", "value": selector})
        return next(iter(found.values()))

    def click(self, selector):
        self.run("document.querySelector(arguments[0]).scrollIntoView({ block: 'center' })", selector)
        self.ask("POST", "/element/" + self.element(selector) + "/click", {})

    def keys(self, selector, *keys):
        """Keys that go to an element: letters, or names of KEYS."""
        text = "".join(KEYS.get(key, key) for key in keys)
        self.ask("POST", "/element/" + self.element(selector) + "/value", {"text": text})

    def press(self, key):
        """A key that goes to whatever has the focus."""
        value = KEYS.get(key, key)
        self.ask("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]}]})

    def pointer(self, selector, *steps):
        """The mouse, from the middle of an element on: ("move", x, y), ("down",), ("up",)."""
        actions = []
        for name, *place in steps:
            if name == "move":
                origin = {"element-6066-11e4-a52e-4f735466cecf": self.element(selector)}
                actions.append({"type": "pointerMove", "duration": 50, "origin": origin, "x": place[0], "y": place[1]})
            else:
                actions.append({"type": "pointerDown" if name == "down" else "pointerUp", "button": 0})
        self.ask("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}]})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def choose(self, selector, value):
        """An option of a select, as if it had been chosen by hand."""
        self.run("const e = document.querySelector(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change'))",
                 selector, value)

    def devtools(self, command, **parameters):
        return self.ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def errors(self):
        """What the browser complained of since it was last asked."""
        return [entry["message"] for entry in self.ask("POST", "/se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("GET", "/screenshot")))

    def pdf(self):
        return base64.b64decode(self.devtools("Page.printToPDF", printBackground=True)["data"])
