#!/usr/bin/env python3
"""Writes tests/data/onnx/small/*.onnx, small networks with their weights in fp64, and tests/model/onnx_values.h: what
PyTorch computes of them, loss and gradients.

    python3 tests/model/onnx_reference.py

Needs PyTorch (1.13 or later; on Debian: python3-torch). Inputs are filled by the formulas of number() and id_at(), which
tests/model/test_onnx_values.c repeats. Of each gradient, named as PyTorch names the parameter, the sum of e-th element
times cos(e) is written; a parameter that hypar divides or reorders is compared piece by piece."""
import math
import os
import warnings

import torch
import torch.nn.functional as F
from torch import nn

torch.set_default_dtype(torch.float64)
FOLDER = os.path.join(os.path.dirname(__file__), "..", "data", "onnx", "small")
records = []


def number(e):
    return math.sin(1 + 0.9 * e)


def id_at(e, below):
    return (7 * e + 3) % below


class Convolutions(nn.Module):
    """Convolutions with groups and dilation, batch norm, pooling of all kinds, a residual, concatenation."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, 2, 1)
        self.norm = nn.BatchNorm2d(8)
        self.depth = nn.Conv2d(8, 8, 3, 1, 2, 2, groups=4, bias=False)
        self.point = nn.Conv2d(8, 6, 1)
        self.last = nn.Linear(14, 5)

    def forward(self, x):
        x = F.silu(self.norm(self.first(x)))
        x = x + F.hardswish(self.depth(x))
        y = F.avg_pool2d(F.leaky_relu(self.point(x), 0.1), 3, 1, 1)
        x = torch.cat([F.max_pool2d(x, 3, 1, 1), y], 1)
        return self.last(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class Sum(nn.Module):
    """Element-wise odds and ends: scalars on both sides, clipping, powers, reductions, slices, padding."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 8)
        self.gain = nn.Parameter(torch.linspace(0.5, 1.5, 8))
        self.slope = nn.PReLU(8)
        self.b = nn.Linear(5, 4, bias=False)

    def forward(self, x):
        x = self.slope(self.a(x)) * self.gain
        x = 2 - x / 3 + 1 / (2 + torch.sigmoid(x)) - torch.clamp(x, -0.4, 0.6) ** 2
        x = torch.cat([x[:, 1:7:2], x.mean(1, keepdim=True), torch.exp(-x.abs()).sum(1, keepdim=True)], 1)
        return self.b(torch.tanh(x)) + torch.sqrt(x[:, :4] ** 2 + 0.25)


class Encoder(nn.Module):
    """Attention as nn.MultiheadAttention and as written by hand with a causal mask, layer norm, GELU."""

    def __init__(self, width=12, heads=3, length=5, vocab=11):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.place = nn.Parameter(torch.linspace(-1, 1, length * width).reshape(1, length, width))
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.qkv = nn.Linear(width, 3 * width)
        self.final = nn.LayerNorm(width)
        self.heads = heads
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).bool(), persistent=False)

    def causal(self, x):
        n, t, c = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (y.view(n, t, self.heads, c // self.heads).transpose(1, 2) for y in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(c // self.heads)
        scores = scores.masked_fill(~self.mask, float("-inf"))
        return (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(n, t, c)

    def forward(self, ids):
        x = self.embed(ids) + self.place
        x = x + self.attention(x, x, x, need_weights=False)[0]
        x = x + self.down(F.gelu(self.up(self.norm(x))))
        return F.linear(self.final(x + self.causal(x)), self.embed.weight)


class Recurrent(nn.Module):
    """Two LSTMs, sequence first: one of two layers, one that runs both ways."""

    def __init__(self, vocab=9, width=6):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.one = nn.LSTM(width, width, 2)
        self.both = nn.LSTM(width, 4, bidirectional=True)
        self.head = nn.Linear(8, vocab)

    def forward(self, ids):
        x, (h, _) = self.one(self.embed(ids))
        return self.head(self.both(x + h[-1])[0])


class Tokens(nn.Module):
    """A vision transformer in small: patches, a class token, sequence-first attention, group norm."""

    def __init__(self, width=8):
        super().__init__()
        self.patch = nn.Conv2d(2, width, 2, 2)
        self.group = nn.GroupNorm(4, width)
        self.token = nn.Parameter(torch.linspace(-1, 1, width).reshape(1, 1, width))
        self.attention = nn.MultiheadAttention(width, 2)
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        x = self.group(self.patch(x)).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1).transpose(0, 1)
        x = x + self.attention(x, x, x, need_weights=False)[0]
        return self.head(x[0])


class Generative(nn.Module):
    """GPT-2 as it is often written: products over flattened rows with weights [in, out], scores masked by a buffer,
    tanh-GELU, positions looked up, root-mean-square norm."""

    def __init__(self, width=8, heads=2, length=6, vocab=10):
        super().__init__()
        self.words = nn.Embedding(vocab, width)
        self.places = nn.Embedding(length + 2, width)
        self.scale = nn.Parameter(torch.ones(width))
        self.attn_w = nn.Parameter(torch.ones(width, 3 * width))
        self.attn_b = nn.Parameter(torch.ones(3 * width))
        self.proj_w = nn.Parameter(torch.ones(width, width))
        self.proj_b = nn.Parameter(torch.ones(width))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)
        self.heads = heads
        self.register_buffer("bias", torch.tril(torch.ones(length, length)).bool().view(1, 1, length, length),
                             persistent=False)

    def rows(self, x, weight, bias):
        return torch.addmm(bias, x.reshape(-1, x.shape[-1]), weight).reshape(*x.shape[:-1], weight.shape[1])

    def forward(self, ids):
        n, t = ids.shape
        x = self.words(ids) + self.places(torch.arange(t).unsqueeze(0))
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.scale
        q, k, v = self.rows(y, self.attn_w, self.attn_b).split(x.shape[-1], dim=2)
        q, k, v = (z.view(n, t, self.heads, -1).permute(0, 2, 1, 3) for z in (q, k, v))
        scores = torch.matmul(q, k.transpose(-1, -2)) / (v.size(-1) ** 0.5)
        scores = torch.where(self.bias[:, :, :t, :t], scores, torch.tensor(-1e4))
        y = torch.matmul(torch.softmax(scores, -1), v).permute(0, 2, 1, 3).reshape(n, t, -1)
        x = x + self.rows(y, self.proj_w, self.proj_b)
        y = 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))
        return self.head(self.norm(x + y))


def record(network, name, tensor):
    v = tensor.detach().contiguous().reshape(-1).tolist()
    checksum = sum(x * math.cos(e) for e, x in enumerate(v))
    records.append(f'    {{ "{network}", "{name}", {len(v)}, {checksum:.16g} }},')


def run(name, model, x, classes, batch_dim=0):
    torch.manual_seed(3)
    for i, p in enumerate(model.parameters()):
        n = p.numel()
        if not p.ndim == 1:
            p.data = torch.tensor([0.4 * math.sin(0.7 * i + 1.3 * e) for e in range(n)]).reshape(p.shape)
        else:
            p.data = p.data + torch.tensor([0.1 * math.cos(i + e) for e in range(n)]).reshape(p.shape)
    model.train()
    # before the run, which changes running statistics
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, x, os.path.join(FOLDER, name + ".onnx"), training=torch.onnx.TrainingMode.TRAINING,
                          do_constant_folding=False, opset_version=14, input_names=["x"], output_names=["y"],
                          dynamic_axes={"x": {batch_dim: "batch"}, "y": {batch_dim: "batch"}})
    y = model(x)
    n = y.numel() // y.shape[-1]
    labels = torch.tensor([id_at(e, y.shape[-1]) for e in range(n)])
    loss = F.cross_entropy(y.reshape(n, -1), labels)
    loss.backward()
    records.append(f'    {{ "{name}", "loss", 1, {loss.item():.16g} }},')
    for parameter, p in model.named_parameters():
        gradient = p.grad
        if ".in_proj" in parameter or "qkv" in parameter or "attn_" in parameter:
            third = p.shape[-1 if "attn_" in parameter else 0] // 3
            for i in range(3):
                part = slice(i * third, (i + 1) * third)
                record(name, f"{parameter}[{part.start}:{part.stop}]",
                       gradient[..., part] if "attn_" in parameter else gradient[part])
        else:
            record(name, parameter, gradient)


def floats(*shape):
    n = math.prod(shape)
    return torch.tensor([number(e) for e in range(n)]).reshape(shape)


def ids(below, *shape):
    n = math.prod(shape)
    return torch.tensor([id_at(e, below) for e in range(n)]).reshape(shape)


def main():
    os.makedirs(FOLDER, exist_ok=True)
    run("convolutions", Convolutions(), floats(2, 3, 9, 8), 5)
    run("sum", Sum(), floats(3, 6), 4)
    run("encoder", Encoder(), ids(11, 2, 5), 11)
    run("recurrent", Recurrent(), ids(9, 4, 3), 9, 1)
    run("tokens", Tokens(), floats(2, 2, 4, 6), 3)
    run("generative", Generative(), ids(10, 3, 6), 10)
    with open(os.path.join(os.path.dirname(__file__), "onnx_values.h"), "w") as out:
        out.write("/* Written by tests/model/onnx_reference.py: what PyTorch computes in fp64. clang-format off */\n"
                  "static const struct onnx_value {\n    const char *network, *tensor;\n    int64_t elements;\n"
                  "    double checksum; /* of the gradient; of the loss its value */\n} onnx_values[] = {\n")
        out.write("\n".join(records) + "\n};\n")


if __name__ == "__main__":
    main()
