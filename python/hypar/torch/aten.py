"""The table: an operator of PyTorch's and the function that writes it as operators of ours.

To add one: a function under @op, or a row of one of the short tables. It takes the Call and PyTorch's arguments: Tensors
of the network, Known values and numbers; it returns a Tensor, or Unknown says why it cannot."""
import math

import torch

from . import attention, losses, patterns
from .views import Tensor

TABLE = {}


class Unknown(Exception):
    """A form of an operator that has no row of ours: it becomes opaque."""


def op(*names):
    def enter(function):
        for name in names:
            TABLE[name] = function
        return function
    return enter


def base_name(target):
    """"aten::add_.Tensor" is add, in place."""
    schema = getattr(target, "_schema", None)
    if schema is None:
        return str(target)
    name = schema.name.split("::")[-1]
    return name[:-1] if name.endswith("_") and not name.endswith("__") else name


def find(target):
    """The emitter of a target (None: there is none), and whether it changes its first argument."""
    schema = getattr(target, "_schema", None)
    name = base_name(target)
    in_place = schema is not None and schema.name.endswith("_") and not schema.name.endswith("__")
    return TABLE.get(name), in_place


def opaque(call, why):
    """An operator whose output's shape alone is known."""
    inputs = [call.settle(x) for x in torch.utils._pytree.tree_leaves(call.t.value((call.node.args, call.node.kwargs)))
              if isinstance(x, Tensor)]
    value = call.node.meta["val"]
    several = isinstance(value, (tuple, list))
    shape, sample = call.out(0 if several else None)
    written = list(shape)
    if sample is not None:
        written[sample] = 0
    name = str(call.node.target)
    y = call.add("opaque", inputs or [call.tensor(0.0)], {"shape": written}, shape, sample)
    call.graph.opaque.append({"name": y.base, "operator": name, "module": call.where.path, "source": call.where.line, "why": why})
    return (y,) + (None,) * (len(value) - 1) if several else y


# Element-wise ---------------------------------------------------------------------------------------------------------

UNARY = {"relu": "relu", "silu": "silu", "sigmoid": "sigmoid", "tanh": "tanh", "exp": "exp", "log": "log", "sqrt": "sqrt",
         "erf": "erf", "abs": "abs", "neg": "neg", "hardswish": "hard_swish", "sin": "sin", "cos": "cos"}
SAME = ("clone", "contiguous", "detach", "alias", "lift_fresh_copy", "to", "_to_copy", "type_as", "float", "double",
        "requires_grad", "lift_fresh", "_unsafe_view_same", "positive", "feature_dropout_off")


def unary(call, kind, x, **attrs):
    """Element by element; where the value is a rearrangement, before it."""
    x = call.tensor(x)
    if not call.has(kind):
        raise Unknown(f"this hypar has no '{kind}'")
    if x.whole() and not x.plain():
        y = call.add(kind, [Tensor(x.base, x.shape, x.sample)], attrs)
        return Tensor(y.base, y.shape, y.sample, x.view)
    return call.add(kind, [call.settle(x)], attrs)


for _name, _kind in UNARY.items():
    TABLE[_name] = lambda call, x, kind=_kind: unary(call, kind, x)
for _name in SAME:
    TABLE[_name] = lambda call, x, *args, **kwargs: x


@op("gelu")
def gelu(call, x, approximate="none"):
    if approximate == "none":
        return unary(call, "gelu", x)
    return gelu_tanh(call, x)


def gelu_tanh(call, x):
    if call.has("gelu_tanh"):
        return unary(call, "gelu_tanh", x)
    cube = unary(call, "affine", unary(call, "pow", x, exponent=3), alpha=0.044715)
    inner = unary(call, "affine", binary(call, "add", x, cube), alpha=math.sqrt(2 / math.pi))
    return binary(call, "mul", unary(call, "affine", x, alpha=0.5), unary(call, "affine", unary(call, "tanh", inner), beta=1))


@op("relu6")
def relu6(call, x):
    return unary(call, "clip", x, min=0, max=6)


@op("hardtanh", "clamp", "clip")
def clamp(call, x, low=None, high=None, **kwargs):
    low, high = kwargs.get("min", low), kwargs.get("max", high)
    return unary(call, "clip", x, min=-1e30 if low is None else low, max=1e30 if high is None else high)


@op("clamp_min")
def clamp_min(call, x, low):
    return clamp(call, x, low)


@op("hardsigmoid")
def hardsigmoid(call, x):
    return unary(call, "hard_sigmoid", x, alpha=1 / 6, beta=0.5)


@op("leaky_relu")
def leaky_relu(call, x, slope=0.01):
    return unary(call, "leaky_relu", x, alpha=slope)


@op("elu")
def elu(call, x, alpha=1, scale=1, input_scale=1):
    if (scale, input_scale) != (1, 1):
        raise Unknown("elu with a scale")
    return unary(call, "elu", x, alpha=alpha)


@op("softplus")
def softplus(call, x, beta=1, threshold=20):
    if beta != 1:
        raise Unknown("softplus with a beta")
    return unary(call, "softplus", x)


@op("mish")
def mish(call, x):
    return binary(call, "mul", x, unary(call, "tanh", unary(call, "softplus", x)))


@op("prelu")
def prelu(call, x, w):
    x = call.tensor(x)
    w = call.see(w, lambda v: v.view([-1] + [1] * (len(x.size) - 2)))
    below = binary(call, "mul", unary(call, "relu", unary(call, "neg", x)), w)
    return binary(call, "sub", unary(call, "relu", x), below)


@op("pow")
def power(call, x, exponent):
    if not isinstance(exponent, (int, float)):
        raise Unknown("a power that is a tensor")
    if exponent == 2:
        return binary(call, "mul", x, x)
    return unary(call, "pow", x, exponent=exponent)


@op("square")
def square(call, x):
    return binary(call, "mul", x, x)


@op("rsqrt")
def rsqrt(call, x):
    return unary(call, "pow", x, exponent=-0.5)


@op("reciprocal")
def reciprocal(call, x):
    return unary(call, "pow", x, exponent=-1)


@op("dropout", "feature_dropout", "dropout_")
def dropout(call, x, rate, train=True):
    return unary(call, "dropout", x, rate=rate) if train and rate > 0 else x


@op("native_dropout")
def native_dropout(call, x, rate, train=True):
    return dropout(call, x, rate, train), None


def number(x):
    """A number, or the one of a known tensor; None: it is neither."""
    if isinstance(x, (int, float)) and not isinstance(x, bool):
        return x
    value = getattr(x, "value", None)
    if isinstance(value, torch.Tensor) and value.numel() == 1 and not x.data:
        return value.item()
    return None


def binary(call, kind, x, y):
    """Two values with broadcasting; a number is no operand but an affine."""
    a, b = number(x), number(y)
    if b is not None and kind in ("add", "sub", "mul", "div"):
        alpha = {"mul": b, "div": 1 / b if b else math.inf}.get(kind, 1)
        beta = {"add": b, "sub": -b}.get(kind, 0)
        return call.tensor(x) if (alpha, beta) == (1, 0) else unary(call, "affine", x, alpha=alpha, beta=beta)
    if a is not None and kind in ("add", "mul"):
        return binary(call, kind, y, x)
    if a is not None and kind == "sub":
        return unary(call, "affine", y, alpha=-1, beta=a)
    if a is not None and kind == "div":
        y = unary(call, "pow", y, exponent=-1)
        return y if a == 1 else unary(call, "affine", y, alpha=a)
    x, y = call.tensor(x), call.tensor(y)
    if same_view(x, y):
        z = call.add(kind, [Tensor(x.base, x.shape, x.sample), Tensor(y.base, y.shape, y.sample)])
        return Tensor(z.base, z.shape, z.sample, x.view)
    shape = torch.broadcast_shapes(x.size, y.size)
    x, y = (once(call, v) for v in (x, y))
    sample = [v.sample + len(shape) - len(v.shape) for v in (x, y) if v.sample is not None]
    if tuple(torch.broadcast_shapes(x.shape, y.shape)) != tuple(shape):  # both are repeated along a dimension
        z = call.add(kind, [x, y], {}, torch.broadcast_shapes(x.shape, y.shape), sample[0] if sample else None)
        return Tensor(z.base, z.shape, z.sample, z.view.expand(shape), grows=call.t.batch)
    return call.add(kind, [x, y], {}, shape, sample[0] if sample else None)


def same_view(x, y):
    return (x.whole() and y.whole() and not x.plain() and x.shape == y.shape and x.view.shape == y.view.shape and
            x.view.stride() == y.view.stride() and x.sample == y.sample)


def once(call, x):
    """What is repeated along a dimension, without that: broadcasting does it."""
    if x.copied:
        return call.settle(x)
    view = x.view
    for d, (n, stride) in enumerate(zip(view.shape, view.stride())):
        if n > 1 and stride == 0:
            view = view.narrow(d, 0, 1)
    return call.settle(x.seen(view))


def scaled(call, x, alpha):
    """alpha x, for add and sub."""
    if alpha == 1:
        return x
    return x * alpha if isinstance(x, (int, float)) else unary(call, "affine", x, alpha=alpha)


@op("add", "__add__")
def add(call, x, y, alpha=1):
    return patterns.rope(call) or binary(call, "add", x, scaled(call, y, alpha))


@op("sub")
def sub(call, x, y, alpha=1):
    return binary(call, "sub", x, scaled(call, y, alpha))


@op("rsub")
def rsub(call, x, y, alpha=1):
    return binary(call, "sub", y, scaled(call, x, alpha))


@op("mul")
def mul(call, x, y):
    for pattern in (patterns.gelu_tanh, patterns.rms_norm, patterns.norm_weight, patterns.row_dropout):
        found = pattern(call, x, y)
        if found is not None:
            return found
    return binary(call, "mul", x, y)


@op("div", "true_divide")
def div(call, x, y, rounding_mode=None):
    if rounding_mode:
        raise Unknown("a division that rounds")
    return binary(call, "div", x, y)


@op("minimum")
def minimum(call, x, y):
    return binary(call, "minimum", x, y)


@op("maximum")
def maximum(call, x, y):
    return binary(call, "maximum", x, y)


@op("where")
def where(call, c, x, y):
    known = getattr(c, "value", None)
    if known is not None and not c.data:
        if bool(known.all()):
            return call.tensor(x)
        y_number = number(y)
        if y_number is not None and y_number < -1e4:  # scores that are not to be seen
            hidden = torch.zeros(known.shape, dtype=torch.get_default_dtype()).masked_fill(known == 0, -1e30)
            return binary(call, "add", x, type(c)(hidden, c.node, False))
    if not call.has("where"):
        raise Unknown("this hypar has no 'where'")
    parts = [once(call, call.tensor(v)) for v in (c, x, y)]
    shape = torch.broadcast_shapes(*(p.shape for p in parts))
    sample = [p.sample + len(shape) - len(p.shape) for p in parts if p.sample is not None]
    return call.add("where", parts, {}, shape, sample[0] if sample else None)


@op("masked_fill")
def masked_fill(call, x, mask, value):
    if hasattr(mask, "value") and not mask.data:
        return where(call, type(mask)(mask.value == 0, mask.node, False), x, value)
    return where(call, mask, value, x)


# Layers ---------------------------------------------------------------------------------------------------------------


def each(value, n):
    """A list of n from a number or a list."""
    value = [value] if isinstance(value, int) else list(value)
    return value * n if len(value) == 1 else value


@op("conv1d", "conv2d", "conv3d")
def conv(call, x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    x, w = call.settle(x), call.settle(w)
    kernel, n = list(w.shape[2:]), len(w.shape) - 2
    if n == 3 and not call.has("conv_transpose"):
        raise Unknown("a convolution in 3 dimensions")
    stride, dilation = each(stride, n), each(dilation, n)
    if isinstance(padding, str):
        total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel)]
        pad = [t // 2 for t in total] + [t - t // 2 for t in total]
    else:
        pad = each(padding, n) * 2
    attrs = {"kernel": kernel, "stride": stride, "pad": pad, "dilation": dilation}
    if groups > 1:
        attrs["groups"] = groups
    shape, sample = call.out()
    return call.add("group_conv" if groups > 1 else "conv", [x, w, b and call.settle(b)], attrs, shape, sample)


@op("convolution")
def convolution(call, x, w, b, stride, padding, dilation, transposed, output_padding, groups):
    if transposed:
        return conv_transpose(call, x, w, b, stride, padding, output_padding, groups, dilation)
    return conv(call, x, w, b, stride, padding, dilation, groups)


@op("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(call, x, w, b=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    if not call.has("conv_transpose"):
        raise Unknown("this hypar has no 'conv_transpose'")
    x, w = call.settle(x), call.settle(w)
    n = len(w.shape) - 2
    attrs = {"kernel": list(w.shape[2:]), "stride": each(stride, n), "pad": each(padding, n) * 2,
             "output_pad": each(output_padding, n), "dilation": each(dilation, n)}
    if groups > 1:
        attrs["groups"] = groups
    shape, sample = call.out()
    kind = "group_conv_transpose" if groups > 1 else "conv_transpose"
    return call.add(kind, [x, w, b and call.settle(b)], attrs, shape, sample)


def matrix(call, w):
    """A matrix [c, k] and whether its tensor has it transposed."""
    w = call.tensor(w)
    other = w.seen(w.view.t()) if not w.copied else w
    return (other, 1) if other.plain() and not w.plain() else (call.settle(w), 0)


def product(call, x, w, transposed, b=None):
    """x w + b, whatever x's dimensions are."""
    x = call.settle(x)
    k = w.shape[0] if transposed else w.shape[1]
    shape = x.shape[:-1] + (k,)
    if len(x.shape) == 1:
        x = call.settle(call.reshape(x, (1, -1)))
    elif len(x.shape) > 4:
        x = call.settle(call.reshape(x, (x.shape[0], -1, x.shape[-1])))
    y = call.add("linear", [x, w, b], {"transposed": transposed}, x.shape[:-1] + (k,), x.sample)
    return y if y.shape == shape else call.reshape(y, shape)


@op("linear")
def linear(call, x, w, b=None):
    w = call.tensor(w)
    w, turned = matrix(call, w.seen(w.view.t()) if not w.copied else w)
    return product(call, x, w, turned, b and call.settle(b))


@op("addmm")
def addmm(call, b, x, w, beta=1, alpha=1):
    if (beta, alpha) != (1, 1):
        raise Unknown("addmm with factors")
    w, turned = matrix(call, w)
    return product(call, x, w, turned, call.settle(b))


@op("matmul", "mm", "bmm")
def matmul(call, x, y):
    x, y = call.tensor(x), call.tensor(y)
    if len(y.size) == 2 and y.sample is None:
        w, turned = matrix(call, y)
        return product(call, x, w, turned)
    if len(x.size) == 2 and len(y.size) == 2:
        raise Unknown("a product of two matrices with samples")
    if len(x.size) == 2 and x.sample is None and len(y.size) == 3:  # w y, for each sample
        turned = matmul(call, call.see(y, lambda v: v.transpose(1, 2)), x.seen(x.view.t()))
        return call.see(turned, lambda v: v.transpose(1, 2))
    if len(x.size) != len(y.size) or len(x.size) < 3:
        raise Unknown(f"a product of {len(x.size)} and {len(y.size)} dimensions")
    return batched(call, x, y)


def batched(call, x, y):
    """A product for each of the leading dimensions, which may be repeated in one of them."""
    lead = list(torch.broadcast_shapes(x.size[:-2], y.size[:-2]))
    shape = lead + [x.size[-2], y.size[-1]]
    x = call.settle(x.seen(x.view.expand(lead + list(x.size[-2:]))) if x.size[:-2] != tuple(lead) else x)
    if y.size[:-2] != tuple(lead):
        y = y.seen(y.view.expand(lead + list(y.size[-2:])))
    other = y.seen(y.view.transpose(-2, -1)) if not y.copied else y
    turned = int(other.plain() or not y.copied and _cheaper(other, y))
    y = call.settle(other if turned else y)
    if len(shape) > 4:
        x, y = (call.settle(call.reshape(v, (v.shape[0], -1) + v.shape[-2:])) for v in (x, y))
    z = call.add("matmul", [x, y], {"transposed": turned}, x.shape[:-1] + (shape[-1],), x.sample)
    return z if list(z.shape) == shape else call.reshape(z, shape)


def _cheaper(other, y):
    """Does the other order of the last two dimensions leave the innermost one where it is?"""
    return other.view.stride()[-1] == 1 and y.view.stride()[-1] != 1


@op("embedding")
def embedding(call, w, ids, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    w = call.tensor(w)
    if isinstance(ids, Tensor):
        raise Unknown("ids that the network computes")
    return rows(call, w, ids)


def rows(call, w, ids):
    """Rows of a table; of known ids that follow one another, a part of it."""
    if not ids.data:
        value, shape = ids.value, ids.value.shape
        grows = call.t.grows(ids.node.meta["val"]) if call.t.symbolic else None
        if grows is not None:
            value = value.narrow(grows, 0, 1)
        flat = value.reshape(-1)
        part = None
        if bool((flat == flat[0]).all()):
            part = call.see(w, lambda v: v.narrow(0, int(flat[0]), 1).view([1] * value.dim() + [-1]).expand(list(value.shape) + [-1]))
        elif torch.equal(flat, torch.arange(int(flat[0]), int(flat[0]) + flat.numel())):
            part = call.see(w, lambda v: v.narrow(0, int(flat[0]), flat.numel()).view(list(value.shape) + [-1]))
        if part is not None:
            wanted = list(shape) + [w.size[1]]
            return Tensor(part.base, part.shape, part.sample, part.view.expand(wanted), grows=call.t.batch)
    i = call.settle(ids)
    table = call.settle(w)
    lead = i.shape
    if len(lead) not in (1, 2, 3):
        raise Unknown(f"ids of {len(lead)} dimensions")
    return call.add("embedding", [i, table], {}, lead + (table.shape[1],), i.sample)


@op("batch_norm", "_native_batch_norm_legit_functional", "native_batch_norm", "_native_batch_norm_legit")
def batch_norm(call, x, w, b, mean, variance, training, momentum, eps, *rest):
    x = call.settle(x)
    if not training:
        return frozen_norm(call, x, w, b, mean, variance, eps)
    if len(x.shape) == 5 and not call.has("conv_transpose"):
        raise Unknown("a batch norm of 5 dimensions")
    if mean is not None:
        path = w.base.rsplit(".", 1)[0] if w is not None else call.where.path
        call.graph.statistics[f"{path}.running_mean"] = mean.value
        call.graph.statistics[f"{path}.running_var"] = variance.value
    y = call.add("batch_norm", [x, w and call.settle(w), b and call.settle(b)], {"eps": eps})
    return (y, None, None, None, None) if isinstance(call.node.meta["val"], (tuple, list)) else y


def frozen_norm(call, x, w, b, mean, variance, eps):
    """A batch norm that is not trained: numbers known beforehand, and its weights."""
    wide = [-1] + [1] * (len(x.shape) - 2)
    scale = torch.rsqrt(variance.value + eps).view(wide)
    kept = [call.graph.add_constant(call.name("constant"), v, False) for v in (mean.value.view(wide), scale)]
    y = binary(call, "mul", binary(call, "sub", x, kept[0]), kept[1])
    for kind, v in (("mul", w), ("add", b)):
        if v is not None:
            y = binary(call, kind, y, call.see(v, lambda view: view.view(wide)))
    return y


@op("layer_norm")
def layer_norm(call, x, shape, w=None, b=None, eps=1e-5, cudnn=True):
    return norm(call, "layer_norm", x, shape, [w, b], eps)


@op("native_layer_norm")
def native_layer_norm(call, x, shape, w, b, eps):
    return norm(call, "layer_norm", x, shape, [w, b], eps), None, None


@op("rms_norm")
def rms_norm(call, x, shape, w=None, eps=None):
    return norm(call, "rms_norm", x, shape, [w], torch.finfo(torch.get_default_dtype()).eps if eps is None else eps)


def norm(call, kind, x, shape, weights, eps):
    """Over the last dimensions, which become one."""
    x = call.tensor(x)
    size, n = x.size, math.prod(shape)
    if len(shape) > 1 or len(size) > 4 or len(size) < 2:
        lead = size[:len(size) - len(shape)]
        lead = (lead[0], -1) if len(lead) > 3 else lead or (1,)
        x = call.reshape(x, lead + (n,))
        weights = [w and call.reshape(w, (n,)) for w in weights]
    y = call.add(kind, [call.settle(x)] + [w and call.settle(w) for w in weights], {"eps": eps})
    return y if y.shape == size else call.reshape(y, size)


@op("group_norm")
def group_norm(call, x, groups, w=None, b=None, eps=1e-5, cudnn=True):
    return call.add("group_norm", [call.settle(x), w and call.settle(w), b and call.settle(b)], {"groups": groups, "eps": eps})


@op("instance_norm")
def instance_norm(call, x, w, b, mean, variance, use_input_stats, momentum, eps, cudnn=True):
    if not use_input_stats:
        raise Unknown("an instance norm with running statistics")
    return group_norm(call, x, call.tensor(x).size[1], w, b, eps)


@op("softmax", "_softmax")
def softmax(call, x, dim, dtype=None):
    return along_last(call, "softmax", x, dim)


@op("log_softmax", "_log_softmax")
def log_softmax(call, x, dim, dtype=None):
    return along_last(call, "log_softmax", x, dim)


def along_last(call, kind, x, dim):
    """An operator over the last dimension, over another one."""
    x = call.tensor(x)
    moved = x if dim in (-1, len(x.size) - 1) else call.see(x, lambda v: v.movedim(dim, -1))
    size = moved.size
    if len(size) > 4 or len(size) < 2:
        moved = call.reshape(moved, (size[0], -1, size[-1]) if len(size) > 4 else (1, size[-1]))
    y = call.add(kind, [call.settle(moved)])
    y = y if y.shape == size else call.reshape(y, size)
    return y if moved is x else call.see(y, lambda v: v.movedim(-1, dim))


# Windows --------------------------------------------------------------------------------------------------------------


@op("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(call, x, kernel, stride=(), padding=0, dilation=1, ceil=False):
    n = len(call.tensor(x).size) - 2
    kernel = each(kernel, n)
    attrs = {"kernel": kernel, "stride": each(stride, n) if stride else kernel, "pad": each(padding, n) * 2,
             "dilation": each(dilation, n), "ceil": int(ceil)}
    shape, sample = call.out()
    return call.add("max_pool", [call.settle(x)], attrs, shape, sample)


@op("max_pool2d_with_indices")
def max_pool_with_indices(call, x, kernel, stride=(), padding=0, dilation=1, ceil=False):
    n = len(call.tensor(x).size) - 2
    kernel = each(kernel, n)
    attrs = {"kernel": kernel, "stride": each(stride, n) if stride else kernel, "pad": each(padding, n) * 2,
             "dilation": each(dilation, n), "ceil": int(ceil)}
    shape, sample = call.out(0)
    return call.add("max_pool", [call.settle(x)], attrs, shape, sample), None


@op("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(call, x, kernel, stride=(), padding=0, ceil=False, count_include_pad=True, divisor=None):
    if divisor:
        raise Unknown("a mean of a window with a divisor")
    n = len(call.tensor(x).size) - 2
    kernel = each(kernel, n)
    attrs = {"kernel": kernel, "stride": each(stride, n) if stride else kernel, "pad": each(padding, n) * 2,
             "ceil": int(ceil), "count_pad": int(count_include_pad)}
    shape, sample = call.out()
    return call.add("avg_pool", [call.settle(x)], attrs, shape, sample)


@op("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "_adaptive_avg_pool2d")
def adaptive_avg_pool(call, x, size):
    return adaptive(call, x, size, "avg")


@op("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(call, x, size):
    return adaptive(call, x, size, "max"), None


def adaptive(call, x, size, kind):
    x = call.settle(x)
    have = x.shape[2:]
    size = [h if s is None else s for s, h in zip(each(size, len(have)), have)]
    shape = x.shape[:2] + tuple(size)
    if list(have) == size:
        return x
    if all(s == 1 for s in size):
        return call.add(f"global_{kind}_pool", [x], {"keep": 1}, shape, x.sample)
    if all(h % s == 0 for s, h in zip(size, have)):
        window = [h // s for s, h in zip(size, have)]
        return call.add(f"{kind}_pool", [x], {"kernel": window, "stride": window}, shape, x.sample)
    if not call.has(f"adaptive_{kind}_pool"):
        raise Unknown(f"pooling of {list(have)} to {size}")
    return call.add(f"adaptive_{kind}_pool", [x], {"size": size}, shape, x.sample)


@op("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def upsample_nearest(call, x, *rest, **kwargs):
    return resize(call, x, "resize_nearest", {})


@op("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
def upsample_linear(call, x, size=None, align_corners=False, *rest, **kwargs):
    return resize(call, x, "resize_linear", {"align_corners": int(bool(align_corners))})


def resize(call, x, kind, attrs):
    if not call.has(kind):
        raise Unknown(f"this hypar has no '{kind}'")
    shape, sample = call.out()
    return call.add(kind, [call.settle(x)], {"size": list(shape[2:]), **attrs}, shape, sample)


# Sums -----------------------------------------------------------------------------------------------------------------


def reduce(call, kind, x, dims, keep):
    x = call.settle(x)
    n = len(x.shape)
    dims = sorted(d % n for d in ([dims] if isinstance(dims, int) else dims or range(n)))
    shape = [1 if d in dims else s for d, s in enumerate(x.shape)] if keep else [s for d, s in enumerate(x.shape) if d not in dims]
    sample = x.sample if keep or x.sample is None else x.sample - sum(d < x.sample for d in dims)
    return call.add(kind, [x], {"axes": dims, "keep": int(keep)}, shape, None if x.sample in dims else sample)


@op("mean")
def mean(call, x, dims=None, keep=False, dtype=None):
    return reduce(call, "reduce_mean", x, dims, keep)


@op("sum")
def total(call, x, dims=None, keep=False, dtype=None):
    return reduce(call, "reduce_sum", x, dims, keep)


@op("amax")
def amax(call, x, dims=(), keep=False):
    if not call.has("reduce_max"):
        raise Unknown("this hypar has no 'reduce_max'")
    return reduce(call, "reduce_max", x, dims, keep)


@op("cumsum")
def cumsum(call, x, dim, dtype=None):
    return unary(call, "cumsum", call.settle(x), axis=dim % len(x.size))


# Shape ----------------------------------------------------------------------------------------------------------------

VIEWS = {"permute", "transpose", "t", "unsqueeze", "squeeze", "select", "slice", "narrow", "movedim", "unbind", "split",
         "split_with_sizes", "chunk", "expand", "expand_as", "swapaxes", "mT", "adjoint", "numpy_T", "tensor_split"}
LISTS = {"unbind", "split", "split_with_sizes", "chunk", "tensor_split"}


def numbers(call, args):
    """Arguments of a view, with no Tensor among them."""
    return tuple(a.view if isinstance(a, Tensor) else a for a in args)


def _see(call, x, *args, **kwargs):
    name = base_name(call.node.target)
    args = numbers(call, args)
    if name in LISTS:
        n = len(call.node.meta["val"])
        return [call.see(x, lambda v, i=i: call.node.target(v, *args, **kwargs)[i]) for i in range(n)]
    seen = call.see(x, lambda v: call.node.target(v, *args, **kwargs))
    if name in ("expand", "expand_as") and seen.sample is None:
        seen.grows = call.t.batch
    return seen


for _name in VIEWS:
    TABLE[_name] = _see


@op("view", "reshape", "_unsafe_view", "flatten", "unflatten", "view_as", "reshape_as", "ravel")
def reshape(call, x, *args, **kwargs):
    return call.reshape(x, call.out()[0])


@op("cat", "concat")
def cat(call, parts, dim=0):
    parts = [call.settle(p) for p in parts if not (isinstance(p, Tensor) and p.size == (0,))]
    if len(parts) == 1:
        return parts[0]
    shape, sample = call.out()
    return call.add("concat", parts, {"axis": dim % len(shape)}, shape, sample)


@op("stack")
def stack(call, parts, dim=0):
    shape, sample = call.out()
    dim %= len(shape)
    parts = [call.settle(call.see(p, lambda v: v.unsqueeze(dim))) for p in parts]
    return call.add("concat", parts, {"axis": dim}, shape, sample)


@op("roll")
def roll(call, x, shifts, dims=()):
    shifts, dims = each(shifts, 1), each(dims, 1)
    for shift, dim in zip(shifts, dims):
        x = call.settle(x)
        size = x.shape[dim]
        at = (size - shift) % size
        if at:
            parts = [call.settle(call.see(x, lambda v: v.narrow(dim, at, size - at))),
                     call.settle(call.see(x, lambda v: v.narrow(dim, 0, at)))]
            x = call.add("concat", parts, {"axis": dim % len(x.shape)}, x.shape, x.sample)
    return x


@op("pad", "constant_pad_nd")
def pad(call, x, pads, mode="constant", value=0):
    if isinstance(mode, (int, float)):  # constant_pad_nd(x, pads, value)
        mode, value = "constant", mode
    if mode != "constant" or value:
        raise Unknown(f"padding by {mode} {value or ''}")
    x = call.tensor(x)
    n = len(x.size)
    for i in range(len(pads) // 2):
        for j in range(2):
            if pads[2 * i + j] < 0:
                d, cut = n - 1 - i, -pads[2 * i + j]
                x = call.see(x, lambda v: v.narrow(d, 0 if j else cut, v.shape[d] - cut))
    before = [max(pads[2 * (n - 1 - d)], 0) if n - 1 - d < len(pads) // 2 else 0 for d in range(n)]
    after = [max(pads[2 * (n - 1 - d) + 1], 0) if n - 1 - d < len(pads) // 2 else 0 for d in range(n)]
    if not any(before + after):
        return x
    x = call.settle(x)
    shape = [a + s + b for a, s, b in zip(before, x.shape, after)]
    return call.add("pad", [x], {"pad": before + after}, shape, x.sample)


@op("channel_shuffle")
def channel_shuffle(call, x, groups):
    size = call.tensor(x).size
    split = call.reshape(x, (size[0], groups, size[1] // groups) + size[2:])
    return call.reshape(call.see(split, lambda v: v.transpose(1, 2)), size)


@op("pixel_shuffle")
def pixel_shuffle(call, x, r):
    n, c, h, w = call.tensor(x).size
    split = call.reshape(x, (n, c // r // r, r, r, h, w))
    return call.reshape(call.see(split, lambda v: v.permute(0, 1, 4, 2, 5, 3)), (n, c // r // r, h * r, w * r))


@op("index")
def index(call, x, ids):
    """x[..., ids, ...] with one list of known ids: rows of a table, or of a dimension brought to the front."""
    x = call.tensor(x)
    places = [d for d, i in enumerate(ids) if i is not None]
    if len(places) != 1 or not hasattr(ids[places[0]], "value"):
        raise Unknown("an index of several dimensions, or one that the network computes")
    i, d = ids[places[0]], places[0]
    if len(x.size) == 2 and d == 0:
        return rows(call, x, i)
    raise Unknown(f"an index into dimension {d} of {len(x.size)}")


# The rest -------------------------------------------------------------------------------------------------------------


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


@op("mse_loss")
def mse_loss(call, x, target, reduction=1):
    if reduction != 1:
        raise Unknown("squares that are not averaged")
    return call.add("mse_loss", [call.settle(x), call.settle(target)], {}, (), None, name="loss")


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
            y = call.graph.add(kind, name or kind, [x] + first + params, {"reverse": direction}, shapes, 0, call.where,
                               suffixes=("h", "z") if lstm else ("h",))
            outs.append(y[0])
            for kept, out in zip(last, y[1:]):
                kept.append(out)
        x = outs[0]
        if both:
            shape = x.shape[:2] + (sum(o.shape[2] for o in outs),)
            x = call.add("concat", outs, {"axis": 2}, shape, 0)
        if dropout_rate and train and layer + 1 < layers:
            x = call.add("dropout", [x], {"rate": dropout_rate})
    if not batch_first:
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
