"""The table: an operator of PyTorch's and the function that writes it as operators of ours.

To add one: a function under @op in the file of its kind, or a row of a short table there. It takes the Call and PyTorch's
arguments: Tensors of the network, Known values and numbers; it returns a Tensor, or Unknown says why it cannot."""
import torch

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


def base_name(target):
    """"aten::add_.Tensor" is add, in place."""
    schema = getattr(target, "_schema", None)
    if schema is None:
        return str(target)
    name = schema.name.split("::")[-1]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def find(target):
    """The emitter of a target (None: there is none), and whether it changes its first argument."""
    schema = getattr(target, "_schema", None)
    name = base_name(target)
    in_place = schema is not None and schema.name.endswith("_") and not schema.name.endswith("__")
    return TABLE.get(name), in_place


def known(target):
    return base_name(target) in TABLE


def opaque(call, why):
    """An operator whose output's shape alone is known."""
    inputs = [call.settle(x) for x in torch.utils._pytree.tree_leaves(call.t.value((call.node.args, call.node.kwargs)))
              if isinstance(x, Tensor)]
    value = call.node.meta["val"]
    several = isinstance(value, (tuple, list))
    shape, sample = call.out(0 if several else None)
    written = list(shape)
    if sample is not None:
        written[sample] = 0
    name = str(call.node.target)
    y = call.add("opaque", inputs or [call.tensor(0.0)], {"shape": written}, shape, sample)
    call.graph.opaque.append({"name": y.base, "operator": name, "module": call.where.path, "source": call.where.line, "why": why})
    return (y,) + (None,) * (len(value) - 1) if several else y
