"""Operators that models write out in small steps: recognised where the last step is. The steps before it are left out in
the end, as nobody reads them."""
import math
import operator

import torch

from .functions import CASTS, is_cast, name_of
from .saved import bytes_by_element, kernels_of
from .views import Tensor

SAVED = "saved_fp32", "saved_short"


def strip(node):
    """What a node is but for its type of numbers."""
    while name_of(node) in CASTS:
        node = node.args[0]
    return node


def _is(node, name):
    node = strip(node)
    return node if name_of(node) == name else None


def _either(node, first, second):
    """The arguments of a node in the order in which `first` and `second` accept them, or None."""
    a, b = (strip(x) for x in node.args[:2])
    for x, y in ((a, b), (b, a)):
        if first(x) and second(y):
            return x, y
    return None


def written(call, y, x):
    """y, by an operator that the model writes out between the node x and this one: it says how many kernels that takes, and what is saved."""
    op = y is not None and _op_of(call.graph, y)
    if op:
        op.begin = strip(x)
        nodes = _between(call.node, op.begin, call.t.host)
        kinds = tuple(name_of(n) for n in nodes)
        if kinds not in call.t.kernels:
            short = call.t.widths.twin.get(call.node), call.t.widths.twin.get(op.begin), call.t.widths.host
            short = None if None in short else (_between(*short), *short[1:])
            call.t.kernels[kinds] = kernels_of(nodes, call.t.host), bytes_by_element(nodes, op.begin, call.t.host, short)
        counts, saved = call.t.kernels[kinds]
        op.attrs.update({key: n for key, n in zip(("forward_steps", "backward_steps"), counts or (1, 1)) if n > 1})
        op.wide = call.node in call.graph.wide_nodes and not any(map(is_cast, nodes))  # else its casts count in what is saved
        op.attrs.update(zip(SAVED, saved or ()))
    return y


def one_kernel(call, y):
    """y, by an operator that is one kernel of PyTorch's, which saves its input alone."""
    _op_of(call.graph, y).attrs.update(dict.fromkeys(SAVED, 0))
    return y


def _op_of(graph, y):
    """The operator that computes a value, behind those that move its elements."""
    op = graph.writer(y)
    while op is not None and op.kind in ("reshape", "transpose"):
        op = graph.writer_of(op.inputs[0])
    return op


def _between(last, first, host):
    """The nodes of the value of `last` that follow from `first`, but for what is known, in their order."""
    found, left = set(), [last]
    while left:
        node = left.pop()
        if node is not first and node not in found and node.op == "call_function" and node not in host.values:
            found.add(node)
            left += node.all_input_nodes
    return sorted(found)


def _same(a, b, depth=2):
    """Do two nodes compute the same?"""
    a, b = (strip(n) if isinstance(n, torch.fx.Node) else n for n in (a, b))
    if a is b or not isinstance(a, torch.fx.Node) or not isinstance(b, torch.fx.Node):
        return a is b or type(a) is type(b) and not isinstance(a, torch.fx.Node) and a == b
    return (depth > 0 and a.op == b.op == "call_function" and a.target == b.target and len(a.args) == len(b.args) and a.kwargs == b.kwargs and
            all(_same(x, y, depth - 1) for x, y in zip(a.args, b.args)))


def _over_root(node):
    """(x, y, eps) of x / sqrt(y + eps), however it is written, else None."""
    if len(node.args) < 2:
        return None
    if name_of(node) in ("div", "true_divide"):
        x, root = node.args[0], _is(node.args[1], "sqrt")
    else:
        pair = _either(node, lambda x: True, lambda r: name_of(r) == "rsqrt" or name_of(r) == "pow" and r.args[1] == -0.5)
        x, root = pair or (None, None)
    shifted = _is(root.args[0], "add") if root is not None else None
    if shifted is None or not isinstance(x, torch.fx.Node) or not isinstance(shifted.args[1], (int, float)):
        return None
    return strip(x), strip(shifted.args[0]), shifted.args[1]


def _over_last(call, node):
    """Is the node a mean, or a variance, over the last dimension?"""
    dims = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
    return dims in (-1, [-1], [len(call.out()[0]) - 1])


def _square_of(node):
    """What a node is the square of, else None."""
    node = strip(node)
    if name_of(node) == "pow" and node.args[1] == 2 or name_of(node) == "square":
        return strip(node.args[0])
    return strip(node.args[0]) if name_of(node) == "mul" and _same(*node.args[:2]) else None


def written_norm(call, *_):
    """x / sqrt(mean(x^2) + eps) is an rms_norm; (x - mean(x)) / sqrt(var(x) + eps) a layer_norm."""
    found = _over_root(call.node)
    if not found or name_of(found[1]) not in ("mean", "var") or not _over_last(call, found[1]):
        return None
    x, spread, eps = found
    mean = strip(x.args[1]) if name_of(x) == "sub" and isinstance(x.args[1], torch.fx.Node) else None
    centre = strip(x.args[0]) if mean is not None and name_of(mean) == "mean" and _over_last(call, mean) else None
    if name_of(spread) == "mean":
        squared = _square_of(spread.args[0])
        if squared is None or not _same(squared, x):
            return None
    elif not (centre is not None and _same(spread.args[0], centre) and _biased(spread)):
        return None
    is_layer_norm = centre is not None and _same(mean.args[0], centre)
    if name_of(spread) == "var" and not is_layer_norm:
        return None
    from .layers import norm
    x = centre if is_layer_norm else x
    value = call.tensor(call.t.value(x))
    return written(call, norm(call, "layer_norm" if is_layer_norm else "rms_norm", value, value.size[-1:], [None], eps), x)


def _biased(var):
    """Is a variance divided by the number of elements?"""
    if "correction" in var.kwargs:
        return var.kwargs["correction"] == 0
    return len(var.args) > 2 and var.args[2] is False


def norm_weight(call, x, y):
    """The weight of a norm, which is written after it."""
    return _norm_param(call, x, y, 1)


def norm_bias(call, x, y):
    """The bias of a layer_norm, which is written after its weight."""
    return _norm_param(call, x, y, 2)


def _norm_param(call, x, y, at):
    """Make a parameter that is multiplied by what a norm gives, or added to it, the norm's input number `at`."""
    kinds = ("rms_norm", "layer_norm") if at == 1 else ("layer_norm",)
    for w, value in ((x, y), (y, x)):
        if not (isinstance(w, Tensor) and isinstance(value, Tensor) and w.plain() and w.base in call.graph.params):
            continue
        writer = call.graph.writer(value)
        if (writer and writer.kind in kinds and len(writer.inputs) == at and w.size == value.size[-1:] and
                value.shape[-1:] == w.size and value.whole() and not call.graph.read(value.base)):
            writer.inputs.append(w.base)
            return written(call, value, writer.begin) if writer.begin is not None else value
    return None


STEPS = {"mul", "add", "sub", "rsub", "div", "true_divide", "neg", "tanh", "sigmoid", "exp", "erf", "pow", "square", "reciprocal", "clamp", "clamp_min",
         "clamp_max", "relu", "relu6", "hardtanh", "hardsigmoid"}
MOST_STEPS = 12
ACTIVATIONS = {"gelu": torch.nn.functional.gelu, "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
               "silu": torch.nn.functional.silu, "hard_swish": torch.nn.functional.hardswish}


def activation(call, *_):
    """A function of the elements of one tensor that is written out step by step and has the values of an operator of ours."""
    inside, border = [], {call.node}
    while border and len(inside) < MOST_STEPS:
        node = max(border)
        if name_of(node) not in STEPS and name_of(node) not in CASTS or node in call.t.host.values or _is_in_place(node):
            return None
        border.remove(node)
        inside.append(node)
        border.update(n for n in node.all_input_nodes if _number(call, n) is None)
        kind = _kind_of(call, inside[::-1], *border) if len(border) == 1 and len(inside) > 1 else None
        if kind:
            from .elementwise import unary
            x = border.pop()
            return written(call, unary(call, kind, call.t.value(x)), x)
    return None


def _is_in_place(node):
    return getattr(getattr(node.target, "_schema", None), "is_mutable", False)


def _number(call, node):
    """The tensor of one number, or the number, that a node is beforehand, else None."""
    value = call.t.host.values.get(node)
    if isinstance(value, torch.Tensor):
        return value.double().reshape(()) if value.numel() == 1 and not call.t.host.is_data(value) else None
    return value if isinstance(value, (int, float)) else None


def _kind_of(call, nodes, x):
    """Our operator that has the values of nodes as a function of x, else None."""
    points = torch.linspace(-8, 8, 65, dtype=torch.float64)
    values = {x: points}
    for node in nodes:
        args, kwargs = (torch.fx.map_arg(a, lambda n: values[n] if n in values else _number(call, n)) for a in (node.args, node.kwargs))
        values[node] = args[0] if name_of(node) in CASTS else node.target(*args, **kwargs)
    y = values[nodes[-1]]
    return next((kind for kind, function in ACTIVATIONS.items() if call.has(kind) and torch.allclose(y, function(points), rtol=1e-6, atol=1e-6)), None)


def row_dropout(call, x, y):
    """A factor drawn for each sample (stochastic depth): planned as dropout."""
    if len(call.node.args) < 2:
        return None
    for node, other in (call.node.args[:2], call.node.args[1::-1]):
        kept = _kept_share(node)
        if kept is None:
            continue
        scaled = strip(other)
        if name_of(scaled) == "div" and scaled.args[1] == kept:  # dropout divides by it, too
            other = scaled.args[0]
        from .elementwise import unary
        call.graph.note("a factor drawn for each sample is planned as dropout", call.where.path)
        return unary(call, "dropout", call.t.value(other), rate=1 - kept)
    return None


def _kept_share(at):
    """The share of samples for which a factor that is drawn is not 0: bernoulli(share), or floor(share + rand); else None."""
    kept, rounded = None, False
    while name_of(at) in ("div", "bernoulli", "expand", "empty", "mul", "clone", "to", "floor", "add", "rand"):
        name = name_of(at)
        nodes = [a for a in at.args if isinstance(a, torch.fx.Node)]
        if name == "rand":
            return kept if rounded else None
        if name == "bernoulli" and len(at.args) > 1:
            kept = at.args[1]
        elif name == "add" and rounded:
            kept = next((a for a in at.args[:2] if isinstance(a, float)), None)
        rounded |= name == "floor"
        if not nodes or name == "bernoulli":
            break
        at = nodes[0]
    return kept if isinstance(kept, float) and not rounded else None


def rope(call):
    """x cos + rotate(x) sin, where rotate is [-second half, first half], and the tables are those of one theta."""
    if len(call.node.args) < 2 or not all(name_of(strip(a)) == "mul" for a in call.node.args[:2]):
        return None
    for first, second in (call.node.args[:2], call.node.args[1::-1]):
        found = _rotated(call, strip(first), strip(second))
        if found:
            x, cos, sin = found
            return written(call, _emit_rope(call, call.tensor(call.t.value(x)), cos, sin), x)
    return None


def _table(call, node):
    """A table that is known, one for all samples, without rounding to a type of fewer digits."""
    value = call.t.host.values.get(strip(node))
    if not isinstance(value, torch.Tensor) or call.t.host.is_data(value):
        return None
    return _unrounded(call.t.host.values, strip(node))


def _unrounded(values, node):
    """A known value as it is where casts to types of fewer digits than fp32 are left out."""
    value, node = values[node], strip(node)
    is_low = isinstance(value, torch.Tensor) and value.is_floating_point() and torch.finfo(value.dtype).bits < 32
    if not is_low or node.op != "call_function" or getattr(getattr(node.target, "_schema", None), "is_mutable", False):
        return values[node]
    args, kwargs = (torch.fx.map_arg(a, lambda n: _unrounded(values, n)) for a in (node.args, node.kwargs))
    return node.target(*args, **kwargs)


def _rotated(call, plain, turned):
    """(x, cos, sin) of the two products."""
    for x, cos in (plain.args[:2], plain.args[1::-1]):
        for r, sin in (turned.args[:2], turned.args[1::-1]):
            r, x = strip(r), strip(x)
            tables = [_table(call, t) for t in (cos, sin)]
            if name_of(r) != "cat" or tables[0] is None or tables[1] is None or len(r.args[0]) != 2:
                continue
            negated, kept = (strip(a) for a in r.args[0])
            if name_of(negated) == "neg" and _half(call, kept) == (x, 0) and _half(call, negated.args[0]) == (x, 1):
                return x, tables[0], tables[1]
    return None


def _half(call, node):
    """(x, 0 or 1) of a node that is the first or the second half of x's last dimension, else None."""
    node = strip(node)
    if node.op != "call_function":
        return None
    if node.target is operator.getitem:
        cut = node.args[0]
        if name_of(cut) not in ("chunk", "split", "split_with_sizes", "tensor_split", "unbind") or len(cut.meta["val"]) != 2:
            return None
        whole, part = strip(cut.args[0]), [int(n) for n in map(call.t.host.number, node.meta["val"].shape)]
        size = list(call.t.host.shape(whole))
        return (whole, node.args[1]) if part == size[:-1] + [size[-1] // 2] and size[-1] % 2 == 0 else None
    if name_of(node) != "slice":
        return None
    whole = strip(node.args[0])
    size = call.t.host.shape(whole)
    dim, start, stop, step = (list(node.args[1:]) + [0, 0, 2 ** 62, 1][len(node.args) - 1:])[:4]
    start, stop, half = start or 0, min(2 ** 62 if stop is None else stop, size[-1]), size[-1] // 2
    if dim % len(size) != len(size) - 1 or step != 1 or size[-1] % 2 or (start, stop) not in ((0, half), (half, size[-1])):
        return None
    return whole, int(start > 0)


def rope_halves(call):
    """[a cos - b sin, b cos + a sin] of the halves a and b of x: the same, with tables of half the width."""
    parts = call.node.args[0]
    if len(parts) != 2 or (call.node.args[1:] or [0])[0] not in (-1, len(call.out()[0]) - 1):
        return None
    first, second = (strip(p) for p in parts)
    if name_of(first) != "sub" or name_of(second) != "add":
        return None
    products = [_product(call, strip(p)) for p in (*first.args[:2], *second.args[:2])]
    if None in products:
        return None
    (a, cos), (b, sin), *others = products
    if a is None or b is None or a[0] is not b[0] or (a[1], b[1]) != (0, 1):
        return None
    wanted = {(b[1], id(cos)), (a[1], id(sin))}
    if {(h[1], id(table)) for h, table in others} != wanted or any(h[0] is not a[0] for h, _ in others):
        return None
    tables = [torch.cat([t, t], -1) for t in (_table(call, cos), _table(call, sin))]
    return written(call, _emit_rope(call, call.tensor(call.t.value(a[0])), *tables), a[0])


def turns_pairs(call):
    """Is it the stack of two sums of products, or of a negated and a plain part, of every other element?"""
    parts = call.node.args[0]
    return len(parts) == 2 and len(call.node.args) > 1 and call.node.args[1] in (-1, len(call.out()[0]) - 1) and all(map(_every_other, parts))


def _every_other(node, depth=3):
    node = strip(node)
    if name_of(node) == "slice":
        return node.args[4:] == (2,)
    return depth > 0 and name_of(node) in ("add", "sub", "mul", "neg") and any(_every_other(a, depth - 1) for a in node.all_input_nodes)


def _product(call, node):
    """(half of x, table) of a product of both, else None."""
    if name_of(node) != "mul":
        return None
    for half, table in (node.args[:2], node.args[1::-1]):
        found = _half(call, half) if isinstance(half, torch.fx.Node) else None
        if found and _table(call, table) is not None:
            return found, strip(table)
    return None


def _theta(cos, sin, eps):
    """The base of the angles of two tables [t, d], or None if they are not those of a rotary embedding. The model's type, whose numbers
    next to 1 are `eps` apart, may have rounded the frequencies or the tables: of the bases that fit, the one with the fewest digits."""
    eps = max(eps, 1e-5)
    t, d = cos.shape
    cos, sin = cos.double(), sin.double()
    if t < 2 or d % 2:
        return None
    steps = torch.arange(0, d, 2).double() / d
    seen = torch.atan2(sin[1, :d // 2], cos[1, :d // 2])
    if not seen[-1] > 0:
        return None
    if d == 2:  # of one pair all bases are the same
        theta = 10000
    else:
        theta = math.exp(-(seen.log() @ steps / (steps @ steps)).item())
        bases = (float(f"{theta:.{digits}g}") for digits in range(1, 17))
        theta = next((b for b in bases if torch.allclose(b ** -steps, seen, rtol=eps, atol=eps * 1e-4)), theta)
        theta = round(theta) if theta == round(theta) else theta

    def close(frequencies, least):
        angles = torch.arange(t).double()[:, None] * torch.cat([frequencies, frequencies])
        return max((cos - angles.cos()).abs().max().item(), (sin - angles.sin()).abs().max().item()) < max(least, 3e-7 * t)
    rounded = torch.allclose(theta ** -steps, seen, rtol=eps, atol=eps * 1e-4) and close(seen, 1e-4)  # frequencies, not tables
    return theta if rounded or close(theta ** -steps, max(1e-4, eps)) else None


THETA = 10000  # the usual base, where tables have no values


def _without_values(cos, sin):
    """Are they zeros that stand for tables on meta, or sines and cosines of frequencies that are such zeros?"""
    return not sin.any() and bool((cos == cos.flatten()[0]).all()) and cos.flatten()[0].item() in (0, 1)


def _emit_rope(call, x, cos, sin):
    cos, sin = (v.reshape((1,) * (4 - v.dim()) + v.shape) for v in (cos, sin))  # dimensions that are left out are the first ones
    dims = [d for d, n in enumerate(cos.shape[1:-1], 1) if n > 1]
    if len(x.size) != 4 or cos.dim() != 4 or len(dims) != 1:
        return None
    at = dims[0]  # the positions: 1 or 2, the heads are in the other one
    tables = [v[0].select(0 if at == 2 else 1, 0) for v in (cos, sin)]
    theta = _theta(*tables, call.t.eps)
    if theta is None and call.t.unmade and _without_values(*tables):
        theta = THETA
        call.graph.note(f"tables of a rotary embedding on meta ({call.where.line}) have no values: their base is taken to be "
                        f"{THETA}; made with device='cpu', they have values while parameters stay on meta", call.where.path)
    if theta is None:
        return None
    if at == 2:
        x = call.see(x, lambda v: v.transpose(1, 2))
    n, t, heads, d = x.size
    merged = call.settle(call.reshape(x, (n, t, heads * d)))
    y = call.add("rope", [merged], {"heads": heads, "theta": theta})
    y = call.reshape(y, (n, t, heads, d))
    return call.see(y, lambda v: v.transpose(1, 2)) if at == 2 else y
