"""Windows over images, and sums over dimensions."""
import math

from .elementwise import binary, unary
from .layers import each
from .table import Unknown, op

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


@op("max")
def largest(call, x, other=None, keep=False):
    """Of all elements, or along a dimension (without where it is); or of two tensors."""
    if other is not None and not isinstance(other, int):
        return binary(call, "maximum", x, other)
    y = amax(call, x, () if other is None else other, keep)
    return y if other is None else (y, None)


@op("logsumexp")
def logsumexp(call, x, dims, keep=False):
    """m + log(sum(exp(x - m))) of the largest element m: the two gradients that reach m add up to 0."""
    x = call.settle(x)
    most = amax(call, x, dims, True)
    y = reduce(call, "reduce_sum", unary(call, "exp", binary(call, "sub", x, most)), dims, True)
    y = binary(call, "add", most, unary(call, "log", y))
    return y if keep else call.reshape(y, call.out()[0])


@op("var")
def var(call, x, dims=None, correction=1, keep=False, **kwargs):
    correction, keep = kwargs.get("correction", correction), kwargs.get("keepdim", keep)
    x = call.tensor(x)
    dims = [dims] if isinstance(dims, int) else list(dims or range(len(x.size)))
    apart = binary(call, "sub", x, reduce(call, "reduce_mean", x, dims, True))
    squares = reduce(call, "reduce_sum", binary(call, "mul", apart, apart), dims, keep)
    n = math.prod(x.size[d] for d in dims)
    return unary(call, "affine", squares, alpha=1 / (n - (1 if correction is None else correction)))


@op("std")
def std(call, *args, **kwargs):
    return unary(call, "sqrt", var(call, *args, **kwargs))


@op("linalg_vector_norm")
def vector_norm(call, x, order=2, dims=None, keep=False, dtype=None):
    if order != 2:
        raise Unknown(f"a norm of order {order}")
    return unary(call, "sqrt", reduce(call, "reduce_sum", binary(call, "mul", x, x), dims, keep))


@op("cumsum")
def cumsum(call, x, dim, dtype=None):
    return unary(call, "cumsum", call.settle(x), axis=dim % len(x.size))
