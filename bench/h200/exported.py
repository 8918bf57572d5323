#!/usr/bin/env python3
"""exported.py - exported training scripts on a GPU: peak memory and step, beside what was planned.

    python3 exported.py write DIR      where hypar and PyTorch are: import, plan and export each network, DIR/planned.csv
    python3 exported.py run DIR        where the GPU is: train each script 20 steps, print measured and planned

One GPU is rank 0 of the plan. For plans on 4 devices the process group is PyTorch's fake one, which moves nothing: memory is
that of a real rank, values and the time of messages are not. Networks are Hugging Face's, made from their configurations."""
import csv
import importlib
import json
import os
import statistics
import subprocess
import sys
import time

import torch

VOCABULARY, TOKENS = {"gpt2": 50257, "llama": 128256}, {"gpt2": 1024, "llama": 2048}
BATCH = {"gpt2": 8, "llama": 4, "vit": 128}  # of one device
PLANS = {
    "one device": (1, ["--planner", "dp"]),
    "recompute": (1, ["--planner", "3d", "--recompute", "full"]),
    "ZeRO-3 on 4": (4, ["--planner", "dp", "--shard", "parameters"]),
    "tensor 4": (4, ["--planner", "3d", "--tensor", "4"]),
}
STEPS, WARM_UP = 20, 10


def network(name):
    """A function that makes the network."""
    import transformers as hf
    if name == "gpt2":  # medium
        config = hf.GPT2Config(n_embd=1024, n_layer=24, n_head=16, use_cache=False, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
        return lambda: hf.GPT2LMHeadModel(config)
    if name == "llama":  # 1.2 billion parameters
        config = hf.LlamaConfig(vocab_size=128256, hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
                                num_key_value_heads=8, rope_theta=500000.0, use_cache=False, tie_word_embeddings=True)
        return lambda: hf.LlamaForCausalLM(config)
    config = hf.ViTConfig(num_labels=1000, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)  # base, patches of 16
    return lambda: hf.ViTForImageClassification(config)


def arguments(name, batch):
    random = torch.Generator().manual_seed(1)
    if name == "vit":
        return {"pixel_values": torch.randn(batch, 3, 224, 224, generator=random), "labels": torch.randint(0, 1000, (batch,), generator=random)}
    ids = torch.randint(0, VOCABULARY[name], (batch, TOKENS[name]), generator=random)
    return {"input_ids": ids, "labels": ids}


def made(name, batch):
    """What a script's function returns: its parameters take no memory until they are divided."""
    return lambda: (network(name), arguments(name, batch))


def write(folder):
    from hypar import torch as importer
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "planned.csv"), "w", newline="") as f:
        table = csv.writer(f)
        table.writerow(["network", "plan", "script", "devices", "step_s", "peak_memory_bytes"])
        for name in BATCH:
            graph = os.path.join(folder, f"{name}.json")
            importer.graph(network(name)(), kwargs=arguments(name, 2)).write(graph)
            for plan, (devices, options) in PLANS.items():
                script = f"{name}_{plan.replace(' ', '_').replace('-', '_')}"
                file = os.path.join(folder, script)
                command = ["hypar", "plan", graph, "--on", f"cluster:1x{devices},device=h200", "--batch", str(devices * BATCH[name]),
                           "--for", "torch", "-q", "-o", f"{file}.plan.json", *options]
                if subprocess.run(command).returncode != 0:
                    continue  # gpt2's 50,257 words do not divide by 4: refused in one line
                subprocess.run(["hypar", "export", f"{file}.plan.json", "--to", "torch", "-q", "-o", f"{file}.py"], check=True)
                planned = json.loads(subprocess.run(["hypar", "simulate", f"{file}.plan.json", "--json"], check=True, capture_output=True).stdout)
                table.writerow([name, plan, script, devices, planned["step_s"], planned["peak_memory_bytes"]])


def train(folder, name, script, devices):
    """One script in this process: its peak of allocated bytes, and the median of its later steps."""
    os.environ.update(LOCAL_RANK="0", RANK="0", WORLD_SIZE=str(devices), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(29500 + os.getpid() % 1000))
    if devices > 1:
        from torch.testing._internal.distributed.fake_pg import FakeStore
        torch.distributed.init_process_group("fake", rank=0, world_size=devices, store=FakeStore())
    sys.path.insert(0, folder)
    module, times, losses = importlib.import_module(script), [], []

    def told(line):  # the script prints each step with its loss
        torch.cuda.synchronize()
        times.append(time.perf_counter())
        losses.append(float(line.split()[-1]))

    module.print = told
    function = sys.modules[__name__]
    function.made_here = made(name, devices * BATCH[name])
    sys.modules["exported_network"] = function
    module.main("exported_network:made_here", STEPS)
    step = statistics.median(b - a for a, b in zip(times[WARM_UP:], times[WARM_UP + 1:]))
    print(f"{torch.cuda.max_memory_allocated()} {step} {losses[0]} {losses[-1]}")


def run(folder):
    print(f"{'network':8} {'plan':12} {'peak GB':>8} {'planned':>8} {'ratio':>6} {'step ms':>8} {'planned':>8} {'ratio':>6}  loss, first and last")
    for row in csv.DictReader(open(os.path.join(folder, "planned.csv"))):
        done = subprocess.run([sys.executable, __file__, "train", folder, row["network"], row["script"], row["devices"]], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{row['network']:8} {row['plan']:12} failed: {(done.stderr.strip().splitlines() or ['no output'])[-1]}", flush=True)
            continue
        peak, step, first, last = map(float, done.stdout.split()[-4:])
        planned_peak, planned_step = float(row["peak_memory_bytes"]), float(row["step_s"])
        real = f"{first:.4g}, {last:.4g}" if row["devices"] == "1" else "(nothing is sent)"
        print(f"{row['network']:8} {row['plan']:12} {peak / 1e9:8.3f} {planned_peak / 1e9:8.3f} {peak / planned_peak:6.3f} "
              f"{step * 1e3:8.1f} {planned_step * 1e3:8.1f} {step / planned_step:6.2f}  {real}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"] and len(sys.argv) == 3:
        write(sys.argv[2])
    elif sys.argv[1:2] == ["run"] and len(sys.argv) == 3:
        run(sys.argv[2])
    elif sys.argv[1:2] == ["train"] and len(sys.argv) == 6:
        train(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
    else:
        sys.exit(__doc__)
