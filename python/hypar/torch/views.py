"""Views of tensors.

PyTorch's view, permute, select, split and the like move no data: they are sizes, strides and an offset into the tensor
that holds the elements. A value is kept like that until an operator needs the elements in their places, so that a
chain which leads back to where it began (heads are split off before an attention and joined behind it) is nothing."""
import math

import torch


class Tensor:
    """A tensor of the network: the output of an operator, an input or a parameter, and a view of it.

    base    its name
    shape   of the base
    sample  the dimension of the base that grows with the batch, or None
    view    a tensor without elements ("meta"), which has sizes, strides and offset
    groups  how many dimensions of the view each of the value's is made of: samples and heads that are made one dimension
            have no common stride
    grows   the batch, where the value is repeated for each sample"""

    def __init__(self, base, shape, sample, view=None, groups=None, grows=None):
        self.base, self.shape, self.sample, self.grows = base, tuple(shape), sample, grows
        self.view = torch.empty(self.shape, device="meta") if view is None else view
        self.groups = tuple(groups or (1,) * self.view.dim())

    @property
    def size(self):
        dims = iter(self.view.shape)
        return tuple(math.prod(next(dims) for _ in range(n)) for n in self.groups)

    def joined(self):
        """Are there dimensions that have no common stride?"""
        return any(n > 1 for n in self.groups)

    def plain(self):
        """Is it the base itself?"""
        return not self.joined() and self.size == self.shape and self.view.is_contiguous() and not self.view.storage_offset()

    def whole(self):
        """Does it have each element of the base once?"""
        return self.view.numel() == _elements(self.shape) and 0 not in _strides(self.view)

    def seen(self, view, groups=None):
        return Tensor(self.base, self.shape, self.sample, view, groups, self.grows)

    def stepped(self, sizes, strides, groups=None):
        """The same base with other sizes and strides."""
        return self.seen(torch.as_strided(self.view, sizes, strides, self.view.storage_offset()), groups)

    def moved(self, function):
        """Dimensions in another order, as a function of PyTorch's has them, or None if it does something else."""
        if not self.joined():
            return None
        size, strides = self.size, [10 ** (i + 3) for i in range(len(self.groups))]
        try:
            result = function(torch.empty_strided(size, strides, device="meta"))
        except RuntimeError:
            return None
        first = [sum(self.groups[:d]) for d in range(len(self.groups))]
        sizes, steps, groups, left = [], [], [], {d for d, n in enumerate(size) if n > 1}
        for n, stride in zip(result.shape, result.stride()):
            d = strides.index(stride) if stride in strides else -1
            if d in left and size[d] == n and not result.storage_offset():
                left.remove(d)
                part = range(first[d], first[d] + self.groups[d])
                sizes += [self.view.shape[i] for i in part]
                steps += [self.view.stride()[i] for i in part]
                groups.append(self.groups[d])
            elif n == 1:
                sizes, steps, groups = sizes + [1], steps + [1], groups + [1]
            else:
                return None
        return None if left else self.stepped(sizes, steps, groups)

    def reshaped(self, shape):
        """The same elements in another shape, or None: dimensions are divided and joined, not mixed."""
        units = [list(u) for u in zip(self.view.shape, self.view.stride()) if u[0] > 1]
        sizes, steps, groups = [], [], []
        for need in shape:
            before = len(sizes)
            while need > 1:
                if not units:
                    return None
                size, stride = units[0]
                if need % size == 0:
                    units.pop(0)
                elif size % need == 0:
                    units[0] = [size // need, stride]
                    size, stride = need, stride * (size // need)
                else:
                    return None
                need //= size
                if len(sizes) > before and steps[-1] == size * stride:  # runs on
                    sizes[-1], steps[-1] = sizes[-1] * size, stride
                else:
                    sizes.append(size)
                    steps.append(stride)
            if len(sizes) == before:
                sizes.append(1)
                steps.append(1)
            groups.append(len(sizes) - before)
        return self.stepped(sizes, steps, groups)


def _elements(shape):
    return torch.Size(shape).numel()


def _strides(view):
    return [s for n, s in zip(view.shape, view.stride()) if n > 1]


def _pieces(value):
    """Each dimension of a view as pieces of dimensions of the base: lists of [dimension, step, count], outermost first."""
    base = torch.empty(value.shape, device="meta").stride()
    dims = [d for d, n in enumerate(value.shape) if n > 1]
    result = []
    for count, stride in zip(value.view.shape, value.view.stride()):
        pieces = []
        while count > 1:
            d = next(d for d in reversed(dims) if base[d] * value.shape[d] > stride)
            step, over = divmod(stride, base[d])
            fits = value.shape[d] // step if step else 0
            if over or not step:
                raise ValueError("strides that are no dimensions")
            if count * stride > base[d] * value.shape[d] + stride - base[d]:  # on into the next dimension
                if value.shape[d] % step or count % fits:
                    raise ValueError("strides that are no dimensions")
                pieces.insert(0, [d, step, fits])
                count, stride = count // fits, stride * fits
            else:
                pieces.insert(0, [d, step, count])
                count = 1
        result.append(pieces)
    return result


def settle(add, value):
    """The elements in their places: operators that do it. add(kind, inputs, attrs, shape, sample) makes one."""
    if value.joined():
        inner, first = settle(add, value.seen(value.view)), 0
        sample = None
        for d, n in enumerate(value.groups):
            sample = d if inner.sample is not None and first <= inner.sample < first + n else sample
            first += n
        return reshape(add, inner, value.size, sample)
    if value.plain():
        return value
    if any(n > 1 and s == 0 for n, s in zip(value.size, value.view.stride())):
        return _repeat(add, value)
    pieces = _pieces(value)
    at, factors, cuts = _cut_base(add, value, pieces)
    first = [sum(len(f) for f in factors[:d]) for d in range(len(factors))]
    sample = None if at.sample is None else first[at.sample]
    at = reshape(add, at, [size for f in factors for size, _ in f], sample)
    for d, start, stop in cuts:
        at = cut(add, at, d, start, stop)
    place = {id(piece): i for i, piece in enumerate(p for f in factors for _, p in f) if piece}
    order = [place[id(p)] for dim in pieces for p in dim]
    at = transpose(add, at, _with_ones(order, len(at.shape)))
    if value.sample is None:
        return reshape(add, at, value.size, None)
    holds = [d for d, dim in enumerate(pieces) if any(place[id(p)] == sample for p in dim)]
    return reshape(add, at, value.size, holds[0] if holds else sample_after(at, value.size))


def possible(value):
    """Can operators put the elements in their places? Parts of joined dimensions are no parts of the base's, and a tensor
    has no more than 6 dimensions."""
    def add(kind, inputs, attrs, shape, sample):
        if len(shape) > 6:
            raise ValueError("too many dimensions")
        return Tensor("", shape, sample)
    try:
        settle(add, value)
        return True
    except ValueError:
        return False


def _repeat(add, value):
    """What is repeated along a dimension (stride 0): the rest, then an expand."""
    view, shape = value.view, list(value.size)
    repeated = [d for d, stride in enumerate(view.stride()) if stride == 0 and shape[d] == value.grows]
    if value.sample is None and repeated and repeated[0] > 0:  # for each sample, which are not the first dimension
        at = repeated[0]
        front = settle(add, Tensor(value.base, value.shape, None, view.movedim(at, 0), grows=value.grows))
        return transpose(add, front, [*range(1, at + 1), 0, *range(at + 1, len(shape))])
    for d, stride in enumerate(value.view.stride()):
        if shape[d] > 1 and stride == 0:
            view = view.narrow(d, 0, 1)
        else:
            shape[d] = -1
    inner = settle(add, value.seen(view))
    sample = inner.sample
    if sample is None and value.grows is not None and shape[0] == value.grows:  # a new dimension: for each sample
        inner = reshape(add, inner, inner.shape[1:], None)
        return add("expand", [inner], {"shape": [0] + shape[1:]}, value.size, 0)
    return add("expand", [inner], {"shape": shape}, value.size, sample)


def _cut_base(add, value, pieces):
    """Slices of the base's dimensions; then each as [size, piece] factors, outermost first; and what is still to be cut of
    those: (factor, start, stop)."""
    at = Tensor(value.base, value.shape, value.sample)
    strides, offset = at.view.stride(), value.view.storage_offset()
    factors, cuts, n = [], [], 0
    for d, extent in enumerate(value.shape):
        start = offset // strides[d] % extent
        mine = sorted((p for dim in pieces for p in dim if p[0] == d), key=lambda p: -p[1])
        sizes = []
        if len(mine) < 2:
            step, count = mine[0][1:] if mine else (1, 1)
            if start + step * (count - 1) >= extent:
                raise ValueError("a part that is not of one dimension")
            at = cut(add, at, d, start, min(start + step * count, extent), step)
            sizes = [[count, mine[0] if mine else None]]
        for piece in mine if len(mine) > 1 else []:
            _, step, count = piece
            if extent % step:
                raise ValueError("strides that are no dimensions")
            index, extent = start // step, extent // step
            if index + count > extent:
                raise ValueError("a part that is not of one dimension")
            if not sizes and count < extent:
                at = cut(add, at, d, index * step, (index + count) * step)
                extent = count
            elif count < extent:
                cuts.append((n + len(sizes), index, index + count))
            sizes.append([extent, piece])
            extent, start = step, start % step
        if len(mine) > 1 and extent > 1:
            cuts.append((n + len(sizes), start, start + 1))
            sizes.append([extent, None])
        factors.append(sizes)
        n += len(sizes)
    return at, factors, cuts


def _with_ones(order, n):
    """A permutation of n dimensions: those that `order` has none of (their size is 1) stay where they were, as far as they can."""
    perm = list(order)
    for d in range(n):
        if d not in order:
            perm.insert(min(d, len(perm)), d)
    return perm


def cut(add, x, dim, start, stop, step=1):
    """Elements [start, stop) of a dimension."""
    if (start, stop, step) == (0, x.shape[dim], 1):
        return x
    shape = list(x.shape)
    shape[dim] = -(-(stop - start) // step)
    sample = None if dim == x.sample else x.sample
    return add("slice", [x], {"axis": dim, "start": start, "stop": stop, "step": step}, shape, sample)


def transpose(add, x, perm):
    if perm == sorted(perm):
        return x
    sample = None if x.sample is None else perm.index(x.sample)
    return add("transpose", [x], {"perm": perm}, [x.shape[d] for d in perm], sample)


def reshape(add, x, shape, sample):
    """The same elements in another shape; what holds the samples follows the batch."""
    shape = list(shape)
    if tuple(shape) == x.shape:
        return x
    written = list(shape)
    if sample is not None:
        same = sample < len(x.shape) and sample == x.sample and x.shape[sample] == shape[sample]
        written[sample] = 0 if same else -1
    return add("reshape", [x], {"shape": written}, shape, sample)


def sample_after(x, shape):
    """Where the samples are when a tensor that has them outermost, or alone among sizes of 1, takes another shape."""
    if x.sample is None:
        return None
    before, total = _elements(x.shape[:x.sample]), 1
    for d, n in enumerate(shape):
        if total == before and (n >= x.shape[x.sample] or n % x.shape[x.sample] == 0):
            return d
        if total * n > before:
            return d
        total *= n
    return None
