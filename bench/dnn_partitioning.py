#!/usr/bin/env python3
"""dnn_partitioning.py INPUT.json - an input of msr-fiddle/dnn-partitioning as hypar-graph/1, on standard output.

Operators of one colour are one; a stage sends or receives an output once, at 1 GB/s; replicas are ruled out by a batch
of a prime number of samples. Accelerators only: latencies on processors are left aside.
"""
import json
import sys

SECONDS, BYTES_PER_S = 1e-3, 1e9  # latencies and costs are milliseconds


def main(path):
    data = json.load(open(path))
    colour = {n["id"]: n.get("colorClass", f"of{n['id']}") for n in data["nodes"]}
    seconds, size, cost, before = {}, {}, {}, {}
    for n in data["nodes"]:
        c = colour[n["id"]]
        seconds[c] = seconds.get(c, 0) + n["fpgaLatency"] * SECONDS
        size[c] = size.get(c, 0) + n["size"]
        before.setdefault(c, [])
    held = {}  # further outputs of an operator: operators of their own, which nobody would part from it
    for writer in sorted({e["sourceId"] for e in data["edges"]}):
        edges = [e for e in data["edges"] if e["sourceId"] == writer]
        c = colour[writer]
        readers = {colour[e["destId"]] for e in edges} - {c}
        if readers and c in cost:
            held[c, writer] = c
            c = c, writer
            seconds[c], size[c], before[c] = 0, 0, [c[0]]
        if readers:
            cost[c] = edges[0]["cost"] * SECONDS
        for reader in readers:
            if c not in before[reader]:
                before[reader].append(c)
    order, done = [], set()
    while len(order) < len(before):
        ready = [c for c in before if c not in done and all(b in done for b in before[c])]
        if not ready:
            sys.exit(f"{path}: colours make a cycle")
        order += ready
        done.update(ready)
    batch = next(p for p in range(data["maxFPGAs"] + 1, 10000) if all(p % q for q in range(2, p)))
    ops = [
        {
            "name": f"c{c}",
            "kind": "opaque",
            "inputs": [f"c{b}" for b in before[c]] or ["data"],
            **({"input_bytes": 1e14} if c in held else {}),
            "attrs": {"shape": [0, 1], "output_bytes": cost.get(c, 0) / 2 * BYTES_PER_S * batch},
            "choices": [{"degree": 1, "seconds": seconds[c], "parameter_bytes": 0, "stash_bytes": 0, "fixed_bytes": size[c]}],
        }
        for c in order
    ]
    graph = {"format": "hypar-graph/1", "name": "dnn-partitioning", "batch": batch, "inputs": [{"name": "data", "shape": [batch, 1]}], "ops": ops}
    json.dump(graph, sys.stdout)


main(sys.argv[1])
