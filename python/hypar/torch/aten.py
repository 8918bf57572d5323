"""All rows of the table: importing this fills it. Here are attention and the losses."""
from . import attention, elementwise, layers, losses, recurrent, shapes, windows  # noqa: F401
from .functions import base_name
from .table import Unknown, op
from .views import Tensor


@op("_assert_tensor_metadata", "_assert_scalar", "_assert_async", "sym_constrain_range_for_size", "sym_constrain_range")
def nothing(call, *args, **kwargs):
    return None


@op("scaled_dot_product_attention")
def sdpa(call, q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    return attention.emit(call, q, k, v, mask, dropout_p, is_causal, scale)


@op("cross_entropy_loss")
def cross_entropy(call, x, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    if weight is not None or reduction != 1 or label_smoothing or isinstance(target, Tensor):
        raise Unknown("a cross entropy with weights, smoothing, probabilities, or not as a mean")
    x = call.tensor(x)
    if len(x.size) > 2:
        x = call.see(x, lambda v: v.movedim(1, -1))
    return losses.cross_entropy(call, x, target, ignore_index)


@op("nll_loss_nd", "nll_loss")
def nll_loss(call, x, target, weight=None, reduction=1, ignore_index=-100):
    """Of log_softmax: the logarithm of its sum of exponentials is 0, so that cross entropy is the same."""
    return cross_entropy(call, x, target, weight, reduction, ignore_index)


@op(*losses.PAIRS)
def loss_of_pairs(call, *args, **kwargs):
    named = losses.bound_of(call.node, call.t)
    if named.get("weight") is not None or named.get("pos_weight") is not None:
        raise Unknown("a binary cross entropy with weights")
    y = losses.of_pairs(call, base_name(call.node.target), named)
    kind = {1: "reduce_mean", 2: "reduce_sum"}.get(named["reduction"])
    return windows.reduce(call, kind, y, None, False) if kind else y


@op("mse_loss")
def mse_loss(call, x, target, reduction=1):
    if reduction != 1:
        raise Unknown("squares that are not averaged")
    return call.add("mse_loss", [call.settle(x), call.settle(target)], {}, (), None, name="loss")
