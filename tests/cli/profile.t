What is run is measured, here by one rank; times are not the same twice.
$ hypar profile mlp:20-16-10 --on local:1 --batch 6 --kernels reference --steps 8 --planner dp -o $TMP/p.json 2>/dev/null | sed 's/[0-9.]* [mnu]s/T/g;s/  */ /g;s/by [0-9]* %/by S %/'
> dp 8 steps measured T predicted T
> dp 8 steps measured T predicted T
> $TMP/p.json: 12 calls known, their times spread by S %
$ hypar plan mlp:20-16-10 --on local:1 --batch 6 --planner dp -o $TMP/plan.json -q
$ hypar simulate $TMP/plan.json --profile $TMP/p.json 2>/dev/null | grep Profile
> Profile   all 12 passes measured

What is known is not measured again; other sizes are, or lie between those that were.
$ hypar profile mlp:20-16-10 --on local:1 --batch 6 --kernels reference --steps 8 --planner dp -o $TMP/p.json 2>/dev/null | sed 's/by [0-9]* %/by S %/'
> $TMP/p.json: 12 calls known, their times spread by S %
$ hypar plan mlp:20-16-10 --on local:1 --batch 9 --planner dp -o $TMP/plan.json -q
$ hypar simulate $TMP/plan.json --profile $TMP/p.json 2>/dev/null | grep Profile
> Profile   all 12 passes estimated from other sizes
$ hypar plan mlp:20-16-10 --on local:1 --batch 9 --planner dp --profile $TMP/p.json 2>&1 | grep -e 'no measured time' -e Profile:
> Profile: all 12 passes estimated from other sizes.

It is used for this machine with as many ranks; where there is none, a note says so.
$ XDG_CACHE_HOME=$TMP/cache hypar profile mlp:20-16-10 --on local:1 --batch 6 --kernels reference --steps 8 --planner dp -q && ls $TMP/cache/hypar
> local-1.json
$ XDG_CACHE_HOME=$TMP/cache hypar simulate $TMP/plan.json 2>&1 | grep -e Profile -e 'no profile'
> Profile   all 12 passes estimated from other sizes
$ for c in simulate explain report; do hypar $c $TMP/plan.json -o $TMP/out; done; hypar simulate $TMP/plan.json --fits -o $TMP/out; hypar plan mlp:20-16-10 --on local:1 --batch 6 --planner dp -o $TMP/plan.json | grep Profile
> hypar: note: no profile of this machine: the step lacks the time that calls and
>        messages take besides their work, which is most of a small model's;
>        'hypar profile MODEL --on local:1' measures it, of PyTorch 'python -m
>        hypar.torch MODULE:FUNCTION --profile FILE'
> hypar: note: no profile of this machine: the step lacks the time that calls and
>        messages take besides their work, which is most of a small model's;
>        'hypar profile MODEL --on local:1' measures it, of PyTorch 'python -m
>        hypar.torch MODULE:FUNCTION --profile FILE'
> hypar: note: no profile of this machine: the step lacks the time that calls and
>        messages take besides their work, which is most of a small model's;
>        'hypar profile MODEL --on local:1' measures it, of PyTorch 'python -m
>        hypar.torch MODULE:FUNCTION --profile FILE'
> hypar: note: no profile of this machine: the step lacks the time that calls and
>        messages take besides their work, which is most of a small model's;
>        'hypar profile MODEL --on local:1' measures it, of PyTorch 'python -m
>        hypar.torch MODULE:FUNCTION --profile FILE'
? 1
$ sed 's/"processor": "[^"]*"/"processor": "abacus"/' $TMP/p.json >$TMP/other.json && hypar simulate $TMP/plan.json --profile $TMP/other.json 2>&1 >/dev/null | sed 's/abacus, [0-9]* cores/abacus, N cores/'
> hypar: note: $TMP/other.json: measured on abacus, N cores,
>        which is another machine
$ hypar profile mlp:20-16-10 --on local:1 -o $TMP/other.json 2>&1 | sed 's/abacus, [0-9]* cores/abacus, N cores/'
> hypar: $TMP/other.json: measured on abacus, N cores, which is another machine; remove it, or -o another
So it is by other ranks, threads or kernels.
$ sed 's/"threads": 1/"threads": 3/' $TMP/p.json >$TMP/threads.json && hypar simulate $TMP/plan.json --profile $TMP/threads.json 2>&1 >/dev/null | sed 's/; not 1, 1, .*/; not 1, 1, K/'
> hypar: note: $TMP/threads.json: measured with ranks 1, threads
>        3, kernels reference; not 1, 1, K
$ hypar profile mlp:20-16-10 --on local:1 --kernels reference -o $TMP/threads.json
> hypar: $TMP/threads.json: measured with ranks 1, threads 3, kernels reference; not 1, 1, reference; remove it, or -o another
? 3

What cannot be:
$ hypar profile
> hypar: profile: expected a model, or --links
? 2
$ hypar profile mlp --on torus:2x2
> hypar: profile: --on torus:2x2, expected local:N
? 2
$ hypar profile mlp --on local:1 --planner dq
> hypar: profile: unknown planner 'dq'; see 'hypar planners'
? 2
$ hypar profile mlp --on local:1 --planner ,
> hypar: profile: unknown planner ''; see 'hypar planners'
? 2
$ hypar profile mlp --on local:1 --planner dp,
> hypar: profile: unknown planner ''; see 'hypar planners'
? 2
$ hypar profile mlp --on local:1 -o /nonexistent/p.json
> hypar: /nonexistent/p.json: cannot write: No such file or directory
? 4

Times of PyTorch's profiler: the step takes what its operators and the optimizer took.
$ hypar profile mlp:4-3-2 --batch 2 --on local:1 --measured tests/fuzz/corpus/trace/torch-host -o $TMP/torch.json
> $TMP/torch.json: 12 calls known, 12 from this trace
> 2 steps of 200 us: operators 83 us, update 10 us, not matched 7 us
$ hypar profile mlp:4-3-2 --batch 2 --on local:1 --measured tests/fuzz/corpus/trace/torch-host -o $TMP/torch.json --json
> {"calls": 12, "added": 12, "steps": 2, "on_device": false, "step_s": 0.0002, "computed_s": 8.3e-05, "operators_s": 8.3e-05, "update_s": 1e-05, "other_s": 7e-06}
$ hypar plan mlp:4-3-2 --batch 2 --on local:1 --planner dp -o $TMP/plan.json -q; hypar simulate $TMP/plan.json --profile $TMP/torch.json 2>/dev/null | grep -e takes -e Profile
> mlp:4-3-2, batch 2, fp32, on 1 device: a step takes 93 us
> Profile   all 12 passes measured
$ hypar profile $TMP/plan.json --measured tests/fuzz/corpus/trace/torch-host -o $TMP/plans.json -q; cmp $TMP/torch.json $TMP/plans.json
$ hypar profile mlp:4-3-2 --batch 2 --measured tests/fuzz/corpus/trace/torch-host -o $TMP/p.json 2>&1
> hypar: $TMP/p.json: measured with kernels reference; remove it, or -o another
? 3

A profile that was measured on a busy machine says so where it is used.
$ hypar profile mlp:20-16-10 --on local:1 --batch 6 --kernels reference --steps 8 --planner dp -q -o $TMP/quiet.json; for s in 0.1 0.9; do sed -E "s/\"spread\": [0-9.e-]+/\"spread\": $s/" $TMP/quiet.json > $TMP/busy.json; hypar train mlp:20-16-10 --batch 6 --kernels reference --steps 1 --profile $TMP/busy.json 2>&1 >/dev/null | tr -d '\n' | grep -o 'runs of the same call.*busy'; done
> runs of the same call differ by       90 % of their time: the machine was busy
