"""python -m hypar.torch PACKAGE.MODULE:FUNCTION -o model.json - write the graph of a model of PyTorch.

The function returns the model, or a class or function that makes it, and its arguments: a tensor, a tuple, or a dict of keywords."""
import argparse
import importlib
import math
import os
import sys
import traceback

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # PyTorch's profiler tells on standard error that it begins

import torch  # noqa: E402

import hypar  # noqa: E402
from . import Cannot, graph, losses, profile  # noqa: E402
export = importlib.import_module("hypar.torch.export")  # the package has the function under this name

USAGE, BAD_INPUT, NOT_WRITTEN = 2, 3, 4  # exit codes, as the command's


def fail(code, why):
    """One line, whatever the text is."""
    lines = str(why).strip().splitlines() or [type(why).__name__]
    print(f"hypar.torch: {lines[0]}", file=sys.stderr)
    sys.exit(code)


def refuse(function, why):
    """Fail by what the user's module and function, PyTorch, or this package say of a model."""
    if isinstance(why, SystemExit):
        fail(BAD_INPUT, f"{function}: the function ends the program")
    if isinstance(why, export.Unknown):
        fail(USAGE, why)
    if isinstance(why, (Cannot, hypar.Failed)):
        fail(BAD_INPUT, why)
    fail(BAD_INPUT, f"{function}: {type(why).__name__}: {why}")


def batch_dim(text):
    """NAME=DIM"""
    name, _, dim = text.partition("=")
    if not name or not dim.lstrip("-").isdigit() or int(dim) < -1:
        raise argparse.ArgumentTypeError(f"'{text}': expected NAME=DIM, DIM -1 or more")
    return name, None if dim == "-1" else int(dim)


def loss_of(text, module):
    """A loss by its name: one of ours, MODULE:FUNCTION, or a function of the network's module."""
    return text if text is None or text in losses.LOSSES or ":" in text else f"{module}:{text}"


def model_of(made):
    """The model, which an exported plan also takes as a class or function that makes it; None: it is neither."""
    if callable(made) and not isinstance(made, torch.nn.Module):
        made = made()
    return made if isinstance(made, torch.nn.Module) else None


def translate(module, function, args):
    """The graph of what the function returns, and, if asked for, its profile."""
    made = getattr(importlib.import_module(module), function)()
    model = model_of(made[0]) if isinstance(made, tuple) and len(made) in (2, 3) else None
    if model is None:
        raise Cannot(f"{args.function}: returns {type(made).__name__}, expected a model, or a function that makes it, and its arguments")
    given = made[1]
    positional = () if isinstance(given, dict) else given if isinstance(given, tuple) else (given,)
    how = {"loss": loss_of(args.loss, module), "target": made[2] if len(made) > 2 else None, "batch_dims": dict(args.batch_dim), "name": function}
    keywords = given if isinstance(given, dict) else {}
    if not args.profile:
        return graph(model, positional, keywords, **how), None
    measured = profile(model, positional, keywords, on=args.on, precision=args.precision, optimizer=args.optimizer,
                       trace=args.trace, **how)
    return measured.graph, measured


MOST_KINDS = 3  # of operators that are not known, in one line; --debug tells of all


def opaque_text(opaque, every=False):
    """One line of operators that are not known: each kind once, with the place of its first."""
    alike = {}
    for o in opaque:
        alike.setdefault((o["operator"], o["why"]), []).append(o)
    kinds = list(alike.values())
    shown = kinds if every else kinds[:MOST_KINDS]
    told = []
    for first, *others in shown:
        where = f"module '{first['module']}'" if first["module"] else "the model or its loss"
        told.append(f"{first['name']}{f' and {len(others)} more' if others else ''}: {first['operator']} in {where} ({first['source']}): {first['why']}")
    if len(kinds) > len(shown):
        told.append(f"{len(kinds) - len(shown)} more kind{'s' if len(kinds) > len(shown) + 1 else ''}, which --debug tells")
    return f"{len(opaque)} opaque operator{'s' if len(opaque) > 1 else ''}: {'; '.join(told)}"


def main():
    parser = argparse.ArgumentParser(prog="python -m hypar.torch", description=__doc__.split("\n\n")[0].split(" - ")[1],
                                     epilog=__doc__.split("\n\n")[1])
    parser.add_argument("function", metavar="PACKAGE.MODULE:FUNCTION")
    parser.add_argument("-o", "--output", metavar="FILE", help="the graph (-: standard output, unless there is a profile)")
    parser.add_argument("--weights", metavar="FILE", help="also write values of parameters and constants, as safetensors")
    parser.add_argument("--loss", metavar="NAME|MODULE:FUNCTION",
                        help="cross_entropy or mse_loss of the first output, or a function of what the model returns and of the target "
                             "(the model's own, or what fits)")
    parser.add_argument("--batch-dim", action="append", default=[], metavar="NAME=DIM", type=batch_dim,
                        help="where argument NAME has its samples (0); -1: nowhere")
    parser.add_argument("--profile", metavar="FILE", help="measure a training step, operator by operator, for 'hypar plan --profile'")
    parser.add_argument("--trace", metavar="FILE", help="--profile: keep the profiler's trace, for 'hypar compare --measured'")
    parser.add_argument("--on", metavar="MACHINE", help="--profile: one device, whose times they are (this one)")
    parser.add_argument("--precision", choices=["fp32", "tf32", "bf16", "fp16", "fp64"], help="--profile: bf16 and fp16 by autocast (the parameters')")
    parser.add_argument("--optimizer", choices=["sgd", "momentum", "adam", "adamw"], help="--profile: its step, too")
    parser.add_argument("--debug", action="store_true", help="show where Python fails, and all kinds of opaque operators")
    args = parser.parse_args()
    module, _, function = args.function.partition(":")
    if not module or not function:
        parser.error("expected PACKAGE.MODULE:FUNCTION")
    if module.endswith(".py"):  # a path, where Python wants a module
        name = module[:-3].removeprefix("./").replace("/", ".")
        fail(USAGE, f"{args.function}: expected PACKAGE.MODULE:FUNCTION, a module's name in place of its file: {name}:{function}")
    only = [name for name in ("trace", "on", "precision", "optimizer") if getattr(args, name)]
    if only and not args.profile:
        parser.error(f"--{only[0]} goes with --profile")
    if args.weights and (args.output or "-") == "-":
        parser.error("--weights needs -o: the graph names the file")
    sys.path.insert(0, os.getcwd())
    export.QUIET = not args.debug
    waiting = f"hypar.torch: {args.function}: PyTorch traces the model; large ones take minutes" if sys.stderr.isatty() else ""
    try:
        print(waiting, end="", file=sys.stderr, flush=True)
        made, measured = translate(module, function, args)
    except (Exception, SystemExit) as why:
        if args.debug:
            traceback.print_exc()
        refuse(args.function, why)
    finally:
        print("\r" + " " * len(waiting) + "\r" if waiting else "", end="", file=sys.stderr, flush=True)
    print(f"hypar.torch: loss: {made.loss}", file=sys.stderr)
    for note in dict.fromkeys(made.notes):
        print(f"hypar.torch: note: {note}", file=sys.stderr)
    if made.opaque:
        print(f"hypar.torch: {opaque_text(made.opaque, args.debug)}", file=sys.stderr)
    try:
        if args.output == "-" or not (args.output or measured):
            sys.stdout.write(made.json())
        elif args.output:
            made.write(args.output, args.weights)
            doubled = " (the one sample was doubled, so that the batch stays open)" if made.is_doubled else ""
            numbers = sum(math.prod(p["shape"]) for p in made.params.values())
            print(f"hypar.torch: {args.output}: {len(made.ops)} operators, {len(made.opaque)} of them opaque; {len(made.params)} parameters "
                  f"of {numbers} numbers, batch {made.batch}{doubled}", file=sys.stderr)
        if measured:
            measured.write(args.profile)
            print(f"hypar.torch: {measured.summary()}", file=sys.stderr)
    except (Cannot, hypar.Failed) as why:
        fail(BAD_INPUT, why)
    except OSError as why:
        fail(NOT_WRITTEN, why)


if __name__ == "__main__":
    main()
