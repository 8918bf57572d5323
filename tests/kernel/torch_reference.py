#!/usr/bin/env python3
"""Writes tests/kernel/torch_values.h: what PyTorch computes, in fp64, for the cases of tests/op_cases.h.

    python3 tests/kernel/torch_reference.py

Needs PyTorch (1.13 or later; on Debian: python3-torch). A case is found by kind and label; its operands are filled
by the formulas of number() and id_at(), which tests/kernel/test_torch.c repeats. Of each output and gradient one
checksum, in which every element counts, and three elements are written."""
import math
import pathlib

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)

# Letters of the operands of each row, in order: a number depends on an operand's place.
OPERANDS = {
    "linear": "xwby", "conv": "xwby", "group_conv": "xwby", "embedding": "iwy",
    "conv_transpose": "xwby", "group_conv_transpose": "xwby", "gru": "xewubdyh", "gru_cell": "xhwubdy",
    "where": "cxyz", "gather_elements": "xiy", "index_select": "xiy", "scatter_add": "xisy",
    "lstm": "xefwubdyhz", "lstm_cell": "xhzwubdys", "matmul": "xyz", "attention": "xkvby",
    "max_pool": "xy", "avg_pool": "xy", "lrn": "xy",
    "batch_norm": "xwby", "layer_norm": "xwby", "rms_norm": "xwy", "group_norm": "xwby",
    "cross_entropy": "xly", "mse_loss": "xly",
    "add": "xyz", "sub": "xyz", "mul": "xyz", "div": "xyz", "minimum": "xyz", "maximum": "xyz",
}
POSITIVE = {"log", "sqrt", "pow", "div"}


def number(kind, operand, element, grad):
    if grad:
        return math.cos(0.5 + operand + 0.3 * element)
    value = math.sin(1 + 0.7 * operand + (0.9 + 0.1 * operand) * element)
    return 1.5 + value if kind in POSITIVE else value


def id_at(operand, element, below):
    return (7 * element + 3 * operand) % below


def filled(kind, operand, shape, grad):
    n = math.prod(shape)
    return torch.tensor([number(kind, operand, e, grad) for e in range(n)]).reshape(shape)


records = []


def record(kind, label, name, tensor):
    v = tensor.detach().contiguous().reshape(-1).tolist()
    checksum = sum(x * math.cos(e) for e, x in enumerate(v))
    picked = (v[0], v[len(v) // 2], v[-1])
    numbers = ", ".join("%.16g" % x for x in (checksum,) + picked)
    records.append(f'    {{ OP_{kind.upper()}, "{label}", "{name}", {{ {numbers} }} }},')


def case(kind, label, shapes, function, ids=None, outputs=None):
    """`shapes`: of the operands given, by letter; `ids`: of integers, by letter: (shape, below)."""
    letters = OPERANDS.get(kind, "xy")
    given = {}
    for letter, shape in shapes.items():
        given[letter] = filled(kind, letters.index(letter), shape, False).requires_grad_()
    for letter, (shape, below) in (ids or {}).items():
        place = letters.index(letter)
        n = math.prod(shape)
        given[letter] = torch.tensor([id_at(place, e, below) for e in range(n)]).reshape(shape)
    result = function(**given)
    result = result if isinstance(result, tuple) else (result,)
    weighted = 0
    for letter, y in zip(outputs or letters[-1], result):
        record(kind, label, letter, y)
        weighted = weighted + (y * filled(kind, letters.index(letter), tuple(y.shape), True)).sum()
    weighted.backward()
    for letter in shapes:
        if not (kind == "mse_loss" and letter == "l") and given[letter].grad is not None:
            record(kind, label, "d" + letter, given[letter].grad)


# Layers with weights
def linear(x, w, b=None):
    y = x @ w
    return y if b is None else y + b


case("linear", "n c", {"x": (6, 9), "w": (9, 7), "b": (7,)}, linear)
case("linear", "n t c, no bias", {"x": (5, 3, 4), "w": (4, 10)}, linear)
case("linear", "n t u c, transposed", {"x": (4, 2, 3, 5), "w": (6, 5)}, lambda x, w: F.linear(x, w))


def conv(stride=(1, 1), pad=(0, 0, 0, 0), dilation=(1, 1), groups=1):
    """pad: top, left, bottom, right; front, top, left, back, bottom, right"""
    def run(x, w, b=None):
        if x.dim() == 5:
            padded = F.pad(x, (pad[2], pad[5], pad[1], pad[4], pad[0], pad[3]))
            return F.conv3d(padded, w, b, stride, 0, dilation, groups)
        if x.dim() == 3:
            return F.conv1d(F.pad(x, (pad[0], pad[1])), w, b, stride[0], 0, dilation[0], groups)
        return F.conv2d(F.pad(x, (pad[1], pad[3], pad[0], pad[2])), w, b, stride, 0, dilation, groups)
    return run


case("conv", "1D", {"x": (5, 3, 11), "w": (4, 3, 3), "b": (4,)}, conv(pad=(1, 1)))
case("conv", "same, odd kernel", {"x": (4, 3, 9, 8), "w": (5, 3, 3, 3), "b": (5,)}, conv(pad=(1, 1, 1, 1)))
case("conv", "even kernel, uneven padding", {"x": (3, 2, 10, 7), "w": (3, 2, 4, 2)}, conv(pad=(1, 0, 2, 1)))
case("conv", "stride 2", {"x": (3, 2, 11, 12), "w": (4, 2, 3, 3)}, conv((2, 2), (1, 1, 1, 1)))
case("conv", "dilation", {"x": (2, 2, 13, 12), "w": (3, 2, 3, 2)}, conv(pad=(2, 0, 2, 0), dilation=(2, 3)))
case("conv", "dilation above the input's part", {"x": (2, 2, 9, 9), "w": (3, 2, 2, 2)},
     conv((2, 1), (3, 2, 3, 2), (5, 4)))
case("conv", "stride above the kernel", {"x": (2, 2, 17, 16), "w": (3, 2, 1, 2)}, conv((3, 4)))
case("conv", "windows wholly in the padding", {"x": (2, 2, 4, 3), "w": (2, 2, 2, 2)}, conv(pad=(5, 4, 5, 4)))
case("group_conv", "two groups", {"x": (3, 6, 7, 5), "w": (8, 3, 3, 3), "b": (8,)}, conv(pad=(1, 1, 1, 1), groups=2))
case("group_conv", "depthwise, stride 2", {"x": (2, 7, 8, 9), "w": (7, 1, 3, 3)}, conv((2, 2), (1, 1, 1, 1), groups=7))
case("group_conv", "1D", {"x": (3, 6, 9), "w": (6, 2, 2)}, conv(groups=3))
case("conv", "3D", {"x": (2, 3, 5, 4, 6), "w": (4, 3, 2, 3, 1), "b": (4,)},
     conv((1, 2, 1), (1, 0, 0, 0, 1, 0), (1, 1, 1)))
case("group_conv", "3D", {"x": (2, 4, 3, 5, 4), "w": (6, 2, 2, 2, 3), "b": (6,)},
     conv((1, 1, 1), (1, 1, 1, 0, 1, 1), (1, 2, 1), 2))


def conv_transpose(stride, pad=0, more=0, dilation=1, groups=1):
    def run(x, w, b=None):
        f = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[x.dim() - 3]
        return f(x, w, b, stride, pad, more, groups, dilation)
    return run


case("conv_transpose", "doubling", {"x": (3, 4, 3, 5), "w": (4, 3, 2, 2), "b": (3,)}, conv_transpose(2))
case("conv_transpose", "overlapping, further outputs", {"x": (2, 3, 4, 5), "w": (3, 4, 3, 4), "b": (4,)},
     conv_transpose((2, 3), (1, 0), (1, 2)))
case("conv_transpose", "gaps, dilation", {"x": (2, 2, 4, 3), "w": (2, 3, 1, 2)},
     conv_transpose((3, 2), dilation=(1, 3)))
case("conv_transpose", "1D, stride 1", {"x": (3, 2, 7), "w": (2, 4, 3), "b": (4,)}, conv_transpose(1, 1))
case("conv_transpose", "3D", {"x": (2, 2, 2, 3, 2), "w": (2, 3, 2, 3, 2), "b": (3,)},
     conv_transpose((2, 2, 1), (0, 1, 0)))
case("group_conv_transpose", "two groups", {"x": (3, 4, 3, 4), "w": (4, 3, 3, 3), "b": (6,)},
     conv_transpose(2, 1, groups=2))
case("group_conv_transpose", "depthwise", {"x": (2, 5, 3, 4), "w": (5, 1, 4, 4)}, conv_transpose(2, 1, groups=5))
case("group_conv_transpose", "3D", {"x": (2, 4, 2, 2, 3), "w": (4, 1, 2, 2, 2)},
     conv_transpose((2, 1, 2), groups=2))

case("embedding", "n t", {"w": (11, 6)}, lambda i, w: F.embedding(i, w), ids={"i": ((5, 7), 11)})
case("embedding", "n", {"w": (9, 4)}, lambda i, w: F.embedding(i, w), ids={"i": ((6,), 9)})


def lstm(reverse):
    def run(x, w, u, e=None, f=None, b=None, d=None):
        k, c = w.shape[1], w.shape[2]
        zero = torch.zeros(1, x.shape[0], k)
        state = (zero if e is None else e[None], zero if f is None else f[None])
        weights = [w.reshape(4 * k, c), u.reshape(4 * k, k)]
        if b is not None:
            weights += [b.reshape(-1), d.reshape(-1)]
        y, h, z = torch._VF.lstm(x.flip(1) if reverse else x, state, weights, b is not None, 1, 0.0, True, False, True)
        return y.flip(1) if reverse else y, h[0], z[0]
    return run


case("lstm", "with states and biases",
     {"x": (5, 3, 4), "e": (5, 6), "f": (5, 6), "w": (4, 6, 4), "u": (4, 6, 6), "b": (4, 6), "d": (4, 6)},
     lstm(False), outputs="yhz")
case("lstm", "plain, reversed", {"x": (4, 5, 3), "w": (4, 5, 3), "u": (4, 5, 5)}, lstm(True), outputs="yhz")


def lstm_cell(x, w, u, h=None, z=None, b=None, d=None):
    k = w.shape[1]
    zero = torch.zeros(x.shape[0], k)
    weights = [w.reshape(4 * k, -1), u.reshape(4 * k, -1)]
    weights += [torch.zeros(4 * k) if v is None else v.reshape(-1) for v in (b, d)]
    return torch._VF.lstm_cell(x, (zero if h is None else h, zero if z is None else z), *weights)


case("lstm_cell", "with states and biases",
     {"x": (5, 4), "h": (5, 7), "z": (5, 7), "w": (4, 7, 4), "u": (4, 7, 7), "b": (4, 7), "d": (4, 7)},
     lstm_cell, outputs="ys")
case("lstm_cell", "first step", {"x": (6, 4), "w": (4, 5, 4), "u": (4, 5, 5), "b": (4, 5)}, lstm_cell, outputs="ys")



def gru(reverse):
    def run(x, w, u, e=None, b=None, d=None):
        k, c = w.shape[1], w.shape[2]
        state = torch.zeros(1, x.shape[0], k) if e is None else e[None]
        weights = [w.reshape(3 * k, c), u.reshape(3 * k, k)]
        if b is not None:
            weights += [b.reshape(-1), d.reshape(-1)]
        y, h = torch._VF.gru(x.flip(1) if reverse else x, state, weights, b is not None, 1, 0.0, True, False, True)
        return y.flip(1) if reverse else y, h[0]
    return run


case("gru", "with a state and biases",
     {"x": (5, 3, 4), "e": (5, 6), "w": (3, 6, 4), "u": (3, 6, 6), "b": (3, 6), "d": (3, 6)}, gru(False), outputs="yh")
case("gru", "plain, reversed", {"x": (4, 5, 3), "w": (3, 5, 3), "u": (3, 5, 5)}, gru(True), outputs="yh")


def gru_cell(x, w, u, h=None, b=None, d=None):
    k = w.shape[1]
    h = torch.zeros(x.shape[0], k) if h is None else h
    b, d = (torch.zeros(3 * k) if v is None else v.reshape(-1) for v in (b, d))
    return torch._VF.gru_cell(x, h, w.reshape(3 * k, -1), u.reshape(3 * k, k), b, d)


case("gru_cell", "with a state and biases",
     {"x": (5, 4), "h": (5, 7), "w": (3, 7, 4), "u": (3, 7, 7), "b": (3, 7), "d": (3, 7)}, gru_cell)
case("gru_cell", "first step", {"x": (6, 4), "w": (3, 5, 4), "u": (3, 5, 5), "b": (3, 5)}, gru_cell)

# Products of activations
case("matmul", "n m c", {"x": (5, 3, 4), "y": (5, 4, 6)}, lambda x, y: x @ y)
case("matmul", "n b m c, transposed", {"x": (3, 2, 5, 4), "y": (3, 2, 7, 4)}, lambda x, y: x @ y.transpose(2, 3))


def attention(heads, kv_heads, causal, cap=0):
    def split(v, n_heads):
        return v.reshape(*v.shape[:-1], n_heads, -1).transpose(-3, -2)

    def run(x, k, v, b=0):
        q, k, v = split(x, heads), split(k, kv_heads), split(v, kv_heads)
        k, v = (t.repeat_interleave(heads // kv_heads, -3) for t in (k, v))
        score = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        score = (cap * torch.tanh(score / cap) if cap else score) + b
        if causal:
            score = score + torch.full(score.shape[-2:], -math.inf).triu(1)
        return (score.softmax(-1) @ v).transpose(-3, -2).flatten(-2)
    return run


case("attention", "two heads, causal", {"x": (3, 5, 8), "k": (3, 5, 8), "v": (3, 5, 8)}, attention(2, 2, True))
case("attention", "grouped, other keys, wider values", {"x": (2, 5, 12), "k": (2, 7, 6), "v": (2, 7, 9)},
     attention(6, 3, False))
case("attention", "bias of heads", {"x": (3, 5, 8), "k": (3, 7, 4), "v": (3, 7, 6), "b": (1, 4, 5, 7)},
     attention(4, 2, False))
case("attention", "bias of samples and keys", {"x": (3, 5, 8), "k": (3, 5, 8), "v": (3, 5, 8), "b": (3, 1, 1, 5)},
     attention(2, 2, True))
case("attention", "windows", {"x": (2, 3, 4, 6), "k": (2, 3, 5, 6), "v": (2, 3, 5, 4), "b": (1, 3, 2, 4, 5)},
     attention(2, 2, False))
case("attention", "capped scores", {"x": (3, 5, 8), "k": (3, 7, 4), "v": (3, 7, 6), "b": (1, 4, 5, 7)},
     attention(4, 2, False, 0.25))
case("attention", "windows, bias they share",
     {"x": (2, 3, 4, 6), "k": (2, 3, 5, 6), "v": (2, 3, 5, 4), "b": (2, 1, 2, 1, 5)}, attention(2, 2, False))

# Windows
case("max_pool", "halving", {"x": (3, 5, 8, 6)}, lambda x: F.max_pool2d(x, 2, 2))
case("max_pool", "overlapping, incomplete last window", {"x": (2, 3, 8, 11)},
     lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True))
case("max_pool", "dilation, padding", {"x": (2, 3, 9, 9)},
     lambda x: F.max_pool2d(x, (3, 2), 1, 1, dilation=2))
case("max_pool", "1D, stride above the kernel", {"x": (3, 2, 14)}, lambda x: F.max_pool1d(x, 2, 3))
case("avg_pool", "overlapping, padding", {"x": (2, 3, 7, 8)}, lambda x: F.avg_pool2d(x, 3, (2, 1), 1))
case("avg_pool", "incomplete last window, padding not counted", {"x": (2, 3, 7, 10)},
     lambda x: F.avg_pool2d(x, (2, 3), (2, 3), (0, 1), ceil_mode=True, count_include_pad=False))
case("max_pool", "3D", {"x": (2, 3, 5, 4, 6)},
     lambda x: F.max_pool3d(F.pad(x, (0, 0, 1, 1, 1, 0), value=-math.inf), (2, 3, 2), (2, 1, 2)))
case("avg_pool", "3D", {"x": (2, 3, 5, 4, 6)},
     lambda x: F.avg_pool3d(x, (2, 3, 2), (2, 1, 2), (1, 1, 0), count_include_pad=False))
case("adaptive_max_pool", "fewer, more", {"x": (2, 3, 7, 3)}, lambda x: F.adaptive_max_pool2d(x, (3, 5)))
case("adaptive_max_pool", "1D", {"x": (3, 2, 9)}, lambda x: F.adaptive_max_pool1d(x, 3))
case("adaptive_avg_pool", "fewer, more", {"x": (2, 3, 7, 3)}, lambda x: F.adaptive_avg_pool2d(x, (3, 5)))
case("adaptive_avg_pool", "all of it", {"x": (3, 4, 5, 6)}, lambda x: F.adaptive_avg_pool2d(x, 1))
case("adaptive_avg_pool", "3D", {"x": (2, 2, 4, 5, 6)}, lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4)))
case("resize_nearest", "doubled, and not", {"x": (3, 2, 4, 5)}, lambda x: F.interpolate(x, (8, 7)))
case("resize_nearest", "fewer", {"x": (2, 3, 9, 8)}, lambda x: F.interpolate(x, (4, 3)))
case("resize_nearest", "3D", {"x": (2, 2, 2, 3, 4)}, lambda x: F.interpolate(x, (4, 5, 2)))
case("resize_linear", "doubled, and not", {"x": (3, 2, 4, 5)}, lambda x: F.interpolate(x, (8, 7), mode="bilinear"))
case("resize_linear", "corners stay", {"x": (2, 3, 4, 8)},
     lambda x: F.interpolate(x, (7, 5), mode="bilinear", align_corners=True))
case("resize_linear", "1D, fewer", {"x": (3, 2, 11)}, lambda x: F.interpolate(x, 4, mode="linear"))
case("resize_linear", "3D, from one", {"x": (2, 2, 1, 3, 4)},
     lambda x: F.interpolate(x, (3, 6, 1), mode="trilinear", align_corners=True))
case("lrn", "n c h w", {"x": (2, 9, 3, 4)}, lambda x: F.local_response_norm(x, 5))

# Normalisation
case("batch_norm", "n c h w", {"x": (5, 3, 4, 2), "w": (3,), "b": (3,)},
     lambda x, w, b: F.batch_norm(x, None, None, w, b, True))
case("batch_norm", "n c, nothing trained", {"x": (5, 6)}, lambda x: F.batch_norm(x, None, None, training=True))
case("batch_norm", "3D", {"x": (5, 3, 2, 2, 3), "w": (3,), "b": (3,)},
     lambda x, w, b: F.batch_norm(x, None, None, w, b, True))
case("group_norm", "3D", {"x": (3, 4, 2, 3, 2), "w": (4,), "b": (4,)}, lambda x, w, b: F.group_norm(x, 2, w, b))
case("layer_norm", "n t c", {"x": (4, 3, 7), "w": (7,), "b": (7,)}, lambda x, w, b: F.layer_norm(x, (7,), w, b))
case("layer_norm", "n c", {"x": (5, 6), "w": (6,)}, lambda x, w: F.layer_norm(x, (6,), w))


def rms_norm(x, w):
    return x * (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt() * w


case("rms_norm", "n t c", {"x": (4, 3, 7), "w": (7,)}, rms_norm)
case("rms_norm", "n t u c", {"x": (3, 2, 4, 5), "w": (5,)}, rms_norm)
case("group_norm", "n c h w", {"x": (3, 6, 4, 5), "w": (6,), "b": (6,)}, lambda x, w, b: F.group_norm(x, 3, w, b))
case("group_norm", "one group", {"x": (3, 6, 5), "w": (6,), "b": (6,)}, lambda x, w, b: F.group_norm(x, 1, w, b))
case("softmax", "n c", {"x": (5, 7)}, lambda x: x.softmax(-1))
case("softmax", "n t c", {"x": (3, 4, 5)}, lambda x: x.softmax(-1))
case("log_softmax", "n t c", {"x": (3, 4, 5)}, lambda x: x.log_softmax(-1))

# Losses
case("cross_entropy", "n c", {"x": (5, 7)}, lambda x, l: F.cross_entropy(x, l), ids={"l": ((5,), 7)})
case("cross_entropy", "n t c", {"x": (3, 4, 5)}, lambda x, l: F.cross_entropy(x.flatten(0, 1), l.flatten()),
     ids={"l": ((3, 4), 5)})
case("mse_loss", "n c", {"x": (5, 6), "l": (5, 6)}, lambda x, l: F.mse_loss(x, l))
case("mse_loss", "n t c", {"x": (3, 4, 5), "l": (3, 4, 5)}, lambda x, l: F.mse_loss(x, l))

# Element-wise
BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "minimum": torch.minimum,
          "maximum": torch.maximum}
for kind, f in BINARY.items():
    case(kind, "same shapes", {"x": (5, 6), "y": (5, 6)}, lambda x, y: f(x, y))
    case(kind, "both broadcast", {"x": (5, 1, 7), "y": (5, 6, 1)}, lambda x, y: f(x, y))
    case(kind, "one row for all samples", {"x": (5, 3, 7), "y": (7,)}, lambda x, y: f(x, y))

case("where", "same shapes", {"c": (5, 6), "x": (5, 6), "y": (5, 6)}, lambda c, x, y: torch.where(c != 0, x, y))
case("where", "all broadcast", {"c": (5, 1, 4), "x": (3, 1), "y": (5, 3, 4)}, lambda c, x, y: torch.where(c != 0, x, y))

UNARY = {
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "sin": torch.sin, "cos": torch.cos,
    "relu": F.relu, "gelu": F.gelu, "silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
    "leaky_relu": F.leaky_relu, "elu": F.elu, "softplus": F.softplus,
    "hard_sigmoid": lambda x: (0.2 * x + 0.5).clamp(0, 1), "hard_swish": F.hardswish,
    "clip": lambda x: x.clamp(-1, 1), "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt,
    "pow": lambda x: x.pow(2), "erf": torch.erf, "abs": torch.abs, "neg": torch.neg,
    "affine": lambda x: 2 * x + 1, "identity": lambda x: x * 1,
}
for kind, f in UNARY.items():
    case(kind, "n c", {"x": (5, 6)}, lambda x: f(x))


def rope(x):
    """LLaMA's: halves of each head are the two coordinates."""
    n, t, heads, width = x.shape[0], x.shape[1], 3, x.shape[2] // 3
    x = x.reshape(n, t, heads, width)
    rate = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = torch.arange(t, dtype=torch.float64)[:, None, None] * torch.cat((rate, rate))
    a, b = x.chunk(2, -1)
    return (x * angle.cos() + torch.cat((-b, a), -1) * angle.sin()).flatten(2)


case("rope", "three heads", {"x": (3, 5, 12)}, rope)

case("cumsum", "middle", {"x": (3, 5, 4)}, lambda x: x.cumsum(1))
case("cumsum", "last, reversed", {"x": (3, 2, 5)}, lambda x: x.flip(2).cumsum(2).flip(2))

# Shape
case("slice", "middle", {"x": (4, 9, 3)}, lambda x: x[:, 2:7])
case("slice", "every third", {"x": (4, 3, 11)}, lambda x: x[:, :, 1:11:3])
case("pad", "height and width", {"x": (2, 3, 5, 4)}, lambda x: F.pad(x, (1, 0, 2, 3)))
case("pad", "more than the input", {"x": (3, 2)}, lambda x: F.pad(x, (4, 5)))
case("transpose", "inner two", {"x": (3, 4, 5)}, lambda x: x.transpose(1, 2))
case("transpose", "samples move", {"x": (3, 4, 5, 2)}, lambda x: x.permute(2, 0, 3, 1))
case("reshape", "heads", {"x": (3, 5, 12)}, lambda x: x.reshape(3, 5, 3, 4))
case("reshape", "factors that do not meet", {"x": (3, 4, 6)}, lambda x: x.reshape(3, 6, 4))
case("flatten", "n c h w", {"x": (3, 5, 2, 4)}, lambda x: x.flatten(1))
case("squeeze", "both", {"x": (3, 1, 5, 1)}, lambda x: x.squeeze(3).squeeze(1))
case("unsqueeze", "middle", {"x": (3, 5)}, lambda x: x.unsqueeze(1))
case("expand", "middle", {"x": (3, 1, 5)}, lambda x: x.expand(3, 4, 5))
case("expand", "more dimensions", {"x": (4, 1)}, lambda x: x.expand(3, 4, 5))
case("reduce_sum", "middle, kept", {"x": (3, 4, 5)}, lambda x: x.sum(1, keepdim=True))
case("reduce_sum", "two dimensions", {"x": (3, 4, 5, 2)}, lambda x: x.sum((1, 3)))
case("reduce_mean", "last", {"x": (3, 4, 5)}, lambda x: x.mean(2))
case("global_avg_pool", "n c h w", {"x": (3, 5, 4, 6)}, lambda x: x.mean((2, 3)))
case("global_avg_pool", "kept", {"x": (3, 5, 4, 6)}, lambda x: F.adaptive_avg_pool2d(x, 1))
case("global_max_pool", "n c h w", {"x": (3, 5, 4, 6)}, lambda x: F.adaptive_max_pool2d(x, 1).flatten(1))

case("reduce_max", "last", {"x": (3, 4, 5)}, lambda x: x.amax(2))
case("reduce_max", "middle, kept", {"x": (3, 4, 5)}, lambda x: x.amax(1, keepdim=True))
case("gather_elements", "middle, more", {"x": (3, 4, 5)}, lambda x, i: x.gather(1, i), ids={"i": ((3, 6, 5), 4)})
case("gather_elements", "last, fewer", {"x": (5, 7)}, lambda x, i: x.gather(1, i), ids={"i": ((5, 3), 7)})
case("index_select", "middle", {"x": (3, 4, 5)}, lambda x, i: x.index_select(1, i), ids={"i": ((6,), 4)})
case("index_select", "of a parameter", {"x": (9, 4)}, lambda x, i: x.index_select(0, i), ids={"i": ((7,), 9)})
case("scatter_add", "middle", {"x": (3, 4, 5), "s": (3, 6, 5)}, lambda x, s, i: x.scatter_add(1, i, s),
     ids={"i": ((3, 6, 5), 4)})
case("scatter_add", "last", {"x": (5, 7), "s": (5, 3)}, lambda x, s, i: x.scatter_add(1, i, s), ids={"i": ((5, 3), 7)})

# Several inputs or outputs: their letters are places
OPERANDS["concat"] = "0123"
case("concat", "channels, pieces of 3, 1 and 6", {"0": (4, 3, 5), "1": (4, 1, 5), "2": (4, 6, 5)},
     lambda **x: torch.cat(tuple(x.values()), 1))
OPERANDS["split"] = "0123"
case("split", "unequal", {"0": (4, 8, 3)}, lambda **x: x["0"].split((1, 5, 2), 1), outputs="123")

HEADER = """/* torch_values.h - what PyTorch %s computes in fp64.
 *
 * Written by tests/kernel/torch_reference.py. A tensor is named as in the row, by the place of
 * its operand where the row has several of that name. Numbers: the sum of element e times
 * cos(e); the first, the middle and the last element. */
/* clang-format off */
static const struct torch_value {
    enum op_kind kind;
    const char *label, *tensor;
    double number[4];
} torch_values[] = {
""" % torch.__version__.split("+")[0]
values = pathlib.Path(__file__).with_name("torch_values.h")
values.write_text(HEADER + "\n".join(records) + "\n};\n/* clang-format on */\n")
print(f"{values}: {len(records)} tensors")
