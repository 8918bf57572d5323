"""The table: an operator of PyTorch's and the function that writes it as operators of ours.

To add one: a function under @op in the file of its kind, or a row of a short table there. It takes the Call and PyTorch's
arguments: Tensors of the network, Known values and numbers; it returns a Tensor, or Unknown says why it cannot."""
import torch

from .functions import base_name
from .saved import saved_of
from .views import Tensor

TABLE = {}


class Unknown(Exception):
    """A form of an operator that has no row of ours: it becomes opaque."""


def op(*names):
    def enter(function):
        for name in names:
            TABLE[name] = function
        return function
    return enter


def find(target):
    """The emitter of a target (None: there is none), and whether it changes its first argument."""
    schema = getattr(target, "_schema", None)
    name = base_name(target)
    in_place = schema is not None and schema.name.endswith("_") and not schema.name.endswith("__")
    return TABLE.get(name), in_place


def known(target):
    return base_name(target) in TABLE


def opaque(call, why):
    """An operator whose outputs' shapes alone are known: one of ours for each of them."""
    given = [getattr(x, "pairs", x) for x in torch.utils._pytree.tree_leaves(call.t.value((call.node.args, call.node.kwargs)))]  # of complex numbers
    inputs = [x for x in given if isinstance(x, Tensor)]
    if not any(x.sample is not None for x in inputs):  # integers of the samples are what it depends on
        inputs += [call.tensor(x) for x in given if getattr(x, "data", None) is True]
    value = call.node.meta["val"]
    saved = saved_of([call.node], call.t.host)

    def one(i, v):
        y = opaque_of(call, inputs, *call.out(i), why, saved=(0, 0) if i else saved)
        if v.dtype in (torch.int64, torch.int32):
            call.graph.chosen[y.base] = call.where
        return y
    if not isinstance(value, (tuple, list)):
        return one(None, value)
    return tuple(one(i, v) if isinstance(v, torch.Tensor) else None for i, v in enumerate(value))


def opaque_of(call, inputs, shape, sample, why, flops=0, saved=(0, 0)):
    """One with a given shape. Its samples come first, and are as many as the batch has; a number is the mean of one for each.

    saved: numbers and bytes that autograd saves of all samples"""
    batch, inputs = call.t.batch, [_whole(call, x) for x in inputs] or [call.tensor(0.0)]
    sampled = [x for x in inputs if x.sample == 0 and x.shape[0] == batch]
    if shape == () and sampled:
        return call.add("reduce_mean", [opaque_of(call, inputs, (batch,), 0, why, flops, saved)], {"axes": [0], "keep": 0}, (), None)
    if not sampled and sample is not None:
        sampled = call.graph.samples_of(batch)
    inputs = sampled[:1] + [x for x in inputs if x is not sampled[0]] if sampled and sample is not None else inputs
    if sample is None or shape[sample] % batch:
        declared, sample = shape or (1,), None
    else:
        several = (shape[sample] // batch,) if shape[sample] > batch else ()
        declared = (batch, *shape[:sample], *several, *shape[sample + 1:])
    written = list(declared) if sample is None else [0, *declared[1:]]
    each = 1 if sample is None else batch
    counts = {"flops": flops, "saved": -(-saved[0] // each), "saved_bytes": -(-saved[1] // each)}
    y = call.add("opaque", inputs, {"shape": written, **{key: n for key, n in counts.items() if n}}, declared, None if sample is None else 0)
    call.graph.opaque.append({"name": y.base, "operator": call.operator, "module": call.where.path, "source": call.where.line, "why": why})
    if sample:
        y = call.see(y, lambda v: v.movedim(0, sample))
    return y if y.size == shape else call.reshape(y, shape)


def _whole(call, x):
    """What an unknown operator reads: a tensor in any order of its elements, but with its samples first."""
    x = Tensor(x.base, x.shape, x.sample) if x.whole() else call.settle(x)
    return call.settle(call.see(x, lambda v: v.movedim(x.sample, 0))) if x.sample else x
