"""torch.export, and the part of its graph that needs no network: constants, and integers made from the model's inputs."""
import contextlib
import inspect
import logging
import operator
import os
import re
import sys
import types
import warnings
from typing import NamedTuple

import torch
from torch._subclasses.fake_impls import op_implementations_dict
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.export.graph_signature import InputKind
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.overrides import TorchFunctionMode

from .functions import is_cast
from .widths import Widths, in_16_bits, widths


class Cannot(Exception):
    """A network that is no graph of ours; the text says where and why."""


class Unknown(Cannot):
    """An option that names what the model does not have."""


QUIET = True  # what PyTorch tells of a model that it cannot export is screens long
OWN = os.path.dirname(torch.__file__) + os.sep
HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def user_line(frames):
    """The innermost of frames (file, line) that is neither PyTorch's nor ours."""
    frames = [(file, line) for file, line in frames if not file.startswith("<") and not os.path.abspath(file).startswith(HERE)]
    frames = [f for f in frames if not f[0].startswith(OWN)] or frames
    return f"{frames[-1][0]}:{frames[-1][1]}" if frames else "source not known"


@contextlib.contextmanager
def quiet():
    """Without what PyTorch writes to standard error by itself."""
    before = logging.root.manager.disable
    with (open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere if QUIET else sys.stderr), warnings.catch_warnings()):
        warnings.simplefilter("ignore" if QUIET else "default")
        logging.disable(logging.CRITICAL if QUIET else before)
        try:
            yield
        finally:
            logging.disable(before)


def _fails_itself(model, args, kwargs):
    """The exception of a model that fails without torch.export, too; None: there is none, or a model on meta cannot tell."""
    kept = {name: b.clone() for name, b in model.named_buffers()}  # running statistics stay as they are
    try:
        with torch.no_grad():
            torch.func.functional_call(model, kept, args, kwargs)
    except Exception as why:  # of whatever kind
        is_known = not any(isinstance(p, FakeTensor) for p in model.parameters()) or not isinstance(why, RuntimeError)
        return why if is_known else None
    return None


def _why(model, why, alone=False):
    """One line of an exception of torch.export, or of the model `alone`: the module and the user's line that it comes from, what it says,
    and the remedy."""
    trace, path, frames, functions, packed = why.__traceback__, "", [], set(), False
    names = {id(module): name for name, module in model.named_modules()}
    while trace:
        code = trace.tb_frame.f_code
        if code.co_name not in ("__getattr__", "__getattribute__"):  # what asks for a member that is not there is of interest
            frames.append((code.co_filename, trace.tb_lineno))
        functions.add(code.co_name)
        packed = packed or any(isinstance(x, torch.nn.utils.rnn.PackedSequence) for x in trace.tb_frame.f_locals.values())
        path = names.get(id(trace.tb_frame.f_locals.get("self")), "") or path
        trace = trace.tb_next
    told = re.findall(r'File "([^"]+)", line (\d+)', str(why))
    line = user_line([(f, n) for f, n in told if not f.startswith(OWN)] or frames)
    first = (str(why).strip().splitlines() or [""])[0].rstrip()
    text = f"{type(why).__name__}: {first}"
    if alone:
        return f"{path or 'the model'} ({line}): the model itself fails, without torch.export, too: {text}"
    if "_detect_is_causal_mask" in functions:
        text = ("the transformer compares its mask with a causal one; tgt_is_causal=True of nn.Transformer, is_causal=True of an encoder, or False of "
                "another mask, tells what it is")
    elif "data-dependent" in first or "DataDependent" in type(why).__name__:
        text = "what the model does here depends on numbers that it computes; torch.where, or torch.cond, leaves both ways in the graph"
    elif "on device meta" in first or "device meta," in first:
        text = ("a tensor on meta that is neither a parameter nor a buffer has no values; register_buffer() makes it one, or make it with "
                "device='cpu'")
    elif packed:
        text = "a packed sequence has sizes that follow from its lengths; give the layer the padded batch, and read of its output what lengths tell"
    elif "'NoneType' object" in first:
        text += "; without torch.export the model makes here what it is not given: give it all its arguments (masks)"
    else:
        text += "; a function under torch.library.custom_op, with its register_fake, in place of this line becomes an opaque operator"
    return f"{path or 'the model'} ({line}): torch.export: {text}"


def _ctc_shapes(mode, func, log_probs, targets, input_lengths, target_lengths, *rest, **kwargs):
    """Of a CTC loss, for which PyTorch has none: a number for each sample, and of its labels, as many as a sample can have, the
    logarithms that the gradient needs."""
    time, n = log_probs.shape[:2]
    longest = targets.shape[-1]
    return log_probs.new_empty((n,)), log_probs.new_empty((n, time, 2 * longest + 1))


for _form in (torch.ops.aten._ctc_loss.default, torch.ops.aten._ctc_loss.Tensor):
    if _form not in op_implementations_dict:
        op_implementations_dict[_form] = _ctc_shapes


def _batched(x, dim, times):
    return torch.cat([x] * times, dim) if times > 1 and dim is not None else x.clone()


class Exported(NamedTuple):
    """A model as torch.export sees it."""
    whole: torch.export.ExportedProgram  # its operators as they are
    program: torch.export.ExportedProgram  # those without rows of ours in smaller steps
    batch: int  # samples of the example
    args: tuple  # the example
    kwargs: dict
    times: int  # how often the example has what was given
    arguments: list  # its tensors, as scripts are given them
    counted: tuple  # (program, args, kwargs, prime): where the model fixes the batch, it with so many samples; else None
    widths: Widths  # of program


def export(model, args, kwargs, batch_dims, known):
    """The exported program of a model in training mode, with a batch that is not fixed where the model allows it.

    known: does an operator have a row of ours?
    batch_dims: by name of an argument, the dimension of its samples (None: it has none); 0 where nothing is said."""
    names = _argument_names(model, args, kwargs)
    for name, dim in batch_dims.items():
        if name not in names:
            raise Unknown(f"--batch-dim {name}={-1 if dim is None else dim}: the model is given no argument '{name}'; it is given "
                          f"{', '.join(repr(given) for given in names)}")
    dims = {name: batch_dims.get(name, 0) for name in names}
    batch = _samples(names, dims)
    times = 2 if batch == 1 else 1  # a single sample would be taken for a fixed size

    def example(name, value):
        return torch.utils._pytree.tree_map(
            lambda x: _batched(x, dims[name], times) if isinstance(x, torch.Tensor) else x, value)

    def dynamic(name, value):
        return torch.utils._pytree.tree_map(
            lambda x: ({dims[name]: torch.export.Dim.AUTO} if dims[name] is not None else None)
            if isinstance(x, torch.Tensor) else None, value)

    positional = list(names)[:len(args)]
    args = tuple(example(name, names[name]) for name in positional)
    kwargs = {name: example(name, value) for name, value in kwargs.items()}
    shapes = {name: dynamic(name, value) for name, value in names.items()}
    with _training(model), quiet(), _CastsApart():
        try:
            program = torch.export.export(model, args, kwargs, dynamic_shapes=shapes, strict=False)
        except Exception:  # of whatever kind: a model that fixes the batch is still a network
            program = None
        if program is None or _fixes_some(program, [*zip(positional, args), *kwargs.items()], dims):
            try:
                program = torch.export.export(model, args, kwargs, strict=False)
            except Exception as why:
                itself = _fails_itself(model, args, kwargs)
                raise Cannot(_why(model, itself or why, bool(itself))) from why
    if any(spec.kind.name == "TOKEN" for spec in program.graph_signature.input_specs):
        raise Cannot("an operator does more than it returns (a check of values, a print), which no operator of ours does")
    _inline(program.graph_module)
    _as_written(program)
    with quiet():
        smaller = _decomposed(program, args, kwargs, known)
        in_short = _widths(model, smaller, args, kwargs, known)
    rows = [row for name, value in {**dict(zip(positional, args)), **kwargs}.items() for row in argument_rows(name, value, dims[name])]
    fixed = not any(map(_is_open, _sizes(program)))
    counted = _counted(model, program, args, kwargs, {**dims, None: batch * times}) if fixed else None
    return Exported(program, smaller, batch * times, args, kwargs, times, rows, counted, in_short)


class _CastsApart(TorchFunctionMode):
    """A cast to the type that a tensor has is a tensor of its own. Else later readers of a tensor are told to read the cast: they have the
    same object."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function in (torch.Tensor.to, torch.Tensor.float, torch.Tensor.double, torch.Tensor.type_as) and args[0].is_floating_point():
            given = [x.dtype if isinstance(x, torch.Tensor) else x for x in (*args[1:], *kwargs.values())]
            fixed = {torch.Tensor.float: torch.float32, torch.Tensor.double: torch.float64}.get(function)
            kind = next((x for x in (fixed, *given) if isinstance(x, torch.dtype)), None)
            if kind == args[0].dtype:
                return args[0].to(kind, copy=True)
        return function(*args, **kwargs)


def _widths(model, program, args, kwargs, known):
    """What a program is where the parameters are in 16 bits: the model is traced a second time, so."""
    casts = any(is_cast(n) or torch.float32 in n.kwargs.values() for n in program.graph.nodes if n.op == "call_function")
    for buffers in (False, True) if casts else ():
        try:
            with _training(model), in_16_bits(model, buffers) as narrow, _CastsApart():
                given, named = torch.utils._pytree.tree_map(narrow, (args, kwargs))
                short = torch.export.export(model, given, named, strict=False)
                _inline(short.graph_module)
                short = _decomposed(short, given, named, known)
                return widths(program, short, Host(program, args, kwargs).values, Host(short, given, named))
        except Exception:  # of whatever kind: a model that cannot be in 16 bits
            continue
    return Widths()


def _fixes_some(program, given, dims):
    """Does the model fix the batch of some arguments (by len(x)) and leave that of others open? Then sizes do not tell where samples are."""
    values = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    leaves = [(x, dims[name]) for name, value in given for x in torch.utils._pytree.tree_leaves(value)]
    is_open = {_is_open(values[name].shape[d]) for name, (x, d) in zip(program.graph_signature.user_inputs, leaves)
               if isinstance(x, torch.Tensor) and d is not None and x.dim() > d}
    return len(is_open) > 1


def _is_open(n):
    return isinstance(n, torch.SymInt) and bool(n.node.expr.free_symbols)


def _sizes(program):
    """Sizes of all tensors."""
    return [n for node in program.graph.nodes if isinstance(node.meta.get("val"), torch.Tensor) for n in node.meta["val"].shape]


def _counted(model, program, args, kwargs, dims):
    """A model that fixes the batch, exported with a prime number of samples by which no other size can be divided: its multiples are
    sizes that follow from the batch."""
    sizes = {int(n) for n in _sizes(program)}
    prime = next(p for p in (127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191) if not any(n and n % p == 0 for n in sizes))
    names = _argument_names(model, args, kwargs)

    def more(name, value):
        d = dims[name]
        return torch.utils._pytree.tree_map(
            lambda x: torch.cat([x.narrow(d, 0, x.shape[d] // dims[None])] * prime, d) if isinstance(x, torch.Tensor) and d is not None and x.dim() > d else x, value)
    given = {name: more(name, value) for name, value in names.items()}
    args, kwargs = tuple(given[name] for name in [*names][:len(args)]), {name: given[name] for name in kwargs}
    with _training(model), quiet():
        try:
            program = torch.export.export(model, args, kwargs, strict=False)
        except Exception:  # of whatever kind: the model knows no other batch
            return None
    _inline(program.graph_module)
    return program, args, kwargs, prime


def argument_rows(name, value, sample_dim=0):
    """The tensors of an argument as the graph has them: name, shape, type, and where it is not the first, the dimension of samples."""
    return [{"name": ".".join([name, *keys_of(path)]), "shape": list(x.shape), "type": str(x.dtype)[6:],
             **({} if sample_dim == 0 and x.dim() else {"sample_dim": -1 if sample_dim is None or not x.dim() else sample_dim})}
            for path, x in torch.utils._pytree.tree_flatten_with_path(value)[0] if isinstance(x, torch.Tensor)]


def keys_of(path):
    """The keys and numbers that lead to an element of lists and dicts."""
    return [str(getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))) for key in path]


def _samples(names, dims):
    """How many samples the arguments have, all alike."""
    given = [(name, x, dims[name]) for name, value in names.items() for x in torch.utils._pytree.tree_leaves(value)
             if isinstance(x, torch.Tensor) and dims[name] is not None and x.dim() > dims[name]]
    if not given:
        raise Cannot("no argument of the model is a tensor with samples, expected one")
    batch = min(x.shape[d] for _, x, d in given)
    for name, x, d in given:
        if not batch or x.shape[d] != batch and (x.dim() > 1 or x.shape[d] % batch):  # one dimension: labels, flattened
            first = next(other for other in given if other[1].shape[other[2]] == batch)
            raise Cannot(f"argument '{name}' {list(x.shape)} has {x.shape[d]} samples and '{first[0]}' {list(first[1].shape)} has {batch}, expected one "
                         f"number; --batch-dim NAME=DIM says where samples are, --batch-dim {first[0]}=-1 that '{first[0]}' has none")
    return batch


def on_meta(model):
    return any(t.is_meta for t in (*model.parameters(), *model.buffers()))


@contextlib.contextmanager
def without_values(model):
    """A model on "meta", for as long, with parameters that have no values but are on the CPU for all that PyTorch knows. Buffers are
    made: masks and tables of positions are part of the network; yields the names of those that nothing gives values to."""
    kept = [(m, dict(m._parameters), dict(m._buffers)) for m in model.modules()] if on_meta(model) else []
    mode = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)
    made, unknown = {}, []

    def fake(p):
        if id(p) not in made:
            with mode:
                made[id(p)] = torch.nn.Parameter(torch.empty(p.shape, dtype=p.dtype), p.requires_grad)
        return made[id(p)]
    try:
        for module, parameters, buffers in kept:
            module._parameters.update({name: fake(p) for name, p in parameters.items() if p is not None and p.is_meta})
            empty = {name: torch.zeros(b.shape, dtype=b.dtype) for name, b in buffers.items() if b is not None and b.is_meta}
            module._buffers.update(empty)
            if empty and not _begin(model, module):
                unknown += [f"{type(module).__name__}.{name}" for name in empty]
        yield list(dict.fromkeys(unknown))
    finally:
        for module, parameters, buffers in kept:
            module._parameters.update(parameters)
            module._buffers.update(buffers)


def _begin(model, module):
    """Give a module's buffers the values that they begin with: as models of Hugging Face do, or as batch norms do."""
    begin = getattr(module, "reset_running_stats", None) or (hasattr(model, "_init_weights") and (lambda: model._init_weights(module)))
    if begin:
        with torch.no_grad():
            begin()
    return bool(begin)


@contextlib.contextmanager
def without_cache(model):
    """A model of Hugging Face, for as long, without the cache of keys and values that its configurations turn on: a training step reads
    no cache, and torch.export refuses a model that returns one. Yields whether a cache was turned off."""
    configs = [getattr(module, "config", None) for module in model.modules()]
    configs = [config for config in {id(c): c for c in configs}.values() if getattr(config, "use_cache", False) is True]
    for config in configs:
        config.use_cache = False
    try:
        yield bool(configs)
    finally:
        for config in configs:
            config.use_cache = True


def given_values(x):
    """Arguments; zeros in place of those on "meta"."""
    return torch.utils._pytree.tree_map(
        lambda t: torch.zeros(t.shape, dtype=t.dtype) if isinstance(t, torch.Tensor) and t.is_meta else t, x)


@contextlib.contextmanager
def ending_in(model, function, target):
    """The model, for as long, with a function of what it returns and of the target at its end; yields the arguments that it then takes
    besides its own."""
    if function is None:
        yield {}
        return
    with contextlib.suppress(ValueError):  # of a function in C nothing is known
        try:
            inspect.signature(function).bind(*([None] if target is None else [None, None]))
        except TypeError as why:
            wanted = "what the model returns" + ("" if target is None else " and of the target, one tensor, tuple or dict")
            raise Cannot(f"the loss {getattr(function, '__name__', function)}: {why}; expected a function of {wanted}") from None
    if inspect.isfunction(function):  # torch.export keeps the lines of functions of this name
        named = types.FunctionType(function.__code__.replace(co_name="forward"), function.__globals__, "forward", function.__defaults__, function.__closure__)
        named.__kwdefaults__, function = function.__kwdefaults__, named
    forward, signature = model.forward, inspect.signature(model.forward)
    name = "target"
    while name in signature.parameters:
        name += "_"

    def with_loss(*args, **kwargs):
        given = [kwargs.pop(name)] if target is not None else []
        return function(forward(*args, **kwargs), *given)

    parameters = list(signature.parameters.values())
    if target is not None:
        at = len(parameters) - (bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD)
        parameters.insert(at, inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY))
    with_loss.__signature__ = signature.replace(parameters=parameters)
    model.forward = with_loss
    try:
        yield {} if target is None else {name: target}
    finally:
        del model.forward


def _decomposed(program, args, kwargs, known):
    """The program with what has no row of ours in smaller steps, where PyTorch knows such; all else stays as it is."""
    for _ in range(4):  # steps may have steps
        host = Host(program, args, kwargs).values
        unknown = {n.target for n in program.graph.nodes if n.op == "call_function" and n not in host and not known(n.target)}
        unknown = {t for t in unknown if isinstance(t, torch._ops.OpOverload)}
        steps = torch.export.default_decompositions() if unknown else {}
        table = {target: steps[target] for target in unknown if target in steps}
        if not table:
            break
        with _casts_kept(program):
            program = program.run_decompositions(table)
        _as_written(program)
    return program


def _is_idle(node):
    """A cast to the type that numbers have: of a model in fp32, where one in 16 bits has another type."""
    return is_cast(node) and node.args[0].meta["val"].dtype == node.meta["val"].dtype


@contextlib.contextmanager
def _casts_kept(program):
    """PyTorch traces no casts to the type that numbers have: for as long, they are copies."""
    kept = [(n, n.target, n.args, n.kwargs) for n in program.graph.nodes if _is_idle(n)]
    for node, *_ in kept:
        node.target, node.args, node.kwargs = torch.ops.aten._to_copy.default, node.args[:1], {"dtype": node.meta["val"].dtype}
    program.graph_module.recompile()
    try:
        yield
    finally:
        for node, target, args, kwargs in kept:
            node.target, node.args, node.kwargs = target, args, kwargs
        program.graph_module.recompile()


def _as_written(program):
    """Copies are casts again."""
    for node in program.graph.nodes:
        if _is_idle(node) and node.target in (torch.ops.aten._to_copy.default, torch.ops.aten.to.dtype):
            node.target, node.args, node.kwargs = torch.ops.aten.to.dtype, (node.args[0], node.meta["val"].dtype), {}
    program.graph_module.recompile()


def _argument_names(model, args, kwargs):
    """Arguments by the names that the model's forward gives them."""
    signature = inspect.signature(model.forward)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as why:
        raise Cannot(f"forward{signature} of the model does not take the arguments, {len(args) + len(kwargs)} of them: {why}; "
                     "a target of the loss is returned behind the arguments: model, arguments, target") from None
    names = {}
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            names.update(value)
        else:
            names[name] = value
    return names


@contextlib.contextmanager
def _training(model):
    """The model in training mode; afterwards each module in the mode that it had. A layer that is left out at random, by a
    number that is drawn for it (LayerDrop), is not left out: the graph has all layers."""
    modes = [(module, module.training) for module in model.modules()]
    rand = torch.rand
    torch.rand = lambda *size, **kwargs: 1.0 if size in ((), ([],), ((),)) else rand(*size, **kwargs)
    model.train()
    try:
        yield
    finally:
        torch.rand = rand
        for module, mode in modes:
            module.training = mode


def _inline(module):
    """Put what runs under no_grad or autocast, a function of its own in the exported graph, where it is called."""
    graph = module.graph
    for node in list(graph.nodes):
        if node.op != "call_function" or not str(node.target).startswith("wrap_with_"):
            continue
        at = next(i for i, a in enumerate(node.args) if isinstance(a, torch.fx.Node) and a.op == "get_attr")
        inner = getattr(module, node.args[at].target)
        _inline(inner)
        for name, child in inner.named_children():
            setattr(module, f"{node.args[at].target}_{name}", child)
        given = iter(node.args[at + 1:])
        values = {p: next(given) for p in inner.graph.nodes if p.op == "placeholder"}
        with graph.inserting_before(node):
            for n in inner.graph.nodes:
                if n.op in ("placeholder", "output"):
                    continue
                values[n] = graph.node_copy(n, lambda old: values[old])
                if n.op == "get_attr":
                    values[n].target = f"{node.args[at].target}_{n.target}"
                    if not hasattr(module, values[n].target):
                        setattr(module, values[n].target, getattr(inner, n.target))
        result = next(n for n in inner.graph.nodes if n.op == "output").args[0]
        result = torch.fx.map_arg(result, lambda n: values[n])
        if "set_grad_enabled" in str(node.target) and node.args[0] is False:
            with graph.inserting_before(node):
                result = torch.fx.map_arg(result, lambda n: _detached(graph, n))
        for user in list(node.users):
            if user.target is operator.getitem:
                user.replace_all_uses_with(result[user.args[1]])
                graph.erase_node(user)
        if node.users:
            node.replace_all_uses_with(result[0] if isinstance(result, (tuple, list)) else result)
        graph.erase_node(node)
    graph.lint()


def _detached(graph, node):
    """What a node computed under no_grad, behind it."""
    result = graph.call_function(torch.ops.aten.detach.default, (node,))
    result.meta = dict(node.meta)
    return result


class Host:
    """Values that are known without running the network, or that follow from the model's integers: token ids, labels,
    masks. They are computed here, as PyTorch does it.

    values  by node: tensors and numbers
    data    is a value (by its storage) made from what the model is given?"""

    def __init__(self, program, args, kwargs):
        self.program, self.values, self._data, self._kept = program, {}, set(), []
        given = dict(zip(program.graph_signature.user_inputs, torch.utils._pytree.tree_leaves((args, kwargs))))
        self.sizes = self._bind(given)
        specs = {s.arg.name: s for s in program.graph_signature.input_specs}
        for node in program.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node, specs[node.name], given.get(node.name))
            elif node.op == "get_attr":
                value = getattr(program.graph_module, node.target)
                if isinstance(value, torch.Tensor):
                    self._keep(node, value.clone())
            elif node.op == "call_function":
                self._call(node)

    def _bind(self, given):
        """What symbols of sizes stand for."""
        sizes = {}
        for node in self.program.graph.nodes:
            value = node.meta.get("val")
            if node.op == "placeholder" and isinstance(value, torch.Tensor) and node.name in given:
                for symbol, size in zip(value.shape, given[node.name].shape):
                    if isinstance(symbol, torch.SymInt) and symbol.node.expr.is_Symbol:
                        sizes[symbol.node.expr] = int(size)
        return sizes

    def number(self, value):
        """A size, with what its symbols stand for."""
        if isinstance(value, (torch.SymInt, torch.SymBool, torch.SymFloat)):
            kind = {torch.SymInt: int, torch.SymBool: bool, torch.SymFloat: float}[type(value)]
            expression = value.node.expr.xreplace(self.sizes)
            if getattr(expression, "free_symbols", None):
                raise ValueError("a size that the network computes")
            return kind(expression)
        return value

    def shape(self, node):
        value = node.meta["val"]
        return tuple(int(self.number(n)) for n in value.shape)

    def is_data(self, value):
        return isinstance(value, torch.Tensor) and value.untyped_storage().data_ptr() in self._data

    def _keep(self, node, value, data=False):
        self.values[node] = value
        for t in value if isinstance(value, (tuple, list)) else [value]:
            if isinstance(t, torch.Tensor):
                self._kept.append(t)
                if data:
                    self._data.add(t.untyped_storage().data_ptr())

    def _placeholder(self, node, spec, given):
        if spec.kind == InputKind.USER_INPUT:
            if not isinstance(given, torch.Tensor):
                self.values[node] = given
            elif not given.is_floating_point():
                self._keep(node, given.clone(), data=True)
        elif spec.kind == InputKind.BUFFER:
            buffers = self.program.constants if spec.target in self.program.constants else self.program.state_dict
            self._keep(node, buffers[spec.target].detach().clone())
        elif spec.kind == InputKind.CONSTANT_TENSOR:
            self._keep(node, self.program.constants[spec.target].detach().clone())

    def _fill(self, node):
        """A tensor of one number, which follows from another's shape alone. What is not begun with values has zeros."""
        name = getattr(node.target, "_schema", None) and node.target._schema.name
        number = {"aten::new_zeros": 0, "aten::zeros_like": 0, "aten::new_ones": 1, "aten::ones_like": 1, "aten::empty": 0, "aten::new_empty": 0,
                  "aten::empty_like": 0}.get(name)
        if name in ("aten::new_full", "aten::full_like"):
            number = node.args[2] if name == "aten::new_full" else node.args[1]
        if isinstance(number, torch.fx.Node):
            number = self.values.get(number)
        if number is None:
            return False
        self._keep(node, torch.full(self.shape(node), number, dtype=node.meta["val"].dtype))
        return True

    def _like(self, node):
        """A known value in the shape of another one, which need not be known."""
        name = getattr(node.target, "_schema", None) and node.target._schema.name
        if name not in ("aten::expand_as", "aten::view_as", "aten::reshape_as") or not isinstance(self.values.get(node.args[0]), torch.Tensor):
            return False
        value = self.values[node.args[0]]
        shape = self.shape(node)
        self._keep(node, value.expand(shape) if name == "aten::expand_as" else value.reshape(shape), self.is_data(value))
        return True

    def _call(self, node):
        value = node.meta.get("val")
        if isinstance(value, (torch.SymInt, torch.SymBool, torch.SymFloat)):
            with contextlib.suppress(ValueError):  # of a size that the network computes nothing is known
                self.values[node] = self.number(value)
            return
        if self._fill(node) or self._like(node):
            return
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            return
        if any(n not in self.values for n in node.all_input_nodes):
            return
        args = torch.fx.map_arg(node.args, lambda n: self.values[n])
        kwargs = torch.fx.map_arg(node.kwargs, lambda n: self.values[n])
        with torch.no_grad():
            result = node.target(*args, **kwargs)
        data = any(self.is_data(a) for a in torch.utils._pytree.tree_leaves((args, kwargs)))
        self._keep(node, result, data)
        if data and getattr(getattr(node.target, "_schema", None), "is_mutable", False):
            self._keep(node, args[0] if node.args else result, True)
            self.values[node] = result
