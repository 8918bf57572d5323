"""Attention: one operator, whether PyTorch has it as one or a model writes out its products and its softmax.

Scores have dimensions [samples, windows, heads, queries, keys], of which those before the queries may be left out from the
left; what is added to them before the softmax (a mask, positions) is a bias, which any of them may share."""
import math

import torch

from .elementwise import binary, once, unary
from .layers import along_last, batched

HIDDEN = 1e30  # what is taken from a score that a mask hides for some samples


def heads_last(call, x):
    """[..., heads, t, d] as [..., t, heads d]: where the heads came from, in most networks."""
    x = call.see(x, lambda v: v.transpose(-3, -2))
    return call.settle(call.reshape(x, x.size[:-2] + (x.size[-2] * x.size[-1],)))


def grouped(x):
    """Keys or values [n, kv, t, d] before each was repeated for a group of heads."""
    if x.groups == (1, 2, 1, 1) and x.view.stride()[2] == 0:
        return x.seen(x.view.select(2, 0))
    if x.groups == (1, 1, 1, 1) and x.size[1] > 1 and x.view.stride()[1] == 0:  # one head for all
        return x.seen(x.view.narrow(1, 0, 1))
    return x


def kind_of_mask(value):
    """"none", "causal" or "other", of a mask that is known: what is seen, or what is added."""
    seen = value if value.dtype == torch.bool else value > -1e4
    plain = value.dtype == torch.bool or bool(((value == 0) | ~seen).all())
    if plain and bool(seen.all()):
        return "none"
    if plain and torch.equal(seen, torch.ones_like(seen).tril()):
        return "causal"
    return "other"


def added(call, mask):
    """A mask as what is added to the scores; None: nothing is."""
    if not hasattr(mask, "value") or mask.value.dtype != torch.bool:
        return call.tensor(mask)
    if mask.data:  # 1 or 0, for each sample
        return unary(call, "affine", mask, alpha=HIDDEN, beta=-HIDDEN)
    value = torch.zeros(mask.value.shape, dtype=torch.get_default_dtype()).masked_fill(~mask.value, -math.inf)
    return call.tensor(type(mask)(value, mask.node, False))


def emit(call, q, k, v, mask, rate, causal, scale):
    """PyTorch's own operator."""
    q, k, v = (call.tensor(x) for x in (q, k, v))
    biases = []
    if mask is not None:
        known = hasattr(mask, "value") and not mask.data
        kind = kind_of_mask(mask.value) if known else "other"
        causal = causal or kind == "causal"
        biases = [added(call, mask)] if kind == "other" else []
    if rate:
        note_dropout(call)
    scale = scale or 1 / math.sqrt(q.size[-1])
    shape = q.size[:-1] + k.size[-2:-1]
    lead = list(q.size[:-2])
    for b in biases:  # a mask of windows, repeated for each sample
        lead = (b.joined() and len(b.size) == len(shape) and refined(lead, b.view.shape[:sum(b.groups[:-2])])) or lead
    parts = [beside(call, b, shape, lead) for b in biases]
    y = None if None in parts else fused(call, q, k, v, lead, scale, causal, parts)
    return unfused(call, q, k, v, biases, causal, scale) if y is None else y


def note_dropout(call):
    call.graph.note("dropout of attention weights is left out", call.where.path)


def fused(call, q, k, v, lead, scale, causal, biases, cap=0):
    """The operator, where its dimensions before those of queries are seen as `lead`: biases are, q is to be, keys and values
    too, but for heads that they share. None: it has no form for this."""
    size = q.size[:-2]
    if not 1 <= len(lead) <= 3:
        return None
    if len(lead) == 1:  # one head
        lead = [lead[0], 1]
        biases = [call.reshape(b, b.size[:1] + (1,) + b.size[1:]) for b in biases]
    q, k, v = (call.reshape(x, (*lead[:-1], math.prod(x.size[:-2]) // math.prod(lead[:-1]), *x.size[-2:]))
               for x in (q, grouped(k), grouped(v)))
    heads, d, e = q.size[-3], q.size[-1], v.size[-1]
    if heads % k.size[-3] or k.size[-3] != v.size[-3]:
        return None
    parts = [heads_last(call, x) for x in (q, k, v)]
    if any(p.shape[:-2] != parts[0].shape[:-2] or p.sample not in (None, parts[0].sample) for p in parts):
        return None
    attrs = {"heads": heads, "kv_heads": k.size[-3], "causal": int(bool(causal))}
    if abs(scale * math.sqrt(d) - 1) > 1e-9:
        attrs["scale"] = scale
    if cap:
        attrs["soft_cap"] = cap
    shape = parts[0].shape[:-1] + (heads * e,)
    y = call.add("attention", parts + total(call, biases, len(q.size)), attrs, shape, parts[0].sample)
    y = call.reshape(y, shape[:-1] + (heads, e))
    y = call.see(y, lambda x: x.transpose(-3, -2))
    return y if y.size[:-2] == size else call.reshape(y, size + y.size[-2:])


def total(call, biases, dims):
    """The sum of biases, as one operand with as many dimensions as the scores; [] where there are none."""
    if not biases:
        return []
    sum_of = biases[0]
    for b in biases[1:]:
        sum_of = binary(call, "add", sum_of, b)
    sum_of = once(call, sum_of)
    return [call.settle(call.reshape(sum_of, (1,) * (dims - len(sum_of.shape)) + sum_of.shape))]


def unfused(call, q, k, v, biases, causal, scale):
    """Scores, what is added to them, softmax and the product with the values."""
    scores = batched(call, q, call.see(k, lambda x: x.transpose(-2, -1)))
    if scale != 1:
        scores = unary(call, "affine", scores, alpha=scale)
    if causal:
        hidden = torch.full(scores.size[-2:], -HIDDEN).triu(1).to(torch.get_default_dtype())
        biases = biases + [call.graph.add_constant(call.name("constant"), hidden, False)]
    for b in biases:
        scores = binary(call, "add", scores, b)
    return batched(call, along_last(call, "softmax", scores, -1), v, whole=False)


# Written out ------------------------------------------------------------------------------------------------------------


class Scores:
    """What leads to a softmax: a product [lead, queries, keys] of q and k, times `scale` and `factors` of a tensor, plus
    `biases`. Each of these is (name, shape of the scores there, scale of it). Before the biases, scores s may have become
    cap tanh(s / cap); a cap of 0 is none."""

    def __init__(self, graph, name, others=None):
        self.scale, self.cap, self.factors, self.biases = 1, 0, [], []
        self._others = set() if others is None else others  # tensors that no product leads to
        self.product = self._walk(graph, name)
        if self.product is None:
            self._others.add(name)

    def _walk(self, graph, name):
        """From the softmax back to the product, or None: all these steps leave the elements in their order."""
        while name not in graph.products:
            op = graph.writer_of(name)
            if op is None or name in self._others:
                return None
            if op.kind in ("add", "mul"):
                return self._join(graph, op)
            if op.kind == "tanh":
                return self._capped(graph, op)
            if op.kind == "affine" and not op.attrs.get("beta"):
                self.scale *= op.attrs.get("alpha", 1)
            elif op.kind not in ("reshape", "identity"):
                return None
            name = op.inputs[0]
        return graph.products[name]

    def _capped(self, graph, op):
        """a tanh(b q k): what it is multiplied by afterwards is the cap."""
        inner = Scores(graph, op.inputs[0], self._others)
        if inner.product is None or inner.biases or inner.cap or self.scale <= 0:
            return None
        self.cap, self.factors = self.scale, inner.factors
        self.scale *= inner.scale
        return inner.product

    def _join(self, graph, op):
        """One of two operands goes on to the product, the other is a bias or a factor."""
        shape = graph.shapes[op.name]
        for name, other in (op.inputs, op.inputs[::-1]):
            inner = Scores(graph, name, self._others) if graph.shapes[name] == shape else None
            if inner is None or inner.product is None or op.kind == "mul" and (inner.biases or inner.cap):
                continue
            self.biases = [(n, s, times * self.scale) for n, s, times in inner.biases]
            self.factors, self.cap = inner.factors, inner.cap * self.scale
            (self.biases if op.kind == "add" else self.factors).append((other, shape, self.scale))
            self.scale *= inner.scale
            return inner.product
        return None


def refined(lead, other):
    """Dimensions `lead` divided where `other`, which has as many elements, is; None: they do not fit together."""
    result, rest = [], [n for n in other if n > 1]
    for n in lead:
        parts = []
        while n > 1:
            if not rest:
                return None
            if n % rest[0] == 0:
                parts.append(rest.pop(0))
            elif rest[0] % n == 0:
                parts.append(n)
                rest[0] //= n
            else:
                return None
            n //= parts[-1]
        result += parts or [1]
    return None if rest else result


def shared_as(size, shape, lead):
    """The leading dimensions of what has `size` beside scores of `shape`, where those are seen as `lead`."""
    result, dims = [], list(lead)
    for n, full in zip((1,) * (len(shape) - len(size)) + tuple(size), shape):
        while full > 1:
            full //= dims[0]
            result.append(1 if n == 1 and dims[0] > 1 else dims[0])
            dims.pop(0)
    return result + dims if all(n == 1 for n in dims) else None


def recognised(call, weights, v):
    """The product of a softmax of scores and values as attention, or None: weights [lead, t, s], v [lead, s, e]."""
    graph = call.graph
    if not (weights.whole() and not weights.joined() and weights.view.is_contiguous() and not weights.view.storage_offset()):
        return None
    op, dropped = graph.writer(graph.before_cast(weights)), False
    if op is not None and op.kind == "dropout":
        op, dropped = graph.writer(graph.before_cast(graph.tensor(op.inputs[0]))), True
    if op is None or op.kind != "softmax":
        return None
    scores = Scores(graph, op.inputs[0])
    if scores.product is None or scores.product[0].size[-2] != weights.size[-2] or scores.product[1].size[-1] != weights.size[-1]:
        return None
    y = _written_out(call, scores, weights.size, v)
    if y is not None and dropped:
        note_dropout(call)
    return y


def _written_out(call, scores, size, v):
    q, k = scores.product
    k = k.seen(k.view.transpose(-2, -1), k.groups[:-2] + (k.groups[-1], k.groups[-2])) if k.groups[-2:] == (1, 1) else None
    if k is None:
        return None
    scale = scores.scale
    q, factor = unscaled(call, q)
    k, other = unscaled(call, k)
    scale *= factor * other
    lead = list(q.size[:-2])
    for name, shape, _ in scores.biases + scores.factors:
        if tuple(shape[-2:]) != tuple(size[-2:]):
            return None
        lead = lead and refined(lead, shape[:-2])
    if not lead or len(lead) > 3 or math.prod(lead) != math.prod(size[:-2]):
        return None
    for name, shape, _ in scores.factors:
        factor = beside(call, call.graph.tensor(name), shape, lead)
        if factor is None or factor.size[-2:] != (1, 1):
            return None
        q = binary(call, "mul", call.reshape(q, tuple(lead) + q.size[-2:]), factor)
    causal, biases = False, []
    for name, shape, times in scores.biases:
        constant = call.graph.constants.get(name)
        kind = "other" if constant is None else kind_of_mask(constant)
        causal = causal or kind == "causal"
        bias = beside(call, call.graph.tensor(name), shape, lead)
        if bias is None:
            return None
        if kind == "other":
            biases.append(bias if times == 1 else unary(call, "affine", bias, alpha=times))
    y = fused(call, q, k, v, lead, scale, causal, biases, scores.cap)
    return y if y is None or y.size[:-2] == tuple(size[:-2]) else call.reshape(y, tuple(size[:-2]) + y.size[-2:])


def beside(call, x, shape, lead):
    """What is added to scores of `shape` or multiplies them, beside scores [lead, t, s]."""
    padded = (1,) * (2 - len(x.size)) + x.size
    dims = shared_as(padded[:-2], shape[:-2], lead)
    return None if dims is None else call.reshape(x, tuple(dims) + tuple(padded[-2:]))


def unscaled(call, x):
    """x before it was multiplied by a number, and that number."""
    op = call.graph.writer(x)
    if op is None or op.kind != "affine" or op.attrs.get("beta") or not x.plain() or x.base not in call.graph.given:
        return x, 1
    return call.graph.given[x.base], op.attrs.get("alpha", 1)
