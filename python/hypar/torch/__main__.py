"""python -m hypar.torch PACKAGE.MODULE:FUNCTION -o model.json - write the graph of a model of PyTorch.

The function returns the model and its arguments: a tensor, a tuple, or a dict of keywords."""
import argparse
import importlib
import os
import sys

from . import Cannot, graph


def main():
    parser = argparse.ArgumentParser(prog="python -m hypar.torch", description=__doc__.split("\n\n")[0].split(" - ")[1],
                                     epilog=__doc__.split("\n\n")[1])
    parser.add_argument("function", metavar="PACKAGE.MODULE:FUNCTION")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="the graph (-: standard output)")
    parser.add_argument("--weights", metavar="FILE", help="also write values of parameters and constants, as safetensors")
    parser.add_argument("--loss", choices=["cross_entropy", "mse_loss"], help="of the first output (the model's own, or what fits)")
    parser.add_argument("--batch-dim", action="append", default=[], metavar="NAME=DIM",
                        help="where argument NAME has its samples (0); -1: nowhere")
    args = parser.parse_args()
    module, _, function = args.function.partition(":")
    if not function:
        parser.error("expected PACKAGE.MODULE:FUNCTION")
    sys.path.insert(0, os.getcwd())
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as why:
        sys.exit(f"hypar.torch: {args.function}: {why}")
    model, given = make()
    dims = {name: None if dim == "-1" else int(dim) for name, _, dim in (d.partition("=") for d in args.batch_dim)}
    positional = () if isinstance(given, dict) else given if isinstance(given, tuple) else (given,)
    try:
        made = graph(model, positional, given if isinstance(given, dict) else {}, loss=args.loss, batch_dims=dims, name=function)
    except Cannot as why:
        sys.exit(f"hypar.torch: {why}")
    for note in dict.fromkeys(made.notes):
        print(f"hypar.torch: note: {note}", file=sys.stderr)
    for o in made.opaque:
        print(f"hypar.torch: {o['name']} is opaque: {o['operator']} in module '{o['module']}' ({o['source']}): {o['why']}", file=sys.stderr)
    if args.output == "-":
        sys.stdout.write(made.json())
    else:
        made.write(args.output, args.weights)


if __name__ == "__main__":
    main()
