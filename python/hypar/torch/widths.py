"""Which tensors a model itself casts to fp32 where its parameters are in 16 bits: told by a second trace, in bf16."""
import contextlib
import difflib
from typing import NamedTuple

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._pytree import tree_leaves

from .functions import CASTS, name_of

SHORT = torch.bfloat16


class Widths(NamedTuple):
    """What a program is where the parameters are in 16 bits."""
    wide: frozenset = frozenset()  # nodes of the program whose values are in fp32 there
    twin: dict = {}  # by node of the program: its like in the program in 16 bits
    host: object = None  # the values that are known there


@contextlib.contextmanager
def in_16_bits(model, buffers):
    """The model, for as long, with parameters in bf16 that have no values; `buffers`: with buffers in bf16, too. Yields a function that
    makes a tensor one of bf16."""
    kept = [(m, dict(m._parameters), dict(m._buffers)) for m in model.modules()]
    mode, made = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True), {}

    def parameter(p):
        if id(p) not in made:
            with mode:
                value = torch.empty(p.shape, dtype=SHORT if p.is_floating_point() else p.dtype)
                made[id(p)] = torch.nn.Parameter(value, p.requires_grad)
        return made[id(p)]

    def narrow(x):
        return x.to(SHORT) if isinstance(x, torch.Tensor) and x.is_floating_point() else x
    try:
        for module, parameters, own in kept:
            module._parameters.update({name: parameter(p) for name, p in parameters.items() if p is not None})
            if buffers:
                module._buffers.update({name: narrow(b) for name, b in own.items()})
        yield narrow
    finally:
        for module, parameters, own in kept:
            module._parameters.update(parameters)
            module._buffers.update(own)


def _floats(program, known):
    """Nodes that compute floating-point numbers, without casts and what is known beforehand."""
    return [n for n in program.graph.nodes if n.op == "call_function" and n not in known and name_of(n) not in CASTS and
            any(isinstance(x, torch.Tensor) and x.is_floating_point() for x in tree_leaves(n.meta.get("val")))]


def _is_wide(node):
    return any(isinstance(x, torch.Tensor) and x.dtype == torch.float32 for x in tree_leaves(node.meta.get("val")))


def _inputs(node):
    """The tensors that a node reads, in order, an argument that is there twice twice."""
    return [a for a in tree_leaves((node.args, node.kwargs)) if isinstance(a, torch.fx.Node) and isinstance(a.meta.get("val"), torch.Tensor)]


def widths(program, short, known, host):
    """Of a program and the same one in 16 bits (`short`, with its Host). A cast, or a node without its like, gives what its readers' likes
    read; if these are not known, a cast gives what a reader without its like gives (a slice of everything, which is none in the other
    program), and any other node is as wide as the widest of its inputs.

    known: values of the program that need no network, by node"""
    nodes, others = _floats(program, known), _floats(short, host.values)
    names = [[name_of(n) or str(n.target) for n in of] for of in (nodes, others)]
    twin = dict(zip(nodes, others)) if names[0] == names[1] else {}
    for a, b, n in () if twin else difflib.SequenceMatcher(None, *names, autojunk=False).get_matching_blocks():
        twin.update(zip(nodes[a:a + n], others[b:b + n]))
    wide = {}
    for node, other in twin.items():
        wide[node] = _is_wide(other)
        read, like = _inputs(node), _inputs(other)
        for x, y in zip(read, like) if len(read) == len(like) else ():
            if x.op == "call_function" and (name_of(x) in CASTS or x not in twin):
                wide[x] = _is_wide(y)
    for node in reversed(program.graph.nodes):
        readers = [wide[u] for u in node.users if u in wide and u not in twin]
        if node.op == "call_function" and name_of(node) in CASTS and node not in wide and readers:
            wide[node] = any(readers)
    for node in program.graph.nodes:
        if node.op == "call_function" and node not in known and node not in wide:
            wide[node] = any(wide.get(a, False) for a in node.all_input_nodes)
    return Widths(frozenset(node for node, is_wide in wide.items() if is_wide), twin, host)
