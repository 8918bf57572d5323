"""The graph that is written: hypar-graph/1, operator by operator."""
import json
import os
import re
import tempfile

from torch._subclasses.fake_tensor import FakeTensor

import hypar

from . import files, safetensors
from .views import Tensor


MOVES = ("reshape", "transpose", "slice", "split", "expand", "concat", "pad")  # the same elements in other places
LAYOUT = (*MOVES, "affine", "identity")


class Op:
    """An operator. `path` is its module's, `leaf` whether that has no modules inside, `given` a name that it keeps, `node`
    the one of the exported graph that it was written for; is `wide`: in fp32 where the parameters are in 16 bits."""

    def __init__(self, name, kind, inputs, attrs, outputs, path, leaf, given, node, wide=False):
        self.name, self.kind, self.inputs, self.attrs, self.outputs = name, kind, inputs, attrs, outputs
        self.path, self.leaf, self.given, self.node, self.wide = path, leaf, given, node, wide
        self.begin = None  # of an operator that the model writes out: the node that it reads

    def wanted(self, taken):
        """The path of its module, if that is this operator alone; else that and its kind."""
        if self.given:
            return self.given
        if self.leaf and self.kind not in LAYOUT and self.path not in taken:
            return self.path
        return f"{self.path}.{self.kind}" if self.path else self.kind


class Graph:
    """A network in hypar's form.

    inputs, params   by name: what JSON says of them
    ops              in order
    constants        by name of an input: its value, which never changes
    weights          by name of a parameter: its value
    modules          paths of modules, once for each call
    notes            what a reader should know: what was left out or stands for something else
    opaque           operators that are not known: their name, module path, source line and PyTorch's operator"""

    def __init__(self, name, batch, kinds):
        self.name, self.batch, self.kinds = name, batch, kinds
        self.inputs, self.params, self.ops, self.outputs = {}, {}, [], []
        self.constants, self.weights, self.modules, self.notes, self.opaque = {}, {}, [], [], []
        self.own_loss = False  # it ends in a loss that stands for another one, or for one that no module has by a name
        self.arguments = []  # tensors that a script of the plan is given: name, shape, type
        self.mixing = []  # where samples are mixed
        self.summed_loss = False  # is the loss a sum over samples, and no mean?
        self.undivided = []  # functions for which DTensor has no rule, with their modules and lines
        self.loss_function = None  # "MODULE:FUNCTION", the user's loss
        self.statistics = {}  # running means and variances of batch norms, as PyTorch names them
        self.sources = {}  # by input that the model's integers become: the node whose value it is
        self.kept_ids = {}  # a loss that ignores labels: which of its input are kept
        self.shapes = {}  # by name of a tensor
        self.products = {}  # by output of a matmul: its operands as they were seen
        self.given = {}  # by output of an operator on each element: its input as it was seen
        self._samples = {}  # by name of a tensor: the dimension that holds them, or None
        self.node = None  # of the exported graph, which operators are written for now
        self.wide_nodes = frozenset()  # nodes of values that are in fp32 where the parameters are in 16 bits
        self.end, self.loss = None, ""  # the operator that is the loss, and what to tell of it
        self.chosen = {}  # by output of an operator that is not known and gives integers: where it is
        self.told = set()  # parameters of which a note or a refusal tells that the loss does not reach them
        self.steps_first = set()  # outputs of recurrent layers that seem to have samples first, but lie in memory with steps first
        self.not_negative = set()  # tensors whose elements are 0 or more
        self._names, self._writer, self._noted = set(), {}, {}

    def unique(self, name):
        """`name`, with a number behind it if it is taken."""
        name, n, wanted = name or "model", 1, name or "model"
        while name in self._names:
            n += 1
            name = f"{wanted}_{n}"
        self._names.add(name)
        return name

    def add_input(self, name, shape, sample, index=False):
        name = self.unique(name)
        self.inputs[name] = {"name": name, "shape": list(shape)}
        if index:
            self.inputs[name]["index"] = True
        if sample != 0 or not shape:
            self.inputs[name]["sample_dim"] = -1 if sample is None else sample
        self.shapes[name], self._samples[name] = tuple(shape), sample
        return Tensor(name, shape, sample)

    def add_constant(self, name, value, index):
        tensor = self.add_input(name, value.shape, None, index)
        self.constants[tensor.base] = value
        return tensor

    def add_param(self, name, value, trained):
        self._names.add(name)
        self.params[name] = {"name": name, "shape": list(value.shape)}
        if not trained:
            self.params[name]["trained"] = False
        self.weights[name], self.shapes[name], self._samples[name] = value, tuple(value.shape), None
        return Tensor(name, value.shape, None)

    def add(self, kind, inputs, attrs, shapes, sample, path, leaf, given=None, suffixes=()):
        """Append an operator; `inputs` are Tensors whose elements are in their places, or None. Returns its outputs.
        It has a number for a name until all operators are known."""
        assert all(x is None or x.plain() for x in inputs), (kind, path)
        name = f"{len(self._writer)} {kind}"
        inputs = [x and x.base for x in inputs]
        while inputs and inputs[-1] is None:
            inputs.pop()
        outputs = [name] + [f"{name}:{s}" for s in suffixes]
        moved = kind in MOVES
        wide = moved and any(map(self.is_wide, inputs)) or not moved and bool(shapes[0]) and self.node in self.wide_nodes
        op = Op(name, kind, inputs, attrs, outputs, path, leaf, given, self.node, wide)
        self.ops.append(op)
        result = []
        for output, shape in zip(outputs, shapes):
            self._writer[output], self.shapes[output], self._samples[output] = op, tuple(shape), sample
            result.append(Tensor(output, shape, sample))
        return result

    def writer(self, tensor):
        """The operator that writes a tensor, or None."""
        return self.writer_of(tensor.base)

    def writer_of(self, name):
        return self._writer.get(name)

    def is_wide(self, name):
        """Is a tensor in fp32 where the parameters are in 16 bits?"""
        op = self.writer_of(name)
        return op is not None and op.wide

    def before_cast(self, tensor):
        """What a tensor is a cast of, to another type, or the tensor itself."""
        op = self.writer(tensor)
        if op is None or op.kind != "identity":
            return tensor
        return Tensor(op.inputs[0], tensor.shape, tensor.sample, tensor.view, tensor.groups)

    def tensor(self, name):
        """A tensor by its name."""
        return Tensor(name, self.shapes[name], self._samples[name])

    def forget(self, ops, kept):
        """Operators that are not to be there, and inputs that they alone read, but for those in `kept`."""
        self.ops = [op for op in self.ops if op not in ops]
        for name in {name for op in ops for name in op.inputs if name in self.inputs and name not in kept and not self.read(name)}:
            del self.inputs[name]
            self._names.remove(name)

    def reached(self, names):
        """All that tensors depend on, by name."""
        found, left = set(), list(names)
        while left:
            name = left.pop()
            if name and name not in found:
                found.add(name)
                left += self._writer[name].inputs if name in self._writer else []
        return found

    def samples_of(self, batch):
        """Inputs of the network that have a batch first."""
        return [self.tensor(name) for name in self.inputs if self._samples[name] == 0 and self.shapes[name][0] == batch]

    def read(self, name):
        return sum(op.inputs.count(name) for op in self.ops)

    def note(self, text, path):
        """What a reader should know of a module: told once for all modules that are alike in this."""
        self._noted.setdefault(text, {})[path] = True

    def finish(self):
        """Leave out what nobody reads, and cut tensors once where they were cut piece by piece."""
        self._sweep()
        self._join_slices()
        self._name()
        for text, paths in self._noted.items():
            first, *others = paths
            self.notes.append(f"{first}{f' and {len(others)} more' if others else ''}: {text}")
        read = {name for op in self.ops for name in op.inputs}
        unread = [name for name in self.params if name not in read and name not in self.told]
        if unread:
            self.notes.append(f"{len(unread)} parameters that nothing on the way to the loss reads are left out ('{unread[0]}')")
        self.params = {name: p for name, p in self.params.items() if name in read}
        self.inputs = {name: p for name, p in self.inputs.items() if name in read}
        self.constants = {name: value for name, value in self.constants.items() if name in read}

    def _sweep(self):
        needed = {*self.outputs, self.end.name}
        kept = []
        for op in reversed(self.ops):
            if any(output in needed for output in op.outputs):
                needed.update(name for name in op.inputs if name)
                kept.append(op)
        self.ops = kept[::-1]

    def _join_slices(self):
        """Slices that make up a whole dimension, as those of queries, keys and values do, are one split."""
        groups = {}
        for op in self.ops:
            if op.kind == "slice" and op.attrs.get("step", 1) == 1:
                groups.setdefault((op.inputs[0], op.attrs["axis"]), []).append(op)
        for (base, axis), ops in groups.items():
            parts = sorted((op.attrs["start"], op.attrs["stop"]) for op in ops)
            joined = all(a[1] == b[0] for a, b in zip(parts, parts[1:]))
            size = self.shapes[base][axis]
            if not (1 < len(ops) <= 32 and joined and parts[0][0] == 0 and parts[-1][1] == size):
                continue
            ops.sort(key=lambda op: op.attrs["start"])
            first = min(ops, key=self.ops.index)
            rename = {op.name: first.name + (f":y{i}" if i else "") for i, op in enumerate(ops)}
            sizes = [b - a for a, b in parts]
            at = self.ops.index(first)
            outputs = [first.name] + [f"{first.name}:y{i}" for i in range(1, len(ops))]
            self.ops[at] = Op(first.name, "split", [base], {"axis": axis, "sizes": sizes}, outputs, first.path, first.leaf, None, first.node,
                              first.wide)
            self.ops = [op for op in self.ops if op not in ops]
            self._rename(rename)

    def _rename(self, names):
        for op in self.ops:
            op.inputs = [names.get(name, name) for name in op.inputs]
        self.outputs = [names.get(name, name) for name in self.outputs]

    def _name(self):
        """Names by module path, now that it is known which operators there are."""
        names = {}
        for op in self.ops:
            old, op.name = op.name, self.unique(op.wanted(self._names))
            for i, output in enumerate(op.outputs):
                names[output] = op.outputs[i] = op.name + output[len(old):]
            self._names.update(op.outputs)
        self._rename(names)
        self.chosen = {names[name]: where for name, where in self.chosen.items() if name in names}
        self.opaque = [{**o, "name": names[o["name"]]} for o in self.opaque if o["name"] in names]

    def json(self, weights=None):
        """The file's text: one input, parameter or operator per line, as hypar itself writes it."""
        def lines(items):
            return "[\n    " + ",\n    ".join(map(json.dumps, items)) + "\n  ]" if items else "[]"
        ops = [{"name": op.name, "kind": op.kind, "inputs": op.inputs, **({"attrs": op.attrs} if op.attrs else {}), **({"fp32": True} if op.wide else {})}
               for op in self.ops]
        members = [("format", '"hypar-graph/1"'), ("name", json.dumps(self.name)), ("batch", str(self.batch))]
        if weights:
            members.append(("weights", json.dumps(weights)))
        members += [("inputs", lines(list(self.inputs.values()))), ("params", lines(list(self.params.values()))),
                    ("ops", lines(ops)), ("outputs", json.dumps(self.outputs))]
        if self.modules:
            members.append(("modules", json.dumps(self.modules)))
        if self.arguments:
            members.append(("arguments", lines(self.arguments)))
        if self.mixing:
            members.append(("mixing", json.dumps(self.mixing)))
        if self.undivided:
            members.append(("undivided", json.dumps(self.undivided)))
        if self.loss_function:
            members.append(("loss_function", json.dumps(self.loss_function)))
        if self.summed_loss:
            members.append(("summed_loss", "true"))
        if self.own_loss:
            members.append(("own_loss", "true"))
        return "{\n  " + ",\n  ".join(f'"{key}": {text}' for key, text in members) + "\n}\n"

    def refused(self):
        """(operator, why) where the command refuses this graph, else None; without an operator: what it says."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph.json")
            with open(path, "w") as file:
                file.write(self.json())
            try:
                hypar.run("import", path)
            except hypar.Failed as why:
                text = str(why).replace(f"hypar: {path}: ", "")
                at = re.match(r"(ops|inputs)\[(\d+)\]", text)
                op = None
                if at and at[1] == "ops":
                    op = self.ops[int(at[2])]
                elif at:
                    name = list(self.inputs)[int(at[2])]
                    op = next(op for op in self.ops if name in op.inputs)
                return op, re.sub(r"^(ops|inputs)\[\d+\]\S*: ", "", text)
        return None

    def write(self, path, weights=None):
        """Write the graph to `path`, and to the file `weights` beside it, if given, values of parameters and constants. Each
        file is whole, or not there; a graph that the command refuses is not written."""
        if weights and any(isinstance(value, FakeTensor) for value in self.weights.values()):
            raise hypar.Failed(f"{weights}: the model is on meta, its parameters have no values to write")
        folder = os.path.dirname(os.path.abspath(path))
        beside = weights and os.path.relpath(weights, folder)
        if beside and (os.path.basename(beside) != beside or beside == os.path.basename(path)):
            raise hypar.Failed(f"{weights}: expected a file of its own in the folder of the graph")
        with files.whole(path) as graph:
            with open(graph, "w") as file:
                file.write(self.json(beside))
            try:
                hypar.run("import", graph)
            except hypar.Failed as why:
                raise hypar.Failed(str(why).replace(graph, path)) from None
            if weights:
                values = {name: self.weights[name].reshape(p["shape"]) for name, p in self.params.items()}
                with files.whole(weights) as written:
                    safetensors.write(written, {**values, **self.statistics, **self.constants})
