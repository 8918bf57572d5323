"""Attention: one operator where its mask is none or causal, else the products and the softmax that it is made of."""
import math

import torch

from .elementwise import binary, unary
from .layers import along_last, batched
from .table import Unknown


def heads_last(call, x):
    """[n, heads, t, d] as [n, t, heads d]: where the heads came from, in most networks."""
    x = call.see(x, lambda v: v.transpose(1, 2))
    return call.settle(call.reshape(x, x.size[:2] + (x.size[2] * x.size[3],)))


def grouped(x, heads):
    """Keys or values [n, kv, t, d] before each was repeated for a group of heads."""
    if x.groups == (1, 2, 1, 1) and x.view.stride()[2] == 0:
        return x.seen(x.view.select(2, 0))
    return x


def kind_of_mask(mask, causal):
    """"none", "causal" or "other", of a mask that is known."""
    if mask is None:
        return "causal" if causal else "none"
    if not hasattr(mask, "value") or mask.data:
        return "other"
    seen = mask.value if mask.value.dtype == torch.bool else mask.value > -1e4
    plain = mask.value.dtype == torch.bool or bool(((mask.value == 0) | ~seen).all())
    if plain and bool(seen.all()):
        return "none"
    if plain and torch.equal(seen, torch.ones_like(seen).tril()):
        return "causal"
    return "other"


def emit(call, q, k, v, mask, rate, causal, scale):
    q, k, v = (call.tensor(x) for x in (q, k, v))
    form = kind_of_mask(mask, causal)
    heads, d = q.size[1], q.size[3]
    if rate:
        call.graph.notes.append(f"{call.where.path}: dropout of attention weights is left out")
    if form == "other" or len(q.size) != 4:
        return unfused(call, q, k, v, mask, scale or 1 / math.sqrt(d))
    k, v = grouped(k, heads), grouped(v, heads)
    parts = [heads_last(call, x) for x in (q, k, v)]
    attrs = {"heads": heads, "kv_heads": k.size[1], "causal": int(form == "causal")}
    if scale and abs(scale * math.sqrt(d) - 1) > 1e-9:
        attrs["scale"] = scale
    shape = (q.size[0], q.size[2], heads * v.size[3])
    y = call.add("attention", parts, attrs, shape, parts[0].sample)
    return call.see(call.reshape(y, (q.size[0], q.size[2], heads, v.size[3])), lambda x: x.transpose(1, 2))


def unfused(call, q, k, v, mask, scale):
    """Scores, a mask or bias added to them, softmax and the product with the values."""
    scores = batched(call, q, call.see(k, lambda x: x.transpose(-2, -1)))
    if scale != 1:
        scores = unary(call, "affine", scores, alpha=scale)
    if mask is not None:
        if hasattr(mask, "value") and mask.value.dtype == torch.bool:
            value = torch.zeros(mask.value.shape, dtype=torch.get_default_dtype()).masked_fill(~mask.value, -1e30)
            mask = type(mask)(value, mask.node, mask.data)
            if mask.data:
                raise Unknown("a mask that follows from the samples")
        scores = binary(call, "add", scores, mask)
    return batched(call, along_last(call, "softmax", scores, -1), v)
