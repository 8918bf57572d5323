"""Samples in another order. Experts sort the rows of all samples, compute them in groups and put them back: no sample reads another one."""
import operator

import torch

from .functions import CASTS, GROUPED, name_of

MIXED = "mixed"
# Functions that read several elements along a dimension, besides sums and means.
ALONG = {"sort", "argsort", "cumsum", "cumprod", "logcumsumexp", "cummax", "cummin", "softmax", "_softmax", "log_softmax", "_log_softmax", "topk", "kthvalue", "roll", "flip"}
EMPTY = {"empty_like", "zeros_like", "ones_like", "full_like", "new_empty", "new_zeros", "new_ones", "new_full"}


class Orders:
    """By node whose samples do not lie in the order of the batch: what it is, and the sort that made the order.

    rows     rows in the order of the sort
    values   what was sorted, in that order
    places   by row in the order of the sort: its place in the batch
    inverse  by place in the batch: the row in the order of the sort
    counts   how many rows have each value
    ends     where the rows of each value end

    is_samples(n): does a size follow from the batch?"""

    def __init__(self, host, is_samples):
        self.host, self.is_samples, self.of = host, is_samples, {}

    def follow(self, node, natural):
        """MIXED if the node computes a sample from others. natural: inputs with samples in the order of the batch."""
        ordered = {a: self.of[a] for a in node.all_input_nodes if a in self.of}
        found = self._along(node, ordered) if name_of(node) in ALONG else None
        if found is None and ordered:
            found = self._of_ordered(node, ordered, [a for a in natural if a not in ordered])
        if found not in (None, "natural", MIXED):
            self.of[node] = found
        return found

    def _along(self, node, ordered):
        """A function along samples; None: along another dimension."""
        first = node.args[0]
        value = first.meta.get("val") if isinstance(first, torch.fx.Node) else None
        if not isinstance(value, torch.Tensor) or first in self.host.values:
            return None
        kind, sort = ordered.get(first, (None, None))
        if kind == "counts" and name_of(node) == "cumsum":
            return "ends", sort
        dims = argument(node, "dims") if name_of(node) in ("roll", "flip") else argument(node, "dim")
        dims = [dims] if isinstance(dims, int) else dims or range(value.dim())
        if not any(self.is_samples(value.shape[d]) for d in dims):
            return None
        if name_of(node) == "argsort":
            return ("inverse", sort) if kind == "places" else MIXED if kind else ("places", node)
        return MIXED if name_of(node) != "sort" or kind else ("sorted", node)

    def _of_ordered(self, node, ordered, natural):
        name, args = name_of(node), node.args
        kinds = {kind for kind, _ in ordered.values()}
        if len({sort for _, sort in ordered.values()}) > 1:
            return MIXED
        sort = next(iter(ordered.values()))[1]
        if name in EMPTY or name == "_assert_tensor_metadata":
            return "natural"
        if kinds == {"sorted"}:
            return ("places" if args[1] else "values", sort) if node.target is operator.getitem else MIXED
        if name in CASTS and len(kinds) == 1:
            return kinds.pop(), sort
        if name in ("histc", "bincount"):
            return ("counts", sort) if kinds == {"values"} else MIXED
        if name in ("floor_divide", "div") and kinds == {"places"} and isinstance(args[1], int):
            return "places", sort
        if name in GROUPED:
            ends = any(kind_of(x, ordered) == "ends" for x in [*args[2:], *node.kwargs.values()])
            return ("rows", sort) if ends and kind_of(args[0], ordered) == "rows" and not natural else MIXED
        if name in ("index", "index_select", "index_put_", "index_put", "index_add_", "index_add"):
            return self._indexed(node, name, ordered, natural, sort)
        if kinds <= {"rows", "values"} and not natural:
            return self._by_row(node, ordered, sort)
        return MIXED if kinds != {"counts"} else "natural"  # a number of rows of all samples

    def _indexed(self, node, name, ordered, natural, sort):
        args = node.args
        at = [x for x in args[1] if x is not None] if isinstance(args[1], (list, tuple)) else [args[2]]
        kind = kind_of(at[0], ordered) if len(at) == 1 else None
        whole, given = kind_of(args[0], ordered), args[3] if "add" in name else args[2] if "put" in name else None
        if name in ("index", "index_select"):
            if kind == "inverse" and whole == "rows":
                return "natural"
            return ("rows", sort) if (kind == "places" or kind == "values" and args[0] not in natural) and not whole else MIXED
        if kind != "places" or whole:
            return MIXED
        if kind_of(given, ordered) == "rows":
            return "natural"
        return ("inverse", sort) if is_arange(given) else MIXED

    def _by_row(self, node, ordered, sort):
        """A function of each row, or of all: not of some that lie side by side."""
        sizes = {self._size(a) for a in ordered}
        values = node.meta.get("val")
        values = [x for x in (values if isinstance(values, (tuple, list)) else [values]) if isinstance(x, torch.Tensor)]
        after = {str(n) for x in values for n in x.shape if self.is_samples(n)}
        if not after:
            return "natural"
        return ("rows", sort) if len(sizes) == 1 and after == sizes else MIXED

    def _size(self, node):
        value = node.meta.get("val")
        value = value[0] if isinstance(value, (tuple, list)) else value
        return next((str(n) for n in value.shape if self.is_samples(n)), "")


def kind_of(x, ordered):
    return ordered[x][0] if isinstance(x, torch.fx.Node) and x in ordered else None


def is_arange(node):
    return isinstance(node, torch.fx.Node) and name_of(node) == "arange"


def argument(node, name):
    """An argument of an operator by its name, or its default."""
    arguments = getattr(getattr(node.target, "_schema", None), "arguments", ())
    at = next((i for i, a in enumerate(arguments) if a.name == name), None)
    if at is None:
        return None
    return node.args[at] if at < len(node.args) else node.kwargs.get(name, arguments[at].default_value)
