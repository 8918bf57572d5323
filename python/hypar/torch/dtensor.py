"""Which functions of a network PyTorch's DTensor has no rule for: a tensor split of the network would fail there."""
import contextlib
import re

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor.experimental import implicit_replication
from torch.export.graph_signature import InputKind
from torch.nn.attention import SDPBackend, sdpa_kernel

from .export import quiet

NO_RULE = re.compile(r"Operator (\S+) does not have a sharding strategy registered")


def without_rule(program, host):
    """{function: node}: the first node for which DTensor lacks the function, forward or backward. Each kind of node that depends on a
    parameter is run once, on tensors without memory that one process has whole. What `host` knows the script computes on plain tensors."""
    given = {s.arg.name for s in program.graph_signature.input_specs if s.kind == InputKind.PARAMETER}
    touched, tried, found = set(), set(), {}
    mesh = DeviceMesh("cpu", [0], _init_backend=False, _rank=0)
    with quiet(), FakeTensorMode(), sdpa_kernel(SDPBackend.MATH), implicit_replication():
        for node in program.graph.nodes:
            if node.name in given or node not in host.values and touched.intersection(node.all_input_nodes):
                touched.add(node)
            if node not in touched or not isinstance(node.target, torch._ops.OpOverload) or node.meta.get("val") is None:  # a check
                continue
            kind = kind_of(node)
            if kind not in tried:
                tried.add(kind)
                function = lacking(node, mesh, host)
                found.setdefault(function, node)
    found.pop(None, None)
    return found


def kind_of(node):
    """Nodes of one kind run the same functions: tensors differ in their sizes alone."""
    def kind(n):
        value = n.meta.get("val")
        return f"{value.dtype} {value.dim()}" if isinstance(value, torch.Tensor) else "number"
    return str(node.target), str(torch.fx.map_arg((node.args, node.kwargs), lambda n: kind(n)))


def lacking(node, mesh, host):
    """The function that DTensor has no rule for when it runs a node, or None."""
    def value(n):
        made = n.meta.get("val")
        if not isinstance(made, torch.Tensor):
            return host.number(made) if n not in host.values else host.values[n]
        x = torch.empty(host.shape(n), dtype=made.dtype)
        x = DTensor.from_local(x, mesh, [Replicate()], run_check=False)
        return x.detach().requires_grad_() * 1 if made.dtype.is_floating_point else x
    try:
        args, kwargs = (torch.fx.map_arg(x, value) for x in (node.args, node.kwargs))
        out = torch.utils._pytree.tree_leaves(node.target(*args, **kwargs))
        ends = [x.sum() for x in out if isinstance(x, torch.Tensor) and x.requires_grad]
        if ends:
            sum(ends).backward()
    except NotImplementedError as why:
        no_rule = NO_RULE.search(str(why))
        return no_rule and no_rule[1]
    except Exception:  # of whatever kind: without values and processes not every function runs
        return None
    return None
