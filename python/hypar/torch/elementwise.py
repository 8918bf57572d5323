"""Operators that work element by element."""
import math

import torch

from . import patterns
from .functions import name_of
from .table import TABLE, Unknown, op
from .views import Tensor

UNARY = {"relu": "relu", "silu": "silu", "sigmoid": "sigmoid", "tanh": "tanh", "exp": "exp", "log": "log", "sqrt": "sqrt",
         "erf": "erf", "abs": "abs", "neg": "neg", "hardswish": "hard_swish", "sin": "sin", "cos": "cos"}
SAME = ("alias", "lift_fresh_copy", "requires_grad", "lift_fresh", "positive")


def unary(call, kind, x, **attrs):
    """Element by element; where the value is a rearrangement, before it."""
    x = call.tensor(x)
    if not call.has(kind):
        raise Unknown(f"this hypar has no '{kind}'")
    if x.whole() and not x.plain():
        y = call.add(kind, [Tensor(x.base, x.shape, x.sample)], attrs)
        return Tensor(y.base, y.shape, y.sample, x.view, x.groups)
    y = call.add(kind, [call.settle(x)], attrs)
    call.graph.given[y.base] = x
    return y


for _name, _kind in UNARY.items():
    TABLE[_name] = lambda call, x, kind=_kind: unary(call, kind, x)
for _name in SAME:
    TABLE[_name] = lambda call, x, *args, **kwargs: x


@op("to", "_to_copy", "type_as", "float", "double")
def cast(call, x, *args, **kwargs):
    """The same numbers in another type: a tensor of its own where the parameters are in 16 bits. Casts of parameters are not told."""
    if not isinstance(x, Tensor) or call.graph.writer(x) is None or x.size == ():
        return x
    return x if call.graph.is_wide(x.base) == (call.node in call.graph.wide_nodes) else unary(call, "identity", x)


@op("detach")
def detach(call, x, *args, **kwargs):
    """The same, through which PyTorch hands back no error."""
    if isinstance(x, Tensor) and any(call.graph.params.get(p, {}).get("trained", p in call.graph.params) for p in call.graph.reached([x.base])):
        call.graph.note("no gradient passes here (detach, no_grad): plans count the backward half of what is before, and 'hypar train' trains it", call.where.path)
    return x


@op("clone", "contiguous")
def copied(call, x, *args, **kwargs):
    """The same elements. A trace has .contiguous() only where it copies: attention keeps the output that it wrote, and the layer behind it keeps
    the copy."""
    writer = call.graph.writer(x) if isinstance(x, Tensor) else None
    ordered = writer is not None and (call.node.target is torch.ops.aten.contiguous.default or kwargs.get("memory_format") is torch.contiguous_format)
    if ordered and name_of(writer.node) == "scaled_dot_product_attention" and writer.kind == "attention":
        return unary(call, "affine", x)
    return x


@op("gelu")
def gelu(call, x, approximate="none"):
    if approximate == "none":
        return unary(call, "gelu", x)
    return gelu_tanh(call, x)


def gelu_tanh(call, x):
    if call.has("gelu_tanh"):
        return patterns.one_kernel(call, unary(call, "gelu_tanh", x))
    cube = unary(call, "affine", unary(call, "pow", x, exponent=3), alpha=0.044715)
    inner = unary(call, "affine", binary(call, "add", x, cube), alpha=math.sqrt(2 / math.pi))
    return binary(call, "mul", unary(call, "affine", x, alpha=0.5), unary(call, "affine", unary(call, "tanh", inner), beta=1))


@op("relu6")
def relu6(call, x):
    return unary(call, "clip", x, min=0, max=6)


@op("hardtanh", "clamp", "clip")
def clamp(call, x, low=None, high=None, **kwargs):
    low, high = kwargs.get("min", low), kwargs.get("max", high)
    return unary(call, "clip", x, min=max(-1e30, -1e30 if low is None else low), max=min(1e30, 1e30 if high is None else high))


@op("clamp_min")
def clamp_min(call, x, low):
    return clamp(call, x, low)


@op("clamp_max")
def clamp_max(call, x, high):
    return clamp(call, x, None, high)


@op("hardsigmoid")
def hardsigmoid(call, x):
    return unary(call, "hard_sigmoid", x, alpha=1 / 6, beta=0.5)


@op("leaky_relu")
def leaky_relu(call, x, slope=0.01):
    return unary(call, "leaky_relu", x, alpha=slope)


@op("elu")
def elu(call, x, alpha=1, scale=1, input_scale=1):
    if input_scale != 1:
        raise Unknown("elu with a scale of its input")
    y = unary(call, "elu", x, alpha=alpha)
    return y if scale == 1 else unary(call, "affine", y, alpha=scale)


@op("softplus")
def softplus(call, x, beta=1, threshold=20):
    if beta == 1:
        return unary(call, "softplus", x)
    return unary(call, "affine", unary(call, "softplus", unary(call, "affine", x, alpha=beta)), alpha=1 / beta)


@op("mish")
def mish(call, x):
    return binary(call, "mul", x, unary(call, "tanh", unary(call, "softplus", x)))


@op("prelu")
def prelu(call, x, w):
    x = call.tensor(x)
    w = call.see(w, lambda v: v.view([-1] + [1] * (len(x.size) - 2)))
    below = binary(call, "mul", unary(call, "relu", unary(call, "neg", x)), w)
    return binary(call, "sub", unary(call, "relu", x), below)


@op("pow")
def power(call, x, exponent):
    if not isinstance(exponent, (int, float)):
        raise Unknown("a power that is a tensor")
    if exponent == 2:
        return binary(call, "mul", x, x)
    return unary(call, "pow", x, exponent=exponent)


@op("square")
def square(call, x):
    return binary(call, "mul", x, x)


@op("log1p")
def log1p(call, x):
    return unary(call, "log", unary(call, "affine", x, beta=1))


@op("rsqrt")
def rsqrt(call, x):
    return unary(call, "pow", x, exponent=-0.5)


@op("reciprocal")
def reciprocal(call, x):
    return unary(call, "pow", x, exponent=-1)


@op("dropout")
def dropout(call, x, rate, train=True):
    return unary(call, "dropout", x, rate=rate) if train and rate > 0 else x


@op("native_dropout")
def native_dropout(call, x, rate, train=True):
    return dropout(call, x, rate, train), None


def number(x):
    """A number, or the one of a known tensor; None: it is neither."""
    if isinstance(x, (int, float)) and not isinstance(x, bool):
        return x
    value = getattr(x, "value", None)
    if isinstance(value, torch.Tensor) and value.numel() == 1 and not x.data:
        return value.item()
    return None


def binary(call, kind, x, y):
    """Two values with broadcasting; a number is no operand but an affine."""
    a, b = number(x), number(y)
    if b is not None and kind in ("add", "sub", "mul", "div"):
        alpha = {"mul": b, "div": 1 / b if b else math.inf}.get(kind, 1)
        beta = {"add": b, "sub": -b}.get(kind, 0)
        return call.tensor(x) if (alpha, beta) == (1, 0) else unary(call, "affine", x, alpha=alpha, beta=beta)
    if a is not None and kind in ("add", "mul"):
        return binary(call, kind, y, x)
    if a is not None and kind == "sub":
        return unary(call, "affine", y, alpha=-1, beta=a)
    if a is not None and kind == "div":
        y = unary(call, "pow", y, exponent=-1)
        return y if a == 1 else unary(call, "affine", y, alpha=a)
    x, y = (call.tensor(as_numbers(v)) for v in (x, y))
    if same_view(x, y):
        z = call.add(kind, [Tensor(x.base, x.shape, x.sample), Tensor(y.base, y.shape, y.sample)])
        return Tensor(z.base, z.shape, z.sample, x.view, x.groups)
    shape = torch.broadcast_shapes(x.size, y.size)
    if (x.joined() or y.joined()) and len(x.size) == len(y.size):
        parts = [next((u for u in both if len(u) > 1), [n]) for n, *both in zip(shape, units(x), units(y))]
        apart = [call.reshape(v, [n for d, p in enumerate(parts) for n in (p if v.size[d] == shape[d] else [1] * len(p))])
                 for v in (x, y)]
        if len(apart[0].size) <= 6 and not any(v.joined() for v in apart):
            return call.reshape(binary(call, kind, *apart), shape)
    x, y = (once(call, v) for v in (x, y))
    sample = [v.sample + len(shape) - len(v.shape) for v in (x, y) if v.sample is not None]
    if tuple(torch.broadcast_shapes(x.shape, y.shape)) != tuple(shape):  # both are repeated along a dimension
        z = call.add(kind, [x, y], {}, torch.broadcast_shapes(x.shape, y.shape), sample[0] if sample else None)
        return Tensor(z.base, z.shape, z.sample, z.view.expand(shape), grows=call.t.batch)
    return call.add(kind, [x, y], {}, shape, sample[0] if sample else None)


def as_numbers(x):
    """A known value as numbers to compute with, where it is integers."""
    value = getattr(x, "value", None)
    if not isinstance(value, torch.Tensor) or value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
        return x
    return type(x)(value.to(torch.get_default_dtype()), x.node, x.data)


def units(x):
    """The sizes that each dimension of a value is made of."""
    dims = iter(x.view.shape)
    return [[next(dims) for _ in range(n)] for n in x.groups]


def same_view(x, y):
    return (x.whole() and y.whole() and not x.plain() and x.shape == y.shape and x.view.shape == y.view.shape and
            x.view.stride() == y.view.stride() and x.groups == y.groups and x.sample == y.sample)


def once(call, x):
    """What is repeated along a dimension, without that: broadcasting does it."""
    if x.joined():
        return call.settle(x)
    view = x.view
    for d, (n, stride) in enumerate(zip(view.shape, view.stride())):
        if n > 1 and stride == 0:
            view = view.narrow(d, 0, 1)
    return call.settle(x.seen(view))


def scaled(call, x, alpha):
    """alpha x, for add and sub."""
    if alpha == 1:
        return x
    return x * alpha if isinstance(x, (int, float)) else unary(call, "affine", x, alpha=alpha)


@op("add", "__add__")
def add(call, x, y, alpha=1):
    found = patterns.rope(call) or (patterns.norm_bias(call, x, y) if alpha == 1 else None)
    return found if found is not None else binary(call, "add", x, scaled(call, y, alpha))


@op("sub")
def sub(call, x, y, alpha=1):
    return binary(call, "sub", x, scaled(call, y, alpha))


@op("rsub")
def rsub(call, x, y, alpha=1):
    return binary(call, "sub", y, scaled(call, x, alpha))


@op("mul")
def mul(call, x, y):
    if call.node.meta["val"].is_complex():
        from .shapes import Complex, turned
        return turned(call, x, y) if isinstance(x, Complex) else turned(call, y, x)
    for pattern in (patterns.activation, patterns.written_norm, patterns.norm_weight, patterns.row_dropout):
        found = pattern(call, x, y)
        if found is not None:
            return found
    return binary(call, "mul", x, y)


@op("div", "true_divide")
def div(call, x, y, rounding_mode=None):
    if rounding_mode:
        raise Unknown("a division that rounds")
    for pattern in (patterns.activation, patterns.written_norm):
        found = pattern(call)
        if found is not None:
            return found
    return binary(call, "div", x, y)


@op("minimum")
def minimum(call, x, y):
    return binary(call, "minimum", x, y)


@op("maximum")
def maximum(call, x, y):
    return binary(call, "maximum", x, y)


@op("where")
def where(call, c, x, y):
    known = getattr(c, "value", None)
    if known is not None and not c.data:
        if bool(known.all()):
            return call.tensor(x)
        y_number = number(y)
        if y_number is not None and y_number < -1e4:  # scores that are not to be seen
            hidden = torch.zeros(known.shape, dtype=torch.get_default_dtype()).masked_fill(known == 0, -1e30)
            return binary(call, "add", x, type(c)(hidden, c.node, False))
    if not call.has("where"):
        raise Unknown("this hypar has no 'where'")
    parts = [once(call, call.tensor(v)) for v in (c, x, y)]
    shape = torch.broadcast_shapes(*(p.shape for p in parts))
    sample = [p.sample + len(shape) - len(p.shape) for p in parts if p.sample is not None]
    return call.add("where", parts, {}, shape, sample[0] if sample else None)


@op("masked_fill")
def masked_fill(call, x, mask, value):
    if hasattr(mask, "value") and not mask.data:
        return where(call, type(mask)(mask.value == 0, mask.node, False), x, value)
    return where(call, mask, value, x)
