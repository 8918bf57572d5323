The example plans.
$ hypar lower examples/plans/data-parallel.json
> resnet18:image=32,classes=10, batch 64, on 8 devices, 1 micro-batch: 1,639 tasks
>
> tasks         number  bytes sent
> computations   1,040
> updates          496
> all-reduce       103      627 MB
>
> operator              bytes sent
> layer4.0.conv2  conv      132 MB
> layer4.1.conv1  conv      132 MB
> layer4.1.conv2  conv      132 MB
> layer4.0.conv1  conv     66.1 MB
> layer3.0.conv2  conv       33 MB
> layer3.1.conv1  conv       33 MB
> layer3.1.conv2  conv       33 MB
> layer3.0.conv1  conv     16.5 MB
> layer2.0.conv2  conv     8.26 MB
> layer2.1.conv1  conv     8.26 MB
>
> 627 MB sent in all: forward 538 kB, backward 538 kB, gradients 626 MB, loss 56 B
$ hypar lower examples/plans/one-weird-trick.json
> lenet5, batch 64, on 4 devices, 1 micro-batch: 161 tasks
>
> tasks           number  bytes sent
> computations       108
> updates             40
> all-gather           3      464 kB
> reduce-scatter       3      464 kB
> all-reduce           5     61.8 kB
> all-to-all           2     3.84 kB
>
> operator                 bytes sent
> flatten   flatten            614 kB
> tanh3     tanh               184 kB
> tanh4     tanh               129 kB
> conv2     conv                58 kB
> fc3       linear            3.84 kB
> conv1     conv              3.74 kB
> loss      cross_entropy        24 B
>
> 993 kB sent in all: forward 466 kB, backward 466 kB, gradients 61.7 kB, loss 24 B
$ hypar lower examples/plans/pipeline.json
> mlp:784-1024-1024-10, batch 128, on 4 devices, 8 micro-batches: 275 tasks
>
> tasks         number  bytes sent
> computations     224
> updates           12
> send              32      524 kB
> all-reduce         7     7.45 MB
>
> operator                 bytes sent
> fc2       linear             4.2 MB
> fc1       linear            3.22 MB
> relu1     relu               524 kB
> fc3       linear              41 kB
> loss      cross_entropy         8 B
>
> 7.98 MB sent in all: forward 262 kB, backward 262 kB, gradients 7.45 MB, loss 8 B

For other programs.
$ hypar lower examples/plans/one-weird-trick.json --json
> {
>   "model": "lenet5",
>   "tasks": 161,
>   "compute_tasks": 108,
>   "comm_tasks": 13,
>   "update_tasks": 40,
>   "micro_batches": 1,
>   "comm_bytes": 993336,
>   "forward_bytes": 465792,
>   "backward_bytes": 465792,
>   "gradient_bytes": 61728,
>   "loss_bytes": 24,
>   "comms": [
>     {"kind": "all-gather", "count": 3, "bytes": 463872},
>     {"kind": "reduce-scatter", "count": 3, "bytes": 463872},
>     {"kind": "all-reduce", "count": 5, "bytes": 61752},
>     {"kind": "all-to-all", "count": 2, "bytes": 3840}
>   ],
>   "ops": [
>     {"name": "conv1", "bytes": 3744},
>     {"name": "conv2", "bytes": 57984},
>     {"name": "flatten", "bytes": 614400},
>     {"name": "tanh3", "bytes": 184320},
>     {"name": "tanh4", "bytes": 129024},
>     {"name": "fc3", "bytes": 3840},
>     {"name": "loss", "bytes": 24}
>   ]
> }

The program itself.
$ hypar lower tests/cli/plan.json -q -o -
> {
>   "format": "hypar-program/1",
>   "model": "mlp:4-4",
>   "devices": 2,
>   "micro_batches": 1,
>   "schedule": [
>     ["F0", "B0"]
>   ],
>   "tasks": [
>     {"id": 0, "on": 0, "name": "fc1+loss forward part 0 micro 0", "passes": ["fc1:0", "loss:0", "loss:1"], "after": []},
>     {"id": 1, "on": 1, "name": "fc1+loss forward part 1 micro 0", "passes": ["fc1:0", "loss:0", "loss:1"], "after": []},
>     {"id": 2, "on": 0, "name": "loss backward part 0 micro 0", "passes": ["loss:2"], "after": [0]},
>     {"id": 3, "on": 1, "name": "loss backward part 1 micro 0", "passes": ["loss:2"], "after": [1]},
>     {"id": 4, "on": 0, "name": "fc1 gradient part 0 micro 0", "passes": ["fc1:2"], "after": [2]},
>     {"id": 5, "on": 1, "name": "fc1 gradient part 1 micro 0", "passes": ["fc1:2"], "after": [3]},
>     {"id": 6, "on": 0, "name": "fc1 gradient part 0 micro 0", "passes": ["fc1:3"], "after": [2]},
>     {"id": 7, "on": 1, "name": "fc1 gradient part 1 micro 0", "passes": ["fc1:3"], "after": [3]},
>     {"id": 8, "on": [0, 1], "kind": "all-reduce", "bytes": 8, "name": "all-reduce loss", "after": [0, 1]},
>     {"id": 9, "on": [0, 1], "kind": "all-reduce", "bytes": 128, "name": "all-reduce gradient of fc1.w", "after": [4, 5]},
>     {"id": 10, "on": [0, 1], "kind": "all-reduce", "bytes": 32, "name": "all-reduce gradient of fc1.b", "after": [6, 7]},
>     {"id": 11, "on": 0, "name": "update fc1.w", "after": [9, 0]},
>     {"id": 12, "on": 1, "name": "update fc1.w", "after": [9, 1]},
>     {"id": 13, "on": 0, "name": "update fc1.b", "after": [10, 0]},
>     {"id": 14, "on": 1, "name": "update fc1.b", "after": [10, 1]}
>   ]
> }
$ sed 's/"ops"/"schedule": {"name": "none", "micro_batches": 2}, "ops"/' tests/cli/plan.json | hypar lower - -q -o - | grep '"end of'
>     {"id": 2, "on": 0, "seconds": 0, "name": "end of F0 on stage 0", "after": [0]},
>     {"id": 3, "on": 1, "seconds": 0, "name": "end of F0 on stage 0", "after": [1]},
>     {"id": 10, "on": 0, "seconds": 0, "name": "end of B0 on stage 0", "after": [2, 4, 6, 8]},
>     {"id": 11, "on": 1, "seconds": 0, "name": "end of B0 on stage 0", "after": [3, 5, 7, 9]},
>     {"id": 14, "on": 0, "seconds": 0, "name": "end of F1 on stage 0", "after": [10, 12]},
>     {"id": 15, "on": 1, "seconds": 0, "name": "end of F1 on stage 0", "after": [11, 13]},
>     {"id": 22, "on": 0, "seconds": 0, "name": "end of B1 on stage 0", "after": [14, 16, 18, 20]},
>     {"id": 23, "on": 1, "seconds": 0, "name": "end of B1 on stage 0", "after": [15, 17, 19, 21]},

Gradients in buckets: the same bytes, in one message where the bucket has the same number.
$ hypar lower examples/plans/data-parallel.json --bucket 25MB | tail -n 1
> 627 MB sent in all: forward 538 kB, backward 538 kB, gradients 626 MB, loss 56 B
$ hypar lower tests/cli/plan.json --bucket 1MB -q -o - | grep bucket
>     {"id": 9, "on": [0, 1], "kind": "all-reduce", "bucket": 1, "bytes": 128, "name": "all-reduce gradient of fc1.w", "after": [4, 5, 6, 7]},
>     {"id": 10, "on": [0, 1], "kind": "all-reduce", "bucket": 1, "bytes": 32, "name": "all-reduce gradient of fc1.b", "after": [9]},

Batch norm over each part's own samples.
$ hypar lower examples/plans/data-parallel.json --local-bn
> resnet18:image=32,classes=10, batch 64, on 8 devices, 1 micro-batch: 1,279 tasks
>
> tasks         number  bytes sent
> computations     720
> updates          496
> all-reduce        63      626 MB
>
> operator              bytes sent
> layer4.0.conv2  conv      132 MB
> layer4.1.conv1  conv      132 MB
> layer4.1.conv2  conv      132 MB
> layer4.0.conv1  conv     66.1 MB
> layer3.0.conv2  conv       33 MB
> layer3.1.conv1  conv       33 MB
> layer3.1.conv2  conv       33 MB
> layer3.0.conv1  conv     16.5 MB
> layer2.0.conv2  conv     8.26 MB
> layer2.1.conv1  conv     8.26 MB
>
> 626 MB sent in all: forward 0 B, backward 0 B, gradients 626 MB, loss 56 B

Another model, another machine.
$ hypar lower tests/cli/plan.json --model mlp:6-3 --on torus:2x2
> mlp:6-3, batch 8, on 4 devices, 1 micro-batch: 15 tasks
>
> tasks         number  bytes sent
> computations       8
> updates            4
> all-reduce         3       176 B
>
> operator                 bytes sent
> fc1       linear              168 B
> loss      cross_entropy         8 B
>
> 176 B sent in all: forward 0 B, backward 0 B, gradients 168 B, loss 8 B

A stretch of minibatches.
$ hypar lower examples/plans/pipedream.json --minibatches 6
> mlp:784-1024-1024-10, batch 128, on 4 devices, 6 minibatches: 140 tasks
>
> tasks         number  sent for each minibatch
> computations      84
> updates           36
> send              12                  1.05 MB
> all-reduce         8                  9.89 MB
>
> operator          sent for each minibatch
> fc2       linear                   5.6 MB
> fc1       linear                  4.29 MB
> relu2     relu                    1.05 MB
>
> 10.9 MB sent for each minibatch: forward 524 kB, backward 524 kB, gradients 9.89 MB, loss 0 B
$ hypar lower examples/plans/pipedream.json --minibatches 4 -qo $TMP/p.json && sed -n '/"schedule"/,/^  \]/p' $TMP/p.json
>   "schedule": [
>     ["F0", "F1", "F2", "F3", "F4", "F5", "B0", "B1", "B2", "U0", "B3", "B4", "B5", "U1"],
>     ["F0", "B0", "U0", "F1", "B1", "U1", "F2", "B2", "U2", "F3", "B3", "U3", "F4", "B4", "U4", "F5", "B5", "U5"]
>   ],

What cannot be lowered.
$ sed 's/"stash"/"micro_batches": 2, &/' examples/plans/pipedream.json | hypar lower -
> hypar: standard input: schedule pipedream with 2 micro-batches cannot be lowered, expected 1: a minibatch is a whole batch
? 3
$ sed 's/"n": 2}/&, "recompute": true/' examples/plans/pipeline.json | hypar lower -
> hypar: standard input: 'fc1': recompute cannot be lowered yet
? 3
$ sed 's/"n": 2}/&, "shard_state": true/' examples/plans/pipeline.json | hypar lower -
> hypar: standard input: 'fc1': shard_state cannot be lowered yet
? 3
$ hypar import mlp:4-4 -q -o - | sed '/"loss"/d; s/\(.*"fc1", "kind".*\),$/\1/' >$TMP/no-loss.json
$ printf '{"format": "hypar-plan/1", "model": "%s", "batch": 8, "machine": "full:2", "ops": [{"name": "*"}]}' $TMP/no-loss.json | hypar lower -
> hypar: standard input: mlp:4-4 has no loss, expected a cross_entropy or mse_loss at its end
? 3

Bad requests.
$ hypar lower
> hypar: lower: missing operand PLAN; see 'hypar lower --help'
? 2
$ hypar lower tests/cli/plan.json --bucket 3cm
> hypar: --bucket: '3cm' is not a size such as 80GB or 80GiB
? 2
$ hypar lower tests/cli/plan.json --on full:1
> hypar: tests/cli/plan.json: op 'fc1': device 1 is not in the machine, expected 0
? 1
$ hypar lower $TMP/none.json
> hypar: $TMP/none.json: cannot open: No such file or directory
? 3
$ hypar lower tests/cli/plan.json -o $TMP/none/program.json
> hypar: $TMP/none/program.json: cannot write: No such file or directory
? 4
