Tables and pictures of plans, steps and comparisons, for other programs.
$ hypar plan lenet5 --batch 8 --on torus:2x2 --planner mp -q -o $TMP/plan.json --csv - | sed '4,12d'
> operator,kind,stage,split,parts,devices,recomputed,sharded
> "conv1",conv,,c=4,4,0-3,0,none
> "tanh1",tanh,,r=4,4,0-3,0,none
> "fc3",linear,,c=4,4,0-3,0,none
> "loss",cross_entropy,,r=4,4,0-3,0,none
$ cd $TMP && hypar simulate plan.json --csv - | cut -d , -f 1,5,6 | head -7
> name,peak_memory_bytes,bytes
> "device 0",604004,
> "device 1",573548,
> "device 2",576748,
> "device 3",573548,
> "0 -> 2",,222816
> "2 -> 0",,72288
$ cd $TMP && hypar simulate plan.json --csv step.csv --svg step.svg -q -o out && wc -l <step.csv && head -c 13 step.svg && grep -c '<rect' step.svg && grep -o '>a step.*<\|>lenet5 on.*</text>' step.svg
> 13
> <svg xmlns="h214
> >lenet5 on 4 devices: a step of 39.2 us</text>
$ cd $TMP && hypar compare lenet5 --batch 8 --on torus:2x2 --planner dp,mp --svg steps.svg -q -o out && grep -o '>[a-z0-9., ]*</text>' steps.svg
> >lenet5, batch 8, on 4 devices</text>
> >a simulated training step</text>
> >dp</text>
> >14.8 us</text>
> >mp</text>
> >39.2 us</text>

Where a step has very many tasks, some are drawn as one.
$ hypar simulate examples/plans/pipeline.json --svg - | grep -c 'one bar stands for'
> 0
? 1
$ hypar plan gpt2 --on full:4 --batch 64 --pipeline 4 --micro-batches 32 -q -o $TMP/gpt2.json && hypar simulate $TMP/gpt2.json --svg - | grep -c 'one bar stands for'
> 1

A program that was written by hand has a timeline, too.
$ cd $TMP && printf '{"format": "hypar-program/1", "tasks": [{"id": 0, "on": 0, "seconds": 1e-3}, {"id": 1, "on": 1, "seconds": 2e-3, "after": [0]}]}' >hand.json && hypar simulate hand.json --svg - | grep -c '<title>'
> 2

Graphs for Graphviz.
$ cd $TMP && hypar import lenet5 --batch 8 -q -o net.dot && head -4 net.dot && tail -3 net.dot
> digraph "lenet5" {
>     node [shape=box];
>     0 [label="conv1: conv"];
>     1 [label="tanh1: tanh"];
>     10 -> 11 [label="8x84"];
>     11 -> 12 [label="8x10"];
> }
$ cd $TMP && hypar import lenet5 -q -o net.json && sed 's/"conv1"/"a\\"b"/' net.json | hypar import - -q -o odd.dot && sed -n 3p odd.dot
>     0 [label="a\"b: conv"];

Mistakes.
$ cd $TMP && hypar simulate plan.json --fits --svg x.svg
> hypar: simulate: --fits, --check-delta, --measured and --trace, --timeline, --svg or --csv exclude each other
? 2
$ cd $TMP && hypar simulate plan.json --csv x --svg x
> hypar: --csv: 'x' is what --svg writes, expected another file
? 2
$ cd $TMP && hypar compare plan.json --measured plan.json --svg x.svg
> hypar: compare: --measured does not go with --svg
? 2
$ cd $TMP && hypar simulate plan.json --svg no/x.svg
> hypar: no/x.svg: cannot write: No such file or directory
? 4
$ cd $TMP && ls | grep -c '^x'
> 0
? 1
