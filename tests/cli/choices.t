A profile of Piper is a graph whose operators were measured in several ways. Names that several nodes have are
followed by the id.
$ hypar import tests/data/piper/mask.json
> operator  kind    output          params  FLOP  split along
> mask      opaque  12x1000000                    n=12
> embed     opaque  12x7500000  50,000,000        n=12
> layer.12  opaque  12x7500000  45,000,000        n=12
> layer.13  opaque  12x7500000  45,000,000        n=12
> layer.14  opaque  12x7500000  45,000,000        n=12
> head      opaque  12x1        37,500,000        n=12
>
> mask: 222,500,000 parameters, 0 FLOP per sample forward, 6 operators, 0 weighted
> layers, batch 12

Planner hybrid chooses stages, replicas, degrees and what is computed again; the report is in closed form.
$ hypar plan tests/data/piper/mask.json --on full:4,bandwidth=25GB/s --memory 4GB -p hybrid | sed '/^Searched/,$d'
> mask, batch 12, on 4 devices: planner hybrid
>
> stage operators        again replicas tensor in flight    time weights  memory
>     0 mask ..      (3)     1        1      1         4 35.6 ms  380 MB 3.78 GB
>       layer.12
>     1 layer.13 ..  (2)     0        2      1         2 35.6 ms  360 MB 3.12 GB
>       layer.14
>     2 head         (1)     0        1      1         1 10.4 ms  150 MB  900 MB
>
> Time for each sample of a batch, weights and memory of a device, operators that
> are computed again: as they were measured.
> One sample every 35.6 ms, no bubble counted; replicas take samples in turn, of
> which each is a micro-batch.
> Predicted step 428 ms (compute 391 ms, exchange 36.5 ms; no overlap), 28.1
> samples/s, weights, gradients and optimizer state 1.26 GB on the fullest device.
> In closed form, not simulated: what mask does is not known, only how long it was
> measured to take.
$ hypar plan tests/data/piper/mask.json --on full:4,bandwidth=25GB/s --memory 4GB -p hybrid --recompute full | sed -n '3,7p'
> stage operators        again replicas tensor in flight    time weights  memory
>     0 mask ..      (3)     2        1      1         4 44.6 ms  380 MB    2 GB
>       layer.12
>     1 layer.13 ..  (3)     2        3      1         1 34.6 ms  510 MB 2.68 GB
>       head

A slow link; what it says as JSON.
$ hypar plan tests/data/piper/mask.json --on full:4,bandwidth=1GB/s --memory 4GB -p hybrid --batch 120 --json | grep -e bottleneck -e replicas | cut -c1-120
>     "bottleneck_s": 0.06833333333333334,
>       {"ops": ["embed"], "recomputed": 0, "replicas": 1, "tensor": 1, "time_s": 0.062, "in_flight": 4, "versions": 1, "d
>       {"ops": ["mask", "layer.12", "layer.13", "layer.14", "head"], "recomputed": 0, "replicas": 3, "tensor": 1, "time_s
>     {"ops": ["embed"], "devices": [0], "replicas": 1, "share": "minibatch"},
>     {"ops": ["mask", "layer.12", "layer.13", "layer.14", "head"], "devices": [1, 2, 3], "replicas": 3, "share": "minibat

The same from hypar's own form, which keeps it all; the plan can be read and checked.
$ hypar import tests/data/piper/mask.json -q -o $TMP/mask.json
$ hypar plan $TMP/mask.json --on full:4,bandwidth=25GB/s --memory 4GB -p hybrid -q -o $TMP/plan.json
$ grep -e '"layer' -e '"schedule"' -e '"ops": \[' $TMP/plan.json
>   "ops": [
>     {"name": "layer.12", "kind": "opaque", "split": {}, "devices": [0]},
>     {"name": "layer.13", "kind": "opaque", "split": {}, "devices": [1, 2]},
>     {"name": "layer.14", "kind": "opaque", "split": {}, "devices": [1, 2]},
>     {"ops": ["mask", "embed", "layer.12"], "devices": [0], "replicas": 1, "share": "minibatch"},
>     {"ops": ["layer.13", "layer.14"], "devices": [1, 2], "replicas": 2, "share": "minibatch"},
>     {"ops": ["head"], "devices": [3], "replicas": 1, "share": "minibatch"}
>   "schedule": {"name": "1f1b", "micro_batches": 12, "stash": false, "vertical_sync": false},
$ hypar check $TMP/plan.json
> hypar: note: memory for activations is not known:
>        $TMP/plan.json: what mask does is not known, only how
>        long it was measured to take
> ok: mask, batch 12: 6 operators in 8 parts on a machine of 4 devices; 3 stages,
> schedule 1f1b, micro-batches 12

It is not simulated: what its operators do is not known.
$ hypar simulate $TMP/plan.json
> hypar: $TMP/plan.json: what mask does is not known, only how long it was measured to take
? 3

Bounds are kept to, or refused.
$ hypar plan tests/data/piper/mask.json --on full:4 --memory 1GB -p hybrid
> hypar: hybrid: no pipeline fits on 4 devices with 1 GB of memory
? 1
$ hypar plan tests/data/piper/mask.json --on full:4 -p hybrid --micro-batches 4
> hypar: hybrid: 4 micro-batches, expected 12: operators were measured for one sample each
? 1
$ hypar plan tests/data/piper/mask.json --on full:4 -p hybrid --stages 5
> hypar: hybrid: no pipeline of 5 stages fits on 4 devices with 16 GB of memory
? 1
$ hypar plan tests/data/piper/mask.json --on full:4,bandwidth=25GB/s -p hybrid --stages 2 | sed -n '3,6p'
> stage operators        again replicas tensor in flight    time weights  memory
>     0 mask ..      (3)     0        1      1         4   35 ms  380 MB 5.56 GB
>       layer.12
>     1 layer.13 ..  (3)     0        3      1         1 28.5 ms  510 MB 2.82 GB
$ sed 's/"vanilla"/"plain"/' tests/data/piper/mask.json > $TMP/bad.json; hypar import $TMP/bad.json
> hypar: $TMP/bad.json: nodes[1].TMPCs.1[0].id: expected one of vanilla, activation recomp, not "plain"
? 3
