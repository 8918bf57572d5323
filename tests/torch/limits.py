#!/usr/bin/env python3
"""limits.py - what DTensor splits, beside what src/emit/torch_limits.c says of it.

Each operator is run on DTensors, forward and backward, on a process group that sends nothing. An axis can be split if
there is a rule for both, if nothing is gathered forward, and if what is written is sharded or a partial sum."""
import argparse
import logging
import os
import re
import sys
import warnings

try:
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.tensor import DTensor, Replicate, Shard, init_device_mesh
from torch.distributed.tensor.debug import CommDebugMode
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing._internal.distributed.fake_pg import FakeStore

DEVICES = 4
N, T, C, K, V = 8, 8, 16, 32, 64
COPY = Replicate()


def rows():
    """By operator: the letters that the table allows beside samples; "*": all; "=": those that index all tensors alike."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "../../src/emit/torch_limits.c"), encoding="utf-8") as file:
        text = file.read()
    macros = {name: row for name, row in re.findall(r"#define (\w+)[\s\\]+\{[\s\\]+(\"[^\"]*\")", text)}
    table = {}
    for kind, row in re.findall(r"\[OP_(\w+)\] = (?:\{ )?([\w\"*=]+)", text):
        row = macros.get(row, row)
        table[kind.lower()] = "" if row == "NULL" else row.strip('"')
    return table


def real(*shape):
    return torch.randn(*shape)


def below(most, *shape):
    return torch.randint(0, most, shape)


def attention(q, k, v):
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(q, k, v)


def cross_entropy(x, labels):
    return F.cross_entropy(x.flatten(0, 1), labels.flatten())


S = Shard
IMAGE = (N, C, 8, 8)
# operator, axis, what runs it, its tensors, how they lie
CASES = [
    ("linear", "n", F.linear, (real(N, T, C), real(K, C), real(K)), (S(0), COPY, COPY)),
    ("linear", "t", F.linear, (real(N, T, C), real(K, C), real(K)), (S(1), COPY, COPY)),
    ("linear", "k", F.linear, (real(N, T, C), real(K, C), real(K)), (COPY, S(0), S(0))),
    ("linear", "c", F.linear, (real(N, T, C), real(K, C), real(K)), (S(2), S(1), COPY)),
    ("embedding", "n", F.embedding, (below(V, N, T), real(V, C)), (S(0), COPY)),
    ("embedding", "t", F.embedding, (below(V, N, T), real(V, C)), (S(1), COPY)),
    ("embedding", "k", F.embedding, (below(V, N, T), real(V, C)), (COPY, S(1))),
    ("embedding", "v", F.embedding, (below(V, N, T), real(V, C)), (COPY, S(0))),
    ("matmul", "n", torch.matmul, (real(N, 4, T, C), real(N, 4, C, K)), (S(0), S(0))),
    ("matmul", "b", torch.matmul, (real(N, 4, T, C), real(N, 4, C, K)), (S(1), S(1))),
    ("matmul", "m", torch.matmul, (real(N, 4, T, C), real(N, 4, C, K)), (S(2), COPY)),
    ("matmul", "k", torch.matmul, (real(N, 4, T, C), real(N, 4, C, K)), (COPY, S(3))),
    ("matmul", "c", torch.matmul, (real(N, 4, T, C), real(N, 4, C, K)), (S(3), S(2))),
    ("attention", "n", attention, (real(N, 4, T, C),) * 3, (S(0),) * 3),
    ("attention", "a", attention, (real(N, 4, T, C),) * 3, (S(1),) * 3),
    ("attention", "s", attention, (real(N, 4, T, C),) * 3, (COPY, S(2), S(2))),
    ("cross_entropy", "n", cross_entropy, (real(N, T, C), below(C, N, T)), (S(0), S(0))),
    ("cross_entropy", "t", cross_entropy, (real(N, T, C), below(C, N, T)), (S(1), S(1))),
    ("rope", "t", lambda x, c: x * c + torch.cat([-x[..., 8:], x[..., :8]], -1) * c,
     (real(N, T, 4, C), real(1, T, 1, C)), (S(1), S(1))),
    ("rope", "a", lambda x, c: x * c + torch.cat([-x[..., 8:], x[..., :8]], -1) * c,
     (real(N, T, 4, C), real(1, T, 1, C)), (S(2), COPY)),
]


def image_cases():
    for axis, dim in (("n", 0), ("c", 1), ("h", 2), ("w", 3)):
        lies = S(dim)
        weight = S(0) if axis == "c" else COPY
        yield "conv", axis, lambda x, w: F.conv2d(x, w, padding=1), (real(*IMAGE), real(K, C, 3, 3)), (
            lies, S(1) if axis == "c" else COPY)
        yield "max_pool", axis, lambda x: F.max_pool2d(x, 2), (real(*IMAGE),), (lies,)
        yield "avg_pool", axis, lambda x: F.avg_pool2d(x, 2), (real(*IMAGE),), (lies,)
        yield "adaptive_avg_pool", axis, lambda x: F.adaptive_avg_pool2d(x, 4), (real(*IMAGE),), (lies,)
        yield "resize_nearest", axis, lambda x: F.interpolate(x, size=(16, 16)), (real(*IMAGE),), (lies,)
        yield "resize_linear", axis, lambda x: F.interpolate(x, size=(16, 16), mode="bilinear"), (real(*IMAGE),), (lies,)
        if axis != "n":  # whose statistics are those of all samples
            yield "batch_norm", axis, lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), (
                real(*IMAGE), real(C), real(C)), (lies, weight, weight)
        yield "flatten", axis if axis in "nc" else "", lambda x: x.flatten(1), (real(*IMAGE),), (lies,)
        yield "global_avg_pool", axis, lambda x: x.mean((2, 3)), (real(*IMAGE),), (lies,)
    yield "conv", "k", lambda x, w: F.conv2d(x, w, padding=1), (real(*IMAGE), real(K, C, 3, 3)), (COPY, S(0))


def line_cases():
    element_wise = {
        "relu": F.relu, "gelu": F.gelu, "silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
        "leaky_relu": F.leaky_relu, "elu": F.elu, "softplus": F.softplus, "hard_swish": F.hardswish,
        "hard_sigmoid": F.hardsigmoid, "exp": torch.exp, "sin": torch.sin, "cos": torch.cos, "erf": torch.erf,
        "abs": torch.abs, "neg": torch.neg, "pow": lambda x: x**3, "clip": lambda x: x.clamp(-1, 1),
        "affine": lambda x: 2 * x + 1, "dropout": lambda x: F.dropout(x, 0.5), "identity": lambda x: x + 0,
        "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "log": lambda x: torch.log(x.abs() + 1),
        "sqrt": lambda x: torch.sqrt(x.abs() + 1),
    }
    pairs = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "minimum": torch.minimum,
             "maximum": torch.maximum, "where": lambda x, y: torch.where(x > 0, x, y), "mse_loss": F.mse_loss}
    for axis, dim in (("n", 0), ("t", 1), ("c", 2)):
        x, lies, weight = real(N, T, C), S(dim), S(0) if axis == "c" else COPY
        for kind, run in element_wise.items():
            yield kind, axis, run, (x,), (lies,)
        for kind, run in pairs.items():
            yield kind, axis, run, (x, real(N, T, C)), (lies, lies)
        yield "layer_norm", axis, lambda x, w, b: F.layer_norm(x, (C,), w, b), (x, real(C), real(C)), (lies, weight, weight)
        yield "rms_norm", axis, lambda x, w: F.rms_norm(x, (C,), w), (x, real(C)), (lies, weight)
        yield "softmax", axis, lambda x: F.softmax(x, -1), (x,), (lies,)
        yield "log_softmax", axis, lambda x: F.log_softmax(x, -1), (x,), (lies,)
        along = "" if axis == "c" else axis  # the last dimension is what is joined or cut: no axis of "="
        yield "cumsum", along, lambda x: x.cumsum(-1), (x,), (lies,)
        yield "concat", along, lambda x: torch.cat([x, x], -1), (x,), (lies,)
        yield "split", along, lambda x: torch.add(*torch.split(x, C // 2, -1)), (x,), (lies,)
        yield "slice", along, lambda x: x[..., :8], (x,), (lies,)
        yield "pad", along, lambda x: F.pad(x, (1, 1)), (x,), (lies,)
        yield "transpose", axis, lambda x: x.transpose(1, 2), (x,), (lies,)
        yield "reshape", axis, lambda x: x.view(N, T, 4, 4), (x,), (lies,)
        yield "unsqueeze", axis, lambda x: x.unsqueeze(1), (x,), (lies,)
        yield "squeeze", axis, lambda x: x.unsqueeze(1).squeeze(1), (x,), (lies,)
        yield "expand", axis, lambda x: x.unsqueeze(1).expand(N, 3, T, C), (x,), (lies,)
        yield "reduce_sum", axis, lambda x: x.sum(-1), (x,), (lies,)
        yield "reduce_mean", axis, lambda x: x.mean(-1), (x,), (lies,)
        yield "reduce_max", axis, lambda x: x.amax(-1), (x,), (lies,)


def place(tensor, lies, mesh):
    made = DTensor.from_local(tensor, mesh, [Replicate()]).redistribute(mesh, [lies]).detach()
    return made.requires_grad_() if made.dtype.is_floating_point else made


def can_split(run, tensors, lie, mesh):
    """None, or why not."""
    try:
        given = [place(t, l, mesh) for t, l in zip(tensors, lie)]
        with CommDebugMode() as sent:
            out = run(*given)
        if out.requires_grad:
            out.backward(torch.ones_like(out)) if out.dim() else out.backward()
    except (RuntimeError, NotImplementedError, AssertionError) as error:
        return str(error).splitlines()[0][:100] or type(error).__name__
    if sent.get_total_counts():
        return "it is gathered"
    if isinstance(out.placements[0], Replicate):
        return "what is written is whole"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hypar")
    parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    dist.init_process_group("fake", rank=0, world_size=DEVICES, store=FakeStore())
    mesh = init_device_mesh("cpu", (DEVICES,))
    table, failed, n = rows(), 0, 0
    for kind, axis, run, tensors, lie in [*CASES, *image_cases(), *line_cases()]:
        said = table.get(kind, "")
        allowed = axis == "n" or (axis != "" and (said in ("*", "=") or axis in said))
        if axis == "n" and not said and kind not in table:
            continue
        why = can_split(run, tensors, lie, mesh)
        n += 1
        own = axis == "n" and not said  # samples are also split without DTensor: each device runs the module on its own
        if (why is None) != allowed and not own and (kind, axis) not in STRANGE:
            failed += 1
            print(f"{kind}: axis {axis or '(its own)'}: the table says {'yes' if allowed else 'no'}, DTensor: {why or 'yes'}")
    dist.destroy_process_group()
    print(f"{n} splits tried, {failed} otherwise than in the table")
    return failed > 0


# No plan can split these, though DTensor does: parts that are no boxes, sums that do not go on from part to part.
STRANGE = {("flatten", ""), ("cumsum", "")}

if __name__ == "__main__":
    sys.exit(main())
