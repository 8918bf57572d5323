A run in one process; what it took is not the same twice.
$ hypar train mlp:20-16-10 --batch 6 --ranks 2 --planner dp --in-process --steps 12 --kernels reference | sed -n '2p;6,/^$/d;/^mlp/s/: a.*//p;/^sent/s/  */ /gp'
>         step          loss       samples/s        left
> mlp:20-16-10, batch 6, fp32, on 2 ranks
> sent in a step 4.06 kB 4.06 kB 1
Steps without a row are told of; replicas of a stage have a row for each update, with the loss of its minibatches.
$ hypar train mlp:20-16-10 --batch 6 --ranks 2 --planner dp --in-process --steps 12 --kernels reference | sed -n 1p
> rows: steps 1 to 10, 20 .. 100, 200 .. and the last; --json has every step
$ hypar plan mlp:32-10 --batch 512 --on full:2,bandwidth=10000GB/s,latency=0 --planner pipedream -q -o $TMP/replicas.json
$ hypar train $TMP/replicas.json --in-process --steps 4 --kernels reference >$TMP/replicas.txt; sed -n 's/: a step takes .*//;s/^.* samples.s, //;s/\(-[0-9].[0-9] *[0-9.]*\) .*/\1/;1,5p;/^mlp/p;/^loss [0-9.]* in/p' $TMP/replicas.txt; tr '\n' ' ' <$TMP/replicas.txt | grep -o 'the mean of one window of 4 minibatches, with its fill and drain'; rm $TMP/replicas.*
> hypar: note: the prediction is for full:2,bandwidth=10TB/s,latency=0s, what is
>        measured is of this machine
> hypar: note: the pipeline is one stage with 2 replicas: data parallelism,
>        without stages in turn and without late weights; 'hypar plan MODEL
>        --planner pipedream --straight -o plan.json' plans one stage for each
>        device
> a row is one update of 2 minibatches, and their mean loss
>         step          loss       samples/s        left
>   1-2/4            2.29515
>   3-4/4            2.28514
>
> mlp:32-10, batch 512, fp32, on 2 ranks
> loss 2.29515 in steps 1 to 2, 2.28514 in steps 3 to 4
> the mean of one window of 4 minibatches, with its fill and drain
$ hypar train mlp:20-16-10 --ranks 2 --planner pipedream --straight
> hypar: train: --straight is an option of 'hypar plan', whose -o FILE train takes
? 2
$ hypar train mlp:20-16-10 --ranks 2 --planner pipedream --vertical=1
> hypar: train: --vertical is an option of 'hypar plan', whose -o FILE train takes
? 2
$ hypar train mlp:20-16-10 --batch 6 --steps 2 --kernels reference --precision fp64 --json | sed 's/"\([a-z_]*s\)": [0-9][0-9.e-]*/"\1": S/g'
> hypar: note: the prediction is not calibrated and may be off by 10 x or more:
>        'hypar profile MODEL --on local:1' measures what this machine takes
> {"step": 1, "loss": S, "seconds": S}
> {"step": 2, "loss": S, "seconds": S}
> {"ranks": S, "steps": S, "first_step": 0, "stopped": false, "first_loss": S, "last_loss": S, "step_s": S, "mean_step_s": S, "comm_bytes_per_step": 0, "peak_memory_bytes": S, "memory": {"array": 12032, "staging": 0, "workspace": 0, "process": S}, "predicted": {"step_s": S, "comm_bytes": S, "peak_memory_bytes": S}, "phases": [{"name": "forward", "predicted_s": S, "measured_s": S}, {"name": "backward", "predicted_s": S, "measured_s": S}, {"name": "gradient", "predicted_s": S, "measured_s": S}, {"name": "update", "predicted_s": S, "measured_s": S}, {"name": "communicating", "predicted_s": S, "measured_s": S}, {"name": "waiting", "predicted_s": S, "measured_s": S}], "operators": [{"name": "fc1", "predicted_s": S, "measured_s": S}, {"name": "fc2", "predicted_s": S, "measured_s": S}, {"name": "loss", "predicted_s": S, "measured_s": S}, {"name": "relu1", "predicted_s": S, "measured_s": S}], "exchanges": []}
$ hypar plan mlp:20-16-10 --batch 6 --on full:1 --planner dp -q -o $TMP/other.json; hypar train $TMP/other.json --steps 2 --kernels reference 2>&1 >/dev/null
> hypar: note: the prediction is for full:1, what is measured is of this machine
$ hypar plan mlp:20-16-10 --batch 6 --on full:2 --planner dp -q -o $TMP/other.json; hypar train $TMP/other.json --in-process --steps 2 --kernels reference 2>&1 | sed -n -e '/^hypar/p' -e '/^step,/,/forward/s/  [ 0-9].*//p'
> hypar: note: the prediction is for full:2, what is measured is of this machine
> step, mean: all ranks in turn
> one rank, mean:
>   forward
$ hypar train mlp:20-16-10 --batch 6 --steps 2 -q -o $TMP/summary.json && grep -o '"ranks": 1, "steps": 2, "first_step": 0, "stopped": false' $TMP/summary.json
> "ranks": 1, "steps": 2, "first_step": 0, "stopped": false

A step is told as the median, and as the mean, to which what a rank does in it adds up.
$ hypar train mlp:20-16-10 --batch 6 --steps 5 --kernels reference 2>/dev/null | sed -n -e 's/takes [0-9.]* [mun]*s/takes T/p' -e '/^step,/s/  .*//p'
> mlp:20-16-10, batch 6, fp32, on 1 rank: a step takes T, the median
> step, mean
$ hypar train mlp:20-16-10 --batch 6 --steps 5 --kernels reference -q --json 2>/dev/null | sed -n 's/.*"mean_step_s": \([^,]*\).*"phases": \[\([^]]*\).*/\1 \2/p' | sed 's/"measured_s": / M /g' | awk '{ for (i = 2; i < NF; i++) if ($i == "M") s += $(i + 1); print (s / $1 > 0.999 && s / $1 < 1.001) }'
> 1

One minibatch is a window, too, and is measured as such.
$ hypar plan mlp:20-16-12-10 --batch 6 --on full:2 --planner pipedream --straight -q -o $TMP/one.json; hypar train $TMP/one.json --in-process --steps 1 -q --kernels reference --trace $TMP/one-trace.json >/dev/null; hypar compare --measured $TMP/one-trace.json $TMP/one.json | grep -c 'a step takes'; rm $TMP/one*.json
> 1

What is predicted of a window has its fill and drain, with a trace or without.
$ hypar plan mlp:20-16-12-10 --batch 6 --on full:2 --planner pipedream --straight -q -o $TMP/few.json; for t in '' "--trace $TMP/few-trace.json"; do hypar train $TMP/few.json --in-process --steps 12 -q --kernels reference --json $t 2>/dev/null | grep -o '"predicted": {"step_s": [^,]*'; done | uniq -c | sed 's/: [0-9].*//'; rm $TMP/few*.json
>       2 "predicted": {"step_s"

PipeDream trains as many minibatches as it is asked for. The last window may be shorter: it computes what a run of its own does.
$ hypar plan mlp:20-16-12-10 --batch 6 --on full:3 --planner pipedream --straight -q -o $TMP/straight.json
$ hypar train $TMP/straight.json --in-process --steps 65 --kernels reference -q --json | grep -c '"step"'
> 65
$ hypar train $TMP/straight.json --in-process --steps 200 --kernels reference -q --json | grep -o '"steps": 200'
> "steps": 200
$ hypar train $TMP/straight.json --in-process --steps 20 --every 12 --kernels reference -q --checkpoint $TMP/once >/dev/null
$ hypar train $TMP/straight.json --in-process --steps 12 --kernels reference -q --checkpoint $TMP/twice >/dev/null; hypar train $TMP/straight.json --in-process --steps 20 --kernels reference -q --resume $TMP/twice --checkpoint $TMP/twice >/dev/null; cmp $TMP/once $TMP/twice && echo the same
> the same
$+ hypar train examples/plans/pipedream.json --in-process --steps 11 --every 9 --kernels reference --checkpoint $TMP/once | grep -o '12/12'
> hypar: note: 11 steps become 12: replicas of stages update together, once for 3
>        minibatches
> hypar: note: the prediction is for full:4, what is measured is of this machine
> 12/12
$+ hypar train examples/plans/pipedream.json --in-process --steps 9 -q --kernels reference --checkpoint $TMP/twice >/dev/null; hypar train examples/plans/pipedream.json --in-process --steps 12 --kernels reference -q --resume $TMP/twice --checkpoint $TMP/twice >/dev/null; cmp $TMP/once $TMP/twice && echo the same
> the same

Checkpoints: written, gone on from, also under another plan.
$ hypar train mlp:20-16-10 --batch 6 --steps 3 --kernels reference --precision fp64 -q --checkpoint $TMP/c >/dev/null
$ hypar train mlp:20-16-10 --batch 6 --steps 5 --kernels reference --precision fp64 --ranks 3 --planner mp --in-process --resume $TMP/c --checkpoint $TMP/c | head -3 | cut -c1-27
>         step          loss
>     4/5            2.18293
>     5/5            2.38827
$ hypar train tests/data/shared-norm.json --steps 2 -q --checkpoint $TMP/shared >/dev/null
$ hypar train tests/data/shared-norm.json --steps 3 -q --json --resume $TMP/shared --checkpoint $TMP/shared | grep -c '"step": 3'; grep -a -o '"norm[a-z0-9.]*running_[a-z]*"' $TMP/shared
> 1
> "norm.running_mean"
> "norm.running_var"
> "norm2.running_mean"
> "norm2.running_var"

A checkpoint is checked: its checksums, what it should have, its place in the data. Those of older versions carry no checksums.
$ (head -c 2500 $TMP/c; printf 'x'; tail -c +2502 $TMP/c) > $TMP/flipped; hypar train mlp:20-16-10 --batch 6 --steps 9 --precision fp64 --resume $TMP/flipped 2> $TMP/err; echo $?; sed 's/ its .*//' $TMP/err
> 3
> hypar: $TMP/flipped: tensor 'fc1.w' is damaged:
$ sed 's/"seed": "0"/"seed": "1"/' $TMP/c > $TMP/flipped; hypar train mlp:20-16-10 --batch 6 --steps 9 --precision fp64 --resume $TMP/flipped 2> $TMP/err; echo $?; sed 's/ its .*//' $TMP/err
> 3
> hypar: $TMP/flipped: the header is damaged:
$ LC_ALL=C sed 's/"header_crc32"/"header_crc33"/' $TMP/c > $TMP/flipped; hypar train mlp:20-16-10 --batch 6 --steps 9 --precision fp64 --resume $TMP/flipped
> hypar: $TMP/flipped: the header has no checksum, expected header_crc32 beside those of tensors
? 3
$ LC_ALL=C sed 's/"header_crc32"/"header_crc33"/; s/"crc32[.]/"crc33./g' $TMP/c > $TMP/old; hypar train mlp:20-16-10 --batch 6 --steps 6 --precision fp64 --resume $TMP/old --in-process --ranks 2 --planner dp 2>&1 | head -3
> hypar: note: $TMP/old: carries no checksums, so damage to its
>        values is not found
>         step          loss       samples/s        left
$ LC_ALL=C sed 's/"position": "30"/"position": "36"/' $TMP/old > $TMP/place; hypar train mlp:20-16-10 --batch 6 --steps 9 --precision fp64 --resume $TMP/place -q
> hypar: $TMP/place: metadata position: '36', expected 5 steps of 6 samples
? 3
$ LC_ALL=C sed 's/"samples": "65536"/"samples": "65535"/' $TMP/old > $TMP/place; hypar train mlp:20-16-10 --batch 6 --steps 6 --precision fp64 --resume $TMP/place --in-process --ranks 2 --planner dp 2>&1 | head -5
> hypar: note: $TMP/place: carries no checksums, so damage to its
>        values is not found
> hypar: note: $TMP/place: was trained on 65535 samples, and the
>        data has 65536: it goes on in another order
>         step          loss       samples/s        left
$ LC_ALL=C sed 's/"fc1\.b": {/"fc1.c": {/' $TMP/old > $TMP/lacks; hypar train mlp:20-16-10 --batch 6 --steps 9 --precision fp64 --resume $TMP/lacks -q
> hypar: $TMP/lacks: 1 of 4 tensors is missing, the first is 'fc1.b'; --partial-weights goes on without
? 3
$ hypar train mlp:20-16-10 --batch 6 --steps 6 --precision fp64 --resume $TMP/lacks --partial-weights --in-process --ranks 2 --planner dp 2>&1 | head -5
> hypar: note: $TMP/lacks: carries no checksums, so damage to its
>        values is not found
> hypar: note: $TMP/lacks: 1 of 4 tensors is missing: 1 parameter
>        is drawn at random
>         step          loss       samples/s        left
$ rm $TMP/err $TMP/flipped $TMP/old $TMP/place $TMP/lacks
$ hypar train mlp:20-16-10 --batch 6 --steps 5 --precision fp64 --resume $TMP/c
> hypar: $TMP/c: it has 5 steps already, expected --steps above
? 2
$ hypar train mlp:20-16-10 --batch 7 --steps 9 --precision fp64 --resume $TMP/c
> hypar: $TMP/c: it is of another model, or was made with another --batch
? 3
$ hypar train mlp:20-16-10 --batch 6 --steps 9 --optimizer adam --resume $TMP/c
> hypar: $TMP/c: it was trained with sgd, the plan has adam
? 3
$ head -c 900 $TMP/c > $TMP/short; hypar train mlp:20-16-10 --batch 6 --steps 9 --resume $TMP/short
> hypar: $TMP/short: fc1.w.data_offsets[1]: expected an integer in 0..268, not 2560
? 3
$ echo '{"weights": []}' > $TMP/foreign; hypar train mlp:20-16-10 --batch 6 --steps 9 --resume $TMP/foreign
> hypar: $TMP/foreign: the header does not begin with '{', expected a safetensors file
? 3
$ hypar train mlp:20-16-10 --batch 6 --resume $TMP/none
> hypar: $TMP/none: cannot open: No such file or directory
? 3
$ hypar train mlp:20-16-10 --batch 6 --checkpoint $TMP/none/c
> hypar: $TMP/none/c: cannot write: No such file or directory
? 4
$ hypar train mlp:20-16-10 --batch 6 --checkpoint $TMP
> hypar: $TMP: cannot write: Is a directory
? 4
$ hypar train mlp:20-16-10 --batch 6 --steps 2 --checkpoint /dev/full -q
> hypar: /dev/full: cannot write: No space left on device
? 4
$ hypar train mlp:20-16-10 --batch 6 -o $TMP/none/o
> hypar: $TMP/none/o: cannot write: No such file or directory
? 4
$ hypar train examples/models/mlp.json --checkpoint examples/models/mlp.json
> hypar: --checkpoint: 'examples/models/mlp.json' is what this command reads, expected another file
? 2
$ ls $TMP
> c
> foreign
> once
> other.json
> shared
> short
> straight.json
> summary.json
> twice

Tests on held-out samples: the same under other plans.
$ hypar train mlp:20-16-10 --batch 100 --steps 40 --learning-rate 0.3 --kernels reference --precision fp64 --test-data synthetic --test-every 20 | grep test | sed 's/ ([^)]*)//'
> hypar: note: the prediction is not calibrated and may be off by 10 x or more:
>        'hypar profile MODEL --on local:1' measures what this machine takes
>    20/40      test on 1,024 samples: loss 1.35057, 77.25 % right
>    40/40      test on 1,024 samples: loss 0.451433, 97.36 % right
> test on 1,024 samples: loss 0.451433, 97.36 % right
$ hypar train mlp:20-16-10 --batch 100 --steps 40 --learning-rate 0.3 --kernels reference --precision fp64 --test-data synthetic --test-every 20 --ranks 3 --planner mp --in-process --json | grep -o -e '"test_after.*accuracy": [0-9.]*' -e '"best_test.*accuracy": [0-9.]*' | sed 's/"loss": [^,]*/L/'
> "test_after": 20, "samples": 1024, L, "accuracy": 0.7724609375
> "test_after": 40, "samples": 1024, L, "accuracy": 0.9736328125
> "best_test": {"after": 40, "samples": 1024, L, "accuracy": 0.9736328125
$+ hypar train examples/plans/pipedream.json --steps 20 --in-process --kernels reference --test-data synthetic --test-every 12 | grep -c test
> hypar: note: 20 steps become 21: replicas of stages update together, once for 3
>        minibatches
> hypar: note: the prediction is for full:4, what is measured is of this machine
> 3
$ hypar train gpt:layers=1,hidden=16,heads=2,seq=8,vocab=12 --batch 8 --steps 2 --kernels reference --test-data synthetic | grep -o -e 'test on.*perplexity' -e '% of tokens' | sed 's/loss [^,]*/L/'
> hypar: note: the prediction is not calibrated and may be off by 10 x or more:
>        'hypar profile MODEL --on local:1' measures what this machine takes
> test on 1,024 samples: L, perplexity
> % of tokens
> test on 1,024 samples: L, perplexity
> % of tokens
$ hypar train mlp:20-16-10 --test-every 2
> hypar: train: --test-every goes with --test-data
? 2
$ hypar train mlp:20-16-10 --test-data none.npy
> hypar: none.npy: cannot open: No such file or directory
? 3

With bf16, parameters, activations and their gradients have two bytes; sums, statistics and the optimizer's state have
four. A checkpoint has the fp32 copies of the parameters: a run goes on exactly, in fp32 too. Ranks agree with one rank up to rounding.
$ hypar train mlp:20-16-10 --batch 6 --steps 4 --kernels reference --precision bf16 --optimizer adam -q --json --checkpoint $TMP/b | grep -o '"step": [0-9], "loss": [0-9.]\{8\}'
> "step": 1, "loss": 2.159560
> "step": 2, "loss": 2.342711
> "step": 3, "loss": 2.212135
> "step": 4, "loss": 2.181344
$ hypar train mlp:20-16-10 --batch 6 --steps 2 --kernels reference --precision bf16 --optimizer adam -q --checkpoint $TMP/h >/dev/null; hypar train mlp:20-16-10 --batch 6 --steps 4 --kernels reference --precision bf16 --optimizer adam -q --json --resume $TMP/h --checkpoint $TMP/h | grep -o '"step": [0-9], "loss": [0-9.]\{8\}'; cmp $TMP/b $TMP/h
> "step": 3, "loss": 2.212135
> "step": 4, "loss": 2.181344
$ hypar train mlp:20-16-10 --batch 6 --steps 4 --kernels reference --precision bf16 --optimizer adam -q --json --ranks 3 --planner dp --in-process | grep -o '"step": [0-9], "loss": [0-9.]\{4\}'
> "step": 1, "loss": 2.15
> "step": 2, "loss": 2.34
> "step": 3, "loss": 2.21
> "step": 4, "loss": 2.18
$ hypar train mlp:20-16-10 --batch 6 --steps 5 --kernels reference --precision fp32 --optimizer adam -q --json --resume $TMP/b | grep -o '"step": [0-9], "loss": [0-9.]\{4\}'
> "step": 5, "loss": 2.38

What cannot be run.
$ hypar train mlp:20-16-10 --batch 6 --precision fp16
> hypar: precision fp16 cannot be run: bf16, fp32 and fp64 can
? 3
$ hypar train examples/plans/pipeline.json --in-process
> hypar: examples/plans/pipeline.json: precision fp16 cannot be run: bf16, fp32 and fp64 can
? 3
$ hypar train examples/plans/one-weird-trick.json --ranks 3
> hypar: --ranks 3, but the plan has 4 devices: one for each
? 1
$ printf '{"format":"hypar-graph/1","name":"net","batch":4,"inputs":[{"name":"x","shape":[4,8]},{"name":"y","shape":[4],"index":true}],"ops":[{"name":"f","kind":"linear","inputs":["x"],"attrs":{"out":8}},{"name":"o","kind":"opaque","inputs":["f"],"attrs":{"shape":[4,8],"flops":9}},{"name":"loss","kind":"cross_entropy","inputs":["o","y"]}]}' > $TMP/opaque.json; hypar train $TMP/opaque.json
> hypar: opaque 'o' cannot be run: it has no kernel
? 3
$ printf '{"format":"hypar-graph/1","name":"net","batch":4,"inputs":[{"name":"x","shape":[4,8]}],"ops":[{"name":"f","kind":"linear","inputs":["x"],"attrs":{"out":8}}]}' > $TMP/no-loss.json; hypar train $TMP/no-loss.json
> hypar: net has no loss, expected a cross_entropy or mse_loss at its end
? 3
$+ hypar train examples/plans/pipedream.json --in-process --steps 3 --kernels reference -q --checkpoint $TMP/pd > /dev/null; cp $TMP/pd $TMP/before; hypar train examples/plans/pipedream.json --in-process --steps 20 --every 2 --kernels reference --learning-rate 1e38 -q --checkpoint $TMP/pd; echo $?; cmp $TMP/pd $TMP/before
> hypar: the loss of step 3 is inf, expected a finite number; a lower --learning-rate may help
> 1
$ hypar train examples/plans/pipedream.json --in-process --steps 20 --every 1 --kernels reference --learning-rate 1e20 -q --checkpoint $TMP/pd
> hypar: after step 3: $TMP/pd: not written, as 'fc2.b' has values that are not finite; a lower --learning-rate may help
? 1
$ hypar train mlp:20-16-10 --batch 6 --steps 9 --kernels reference --learning-rate 1e38 -q
> hypar: the loss of step 2 is nan, expected a finite number; a lower --learning-rate may help
? 1

Words, and options of a model beside a plan.
$ hypar train mlp:20-16-10 --kernels slow
> hypar: --kernels: 'slow' is not fast or reference
? 2
$ hypar train mlp:20-16-10 --rate linear
> hypar: --rate: 'linear' is not constant or cosine
? 2
$ hypar train mlp:20-16-10 --optimizer sgdm
> hypar: --optimizer: 'sgdm' is not sgd, momentum, adam or adamw; did you mean sgd?
? 2
$ hypar train mlp:20-16-10 --planner best
> hypar: unknown planner 'best', expected one of auto, dp, mp, owt, hypar, accpar, optcnn, 1f1b, gpipe, zb-h1, zb-h2, pipedream, hybrid, 3d, flexflow, exhaustive
? 2
$ hypar train mlp:20-16-10 --steps 0
> hypar: --steps: '0' is not a whole number from 1 to 1000000000000
? 2
$ hypar train mlp:20-16-10 --learning-rate 0
> hypar: --learning-rate: '0' is not a number above 0
? 2
$ hypar train examples/plans/one-weird-trick.json --batch 8
> hypar: train: --batch is for a model, and examples/plans/one-weird-trick.json is a plan
? 2
$ hypar train examples/plans/one-weird-trick.json --seed 8
> hypar: train: --seed is for a model, and examples/plans/one-weird-trick.json is a plan
? 2
$ hypar train
> hypar: train: missing operand MODEL; see 'hypar train --help'
? 2
$ hypar train nonsense
> hypar: unknown model 'nonsense', expected one that 'hypar models' lists, or a path (with a '/', or ending in .json)
? 3

Data of another shape, or none.
$ hypar train mlp:20-16-10 --data $TMP/x.npy
> hypar: $TMP/x.npy: cannot open: No such file or directory
? 3
$ printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (8, 5), }" > $TMP/x.npy; head -c 160 /dev/zero >> $TMP/x.npy; hypar train mlp:20-16-10 --batch 4 --data x=$TMP/x.npy,labels=$TMP/x.npy
> hypar: $TMP/x.npy: samples of shape [5], expected [20] for input 'x'
? 3
$ hypar train mlp:20-16-10 --batch 4 --data cifar11:$TMP/x.npy
> hypar: cifar11:$TMP/x.npy: cannot open: No such file or directory
? 3
$ hypar train mlp:20-16-10 --batch 4 --data tokens:$TMP/x.npy
> hypar: data: the model has no input of ids, expected one for tokens
? 3

The weights of an ONNX file, under any plan; or none of them.
$ for plan in '' '--ranks 3 --planner dp' '--ranks 2 --planner mp' '--init random'; do hypar train tests/data/onnx/small/convolutions.onnx --batch 8 --steps 3 --precision fp64 --kernels reference --in-process -q --json $plan | grep -o '"[a-z]*_loss": [0-9.]\{10\}' | tr '\n' ' '; echo; done
> "first_loss": 1.78425553 "last_loss": 1.54758858
> "first_loss": 1.78425553 "last_loss": 1.54758858
> "first_loss": 1.78425553 "last_loss": 1.54758858
> "first_loss": 1.78814016 "last_loss": 1.77025931
$ hypar plan tests/data/onnx/small/convolutions.onnx --on full:2 --batch 8 --precision fp64 --planner dp -q -o $TMP/p.json && cd $TMP && hypar train p.json --steps 3 --kernels reference --in-process -q --json | grep -o '"first_loss": [0-9.]\{10\}'
> "first_loss": 1.78425553
$ hypar train tests/data/onnx/small/convolutions.onnx --init zero
> hypar: --init: 'zero' is not file or random
? 2
$ hypar train tests/data/onnx/train/lstm_lm.onnx:batch-dim=x=1 --batch 2 --steps 1 -q --json | grep -o '"first_loss": [0-9.]'
> "first_loss": 6

Values that are not there any more.
$ cp tests/data/external.onnx $TMP/e.onnx && head -c 96 /dev/zero > $TMP/w.bin && hypar train $TMP/e.onnx --batch 2 --steps 1 -q --json | grep -o '"first_loss": [0-9.]\{5\}'
> "first_loss": 1.386
$ head -c 90 /dev/zero > $TMP/w.bin; hypar train $TMP/e.onnx --batch 2
> hypar: $TMP/e.onnx: initializer 'w': external data '$TMP/w.bin' has 90 bytes, expected 96 from byte 0 on
? 3
$ rm $TMP/w.bin; hypar train $TMP/e.onnx --batch 2
> hypar: note: $TMP/e.onnx: the values of 1 initializer are in a
>        file that is not there: enough to plan with, not to train
> hypar: $TMP/e.onnx: initializer 'w': external data '$TMP/w.bin': No such file or directory
? 3

Gradients that are clipped: the plan says it, the norm is exchanged, and its bytes are those of the program.
$ for plan in '' '--ranks 3 --planner dp' '--ranks 2 --planner mp' '--ranks 2 --planner 1f1b --micro-batches 2'; do hypar train mlp:20-16-10 --batch 6 --steps 3 --precision fp64 --kernels reference --clip 0.1 --in-process -q --json $plan | grep -o '"[a-z]*_loss": [0-9.]\{10\}' | tr '\n' ' '; echo; done
> "first_loss": 2.15966194 "last_loss": 2.21008782
> "first_loss": 2.15966194 "last_loss": 2.21008782
> "first_loss": 2.15966194 "last_loss": 2.21008782
> "first_loss": 2.15966194 "last_loss": 2.21008782
$ hypar plan mlp:20-16-10 --batch 6 --on full:3 --planner dp --clip 0.1 -q -o $TMP/clip.json && grep clip $TMP/clip.json; hypar train $TMP/clip.json --steps 2 --kernels reference --in-process -q | sed -n '/^sent/s/  */ /gp'
>   "clip": 0.1,
> sent in a step 8.13 kB 8.13 kB 1
$ hypar simulate $TMP/clip.json --json | grep comm_bytes; sed -i /clip/d $TMP/clip.json; hypar simulate $TMP/clip.json --json | grep comm_bytes
>   "comm_bytes": 8128,
>   "comm_bytes": 8112,
$ hypar train $TMP/clip.json --clip 1
> hypar: train: --clip is for a model, and $TMP/clip.json is a plan
? 2
$ hypar train mlp:20-16-10 --batch 6 --ranks 2 --planner pipedream --clip 1 --in-process
> hypar: gradients are clipped by the norm of all of them, and under schedule pipedream stages update on their own
? 3
$ hypar train mlp:20-16-10 --batch 6 --clip 0
> hypar: --clip: '0' is not a number above 0
? 2

Parameters that are frozen: none of their bytes are exchanged, in the program and in the run.
$ hypar plan mlp:20-16-10 --batch 6 --on full:3 --planner dp --freeze 'fc1.*' -q -o $TMP/freeze.json && grep freeze $TMP/freeze.json; hypar train $TMP/freeze.json --steps 2 --kernels reference --in-process -q | sed -n '/^sent/s/  */ /gp'
>   "freeze": "fc1.*",
> sent in a step 2.74 kB 2.74 kB 1
$ hypar simulate $TMP/freeze.json --json | grep comm_bytes; hypar lower $TMP/freeze.json -o $TMP/freeze.program -q && hypar simulate $TMP/freeze.program --json | grep comm_bytes
>   "comm_bytes": 2736,
>   "comm_bytes": 2736,
$ for plan in '' '--ranks 3 --planner dp' '--ranks 2 --planner mp'; do hypar train mlp:20-16-10 --batch 6 --steps 3 --precision fp64 --kernels reference --freeze 'fc1.w,fc2.?' --optimizer adam --in-process -q --json --checkpoint $TMP/f $plan | grep -o '"[a-z]*_loss": [0-9.]\{10\}' | tr '\n' ' '; grep -a -o '"optimizer\.0\.[a-z0-9.]*"' $TMP/f | tr '\n' ' '; echo; done
> "first_loss": 2.15966194 "last_loss": 2.21035267 "optimizer.0.fc1.b"
> "first_loss": 2.15966194 "last_loss": 2.21035267 "optimizer.0.fc1.b"
> "first_loss": 2.15966194 "last_loss": 2.21035267 "optimizer.0.fc1.b"
$ hypar train mlp:20-16-10 --batch 6 --freeze 'fc3.*'
> hypar: mlp:20-16-10: no parameter to freeze fits 'fc3.*'
? 3
$ hypar train mlp:20-16-10 --batch 6 --freeze 'fc1.*' --freeze '*2.*'
> hypar: mlp:20-16-10: all parameters are frozen, expected one to train
? 3
$ hypar train $TMP/freeze.json --freeze 'fc2.*'
> hypar: train: --freeze is for a model, and $TMP/freeze.json is a plan
? 2
$ hypar plan --start $TMP/freeze.json --freeze 'fc2.*'
> hypar: plan: --freeze beside --start, whose plan says what is frozen
? 2
$ hypar plan --start $TMP/freeze.json --proposals 10 -q -o $TMP/again.json && grep freeze $TMP/again.json
>   "freeze": "fc1.*",

Dropout masks that are kept are those that would be drawn again, and take a byte for each element.
$ for m in kept drawn; do hypar train gpt:layers=1,hidden=16,heads=2,seq=8,vocab=50 --batch 4 --steps 3 --ranks 2 --in-process --planner dp --dropout-masks $m --threads 2 --json -q > $TMP/$m.json; grep -o '"peak_memory_bytes": [0-9]*' $TMP/$m.json | sort -u | grep -o '[0-9]*' > $TMP/$m.peak; grep -o '"loss": [^,]*' $TMP/$m.json > $TMP/$m.txt; done; cmp $TMP/kept.txt $TMP/drawn.txt && test $(cat $TMP/kept.peak) -gt $(cat $TMP/drawn.peak)

Attention written out computes the same.
$ for how in fused unfused; do hypar train gpt:layers=2,hidden=16,heads=4,seq=6,vocab=20,dropout_percent=0 --attention $how --batch 4 --steps 3 --precision fp64 --kernels reference --in-process -q --json | grep -o '"[a-z]*_loss": [0-9.]\{12\}' | tr '\n' ' '; echo; done
> "first_loss": 3.0011645389 "last_loss": 2.9960580721
> "first_loss": 3.0011645389 "last_loss": 2.9960580721
$ for how in '' '--ranks 2 --planner mp' '--ranks 3 --planner hypar'; do hypar train llama2-7b:layers=1,hidden=16,heads=4,kv_heads=2,ffn=8,seq=6,vocab=20 --attention unfused --batch 4 --steps 3 --precision fp64 --kernels reference --in-process -q --json $how | grep -o '"[a-z]*_loss": [0-9.]\{12\}' | tr '\n' ' '; echo; done
> "first_loss": 3.2788184040 "last_loss": 3.1066433402
> "first_loss": 3.2788184040 "last_loss": 3.1066433402
> "first_loss": 3.2788184040 "last_loss": 3.1066433402

Values from a file beside the graph: of parameters, also of those that are not trained or not read whole.
$ printf '%s\n' '{"format": "hypar-graph/1", "name": "v", "batch": 4, "inputs": [{"name": "i", "shape": [4], "index": true}, {"name": "l", "shape": [4], "index": true}],' '"params": [{"name": "table", "shape": [9, 6], "trained": false}, {"name": "b", "shape": [2, 6]}, {"name": "w", "shape": [6, 3]}],' '"ops": [{"name": "e", "kind": "embedding", "inputs": ["i", "table"]}, {"name": "row", "kind": "slice", "inputs": ["b"], "attrs": {"axis": 0, "start": 1, "stop": 2}},' '{"name": "s", "kind": "add", "inputs": ["e", "row"]}, {"name": "y", "kind": "linear", "inputs": ["s", "w"]}, {"name": "loss", "kind": "cross_entropy", "inputs": ["y", "l"]}]}' > $TMP/v.json
$ hypar train $TMP/v.json --steps 20 --learning-rate 0.5 --kernels reference --precision fp64 -q --json --checkpoint $TMP/v.safetensors | grep -o -e '"step": 1, "loss": [0-9.]\{8\}' -e '"step": 20, "loss": [0-9.]\{8\}'
> "step": 1, "loss": 1.096428
> "step": 20, "loss": 1.104144
$ sed 's/"batch": 4,/"batch": 4, "weights": "v.safetensors",/' $TMP/v.json > $TMP/given.json
$ hypar train $TMP/given.json --steps 1 --learning-rate 0.5 --kernels reference --precision fp64 -q --json | grep -o '"step": 1, "loss": [0-9.]\{8\}'
> "step": 1, "loss": 1.022994
$ hypar train $TMP/given.json --steps 1 --learning-rate 0.5 --kernels reference --precision fp64 -q --json --init random | grep -o '"step": 1, "loss": [0-9.]\{8\}'
> "step": 1, "loss": 1.096428
$ hypar import $TMP/given.json -o $TMP/again.json -q && grep -e weights -e trained $TMP/again.json
>   "weights": "v.safetensors",
>     {"name": "table", "shape": [9, 6], "trained": false},
$ sed 's/\[9, 6\]/[8, 6]/' $TMP/given.json > $TMP/other.json; hypar train $TMP/other.json --steps 1 -q
> hypar: $TMP/v.safetensors: tensor 'table' has shape [9, 6], expected [8, 6]
? 3

It must have all of them, lie in the model's folder, and be whole.
$ sed 's/"w"/"u"/g' $TMP/given.json > $TMP/lacks.json; hypar train $TMP/lacks.json --steps 1 -q
> hypar: $TMP/v.safetensors: 1 of 3 tensors is missing, the first is 'u'; --partial-weights goes on without
? 3
$ hypar train $TMP/lacks.json --steps 1 --precision fp64 --partial-weights 2>&1 | head -2
> hypar: note: $TMP/v.safetensors: 1 of 3 tensors is missing: 1
>        parameter is drawn at random
$ sed 's/"table"/"p"/g; s/"b"/"q"/g; s/"w"/"r"/g' $TMP/given.json > $TMP/lacks.json; hypar train $TMP/lacks.json --steps 1 -q
> hypar: $TMP/v.safetensors: 3 of 3 tensors are missing, the first is 'p'; --partial-weights goes on without
? 3
$ hypar train $TMP/lacks.json --steps 1 --init random -q | grep -c batch
> 1
$ (head -c -8 $TMP/v.safetensors; printf '12345678') > $TMP/bad.safetensors; sed 's/v.safetensors/bad.safetensors/' $TMP/given.json > $TMP/bad.json; hypar train $TMP/bad.json --steps 1 -q 2> $TMP/err; echo $?; sed 's/ its .*//' $TMP/err
> 3
> hypar: $TMP/bad.safetensors: tensor 'w' is damaged:
$ mkdir $TMP/model; cp $TMP/given.json $TMP/model; ln -s ../v.safetensors $TMP/model; hypar train $TMP/model/given.json --steps 1 -q
> hypar: $TMP/model/given.json: weights '$TMP/model/v.safetensors' is a link out of the model's folder, which --follow-links allows
? 3
$ hypar plan $TMP/model/given.json --on full:2 --planner dp -q; cd $TMP/model && hypar plan given.json --on full:2 --planner dp --precision fp64 --follow-links -q -o p.json && hypar train p.json --steps 1 --in-process -q; hypar train p.json --steps 1 --in-process --follow-links -q --json | grep -o '"first_loss": [0-9.]\{8\}'
> hypar: $TMP/model/given.json: weights '$TMP/model/v.safetensors' is a link out of the model's folder, which --follow-links allows
> hypar: p.json: model: ./given.json: weights './v.safetensors' is a link out of the model's folder, which --follow-links allows
> "first_loss": 1.022994

A file of values has those of every constant. None of them is NaN where every number is checked. A graph that is written elsewhere expects them there.
$ sed 's/{"name": "l"/{"name": "c", "shape": [6], "sample_dim": -1}, &/; s/"row"\]/"c"]/' $TMP/given.json > $TMP/constant.json; hypar train $TMP/constant.json --steps 1 -q
> hypar: $TMP/v.safetensors: 1 of 4 tensors is missing, the first is 'c'; constants cannot be drawn
? 3
$ (LC_ALL=C sed 's/header_crc32/header_crc33/; s/"crc32[.]/"crc33./g' $TMP/v.safetensors | head -c -8; printf '\377\377\377\377\377\377\377\377') > $TMP/nan.safetensors; sed 's/v.safetensors/nan.safetensors/' $TMP/given.json > $TMP/nan.json; hypar train $TMP/nan.json --steps 1 --check -q
> hypar: $TMP/nan.safetensors: 'w' has values that are not finite, expected none
? 3
$ mkdir $TMP/sub; hypar import $TMP/given.json -o $TMP/sub/given.json > $TMP/out
> hypar: note: $TMP/sub/given.json: its weights are expected in
>        $TMP/sub/v.safetensors, and are in
>        $TMP/v.safetensors
$ rm $TMP/v.safetensors; hypar train $TMP/given.json --steps 1 -q
> hypar: $TMP/v.safetensors: cannot open: No such file or directory
? 3

Batch norms under several micro-batches: the same note as by 'plan', once, and none where there is one.
$ for n in 4 1; do hypar train examples/models/digits.json --batch 32 --ranks 2 --planner gpipe --micro-batches $n --steps 1 --in-process >$TMP/out; done
> hypar: note: batch norms take the statistics of each micro-batch, 8 samples:
>        losses are not those of the whole batch, which --micro-batches 1 keeps
>        together

A run that a signal ends before its last step has an exit code of its own; what it writes is there.
$ sh -c 'hypar train mlp:20-16-10 --batch 6 --steps 1000000000 --json --checkpoint $0/stopped -o $0/summary >$0/out 2>$0/err & pid=$!; until grep -qs "\"step\": 2," $0/out || ! kill -0 $pid; do sleep 0.1; done; kill -TERM $pid; wait $pid' $TMP; echo $?; grep -o '"stopped": true' $TMP/summary; ls $TMP/stopped
> 5
> "stopped": true
> $TMP/stopped
