"""python -m hypar.torch PACKAGE.MODULE:FUNCTION -o model.json - write the graph of a model of PyTorch.

The function returns the model and its arguments: a tensor, a tuple, or a dict of keywords."""
import argparse
import importlib
import os
import sys

import torch

import hypar
from . import Cannot, graph

BAD_INPUT, NOT_WRITTEN = 3, 4  # exit codes, as the command's


def fail(code, why):
    """One line, whatever the text is."""
    lines = str(why).strip().splitlines() or [type(why).__name__]
    print(f"hypar.torch: {lines[0]}", file=sys.stderr)
    sys.exit(code)


def batch_dim(text):
    """NAME=DIM"""
    name, _, dim = text.partition("=")
    if not name or not dim.lstrip("-").isdigit() or int(dim) < -1:
        raise argparse.ArgumentTypeError(f"'{text}': expected NAME=DIM, DIM -1 or more")
    return name, None if dim == "-1" else int(dim)


def translate(module, function, args):
    """The graph of what the function returns."""
    made = getattr(importlib.import_module(module), function)()
    if not isinstance(made, tuple) or len(made) != 2 or not isinstance(made[0], torch.nn.Module):
        raise Cannot(f"{args.function}: returns {type(made).__name__}, expected a model and its arguments")
    model, given = made
    positional = () if isinstance(given, dict) else given if isinstance(given, tuple) else (given,)
    return graph(model, positional, given if isinstance(given, dict) else {}, loss=args.loss,
                 batch_dims=dict(args.batch_dim), name=function)


def main():
    parser = argparse.ArgumentParser(prog="python -m hypar.torch", description=__doc__.split("\n\n")[0].split(" - ")[1],
                                     epilog=__doc__.split("\n\n")[1])
    parser.add_argument("function", metavar="PACKAGE.MODULE:FUNCTION")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="the graph (-: standard output)")
    parser.add_argument("--weights", metavar="FILE", help="also write values of parameters and constants, as safetensors")
    parser.add_argument("--loss", choices=["cross_entropy", "mse_loss"], help="of the first output (the model's own, or what fits)")
    parser.add_argument("--batch-dim", action="append", default=[], metavar="NAME=DIM", type=batch_dim,
                        help="where argument NAME has its samples (0); -1: nowhere")
    args = parser.parse_args()
    module, _, function = args.function.partition(":")
    if not module or not function:
        parser.error("expected PACKAGE.MODULE:FUNCTION")
    if args.weights and args.output == "-":
        parser.error("--weights needs -o: the graph names the file")
    sys.path.insert(0, os.getcwd())
    try:
        made = translate(module, function, args)
    except SystemExit:
        fail(BAD_INPUT, f"{args.function}: the function ends the program")
    except (Cannot, hypar.Failed) as why:
        fail(BAD_INPUT, why)
    except Exception as why:  # of the user's module and function, or of PyTorch about their model
        fail(BAD_INPUT, f"{args.function}: {type(why).__name__}: {why}")
    for note in dict.fromkeys(made.notes):
        print(f"hypar.torch: note: {note}", file=sys.stderr)
    for o in made.opaque:
        print(f"hypar.torch: {o['name']} is opaque: {o['operator']} in module '{o['module']}' ({o['source']}): {o['why']}", file=sys.stderr)
    try:
        if args.output == "-":
            sys.stdout.write(made.json())
        else:
            made.write(args.output, args.weights)
    except (Cannot, hypar.Failed) as why:
        fail(BAD_INPUT, why)
    except OSError as why:
        fail(NOT_WRITTEN, why)


if __name__ == "__main__":
    main()
