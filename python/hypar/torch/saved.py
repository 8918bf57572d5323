"""What PyTorch runs, and saves for the backward half, of several operators that are one operator here."""
import math

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map


def saved_of(nodes, host):
    """Of nodes that follow one another: floating-point numbers, and bytes of all else, that autograd saves beside what is read from outside
    and what others read of them. The nodes run on tensors without values."""
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        try:
            return _run(nodes, host, mode)
        except Exception:  # of whatever kind: nothing is counted, as of all that has no values
            return 0, 0


class _Values:
    """Tensors without values for what nodes read, and what they give."""

    def __init__(self, host, mode):
        self.host, self.mode, self.env = host, mode, {}

    def made(self, x):
        if not isinstance(x, torch.Tensor):
            return self.host.number(x)
        x = torch.empty([int(self.host.number(n)) for n in x.shape], dtype=x.dtype)
        return x.requires_grad_().clone() if x.is_floating_point() else x  # a leaf could not be changed in place

    def of(self, node):
        if node not in self.env:
            known = self.host.values.get(node)
            self.env[node] = tree_map(lambda x: self.mode.from_tensor(x) if isinstance(x, torch.Tensor) else x, known) if known is not None \
                else tree_map(self.made, node.meta["val"])
        return self.env[node]

    def run(self, node):
        self.env[node] = node.target(*torch.fx.map_arg(node.args, self.of), **torch.fx.map_arg(node.kwargs, self.of))


def _run(nodes, host, mode):
    values, saved = _Values(host, mode), {}
    env = values.env

    def pack(x):
        saved[storage(x)] = x
        return x
    given = [values.of(a) for node in nodes for a in node.all_input_nodes if a not in nodes]
    outside = {storage(x) for x in tree_leaves(given) if isinstance(x, torch.Tensor)}
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        for node in nodes:
            values.run(node)
    inside = set(nodes)
    results = [env[node] for node in nodes if any(user not in inside for user in node.users)]
    outside |= {storage(x) for x in tree_leaves(results) if isinstance(x, torch.Tensor)}
    own = [x for key, x in saved.items() if key not in outside]
    size = {key: math.ceil(x.untyped_storage().nbytes() / x.itemsize) for key, x in saved.items()}
    return sum(size[storage(x)] for x in own if x.is_floating_point()), sum(x.untyped_storage().nbytes() for x in own if not x.is_floating_point())


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
