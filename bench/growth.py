#!/usr/bin/env python3
"""How planner hybrid grows: CPU time and memory over devices, and over layers that are alike or
not. Prints the tables of README.md.

    bench/growth.py [path of hypar]
"""

import os
import subprocess
import sys

HYPAR = sys.argv[1] if len(sys.argv) > 1 else "hypar"


def measure(model, batch, machine, runs):
    """The least user CPU time of some runs in seconds, the most memory in bytes."""
    command = [HYPAR, "plan", model, "--batch", str(batch), "--on", machine, "--planner", "hybrid"]
    command += ["--precision", "bf16", "--optimizer", "adam", "--quiet"]
    cpu_s, rss = float("inf"), 0
    for _ in range(runs):
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"{' '.join(command)}: exit {child.returncode}")
        cpu_s, rss = min(cpu_s, used.ru_utime), max(rss, used.ru_maxrss * 1024)
    return cpu_s, rss


def row(first, cpu_s, rss, per, of):
    print(f"| {first} | {cpu_s:.2f} | {rss / 1e6:.0f} | {1e3 * cpu_s / per:.2f} ms {of} |", flush=True)


print("| devices | CPU s | MB | |\n|---|---|---|---|")
for nodes in (8, 32, 128, 512, 2048):
    cpu_s, rss = measure("gpt3-175b", 1536, f"cluster:{nodes}x8,device=a100", 1)
    row(8 * nodes, cpu_s, rss, 8 * nodes, "a device")

print("\n| layers, alike | CPU s | MB | |\n|---|---|---|---|")
for layers in (8, 32, 128):
    model = f"llama:layers={layers},hidden=4096,heads=32,ffn=11008,seq=2048"
    cpu_s, rss = measure(model, 64, "cluster:4x8,device=a100", 2)
    row(layers, cpu_s, rss, layers, "a layer")

print("\n| layers, all distinct | CPU s | MB | |\n|---|---|---|---|")
for layers in (8, 16, 32, 64, 128):
    widths = "-".join(str(4096 + 32 * i) for i in range(layers + 1))
    cpu_s, rss = measure(f"mlp:{widths}", 1024, "cluster:4x8,device=a100", 2)
    row(layers, cpu_s, rss, layers, "a layer")
