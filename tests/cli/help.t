Help goes to standard output; it comes from the tables.
$ hypar --help
> Usage: hypar COMMAND [OPTION...] [OPERAND]
> How to split the training of a neural network over many devices.
>
> Commands:
>   plan       find how to split a model over a machine
>   compare    planners, or plans, side by side, simulated
>   simulate   predict one training step: time, traffic, memory, energy
>   explain    why a step takes as long as it does, and what would help
>   report     a plan and its step as one page for a browser
>   explore    sweep batches, devices, parallelisms, topologies, bandwidths
>   export     write a plan for PyTorch, Megatron-LM or DeepSpeed to run
>   lower      make a plan explicit: every task and every byte
>   train      run a plan for real
>   profile    measure what this machine takes, for predictions on local:N
>   import     convert, check and print a model's graph
>   check      does a plan fit its graph and its machine
>   fit        fit a device's figures to measurements
>   models     list the models of the zoo, or describe one
>   machines   list topologies and devices, or describe one machine
>   frameworks list frameworks, the ways a job is run, or describe one
>   planners   list the planners
>   ops        list the operators and the axes a plan may split
>   completion print completion for bash, zsh or fish
>
> 'hypar COMMAND --help' tells the options of one.

$ hypar help import
> Usage: hypar import [OPTION...] MODEL
> Read MODEL, a name of the zoo ('hypar models' lists it) or a file, check it and
> print its graph. -o writes the graph as a JSON file; if FILE ends in .txt, its
> measured times as a PipeDream profile; in .dot, a picture for Graphviz.
>
>       --attention=HOW        transformers of the zoo: fused, or unfused: scores
>                              lie in memory (fused)
>       --batch-dim=NAME=DIM   ONNX: the dimension of input NAME with the samples
>                              (0)
>   -b, --batch=N              samples in one training step (as the model says)
>       --dim=NAME=N           ONNX: size of the symbolic dimension NAME
>       --follow-links         follow links that lead to weights outside the
>                              model's folder
>       --json                 report as JSON, in SI units
>   -o, --output=FILE          write the result to FILE (-: standard output)
>   -q, --quiet                no progress, no notes; with -o no summary
>   -h, --help                 print this help

Help wins over whatever else the line says.
$ hypar check --help --frob
> Usage: hypar check [OPTION...] PLAN
> Read PLAN with the model and the machine that it names, and check that they fit
> together, and that all of a training step fits into memory. If not, the message
> names the operator or the device, and the reason.
>
>       --as=FRAMEWORK         the job is run as fsdp, megatron, nemo, ... or a
>                              file says, fsdp,kernels=compiled ('hypar
>                              frameworks'; compiled, or what a plan says)
>       --detail               show the plan: its stages, and how operators are
>                              split
>       --follow-links         follow links that lead to weights outside the
>                              model's folder
>       --json                 report as JSON, in SI units
>       --memory=BYTES         limit per device, such as 16GB (the plan's, else
>                              the device's own)
>       --model=MODEL          check against MODEL instead of the plan's
>   -m, --on=MACHINE           check against MACHINE instead of the plan's
>   -o, --output=FILE          write the result to FILE (-: standard output)
>   -q, --quiet                no progress, no notes; with -o no summary
>       --svg=FILE             write a picture of the plan to FILE
>   -h, --help                 print this help

$ hypar models -h
> Usage: hypar models [OPTION...] [MODEL]
> List the models that are built in: parameters, operations, layers. With MODEL,
> a name of that list, show its options, their defaults and their bounds.
>
>       --json                 report as JSON, in SI units
>   -o, --output=FILE          write the result to FILE (-: standard output)
>   -q, --quiet                no progress, no notes; with -o no summary
>   -h, --help                 print this help

$ hypar machines --help
> Usage: hypar machines [OPTION...] [MACHINE]
> List the topologies and devices that a machine word may name, and the machines
> and devices of this site. With MACHINE, a word such as torus:4x4 or
> cluster:4x8,device=h100, a name of the site or a JSON file, describe that
> machine; then -o writes it as a JSON file, to be edited and read back.
>
>       --json                 report as JSON, in SI units
>   -o, --output=FILE          write the result to FILE (-: standard output)
>   -q, --quiet                no progress, no notes; with -o no summary
>   -h, --help                 print this help

$ hypar ops --help
> Usage: hypar ops [OPTION...] [NAME]
> List the operators of graphs, and for each the axes that a plan may split. With
> NAME, describe this operator: axes, operands, passes and attributes.
>
>       --json                 report as JSON, in SI units
>   -o, --output=FILE          write the result to FILE (-: standard output)
>   -q, --quiet                no progress, no notes; with -o no summary
>   -h, --help                 print this help
