"""LSTM and GRU: layers and directions one after another."""
from .functions import base_name
from .table import Unknown, op
from .views import Tensor


@op("lstm", "gru")
def recurrent(call, x, states, weights, biases, layers, dropout_rate, train, both, batch_first):
    """Layers and directions one after another; PyTorch's parameters as [gates, width, inputs]."""
    kind = base_name(call.node.target)
    if not call.has(kind):
        raise Unknown(f"this hypar has no '{kind}'")
    gates, lstm = (4, True) if kind == "lstm" else (3, False)
    x = call.tensor(x)
    if not batch_first:
        x = call.see(x, lambda v: v.transpose(0, 1))
    states = states if isinstance(states, (tuple, list)) else [states]
    weights, directions = list(weights), 2 if both else 1
    last = [[] for _ in states]
    for layer in range(layers):
        outs = []
        x = call.settle(x)
        for direction in range(directions):
            at = layer * directions + direction
            params = [gate_param(call, weights.pop(0), gates) for _ in range(4 if biases else 2)]
            first = [None if is_zero(s) else call.settle(call.see(s, lambda v: v.select(0, at))) for s in states]
            k = params[1].shape[2]
            shapes = [x.shape[:2] + (k,)] + [(x.shape[0], k)] * (2 if lstm else 1)
            name = call.where.path + (f".l{layer}" if layers > 1 else "") + (".reverse" if direction else "")
            y = call.graph.add(kind, [x] + first + params, {"reverse": direction}, shapes, 0, call.where.path, call.leaf,
                               name or kind, ("h", "z") if lstm else ("h",))
            outs.append(y[0])
            for kept, out in zip(last, y[1:]):
                kept.append(out)
        x = outs[0]
        if both:
            shape = x.shape[:2] + (sum(o.shape[2] for o in outs),)
            x = call.add("concat", outs, {"axis": 2}, shape, 0)
        if dropout_rate and train and layer + 1 < layers:
            x = call.add("dropout", [x], {"rate": dropout_rate})
    if batch_first:
        call.graph.steps_first.add(x.base)
    else:
        x = call.see(x, lambda v: v.transpose(0, 1))
    return [x] + [stacked(call, kept) for kept in last]


def gate_param(call, w, gates):
    """A parameter of all gates, declared as [gates, width, ...]."""
    shape = (gates, w.size[0] // gates) + w.size[1:]
    declared = call.graph.params.get(w.base)
    if declared is None or not w.plain():
        return call.settle(call.reshape(w, shape))
    declared["shape"] = list(shape)
    call.graph.shapes[w.base] = shape
    return Tensor(w.base, shape, None)


def is_zero(state):
    return not isinstance(state, Tensor) and not bool(state.value.any())


def stacked(call, parts):
    parts = [call.settle(call.see(p, lambda v: v.unsqueeze(0))) for p in parts]
    if len(parts) == 1:
        return parts[0]
    return call.add("concat", parts, {"axis": 0}, (len(parts),) + parts[0].shape[1:], 1)
