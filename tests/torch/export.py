#!/usr/bin/env python3
"""export.py [OPTIONS] [NAME...] - networks of PyTorch by hypar.torch, compared with PyTorch itself.

Of each: operators that are opaque, trained parameters, FLOPs of the forward half, attention. Of those in small (models.py)
also the loss and every gradient of a step in fp64, from the same weights on the same samples."""
import argparse
import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "python"), os.path.dirname(os.path.abspath(__file__))]
try:
    import numpy
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import hypar.torch
import models
from torch.utils.flop_counter import FlopCounterMode

CLOSE = 1e-6
RATE = 1e-3


@contextlib.contextmanager
def only_fp64():
    """Some models compute norms and angles in fp32 whatever they are given: here they do not."""
    kept = torch.float32, torch.float, torch.Tensor.float
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.float32, torch.float, torch.Tensor.float = kept


def flops_of(model, args, kwargs):
    """What PyTorch counts of a forward half, attention in full."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            model(*args, **kwargs)
    return counter.get_total_flops()


def steps(hypar_command, folder, arrays):
    """The loss of a step, and the parameters after it, by hypar: SGD, so that the difference is the gradient."""
    files = []
    for name, array in arrays.items():
        path = os.path.join(folder, f"{len(files)}.npy")
        numpy.save(path, array.numpy())
        files.append(f"{name}={path}")
    command = [hypar_command, "train", os.path.join(folder, "net.json"), "--data", ",".join(files), "--precision", "fp64",
               "--optimizer", "sgd", "--learning-rate", str(RATE), "--steps", "1", "--checkpoint", os.path.join(folder, "after"),
               "--json", "-q"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    loss = next(line["loss"] for line in map(json.loads, done.stdout.splitlines()) if "step" in line)
    with open(os.path.join(folder, "after"), "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    after = {}
    for name, about in header.items():
        if name != "__metadata__":
            lo, hi = about["data_offsets"]
            after[name] = torch.frombuffer(bytearray(data[lo:hi]), dtype=torch.float64)
    return loss, after


def loss_of(out, graph, arrays):
    """The model's own loss, or that which the graph chose."""
    first = out
    while not isinstance(first, torch.Tensor):
        first = next(iter(first.values())) if hasattr(first, "values") else first[0]
    if first.dim() == 0:
        return first
    name = next(op for op in graph.ops if op.name == "loss").inputs[1]
    if "labels" not in name:
        return torch.nn.functional.mse_loss(first, arrays[name])
    classes = first.movedim(1, -1) if first.dim() > 3 else first
    return torch.nn.functional.cross_entropy(classes.reshape(-1, classes.shape[-1]), arrays[name].reshape(-1))


def gradients(name, model, args, kwargs, graph, command):
    """The largest difference of the loss and of a gradient."""
    arrays = hypar.torch.samples(graph, args, kwargs)
    for key, array in arrays.items():
        if array is None:
            shape = graph.inputs[key]["shape"]
            arrays[key] = torch.randint(0, 4, shape) if graph.inputs[key].get("index") else torch.randn(shape)
    before = {key: p.detach().clone() for key, p in model.named_parameters()}
    with tempfile.TemporaryDirectory() as folder:
        graph.write(os.path.join(folder, "net.json"), os.path.join(folder, "net.safetensors"))
        loss, after = steps(command, folder, arrays)
    with only_fp64():
        want = loss_of(model(*args, **kwargs), graph, arrays)
    want.backward()
    worst, where = abs(loss - want.item()), "loss"
    for key, p in model.named_parameters():
        if key not in graph.params:
            difference = p.grad.abs().max().item() if p.grad is not None else 0
        else:
            have = (before[key].reshape(-1) - after[key]) / RATE
            gradient = p.grad if p.grad is not None else torch.zeros_like(p)
            difference = (have - gradient.reshape(-1)).abs().max().item()
        if not difference <= worst:
            worst, where = difference, key
    return worst, where


def imported(command, *args):
    done = subprocess.run([command, "import", *args, "--json"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def check(name, command, with_gradients):
    """One line of the table, and whether all of it is as it should be."""
    torch.manual_seed(1)
    start = time.time()
    small = name in models.SMALL
    torch.set_default_dtype(torch.float64 if small and with_gradients else torch.float32)
    with only_fp64() if small and with_gradients else contextlib.nullcontext():
        model, given = models.ALL[name]()
    args = () if isinstance(given, dict) else given if isinstance(given, tuple) else (given,)
    kwargs = given if isinstance(given, dict) else {}
    model.train()
    graph = hypar.torch.graph(model, args, kwargs)
    trained = sum(math.prod(p["shape"]) for p in graph.params.values() if p.get("trained", True))
    wanted = sum(p.numel() for p in model.parameters() if p.requires_grad)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.json")
        graph.write(path)
        about = imported(command, path)
        twice = imported(command, path, "--batch", str(2 * graph.batch))
    if not 0.9 <= twice["flops_per_sample"] / about["flops_per_sample"] <= 1:  # less, where some are of no sample
        raise RuntimeError("another batch has other FLOPs per sample")
    have = about["flops_per_sample"] * graph.batch
    count = flops_of(model, args, kwargs)
    countable = not any(isinstance(m, torch.nn.RNNBase) for m in model.modules())  # it counts nothing of these
    error = abs(have - count) / count if countable else 0
    used = sum(1 for op in graph.ops if op.kind == "attention")
    apart = sum(1 for op in graph.ops if op.kind == "softmax")
    worst, where = gradients(name, model, args, kwargs, graph, command) if small and with_gradients else (None, "")
    expected = models.ATTENTION.get(name, 0)
    good = (trained == wanted and error <= 0.01 and not graph.opaque and (worst is None or worst <= CLOSE) and
            used + apart == expected)
    print(f"{name:18} {len(graph.ops):4} ops  opaque {len(graph.opaque)}  parameters {trained}{'' if trained == wanted else f' NOT {wanted}'}  "
          f"FLOPs {100 * error:.3f} %  attention {used}{f' + {apart} unfused' if apart else ''}{'' if used + apart == expected else f' NOT {expected}'}  "
          f"{'' if worst is None else f'gradients {worst:.1e} {where if worst > CLOSE else str()}'}  {time.time() - start:.1f} s"
          f"{'' if good else '  FAILED'}", flush=True)
    for o in graph.opaque[:3]:
        print(f"    {o['name']}: {o['operator']} ({o['module']}, {o['source']}): {o['why']}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--hypar", default=os.path.join(ROOT, "build", "hypar"))
    parser.add_argument("--all", action="store_true", help="those of torchvision, too")
    parser.add_argument("--no-gradients", action="store_true")
    parser.add_argument("--trace", action="store_true", help="show where Python fails")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    os.environ["HYPAR"] = args.hypar
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    bad = []
    for name in args.names or (models.ALL if args.all else models.SMALL):
        try:
            if not check(name, args.hypar, not args.no_gradients):
                bad.append(name)
        except ModuleNotFoundError as missing:
            known = missing.name in ("transformers", "torchvision")
            print(f"{name:18} {'skipped' if known else 'FAILED'}: {missing}", flush=True)
            bad += [] if known else [name]
        except Exception as why:
            bad.append(name)
            print(f"{name:18} FAILED: {type(why).__name__}: {str(why)[:300]}", flush=True)
            if args.trace:
                traceback.print_exc()
    if bad:
        raise SystemExit(f"not as it should be: {', '.join(bad)}")


if __name__ == "__main__":
    main()
