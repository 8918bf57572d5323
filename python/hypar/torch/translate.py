"""The exported graph, node by node: the table says what each becomes."""
import operator
import re

import torch
from torch.export.graph_signature import InputKind

from . import aten, losses, shapes, table, views  # noqa: F401 (aten fills the table)
from .export import Cannot, Host
from .network import Graph
from .views import Tensor


class Known:
    """A value that needs no network (export.Host): a tensor, the node that it comes from, and whether it follows from what
    the model is given."""

    def __init__(self, value, node, data):
        self.value, self.node, self.data = value, node, data

    @property
    def size(self):
        return tuple(self.value.shape)


def module_path(call):
    """The path of the module that is called: of a second call "layer@1" that is "layer"."""
    return "" if call.startswith("_empty_nn_module") else re.sub(r"@\d+", "", call)


class Where:
    """Where an operator comes from: the path of its module and the line of its source."""

    def __init__(self, node):
        self.calls = [path.replace("L['self'].", "") for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
        self.path = module_path(self.calls[-1]) if self.calls else ""
        lines = re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
        self.line = f"{lines[-1][0]}:{lines[-1][1]}" if lines else "source not known"


class Call:
    """One node of the exported graph: what a row of the table works with."""

    def __init__(self, translation, node):
        self.t, self.graph, self.node = translation, translation.graph, node
        self.graph.node = node
        self.where = Where(node)
        self.leaf = self.where.path in translation.leaves

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
    symbolic  is the batch open?"""

    def __init__(self, program, model, batch, args, kwargs, name, kinds):
        self.program, self.model, self.batch = program, model, batch
        self.example = args, kwargs
        self.host = Host(program, args, kwargs)
        self.graph = Graph(name, batch, kinds)
        self.leaves = {path for path, module in model.named_modules() if not any(True for _ in module.children())}
        self.env, self.stale, self.params, self._constants = {}, {}, {}, {}
        self.symbolic = bool(self.host.sizes)

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
            raise Cannot(f"{where.path or 'the model'} ({where.line}): a view of a tensor that is still read is changed in place")
        if node in self.env:
            return self.env[node]
        value = self.host.values[node]
        if isinstance(value, torch.Tensor):
            return Known(value, node, self.host.is_data(value))
        return value

    def known_tensor(self, call, known, name):
        """An input of the network for what is known beforehand or follows from the model's integers."""
        if known.node in self._constants:
            return self._constants[known.node]
        value = known.value
        integers = not (value.is_floating_point() or value.dtype == torch.bool)
        if known.data:
            shape, sample = tuple(value.shape), self.grows(known.node.meta["val"])
            wanted = name or (known.node.name if known.node.op == "placeholder" else f"ids.{known.node.name}")
            tensor = self.graph.add_input(wanted, shape, sample, integers)
            self.graph.sources[tensor.base] = known.node
        else:
            tensor = self._constant(call, known, integers, name)
        self._constants[known.node] = tensor
        return tensor

    def _constant(self, call, known, integers, name):
        """What is alike for every sample is kept once."""
        value = known.value if integers else known.value.to(torch.get_default_dtype())
        grows = self.grows(known.node.meta["val"]) if self.symbolic else None
        if grows is None:
            return self.graph.add_constant(name or call.name("constant"), value.contiguous(), integers)
        each = value.unflatten(grows, (self.batch, -1))
        once = each.select(grows, 0)
        if not torch.equal(once.unsqueeze(grows).expand(each.shape), each):
            raise Cannot(f"{call.where.path or 'the model'} ({call.where.line}): a constant that depends on the sample")
        tensor = self.graph.add_constant(name or call.name("constant"), once.contiguous(), integers)
        view = tensor.view.unsqueeze(grows).expand(each.shape)
        seen = Tensor(tensor.base, tensor.shape, None, view, grows=self.batch)
        return seen.reshaped(value.shape)

    # Nodes ----------------------------------------------------------------------------------------------------------

    def run(self, loss):
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
            elif node.op == "call_function" and node not in self.host.values:
                self._call(node)
            elif node.op == "output":
                self._output(node, loss)
        calls = dict.fromkeys(call for node in self.program.graph.nodes for call in Where(node).calls)
        self.graph.modules = [path for path in map(module_path, calls) if path]
        self.graph.finish()
        return self.graph

    def _param(self, name, parameter):
        if name not in self.params:
            self.params[name] = self.graph.add_param(name, parameter.detach(), parameter.requires_grad)
        return self.params[name]

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
        self.env[node] = result
        if in_place:
            self._rebind(node.args[0], result)

    def _rebind(self, node, result):
        """An operator in place: its input has the new value from now on, and so has what that is a part of."""
        while isinstance(node, torch.fx.Node) and node in self.env:
            self.env[node] = result
            name = table.base_name(node.target) if node.op == "call_function" else ""
            if name in shapes.ALIASES:
                node = node.args[0]
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

    def _output(self, node, loss):
        outputs = [self.value(x) for x in torch.utils._pytree.tree_leaves(node.args[0]) if isinstance(x, torch.fx.Node)]
        mutated = len(self.program.graph_signature.buffers_to_mutate)
        losses.finish(Call(self, node), outputs[mutated:] if len(outputs) > mutated else outputs, loss)
