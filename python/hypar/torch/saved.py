"""What PyTorch saves for the backward half of operators that are one opaque operator here."""
import math

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves, tree_map


def saved_of(nodes, host):
    """Of nodes that follow one another: floating-point numbers, and bytes of all else, that autograd saves beside what is read from outside
    and what others read of them. The nodes run on tensors without values."""
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        try:
            return _run(nodes, host, mode)
        except Exception:  # of whatever kind: nothing is counted, as of all that has no values
            return 0, 0


def _run(nodes, host, mode):
    env, saved = {}, {}

    def made(x):
        if not isinstance(x, torch.Tensor):
            return host.number(x)
        x = torch.empty([int(host.number(n)) for n in x.shape], dtype=x.dtype)
        return x.requires_grad_().clone() if x.is_floating_point() else x  # a leaf could not be changed in place

    def value(node):
        if node not in env:
            known = host.values.get(node)
            env[node] = tree_map(lambda x: mode.from_tensor(x) if isinstance(x, torch.Tensor) else x, known) if known is not None \
                else tree_map(made, node.meta["val"])
        return env[node]

    def pack(x):
        saved[storage(x)] = x
        return x
    given = [value(a) for node in nodes for a in node.all_input_nodes if a not in nodes]
    outside = {storage(x) for x in tree_leaves(given) if isinstance(x, torch.Tensor)}
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        for node in nodes:
            env[node] = node.target(*torch.fx.map_arg(node.args, value), **torch.fx.map_arg(node.kwargs, value))
    inside = set(nodes)
    results = [env[node] for node in nodes if any(user not in inside for user in node.users)]
    outside |= {storage(x) for x in tree_leaves(results) if isinstance(x, torch.Tensor)}
    own = [x for key, x in saved.items() if key not in outside]
    size = {key: math.ceil(x.untyped_storage().nbytes() / x.itemsize) for key, x in saved.items()}
    return sum(size[storage(x)] for x in own if x.is_floating_point()), sum(x.untyped_storage().nbytes() for x in own if not x.is_floating_point())


def storage(x):
    return x.untyped_storage()._cdata
