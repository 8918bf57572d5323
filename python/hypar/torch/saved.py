"""What PyTorch runs, and saves for the backward half, of several operators that are one operator here."""
import contextlib
import math

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from .functions import is_cast, name_of, widens


def saved_of(nodes, host, cards=False):
    """Of nodes that follow one another: floating-point numbers, and bytes of all else, that autograd saves beside what is read from outside
    and what others read of them. The nodes run on tensors without values, of processors, or of "meta", where functions that differ are those
    of cards."""
    with contextlib.nullcontext() if cards else FakeTensorMode(allow_non_fake_inputs=True) as mode:
        try:
            return _run(nodes, host, mode)
        except Exception:  # of whatever kind: nothing is counted, as of all that has no values
            return 0, 0


class _Values:
    """Tensors without values for what nodes read, and what they give: of a mode, or on "meta". kind: the type of parameters, where it is
    not the model's."""

    def __init__(self, host, mode, kind=None):
        self.host, self.mode, self.kind, self.env = host, mode, kind, {}

    def made(self, x):
        if not isinstance(x, torch.Tensor):
            return self.host.number(x)
        kind = self.kind if self.kind and x.is_floating_point() else x.dtype
        x = torch.empty([int(self.host.number(n)) for n in x.shape], dtype=kind, device=None if self.mode else "meta")
        return x.requires_grad_().clone() if x.is_floating_point() else x  # a leaf could not be changed in place

    def valueless(self, x):
        if not isinstance(x, torch.Tensor):
            return x
        return self.mode.from_tensor(x) if self.mode else x.to("meta")

    def of(self, node):
        if node not in self.env:
            known = self.host.values.get(node)
            self.env[node] = tree_map(self.valueless, known) if known is not None else tree_map(self.made, node.meta["val"])
        return self.env[node]

    def run(self, node):
        if self.kind and is_cast(node):
            x = self.of(node.args[0])
            self.env[node] = x.to(torch.float32 if widens(node, x.dtype == torch.float32) else self.kind)
        else:
            self.env[node] = node.target(*torch.fx.map_arg(node.args, self.of), **torch.fx.map_arg(node.kwargs, self.of))


def _saved(nodes, values):
    """Tensors by storage that autograd saves of nodes beside what is read from outside and what others read of them, and all that it saves."""
    saved, env = {}, values.env

    def pack(x):
        saved[storage(x)] = x
        return x
    given = [values.of(a) for node in nodes for a in node.all_input_nodes if a not in nodes]
    outside = {storage(x) for x in tree_leaves(given) if isinstance(x, torch.Tensor)}
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        for node in nodes:
            values.run(node)
    inside, results = set(nodes), []
    for node in nodes:
        readers = [user for user in node.users if user not in inside and user.meta.get("val") is not None]
        if isinstance(env[node], (tuple, list)):
            results += [env[node][user.args[1]] for user in readers if user.users]
        elif readers and not is_cast(node):  # later readers of a tensor that a trace has cast to its own type are told to read the cast
            results.append(env[node])
    outside |= {storage(x) for x in tree_leaves(results) if isinstance(x, torch.Tensor)}
    return {key: x for key, x in saved.items() if key not in outside}, saved


def _run(nodes, host, mode):
    own = _saved(nodes, _Values(host, mode))[0].values()
    return (sum(math.ceil(x.untyped_storage().nbytes() / x.itemsize) for x in own if x.is_floating_point()),
            sum(x.untyped_storage().nbytes() for x in own if not x.is_floating_point()))


def bytes_by_element(nodes, x, host, short=None):
    """Of nodes that are an operator of our own that reads x: bytes that autograd saves for each element of x, beside x itself; where the
    parameters are in fp32, and where they are in 16 bits. None: it cannot be told.

    short: the three of the same model in 16 bits; None: they are told from those in fp32"""
    found = []
    for kind in torch.float32, torch.bfloat16:
        least = kind.itemsize
        if short and found:
            (nodes, x, host), kind = short, None
        with FakeTensorMode(allow_non_fake_inputs=True) as mode:
            try:
                values = _Values(host, mode, kind)
                own, every = _saved(nodes, values)
            except Exception:  # of whatever kind, as above
                return None
            read = values.of(x)
            more = sum(t.untyped_storage().nbytes() for t in own.values()) - (0 if storage(read) in every else read.nbytes)
            last = values.env[nodes[-1]]  # a product saves it, as wide as it is; the graph has it in the type of the parameters
            if last.itemsize > least and any(name_of(user) in ("mul", "div") for user in nodes[-1].users):
                more += last.numel() * (last.itemsize - least)
            found.append(max(0, more // read.numel()))
    return tuple(found)


def storage(x):
    return x.untyped_storage()._cdata


class _Kernels(TorchDispatchMode):
    """Counts functions that compute: no views, and no memory without values."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        is_view = any(r.alias_info is not None and not r.alias_info.is_write for r in function._schema.returns)
        self.count += function.namespace == "aten" and not is_view and "empty" not in function.name()
        return function(*args, **(kwargs or {}))


def kernels_of(nodes, host):
    """How many kernels PyTorch launches for nodes that follow one another and for their backward halves, or None."""
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        try:
            values = _Values(host, mode)
            for node in nodes:
                for a in node.all_input_nodes:
                    if a not in nodes:
                        values.of(a)
            with torch.enable_grad():
                with _Kernels() as forward:
                    for node in nodes:
                        values.run(node)
                last = values.env[nodes[-1]]
                given = torch.empty_like(last)
                with _Kernels() as backward:
                    torch.autograd.backward(last, given)
            return forward.count, backward.count
        except Exception:  # of whatever kind: the operator is one kernel in each half
            return None
