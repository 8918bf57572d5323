What is left over is a note on standard error: devices that have nothing to do ...
$ hypar plan mlp:8-8-4 --on full:3 --planner pipedream --use-fewer --straight --batch 4 --json -o $TMP/plan.json >$TMP/out
> hypar: note: 2 of 3 devices have nothing to do
$ hypar simulate $TMP/plan.json -o $TMP/out
> hypar: note: 2 of 3 devices have nothing to do
$ hypar check $TMP/plan.json
> hypar: note: 2 of 3 devices have nothing to do
> ok: mlp:8-8-4, batch 4: 4 operators in 4 parts on a machine of 3 devices; 1
> stage, schedule pipedream, micro-batches 1
> Run as compiled on v100, the default device
> memory: 1.38 kB of 16 GB on the fullest device
$ hypar check $TMP/plan.json -q
> ok: mlp:8-8-4, batch 4: 4 operators in 4 parts on a machine of 3 devices; 1
> stage, schedule pipedream, micro-batches 1
> Run as compiled on v100, the default device
> memory: 1.38 kB of 16 GB on the fullest device

... options that nothing looks at ...
$ hypar plan lenet5 --on full:2 --planner dp --dim seq=8 --follow-links -o $TMP/dp.json >$TMP/out
> hypar: note: --dim: not used, as the model is no ONNX file
> hypar: note: --follow-links: not used, as the model is no file
$ hypar simulate $TMP/dp.json --seed 3 -o $TMP/out
> hypar: note: --seed: not used, as without --check-delta nothing is random
$ hypar simulate $TMP/dp.json --fits --all-reduce ring --no-overlap -o $TMP/out
> hypar: note: --all-reduce: not used, as --fits looks at no times
> hypar: note: --no-overlap: not used, as --fits looks at no times
$ hypar compare $TMP/dp.json --seed 3 -o $TMP/out
> hypar: note: --seed: not used, as plans are compared without a search

... and parameters that no loss depends on.
$ hypar import tests/data/untrained-head.json -o $TMP/graph.json >$TMP/out
> hypar: note: tests/data/untrained-head.json: 'head.w' is not trained: the loss
>        does not depend on it

Recomputation of a network that has nothing to recompute is told.
$ hypar plan lenet-c --on full:2 --planner dp --recompute full >$TMP/out
> hypar: note: recompute full: nothing is computed again; the network has no
>        layers that repeat

So it is where such a plan is exported, and what a tensor layout leaves whole both times.
$ hypar plan tests/cli/packed-torch.json --on full:2 --planner 3d --tensor 2 --recompute full --for torch -o $TMP/whole.json >$TMP/out; hypar export $TMP/whole.json -o $TMP/whole.py
> hypar: note: recompute full: nothing is computed again; the network has no
>        layers that repeat
> hypar: note: whole on each device: 'attention.linear', which computes several
>        things at once that are taken apart behind it; a layer for each of them
>        (queries, keys and values, or a gate and what it multiplies) is divided
> hypar: note: whole on each device: 'attention.linear', which computes several
>        things at once that are taken apart behind it; a layer for each of them
>        (queries, keys and values, or a gate and what it multiplies) is divided
> hypar: note: recompute full: nothing is computed again; the network has no
>        layers that repeat
> torchrun --nproc-per-node 2 $TMP/whole.py package.module:function

Text is as wide as the terminal, 80 columns where there is none, and as COLUMNS says.
$ hypar models gpt2 | head -n 2 | awk '{ if (length > most) most = length } END { print most <= 80 }'
> 1
$ COLUMNS=70 hypar simulate $TMP/dp.json | awk '{ if (length > most) most = length } END { print most <= 70 }'
> 1
$ COLUMNS=200 hypar check $TMP/plan.json
> hypar: note: 2 of 3 devices have nothing to do
> ok: mlp:8-8-4, batch 4: 4 operators in 4 parts on a machine of 3 devices; 1 stage, schedule pipedream, micro-batches 1
> Run as compiled on v100, the default device
> memory: 1.38 kB of 16 GB on the fullest device

Stages of a plan for a framework begin where its modules do, which is no want of places.
$ hypar plan tests/data/encoder-decoder.json --on full:2 --planner gpipe --for torch | grep -c -e "share a parameter" -e branches
> 0
? 1
