"""The loss: the one that the model computes, or one chosen for its first output."""
import torch

from .export import Cannot, Host
from .table import Unknown
from .views import Tensor


def ignored(call, target, ignore_index):
    """Which labels the model itself makes up, whatever it is given, to be ignored; by element of one sample."""
    other = Host(call.t.program, *_others(call.t))
    value, changed = target.value, other.values[target.node]
    return ((value == ignore_index) & (changed == ignore_index)), bool((value == ignore_index).any())


def _others(translation):
    """The example with other integers."""
    def change(x):
        return x.flip(-1).roll(1, 0) + 1 if isinstance(x, torch.Tensor) and not x.is_floating_point() else x
    return torch.utils._pytree.tree_map(change, translation.example)


def cross_entropy(call, x, target, ignore_index=-100):
    """x [..., classes]; target: as many labels, in any shape."""
    x = call.tensor(x)
    in_order = x.whole() and not x.joined() and x.view.is_contiguous() and x.shape[-1] == x.size[-1]
    lead = Tensor(x.base, x.shape, x.sample) if in_order else x  # before [n, t] was made one dimension
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
    lead = call.settle(lead)
    dims = len(lead.shape)
    if dims > 4:
        lead = call.settle(call.reshape(lead, (lead.shape[0], -1, lead.shape[-1])))
    name = _source(target.node)
    ids = call.graph.add_input(name, lead.shape[:-1], lead.sample, True)
    call.graph.sources[ids.base] = target.node
    if stop is not None and stop - start < labels.shape[-1]:
        call.graph.kept_ids[ids.base] = (tuple(labels.shape), start, stop)
    return call.add("cross_entropy", [lead, ids], {}, (), None, name="loss")


def _source(node):
    """The input of the model that integers come from."""
    while node.op != "placeholder":
        inputs = [n for n in node.all_input_nodes if isinstance(n.meta.get("val"), torch.Tensor)]
        if not inputs:
            return "labels"
        node = inputs[-1] if inputs[0].op != "placeholder" and len(inputs) > 1 else inputs[0]
    return node.name


def finish(call, outputs, loss):
    """Name the outputs, and end the graph in a loss."""
    graph = call.graph
    outputs = [x for x in outputs if isinstance(x, Tensor)]
    if not outputs:
        raise Cannot("the model returns no tensor that it computes")
    losses = [op for op in graph.ops if op.kind in ("cross_entropy", "mse_loss")]
    if outputs[0].size == () and loss is None:
        writer = graph.writer(outputs[0])
        if writer is None or writer.kind not in ("cross_entropy", "mse_loss"):
            raise Cannot("the model's loss is no cross entropy and no mean of squares; give loss='cross_entropy' or 'mse_loss'")
        rest = [x for x in outputs[1:] if x.size]
        graph.ops = [op for op in graph.ops if op not in losses or op is writer]
    else:
        graph.ops = [op for op in graph.ops if op not in losses]
        rest = [x for x in outputs if x.size]
        choose(call, rest[0], loss)
    if rest:
        graph.outputs = [call.settle(rest[0]).base]


def choose(call, x, loss):
    """A loss for an output: labels where its last dimension (of an image: the second) is classes, else numbers."""
    dims = len(x.size)
    kind = loss or ("cross_entropy" if dims in (2, 3, 4) else "mse_loss")
    if kind == "mse_loss":
        x = call.settle(x)
        target = call.graph.add_input("target", x.shape, x.sample)
        return call.add("mse_loss", [x, target], {}, (), None, name="loss")
    x = call.settle(call.see(x, lambda v: v.movedim(1, -1)) if dims > 3 else x)
    labels = call.graph.add_input("labels", x.shape[:-1], x.sample, True)
    return call.add("cross_entropy", [x, labels], {}, (), None, name="loss")

