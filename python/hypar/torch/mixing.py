"""Where a network mixes samples. Replicas and micro-batches have samples of their own: of all of them together, they compute the
network and its loss only where each sample is computed by itself and the loss is a mean over samples."""
import operator

import torch

from .patterns import name_of

# Of a result that has lost its samples, what a mean over replicas may go through.
LINEAR = {"add", "sub", "neg", "sum", "mean", "stack", "cat", "view", "reshape", "squeeze", "unsqueeze", "select", "clone", "to", "_to_copy", "detach", "alias",
          "contiguous", "float", "type_as", "lift_fresh_copy", "flatten", "_assert_tensor_metadata"}


def mixing(program, host, prime=None):
    """The first node that mixes samples, or None: two dimensions of its result are samples (all pairs), or it computes from a sum over
    samples what is not linear in it. Sizes have symbols, or are multiples of `prime` where they follow from the batch."""
    kept, lost = set(), set()  # nodes whose results have samples, or had them

    def samples(node):
        values = node.meta.get("val")
        values = values if isinstance(values, (tuple, list)) else [values]
        return max((sum(follows(n, host, prime) for n in value.shape) for value in values if isinstance(value, torch.Tensor)), default=0)
    for node in program.graph.nodes:
        if node in host.values or node.op == "output":
            continue
        inputs = lost.intersection(node.all_input_nodes)
        n = samples(node)
        if n > 1 or inputs and (n or not linear(node, inputs)):
            return node
        if n:
            kept.add(node)
        elif (inputs or kept.intersection(node.all_input_nodes)) and isinstance(node.meta.get("val"), (torch.Tensor, tuple, list)):
            lost.add(node)
    return None


def follows(n, host, prime):
    """Does a size follow from the batch?"""
    if prime:
        return isinstance(n, int) and n > 0 and n % prime == 0
    return isinstance(n, torch.SymInt) and bool(host.sizes.keys() & n.node.expr.free_symbols)


def linear(node, lost):
    """Is the result linear in those inputs that have lost their samples?"""
    if node.target is operator.getitem or name_of(node) in LINEAR:
        return True
    first, *rest = [a for a in node.args if isinstance(a, torch.fx.Node)] or [None]
    return name_of(node) == "mul" and len(lost) == 1 and not (first in lost and first in rest) or name_of(node) == "div" and not lost.intersection(rest) \
        and first in lost
