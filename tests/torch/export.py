#!/usr/bin/env python3
"""export.py [OPTIONS] [NAME...] - networks of PyTorch by hypar.torch, compared with PyTorch itself.

Of each: operators that are opaque, trained parameters, FLOPs of the forward half, attention. Of those in small (models.py)
also the loss and every gradient of a step in fp64, from the same weights on the same samples. Weights are random: nothing
is fetched."""
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
def only_fp64(names=True):
    """Some models compute norms and angles in fp32 whatever they are given: here they do not. PyTorch itself, which exports a model,
    needs the names of its types as they are."""
    kept = torch.float32, torch.float, torch.Tensor.float
    if names:
        torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.float32, torch.float, torch.Tensor.float = kept


class Attentions(torch.utils._python_dispatch.TorchDispatchMode):
    """Counts softmaxes: each attention of PyTorch's has one, and so has each that a model writes out."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.count += function.name() in ("aten::_softmax", "aten::_safe_softmax")
        return function(*args, **(kwargs or {}))


def counted(model, args, kwargs):
    """What PyTorch counts of a forward half, attention in full, and how many attentions there are."""
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        with FlopCounterMode(display=False) as counter:
            model(*args, **kwargs)
        with torch.no_grad(), Attentions() as attentions:
            model(*args, **kwargs)
    return counter.get_total_flops(), attentions.count


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
    """The model's own loss, wherever it stands among the outputs, or that which the graph chose."""
    own = [x for x in torch.utils._pytree.tree_leaves(out) if isinstance(x, torch.Tensor) and x.dim() == 0]
    if own:
        return own[0]
    first = out
    while not isinstance(first, torch.Tensor):
        first = next(iter(first.values())) if hasattr(first, "values") else first[0]
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
    """What was found, as a row of the table."""
    torch.manual_seed(1)
    start = time.time()
    small, opaque = name in models.SMALL, models.OPAQUE.get(name, 0)
    with_gradients = with_gradients and small and not opaque
    torch.set_default_dtype(torch.float64 if with_gradients else torch.float32)
    with only_fp64() if with_gradients else contextlib.nullcontext():
        model, given = models.ALL[name]()
    args = () if isinstance(given, dict) else given if isinstance(given, tuple) else (given,)
    kwargs = given if isinstance(given, dict) else {}
    model.train()
    with only_fp64(names=False) if with_gradients else contextlib.nullcontext():
        graph = hypar.torch.graph(model, args, kwargs)
    trained = sum(math.prod(p["shape"]) for p in graph.params.values() if p.get("trained", True))
    wanted = sum(p.numel() for p in model.parameters() if p.requires_grad) - models.UNREAD.get(name, 0)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.json")
        graph.write(path)
        about = imported(command, path)
        twice = imported(command, path, "--batch", str(2 * graph.batch))
    if not 0.9 <= twice["flops_per_sample"] / about["flops_per_sample"] <= 1:  # less, where some are of no sample
        raise RuntimeError("another batch has other FLOPs per sample")
    have = about["flops_per_sample"] * graph.batch
    count, there = counted(model, args, kwargs)
    countable = not opaque and not any(isinstance(m, torch.nn.RNNBase) for m in model.modules())  # it counts nothing of these
    error = abs(have - count) / count if countable else 0
    used = sum(1 for op in graph.ops if op.kind == "attention")
    worst, where = gradients(name, model, args, kwargs, graph, command) if with_gradients else (None, "")
    good = (trained == wanted and error <= 0.01 and len(graph.opaque) == opaque and (worst is None or worst <= CLOSE) and
            used == models.ATTENTION.get(name, 0) and (opaque or used == there))
    return {"name": name, "good": good, "ops": len(graph.ops), "opaque": graph.opaque, "parameters": trained, "wanted": wanted,
            "flops": error if countable else None, "attention": used, "there": there, "gradients": worst, "where": where,
            "time": time.time() - start}


def percent(share):
    return "not counted" if share is None else f"{100 * share:.3f} %"


def parameters(row):
    return f"{row['parameters']:,}" + ("" if row["parameters"] == row["wanted"] else f" NOT {row['wanted']:,}")


def line(row):
    """A row as it is told while others are still to come."""
    if "why" in row:
        return f"{row['name']:18} {'skipped' if row['good'] else 'FAILED'}: {row['why']}"
    text = f"{row['name']:18} {row['ops']:4} ops  opaque {len(row['opaque'])}  parameters {parameters(row)}  "
    text += f"FLOPs {percent(row['flops'])}  attention {row['attention']} of {row['there']}  "
    if row["gradients"] is not None:
        text += f"gradients {row['gradients']:.1e} {row['where'] if row['gradients'] > CLOSE else ''}  "
    text += f"{row['time']:.1f} s{'' if row['good'] else '  FAILED'}"
    for o in row["opaque"][:3]:
        text += f"\n    {o['name']}: {o['operator']} ({o['module']}, {o['source']}): {o['why']}"
    return text


def table(rows):
    """All rows, as Markdown."""
    print("\n| network | operators | opaque | trained parameters | FLOPs differ by | attention | gradients differ by |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for r in rows:
        if "why" in r:
            print(f"| {r['name']} | {r['why'].splitlines()[-1][:100]} | | | | | |")
            continue
        gradients = "" if r["gradients"] is None else f"{r['gradients']:.0e}"
        print(f"| {r['name']} | {r['ops']} | {len(r['opaque'])} | {parameters(r)} | {percent(r['flops'])} | {r['attention']} of {r['there']} | {gradients} |")


def row_of(name, args):
    try:
        return check(name, args.hypar, not args.no_gradients)
    except ModuleNotFoundError as missing:
        return {"name": name, "good": missing.name in ("transformers", "torchvision"), "why": str(missing)}
    except Exception as why:
        if args.trace:
            traceback.print_exc()
        return {"name": name, "good": False, "why": f"{type(why).__name__}: {str(why)[:300]}"}


def row_apart(name, args):
    """The same by a process of its own, which may be stopped."""
    command = [sys.executable, os.path.abspath(__file__), "--hypar", args.hypar, "--row", name] + ["--no-gradients"] * args.no_gradients
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=args.limit)
    except subprocess.TimeoutExpired:
        return {"name": name, "good": False, "why": f"not done after {args.limit} s"}
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        return {"name": name, "good": False, "why": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:300]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--hypar", default=os.path.join(ROOT, "build", "hypar"))
    parser.add_argument("--all", action="store_true", help="those of torchvision, too")
    parser.add_argument("--no-gradients", action="store_true")
    parser.add_argument("--limit", type=float, metavar="S", help="a process for each network, of at most S seconds; a table at the end")
    parser.add_argument("--row", action="store_true", help="one network, told as JSON")
    parser.add_argument("--trace", action="store_true", help="show where Python fails")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    os.environ["HYPAR"] = args.hypar
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    step = 1 if args.all else {"full": 2, "soak": 1}.get(os.environ.get("HYPAR_TEST_LENGTH"), 3)  # some of each family
    names = args.names or list(models.ALL if args.all else models.SMALL)[::step]
    if args.row:
        print(json.dumps(row_of(names[0], args)))
        return
    rows = []
    for name in names:
        rows.append((row_apart if args.limit else row_of)(name, args))
        print(line(rows[-1]), flush=True)
    if args.limit:
        table(rows)
    bad = [row["name"] for row in rows if not row["good"]]
    if bad:
        raise SystemExit(f"not as it should be: {', '.join(bad)}")


if __name__ == "__main__":
    main()
