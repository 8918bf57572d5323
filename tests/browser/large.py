"""Pages of large plans: under 5 MB, and loaded in less than 2 s."""
import os
import subprocess
import sys
import tempfile

from driver import Browser

MOST_BYTES, MOST_SECONDS = 5e6, 2

PLANS = {
    "inception-v3 on 64 devices": ["inception-v3", "--on", "cluster:8x8", "--planner", "hypar"],
    "gpt2-xl in 16 stages": ["gpt2-xl", "--batch", "128", "--on", "cluster:2x8,device=a100", "--pipeline", "16", "--micro-batches", "32"],
}


def thread_s(browser):
    """What the page's thread has taken of a processor: the clock depends on what else runs here."""
    told = browser.devtools("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in told if metric["name"] == "ThreadTime")


failed = False
with tempfile.TemporaryDirectory() as folder, Browser() as browser:
    folder = os.path.realpath(folder)
    plan, page = folder + "/plan.json", folder + "/page.html"
    for name, arguments in PLANS.items():
        subprocess.run(["hypar", "plan", *arguments, "-q", "-o", plan], check=True)
        subprocess.run(["hypar", "report", plan, "--operators", "1", "-q", "-o", page], check=True)
        size = os.path.getsize(page)
        browser.open("/dev/null")
        browser.devtools("Performance.enable")
        before = thread_s(browser)
        browser.open(page)
        busy, wall = thread_s(browser) - before, float(browser.run("return document.documentElement.dataset.loaded")) / 1000
        print("%s: %.2f MB, loaded in %.2f s of its thread's time, %.2f s on the clock" % (name, size / 1e6, busy, wall))
        errors = browser.errors()
        if size >= MOST_BYTES or busy >= MOST_SECONDS or errors:
            failed = True
            print("failed: expected less than %g MB and %g s, and no errors" % (MOST_BYTES / 1e6, MOST_SECONDS), *errors)
sys.exit(failed)
