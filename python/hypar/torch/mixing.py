"""What parts of a batch compute of a loss. Replicas and micro-batches have samples of their own, and the mean of their losses is trained. That
is the loss of all samples if each sample is computed by itself and the loss is a mean over samples; a loss that is a sum over samples is this
mean times the number of parts; where samples are mixed, it is another loss."""
import math
import operator

import torch

from .losses import named_outputs
from .orders import MIXED, Orders, argument
from .functions import name_of

# Of a result that has lost its samples, what a mean over replicas may go through.
LINEAR = {"add", "sub", "neg", "sum", "mean", "stack", "cat", "view", "reshape", "squeeze", "unsqueeze", "select", "clone", "to", "_to_copy", "detach", "alias",
          "contiguous", "float", "type_as", "lift_fresh_copy", "flatten", "_assert_tensor_metadata"}
TERMS = {"add", "sub", "stack", "cat"}
SUMS = {"sum", "nansum", "dot", "vdot", "inner", "mm", "matmul", "bmm", "einsum", "tensordot"}
NEITHER = {"norm", "linalg_vector_norm", "linalg_norm", "std", "var", "std_mean", "var_mean", "prod", "amax", "amin", "max", "min", "logsumexp", "median"}


def mixing(program, host, own, prime=None):
    """(node, is_sum): the first node on the way to the loss that mixes samples, or None; whether the loss is a sum over samples. A node mixes
    samples if two dimensions of its result are samples (all pairs), if it goes along them (a sort whose order is not undone), if it makes one
    number of them that is neither their sum nor their mean, if it computes from these what is not linear in them, or if it adds a sum to a mean.

    own: does the model return its loss?
    prime: None where sizes have symbols; else sizes and numbers that follow from the batch are its multiples"""
    end = program.graph.output_node()
    numbers = [(name, x) for name, x in named_outputs(program, end) if own and x not in host.values and getattr(x.meta.get("val"), "shape", None) == ()]
    loss = next((x for name, x in numbers if name == "loss"), numbers[0][1] if numbers else end)
    needed = before(program, loss)
    orders = Orders(host, lambda n: follows(n, host, prime))
    kept, lost, power = set(), set(), {}  # nodes whose results have samples, or had them; power of the number of samples that a result grows by
    for node in program.graph.nodes:
        if node not in needed or node.op == "output":
            continue
        known, inputs = node in host.values, lost.intersection(node.all_input_nodes)
        with_samples = kept.intersection(node.all_input_nodes)
        n = samples(node, host, prime)
        power[node] = power_of(node, bool(with_samples) and not n, power, host, prime)
        if n:
            kept.add(node)
        if known:
            continue
        order = orders.follow(node, with_samples)
        if order == MIXED:
            return node, False
        if order and order[0] == "ends":
            continue
        if n > 1 or inputs and (n or not linear(node, inputs) or unlike(node, power, host)) or with_samples and not n and name_of(node) in NEITHER:
            return node, False
        if not n and (inputs or with_samples - host.values.keys()) and isinstance(node.meta.get("val"), (torch.Tensor, tuple, list)):
            lost.add(node)
    turned = next((a for a in end.all_input_nodes if loss is end and a in orders.of), None)
    if turned is not None:
        return orders.of[turned][1], False
    of_loss = power.get(loss, 0)
    return (None, of_loss == 1) if of_loss in (0, 1) else (loss, False)


def before(program, last):
    """The nodes that a node depends on, and it itself."""
    needed = {last}
    for node in reversed(program.graph.nodes):
        in_place = getattr(getattr(node.target, "_schema", None), "is_mutable", False)
        if node in needed or in_place and needed.intersection(node.all_input_nodes):
            needed.update([node, *node.all_input_nodes])
    return needed


def samples(node, host, prime):
    """The number of dimensions of a node's result that are samples."""
    values = node.meta.get("val")
    values = values if isinstance(values, (tuple, list)) else [values]
    return max((sum(follows(n, host, prime) for n in value.shape) for value in values if isinstance(value, torch.Tensor)), default=0)


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


def unlike(node, power, host):
    """Does a node add terms that grow otherwise with the number of samples?"""
    return name_of(node) in TERMS and len({power[x] for x in node.all_input_nodes if x not in host.values}) > 1


def power_of(node, reduced, power, host, prime):
    """The power of the number of samples that a node's result grows by: of a sum over samples, or of their number, 1.

    reduced: has the result lost the samples that its inputs have?"""
    value, name = node.meta.get("val"), name_of(node)
    if isinstance(value, (torch.SymInt, torch.SymFloat)):
        return power_of_number(value, host, prime)
    known = host.values.get(node)
    if isinstance(known, torch.Tensor) and known.numel() == 1 and not host.is_data(known):
        value = known.item()
    of_inputs = [power[a] if isinstance(a, torch.fx.Node) else power_of_number(a, host, prime) for a in node.args[:2]]
    if name == "mul":
        result = sum(of_inputs)
    elif name == "div":
        result = of_inputs[0] - of_inputs[1]
    elif known is not None or name in LINEAR or node.target is operator.getitem:
        result = next((power[a] for a in node.all_input_nodes if power[a]), power_of_number(value, host, prime))
    else:
        result = 0
    return result + (reduced and (name in SUMS or reduction_of(node) == 2))


def reduction_of(node):
    """The argument `reduction` of a loss: 0 none, 1 mean, 2 sum; None of other operators."""
    return argument(node, "reduction")


def power_of_number(x, host, prime):
    """The same of a number: of one that follows from the batch 1, of the inverse of one -1."""
    if isinstance(x, (torch.SymInt, torch.SymFloat)) and not prime:
        symbols = x.node.expr.free_symbols
        if not symbols or symbols - host.sizes.keys():
            return 0
        once, twice = (float(x.node.expr.xreplace({s: n * by for s, n in host.sizes.items()})) for by in (1 << 10, 1 << 11))
        return round(math.log2(twice / once)) if once > 0 and twice > 0 else 0
    if not prime or isinstance(x, bool) or not isinstance(x, (int, float)) or not x or not math.isfinite(x):
        return 0
    for sign, n in ((1, x), (-1, 1 / x)):
        if math.isclose(n, round(n), rel_tol=1e-6) and round(n) and round(n) % prime == 0:
            return sign
    return 0
