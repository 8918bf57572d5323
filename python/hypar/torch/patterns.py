"""Operators that models write out in small steps: recognised where the last step is. The steps before it are left out in
the end, as nobody reads them."""
import math

import torch

from .table import base_name
from .views import Tensor

CASTS = ("to", "_to_copy", "clone", "contiguous", "type_as", "float", "_assert_tensor_metadata")


def _name(node):
    return base_name(node.target) if isinstance(node, torch.fx.Node) and node.op == "call_function" else None


def _strip(node):
    """What a node is but for its type of numbers."""
    while _name(node) in CASTS:
        node = node.args[0]
    return node


def _is(node, name):
    node = _strip(node)
    return node if _name(node) == name else None


def _either(node, first, second):
    """The arguments of a node in the order in which `first` and `second` accept them, or None."""
    a, b = (_strip(x) for x in node.args[:2])
    for x, y in ((a, b), (b, a)):
        if first(x) and second(y):
            return x, y
    return None


def rms_norm(call, *_):
    """x rsqrt(mean(x^2) + eps)."""
    pair = _either(call.node, lambda x: True, lambda r: _name(r) == "rsqrt")
    if not pair:
        return None
    x, root = pair
    shifted = _is(root.args[0], "add")
    mean = shifted and _is(shifted.args[0], "mean")
    if not mean or not isinstance(shifted.args[1], (int, float)) or list(mean.args[1]) not in ([-1], [len(call.out()[0]) - 1]):
        return None
    square = _strip(mean.args[0])
    if _name(square) == "pow" and square.args[1] == 2 or _name(square) == "square":
        same = _strip(square.args[0]) is x
    else:
        same = _name(square) == "mul" and all(_strip(a) is x for a in square.args[:2])
    if not same:
        return None
    from .layers import norm
    value = call.tensor(call.t.value(x))
    return norm(call, "rms_norm", value, value.size[-1:], [None], shifted.args[1])


def norm_weight(call, x, y):
    """The weight of an rms_norm, which is written after it."""
    for w, value in ((x, y), (y, x)):
        if not (isinstance(w, Tensor) and isinstance(value, Tensor) and w.plain() and w.base in call.graph.params):
            continue
        writer = call.graph.writer(value)
        if (writer and writer.kind == "rms_norm" and len(writer.inputs) == 1 and w.size == value.size[-1:] and
                value.shape[-1:] == w.size and value.whole() and not call.graph.read(value.base)):
            writer.inputs.append(w.base)
            return value
    return None


def gelu_tanh(call, *_):
    """0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))."""
    pair = _either(call.node, lambda h: _name(h) == "mul", lambda s: _name(s) == "add" and s.args[1] == 1)
    half = pair and _either(pair[0], lambda x: isinstance(x, torch.fx.Node), lambda n: n == 0.5)
    tanh = half and _is(pair[1].args[0], "tanh")
    scaled = tanh and _is(tanh.args[0], "mul")
    inner = scaled and _either(scaled, lambda s: _name(s) == "add", lambda n: isinstance(n, float) and abs(n - math.sqrt(2 / math.pi)) < 1e-6)
    parts = inner and _either(inner[0], lambda x: x is half[0], lambda c: _name(c) == "mul")
    cube = parts and _either(parts[1], lambda p: _name(p) == "pow", lambda n: n == 0.044715)
    if not cube or cube[0].args[1] != 3 or _strip(cube[0].args[0]) is not half[0]:
        return None
    from . import elementwise
    return elementwise.gelu_tanh(call, call.t.value(half[0]))


def row_dropout(call, x, y):
    """A factor drawn for each sample (stochastic depth): planned as dropout."""
    for node, other in (call.node.args[:2], call.node.args[1::-1]):
        at, kept = node, None
        while _name(at) in ("div", "bernoulli", "expand", "empty", "mul", "clone", "to"):
            if _name(at) == "bernoulli":
                kept = at.args[1] if len(at.args) > 1 else None
            if not at.args or not isinstance(at.args[0], torch.fx.Node):
                break
            at = at.args[0]
        if isinstance(kept, float):
            from .elementwise import unary
            call.graph.notes.append(f"{call.where.path}: a factor drawn for each sample is planned as dropout")
            return unary(call, "dropout", call.t.value(other), rate=1 - kept)
    return None


def rope(call):
    """x cos + rotate(x) sin, where rotate is [-second half, first half], and the tables are those of one theta."""
    if len(call.node.args) < 2 or not all(_name(_strip(a)) == "mul" for a in call.node.args[:2]):
        return None
    for first, second in (call.node.args[:2], call.node.args[1::-1]):
        found = _rotated(call, _strip(first), _strip(second))
        if found:
            x, cos, sin = found
            return _emit_rope(call, call.tensor(call.t.value(x)), cos, sin)
    return None


def _table(call, node):
    """A table that is known, one for all samples."""
    value = call.t.host.values.get(node)
    if not isinstance(value, torch.Tensor) or call.t.host.is_data(value):
        return None
    return value


def _rotated(call, plain, turned):
    """(x, cos, sin) of the two products."""
    for x, cos in (plain.args[:2], plain.args[1::-1]):
        for r, sin in (turned.args[:2], turned.args[1::-1]):
            r, x = _strip(r), _strip(x)
            tables = [_table(call, t) for t in (cos, sin)]
            if _name(r) != "cat" or tables[0] is None or tables[1] is None or len(r.args[0]) != 2:
                continue
            negated, kept = (_strip(a) for a in r.args[0])
            if _name(negated) != "neg" or _name(kept) != "slice":
                continue
            moved = _strip(negated.args[0])
            if _name(moved) == "slice" and _strip(moved.args[0]) is x and _strip(kept.args[0]) is x:
                half = call.tensor(call.t.value(x)).size[-1] // 2
                if list(kept.args[2:4]) == [0, half] and moved.args[2] == half:
                    return x, tables[0], tables[1]
    return None


def _theta(cos, sin):
    """The base of the angles of two tables [t, d], or None if they are not those of a rotary embedding."""
    t, d = cos.shape
    cos, sin = cos.double(), sin.double()
    if t < 2 or d % 2:
        return None
    angle = torch.atan2(sin[1, d // 2 - 1], cos[1, d // 2 - 1]).item()
    if not angle > 0:
        return None
    theta = angle ** (-d / (d - 2)) if d > 2 else 10000  # of one pair all bases are the same
    theta = round(theta) if abs(theta - round(theta)) < 1e-3 * theta else theta
    angles = torch.arange(t).double()[:, None] * theta ** (-torch.arange(0, d, 2).double() / d)
    angles = torch.cat([angles, angles], 1)
    close = max((cos - angles.cos()).abs().max().item(), (sin - angles.sin()).abs().max().item())
    return theta if close < 1e-4 * max(1, t / 1000) else None


def _emit_rope(call, x, cos, sin):
    dims = [d for d, n in enumerate(cos.shape[1:-1], 1) if n > 1]
    if len(x.size) != 4 or cos.dim() != 4 or len(dims) != 1:
        return None
    at = dims[0]  # the positions: 1 or 2, the heads are in the other one
    tables = [v[0].select(0 if at == 2 else 1, 0) for v in (cos, sin)]
    theta = _theta(*tables)
    if theta is None:
        return None
    if at == 2:
        x = call.see(x, lambda v: v.transpose(1, 2))
    n, t, heads, d = x.size
    merged = call.settle(call.reshape(x, (n, t, heads * d)))
    y = call.add("rope", [merged], {"heads": heads, "theta": theta})
    y = call.reshape(y, (n, t, heads, d))
    return call.see(y, lambda v: v.transpose(1, 2)) if at == 2 else y
