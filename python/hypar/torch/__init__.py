"""Networks of PyTorch as graphs of hypar.

    import hypar.torch
    graph = hypar.torch.graph(model, (tokens,))
    graph.write("model.json", weights="model.safetensors")

The model is exported by torch.export in training mode, and each operator of that graph becomes one of ours: the table is in
aten.py, and what it imports. What has no operator of ours becomes opaque, and graph.opaque says where it is."""
import sys

import hypar

from . import files

if sys.argv[:1] == ["-m"] and not {"-h", "--help"} & {*sys.orig_argv}:  # python -m hypar.torch: PyTorch and the model take long to load
    try:
        hypar.command()
        files.check_arguments(sys.orig_argv)
    except (hypar.Failed, OSError) as why:
        print(f"hypar.torch: {why}", file=sys.stderr)
        sys.exit(4 if isinstance(why, OSError) else 3)

import torch  # noqa: E402

from . import dtensor, losses, mixing, table  # noqa: E402
from .export import Cannot, Host, argument_rows, ending_in, export, given_values, on_meta, without_cache, without_values  # noqa: E402
from .measure import annotate, machine_of, measure  # noqa: E402
from .parallel import parallelize, script  # noqa: E402
from .translate import Translation, Where, translated  # noqa: E402

__all__ = ["Cannot", "annotate", "graph", "machine_of", "parallelize", "profile", "samples", "script"]


def _kinds():
    """The kinds of operators that the command knows."""
    return {row["name"] for row in hypar.run("ops")}


def described(function):
    """A function by its module and name, and the line of its source where it is Python."""
    code = getattr(function, "__code__", None)
    name = f"{getattr(function, '__module__', '')}:{getattr(function, '__name__', type(function).__name__)}"
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else name


def graph(model, args=(), kwargs=None, *, loss=None, target=None, batch_dims=None, name=None, kinds=None):
    """The graph of a model's training step.

    args, kwargs   an example of what the model is called with
    loss           "cross_entropy" or "mse_loss" of the first output; a function of what the model returns and of the target, or its
                   "MODULE:FUNCTION"; None: the loss that the model returns (a number), else one that fits its first output and the target
    target         what the loss compares the output with; None: labels or numbers that fit the output. A function takes several as
                   they are given: a tuple or a dict of tensors
    batch_dims     by name of an argument: the dimension of its samples, where it is not 0 (None: it has none)
    kinds          the operators that may be used; None: those that the command `hypar` has"""
    args, kwargs, target = given_values((tuple(args), dict(kwargs or {}), target))
    function, importable = losses.function_of(loss)
    told = function and described(function)
    if not function and not isinstance(target, (torch.Tensor, type(None))):
        raise Cannot(f"the target is a {type(target).__name__}, expected a tensor; several targets need a loss that is a function (--loss MODULE:FUNCTION)")
    checked, kinds, name = kinds is None, kinds or _kinds(), name or type(model).__name__
    with without_values(model) as unknown, without_cache(model) as cached:
        with ending_in(model, function, target) as more:
            made = export(model, args, {**kwargs, **more}, dict(batch_dims or {}), table.known)
        args, kwargs = made.args, made.kwargs
        target = torch.cat([target] * made.times) if isinstance(target, torch.Tensor) else target

        def attempt(whole):
            translation = Translation(made.program, model, made.batch, args, kwargs, name, kinds, told, whole, bool(unknown), made.widths)
            return translation.run(*((None, None) if function else (loss, target)))
        result = translated(attempt, model, checked)
        result.undivided = [f"{Where(node)}: {function}" for function, node in dtensor.without_rule(made.whole, Host(made.whole, args, kwargs)).items()]
        result.mixing, result.summed_loss = mixed(made, function is not None or loss is None)
        result.arguments = made.arguments + (argument_rows("target", target) if target is not None and not function else [])
    if function:
        result.loss_function, result.own_loss = importable, not importable
    if function and not importable:
        result.notes.append("a script of 'hypar export --to torch' cannot import this loss: give a function that a module has by its name, "
                            "or return the loss from the model")
    if result.summed_loss:
        result.notes.append("the loss is a sum over samples: scripts of plans add up those of replicas and micro-batches")
    if cached:
        result.notes.append("the model is exported with use_cache = False: a training step reads no cache of keys and values")
    if unknown:
        result.notes.append(f"buffers on meta have no values, zeros stand for those of {', '.join(unknown[:3])}; operators that depend on "
                            "their values (a mask) may not be recognised, and the prediction then differs; made with device='cpu', "
                            "buffers have values while parameters stay on meta")
    result.program, result.example, result.is_doubled = made.program, (args, kwargs), made.times > 1
    return result


def mixed(made, own):
    """Where the network mixes samples, as texts, and whether its loss is a sum over samples.

    own: is it the model's own loss?"""
    program, args, kwargs, prime = made.counted or (made.whole, made.args, made.kwargs, None)
    node, is_sum = mixing.mixing(program, Host(program, args, kwargs), own, prime)
    return [f"{Where(node)}: {node.target}"] if node is not None else [], is_sum


def profile(model, args=(), kwargs=None, *, on=None, precision=None, optimizer=None, steps=None, halvings=1, trace=None,
            **how):
    """Measure every operator of a training step, on the device that the model is on: a Profile, whose write() is what
    `hypar plan --profile` reads.

    on         the machine that times are those of, one device: None is local:1, or on CUDA the kind that PyTorch names
    precision  None: the parameters'; bf16 or fp16 of fp32 parameters: by autocast
    optimizer  sgd, momentum, adam or adamw: its step, too
    steps      so many are measured; None: as many as a second takes, 5 to 20
    halvings   the batch is halved so often, where the model leaves it open, and each half measured: parts of samples
    trace      a file for the profiler's trace of the whole batch (.json, .json.gz), for `hypar compare --measured`
    how        loss, target, batch_dims, name, kinds: as of graph()

    Views and steps that are part of one operator here count for it. Parts along other axes than samples are not measured:
    the command takes what a loop of the whole takes."""
    if on_meta(model):
        raise Cannot("the model is on meta, where nothing can be measured; expected one on the CPU or on CUDA")
    return measure(lambda: graph(model, args, kwargs, **how), model, on, precision, optimizer, steps, halvings,
                   trace)


def samples(graph, args=(), kwargs=None):
    """What a graph's inputs are, by name, when the model is called so: arrays for `hypar train --data`, samples first. Integers that the
    model computes from its own (labels moved by one token, positions) are computed here."""
    program = graph.program
    host = Host(program, tuple(args), dict(kwargs or {}))
    given = dict(zip(program.graph_signature.user_inputs, torch.utils._pytree.tree_leaves((tuple(args), dict(kwargs or {})))))
    arrays = {}
    for name in graph.inputs:
        if name in graph.constants:
            continue
        node, at = graph.sources.get(name), graph.inputs[name].get("sample_dim", 0)
        if node is None:
            arrays[name] = given[name].movedim(at, 0).contiguous() if name in given and at > 0 else given.get(name)
            continue
        value = host.values[node]
        value = value if graph.inputs[name].get("index") or value.is_floating_point() else value.to(torch.get_default_dtype())  # 1 or 0
        if name in graph.kept_ids:
            shape, start, stop = graph.kept_ids[name]
            value = value.reshape((-1,) + shape[1:])[..., start:stop]
        shape = list(graph.inputs[name]["shape"])
        shape[at] = -1
        arrays[name] = value.reshape(shape).movedim(max(at, 0), 0).contiguous()
    return arrays
