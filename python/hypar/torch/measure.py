"""What a training step takes in PyTorch, operator by operator: bars of the profiler named by ours, which the command reads."""
import contextlib
import os
import shutil
import statistics
import tempfile
import time

import torch
from torch.export.graph_signature import InputKind, OutputKind

import hypar
from . import files
from .export import Cannot

BAR = "hypar: "
WARM_UP, LEAST_STEPS, MOST_STEPS = 2, 5, 20  # of these as many as a second takes
OPTIMIZERS = {
    "sgd": lambda params: torch.optim.SGD(params, lr=0.0),
    "momentum": lambda params: torch.optim.SGD(params, lr=0.0, momentum=0.9),
    "adam": lambda params: torch.optim.Adam(params, lr=0.0),
    "adamw": lambda params: torch.optim.AdamW(params, lr=0.0),
}
PRECISIONS = {torch.float32: "fp32", torch.float64: "fp64", torch.bfloat16: "bf16", torch.float16: "fp16"}


class Profile:
    """What was measured.

    graph     the model's
    step_s    seconds of a step by itself, without the profiler
    told      what the command says of each batch that was measured, the whole one first: seconds of a step under the
              profiler (step_s), in operators (operators_s), of the optimizer (update_s), in neither (other_s)"""

    def __init__(self, graph, text, step_s, told):
        self.graph, self._text, self.step_s, self.told = graph, text, step_s, told

    def json(self):
        """hypar-profile/1."""
        return self._text

    def write(self, path):
        """The file is whole, or not there."""
        with files.whole(path) as written, open(written, "w") as file:
            file.write(self._text)

    def summary(self):
        whole = self.told[0]
        return (f"a step takes {1e3 * self.step_s:.3g} ms; in the profiler {1e3 * whole['step_s']:.3g} ms: "
                f"operators {1e3 * whole['operators_s']:.3g} ms, update {1e3 * whole['update_s']:.3g} ms, "
                f"other {1e3 * (whole['other_s'] + whole['computed_s'] - whole['operators_s']):.3g} ms; plans with this profile predict "
                "operators and update alone")


# Bars ---------------------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def annotate(model):
    """While it lasts, each module of the model draws a bar in the profiler's trace when it is called, named by its path: a
    trace that `hypar compare --measured` lays beside a plan, module by module."""
    handles = []

    def begin(bar):
        def hook(module, args):
            drawn = torch.profiler.record_function(bar)
            drawn.__enter__()
            module.__dict__.setdefault("_hypar_bars", []).append(drawn)
        return hook

    def end(module, args, result):
        module._hypar_bars.pop().__exit__(None, None, None)

    for path, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(begin(BAR + path), prepend=True))
        handles.append(module.register_forward_hook(end, always_call=True))
    try:
        yield model
    finally:
        for handle in handles:
            handle.remove()
        for module in model.modules():
            module.__dict__.pop("_hypar_bars", None)


def labels(graph):
    """By name of a node of the exported graph: the operators of ours whose time it has. A node that became none (a view, a
    step of what is one operator here) has the label of the first that reads it, or of the last that it reads."""
    nodes = [n for n in graph.program.graph.nodes if n.op in ("call_function", "output")]
    found = {}
    for op in graph.ops:
        found.setdefault(op.node, []).append(op.name)
    found = {node: " + ".join(names) for node, names in found.items()}
    order = {node: i for i, node in enumerate(nodes)}
    for node in reversed(nodes):
        readers = [n for n in node.users if n in found]
        if node not in found and readers:
            found[node] = found[min(readers, key=order.get)]
    for node in nodes:
        read = [n for n in node.all_input_nodes if n in found]
        if node not in found and read:
            found[node] = found[max(read, key=order.get)]
    return {node.name: label for node, label in found.items()}


class Annotated(torch.fx.Interpreter):
    """The exported graph, node by node, each in a bar."""

    def __init__(self, module, by_node):
        super().__init__(module)
        self.by_node = by_node

    def run_node(self, node):
        if node.op != "call_function" or node.name not in self.by_node or not isinstance(node.target, torch._ops.OpOverload):
            return super().run_node(node)
        with torch.profiler.record_function(BAR + self.by_node[node.name]):
            return super().run_node(node)


# A step -------------------------------------------------------------------------------------------------------------------

class Step:
    """A training step of the exported graph on a device; values are copies, so that the model stays as it is."""

    def __init__(self, graph, device, precision, optimizer):
        self.graph, self.device, self.program = graph, device, graph.program
        self.precision = precision
        self._move()
        self.by_node = labels(graph)
        self.annotated = Annotated(self.program.graph_module, self.by_node)
        self.kept, self.params = {}, []
        self.values = [self._value(spec) for spec in self.program.graph_signature.input_specs]
        self.inputs = torch.utils._pytree.tree_leaves(graph.example)
        self.optimizer_name = optimizer
        self.optimizer = optimizer and OPTIMIZERS[optimizer](self.params)

    def _move(self):
        """Devices that stand in the graph; and checks of types, which another precision would not pass."""
        module = self.program.graph_module
        for node in list(module.graph.nodes):
            if getattr(node.target, "_schema", None) and node.target._schema.name == "aten::_assert_tensor_metadata":
                module.graph.erase_node(node)
            elif node.op == "get_attr" and isinstance(getattr(module, node.target, None), torch.Tensor):
                setattr(module, node.target, getattr(module, node.target).to(self.device))
            elif node.op == "call_function":
                place = lambda a: self.device if isinstance(a, torch.device) else a  # noqa: E731
                node.args = torch.utils._pytree.tree_map(place, node.args)
                node.kwargs = torch.utils._pytree.tree_map(place, node.kwargs)
        module.recompile()

    def _copy(self, value):
        """Of one tensor one copy, however often it is named."""
        if not isinstance(value, torch.Tensor):
            return value
        key = (value.data_ptr(), tuple(value.shape), value.stride())
        if key not in self.kept:
            copy = value.detach().clone().to(self.device)
            if isinstance(value, torch.nn.Parameter) and value.requires_grad:
                copy.requires_grad_()
                self.params.append(copy)
            self.kept[key] = value, copy
        return self.kept[key][1]

    def _value(self, spec):
        if spec.kind == InputKind.USER_INPUT:
            return None
        stored = self.program.state_dict if spec.target in self.program.state_dict else self.program.constants
        return self._copy(stored[spec.target])

    def _given(self, batch):
        """All values, inputs cut to a smaller batch."""
        given, inputs = list(self.values), iter(self.inputs)
        nodes = {n.name: n for n in self.program.graph.nodes if n.op == "placeholder"}
        for i, spec in enumerate(self.program.graph_signature.input_specs):
            if spec.kind != InputKind.USER_INPUT:
                continue
            value = next(inputs)
            if isinstance(value, torch.Tensor):
                for d, size in enumerate(nodes[spec.arg.name].meta["val"].shape):
                    if isinstance(size, torch.SymInt):
                        value = value.narrow(d, 0, value.shape[d] * batch // self.graph.batch)
                value = value.detach().to(self.device)
            given[i] = value
        return given

    def batches(self, halvings):
        """The whole batch, and halves of it, where the graph leaves it open."""
        nodes = [n for n in self.program.graph.nodes if n.op == "placeholder"]
        is_open = any(isinstance(size, torch.SymInt) for n in nodes for size in getattr(n.meta.get("val"), "shape", ()))
        found = [self.graph.batch]
        while is_open and len(found) <= halvings and found[-1] % 2 == 0 and found[-1] > 2:
            found.append(found[-1] // 2)  # of one sample alone PyTorch thinks that it is no batch
        return found

    def _loss(self, outputs, bars):
        """The model's own, or one of the kind that the graph has."""
        kinds = [s.kind for s in self.program.graph_signature.output_specs]
        tensors = [x for x, kind in zip(outputs, kinds) if kind in (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT) and
                   isinstance(x, torch.Tensor) and x.is_floating_point()]
        op = next(op for op in self.graph.ops if op.kind in ("cross_entropy", "mse_loss"))
        if op.node.op != "output":
            return next(x for x in tensors if x.dim() == 0)
        x = next(x for x in tensors if x.dim())
        target = torch.zeros_like(x) if op.kind == "mse_loss" else torch.zeros(
            x.movedim(1, -1).shape[:-1] if x.dim() > 3 else x.shape[:-1], dtype=torch.long, device=x.device)
        with torch.profiler.record_function(BAR + self.by_node["output"]) if bars else contextlib.nullcontext():
            if op.kind == "mse_loss":
                return torch.nn.functional.mse_loss(x.float(), target.float())
            x = x.movedim(1, -1) if x.dim() > 3 else x
            return torch.nn.functional.cross_entropy(x.flatten(0, -2).float(), target.flatten())

    def _once(self, given, bars, update):
        for p in self.params:
            p.grad = None
        lower = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(self.precision)
        autocast = lower and next(iter(self.params), torch.empty(0)).dtype == torch.float32
        with torch.autocast(self.device.type, lower) if autocast else contextlib.nullcontext():
            outputs = self.annotated.run(*given, enable_io_processing=False) if bars else self.program.graph_module(*given)
            loss = self._loss(outputs, bars)
        loss.backward()
        if self.optimizer and update:
            self.optimizer.step()
        self._wait()

    def _wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def _count(self, given, steps, update):
        """Warm up; how many steps to take, and seconds of one."""
        for _ in range(WARM_UP):
            self._once(given, False, update)
        times, begun = [], time.perf_counter()
        least, most = (steps, steps) if steps else (LEAST_STEPS, MOST_STEPS)
        while len(times) < least or (len(times) < most and time.perf_counter() - begun < 1):
            start = time.perf_counter()
            self._once(given, False, update)
            times.append(time.perf_counter() - start)
        return len(times), statistics.median(times)

    def measure(self, batch, steps, path):
        """Write a trace of some steps; seconds of one step without the profiler. Updates are those of the whole batch."""
        given, update = self._given(batch), batch == self.graph.batch
        activities = [torch.profiler.ProfilerActivity.CPU]
        if self.device.type == "cuda":
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        steps, seconds = self._count(given, steps, update)
        self._once(given, True, update)
        with torch.profiler.profile(activities=activities) as profiler:
            for i in range(steps):
                with torch.profiler.record_function(f"ProfilerStep#{i}"):
                    self._once(given, True, update)
        profiler.export_chrome_trace(path)
        return seconds


# All of it ----------------------------------------------------------------------------------------------------------------

def machine_of(device):
    """One device of the kind that PyTorch runs on, as the command names it."""
    if device.type == "cpu":
        return "local:1"
    name = torch.cuda.get_device_name(device).lower().replace(" ", "-")
    kinds = [d["name"] for d in hypar.run("machines")["devices"]]
    known = sorted((k for k in kinds if k in name), key=len)
    if not known:
        raise Cannot(f"'{name}' is no device of 'hypar machines': say on='full:1,device=NAME', or a file of it")
    return f"full:1,device={known[-1]}"


def measure(make_graph, model, on, precision, optimizer, steps, halvings, trace):
    """What hypar.torch.profile() says; make_graph() exports the model, which is on the CPU then."""
    tensors = list(model.parameters()) or list(model.buffers())
    device = tensors[0].device if tensors else torch.device("cpu")
    precision = precision or PRECISIONS.get(tensors[0].dtype if tensors else torch.float32, "fp32")
    if device.type not in ("cpu", "cuda"):
        raise Cannot(f"device '{device}': expected the CPU or CUDA")
    if optimizer and optimizer not in OPTIMIZERS:
        raise Cannot(f"optimizer '{optimizer}': expected {', '.join(OPTIMIZERS)}")
    on = on or machine_of(device)
    count = hypar.run("machines", on)["devices"]
    if count != 1:
        raise Cannot(f"{on}: has {count} devices, expected one, as full:1,device=h100")
    model.to("cpu")
    try:
        graph = make_graph()
        step = Step(graph, device, precision, optimizer)
    finally:
        model.to(device)
    with tempfile.TemporaryDirectory(prefix="hypar-") as folder:
        return _measure_all(graph, step, on, steps, halvings, trace, folder)


def _measure_all(graph, step, on, steps, halvings, trace, folder):
    path, profile = os.path.join(folder, "model.json"), os.path.join(folder, "profile.json")
    graph.write(path)
    told, step_s = [], None
    for batch in reversed(step.batches(halvings)):  # of what has no samples the last counts: that of the whole batch
        measured = os.path.join(folder, f"trace-{batch}.json")
        seconds = step.measure(batch, steps, measured)
        options = ["--batch", batch, "--on", on, "--precision", step.precision]
        if step.optimizer:
            options += ["--optimizer", step.optimizer_name]
        if step.device.type == "cpu":
            options += ["--threads", torch.get_num_threads()]
        told.insert(0, {"batch": batch, **hypar.run("profile", path, "--measured", measured, "-o", profile, *options)})
        step_s = seconds
    if trace:
        _keep(measured, trace)
    with open(profile) as file:
        return Profile(graph, file.read(), step_s, told)


def _keep(measured, trace):
    if trace.endswith(".gz"):
        import gzip
        with open(measured, "rb") as whole, gzip.open(trace, "wb") as packed:
            shutil.copyfileobj(whole, packed)
    else:
        shutil.copyfile(measured, trace)
