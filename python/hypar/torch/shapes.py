"""Operators that move elements: views, which are nothing until someone needs them, and copies."""
import math

import torch

from . import patterns
from .elementwise import binary, number, scaled, unary
from .layers import each, rows
from .functions import base_name
from .table import TABLE, Unknown, op
from .views import Tensor
from .windows import reduce

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
        seen.grows = call.t.batch if not call.t.symbolic or call.out()[1] is not None else None
    return seen


for _name in VIEWS:
    TABLE[_name] = _see


RESHAPES = {"view", "reshape", "flatten", "unflatten", "view_as", "reshape_as"}
ALIASES = {"detach", "alias", "to"}


@op("_unsafe_view", "ravel", *RESHAPES)
def reshape(call, x, *args, **kwargs):
    return call.reshape(x, call.out()[0])


@op("repeat")
def repeat(call, x, times):
    """Elements once more along each dimension: a new dimension before it, whose elements are all the same, joined with it."""
    x = call.tensor(x)
    size = (1,) * (len(times) - len(x.size)) + x.size
    apart = call.reshape(x, [n for s in size for n in (1, s)])
    wide = call.see(apart, lambda v: v.expand([n for t, s in zip(times, size) for n in (t, s)]))
    if wide.sample is None:
        wide.grows = call.t.batch
    return call.reshape(wide, [t * s for t, s in zip(times, size)])


@op("cat", "concat")
def cat(call, parts, dim=0):
    turned = patterns.rope_halves(call)
    if turned is not None:
        return turned
    parts = [call.settle(p) for p in parts if 0 not in p.size]
    if len(parts) == 1:
        return parts[0]
    shape, sample = call.out()
    return call.add("concat", parts, {"axis": dim % len(shape)}, shape, sample)


class Complex:
    """Complex numbers: a Tensor of pairs, of which they are the last dimension."""

    def __init__(self, pairs):
        self.pairs = pairs


@op("view_as_complex")
def view_as_complex(call, x):
    return Complex(call.tensor(x))


@op("view_as_real")
def view_as_real(call, x):
    if not isinstance(x, Complex):
        raise Unknown("complex numbers that are not made of pairs")
    return x.pairs


def turned(call, x, table):
    """Complex numbers times known ones: pairs turned and scaled."""
    if not isinstance(x, Complex) or isinstance(table, (Tensor, Complex)) or table.data:
        raise Unknown("a product of complex numbers that the network computes")
    size = x.pairs.size
    a, b = (call.see(x.pairs, lambda v, i=i: v.select(-1, i)) for i in range(2))
    value = table.value if torch.is_tensor(table.value) else torch.tensor(table.value)
    parts = (value.real, value.imag) if value.is_complex() else (value, torch.zeros_like(value))
    c, s = (call.graph.add_constant(call.name("constant"), v.to(torch.get_default_dtype()).contiguous(), False) for v in parts)
    real = binary(call, "sub", binary(call, "mul", a, c), binary(call, "mul", b, s))
    imaginary = binary(call, "add", binary(call, "mul", a, s), binary(call, "mul", b, c))
    parts = [call.settle(call.see(v, lambda view: view.unsqueeze(-1))) for v in (real, imaginary)]
    return Complex(call.add("concat", parts, {"axis": len(size) - 1}, size, parts[0].sample))


@op("stack")
def stack(call, parts, dim=0):
    shape, sample = call.out()
    dim %= len(shape)
    if patterns.turns_pairs(call):
        call.graph.note("turns pairs of neighbours (an interleaved rotary embedding), which is planned step by step; "
                        "one that turns halves of a head is one operator, 'rope'", call.where.path)
    parts = [call.settle(call.see(p, lambda v: v.unsqueeze(dim))) for p in parts]
    return call.add("concat", parts, {"axis": dim}, shape, sample)


def replaced(call, x, dim=0, start=None, stop=None, step=1, *, result):
    """x with another part in place of x[start:stop]."""
    size = x.size[dim]
    start, stop, _ = slice(start, stop).indices(size)
    if step != 1:
        raise Unknown("every so many elements are changed in place")
    result = call.settle(result)
    parts = [*pieces(call, x, dim, 0, start), result, *pieces(call, x, dim, stop, size)]
    if len(parts) == 1:
        return result
    sample = next((p.sample for p in parts if p.sample is not None), None)
    return call.add("concat", parts, {"axis": dim % len(x.size)}, x.size, sample)


def pieces(call, x, dim, start, stop):
    """Tensors that make up x[start:stop]: of a concatenation, what was concatenated."""
    if start >= stop:
        return []
    x = call.tensor(x)
    writer = call.graph.writer(x) if x.plain() else None
    if writer is None or writer.kind != "concat" or writer.attrs["axis"] != dim % len(x.size):
        return [call.settle(call.see(x, lambda v: v.narrow(dim, start, stop - start)))]
    found, at = [], 0
    for part in map(call.graph.tensor, writer.inputs):
        low, high = max(start - at, 0), min(stop - at, part.shape[dim])
        found += pieces(call, part, dim, low, high) if (low, high) != (0, part.shape[dim]) else [part]
        at += part.shape[dim]
    return found


@op("slice_scatter")
def slice_scatter(call, x, part, dim=0, start=None, stop=None, step=1):
    return replaced(call, x, dim, start, stop, step, result=part)


@op("zero")
def zero(call, x):
    return unary(call, "affine", x, alpha=0)


@op("fill")
def fill(call, x, value):
    return unary(call, "affine", x, alpha=0, beta=number(value))


@op("copy")
def copy(call, x, y, non_blocking=False):
    y = call.tensor(y)
    return y if y.size == x.size else call.see(y, lambda v: v.expand(x.size))


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
    """x[..., ids, ...] with known ids of one dimension, or of several that follow one another: rows of a table, or elements of these
    dimensions as one."""
    x = call.tensor(x)
    places = [d for d, i in enumerate(ids) if i is not None]
    if not all(hasattr(ids[d], "value") for d in places):
        raise Unknown("an index that the network computes")
    i, d = ids[places[0]], places[0]
    if len(places) > 1:
        return index_of_several(call, x, places, [ids[p] for p in places])
    if len(x.size) == 2 and d == 0:
        return rows(call, x, i)
    if i.data or len(i.size) != 1:
        raise Unknown(f"an index into dimension {d} of {len(x.size)}")
    return index_select(call, x, d, i)


def index_of_several(call, x, places, ids):
    """Elements by their places in several dimensions that follow one another: by one number in these dimensions as one."""
    first, last = places[0], places[-1]
    if places != list(range(first, last + 1)) or any(i.data for i in ids) or x.sample in places:
        raise Unknown("an index of dimensions that do not follow one another, or of samples")
    shape = torch.broadcast_shapes(*(i.value.shape for i in ids))
    flat = torch.zeros(shape, dtype=torch.int64)
    for i, n in zip(ids, x.size[first:last + 1]):
        flat = flat * n + torch.where(i.value < 0, i.value + n, i.value)
    joined = call.reshape(x, x.size[:first] + (-1,) + x.size[last + 1:])
    known = call.graph.add_constant(call.name("ids"), flat.reshape(-1), True)
    return call.reshape(index_select(call, joined, first, known), x.size[:first] + tuple(shape) + x.size[last + 1:])


@op("unfold")
def unfold(call, x, dim, size, step):
    """Windows of a dimension: pieces of it, or, where they overlap, elements by known ids."""
    x = call.tensor(x)
    dim %= len(x.size)
    count = (x.size[dim] - size) // step + 1
    if size == step:
        x = call.see(x, lambda v: v.narrow(dim, 0, count * size))
    else:
        ids = torch.arange(count)[:, None] * step + torch.arange(size)
        x = index_select(call, x, dim, call.graph.add_constant(call.name("ids"), ids.reshape(-1), True))
    apart = call.reshape(x, x.size[:dim] + (count, size) + x.size[dim + 1:])
    return call.see(apart, lambda v: v.movedim(dim + 1, -1))


@op("index_select")
def index_select(call, x, dim, ids):
    x = call.settle(x)
    dim %= len(x.shape)
    chosen = ids.base not in call.graph.constants if isinstance(ids, Tensor) else ids.data
    if chosen or dim == x.sample:
        raise Unknown("elements that are chosen by what follows from the samples, or samples that are chosen")
    if not isinstance(ids, Tensor) and bool((ids.value < 0).any()):  # which count from the end
        ids = call.graph.add_constant(call.name("ids"), ids.value % x.shape[dim], True)
    i = call.settle(ids)
    return call.add("index_select", [x, i], {"axis": dim}, x.shape[:dim] + i.shape + x.shape[dim + 1:], x.sample)


def units_of(x):
    """The dimensions of its base that each dimension of a value is made of, where the elements are in the base's order; else None."""
    if not x.whole() or not x.view.is_contiguous():
        return None
    dims, parts = list(x.shape), []
    for n in x.size:
        part = [dims.pop(0)] if dims else []
        while dims and math.prod(part) < n:
            part.append(dims.pop(0))
        if math.prod(part) != n:
            return None
        parts.append(part)
    return None if dims else parts


def looked_up(call, x, dim, ids):
    """x and the ids of elements along a dimension, which has no samples: one for each of the others."""
    if isinstance(ids, Tensor):
        raise Unknown("ids that the network computes")
    x = call.tensor(x)
    dim %= len(x.size)
    for d, n in enumerate(ids.size):
        if d != dim and n < x.size[d]:
            x = call.see(x, lambda v: v.narrow(d, 0, n))
    if x.sample is not None and not ids.data:  # alike for all samples, but each has its own
        ids = type(ids)(ids.value, ids.node, True)
    i = call.tensor(ids)
    parts = units_of(i)
    if len(i.shape) > len(i.size) and parts and len(parts[dim]) == 1:  # samples and heads as one: integers stay as they are given
        parts[dim] = [x.size[dim]]
        x, dim = call.reshape(x, [n for part in parts for n in part]), sum(map(len, parts[:dim]))
        i = Tensor(i.base, i.shape, i.sample)
    x, i = call.settle(x), call.settle(i)
    if i.sample != x.sample or dim == x.sample:
        raise Unknown("ids that have their samples in another dimension")
    return x, i, dim


@op("gather")
def gather(call, x, dim, ids, sparse_grad=False):
    x, i, dim = looked_up(call, x, dim, ids)
    return call.reshape(call.add("gather_elements", [x, i], {"axis": dim}, i.shape, i.sample), ids.size)


@op("index_add")
def index_add(call, x, dim, ids, values, alpha=1):
    """Rows of a dimension are added to those that known ids name: of each of these a list of its rows, filled up by a row of
    zeros, and their sum."""
    x, values = call.tensor(x), call.tensor(values)
    dim %= len(x.size)
    if isinstance(ids, Tensor) or ids.data or dim in (x.sample, values.sample):
        raise Unknown("rows that are added to what follows from the samples, or to samples")
    n, targets = len(ids.value), ids.value.tolist()
    lists = [[] for _ in range(x.size[dim])]
    for row, target in enumerate(targets):
        lists[target].append(row)
    longest = max(map(len, lists), default=0)
    if not longest:
        return x
    known = torch.tensor([rows_of + [n] * (longest - len(rows_of)) for rows_of in lists])
    known = call.graph.add_constant(call.name("ids"), known.reshape(-1), True)
    padded = pad(call, scaled(call, values, alpha), [0, 0] * (len(x.size) - 1 - dim) + [0, 1])
    each_list = call.reshape(index_select(call, padded, dim, known), x.size[:dim] + (x.size[dim], longest) + x.size[dim + 1:])
    return binary(call, "add", x, reduce(call, "reduce_sum", each_list, [dim + 1], False))


@op("scatter_add")
def scatter_add(call, x, dim, ids, values):
    size = call.tensor(x).size
    x, i, dim = looked_up(call, x, dim, ids)
    if x.size != size or i.size != ids.size or call.tensor(values).size != i.size:
        raise Unknown("elements that are added to a part")
    return call.add("scatter_add", [x, i, call.settle(values)], {"axis": dim}, x.shape, x.sample)
