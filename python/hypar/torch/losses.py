"""The loss: the one that the model computes, or one chosen for its first output."""
import importlib
import sys

import torch

from .elementwise import binary, unary
from .export import Cannot, Host, keys_of
from .layers import along_last
from .functions import is_in_fp32, name_of
from .patterns import strip
from .table import Unknown, opaque_of
from .views import Tensor
from .windows import reduce


def ignored(call, target, ignore_index):
    """Which labels the model itself makes up, whatever it is given, to be ignored; by element of one sample."""
    try:
        other = Host(call.t.program, *_others(call.t))
    except (IndexError, RuntimeError):  # integers that choose elements may only be moved
        other = Host(call.t.program, *_others(call.t, 0))
    value, changed = target.value, other.values[target.node]
    return ((value == ignore_index) & (changed == ignore_index)), bool((value == ignore_index).any())


def _others(translation, more=1):
    """The example with other integers."""
    def change(x):
        return x.flip(-1).roll(1, 0) + more if isinstance(x, torch.Tensor) and not x.is_floating_point() else x
    return torch.utils._pytree.tree_map(change, translation.example)


def cross_entropy(call, x, target, ignore_index=-100):
    """x [..., classes]; target: as many labels, in any shape."""
    x = call.graph.before_cast(call.tensor(x))  # the loss counts what it converts
    lead = in_order(x)
    labels = target.value.reshape(lead.size[:-1])
    made_up, any_ignored = ignored(call, target, ignore_index)
    made_up = made_up.reshape(labels.shape)
    start, stop = 0, lead.size[-2] if len(lead.size) > 2 else None
    if made_up.any():
        columns = made_up.reshape(-1, labels.shape[-1])
        kept = [i for i in range(labels.shape[-1]) if not columns[:, i].any()]
        if labels.dim() < 2 or not kept or kept != list(range(kept[0], kept[-1] + 1)) or not (columns == columns[0]).all():
            raise Unknown("a loss that ignores labels which are not the first or last of each sample")
        start, stop = kept[0], kept[-1] + 1
        lead = call.see(lead, lambda v: v.narrow(-2, start, stop - start))
    elif any_ignored:
        n = int((target.value == ignore_index).sum())
        call.graph.notes.append(f"{n} of {target.value.numel()} labels are {ignore_index}, which the model ignores; hypar refuses samples with "
                                "such labels")
    lead = with_batch(call, call.settle(lead))
    name = _source(target.node)
    ids = call.graph.add_input(name, lead.shape[:-1], lead.sample, True)
    call.graph.sources[ids.base] = target.node
    if stop is not None and stop - start < labels.shape[-1]:
        call.graph.kept_ids[ids.base] = (tuple(labels.shape), start, stop)
    given = call.node.args[0]
    wide = call.t.loss_name or given in call.graph.wide_nodes or not call.graph.wide_nodes and is_in_fp32(given, call.t.host)  # a loss beside the model is given outputs in fp32
    return call.add("cross_entropy", [lead, ids], {} if wide else {"upcast": 0}, (), None, name="loss")


def with_batch(call, x):
    """Rows of classes [..., classes] whose first dimension is the samples, where samples and positions were one dimension."""
    if len(x.shape) > 4 or x.sample == 0 and x.shape[0] != call.t.batch:
        return call.settle(call.reshape(x, (call.t.batch, -1, x.shape[-1])))
    return x


def _source(node):
    """The input of the model that integers come from."""
    while node.op != "placeholder":
        inputs = [n for n in node.all_input_nodes if isinstance(n.meta.get("val"), torch.Tensor)]
        if not inputs:
            return "labels"
        node = inputs[-1] if inputs[0].op != "placeholder" and len(inputs) > 1 else inputs[0]
    return node.name


# What a model ends in -------------------------------------------------------------------------------------------------

LOSSES = ("cross_entropy", "mse_loss")


def function_of(loss):
    """A loss that is a function, and "MODULE:FUNCTION" by which a script can import it; None where there is none."""
    if loss is None or loss in LOSSES:
        return None, None
    if isinstance(loss, str):
        return named(loss), loss
    module, name = (getattr(loss, k, None) for k in ("__module__", "__name__"))
    known = name and module != "__main__" and getattr(sys.modules.get(module), name, None) is loss
    return loss, f"{module}:{name}" if known else None


def named(loss):
    """The function "MODULE:FUNCTION"."""
    module, _, name = loss.rpartition(":")
    found, why = None, ""
    try:
        within = importlib.import_module(module) if module else None
        found = getattr(within, name, None)
        if within is not None:
            why = f"{module}.{name} is a {type(found).__name__}; " if hasattr(within, name) else f"{module} has no '{name}'; "
    except ModuleNotFoundError as missing:
        why = f"{missing}; "
    if not callable(found):
        raise Cannot(f"loss {loss}: {why}expected cross_entropy, mse_loss, or MODULE:FUNCTION, a function of what the model returns and of the target")
    return found


def named_outputs(program, node):
    """(name, node) of what the model returns: names are keys of a dict or numbers of a tuple."""
    spec, leaves = program.call_spec.out_spec, torch.utils._pytree.tree_leaves(node.args[0])
    leaves = leaves[len(leaves) - spec.num_leaves:]
    order = torch.utils._pytree.tree_unflatten(range(len(leaves)), spec)
    paths = torch.utils._pytree.tree_flatten_with_path(order)[0]
    names = {i: ".".join(keys_of(path)) for path, i in paths}
    return [(names.get(i) or "output", x) for i, x in enumerate(leaves) if isinstance(x, torch.fx.Node)]


def finish(call, node, loss, target):
    """Name the outputs, and end the graph in a loss: the model's own, unless `loss` is one of LOSSES."""
    t, graph = call.t, call.graph
    outputs = [(name, x, t.value(x)) for name, x in named_outputs(t.program, node)]
    outputs = [row for row in outputs if isinstance(row[2], Tensor)]
    if not outputs:
        raise Cannot("the model returns no tensor that it computes")
    numbers, rest = ([row for row in outputs if (row[2].size == ()) == scalar] for scalar in (True, False))
    if numbers and loss is None:
        name, x, value = next((row for row in numbers if row[0] == "loss"), numbers[0])
        if target is not None:
            raise Cannot(f"{where_of(call, x)}: the model returns its loss (output '{name}'), and a target is given: expected no target, or a loss by "
                         "--loss NAME or MODULE:FUNCTION")
        end, how = own(call, x, value)
        graph.loss = f"{t.loss_name or f'output {name!r} of the model ({type(call)(t, strip(x)).where.line})'}: {how}"
    elif not rest:
        raise Cannot(f"the model returns numbers alone, and {loss} needs an output of more dimensions; without it the model's own loss is taken")
    else:
        name, at, x = rest[0]
        end = choose(call, name, x, loss, target, lambda: where_of(call, at))
    graph.end = end
    if rest:
        graph.outputs = [call.settle(rest[0][2]).base]
    left_out(call, numbers, loss is not None)
    left_out(call, rest, bool(numbers) or loss is not None)


def where_of(call, node):
    """The module and the line of the source that a node is of, to begin a refusal with."""
    where = type(call)(call.t, strip(node)).where
    return str(where)


def left_out(call, rest, told):
    """Heads whose parameters no loss reaches are not dropped in silence."""
    graph = call.graph
    reached = graph.reached([graph.end.name])
    for name, node, x in rest:
        own_params = sorted(p for p in graph.reached([x.base]) - reached if graph.params.get(p, {}).get("trained", p in graph.params))
        if not own_params:
            continue
        text = f"output '{name}' has {len(own_params)} parameters that the loss does not reach ('{own_params[0]}')"
        if not told:
            fixed = "" if call.t.symbolic else " (the model fixes its batch, so that samples are not followed everywhere: x.shape[0] in place of len(x) leaves it open)"
            raise Cannot(f"{where_of(call, node)}: {text}{fixed}: return the loss from the model, or give --loss MODULE:FUNCTION; --loss NAME leaves them out")
        graph.notes.append(f"{text}: they are left out")
        graph.told.update(own_params)


def choose(call, name, x, loss, target, where):
    """A loss for an output, as its target is: labels of classes, or numbers. Without a target: labels where the last dimension (of an
    image: the second) is classes, else numbers. where(): what a refusal begins with."""
    dims = len(x.size)
    shape, integers = (None, None) if target is None else (tuple(target.shape), not target.is_floating_point())
    kind = loss or ("cross_entropy" if (dims in (2, 3, 4) if target is None else integers) else "mse_loss")
    about = f"output '{name}' {list(x.size)}"
    told = "" if target is None else f" and the target {list(shape)} of {str(target.dtype)[6:]}"
    call.graph.loss = f"{kind} of {about}{told or ' and a target that is not given'}"
    if target is not None and (kind == "cross_entropy") != integers:
        wanted = "integers (labels)" if kind == "cross_entropy" else "floating-point numbers"
        raise Cannot(f"{where()}: {kind} of {about}: the target is {str(target.dtype)[6:]}, expected {wanted}")
    if kind == "mse_loss":
        if target is not None and shape != x.size:
            raise Cannot(f"{where()}: mse_loss of {about}: the target is {list(shape)}, expected the same shape; --loss MODULE:FUNCTION gives another loss")
        x = in_order(x)
        x = call.settle(x)
        numbers = call.graph.add_input("target", x.shape, x.sample)
        call.add("mse_loss", [x, numbers], {}, (), None, name="loss")
        return call.graph.ops[-1]
    x = call.settle(classes_last(call, about, x, target))
    labels = call.graph.add_input("labels", x.shape[:-1], x.sample, True)
    call.add("cross_entropy", [x, labels], {}, (), None, name="loss")
    return call.graph.ops[-1]


def in_order(x):
    """A value before its samples and positions were made one dimension, or after nothing of the kind."""
    same = x.whole() and not x.joined() and x.view.is_contiguous() and not x.view.storage_offset() and x.shape[-1] == x.size[-1]
    return Tensor(x.base, x.shape, x.sample) if same else x


def classes_last(call, about, x, target):
    """An output with its classes in the last dimension: there, or in the second one, as PyTorch has them."""
    places = (1, -1) if len(x.size) > 3 else (-1, 1)
    if target is not None:
        shape = list(target.shape)
        fits = [d for d in places if len(x.size) > 1 and shape == [n for i, n in enumerate(x.size) if i != d % len(x.size)]]
        if not fits:
            raise Cannot(f"cross_entropy of {about}: the target is {shape}, expected one label for each row of classes; "
                         "--loss MODULE:FUNCTION gives another loss")
        places = fits
        labels = target[target >= 0] if target.device.type != "meta" else target[:0]
        if labels.numel() and int(labels.max()) >= x.size[fits[0]]:
            raise Cannot(f"cross_entropy of {about}: label {int(labels.max())} is no class, expected less than {x.size[fits[0]]}")
    if places[0] == 1 and len(x.size) > 2:
        return call.see(x, lambda v: v.movedim(1, -1))
    return in_order(x)


# The model's own ------------------------------------------------------------------------------------------------------


def own(call, node, value):
    """The operator that ends the graph in the model's own loss, and how it does that."""
    graph = call.graph
    writer = graph.writer(value)
    if writer is not None and writer.kind in LOSSES:
        return writer, writer.kind
    held = {x.base for x in call.t.env.values() if isinstance(x, Tensor)}  # targets that are written out may read them again
    graph.forget([op for op in graph.ops if op.kind in LOSSES], held)
    call = type(call)(call.t, strip(node))
    try:
        parts = per_sample(call, node, 1.0)
    except (Unknown, Cannot, ValueError, TypeError, RuntimeError):
        parts = None
    total = None
    for part in parts or []:
        total = part if total is None else binary(call, "add", total, part)
    if total is not None and not_negative(graph, total.base):
        total = call.settle(call.reshape(total, (call.t.batch, 1)))
        total = unary(call, "clip", total, min=1e-30, max=1e30)  # whose root has a gradient
        root, how = unary(call, "sqrt", total), "written out"
    else:
        how = "opaque"
        root = opaque_loss(call, [total] if total is not None else with_samples(call, node))
    graph.own_loss = True
    zero = graph.add_constant("loss.zero", torch.zeros(1, 1), False)
    zero = Tensor(zero.base, (1, 1), None, zero.view.expand(root.shape), grows=call.t.batch)
    call.add("mse_loss", [root, call.settle(zero)], {}, (), None, name="loss")
    return graph.ops[-1], how


def opaque_loss(call, inputs):
    """The root of each sample's part of a loss that is not known, so that a mean of squares is that loss."""
    why = "a loss that is no cross entropy, no mean of squares and no mean of what is 0 or more: plans have it, 'hypar train' does not"
    return opaque_of(call, inputs, (call.t.batch, 1), 0, why)


def with_samples(call, node):
    """What the network computes, or is given, nearest to a loss, that still has its samples; and parameters on the way that these do not depend on."""
    found, params, left, seen = [], {}, [node], set()
    while left:
        n = left.pop()
        if n in seen:
            continue
        seen.add(n)
        value = call.t.env.get(n)
        tensors = [v for v in (value if isinstance(value, (tuple, list)) else [value]) if isinstance(v, Tensor)]
        if tensors and all(v.size != () and v.sample is not None for v in tensors):
            found += [call.settle(v) for v in tensors]
        else:
            params.update(dict.fromkeys(v.base for v in tensors if v.base in call.graph.params))
            left += n.all_input_nodes
    if not found:
        raise Cannot("the model's loss does not depend on its samples")
    reached = call.graph.reached([v.base for v in found])
    return [*found[::-1], *(call.graph.tensor(name) for name in params if name not in reached)]


def per_sample(call, node, factor):
    """The parts of a loss, one number for each sample [n], whose sum has the loss as its mean."""
    node = strip(node)
    name = name_of(node)
    call = type(call)(call.t, node)
    args = node.args
    numbers = [call.t.host.values.get(a) if isinstance(a, torch.fx.Node) else a for a in args[:2]]
    numbers = [n.item() if isinstance(n, torch.Tensor) and n.numel() == 1 and not call.t.host.is_data(n) else n for n in numbers]
    is_number = [isinstance(n, (int, float)) and not isinstance(n, bool) for n in numbers]
    if name in ("add", "sub") and node.kwargs.get("alpha", 1) == 1 and not any(is_number):
        return per_sample(call, args[0], factor) + per_sample(call, args[1], factor if name == "add" else -factor)
    if name == "neg":
        return per_sample(call, args[0], -factor)
    if name in ("mul", "div") and any(is_number[:2]) and not (name == "div" and is_number[0]):
        at = is_number.index(True)
        return per_sample(call, args[1 - at], factor * (numbers[at] if name == "mul" else 1 / numbers[at]))
    return [mean_of(call, values, factor * by) for values, by in elements(call, node, name)]


def elements(call, node, name):
    """[(values, factor)]: a mean over all elements of each, times its factor, and their sum are what a node is."""
    bound = bound_of(node, call.t)
    if name == "mean" and bound.get("dim") in (None, []) or name == "mean" and len(bound["dim"]) == len(call.tensor(bound["self"]).size):
        return [(call.tensor(bound["self"]), 1.0)]
    if bound.get("reduction", 1) != 1 or bound.get("weight") is not None or bound.get("pos_weight") is not None:
        raise Unknown("a loss with weights, or that is no mean")
    if name == "mse_loss":
        apart = binary(call, "sub", bound["self"], bound["target"])
        return [(binary(call, "mul", apart, apart), 1.0)]
    if name in ("cross_entropy_loss", "nll_loss_nd", "nll_loss"):
        return likelihood(call, bound, name == "cross_entropy_loss")
    if name in PAIRS:
        return [(of_pairs(call, name, bound), 1.0)]
    raise Unknown(f"a loss by {name}")


def bound_of(node, t):
    """The arguments of a node by the names of its schema, with their values."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        raise Unknown("no operator")
    named = {a.name: a.default_value for a in schema.arguments if a.has_default_value()}
    named.update({a.name: value for a, value in zip(schema.arguments, t.value(node.args))})
    return {**named, **t.value(node.kwargs)}


def likelihood(call, bound, logits):
    """Cross entropy written out: what its labels have of the logarithms, and of label smoothing the mean of all."""
    x, target, smoothing = call.tensor(bound["self"]), bound["target"], bound.get("label_smoothing", 0.0)
    if isinstance(target, Tensor) or bool((target.value == bound["ignore_index"]).any()):
        raise Unknown("a cross entropy of probabilities, or that ignores labels")
    x = call.see(x, lambda v: v.movedim(1, -1)) if len(x.size) > 2 else in_order(x)
    logs = along_last(call, "log_softmax", x, -1) if logits else x
    rows = logs = with_batch(call, call.settle(in_order(logs)))
    ids = call.graph.add_input(_source(target.node), rows.shape[:-1] + (1,), rows.sample, True)
    call.graph.sources[ids.base] = target.node
    picked = call.add("gather_elements", [rows, ids], {"axis": len(rows.shape) - 1}, ids.shape, ids.sample)
    parts = [(picked, smoothing - 1.0)]
    return parts + [(logs, -smoothing)] if smoothing else parts


def mean_of(call, x, factor):
    """Of each sample, the mean over all else, times a factor."""
    x = call.settle(x)
    if x.sample is None or x.shape[x.sample] != call.t.batch:
        raise Unknown("a part of a loss without samples")
    if len(x.shape) > 1:
        x = reduce(call, "reduce_mean", x, [d for d in range(len(x.shape)) if d != x.sample], False)
    return x if factor == 1 else unary(call, "affine", x, alpha=factor)


def logits_entropy(call, x, target):
    """log(1 + exp(x)) - x t, which is 0 or more for t from 0 to 1."""
    y = binary(call, "sub", unary(call, "softplus", x), binary(call, "mul", x, target))
    call.graph.not_negative.add(y.base)
    return y


def plain_entropy(call, x, target):
    """-t log(x) - (1 - t) log(1 - x)."""
    rest = [unary(call, "affine", v, alpha=-1, beta=1) for v in (x, target)]
    y = binary(call, "add", binary(call, "mul", target, unary(call, "log", x)), binary(call, "mul", rest[1], unary(call, "log", rest[0])))
    y = unary(call, "affine", y, alpha=-1)
    call.graph.not_negative.add(y.base)
    return y


def huber(call, x, target, delta=1.0):
    """m (|d| - m / 2) of the difference d, where m = min(|d|, delta)."""
    apart = unary(call, "abs", binary(call, "sub", x, target))
    least = unary(call, "clip", apart, min=0, max=delta)
    y = binary(call, "mul", least, binary(call, "sub", apart, unary(call, "affine", least, alpha=0.5)))
    call.graph.not_negative.add(y.base)
    return y


def smooth_l1(call, x, target, beta=1.0):
    """|d| - beta / 2, or d^2 / (2 beta) where |d| is less than beta."""
    if not beta:
        return unary(call, "abs", binary(call, "sub", x, target))
    y = huber(call, x, target, beta)
    return y if beta == 1 else unary(call, "affine", y, alpha=1 / beta)


PAIRS = {"binary_cross_entropy_with_logits": logits_entropy, "binary_cross_entropy": plain_entropy, "huber_loss": huber, "smooth_l1_loss": smooth_l1}
KEEP_SIGN = ("identity", "reduce_mean", "reduce_sum", "reduce_max", "reshape", "slice", "transpose", "expand", "gather_elements", "concat", "clip", "add")


def of_pairs(call, name, bound):
    """The loss of each output and its target, by a row of PAIRS."""
    more = {key: bound[key] for key in ("delta", "beta") if key in bound}
    return PAIRS[name](call, bound["self"], bound["target"], **more)


POSITIVE = ("abs", "exp", "relu", "sigmoid", "softmax", "softplus", "sqrt", "hard_sigmoid")


def not_negative(graph, name, sign=1):
    """Is every element of a tensor times `sign` 0 or more, whatever the network is given?"""
    op = graph.writer_of(name)
    if op is None or name in graph.not_negative:
        return op is not None and sign > 0
    if op.kind == "mul":
        return sign > 0 and (op.inputs[0] == op.inputs[1] or all(not_negative(graph, i) for i in op.inputs))
    if op.kind == "affine":
        alpha, beta = op.attrs.get("alpha", 1) * sign, op.attrs.get("beta", 0) * sign
        return beta >= 0 and not_negative(graph, op.inputs[0], 1 if alpha >= 0 else -1)
    if op.kind == "clip" and sign > 0 and op.attrs["min"] >= 0:
        return True
    if op.kind in KEEP_SIGN:
        operands = op.inputs[:1] if op.kind == "gather_elements" else op.inputs
        return all(not_negative(graph, i, sign) for i in operands)
    return op.kind in (POSITIVE if sign > 0 else ("log_softmax",))
