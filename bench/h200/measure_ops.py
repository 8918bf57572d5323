#!/usr/bin/env python3
"""measure_ops.py [-o ops.csv] - seconds of single operators on a GPU, as PyTorch runs them.

Each row is one kernel, or the kernels that PyTorch starts for what the operator table of hypar calls one or several passes:
op, shape (axes by the letters of `hypar ops`, then attributes), pass (what is written, joined by +), seconds, precision.
Seconds are the device's own (CUPTI through torch.profiler; the union of the kernels' times, no gaps), the median of several
runs, each after a kernel that writes 256 MB, so that nothing is in the cache. --raw keeps kernels' names and the spread.

    python3 measure_ops.py -o ops.csv --raw ops-raw.csv --limit 240
    python3 measure_ops.py --device cpu --quick        a trial without a GPU, tiny shapes"""
import argparse
import csv
import math
import random
import statistics
import sys
import time

import torch
from torch.nn import functional as F

aten = torch.ops.aten
TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, "tf32": torch.float32}
FLUSH_BYTES = 256 << 20


class Maker:
    """Random tensors of one precision on one device, and how many bytes they are."""

    def __init__(self, device, precision):
        self.device, self.dtype, self.bytes = device, TYPES[precision], 0

    def __call__(self, *shape, grad=False, dtype=None):
        x = torch.randn(*shape, device=self.device, dtype=dtype or self.dtype)
        self.bytes += x.numel() * x.element_size()
        return x.requires_grad_() if grad else x

    def image(self, *shape, grad=False):
        x = self(*shape).to(memory_format=torch.channels_last)
        return x.requires_grad_() if grad else x

    def ids(self, top, *shape):
        return torch.randint(0, top, shape, device=self.device)


def grad_of(y, inputs, dy):
    return lambda: torch.autograd.grad(y, inputs, dy, retain_graph=True)


# Operators: dims -> [(pass, function)] ---------------------------------------------------------------------------------------


def linear(make, n, c, k, bias=1):
    x, w, b, dy = make(n, c), make(k, c), make(k), make(n, k)
    return [("y", lambda: F.linear(x, w, b if bias else None)), ("dx", lambda: dy @ w), ("dw", lambda: dy.t() @ x),
            ("db", lambda: dy.sum(0))]


def conv_of(make, x, w, groups, h, stride, pad):
    stride, pad = [stride, stride], [pad, pad]
    y = aten.convolution(x, w, None, stride, pad, [1, 1], False, [0, 0], groups)
    if y.shape[2] != h:
        raise ValueError(f"output is {y.shape[2]}, expected {h}")
    dy = torch.randn_like(y)
    make.bytes += 2 * y.numel() * y.element_size()

    def back(*mask):
        return lambda: aten.convolution_backward(dy, x, w, None, stride, pad, [1, 1], False, [0, 0], groups, list(mask))

    return [("y", lambda: aten.convolution(x, w, None, stride, pad, [1, 1], False, [0, 0], groups)),
            ("dx", back(True, False, False)), ("dw", back(False, True, False)), ("db", lambda: dy.sum((0, 2, 3)))]


def conv(make, n, c, h, w, k, kernel, stride, pad):
    size = (h - 1) * stride + kernel - 2 * pad
    size += stride - 1 if stride > 1 and size % 2 else 0  # images of even size, as networks have them
    x, weight = make.image(n, c, size, size), make.image(k, c, kernel, kernel)
    return conv_of(make, x, weight, 1, h, stride, pad)


def group_conv(make, n, g, k, c, h, w, kernel, stride, pad, groups):
    size = (h - 1) * stride + kernel - 2 * pad
    size += stride - 1 if stride > 1 and size % 2 else 0
    x, weight = make.image(n, g * c, size, size), make.image(g * k, c, kernel, kernel)
    return conv_of(make, x, weight, groups, h, stride, pad)


def matmul(make, n, b, m, k, c, transposed=0):
    x, dz = make(n * b, m, c), make(n * b, m, k)
    y = make(n * b, k, c).transpose(1, 2) if transposed else make(n * b, c, k)
    return [("z", lambda: torch.bmm(x, y)), ("dx", lambda: torch.bmm(dz, y.transpose(1, 2))),
            ("dy", lambda: torch.bmm(dz.transpose(1, 2), x) if transposed else torch.bmm(x.transpose(1, 2), dz))]


def attention(make, n, a, q, s, g, d, e, heads, kv_heads, causal=0):
    x = make(n, q, heads, d, grad=True)
    k, v = make(n, s, kv_heads, d, grad=True), make(n, s, kv_heads, e, grad=True)

    def forward():
        more = {"enable_gqa": True} if g > 1 else {}
        return F.scaled_dot_product_attention(x.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2),
                                              is_causal=bool(causal), **more)

    y = forward()
    dy = torch.randn_like(y)
    return [("m+y", forward), ("t+dx+dk+dv", grad_of(y, (x, k, v), dy))]


def layer_norm(make, n, c):
    x, w, b, dy = make(n, c), make(c), make(c), make(n, c)
    y, mean, rstd = torch.native_layer_norm(x, [c], w, b, 1e-5)

    def back(*mask):
        return lambda: aten.native_layer_norm_backward(dy, x, [c], mean, rstd, w, b, list(mask))

    return [("s+y", lambda: torch.native_layer_norm(x, [c], w, b, 1e-5)), ("g+dx", back(True, False, False)),
            ("g+dx+dw+db", back(True, True, True))]


def rms_norm(make, n, c):
    x, w, dy = make(n, c, grad=True), make(c, grad=True), make(n, c)
    y = F.rms_norm(x, [c], w, 1e-6)
    return [("s+y", lambda: F.rms_norm(x, [c], w, 1e-6)), ("g+dx+dw", grad_of(y, (x, w), dy))]


def group_norm(make, n, g, c, h, w, groups):
    x, weight, b = make(n, g * c, h, w, grad=True), make(g * c, grad=True), make(g * c, grad=True)
    y = F.group_norm(x, groups, weight, b)
    return [("s+y", lambda: F.group_norm(x, groups, weight, b)),
            ("t+dx+dw+db", grad_of(y, (x, weight, b), torch.randn_like(y)))]


def batch_norm(make, n, c, h, w, dtype=None):
    x = make.image(n, c, h, w, grad=True)
    weight, b = make(c, grad=True, dtype=dtype), make(c, grad=True, dtype=dtype)
    mean, var = make(c, dtype=dtype), make(c, dtype=dtype).abs()

    def forward():
        return F.batch_norm(x, mean, var, weight, b, True)

    y = forward()
    return [("s+y", forward), ("g+dx+dw+db", grad_of(y, (x, weight, b), torch.randn_like(y)))]


def batch_norm_fp32(make, **dims):  # scale, shift and running statistics in fp32, as under autocast
    return batch_norm(make, **dims, dtype=torch.float32)


def softmax(make, **dims):
    shape = tuple(dims.values())
    x, dy = make(*shape), make(*shape)
    y = torch.softmax(x, -1)
    return [("m+y", lambda: torch.softmax(x, -1)),
            ("g+dx", lambda: aten._softmax_backward_data(dy, y, len(shape) - 1, x.dtype))]


def log_softmax(make, **dims):
    shape = tuple(dims.values())
    x, dy = make(*shape), make(*shape)
    y = torch.log_softmax(x, -1)
    return [("m+y", lambda: torch.log_softmax(x, -1)),
            ("g+dx", lambda: aten._log_softmax_backward_data(dy, y, len(shape) - 1, x.dtype))]


def cross_entropy(make, n, c):
    x, labels = make(n, c, grad=True), make.ids(c, n)
    y = F.cross_entropy(x, labels)
    return [("m+y", lambda: F.cross_entropy(x, labels)), ("dx", grad_of(y, (x,), torch.ones_like(y)))]


def mse_loss(make, n, c):
    x, target = make(n, c, grad=True), make(n, c)
    y = F.mse_loss(x, target)
    return [("y", lambda: F.mse_loss(x, target)), ("dx", grad_of(y, (x,), torch.ones_like(y)))]


def elementwise(forward, backward):
    def build(make, **dims):
        shape = tuple(dims.values())
        x, dy = make(*shape), make(*shape)
        y = forward(x)
        return [("y", lambda: forward(x)), ("dx", lambda: backward(dy, x, y))]
    return build


def two_operands(op, name):
    def build(make, **dims):
        shape = tuple(dims.values())
        x, y, dz = make(*shape), make(*shape), make(*shape)
        rows = [("z", lambda: op(x, y))]
        return rows + ([("dx", lambda: dz * y)] if name == "mul" else [])
    return build


def dropout(make, **dims):
    shape = tuple(dims.values())
    x, dy = make(*shape), make(*shape)
    rate = 0.1
    y, mask = torch.native_dropout(x, rate, True)
    return [("y", lambda: torch.native_dropout(x, rate, True)),
            ("dx", lambda: aten.native_dropout_backward(dy, mask, 1 / (1 - rate)))]


def embedding(make, n, k, v):
    w, ids, dy = make(v, k), make.ids(v, n), make(n, k)
    return [("y", lambda: F.embedding(ids, w)), ("dw", lambda: aten.embedding_dense_backward(dy, ids, v, -1, False))]


def pool(largest):
    def build(make, n, c, h, w, kernel, stride, pad):
        size = (h - 1) * stride + kernel - 2 * pad
        x = make.image(n, c, size, size, grad=True)
        f = F.max_pool2d if largest else F.avg_pool2d
        y = f(x, kernel, stride, pad)
        return [("y", lambda: f(x, kernel, stride, pad)), ("dx", grad_of(y, (x,), torch.randn_like(y)))]
    return build


def global_avg_pool(make, n, c, h, w):
    x = make.image(n, c, h, w, grad=True)
    y = x.mean((2, 3))
    return [("y", lambda: x.mean((2, 3))), ("dx", grad_of(y, (x,), torch.randn_like(y)))]


def reduce_over(mean):
    def build(make, axes, **dims):
        x = make(*dims.values(), grad=True)
        f = (lambda: x.mean(axes)) if mean else (lambda: x.sum(axes))
        return [("y", f)]
    return build


def concat(make, axis, **dims):  # of two equal parts
    shape = list(dims.values())
    shape[axis] //= 2
    x, y = make(*shape), make(*shape)
    return [("y", lambda: torch.cat((x, y), axis))]


def slice_of(make, axis, start, stop, **dims):  # `stop` is the input's size
    shape = list(dims.values())
    shape[axis] = stop
    x = make(*shape)
    return [("y", lambda: x.narrow(axis, start, stop - start).contiguous())]


def transpose(make, perm, **dims):  # dims are those of the output
    shape = [0] * len(dims)
    for p, size in zip(perm, dims.values()):
        shape[p] = size
    x = make(*shape)
    return [("y", lambda: x.permute(*perm).contiguous())]


def lstm(make, n, t, k, c):
    x = make(n, t, c, grad=True)
    layer = torch.nn.LSTM(c, k, batch_first=True, device=make.device, dtype=make.dtype)

    def forward():
        return layer(x)[0]

    y = forward()
    return [("y+h+z+a+s", forward),
            ("g+q+dx+dw+du+db+dd", grad_of(y, (x, *layer.parameters()), torch.randn_like(y)))]


def rope(make, n, t, a, d, heads):
    x, dy, angle = make(n, t, a, d), make(n, t, a, d), make(t, 1, d)
    cos, sin = angle.cos(), angle.sin()

    def turn(x, sign):
        first, second = x.chunk(2, -1)
        return x * cos + sign * torch.cat((-second, first), -1) * sin

    return [("y", lambda: turn(x, 1)), ("dx", lambda: turn(dy, -1))]


COMPILED = {}


def compiled_update(optimizer):
    """One kernel that reads gradients in the parameters' precision and keeps weight and moments in fp32."""
    def sgd(p, g, w):
        w.sub_(0.01 * g.float())
        p.copy_(w)

    def momentum(p, g, w, m):
        m.mul_(0.9).add_(g.float())
        w.sub_(0.01 * m)
        p.copy_(w)

    def adam(p, g, w, m, v):
        g = g.float()
        m.mul_(0.9).add_(0.1 * g)
        v.mul_(0.99).add_(0.01 * g * g)
        w.sub_(0.001 * (m / 0.5) / ((v / 0.7).sqrt() + 1e-8))
        p.copy_(w)

    if optimizer not in COMPILED:
        COMPILED[optimizer] = torch.compile({"sgd": sgd, "momentum": momentum, "adam": adam}[optimizer], dynamic=True)
    return COMPILED[optimizer]


def update(make, elements):
    rows = []
    if make.dtype is torch.float32:
        p = torch.nn.Parameter(make(elements))
        p.grad = make(elements)
        fused = make.device != "cpu"
        for name, optimizer in (("adam", torch.optim.Adam([p], fused=fused)),
                                ("momentum", torch.optim.SGD([p], lr=0.01, momentum=0.9, fused=fused)),
                                ("sgd", torch.optim.SGD([p], lr=0.01, fused=fused))):
            rows.append((name, optimizer.step))
        return rows
    p, g = make(elements), make(elements)
    state = [make(elements, dtype=torch.float32) for _ in range(3)]
    state[2].abs_()
    for name, moments in (("adam", 2), ("momentum", 1), ("sgd", 0)):
        step = compiled_update(name)
        rows.append((name, lambda step=step, moments=moments: step(p, g, *state[:1 + moments])))
    return rows


def compiled(forward, names):
    """Forward and backward half of `forward`, a function of tensors that need gradients and of others, as torch.compile makes them."""
    def build(make, **dims):
        function, inputs, others = forward(make, **dims)
        run = torch.compile(function, dynamic=False)
        y = run(*inputs, *others)
        rows = [(names[0], lambda: run(*inputs, *others))]
        if len(names) > 1:
            dy = torch.ones_like(y) if y.dim() == 0 else torch.randn_like(y)
            rows.append((names[1], grad_of(y, inputs, dy)))
        return rows
    return build


def with_affine(function, images=False):
    def forward(make, n, c, h=0, w=0):
        x = make.image(n, c, h, w, grad=True) if images else make(n, c, grad=True)
        return function, [x, make(c, grad=True), make(c, grad=True)], []
    return forward


def of_one(function):
    return lambda make, **dims: (function, [make(*dims.values(), grad=True)], [])


def of_labels(make, n, c):
    return (lambda x, labels: F.cross_entropy(x, labels)), [make(n, c, grad=True)], [make.ids(c, n)]


def of_table(make, n, k, v):
    return (lambda w, ids: F.embedding(ids, w)), [make(v, k, grad=True)], [make.ids(v, n)]


def of_sum(make, n, c, k):
    return (lambda dy: dy.sum(0)), [make(n, k)], []


def of_pool(make, n, c, h, w, kernel, stride, pad):
    size = (h - 1) * stride + kernel - 2 * pad
    return (lambda x: F.max_pool2d(x, kernel, stride, pad)), [make.image(n, c, size, size, grad=True)], []


COMPILED_BUILD = {
    "layer_norm": compiled(with_affine(lambda x, w, b: F.layer_norm(x, [x.shape[-1]], w, b)), ("s+y", "g+dx+dw+db")),
    "batch_norm": compiled(with_affine(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), True), ("s+y", "g+dx+dw+db")),
    "softmax": compiled(of_one(lambda x: torch.softmax(x, -1)), ("m+y", "g+dx")),
    "cross_entropy": compiled(of_labels, ("m+y", "dx")), "embedding": compiled(of_table, ("y", "dw")),
    "gelu": compiled(of_one(lambda x: F.gelu(x)), ("y", "dx")),
    "relu": compiled(of_one(lambda x: torch.relu(x)), ("y", "dx")),
    "dropout": compiled(of_one(lambda x: F.dropout(x, 0.1, True)), ("y", "dx")),
    "linear": compiled(of_sum, ("db",)), "max_pool": compiled(of_pool, ("y", "dx")),
    "transpose": compiled(lambda make, perm, n, c: (lambda x: x.t().contiguous() * 2, [make(c, n)], []), ("y",)),
}

BUILD = {
    "linear": linear, "conv": conv, "group_conv": group_conv, "matmul": matmul, "attention": attention,
    "layer_norm": layer_norm, "rms_norm": rms_norm, "group_norm": group_norm, "batch_norm": batch_norm,
    "softmax": softmax, "log_softmax": log_softmax, "cross_entropy": cross_entropy, "mse_loss": mse_loss,
    "gelu": elementwise(F.gelu, lambda dy, x, y: aten.gelu_backward(dy, x)),
    "relu": elementwise(torch.relu, lambda dy, x, y: aten.threshold_backward(dy, y, 0)),
    "silu": elementwise(F.silu, lambda dy, x, y: aten.silu_backward(dy, x)),
    "tanh": elementwise(torch.tanh, lambda dy, x, y: aten.tanh_backward(dy, y)),
    "sigmoid": elementwise(torch.sigmoid, lambda dy, x, y: aten.sigmoid_backward(dy, y)),
    "affine": elementwise(lambda x: x * 0.125, lambda dy, x, y: dy * 0.125),
    "add": two_operands(torch.add, "add"), "mul": two_operands(torch.mul, "mul"), "dropout": dropout,
    "embedding": embedding, "max_pool": pool(True), "avg_pool": pool(False), "global_avg_pool": global_avg_pool,
    "reduce_mean": reduce_over(True), "reduce_sum": reduce_over(False), "concat": concat, "slice": slice_of,
    "transpose": transpose, "lstm": lstm, "rope": rope, "update": update, "batch_norm_fp32": batch_norm_fp32,
}
ATTRIBUTES = ("kernel", "stride", "pad", "groups", "heads", "kv_heads", "causal", "transposed", "axis", "axes", "start", "stop",
              "perm")


# Shapes ----------------------------------------------------------------------------------------------------------------------


class Shapes:
    """What to measure, in order of importance, then shuffled."""

    def __init__(self):
        self.rng = random.Random(17)
        self.first, self.rest = [], []

    def add(self, op, precision="bf16", passes=None, first=False, **dims):
        (self.first if first else self.rest).append((op, dims, passes, precision))

    def size(self, low, high, odd=0.2, align=64):
        """Log-uniform; a share `odd` of them of any parity, as many multiples of 8, others of `align`."""
        value = math.exp(self.rng.uniform(math.log(low), math.log(high)))
        kind = self.rng.random()
        step = 1 if kind < odd else 8 if kind < 2 * odd else align
        return max(1, int(round(value / step)) * step) if value >= step else max(1, int(round(value)))

    def ordered(self):
        self.rng.shuffle(self.first)
        self.rng.shuffle(self.rest)
        seen, unique = set(), []
        for row in self.first + self.rest:
            key = str(row)
            if key not in seen:
                seen.add(key)
                unique.append(row)
        return unique


def linear_shapes(s):
    most = ("y", "dx", "dw")
    for n, c, k in ((8192, 768, 768), (8192, 768, 2304), (8192, 768, 3072), (8192, 3072, 768), (8192, 768, 50257),
                    (8192, 768, 50304), (8192, 1024, 1024), (8192, 1024, 4096), (8192, 4096, 1024), (12608, 768, 768),
                    (12608, 768, 3072), (12608, 3072, 768), (128, 2048, 1000), (64, 768, 1000), (16, 1024, 1024),
                    (8192, 8192, 8192), (4096, 4096, 11008)):
        s.add("linear", n=n, c=c, k=k, first=True)
    for _ in range(75):
        while True:
            n, c, k = s.size(8, 40000), s.size(24, 16384), s.size(16, 20000)
            if 1e6 < n * c * k < 6e11 and n * max(c, k) < 4e8:
                break
        passes = most + ("db",) if s.rng.random() < 0.25 else most if s.rng.random() < 0.6 else (s.rng.choice(most),)
        s.add("linear", n=n, c=c, k=k, passes=passes)
    for n, c, k in ((1, 4096, 4096), (8, 4096, 4096), (64, 4096, 4096), (512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048),
                    (4096, 4096, 4096), (256, 256, 256), (128, 128, 128), (8192, 64, 64), (65536, 64, 256), (32768, 32, 32),
                    (64, 64, 16384), (4096, 4095, 4096), (4096, 4096, 4095), (4095, 4096, 4096), (4096, 4092, 4096),
                    (4096, 4096, 4100), (2048, 1001, 1001), (8192, 768, 30522), (16384, 4096, 4096), (8192, 5120, 5120)):
        s.add("linear", n=n, c=c, k=k, passes=most)
    for _ in range(14):
        s.add("linear", n=s.size(64, 60000), c=64, k=s.size(64, 30000, odd=0.3), passes=("db",))
    for precision, count in (("fp16", 6), ("tf32", 10), ("fp32", 8)):
        s.add("linear", precision, n=8192, c=768, k=3072, passes=most, first=True)
        for _ in range(count):
            n, c, k = s.size(64, 16384), s.size(64, 4096), s.size(64, 4096)
            s.add("linear", precision, n=n, c=c, k=k, passes=(s.rng.choice(most),))


def resnet_convs():
    """(in, out, output size, kernel, stride) of resnet50."""
    shapes, inputs = [(3, 64, 112, 7, 2)], 64
    for width, size, stride in ((64, 56, 1), (128, 28, 2), (256, 14, 2), (512, 7, 2)):
        shapes += [(inputs, width, size * stride, 1, 1), (width, width, size, 3, stride), (width, 4 * width, size, 1, 1),
                   (inputs, 4 * width, size, 1, stride), (4 * width, width, size, 1, 1), (width, width, size, 3, 1)]
        inputs = 4 * width
    return sorted(set(shapes))


def conv_shapes(s):
    def add(n, c, k, size, kernel, stride, passes, pad=None, **more):
        s.add("conv", n=n, c=c, h=size, w=size, k=k, kernel=kernel, stride=stride, pad=kernel // 2 if pad is None else pad,
              passes=passes, **more)

    for c, k, size, kernel, stride in resnet_convs():
        add(128, c, k, size, kernel, stride, ("y", "dw") if c == 3 else ("y", "dx", "dw"), first=True)
    add(64, 3, 768, 14, 16, 16, ("y", "dw"), pad=0, first=True)
    for _ in range(45):
        n, c, k = s.size(4, 256, odd=0.1, align=8), s.size(16, 1024, odd=0.1, align=32), s.size(16, 1024, odd=0.1, align=32)
        size, kernel = s.rng.choice((7, 8, 14, 16, 28, 32, 56, 64, 112)), s.rng.choice((1, 1, 3, 3, 3, 5, 7))
        stride = s.rng.choice((1, 1, 1, 2))
        if n * c * k * (size * kernel) ** 2 > 4e11 or n * max(c, k) * size * size > 5e8:
            n = 8
        if n * c * k * (size * kernel) ** 2 > 4e11:
            continue
        add(n, c, k, size, kernel, stride, s.rng.choice((("y",), ("dx",), ("dw",), ("y", "dx", "dw"))))
    for n, c, k, size in ((32, 64, 64, 224), (32, 128, 128, 112), (32, 256, 256, 56), (32, 512, 512, 28), (32, 512, 512, 14)):
        add(n, c, k, size, 3, 1, ("y", "dx", "dw"))
    add(128, 64, 64, 56, 3, 1, ("db",))
    add(32, 256, 256, 56, 3, 1, ("db",))
    for precision in ("fp16", "tf32", "fp32"):
        s.add("conv", precision, n=64, c=128, h=28, w=28, k=128, kernel=3, stride=1, pad=1, passes=("y", "dx", "dw"))
        s.add("conv", precision, n=64, c=256, h=28, w=28, k=128, kernel=1, stride=1, pad=0, passes=("y", "dx", "dw"))


def group_conv_shapes(s):
    for n, channels, size, stride in ((32, 32, 112, 1), (32, 96, 56, 2), (32, 144, 56, 1), (32, 192, 28, 1), (32, 384, 14, 1),
                                      (32, 576, 14, 1), (32, 960, 7, 1), (128, 144, 28, 2)):
        s.add("group_conv", n=n, g=channels, k=1, c=1, h=size, w=size, kernel=3, stride=stride, pad=1, groups=channels,
              passes=("y", "dx", "dw"), first=channels == 144)
    for n, groups, width, size in ((32, 32, 4, 56), (32, 32, 8, 28), (32, 32, 16, 14), (64, 8, 32, 28)):
        s.add("group_conv", n=n, g=groups, k=width, c=width, h=size, w=size, kernel=3, stride=1, pad=1, groups=groups,
              passes=("y", "dx", "dw"))


def matmul_shapes(s):
    s.add("matmul", n=8, b=12, m=1024, k=1024, c=64, transposed=1, first=True)
    s.add("matmul", n=8, b=12, m=1024, k=64, c=1024, first=True)
    s.add("matmul", n=16, b=16, m=512, k=512, c=64, transposed=1)
    s.add("matmul", n=16, b=16, m=512, k=64, c=512)
    s.add("matmul", n=64, b=12, m=197, k=197, c=64, transposed=1)
    s.add("matmul", n=64, b=12, m=197, k=64, c=197)
    for _ in range(14):
        while True:
            dims = {"n": s.size(1, 64), "b": s.size(1, 32), "m": s.size(16, 2048), "k": s.size(16, 2048), "c": s.size(16, 2048)}
            if 1e6 < math.prod(dims.values()) < 3e11 and dims["n"] * dims["b"] * max(
                    dims["m"] * dims["k"], dims["m"] * dims["c"], dims["k"] * dims["c"]) < 3e8:
                break
        s.add("matmul", **dims, passes=("z",) if s.rng.random() < 0.5 else None)


def attention_shapes(s):
    def add(n, a, q, d, causal, g=1, kv=None, precision="bf16", **more):
        s.add("attention", precision, n=n, a=a, q=q, s=kv or q, g=g, d=d, e=d, heads=a * g, kv_heads=a, causal=causal, **more)

    add(8, 12, 1024, 64, 1, first=True)
    add(16, 16, 512, 64, 0, first=True)
    add(64, 12, 197, 64, 0, first=True)
    add(8, 12, 1024, 64, 0)
    add(1, 32, 4096, 128, 1)
    add(2, 8, 2048, 128, 1, g=8)
    for n, a, q, d in ((32, 12, 128, 64), (4, 16, 2048, 64), (2, 16, 4096, 64), (1, 12, 8192, 64), (1, 16, 1024, 64),
                       (8, 12, 512, 128), (4, 32, 1024, 128), (2, 32, 2048, 128), (1, 8, 4096, 128), (1, 16, 8192, 128),
                       (16, 8, 300, 64), (3, 7, 777, 64), (64, 16, 64, 64), (1, 1, 256, 64), (8, 16, 1024, 80)):
        add(n, a, q, d, 1)
        if s.rng.random() < 0.7:
            add(n, a, q, d, 0)
    add(4, 8, 1024, 128, 1, g=4)
    add(1, 4, 4096, 128, 1, g=4)
    add(8, 4, 1024, 64, 1, g=3)
    add(8, 12, 256, 64, 0, kv=1024)
    add(8, 12, 1024, 64, 0, kv=128)
    add(8, 12, 1024, 64, 1, precision="fp16")
    add(8, 12, 1024, 64, 1, precision="fp32")
    add(16, 16, 512, 64, 0, precision="fp32")


def row_shapes(s):
    """Operators that reduce along the last dimension."""
    for op in ("layer_norm", "rms_norm"):
        s.add(op, n=8192, c=768, first=True)
        s.add(op, n=8192, c=1024, first=op == "layer_norm")
        s.add(op, n=12608, c=768, first=op == "layer_norm")
        for _ in range(12 if op == "layer_norm" else 7):
            n, c = s.size(16, 60000), s.size(64, 12288, odd=0.15)
            if n * c < 3e8:
                s.add(op, n=n, c=c)
        s.add(op, "fp32", n=8192, c=768)
    s.add("softmax", n=8, t=12, u=1024, c=1024, first=True)
    for op in ("softmax", "log_softmax"):
        for _ in range(10 if op == "softmax" else 6):
            n, c = s.size(64, 200000), s.size(16, 60000, odd=0.3)
            if 1000 < n * c < 6e8:
                s.add(op, n=n, c=c)
        s.add(op, n=8192, c=30522)
        s.add(op, "fp32", n=4096, c=2048)
    for precision in ("bf16", "fp32"):
        s.add("cross_entropy", precision, n=8192, c=50257, first=True)
        s.add("cross_entropy", precision, n=8192, c=50304)
        s.add("cross_entropy", precision, n=128, c=1000, first=True)
        s.add("cross_entropy", precision, n=4096, c=32000)
        s.add("cross_entropy", precision, n=1000, c=10000)
        s.add("cross_entropy", precision, n=16384, c=1024)
    s.add("mse_loss", n=16, c=1024, first=True)
    s.add("mse_loss", n=8192, c=1024)
    s.add("mse_loss", n=256, c=10)


def column_shapes(s):
    """Operators that reduce along other dimensions."""
    for c, size in ((64, 112), (64, 56), (256, 56), (128, 56), (128, 28), (512, 28), (256, 28), (256, 14), (1024, 14), (512, 14),
                    (512, 7), (2048, 7)):
        s.add("batch_norm", n=128, c=c, h=size, w=size, first=True)
        s.add("batch_norm_fp32", n=128, c=c, h=size, w=size, first=size in (112, 14))
    for n, c, size in ((32, 32, 112), (32, 96, 56), (32, 144, 28), (8, 64, 32), (256, 16, 28), (16, 1024, 8), (3, 48, 100)):
        s.add("batch_norm", n=n, c=c, h=size, w=size)
    s.add("batch_norm", "fp32", n=64, c=128, h=28, w=28)
    for n, g, c, size in ((32, 32, 2, 56), (32, 32, 8, 28), (64, 32, 16, 14), (8, 32, 10, 64), (2, 32, 16, 64)):
        s.add("group_norm", n=n, g=g, c=c, h=size, w=size, groups=g, first=size == 28)
    for op in ("reduce_mean", "reduce_sum"):
        for n, c in ((8192, 768), (100, 100000), (60000, 1000), (512, 4096), (1 << 16, 128)):
            s.add(op, n=n, c=c, axes=(0,))
            s.add(op, n=n, c=c, axes=(1,))
        s.add(op, n=64, t=197, c=768, axes=(1,))
    s.add("global_avg_pool", n=128, c=2048, h=7, w=7, first=True)
    s.add("global_avg_pool", n=32, c=1280, h=7, w=7)
    s.add("global_avg_pool", n=32, c=256, h=28, w=28)


def stream_shapes(s):
    """Element-wise operators and copies."""
    real = {"gelu": ((8192, 3072), (8192, 4096), (12608, 3072)), "add": ((8192, 768), (8192, 1024), (12608, 768)),
            "dropout": ((8192, 768), (8192, 1024)), "silu": ((4096, 11008),), "mul": ((4096, 11008),), "tanh": ((16, 1024),)}
    for op, sizes in real.items():
        for n, c in sizes:
            s.add(op, n=n, c=c, first=True)
    for c, size in ((64, 112), (64, 56), (256, 56), (512, 28), (1024, 14), (2048, 7), (128, 28), (256, 14), (512, 7)):
        s.add("relu", n=128, c=c, h=size, w=size, first=size != 56)
        if c >= 256:
            s.add("add", n=128, c=c, h=size, w=size, passes=("z",), first=c == 1024)
    for op, count in (("gelu", 5), ("relu", 5), ("silu", 4), ("tanh", 4), ("sigmoid", 3), ("add", 8), ("mul", 5), ("dropout", 6),
                      ("affine", 6)):
        for _ in range(count):
            n, c = s.size(1, 60000), s.size(8, 12000)
            if n * c < 5e8:
                s.add(op, n=n, c=c)
    for op in ("add", "affine"):
        for elements in (1, 1000, 30000, 1000000, 10000000, 300000000):
            s.add(op, n=elements, first=elements in (1, 300000000))
    for op in ("gelu", "add", "dropout", "relu"):
        s.add(op, "fp32", n=8192, c=1024)
    s.add("add", "fp16", n=8192, c=1024)
    for n, k, v in ((8192, 768, 50257), (8192, 1024, 30522), (8192, 1024, 2), (2048, 4096, 32000), (32768, 512, 10000),
                    (256, 128, 1000), (4096, 300, 100000), (65536, 64, 500)):
        s.add("embedding", n=n, k=k, v=v, first=v in (50257, 30522, 2))
    for n, c, size, kernel, stride, pad in ((128, 64, 56, 3, 2, 1), (32, 192, 28, 3, 1, 1), (32, 64, 112, 2, 2, 0),
                                            (32, 256, 14, 2, 2, 0), (8, 480, 14, 3, 2, 1)):
        s.add("max_pool", n=n, c=c, h=size, w=size, kernel=kernel, stride=stride, pad=pad, first=c == 64)
        s.add("avg_pool", n=n, c=c, h=size, w=size, kernel=kernel, stride=stride, pad=pad)
    for dims in ({"n": 64, "t": 197, "c": 768}, {"n": 8, "t": 1024, "c": 1536}, {"n": 1, "t": 64, "c": 256}):
        s.add("concat", **dims, axis=2)
        s.add("slice", **dims, axis=2, start=dims["c"], stop=2 * dims["c"])
    s.add("concat", n=32, c=512, h=28, w=28, axis=1)
    s.add("concat", n=8192, c=2048, axis=0)
    s.add("slice", n=64, t=1, c=768, axis=1, start=196, stop=197)
    s.add("transpose", n=8, t=12, u=1024, c=64, perm=(0, 2, 1, 3), first=True)
    s.add("transpose", n=16, t=512, u=16, c=64, perm=(0, 2, 1, 3))
    s.add("transpose", n=4096, c=4096, perm=(1, 0), first=True)
    s.add("transpose", n=50257, c=768, perm=(1, 0))
    s.add("transpose", n=64, t=196, c=768, perm=(0, 2, 1))
    s.add("transpose", n=1000, c=300, perm=(1, 0))
    for n, t, a, d in ((1, 4096, 32, 128), (8, 1024, 8, 128), (2, 2048, 64, 64)):
        s.add("rope", n=n, t=t, a=a, d=d, heads=a)
    for n, t, k, c in ((64, 32, 1024, 1024), (128, 50, 512, 512), (16, 20, 256, 128), (32, 40, 2048, 2048)):
        s.add("lstm", n=n, t=t, k=k, c=c, first=k == 1024)
    for elements in (124439808, 25557032, 335141888, 1000, 100000, 2000000, 10000000, 600000000):
        s.add("update", "fp32", elements=elements, first=elements == 124439808)
        s.add("update", "bf16", elements=elements)


def compiled_shapes():
    """A few of each kind that a compiler makes kernels of its own for, in a fixed shuffled order."""
    s = Shapes()
    for n, c in ((8192, 768), (8192, 1024), (12608, 768), (2048, 4096), (512, 512), (30000, 256)):
        s.add("layer_norm", n=n, c=c, first=n > 8000)
        s.add("softmax", n=n, c=c)
        s.add("linear", n=n, c=64, k=c, first=n > 8000)
    for n, k in ((8192, 3072), (8192, 4096), (12608, 3072), (256, 4096), (60000, 128), (1000, 1000)):
        s.add("linear", n=n, c=64, k=k)
        s.add("gelu", n=n, c=k, first=n == 8192)
        s.add("dropout", n=n, c=k)
        s.add("relu", n=n, c=k)
    for c, size in ((64, 112), (256, 56), (64, 56), (512, 28), (128, 28), (1024, 14), (256, 14), (2048, 7), (512, 7)):
        s.add("batch_norm", n=128, c=c, h=size, w=size, first=size in (56, 14))
    for n, c in ((8192, 50257), (8192, 30522), (4096, 1000), (512, 10000)):
        s.add("cross_entropy", n=n, c=c, first=c == 50257)
        s.add("softmax", n=n, c=c)
    for n, k, v in ((8192, 768, 50257), (8192, 1024, 30522), (2048, 4096, 32000), (32768, 512, 10000)):
        s.add("embedding", n=n, k=k, v=v, first=v == 50257)
    s.add("max_pool", n=128, c=64, h=56, w=56, kernel=3, stride=2, pad=1, first=True)
    s.add("max_pool", n=32, c=192, h=28, w=28, kernel=3, stride=1, pad=1)
    s.add("transpose", n=4096, c=4096, perm=(1, 0))
    s.add("transpose", n=50257, c=768, perm=(1, 0))
    return s.ordered()


def all_shapes(quick, compiled_rows=False):
    s = Shapes()
    for fill in (linear_shapes, conv_shapes, group_conv_shapes, matmul_shapes, attention_shapes, row_shapes, column_shapes,
                 stream_shapes):
        fill(s)
    rows = compiled_shapes() if compiled_rows else s.ordered()
    if not quick:
        return rows
    small, kept = [], {}
    for op, dims, passes, precision in rows:  # a few of each operator, every extent small
        kept[op, precision] = kept.get((op, precision), 0) + 1
        if kept[op, precision] > 3:
            continue
        least = {name: value if name in ATTRIBUTES or not isinstance(value, int) else min(value, 12)
                 for name, value in dims.items()}
        if op == "attention":
            least.update(a=min(dims["a"], 2), g=min(dims["g"], 2))
            least.update(kv_heads=least["a"], heads=least["a"] * least["g"])
        if op in ("group_conv", "group_norm"):
            least.update(g=4, groups=4)
        if op == "rope":
            least.update(a=2, heads=2)
        if op == "slice":
            least.update(start=min(12, dims["start"]), stop=(24 if dims["start"] else 1))
        small.append((op, least, passes, precision))
    return small


def shape_text(op, dims):
    def text(value):
        return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    names = [name for name in dims if name not in ATTRIBUTES] + [name for name in dims if name in ATTRIBUTES]
    return " ".join(f"{name}={text(dims[name])}" for name in names)


# Measuring -------------------------------------------------------------------------------------------------------------------


class Cpu:
    """Seconds by the clock: only to try the script out."""
    device = "cpu"

    def run(self, jobs, repeats):
        answers = []
        for fn in jobs:
            times = []
            for _ in range(2):
                start = time.perf_counter()
                fn()
                times.append(time.perf_counter() - start)
            answers.append((times, []))
        return answers

    def wait(self):
        pass


def union_ns(spans):
    total, end = 0, 0
    for start, length in sorted(spans):
        total += max(0, start + length - max(start, end))
        end = max(end, start + length)
    return total


class Cuda:
    device = "cuda"

    def __init__(self):
        self.buffer = torch.ones(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")
        self.flush()
        # the name of the kernel that clears the cache, which no operator has; the profiler's first use may miss it
        names = [name for _ in range(2) for name, _, _ in self.kernels([], 1)]
        self.flush_name = names[-1] if names else None
        self.by_events = self.flush_name is None
        print(f"flushed by {self.flush_name}", flush=True)

    def wait(self):
        torch.cuda.synchronize()

    def flush(self):
        self.buffer.bitwise_not_()

    def kernels(self, jobs, repeats):
        """(name, start ns, length ns) of everything the device did, in order."""
        from torch.profiler import ProfilerActivity, profile
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as trace:
            for fn in jobs:
                for _ in range(repeats):
                    self.flush()
                    fn()
            self.flush()
            torch.cuda.synchronize()
        found = []
        for event in trace.profiler.kineto_results.events():
            waiting = event.name().startswith(("Context Sync", "Stream", "Event"))
            if "CUDA" in str(event.device_type()) and event.duration_ns() > 0 and not waiting:
                found.append((event.name(), event.start_ns(), event.duration_ns()))
        return sorted(found, key=lambda event: event[1])

    def run(self, jobs, repeats):
        """For each job: seconds of each repeat, and the kernels' names."""
        if not self.by_events:
            runs = []
            for event in self.kernels(jobs, repeats):
                if event[0] == self.flush_name:
                    runs.append([])
                elif runs:
                    runs[-1].append(event)
            if len(runs) == len(jobs) * repeats + 1:
                answers = []
                for i in range(len(jobs)):
                    mine = runs[i * repeats:(i + 1) * repeats]
                    answers.append(([union_ns([e[1:] for e in run]) * 1e-9 for run in mine], [e[0] for e in mine[-1]]))
                return answers
            print(f"  found {len(runs)} flushes, expected {len(jobs) * repeats + 1}", flush=True)
            if len(jobs) > 1:
                return [self.run([fn], repeats)[0] for fn in jobs]
        return [(self.time_by_events(fn, repeats), []) for fn in jobs]

    def time_by_events(self, fn, repeats):
        pairs = []
        for _ in range(repeats):
            start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            self.flush()
            start.record()
            fn()
            stop.record()
            pairs.append((start, stop))
        torch.cuda.synchronize()
        return [start.elapsed_time(stop) * 1e-3 for start, stop in pairs]


def set_precision(precision):
    tf32 = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32


class Output:
    def __init__(self, args):
        self.file = open(args.output, "w", newline="") if args.output else None
        self.raw = open(args.raw, "w", newline="") if args.raw else None
        self.rows, self.framework = 0, ("compiled",) if args.compiled else ()
        if self.file:
            names = ("op", "shape", "pass", "seconds", "precision") + ("framework",) * args.compiled
            csv.writer(self.file, lineterminator="\n").writerow(names)
        if self.raw:
            csv.writer(self.raw, lineterminator="\n").writerow(("op", "shape", "pass", "seconds", "precision", "least", "most", "kernels", "names"))

    def row(self, op, shape, name, precision, times, kernels):
        seconds = statistics.median(times)
        self.rows += 1
        if self.file and op in BUILD and op != "batch_norm_fp32":
            csv.writer(self.file, lineterminator="\n").writerow((op, shape, name, f"{seconds:.4g}", precision) + self.framework)
            self.file.flush()
        if self.raw:
            names = "; ".join(text[:120] for text in kernels)
            csv.writer(self.raw, lineterminator="\n").writerow((op, shape, name, f"{seconds:.4g}", precision, f"{min(times):.4g}",
                                           f"{max(times):.4g}", len(kernels), names))
            self.raw.flush()


def prepare(clock, table, op, dims, passes, precision):
    """The jobs of one operator, each run before so that libraries have chosen their kernels."""
    set_precision(precision)
    make = Maker(clock.device, precision)
    jobs = []
    for name, fn in table[op](make, **dims):
        if passes and name not in passes:
            continue
        try:
            for _ in range(3):
                fn()
            clock.wait()
            jobs.append((op, shape_text(op, dims), name, precision, fn))
        except Exception as error:  # one failure costs one row
            print(f"  {op} {shape_text(op, dims)} {name} {precision}: {type(error).__name__}: {str(error)[:200]}", flush=True)
    return jobs, make.bytes


def measure(clock, jobs, repeats, output):
    """Jobs of one precision together: a profiler's start costs more than most of them."""
    for precision in sorted({job[3] for job in jobs}):
        mine = [job for job in jobs if job[3] == precision]
        set_precision(precision)
        try:
            answers = clock.run([job[4] for job in mine], repeats)
        except Exception as error:
            print(f"  {len(mine)} rows lost: {type(error).__name__}: {str(error)[:300]}", flush=True)
            continue
        for (op, shape, name, _, _), (times, kernels) in zip(mine, answers):
            if statistics.median(times) > 0:
                output.row(op, shape, name, precision, times, kernels)
            else:
                print(f"  {op} {shape} {name}: no kernel", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", help="CSV of op, shape, pass, seconds, precision")
    parser.add_argument("--raw", help="CSV with kernels' names, least and most seconds, and variants")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--limit", type=float, default=240, help="seconds")
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--quick", action="store_true", help="tiny shapes, a few of each operator")
    parser.add_argument("--events", action="store_true", help="time by CUDA events, not by the profiler")
    parser.add_argument("--cudnn-benchmark", action="store_true")
    parser.add_argument("--compiled", action="store_true", help="fewer rows, of kernels that torch.compile makes; column framework")
    args = parser.parse_args()
    begin = time.time()
    torch.manual_seed(17)
    torch.backends.cudnn.benchmark = args.cudnn_benchmark
    clock = Cuda() if args.device == "cuda" else Cpu()
    if args.device == "cuda":
        clock.by_events |= args.events
        print(torch.__version__, torch.version.cuda, torch.backends.cudnn.version(), torch.cuda.get_device_name(), flush=True)
    rows, output = all_shapes(args.quick, args.compiled), Output(args)
    table = COMPILED_BUILD if args.compiled else BUILD
    if args.compiled:
        from torch._dynamo import config as dynamo
        from torch._functorch import config as functorch
        functorch.donated_buffer = False  # backward halves are run again and again
        dynamo.recompile_limit = dynamo.accumulated_recompile_limit = 1000
    jobs, held, done = [], 0, 0
    for op, dims, passes, precision in rows:
        if time.time() - begin > args.limit:
            print(f"time is up after {done} of {len(rows)} shapes", flush=True)
            break
        done += 1
        try:
            more, size = prepare(clock, table, op, dims, passes, precision)
            jobs, held = jobs + more, held + size
        except Exception as error:
            print(f"  {op} {shape_text(op, dims)} {precision}: {type(error).__name__}: {str(error)[:200]}", flush=True)
        if len(jobs) >= 24 or held > 12e9:
            measure(clock, jobs, args.repeats, output)
            jobs, held = [], 0
            if args.device == "cuda":
                torch.cuda.empty_cache()
            print(f"{time.time() - begin:6.1f} s: {done} of {len(rows)} shapes, {output.rows} rows", flush=True)
    measure(clock, jobs, args.repeats, output)
    print(f"{time.time() - begin:6.1f} s: {output.rows} rows", flush=True)
    return 0 if output.rows else 1


if __name__ == "__main__":
    sys.exit(main())
