"""The exported graph, node by node: the table says what each becomes."""
import contextlib
import math
import operator
import re

import torch
from torch.export.graph_signature import InputKind

from . import aten, losses, shapes, table, views  # noqa: F401 (aten fills the table)
from .export import Cannot, Host, user_line
from .network import Graph
from .functions import PRODUCTS, base_name, name_of
from .saved import saved_of
from .views import Tensor
from .widths import Widths


class Known:
    """A value that needs no network (export.Host): a tensor, the node that it comes from, and whether it follows from what
    the model is given."""

    def __init__(self, value, node, data):
        self.value, self.node, self.data = value, node, data

    @property
    def size(self):
        return tuple(self.value.shape)


def one_line(why):
    """What an exception says, in short."""
    return (str(why).strip().splitlines() or [type(why).__name__])[0][:160]


def module_path(call):
    """The path of the module that is called: of a second call "layer@1" that is "layer"."""
    return "" if call.startswith("_empty_nn_module") else re.sub(r"@\d+", "", call)


class Where:
    """Where an operator comes from: the path of its module and the line of its source."""

    def __init__(self, node):
        stack = (node.meta.get("nn_module_stack") or {}).items()
        self.calls = [path.replace("L['self'].", "") + "".join(re.findall(r"@\d+$", key) if "@" not in path else []) for key, (path, _) in stack]
        self.path = module_path(self.calls[-1]) if self.calls else ""
        self.line = user_line(re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or ""))

    def __str__(self):
        return f"{self.path or 'the model'} ({self.line})"


class Stuck(Exception):
    """What is known of an operator does not suffice: the module that it is in is to be one opaque operator."""

    def __init__(self, node, why):
        super().__init__(why)
        self.where = Where(node)


class Call:
    """One node of the exported graph: what a row of the table works with."""

    def __init__(self, translation, node):
        self.t, self.graph, self.node = translation, translation.graph, node
        self.graph.node = node
        self.where = Where(node)
        self.leaf = self.where.path in translation.leaves
        self.operator = str(node.target)

    def has(self, kind):
        return kind in self.graph.kinds

    def name(self, what):
        """Of a constant."""
        return f"{self.where.path}.{what}" if self.where.path else what

    def add(self, kind, inputs, attrs=None, shape=None, sample=0, name=None):
        """One operator with one output, of the first input's shape where none is given."""
        first = next(x for x in inputs if x is not None)
        if shape is None:
            shape, sample = first.shape, first.sample
        return self.graph.add(kind, inputs, attrs or {}, [shape], sample, self.where.path, self.leaf, name)[0]

    def adder(self):
        return lambda kind, inputs, attrs, shape, sample: self.add(kind, inputs, attrs, shape, sample)

    def settle(self, x, name=None):
        """A Tensor with its elements in their places; of a number or constant, an input that never changes."""
        return views.settle(self.adder(), self.tensor(x, name))

    def tensor(self, x, name=None):
        if isinstance(x, Tensor):
            return x
        if isinstance(x, Known):
            return self.t.known_tensor(self, x, name)
        if isinstance(x, torch.fx.Node):
            return self.tensor(self.t.value(x), name)
        value = torch.tensor(x, dtype=torch.get_default_dtype())
        return self.graph.add_constant(self.name("constant"), value, False)

    def see(self, x, function):
        """A view of a value, by the function that PyTorch does it with."""
        x = self.tensor(x)
        moved = x.moved(function)
        if moved is not None and views.possible(moved):
            return moved
        x = self.settle(x) if x.joined() else x
        try:
            seen = x.seen(function(x.view))
        except RuntimeError:
            seen = None
        if seen is None or not views.possible(seen):
            x = self.settle(x)
            seen = x.seen(function(x.view))
        return seen

    def reshape(self, x, shape):
        """Elements in another shape."""
        x = self.tensor(x)
        shape = list(torch.empty(x.size, device="meta").reshape(list(shape)).shape)
        seen = x.reshaped(shape)
        if seen is None or not views.possible(seen):
            seen = self.settle(x).reshaped(shape)
        if seen is None:
            x = self.settle(x)
            seen = views.reshape(self.adder(), x, shape, views.sample_after(x, shape))
        return seen

    def out(self, i=None):
        """Shape and samples of the node's value, as PyTorch knows them."""
        value = self.node.meta["val"]
        value = value if i is None else value[i]
        shape = tuple(int(self.t.host.number(n)) for n in value.shape)
        return shape, self.t.grows(value)


class Translation:
    """All of a program: values of its nodes, and the graph that they become.

    env       by node: Tensors
    stale     by node: where a tensor was changed through a view of it
    symbolic  is the batch open?
    whole     by path of a module that is one opaque operator: why
    unmade    do zeros stand for buffers on meta?
    eps       the distance of numbers from 1 in the model's type of the fewest digits"""

    def __init__(self, program, model, batch, args, kwargs, name, kinds, loss_name=None, whole=(), unmade=False,
                 widths=Widths()):
        self.loss_name, self.whole, self.unmade = loss_name, whole, unmade
        self.program, self.model, self.batch = program, model, batch
        self.example = args, kwargs
        self.host = Host(program, args, kwargs)
        self.graph = Graph(name, batch, kinds)
        self.widths, self.graph.wide_nodes = widths, widths.wide
        self.leaves = {path for path, module in model.named_modules() if not any(True for _ in module.children())}
        self.env, self.stale, self.params, self._constants = {}, {}, {}, {}
        self.changed = set()  # nodes whose values were known until the network wrote into them, and what reads these
        self.kernels = {}  # by functions of an operator that is written out: how many kernels these take, and what they save
        self.symbolic = bool(self.host.sizes)
        types = {x.dtype for x in (*model.parameters(), *model.buffers()) if x.is_floating_point()}
        self.eps = max(torch.finfo(kind).eps for kind in types | {torch.float32})

    def grows(self, value):
        """The dimension of a value (as PyTorch knows it) that holds the samples, or None."""
        for d, n in enumerate(value.shape):
            if isinstance(n, torch.SymInt) and n.node.expr.free_symbols:
                return d
        if not self.symbolic and value.dim() and value.shape[0] % self.batch == 0:
            return 0  # the batch is fixed: samples are thought to come first
        return None

    # Values ---------------------------------------------------------------------------------------------------------

    def value(self, x):
        """The value of a node, in lists too."""
        return torch.fx.map_arg(x, self._value) if not isinstance(x, torch.fx.Node) else self._value(x)

    def _value(self, node):
        if node in self.stale:
            where = self.stale[node]
            raise Cannot(f"{where}: a view of a tensor that is still read is changed in place")
        if node in self.env:
            return self.env[node]
        value = self.host.values.get(node)  # of a function that an operator takes (torch.cond): none
        if isinstance(value, torch.Tensor):
            return Known(value, node, self.host.is_data(value))
        return value

    def known_tensor(self, call, known, name):
        """An input of the network for what is known beforehand or follows from the model's integers."""
        value = known.value
        if value.is_complex():
            raise table.Unknown("complex numbers that are known, beside others")
        key = known.node, value.dtype
        if key in self._constants:
            return self._constants[key]
        integers = not (value.is_floating_point() or value.dtype == torch.bool)
        if known.data:
            shape, sample = tuple(value.shape), self.grows(known.node.meta["val"])
            wanted = name or (known.node.name if known.node.op == "placeholder" else f"ids.{known.node.name}")
            apart = sample is not None and shape[sample] != self.batch and shape[sample] % self.batch == 0
            declared = shape[:sample] + (self.batch, shape[sample] // self.batch) + shape[sample + 1:] if apart else shape
            if apart and not self._outermost(known, sample):
                raise Cannot(f"{call.where}: integers of all samples are mixed, expected those of a sample side by side")
            tensor = self.graph.add_input(wanted, declared, sample, integers)
            self.graph.sources[tensor.base] = known.node
            tensor = tensor.reshaped(shape) if apart else tensor
        else:
            tensor = self._constant(call, known, integers, name)
        self._constants[key] = tensor
        return tensor

    def _outermost(self, known, dim):
        """Has a value that follows from the samples those of each side by side? With samples in another order, so are they."""
        def turned(x):
            return x.roll(1, 0) if isinstance(x, torch.Tensor) and x.dim() and x.shape[0] == self.batch else x
        other = Host(self.program, *torch.utils._pytree.tree_map(turned, self.example)).values[known.node].to(known.value.dtype)
        each = known.value.unflatten(dim, (self.batch, -1)).roll(1, dim)
        return torch.equal(each.flatten(dim, dim + 1), other)

    def _constant(self, call, known, integers, name):
        """What is alike for every sample is kept once."""
        value = known.value if integers else known.value.to(torch.get_default_dtype())
        grows = self.grows(known.node.meta["val"]) if self.symbolic else None
        if grows is None:
            return self.graph.add_constant(name or call.name("constant"), value.contiguous(), integers)
        each = value.unflatten(grows, (self.batch, -1))
        once = each.select(grows, 0)
        if not torch.equal(once.unsqueeze(grows).expand(each.shape), each):
            raise table.Unknown("a constant that differs from sample to sample; as an argument of the model it becomes an input")
        tensor = self.graph.add_constant(name or call.name("constant"), once.contiguous(), integers)
        view = tensor.view.unsqueeze(grows).expand(each.shape)
        seen = Tensor(tensor.base, tensor.shape, None, view, grows=self.batch)
        return seen.reshaped(value.shape)

    # Nodes ----------------------------------------------------------------------------------------------------------

    def run(self, loss, target=None):
        specs = {s.arg.name: s for s in self.program.graph_signature.input_specs}
        first = {}
        for name, parameter in self.model.named_parameters():
            first[id(parameter)] = name
        every = dict(self.model.named_parameters(remove_duplicate=False))
        for node in self.program.graph.nodes:
            if node.op == "placeholder" and node not in self.host.values:
                spec = specs[node.name]
                if spec.kind == InputKind.PARAMETER:
                    self.env[node] = self._param(first[id(every[spec.target])], every[spec.target])
                else:
                    shape = self.host.shape(node)
                    self.env[node] = self.graph.add_input(node.name, shape, self.grows(node.meta["val"]))
            elif node.op == "call_function" and not self._known(node) and node not in self.env:
                call = next((call for call in Where(node).calls if module_path(call) in self.whole), None)
                self._whole_module(call) if call else self._call(node)
            elif node.op == "output":
                losses.finish(Call(self, node), node, loss, target)
        calls = dict.fromkeys(call for node in self.program.graph.nodes for call in Where(node).calls)
        self.graph.modules = [path for path in map(module_path, calls) if path]
        self.graph.finish()
        return self.graph

    def _known(self, node):
        """Is the value known beforehand? Not what is read of a known tensor after the network wrote into it."""
        if node in self.host.values and any(a in self.changed for a in node.all_input_nodes):
            del self.host.values[node]
            self.changed.add(node)
        return node in self.host.values

    def _param(self, name, parameter):
        if parameter.is_complex():
            raise Cannot(f"parameter '{name}' is {str(parameter.dtype)[6:]}, expected real numbers: torch.view_as_complex() of a parameter of pairs")
        if name not in self.params:
            self.params[name] = self.graph.add_param(name, parameter.detach(), parameter.requires_grad)
        return self.params[name]

    def _whole_module(self, call):
        """A module that is one opaque operator (one for each of its outputs): of all that is read inside."""
        nodes = [n for n in self.program.graph.nodes if n.op == "call_function" and n not in self.host.values and call in Where(n).calls]
        inside = set(nodes)
        given = dict.fromkeys(a for n in nodes for a in n.all_input_nodes if a not in inside)
        values = torch.utils._pytree.tree_leaves([self.env[a] for a in given if a in self.env])
        inputs = list({x.base: x for x in values if isinstance(x, Tensor)}.values())
        for node in nodes:
            self.env[node] = None
        last = next(n for n in reversed(nodes) if any(user not in inside for user in n.users))
        for node in nodes:
            if any(user not in inside for user in node.users):
                at = Call(self, node)
                at.where.path = module_path(call)
                at.where.line, why = self.whole[at.where.path]
                at.operator = type(self.model.get_submodule(at.where.path)).__name__
                value = node.meta["val"]
                if not isinstance(value, torch.Tensor):
                    raise Cannot(f"{at.where.path} ({at.where.line}): a module that is not known gives {type(value).__name__}, "
                                 "expected a tensor")
                self.env[node] = table.opaque_of(at, inputs, *at.out(), why, *((flops_of(nodes, self.host), saved_of(nodes, self.host)) if node is last else ()))

    def _call(self, node):
        if node.target is operator.getitem:
            self.env[node] = self.value(node.args[0])[node.args[1]]
            return
        call = Call(self, node)
        emit, in_place = table.find(node.target)
        args, kwargs = self.value(node.args), self.value(node.kwargs)
        try:
            result = emit(call, *args, **kwargs) if emit else table.opaque(call, "has no operator of ours")
        except table.Unknown as why:
            result = table.opaque(call, str(why))
        except (AssertionError, AttributeError, IndexError, KeyError, RuntimeError, StopIteration, TypeError, ValueError) as why:
            raise Stuck(node, one_line(why)) from why
        self.env[node] = result
        if in_place:
            self._rebind(node.args[0], result)

    def _rebind(self, node, result):
        """An operator in place: its input has the new value from now on, and so has what that is a part of."""
        while isinstance(node, torch.fx.Node) and (node in self.env or node in self.host.values):
            if node not in self.env:
                self.changed.add(node)
            self.env[node] = result
            name = base_name(node.target) if node.op == "call_function" else ""
            if name in shapes.ALIASES:
                node = node.args[0]
            elif name == "select":
                call, (whole, dim, at) = Call(self, node), node.args
                at %= call.t.host.shape(whole)[dim]
                part = call.see(result, lambda v: v.unsqueeze(dim))
                node, result = whole, shapes.replaced(call, self.value(whole), dim, at, at + 1, result=part)
            elif name == "slice":
                node, result = node.args[0], shapes.replaced(Call(self, node), *self.value(node.args), result=result)
            elif name in shapes.RESHAPES:
                call, node = Call(self, node), node.args[0]
                result = call.reshape(result, call.tensor(self.value(node)).size)
            elif name in shapes.VIEWS:
                self.stale[node.args[0]] = Where(node)
                return
            else:
                return


def flops_of(nodes, host):
    """Operations of the products among nodes: two for each element of the result and of the dimension that is summed over."""
    total = 0
    for n in nodes:
        if name_of(n) in PRODUCTS:
            first = n.args[1] if name_of(n) in ("addmm", "baddbmm") else n.args[0]
            with contextlib.suppress(ValueError):  # rows that the network chooses: how many is not known, they are not counted
                total += 2 * math.prod(host.shape(n)) * host.shape(first)[-1]
    return total


def translated(attempt, model, checked):
    """The graph that attempt(whole) makes. Where it is stuck, or where the command refuses it (`checked`), modules of that class are one
    opaque operator each, then those around them."""
    modules, whole = dict(model.named_modules()), {}
    while True:
        try:
            graph = attempt(whole)
            refused = graph.refused() if checked else None
            chosen = [where for where in graph.chosen.values() if where.path and where.path not in whole]
            if refused is None and not chosen:
                return graph
            if refused is None:
                where, why = chosen[0], "elements are chosen by what the network computes"
            elif refused[0] is None:
                raise Cannot(refused[1])
            else:
                where, why = Where(refused[0].node), refused[1]
                where.path = refused[0].path
        except Stuck as stuck:
            where, why = stuck.where, str(stuck)
        except table.Unknown as why:
            raise Cannot(str(why)) from why
        path = where.path
        while path in whole:
            path = path.rpartition(".")[0]
        if path not in modules or not path:
            raise Cannot(f"{where}: {why}; a module of its own for these lines becomes an opaque operator")
        kind = type(modules[path])
        alike = [p for p, m in modules.items() if p and (type(m) is kind if kind is not torch.nn.Sequential else p == path)]
        whole.update({p: (where.line, f"the module is one operator: {why}") for p in alike})
