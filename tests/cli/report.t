One page that stands alone.
$ hypar plan lenet5 --on torus:2x2 --planner dp -q -o $TMP/plan.json
$ cd $TMP && hypar report plan.json -o report.html && head -c 15 report.html && tail -c 8 report.html && ls
> <!DOCTYPE html></html>
> plan.json
> report.html
$ cd $TMP && hypar report plan.json | cmp - report.html
$ cd $TMP && grep -c -E 'https?://' report.html; grep -o -E 'https?://[a-z0-9./]*' report.html | sort -u
> 1
> http://www.w3.org/2000/svg

What the page is told, which is what other commands tell.
$ cd $TMP && hypar report plan.json --json | grep -E '"(step_s|mfu|batch)": ' | head -3
>     "batch": 32,
>     "step_s": 1.5941846e-05,
>     "mfu": 0.07988014328297735,
$ cd $TMP && hypar simulate plan.json --json | grep -E '"(step_s|mfu|batch)": '
>   "step_s": 1.5941846e-05,
>   "batch": 32,
>   "mfu": 0.07988014328297735,

Links by class, network cards first; each class keeps its busiest link.
$ hypar plan lenet5 --batch 64 --on cluster:2x4 --planner hypar -q -o $TMP/cards.json; hypar report $TMP/cards.json --json -q | grep -o -e '"name": "[a-z ]*\( -> [a-z]*\)\?", "bytes_per_s": [0-9e.+]*, "links": [0-9]*'
> "name": "network cards out", "bytes_per_s": 12500000000, "links": 2
> "name": "network cards in", "bytes_per_s": 12500000000, "links": 2
> "name": "device -> switch", "bytes_per_s": 150000000000, "links": 8
> "name": "switch -> device", "bytes_per_s": 150000000000, "links": 8

Beside it what planners find, and what was measured.
$ cd $TMP && hypar report plan.json --planner dp,hypar --json | grep -E '"(plan|planner)": "'
>     "planner": "dp",
>       "plan": "plan.json",
>       "planner": "dp",
>       "planner": "hypar",
$ cd $TMP && hypar train plan.json --in-process --steps 2 --trace trace.json -q >/dev/null && hypar report plan.json --measured trace.json --json | grep -E '"(measured|ranks)": [{0-9]'
>   "measured": {
>     "ranks": 4,

Mistakes, none of which leaves a file.
$ cd $TMP && hypar report plan.json --planner nobody -o bad.html
> hypar: unknown planner 'nobody', expected one of auto, dp, mp, owt, hypar, accpar, optcnn, 1f1b, gpipe, zb-h1, zb-h2, pipedream, hybrid, 3d, flexflow, exhaustive
? 2
$ cd $TMP && hypar report plan.json --measured plan.json -o bad.html
> hypar: plan.json: no 'otherData', expected what 'hypar train --trace' or PyTorch's profiler writes
? 3
$ cd $TMP && hypar plan lenet5 --on torus:2x2 --planner mp -q -o other.json && hypar report other.json --measured trace.json -o bad.html
> hypar: trace.json: a trace of another plan
? 3
$ cd $TMP && hypar report lenet5 -o bad.html
> hypar: report: 'lenet5' is a model, expected a plan; make one first: hypar plan lenet5 --on MACHINE -o plan.json
? 2
$ cd $TMP && hypar lower plan.json -q -o program.json && hypar report program.json -o bad.html
> hypar: report: 'program.json' is a program, expected a plan
? 2
$ cd $TMP && hypar report plan.json -o no/report.html
> hypar: no/report.html: cannot write: No such file or directory
? 4
$ cd $TMP && hypar report plan.json -o plan.json
> hypar: --output: 'plan.json' is what this command reads, expected another file
? 2
$ cd $TMP && hypar report
> hypar: report: missing operand PLAN; see 'hypar report --help'
? 2
$ cd $TMP && ls bad.html
> ls: cannot access 'bad.html': No such file or directory
? 2
