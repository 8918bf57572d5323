#!/usr/bin/env python3
"""parallel.py [OPTIONS] [CASE...] - plans as PyTorch runs them, on processes that talk by gloo.

Each case is a network and a plan; the plan is exported (`hypar export --to torch`), the file is loaded by each of 2 or 4
processes, and the losses of 5 steps are compared with those of the plain model. Bytes that a step sends, counted by the
script itself, stand beside those of the plan (`hypar lower`); bytes that the forward half saves for the backward half, counted
by saved_tensors_hooks, stand beside the activations of the plan (`hypar simulate`) where a case asks for them."""
import argparse
import ast
import contextlib
import importlib
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zlib

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "python"), os.path.dirname(os.path.abspath(__file__))]
try:
    import torch
    import transformers
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
import apart
import hypar.torch
import exported
import live
import measured
import models
from torch import nn

context = torch.multiprocessing.get_context("fork")
CLOSE, STEPS, BATCH, RATE = 1e-5, 5, 8, 0.1
CLOSE_BF16 = 0.02  # 8 bits, against fp32

# Networks -------------------------------------------------------------------------------------------------------------


def samples(example):
    """A batch like the example, of as many samples as the plans have."""
    g = torch.Generator().manual_seed(1)

    def draw(x):
        shape = (BATCH, *x.shape[1:])
        if x.is_floating_point():
            return torch.randn(shape, generator=g)
        return torch.randint(0, 90 if x.dim() > 1 else 7, shape, generator=g)
    return {k: draw(x) for k, x in example.items()}


def hugging(name):
    def make():
        transformers.logging.set_verbosity_error()
        model, example = models.HUGGING[name]()
        return model, samples(example), None
    return make


def mlp():
    g = torch.Generator().manual_seed(1)
    model = nn.Sequential(nn.Linear(12, 20), nn.ReLU(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 20), nn.ReLU(), nn.Linear(20, 8))
    return model, {"input": torch.randn(BATCH, 12, generator=g)}, torch.randint(0, 8, (BATCH,), generator=g)


class Fixed(nn.Module):
    """Attention as many write it: sizes of views are written out, layers are in a dict, and the output layer is tied."""

    def __init__(self, vocab=96, width=32, heads=4, layers=4, length=16):
        super().__init__()
        self.heads, self.width = heads, width
        self.embed, self.position = nn.Embedding(vocab, width), nn.Parameter(torch.zeros(length, width))
        self.blocks = nn.ModuleList(nn.ModuleDict({
            "norm1": nn.LayerNorm(width), "q": nn.Linear(width, width), "k": nn.Linear(width, width), "v": nn.Linear(width, width), "out": nn.Linear(width, width),
            "norm2": nn.LayerNorm(width), "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width)}) for _ in range(layers))
        self.head = nn.Linear(width, vocab, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        n, t = ids.shape
        x = self.embed(ids) + self.position
        for b in self.blocks:
            y = b["norm1"](x)
            q, k, v = (b[z](y).view(n, t, self.heads, self.width // self.heads).transpose(1, 2) for z in "qkv")
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + b["out"](y.transpose(1, 2).contiguous().view(n, t, self.width))
            x = x + b["down"](nn.functional.gelu(b["up"](b["norm2"](x))))
        return self.head(x)


def fixed():
    g = torch.Generator().manual_seed(1)
    ids = torch.randint(0, 96, (BATCH, 17), generator=g)
    return Fixed(), {"ids": ids[:, :-1]}, ids[:, 1:]


class Packed(nn.Module):
    """PyTorch's own attention, which has several parameters without modules; an argument that is no tensor."""

    def __init__(self, width=16):
        super().__init__()
        self.embed, self.norm = nn.Embedding(24, width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.up, self.down, self.head = nn.Linear(width, 32), nn.Linear(32, width), nn.Linear(width, 24)

    def forward(self, ids, weights=False):
        x = self.embed(ids)
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=weights)[0]
        x = x + self.down(nn.functional.gelu(self.up(x)))
        return self.head(x)


def packed():
    g = torch.Generator().manual_seed(1)
    ids = torch.randint(0, 24, (BATCH, 9), generator=g)
    return Packed(), {"ids": ids[:, :-1], "weights": False}, ids[:, 1:]


class Residual(nn.Module):
    """A block that ends in a function, where no module ends."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(inputs, outputs, 3, stride, 1), nn.Conv2d(outputs, outputs, 3, 1, 1)
        self.short = nn.Conv2d(inputs, outputs, 1, stride) if stride > 1 else None

    def forward(self, x):
        y = self.conv2(nn.functional.relu(self.conv1(x)))
        return nn.functional.relu(y + (x if self.short is None else self.short(x)))


class Resnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 1, 1)
        self.layer1 = nn.Sequential(Residual(8, 8, 1), Residual(8, 8, 1))
        self.layer2 = nn.Sequential(Residual(8, 16, 2), Residual(16, 16, 1))
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = self.layer2(self.layer1(nn.functional.relu(self.stem(x))))
        return self.head(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


def resnet():
    g = torch.Generator().manual_seed(1)
    return Resnet(), {"x": torch.randn(BATCH, 3, 12, 12, generator=g)}, torch.randint(0, 10, (BATCH,), generator=g)


def norms():
    g = torch.Generator().manual_seed(1)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ReLU(),
                          nn.Flatten(), nn.Linear(288, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 10))
    x = torch.randn(BATCH, 3, 12, 12, generator=g) * torch.arange(1, BATCH + 1).view(-1, 1, 1, 1)  # each replica's differ
    return model, {"input": x}, torch.randint(0, 10, (BATCH,), generator=g)


class Recurrent(nn.Module):
    """A module of several operators, whose gradient does not lie in order."""

    def __init__(self):
        super().__init__()
        self.embed, self.lstm, self.head = nn.Embedding(24, 16), nn.LSTM(16, 16, 2, batch_first=True), nn.Linear(16, 5)

    def forward(self, ids):
        return self.head(self.lstm(self.embed(ids))[0][:, -1])


def recurrent():
    g = torch.Generator().manual_seed(1)
    return Recurrent(), {"ids": torch.randint(0, 24, (BATCH, 6), generator=g)}, torch.randint(0, 5, (BATCH,), generator=g)


class Pair(nn.Module):
    """Returns the loss, and what it is of beside it."""

    def __init__(self, width=16):
        super().__init__()
        self.embed, self.up, self.down, self.head = nn.Embedding(24, width), nn.Linear(width, 32), nn.Linear(32, width), nn.Linear(width, 24)

    def forward(self, ids, labels):
        x = self.embed(ids)
        x = self.head(x + self.down(nn.functional.gelu(self.up(x))))
        return nn.functional.cross_entropy(x.flatten(0, -2), labels.flatten()), x


def pair():
    g = torch.Generator().manual_seed(1)
    ids = torch.randint(0, 24, (BATCH, 9), generator=g)
    return Pair(), {"ids": ids[:, :-1], "labels": ids[:, 1:]}, None


class Scaled(nn.Module):
    """A module that is called again, in another stage, and a parameter that is one number."""

    def __init__(self):
        super().__init__()
        self.embed, self.scale = nn.Embedding(24, 16), nn.Parameter(torch.tensor(1.5))
        self.first, self.second, self.head = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 24)

    def forward(self, ids, more):
        x = self.first(self.embed(ids)).relu()
        return self.head(self.second(self.embed(more) + x).relu() * self.scale)


class Summed(nn.Module):
    """A loss that is a sum over samples, as that of a variational autoencoder."""

    def __init__(self, width=8):
        super().__init__()
        self.embed, self.up, self.mean, self.down = nn.Linear(12, 20), nn.Linear(20, 20), nn.Linear(20, width), nn.Linear(width, 12)

    def forward(self, x):
        z = self.mean(self.up(self.embed(x).relu()).tanh())
        return {"loss": 0.1 * nn.functional.mse_loss(self.down(z), x, reduction="sum") + 0.01 * z.square().sum()}


def summed():
    return Summed(), {"x": torch.randn(BATCH, 12, generator=torch.Generator().manual_seed(1))}, None


def scaled():
    g = torch.Generator().manual_seed(1)
    ids = torch.randint(0, 24, (BATCH, 9), generator=g)
    return Scaled(), {"ids": ids[:, :-1], "more": ids[:, :-1].flip(1)}, ids[:, 1:]


def second():
    """Classes that are the second of three dimensions."""
    g = torch.Generator().manual_seed(1)
    return nn.Sequential(nn.Conv1d(4, 8, 3), nn.ReLU(), nn.Conv1d(8, 6, 1)), {"input": torch.randn(BATCH, 4, 12, generator=g)}, torch.randint(0, 6, (BATCH, 10), generator=g)


class RotaryBlock(nn.Module):
    """Attention that cuts the tables itself where the model does not, or that has tables of its own."""

    def __init__(self, width, heads, tables=()):
        super().__init__()
        for name, table in zip(("cos", "sin"), tables):
            self.register_buffer(name, table.clone(), persistent=False)
        self.heads, self.joint, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, tables):
        n, t, width = x.shape
        tables = tables or (self.cos, self.sin)
        cos, sin = (table if len(table) == t else table[:t].unsqueeze(0) for table in tables)
        q, k, v = (y.view(n, t, self.heads, -1).transpose(1, 2) for y in self.joint(x).split(width, -1))
        q, k = (y * cos + torch.cat([-y.chunk(2, -1)[1], y.chunk(2, -1)[0]], -1) * sin for y in (q, k))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).reshape(n, t, width))


class Rotary(nn.Module):
    """A rotary embedding whose tables are longer than the words: the model cuts them, or each block does. Each block may own tables."""

    def __init__(self, inside, owned, width=16, heads=2, layers=4, length=32):
        super().__init__()
        self.inside, self.embed, self.head, size = inside, nn.Embedding(24, width), nn.Linear(width, 24), width // heads
        angles = torch.arange(length)[:, None] * 10000 ** (-torch.arange(0, size, 2) / size)
        tables = [torch.cat([table, table], 1) for table in (angles.cos(), angles.sin())]
        self.blocks = nn.ModuleList(RotaryBlock(width, heads, tables if owned else ()) for _ in range(layers))
        for name, table in zip(("cos", "sin"), (None, None) if owned else tables):
            self.register_buffer(name, table, persistent=False)

    def forward(self, ids):
        x, tables = self.embed(ids), () if self.cos is None else (self.cos, self.sin)
        tables = tables if self.inside else [table[:ids.shape[1]] for table in tables]
        for block in self.blocks:
            x = block(x, tables)
        return self.head(x)


def rotary(inside, owned=False):
    def make():
        g = torch.Generator().manual_seed(1)
        ids = torch.randint(0, 24, (BATCH, 9), generator=g)
        return Rotary(inside, owned), {"ids": ids[:, :-1]}, ids[:, 1:]
    return make


def rotary16():
    """Each block has tables in fp32, and keeps queries, keys and values of one projection."""
    ids = measured.numbers(24, BATCH, measured.LENGTH + 1)
    return Rotary(True, True, measured.WIDTH, 4, 2, 256), {"ids": ids[:, :-1]}, ids[:, 1:]


class LayerDrop(nn.Module):
    """Layers that are left out at random, with a chance of 0 (LayerDrop)."""

    def __init__(self, width=16):
        super().__init__()
        self.chance, self.embed, self.head = 0.0, nn.Embedding(24, width), nn.Linear(width, 24)
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.GELU()) for _ in range(4))

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            if torch.rand([]) < self.chance:
                continue
            x = x + layer(x)
        return self.head(x)


def layerdrop():
    g = torch.Generator().manual_seed(1)
    ids = torch.randint(0, 24, (BATCH, 9), generator=g)
    return LayerDrop(), {"ids": ids[:, :-1]}, ids[:, 1:]


NETS = {"gpt2": hugging("gpt2"), "llama": hugging("llama"), "vit": hugging("vit"), "t5": hugging("t5"), "bert": hugging("bert"), "mixtral": hugging("mixtral"), "mlp": mlp, "fixed": fixed, "packed": packed, "resnet": resnet, "norms": norms,
        "recurrent": recurrent, "pair": pair, "scaled": scaled, "second": second, "summed": summed, "targets": models.detector(False), "detector": lambda: (*models.detector(True)(), None), "rotary": rotary(False), "rotary-inside": rotary(True), "rotary-own": rotary(True, True), "layerdrop": layerdrop, "rotary16": rotary16, **measured.NETS, **exported.NETS}


LOSSES = {"targets": "models:classes_and_boxes"}  # by network: a function of what it returns and of the target


def seeded(name):
    torch.manual_seed(0)
    return NETS[name]()


def plain(name, how):
    """Losses of the model on one process."""
    model, kwargs, target = seeded(name)
    if how.get("begin") == "reset":
        for path, module in model.named_modules():
            torch.manual_seed(zlib.crc32(path.encode()))
            getattr(module, "reset_parameters", lambda: None)()
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=RATE), []
    for _ in range(STEPS):
        out = model(**kwargs)
        if name in LOSSES:
            loss = getattr(models, LOSSES[name].partition(":")[2])(out, target)
        elif target is None:
            loss = next(x for x in out if x.dim() == 0) if isinstance(out, tuple) else out["loss"]
        else:
            out = out if out[..., 0].numel() == target.numel() else out.movedim(1, -1)  # classes are last, or second
            loss = nn.functional.cross_entropy(out.flatten(0, -2), target.flatten())
        loss.backward()
        if "clip" in how:
            nn.utils.clip_grad_norm_(model.parameters(), how["clip"])
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


# Cases: a name, the network, processes, and a layout, operators, options of `hypar plan`, or where the second stage begins;
# beside a layout, members of the plan, and what is tried: "begin" with parameters on meta, from "state" or by "reset"

SLOW = ",fp32=1GFLOP/s,memory-bandwidth=1GB/s"  # devices that are worth dividing such small networks over
BF16 = {"precision": "bf16", "as": "eager"}
MEMBERS = ("precision", "gradient_precision", "optimizer", "clip", "as")
FOR = ["--for", "torch", "--precision", "fp32"]
HYBRID = ["--planner", "hybrid", *FOR]
TIED = {"tensor": 2, "pipeline": 2, "micro_batches": 2}
CASES = [
    ("dp", "gpt2", 2, {"data": 2}),
    ("dp", "mlp", 2, {"data": 2, "micro_batches": 2}),
    ("dp", "mixtral", 2, {"data": 2, "micro_batches": 2}),
    ("gpipe", "pair", 2, {"pipeline": 2, "micro_batches": 4, "schedule": "gpipe"}),
    ("dp", "scaled", 2, {"data": 2, "begin": "state"}),
    ("stages", "scaled", 2, "second"),
    ("dp", "second", 2, {"data": 2, "micro_batches": 2}),
    ("dp", "summed", 2, {"data": 2, "micro_batches": 2}),
    ("gpipe", "summed", 2, {"pipeline": 2, "micro_batches": 2, "schedule": "gpipe"}),
    ("dp", "targets", 2, {"data": 2, "micro_batches": 2}),
    ("tensor", "targets", 2, {"tensor": 2}),
    ("gpipe", "targets", 2, {"pipeline": 2, "micro_batches": 2, "schedule": "gpipe"}),
    ("bf16", "targets", 2, {"tensor": 2, **BF16}),
    ("gpipe", "detector", 2, {"pipeline": 2, "micro_batches": 2, "schedule": "gpipe"}),
    ("tensor", "llama", 2, {"tensor": 2}),
    ("tensor", "olmo2", 2, {"tensor": 2}),  # two modules read a sum, whose error is summed once
    ("tensor", "qwen3", 2, {"tensor": 2}),  # norms over each head, whose weights all heads share
    ("tensor", "packed", 2, {"tensor": 2}),
    ("stages", "t5", 2, "decoder.embed_tokens"),  # whose word numbers the first stage writes; the second has a parameter by two names
    ("tensor", "t5", 2, {"tensor": 2, "recompute": "full"}),
    ("columns", "packed", 3, {"ops": [{"name": "*", "split": {"r": 3}}, {"name": "attention.linear", "split": {"k": 3}}]}),
    ("one", "packed", 2, {"pipeline": 2, "micro_batches": 1, "schedule": "none"}),
    ("stages", "rotary", 2, {"pipeline": 2, "micro_batches": 2}),
    ("stages", "rotary-inside", 2, {"pipeline": 2, "micro_batches": 2}),
    ("stages", "layerdrop", 2, {"pipeline": 2, "micro_batches": 2}),
    ("interleaved", "fixed", 2, {"pipeline": 2, "chunks": 2, "micro_batches": 2}),
    ("nearest", "resnet", 2, "layer1.1.relu_2"),  # inside a module, where no stage can begin
    ("zero3", "gpt2", 2, {"data": 2, "shard": "parameters", "recompute": "full"}),
    ("bf16", "llama", 2, {"data": 2, **BF16}),
    ("bf16-zero3", "gpt2", 2, {"data": 2, "shard": "parameters", **BF16}),
    ("bf16-zero3-sums", "fixed", 2, {"data": 2, "shard": "parameters", "gradient_precision": "fp32", **BF16}),
    ("bf16-stages", "llama", 2, {"pipeline": 2, "micro_batches": 2, "clip": 0.5, "begin": "state", **BF16}),
    ("bf16-stages", "rotary", 2, {"pipeline": 2, "micro_batches": 2, **BF16}),  # tables in fp32 that blocks are given
    ("bf16-stages", "rotary-own", 2, {"pipeline": 2, "micro_batches": 2, **BF16}),  # tables in fp32 that blocks have
    ("bf16", "rotary-own", 2, {"tensor": 2, **BF16}),
    ("bf16", "rotary16", 2, {"data": 2, **BF16}),  # values are a part of the joint projection, all of which is kept
    ("bf16", "pair", 2, {"data": 2, "micro_batches": 2, **BF16, "as": "fsdp"}),  # whose own loss is bf16, as nothing casts
    ("bf16-norms", "norms", 2, {"data": 2, **BF16}),
    ("clip", "fixed", 2, {"pipeline": 2, "micro_batches": 2, "clip": 0.5}),  # a parameter of both stages counts once
    ("meta", "llama", 2, {"data": 2, "shard": "parameters", "begin": "state"}),
    ("meta-stages", "fixed", 2, {"pipeline": 2, "micro_batches": 2, "begin": "state"}),
    ("meta-reset", "mlp", 2, {"tensor": 2, "begin": "reset"}),
    ("1f1b", "recurrent", 4, ["--on", "full:4" + SLOW, "--planner", "1f1b", "--stages", "4", *FOR]),  # modules are stages
    ("stages", "norms", 4, {"data": 2, "pipeline": 2, "micro_batches": 1, "schedule": "gpipe"}),
    ("mixed", "norms", 4, {"ops": [{"name": "*", "split": {"n": 4}}, {"name": "10", "split": {"n": 2, "k": 2}}]}),
    ("dp", "vit", 4, {"data": 4}),
    ("3d", "targets", 4, {"tensor": 2, "pipeline": 2, "micro_batches": 2}),
    ("3d", "detector", 4, {"data": 2, "tensor": 2}),
    ("3d", "gpt2", 4, {"tensor": 2, "pipeline": 2, "micro_batches": 2, "sequence_parallel": True}),
    ("3d", "llama", 4, {"data": 2, "tensor": 2, "shard": "gradients", "sequence_parallel": True, "micro_batches": 2}),
    ("3d", "vit", 4, {"data": 2, "tensor": 2, "recompute": "full"}),
    ("3d-zero3", "qwen3", 4, {"data": 2, "tensor": 2, "shard": "parameters"}),
    ("3d-stages", "qwen3", 4, {"tensor": 2, "pipeline": 2, "micro_batches": 2, "clip": 0.5}),
    ("3d", "fixed", 4, {"tensor": 2, "pipeline": 2, "micro_batches": 2}),
    # a parameter of both stages, whose columns the first one divides and whose rows the second, or the first one alone
    ("tied-columns", "fixed", 4, {"layout": TIED, "ops": [{"name": "embed", "split": {"k": 2}, "devices": [0, 1]}]}),
    ("tied-whole", "fixed", 4, {"layout": TIED, "ops": [{"name": "head", "split": {"r": 2}, "devices": [2, 3]}], **BF16}),
    ("3d", "mlp", 4, {"tensor": 4}),
    ("bf16-zero2", "llama", 4, {"data": 4, "shard": "gradients", **BF16}),
    ("bf16-3d", "llama", 4, {"data": 2, "tensor": 2, "clip": 0.5, "begin": "state", **BF16}),
    ("hybrid", "gpt2", 4, ["--on", "full:4" + SLOW, *HYBRID, "--stages", "2", "--recompute", "full", "--shard", "optimizer"]),
    ("hybrid", "llama", 4, ["--on", "full:4" + SLOW, *HYBRID]),
    ("hybrid-stages", "llama", 4, ["--on", "full:4" + SLOW, *HYBRID, "--stages", "2"]),
    ("mp", "bert", 4, ["--on", "full:4", "--planner", "mp", *FOR]),  # a table of two rows, which four processes have whole
    ("hybrid", "mlp", 4, ["--on", "full:4" + SLOW, *HYBRID]),
    ("hybrid", "vit", 4, ["--on", "full:4" + SLOW, *HYBRID, "--shard", "optimizer"]),
]


# Bytes that are sent, by those of the plan; beside them the loss is summed
RATIO, ADDED = (0.9, 1.1), 256
RATIOS = {
    "norms-mixed-4": (1, 1.4),  # gradients are summed over each dimension of the mesh by itself
    "recurrent-1f1b-4": (1, 1.8),  # of all steps the last one is read: hypar sends it alone
    "llama-3d-4": (0.85, 1),  # what hypar sends again PyTorch keeps
    "packed-columns-3": (1, 2.5),  # inside of a module DTensor gathers as it likes
    "llama-hybrid-stages-4": (1, 1.4),  # gloo has no all-to-all, DTensor gathers in its place
    "bert-mp-4": (1, 1.4),  # likewise
}
# Bytes that are saved, beside the plan's activations
SAVED = 0.1
# Of networks that are measured: bytes that are sent, saved, and there at once
NEAR, CLOSE_ONE = 0.03, 0.005
QUICK = ("deep16-fp32-zero1-2", "deep16-fp32-mixed-2", "wide16-fp32-zero3-2", "deep16-fp32-gpipe-2", "llama16-dp-2", "llama16-tensor-2", "wide16-zero1-2", "resnet16-dp-2", "bert16-zero2-4", "deep16-dp-2", "odd16-zero3-4", "masked16-fp32-stages-2", "whisper16-fp32-dp-2")
QUICK_SCRIPTS = ("mobile-data-2-shard-gradients-2", "clip-pipeline-2-schedule-gpipe-2")


def cut_at(op, path):
    """Two stages, the second of which begins with an operator of the graph."""
    with open(path) as file:
        names = [o["name"] for o in json.load(file)["ops"]]
    at = names.index(op)
    return {"ops": [{"name": "*"}], "stages": [{"ops": names[:at], "devices": [0]}, {"ops": names[at:], "devices": [1]}],
            "schedule": {"name": "gpipe", "micro_batches": 2}}


def write_plan(case, folder, command):
    """The plan of a case, and the script made of it."""
    name, net, ranks, how = case
    path = os.path.join(folder, f"{net}-{name}-{ranks}")
    if isinstance(how, str):
        how = cut_at(how, os.path.join(folder, f"{net}.json"))
    if isinstance(how, dict) and "shard_over" in how:  # which a layout cannot say
        options = [word for k, v in how.items() if k not in (*MEMBERS, "measured") for word in ("--" + k.replace("_", "-"), str(v))]
        subprocess.run([command, "plan", os.path.join(folder, f"{net}.json"), "--batch", str(BATCH), "--on", f"full:{ranks}", "--planner", "3d", *options,
                        "-q", "-o", path + ".json"], check=True)
        with open(path + ".json") as file:
            plan = {**json.load(file), **{k: how[k] for k in MEMBERS if k in how}}
        with open(path + ".json", "w") as file:
            json.dump(plan, file)
    elif isinstance(how, dict) and "words" in how:
        words = [command, "plan", os.path.join(folder, f"{net}.json"), "--batch", str(BATCH), "--on", f"full:{ranks}", "--planner", "3d", "--for", "torch", "--precision", "bf16",
                 "--optimizer", "adamw", *(f"--{k}=1" for k in ("data", "tensor", "pipeline", "micro-batches") if f"--{k} " not in how["words"]), *how["words"].split(), "-q", "-o", path + ".json"]
        subprocess.run(words, check=True)
    elif isinstance(how, dict):
        plan = {"format": "hypar-plan/1", "model": f"{net}.json", "batch": BATCH, "machine": f"full:{ranks}"}
        said = {k: v for k, v in how.items() if k not in ("begin", "measured")}
        plan.update(said if "ops" in how else {"layout": {k: v for k, v in said.items() if k not in MEMBERS}, **{k: v for k, v in said.items() if k in MEMBERS}})
        with open(path + ".json", "w") as file:
            json.dump(plan, file)
    else:
        words = [command, "plan", os.path.join(folder, f"{net}.json"), "--batch", str(BATCH), "-q", "-o", path + ".json", *how]
        subprocess.run(words, check=True)
    export = [command, "export", path + ".json", "--to", "torch", "-q", "-o", path + ".py"]
    if name == "nearest":  # the plan itself is refused, not the one that comes in its place
        assert subprocess.run(export, capture_output=True).returncode, path
        subprocess.run([*export, "--nearest", path + ".near"], check=True, capture_output=True)
        os.replace(path + ".near", path + ".json")
    subprocess.run(export, check=True)
    lowered = subprocess.run([command, "lower", path + ".json", "--json"], check=True, capture_output=True, text=True)
    lowered = json.loads(lowered.stdout)
    if counts_saved(how):
        with open(path + ".py") as file:  # of the plan on processors
            planned = ast.literal_eval(re.search(r"^PLANNED = ({.*?})", file.read(), re.MULTILINE)[1])
        lowered["saved"], lowered["peak"] = planned["saved"], planned["tensors"] if "measured" in how else 0
    return path + ".py", lowered


def is_planned(case, folder, command):
    """Is there a script of the case? Else hypar has said why not."""
    try:
        write_plan(case, folder, command)
    except subprocess.CalledProcessError:
        print(f"{name_of(case)}: no plan")
        return False
    return True


def counts_saved(how):
    """Of small networks with stages or DTensors what the model makes itself (masks, tables) is no small part."""
    return "measured" in how or settings(how).get("precision") == "bf16" and not {"tensor", "pipeline"} & {*how}


def settings(how):
    return how if isinstance(how, dict) else {}


# One process of several -----------------------------------------------------------------------------------------------


def load(path):
    spec = importlib.util.spec_from_file_location("script", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def train(path, net, how):
    """Losses of the exported script, the bytes that its last step sends on all processes, and those of the process that saves most, and
    that is fullest."""
    script = load(path)
    model, kwargs, target = seeded(net)
    state = model.state_dict() if how.get("begin") == "state" else None
    if "begin" in how:
        model = script.empty(lambda: seeded(net)[0])
        assert all(p.is_meta for p in model.parameters())
    mesh = script.device_mesh()
    kwargs, target = torch.utils._pytree.tree_map_only(torch.Tensor, lambda x: script.own(x, mesh).clone(), (kwargs, target))
    if net in ("mlp", "pair"):  # the same, without a file
        modules, step = hypar.torch.parallelize(model, path.replace(".py", ".json"), mesh, (), kwargs, target, state)
    else:
        modules, step = script.parallelize(model, mesh, target=target, state=state, **kwargs)
    del model
    params = [*modules.parameters()] or [torch.zeros(())]
    optimizer = torch.optim.AdamW(params, lr=1e-3, fused=True) if how.get("optimizer") == "adamw" else torch.optim.SGD(params, lr=RATE)
    losses, memory = [], live.Live(how.get("detail", False))
    for i in range(STEPS):
        with contextlib.ExitStack() as contexts:
            if counts_saved(how) and 0 < i < STEPS - 1:  # tensors that last are known after one step
                memory.add([modules.state_dict(), kwargs, target, [*optimizer.state.values()]])
                contexts.enter_context(memory)
            if counts_saved(how) and i == STEPS - 2:
                contexts.enter_context(memory.save(modules))
            if i == STEPS - 1:
                counter = script.Measured([modules.state_dict(), kwargs, target, [*optimizer.state.values()]])
                contexts.enter_context(counter)
            loss = step(target=target, **kwargs)
            assert loss.dtype == torch.float32, f"the mean loss is {loss.dtype}"
            losses.append(loss.item())
            if "clip" in how:
                script.clip(modules, mesh)
            optimizer.step()
            optimizer.zero_grad()
    for name, b in modules.named_buffers():  # of batch norms
        assert not name.endswith("num_batches_tracked") or b == STEPS, f"{name}: {b} steps"
    every = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(every, (counter.sent, memory.saved_most, counter.most))
    for rank in range(len(every) if memory.detail else 0):  # one after another
        torch.distributed.barrier()
        if rank == torch.distributed.get_rank():
            print(f"rank {rank}, at most {memory.most} B, in {memory.detail.pop('AT')[0]}; saved {memory.saved_most} B", flush=True)
            for what, rows in ("held", memory.detail), ("saved", memory.saved_detail):
                for name, sizes in sorted(rows.items(), key=lambda row: -sum(row[1])):
                    print(f"    {what} {sum(sizes)} B of {name}: {' '.join(map(str, sorted(sizes)[:-9:-1]))}", flush=True)
    total = {}
    for sent, _, _ in every:
        for k, n in sent.items():
            total[k] = total.get(k, 0) + n
    return losses, total, max(e[1] for e in every), max(e[2] for e in every)


def process(rank, ranks, port, cases, queue):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    for name, net, path, how in cases:
        started = time.time()
        try:
            losses, sent, *memory = train(path, net, how)
            if rank == 0:
                queue.put((name, net, losses, sent, time.time() - started, memory))
        except Exception:
            queue.put((name, net, None, f"rank {rank}: {traceback.format_exc(limit=-3)}", 0, [0, 0]))
            queue.close()
            queue.join_thread()
            os._exit(1)  # the others wait for this one
    torch.distributed.destroy_process_group()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run_all(ranks, cases):
    """The cases of so many processes, in processes that are started once."""
    queue = context.Queue()
    port = free_port()
    workers = [context.Process(target=process, args=(r, ranks, port, cases, queue)) for r in range(ranks)]
    for w in workers:
        w.start()
    results = []
    while len(results) < len(cases) and (not results or results[-1][2] is not None):
        try:
            results.append(queue.get(timeout=1))
        except Exception:
            if any(w.exitcode for w in workers) or not any(w.is_alive() for w in workers):
                break
    for w in workers:
        if len(results) < len(cases):
            w.terminate()
        w.join()
    return results


def prepare(net, hows, folder):
    """Write the graph of a network; its losses under the settings of each case."""
    model, kwargs, target = seeded(net)
    hypar.torch.graph(model, (), kwargs, name=net, loss=LOSSES.get(net), target=target).write(os.path.join(folder, f"{net}.json"))
    known = {}
    for name, how in hows.items():
        if "measured" in how:  # beside the script of one process
            continue
        key = how.get("clip"), how.get("begin") == "reset"
        known.setdefault(key, None)
        known[key] = known[key] or plain(net, how)
        hows[name] = known[key]
    return hows


def readme(command):
    """The section of the README, as it stands: files and commands, in an empty folder."""
    with open(os.path.join(ROOT, "README.md")) as file:
        section = file.read().split("model = MyNet()", 1)[1].split("\n## ")[0]
    python, shell = (section.split(f"```{kind}\n")[1].split("```")[0] for kind in ("python", "sh"))
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "net.py"), "w") as file:
            file.write(python)
        paths = os.pathsep.join([os.path.dirname(os.path.abspath(command)), os.path.dirname(sys.executable), os.environ["PATH"]])
        env = dict(os.environ, PATH=paths, PYTHONPATH=os.path.join(ROOT, "python"), OMP_NUM_THREADS="1", HYPAR=os.path.abspath(command))
        done = subprocess.run(["sh", "-ec", shell], cwd=folder, env=env, capture_output=True, text=True)
    losses = [line for line in done.stdout.splitlines() if line.startswith("step ")]
    lines = sum(1 for line in (python + shell).splitlines() if line)
    print(f"README: {lines} lines; {'; '.join(losses[:1] + losses[-1:])}")
    if done.returncode or len(losses) != 5 or lines > 15:
        print(done.stdout, done.stderr)
        return False
    return True


def refusals(command):
    """A script that is started with another number of processes, with another model, with another batch, with a function that is not
    there, or with a model that stages cannot trace: one line, without where Python is. And what --measure tells."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "net.py"), "w") as file:
            file.write(OWN + "\ndef other():\n    return nn.Sequential(nn.Linear(12, 8)), next(batches())[0], next(batches())[1]\n" + BRANCH + BATCHES)
        env = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "python"), HYPAR=os.path.abspath(command), OMP_NUM_THREADS="1")
        subprocess.run([sys.executable, "-m", "hypar.torch", "net:example", "-o", "net.json"], cwd=folder, env=env, check=True, capture_output=True)
        for how, script in ("--tensor", "train.py"), ("--pipeline", "train.py-stages"):
            subprocess.run([env["HYPAR"], "plan", "net.json", "--batch", "8", "--on", "full:2", "--planner", "3d", how, "2", "--precision", "fp32", "--for", "torch",
                            "-qo", "plan.json"], cwd=folder, check=True)
            subprocess.run([env["HYPAR"], "export", "plan.json", "--to", "torch", "-qo", script], cwd=folder, check=True)

        def run_ranks(ranks, *words):
            env.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), WORLD_SIZE=str(ranks))
            started = [apart.start(*words, folder=folder, environment={**env, "RANK": str(r), "LOCAL_RANK": str(r)}) for r in range(ranks)]
            return [p.end() for p in started]

        def told(ranks, function, script="train.py"):
            """Exit codes and lines of each rank: those of the script, and what Python would tell of a failure."""
            ended = run_ranks(ranks, script, function)
            lines = [p.stderr.splitlines() for p in ended]
            return [p.returncode for p in ended], [[line for line in mine if line.startswith(("train.py", "loop.py", "resume.py", "Traceback", "def forward"))] for mine in lines]
        batches = [told(2, f"net:{name}", script) for script in ("train.py", "train.py-stages") for name in ("wide", "double", "few")]
        broken = told(2, "net:broken")[1][0]
        with open(os.path.join(folder, "loop.py"), "w") as file:
            file.write(REFUSED_LOOP)
        with open(os.path.join(folder, "resume.py"), "w") as file:
            file.write(REFUSED_FOLDER)
        missing = told(2, "", "resume.py")
        failed = told(2, "net:outside"), told(2, "", "loop.py")
        measured = run_ranks(2, "train.py", "net:example", "2", "--measure")[0].stdout
        found = told(3, "net:example"), told(2, "net:other"), told(2, "net:nothing"), told(2, "net:branch", "train.py-stages")
        usage = [subprocess.run([sys.executable, "train.py", *words], cwd=folder, env=env, capture_output=True, text=True) for words in ([], ["net:example", "few"], ["net:example", "--help"])]
    wanted = (([1] * 3, [["train.py: this plan is for 2 processes, torchrun started 3"], [], []]),
              ([1] * 2, [["train.py: the model has no module '2': this is the plan of another"], []]),
              ([1] * 2, [["train.py: net:nothing: AttributeError: module 'net' has no attribute 'nothing'"], []]),
              ([1] * 2, [[f"train.py-stages: module '1' ({os.path.join(os.path.realpath(folder), 'net.py')}:21) cannot be traced, which stages need: what the model "
                          "does here depends on numbers that it computes; torch.where, or torch.cond, traces both ways; a plan without stages needs no trace"], []]))
    print(f"refusals: {[lines[0] for _, lines in [*found, *batches]]}")
    whole = [f"{script}: the batch: {what}" for script in ("train.py", "train.py-stages") for what in (
        "'input' is float32 [8, 13], expected float32 [8, 12] on each replica", "'input' is float64 [8, 12], expected float32 [8, 12] on each replica",
        "'target' is missing, expected int64 [8] on each replica")]
    told_whole = [lines[0] == [text] and not lines[1] and codes == [1, 1] for (codes, lines), text in zip(batches, whole)]
    ratios = [float(r) for r in re.findall(r"^bytes .*: measured \d+, planned \d+ \(([\d.]+)\)$", measured, re.MULTILINE)]
    print(measured)
    print(broken, failed)
    line = r"train.py: rank 1: IndexError: Target 99 is out of bounds\. \(.*train.py:\d+; HYPAR_DEBUG=1 in the environment shows all\)"
    if not all(codes == [1, 1] for codes, _ in failed) or failed[0][1][0] or len(failed[0][1][1]) != 1 or not re.fullmatch(line, failed[0][1][1][0]) or \
            failed[1][1] != [["loop.py: the batch: 'input' is float32 [8, 13], expected float32 [8, 12] on each replica"], []]:
        return False
    if missing[1] != [["resume.py: load: 'step-9' is no folder that save() wrote"], []]:
        print(missing)
        return False
    wanted_one = r"train.py: rank 1: net:broken: FileNotFoundError: .*'nothing.pt' \(.*net.py:\d+\)"
    if len(broken) != 1 or not re.fullmatch(wanted_one, broken[0]) or not all(told_whole) or len(ratios) != 2 or any(abs(r - 1) > 0.1 for r in ratios):
        return False
    helped = [u.returncode for u in usage] == [2, 2, 0] and all("train.py package.module:function [STEPS]" in u.stdout.replace("FILE", "train.py") and not u.stderr for u in usage)
    if found != wanted or not helped:
        print(found, usage)
    return found == wanted and helped


class Begun(nn.Module):
    """Parameters that constructors write in other ways than reset_parameters()."""

    def __init__(self, copied=False):
        super().__init__()
        self.embed, self.a, self.b = nn.Embedding(40, 32, padding_idx=3), nn.Linear(32, 32), nn.Linear(32, 40, bias=False)
        self.scale = nn.Parameter(torch.full((32,), 3.0))
        nn.init.trunc_normal_(self.a.weight, std=0.01, a=-0.02, b=0.02)
        with torch.no_grad():
            self.a.bias.copy_(torch.arange(32.0)).mul_(2)
        self.b.weight = self.embed.weight
        if copied:
            self.turn = nn.Parameter(torch.randn(4, 4) * 2)


def beginnings(command):
    """Models that empty() makes begin as their constructors say; what it cannot repeat is refused by one line."""
    with tempfile.TemporaryDirectory() as folder:
        prepare("mlp", {}, folder)
        script = load(write_plan(("one", "mlp", 1, {"data": 1}), folder, command)[0])

    def filled(make):
        model = script.empty(make)
        blank = script.without_memory(model)
        script.fill(model, blank, None)
        return model.state_dict()
    failed = []
    for name in "llama", "gpt2":
        real, made = models.HUGGING[name]()[0].state_dict(), filled(lambda: models.HUGGING[name]()[0])
        failed += [k for k, x in real.items() if x.numel() > 1 and not torch.allclose(x.std(), made[k].std(), rtol=0.5) or not torch.allclose(x.mean(), made[k].mean(), atol=0.02)]
    made, again = filled(Begun), filled(Begun)
    alike = all(torch.equal(x, again[k]) for k, x in made.items()) and torch.equal(made["embed.weight"], made["b.weight"])
    right = (made["scale"] == 3).all() and 0.005 < made["a.weight"].std() < 0.015 and made["a.weight"].abs().max() <= 0.02 and torch.equal(made["a.bias"], 2 * torch.arange(32.0))
    right = right and made["embed.weight"].std() > 0.8 and (made["embed.weight"][3] == 0).all()
    try:
        filled(lambda: Begun(True))
        why = None
    except script.Refused as refused:
        why = str(refused)
    print(f"beginnings: {failed or 'alike'}; {why}")
    return not failed and alike and bool(right) and bool(why) and why.startswith("parameter 'turn': its values cannot be made shard by shard: return the model itself")


OWN = """import torch
from torch import nn

class MyNet(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(12, 20), nn.ReLU(), nn.Linear(20, 8))

def batches():
    g = torch.Generator().manual_seed(1)
    for _ in range(4):
        yield torch.randn(8, 12, generator=g), torch.randint(0, 8, (8,), generator=g)

def example():
    return MyNet(), *next(batches())
"""


BRANCH = """
class Branch(nn.ReLU):
    def forward(self, x):
        return x if x.sum() > 0 else super().forward(x)

def branch():
    model = MyNet()
    model[1] = Branch()
    return model, next(batches())[0], next(batches())[1]
"""
BATCHES = """
def wide():
    x, y = next(batches())
    return MyNet(), torch.cat([x, x[:, :1]], 1), y

def double():
    return MyNet(), next(batches())[0].double(), next(batches())[1]

def few():
    return MyNet(), next(batches())[0]

def outside():
    model, x, y = example()
    if __import__("os").environ["RANK"] == "1":
        y[0] = 99
    return model, x, y

def broken():
    if __import__("os").environ["RANK"] == "1":
        open("nothing.pt")
    return example()
"""
REFUSED_LOOP = """
import train
from net import MyNet, wide
mesh = train.device_mesh()
_, x, y = wide()
modules, step = train.parallelize(MyNet(), mesh, x, target=y)
step(x, target=y)
"""
REFUSED_FOLDER = """
import torch
import train
from net import example
mesh = train.device_mesh()
model, x, y = example()
modules, step = train.parallelize(model, mesh, x, target=y)
train.load("step-9", modules, torch.optim.SGD(modules.parameters()))
"""
LOOP_PLANS = {"stages": "--pipeline 2 --micro-batches 2", "data": "--data 2 --shard parameters", "tensor": "--tensor 2"}


def one_of_loop(rank, port, folder, text, argv):
    """A process of a loop, as torchrun starts it; rank 0 prints to a file."""
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    os.chdir(folder)
    sys.path.insert(0, folder)
    sys.argv = ["loop.py", *argv]
    with open("told", "a") if rank == 0 else open(os.devnull, "w") as file, contextlib.redirect_stdout(file):
        exec(compile(text, "loop.py", "exec"), {"__name__": "__main__"})


def own_loop(command):
    """The loop of docs/formats-torch.md, as it stands, on two processes: with stages and a checkpoint. Each plan goes on from that,
    with the losses and norms of the run that went through."""
    with open(os.path.join(ROOT, "docs", "formats-torch.md")) as file:
        loop = file.read().split("```python\n")[1].split("```")[0]
    loop = loop.replace("every, last = 100, None", "import sys; every, last = 2, sys.argv[2] if len(sys.argv) > 2 else None")
    loop = loop.replace('"plan.json"', "sys.argv[1]").replace("lr=3e-4", "lr=0.1").replace("(i + 1) / 100", "(i + 1) / 4")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "net.py"), "w") as file:
            file.write(OWN)
        env = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "python"), HYPAR=os.path.abspath(command))
        subprocess.run([sys.executable, "-m", "hypar.torch", "net:example", "-o", "net.json"], cwd=folder, env=env, check=True)
        for name, how in LOOP_PLANS.items():
            subprocess.run([command, "plan", f"{folder}/net.json", "--batch", "8", "--on", "full:2", "--planner", "3d", *how.split(), "--precision", "fp32", "--for", "torch",
                            "-qo", f"{folder}/{name}.json"], check=True)
        os.environ["HYPAR"] = os.path.abspath(command)
        failed = False
        for argv in [["stages.json"], *([f"{name}.json", "step-2"] for name in LOOP_PLANS)]:
            workers = [context.Process(target=one_of_loop, args=(rank, port, folder, loop, argv)) for port in [free_port()] for rank in range(2)]
            for w in workers:
                w.start()
            for w in workers:
                w.join()
            failed |= any(w.exitcode for w in workers)
        with open(os.path.join(folder, "told")) as file:
            told = file.read().splitlines()
    print(f"own loop: {'; '.join(told[:1] + told[-1:])}")
    rows = [[float(word.strip(":,")) for word in line.split()[1::2]] for line in told]  # step, loss, norm
    again = all(abs(a - b) <= 1e-5 * abs(b) for row, whole in zip(rows[4:], rows[2:4] * len(LOOP_PLANS)) for a, b in zip(row, whole))
    if failed or len(told) != 4 + 2 * len(LOOP_PLANS) or not again:
        print("\n".join(told))
        return False
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hypar", default="hypar")
    parser.add_argument("--all", action="store_true", help="all rows of measured.py, not a few of them")
    parser.add_argument("--scripts", action="store_true", help="the rows of exported.py, and a table of them")
    parser.add_argument("--detail", action="store_true", help="bytes of each kind of message; of the fullest moment, and of what is saved, by operator")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="NETWORK-NAME-PROCESSES, or the begin of one (all)")
    args = parser.parse_args()
    os.environ["HYPAR"] = args.hypar
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for module in ("fsdp", "pipelining", "tensor.parallel"):  # once, not by each process
        importlib.import_module(f"torch.distributed.{module}")
    transformers.GPT2LMHeadModel, transformers.LlamaForCausalLM, transformers.ViTForImageClassification
    every = exported.CASES if args.scripts else [*CASES, *(c for c in measured.CASES if args.all or args.cases or name_of(c) in QUICK),
                                                     *(c for c in exported.CASES if args.cases or name_of(c) in QUICK_SCRIPTS)]
    chosen = [c for c in every if not args.cases or any(name_of(c).startswith(p) for p in args.cases)]
    failed, table = 0, {}
    with tempfile.TemporaryDirectory() as folder:
        wanted = {}
        with context.Pool(1) as pool:  # in a process of its own: kernels' threads do not live on in processes that are forked
            for net in dict.fromkeys(c[1] for c in chosen):
                hows = {(c[0], c[2]): settings(c[3]) for c in chosen if c[1] == net}
                wanted[net] = pool.apply(prepare, (net, hows, folder))
        run_ones(chosen, folder, args.hypar, wanted)
        for ranks in sorted({c[2] for c in chosen}):
            mine = [c for c in chosen if c[2] == ranks]
            if args.scripts:
                mine = [c for c in mine if is_planned(c, folder, args.hypar)]
                failed += sum(c[2] == ranks for c in chosen) - len(mine)
            scripts = [write_plan(c, folder, args.hypar) for c in mine]
            results = run_all(ranks, [(c[0], c[1], s[0], {**settings(c[3]), "detail": args.detail}) for c, s in zip(mine, scripts)])
            while args.scripts and len(results) < len(mine):  # one has failed: so have its processes
                results += run_all(ranks, [(c[0], c[1], s[0], {**settings(c[3]), "detail": args.detail}) for c, s in zip(mine[len(results):], scripts[len(results):])]) or [None]
            for c, (_, lowered), result in zip(mine, scripts, results + [None] * len(mine)):
                failed += not report(c, lowered, result, wanted[c[1]][c[0], c[2]], args.detail)
                if args.scripts:
                    table[name_of(c)] = ratios(lowered, result, wanted[c[1]][c[0], c[2]])
    if args.scripts:
        print_table(chosen, table)
        return 1 if failed else 0
    failed += not args.cases and not readme(args.hypar)
    failed += (not args.cases or "own-loop" in args.cases) and not own_loop(args.hypar)
    failed += (not args.cases or "beginnings" in args.cases) and not beginnings(args.hypar)
    failed += (not args.cases or "refusals" in args.cases) and not refusals(args.hypar)
    print("failed" if failed else "ok")
    return 1 if failed else 0


def name_of(case):
    return f"{case[1]}-{case[0]}-{case[2]}"


def run_ones(chosen, folder, command, wanted):
    """Losses of the script of one process, for the cases that are measured."""
    mine = [c for c in chosen if "measured" in settings(c[3])]
    kinds = {"bf16": measured.BF16, None: measured.FP32}
    ones = [("one" + str(kind), net, 1, {**kinds[kind]}) for net, kind in dict.fromkeys((c[1], c[3].get("precision")) for c in mine)]
    scripts = [write_plan(c, folder, command)[0] for c in ones]
    losses = {(r[1], r[0]): r[2] for r in run_all(1, [(c[0], c[1], path, c[3]) for c, path in zip(ones, scripts)])} if ones else {}
    for c in mine:
        wanted[c[1]][c[0], c[2]] = losses.get((c[1], "one" + str(c[3].get("precision")))) or []


def ratios(lowered, result, wanted):
    """Measured by planned: bytes that are sent, saved and there at once; the largest distance of a loss. None: it was not run."""
    if result is None or result[2] is None:
        return None
    losses, sent, memory = result[2], sum(result[3].values()), result[5]
    planned = lowered["comm_bytes"], lowered["saved"], lowered["peak"]
    return [found / n if n else 1.0 for found, n in zip((sent, *memory), planned)] + [max(abs(a - b) / abs(b) for a, b in zip(losses, wanted))]


def print_table(chosen, table):
    """A row for each case, in Markdown, and how many are near."""
    print("\n| network | processes | plan | sent | saved | peak | loss, off by |\n|---|---|---|---|---|---|---|")
    near = [0] * 4
    for c in chosen:
        found = table.get(name_of(c))
        fits = [abs(r - 1) <= NEAR for r in (found or [0] * 3)[:3]]
        near = [n + fit for n, fit in zip(near, (*fits, all(fits)))]
        words = " | ".join([*(f"{r:.3f}" for r in found[:3]), f"{found[3]:.0e}"]) if found else "not run | | |"
        print(f"| {c[1]} | {c[2]} | {c[3]['words'].replace('--', '')} | {words} |")
    print("\nwithin 3 %: " + ", ".join(f"{what} {n} of {len(chosen)}" for what, n in zip(("sent", "saved", "peak", "all three"), near)))


def report(case, lowered, result, wanted, detail):
    name = name_of(case)
    if result is None:
        print(f"{name}: not run")
        return False
    _, _, losses, sent, seconds, memory = result
    if losses is None:
        print(f"{name}: {sent}")
        return False
    is_measured, is_short = "measured" in case[3], settings(case[3]).get("precision") == "bf16"
    bound = CLOSE_BF16 if is_short and (not is_measured or "words" in case[3]) else CLOSE_ONE if is_measured else CLOSE
    close = len(losses) == len(wanted) == STEPS and all(abs(a - b) <= bound * abs(b) for a, b in zip(losses, wanted))  # NaN is not
    error = max((abs(a - b) / abs(b) for a, b in zip(losses, wanted)), default=0)
    total, predicted = sum(sent.values()), lowered["comm_bytes"]
    least, most = (1 - NEAR, 1 + NEAR) if is_measured else RATIOS.get(name, RATIO)
    counted = least * predicted <= total <= most * predicted + ADDED and not any(k.startswith("?") for k in sent)
    print(f"{name:24} loss {losses[0]:.6f} -> {losses[-1]:.6f}, off by {error:.1e}; sends {total:.0f} B, hypar says {predicted:.0f} "
          f"({total / predicted if predicted else 0:.2f}); {seconds:.1f} s" + ("" if close else "  WRONG")
          + ("" if counted else f"  BYTES: expected {least} to {most} of them, and no operators that are not known"))
    for what, word, n in ("saved", "saves", memory[0]), ("peak", "has at most", memory[1]):
        if not lowered.get(what):
            continue
        near = NEAR if is_measured else SAVED
        fits = abs(n - lowered[what]) <= near * lowered[what]
        print(f"{'':24} {word} {n:.0f} B, hypar says {lowered[what]:.0f} ({n / lowered[what]:.3f})" + ("" if fits else f"  {what.upper()}"))
        counted &= fits
    if detail or not counted:
        print("   ", {k: round(v) for k, v in sorted(sent.items())})
    return close and counted


if __name__ == "__main__":
    sys.exit(main())
