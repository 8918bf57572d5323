"""Layers with weights, products and normalisation."""
import collections
import math

import torch

from .elementwise import binary, unary
from .patterns import one_kernel
from .saved import saved_of
from .table import Unknown, op
from .views import Tensor


def each(value, n):
    """A list of n from a number or a list."""
    value = [value] if isinstance(value, int) else list(value)
    return value * n if len(value) == 1 else value


@op("conv1d", "conv2d", "conv3d")
def conv(call, x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    x, w = call.settle(x), call.settle(w)
    kernel, n = list(w.shape[2:]), len(w.shape) - 2
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
    other = w.seen(w.view.t()) if not w.joined() else w
    return (other, 1) if other.plain() and not w.plain() else (call.settle(w), 0)


def rows_of(call, x):
    """A value as a tensor whose rows (its last dimension) an operator may take in any order, and how to see the result as the
    value was seen. Samples and positions are exchanged before an attention, or made one dimension: that need not be done."""
    x = call.tensor(x)
    size, strides, groups = x.view.shape, x.view.stride(), x.groups
    c = size[-1] if size else 0
    if x.plain() or not x.whole() or len(x.shape) < 2 or strides[-1] != 1 or c != x.shape[-1] or c < 2 or groups[-1] > 1:
        return call.settle(x), lambda y: y

    def back(y):
        k = y.shape[-1]
        return y.stepped(size[:-1] + (k,), [s // c * k for s in strides[:-1]] + [1], groups)
    return Tensor(x.base, x.shape, x.sample), back


def product(call, x, w, transposed, b=None):
    """x w + b, whatever x's dimensions are."""
    x, back = rows_of(call, x)
    k = w.shape[0] if transposed else w.shape[1]
    shape = x.shape[:-1] + (k,)
    if len(x.shape) == 1:
        x = call.settle(call.reshape(x, (1, -1)))
    elif len(x.shape) > 4:
        x = call.settle(call.reshape(x, (x.shape[0], -1, x.shape[-1])))
    y = call.add("linear", [x, w, b], {"transposed": transposed}, x.shape[:-1] + (k,), x.sample)
    return back(y if y.shape == shape else call.reshape(y, shape))


@op("linear")
def linear(call, x, w, b=None):
    w = call.tensor(w)
    if isinstance(x, Tensor) and x.plain() and x.base in call.graph.steps_first:
        x = unary(call, "affine", x)  # a copy, with samples first
    w, turned = matrix(call, call.see(w, lambda v: v.t()))
    return product(call, x, w, turned, b and call.settle(b))


@op("addmm")
def addmm(call, b, x, w, beta=1, alpha=1):
    if (beta, alpha) != (1, 1):
        raise Unknown("addmm with factors")
    w, turned = matrix(call, w)
    return product(call, x, w, turned, call.settle(b))


@op("matmul", "mm", "bmm", "mv")
def matmul(call, x, y):
    x, y = call.tensor(x), call.tensor(y)
    if len(y.size) == 1:  # a vector: a matrix of one column
        product_of = matmul(call, x, call.see(y, lambda v: v.unsqueeze(-1)))
        return call.see(product_of, lambda v: v.squeeze(-1))
    if len(x.size) == 1 and len(y.size) > 1:
        product_of = matmul(call, call.see(x, lambda v: v.unsqueeze(0)), y)
        return call.see(product_of, lambda v: v.squeeze(-2))
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


def batched(call, x, y, whole=True):
    """A product for each of the leading dimensions, which may be repeated in one of them; if it is the last step of an
    attention (`whole`), that."""
    from .attention import recognised
    attention = recognised(call, x, y) if whole else None
    if attention is not None:
        return attention
    given = x, y
    lead = list(torch.broadcast_shapes(x.size[:-2], y.size[:-2]))
    shape = lead + [x.size[-2], y.size[-1]]
    if x.joined() or y.joined():
        apart = [v.seen(v.view) for v in (x, y)]  # samples and heads, which were one dimension
        if x.groups[-2:] == y.groups[-2:] == (1, 1) and apart[0].size[:-2] == apart[1].size[:-2]:
            return call.reshape(batched(call, *apart, whole), shape)
        x, y = call.settle(x), call.settle(y)
    x = call.settle(x.seen(x.view.expand(lead + list(x.size[-2:]))) if x.size[:-2] != tuple(lead) else x)
    if y.size[:-2] != tuple(lead):
        y = y.seen(y.view.expand(lead + list(y.size[-2:])))
    other = y.seen(y.view.transpose(-2, -1))
    turned = int(other.plain() or _cheaper(other, y))
    y = call.settle(other if turned else y)
    if len(shape) > 4:
        x, y = (call.settle(call.reshape(v, (v.shape[0], -1) + v.shape[-2:])) for v in (x, y))
    z = call.add("matmul", [x, y], {"transposed": turned}, x.shape[:-1] + (shape[-1],), x.sample)
    call.graph.products[z.base] = given
    return z if list(z.shape) == shape else call.reshape(z, shape)


def _cheaper(other, y):
    """Does the other order of the last two dimensions leave the innermost one where it is?"""
    return other.view.stride()[-1] == 1 and y.view.stride()[-1] != 1


@op("einsum")
def einsum(call, equation, operands, path=None):
    """Operands two by two, from the left: each pair keeps what the result or a later operand has."""
    operands = [call.tensor(o) for o in operands]
    names, out = letters(equation, operands)
    while len(operands) > 1:
        later = set(out).union(*names[2:])
        kept = [c for c in dict.fromkeys(names[0] + names[1]) if c in later]
        operands[:2], names[:2] = [pair(call, names[:2], operands[:2], kept)], [kept]
    x = summed(call, names[0], operands[0], out)
    order = [c for c in names[0] if c in out]
    return call.see(x, lambda v: v.permute([order.index(c) for c in out]))


def letters(equation, operands):
    """The letters of each operand and of the result; those of "..." are digits."""
    left, arrow, out = equation.replace(" ", "").partition("->")
    texts = left.split(",")
    spread = [len(x.size) - len(t.replace("...", "")) if "..." in t else 0 for t, x in zip(texts, operands)]
    digits = "0123456789"[:max(spread)]
    names = [list(t.replace("...", digits[len(digits) - n:])) for t, n in zip(texts, spread)]
    counts = collections.Counter(c for own in names for c in own)
    result = list(out.replace("...", digits)) if arrow else list(digits) + sorted(c for c, n in counts.items() if n == 1 and c not in digits)
    sizes = {}
    for own, x in zip(names, operands):
        if len(set(own)) < len(own) or any(sizes.setdefault(c, n) != n for c, n in zip(own, x.size)):
            raise Unknown(f"einsum '{equation}': a diagonal, or a dimension that is repeated")
    return names, result


def summed(call, names, x, kept):
    """x without the dimensions whose letters are not kept."""
    dims = [d for d, c in enumerate(names) if c not in kept]
    if not dims:
        return x
    from .windows import reduce
    return reduce(call, "reduce_sum", x, dims, False)


def pair(call, names, operands, kept):
    """The product of two operands: of matrices for each of the dimensions that both have and that stay; without a common dimension that
    is summed over, of elements."""
    a, b = ([c for c in own if c in kept or c in other] for own, other in (names, names[::-1]))
    x, y = (summed(call, own, v, left) for own, v, left in zip(names, operands, (a, b)))
    lead = [c for c in a if c in b and c in kept]
    inner = [c for c in a if c in b and c not in kept]
    rows, columns = [c for c in a if c not in b], [c for c in b if c not in a]
    size = {**dict(zip(a, x.size)), **dict(zip(b, y.size))}

    def of(value, own, groups):
        moved = call.see(value, lambda v: v.permute([own.index(c) for g in groups for c in g]))
        return call.reshape(moved, [size[c] for c in lead] + [math.prod(size[c] for c in g) for g in groups[1:]])

    order = lead + rows + columns
    if inner:
        apart = not lead and y.sample is None  # samples among the rows stay a dimension of their own
        x = of(x, a, (lead, *([c] for c in rows), inner) if apart else (lead, rows, inner))
        y = of(y, b, (lead, inner, columns))
        z = call.reshape(batched(call, x, y) if lead else matmul(call, x, y), [size[c] for c in order])
    else:
        x, y = (call.see(v, lambda view, own=own: view.permute([own.index(c) for c in order if c in own])[
            tuple(slice(None) if c in own else None for c in order)]) for v, own in ((x, a), (y, b)))
        z = binary(call, "mul", x, y)
    return call.see(z, lambda v: v.permute([order.index(c) for c in kept]))


@op("embedding")
def embedding(call, w, ids, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    w = call.tensor(w)
    if isinstance(ids, Tensor):
        raise Unknown("ids that the network computes")
    if padding_idx >= 0 and bool((ids.value == padding_idx).any()):
        call.graph.note(f"PyTorch does not train row {padding_idx} (padding_idx), of words that are padded; 'hypar train' does", call.where.path)
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
    i = call.tensor(ids)
    size = i.size
    i = Tensor(i.base, i.shape, i.sample) if i.whole() and i.view.is_contiguous() else call.settle(i)  # ids in any shape
    table = call.settle(w)
    if len(i.shape) not in (1, 2, 3):
        raise Unknown(f"ids of {len(i.shape)} dimensions")
    y = call.add("embedding", [i, table], {}, i.shape + (table.shape[1],), i.sample)
    return y if i.shape == size else call.reshape(y, size + table.shape[1:])


@op("embedding_bag", "_embedding_bag")
def embedding_bag(call, w, ids, offsets, scale_grad_by_freq=False, mode=0, sparse=False, weights=None, last=False, padding_idx=None):
    """Bags of one size: rows of a table, and their sum or mean."""
    n = call.out(0)[0][0]
    length = ids.value.numel() // n
    starts = offsets.value[:n]
    if mode == 2 or weights is not None or padding_idx not in (None, -1) or ids.value.numel() % n or offsets.data or not torch.equal(
            starts.cpu(), torch.arange(0, n * length, length)):
        raise Unknown("bags of ids of different sizes, with weights, or of which the largest is taken")
    y = rows(call, call.tensor(w), ids)
    _save_bags(call, y, n, offsets)
    y = call.reshape(y, (n, length, -1))
    from .windows import reduce
    return (reduce(call, "reduce_mean" if mode == 1 else "reduce_sum", y, [1], False), None, None, None)


def _save_bags(call, y, bags, offsets):
    """Where each bag begins and how long it is, and on cards which bag each id is of, stays until the backward half."""
    lookup, made = call.graph.writer(y), bags * offsets.value.itemsize if offsets.node.op == "call_function" else 0
    for key, cards in (("saved_bytes", True), ("host_saved_bytes", False)) if lookup is not None else ():
        lookup.attrs[key] = (saved_of([call.node], call.t.host, cards)[1] + made) // call.t.batch


@op("batch_norm", "_native_batch_norm_legit_functional", "native_batch_norm", "_native_batch_norm_legit")
def batch_norm(call, x, w, b, mean, variance, training, momentum, eps, *rest):
    x = call.settle(x)
    if not training:
        return frozen_norm(call, x, w, b, mean, variance, eps)
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
    return one_kernel(call, norm(call, "rms_norm", x, shape, [w], torch.finfo(torch.get_default_dtype()).eps if eps is None else eps))


def norm(call, kind, x, shape, weights, eps):
    """Over the last dimensions, which become one."""
    x, back = rows_of(call, x) if len(shape) == 1 else (call.tensor(x), lambda y: y)
    size, n = x.size, math.prod(shape)
    if len(shape) > 1 or len(size) > 4 or len(size) < 2:
        lead = size[:len(size) - len(shape)]
        lead = (lead[0], -1) if len(lead) > 3 else lead or (1,)
        x = call.reshape(x, lead + (n,))
        weights = [w and call.reshape(w, (n,)) for w in weights]
    y = call.add(kind, [call.settle(x)] + [w and call.settle(w) for w in weights], {"eps": eps})
    return back(y if y.shape == size else call.reshape(y, size))


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
