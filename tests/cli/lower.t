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
>   "form": "lowered",
>   "plan": {
>     "format": "hypar-plan/1",
>     "model": "mlp:4-4",
>     "graph_hash": "98b28b9f0d0800df",
>     "batch": 8,
>     "machine": "full:2",
>     "precision": "fp32",
>     "optimizer": "sgd",
>     "seed": 0,
>     "ops": [
>       {"name": "fc1", "kind": "linear", "split": {"n": 2}, "devices": [0, 1]},
>       {"name": "loss", "kind": "cross_entropy", "split": {"n": 2}, "devices": [0, 1]}
>     ],
>     "stages": [],
>     "schedule": {"name": "none", "micro_batches": 1, "stash": false, "vertical_sync": false}
>   },
>   "graph": {
>     "format": "hypar-graph/1",
>     "name": "mlp:4-4",
>     "batch": 8,
>     "inputs": [
>       {"name": "x", "shape": [8, 4]},
>       {"name": "labels", "shape": [8], "index": true}
>     ],
>     "params": [
>       {"name": "fc1.w", "shape": [4, 4]},
>       {"name": "fc1.b", "shape": [4]}
>     ],
>     "ops": [
>       {"name": "fc1", "kind": "linear", "inputs": ["x", "fc1.w", "fc1.b"], "attrs": {"out": 4, "transposed": 0}},
>       {"name": "loss", "kind": "cross_entropy", "inputs": ["fc1", "labels"]}
>     ],
>     "outputs": ["fc1"]
>   },
>   "machine": {
>     "format": "hypar-machine/1",
>     "topology": "full",
>     "shape": [2],
>     "device": {
>       "name": "v100",
>       "fp32_op_per_s": 15700000000000,
>       "fp64_op_per_s": 7800000000000,
>       "bf16_op_per_s": 15700000000000,
>       "fp16_op_per_s": 125000000000000,
>       "tf32_op_per_s": 15700000000000,
>       "fp8_op_per_s": 0,
>       "efficiency": 0.5,
>       "memory_bytes": 16000000000,
>       "usable_bytes": 0,
>       "context_bytes": 0,
>       "workspace_bytes": 0,
>       "memory_bytes_per_s": 900000000000,
>       "add_j": 9e-13,
>       "multiply_j": 3.7e-12,
>       "sram_access_j": 5e-12,
>       "dram_access_j": 1.2544e-10,
>       "idle_w": 0,
>       "power_limit_w": 0,
>       "busy_w": 0,
>       "fp64_op_j": 0,
>       "fp32_op_j": 0,
>       "tf32_op_j": 0,
>       "bf16_op_j": 0,
>       "fp8_op_j": 0,
>       "vector_op_j": 0,
>       "reduction_length": 0,
>       "output_length": 0,
>       "unaligned_efficiency": 0,
>       "stream_efficiency": 0,
>       "product_efficiency": 0,
>       "row_efficiency": 0,
>       "column_efficiency": 0,
>       "compiled_column_efficiency": 0,
>       "window_efficiency": 0,
>       "scatter_efficiency": 0,
>       "column_sums": 0,
>       "attention_efficiency": 0,
>       "attention_backward": 0,
>       "attention_width": 0,
>       "attention_keys": 0,
>       "attention_causal": 0,
>       "flash2_share": 0,
>       "kernel_s": 0,
>       "reduction_s": 0,
>       "column_s": 0,
>       "summed_s": 0,
>       "vector_op_per_s": 0,
>       "eager_launch_s": 2.6e-05,
>       "compiled_launch_s": 0,
>       "comm_latency_s": 0,
>       "copy_bytes_per_s": 0,
>       "comm_share": 0,
>       "jitter": 0
>     },
>     "bytes_per_s": 25000000000,
>     "link_efficiency": 1,
>     "latency_s": 1e-06,
>     "energy_j_per_bit": 8e-12
>   },
>   "lower": {"bucket_bytes": 0, "local_bn": false, "minibatches": 0},
>   "schedule": [
>     {
>       "devices": [0, 1],
>       "slots": ["F0.0", "B0.0", "U0.0"]
>     }
>   ],
>   "bodies": [
>     {
>       "micro_batches": 1,
>       "samples_of_first": [0, 8],
>       "blocks": [
>         {"first": 0, "passes": ["fc1:0", "loss:0", "loss:1"], "half": "forward", "parts": [0, 1], "devices": [0, 1], "ranges": {"n": [[0, 4], [4, 8]]}, "after": [[], []]},
>         {"first": 2, "passes": ["loss:2"], "half": "backward", "parts": [0, 1], "devices": [0, 1], "ranges": {"n": [[0, 4], [4, 8]]}, "after": [[0], [1]]},
>         {"first": 4, "passes": ["fc1:2"], "half": "backward", "parts": [0, 1], "devices": [0, 1], "ranges": {"n": [[0, 4], [4, 8]]}, "after": [[2], [3]]},
>         {"first": 6, "passes": ["fc1:3"], "half": "backward", "parts": [0, 1], "devices": [0, 1], "ranges": {"n": [[0, 4], [4, 8]]}, "after": [[2], [3]]}
>       ]
>     }
>   ],
>   "tail": [
>     {
>       "first": 8,
>       "tensor": "loss",
>       "half": "backward",
>       "comms": [
>         {"kind": "all-reduce", "devices": [0, 1], "bytes": 8, "regions": [{"box": [], "from": [0, 1], "sum_on": [0, 1], "to": [0, 1]}]}
>       ],
>       "after": [[0, 1]]
>     },
>     {
>       "first": 9,
>       "gradient": "fc1.w",
>       "half": "backward",
>       "comms": [
>         {"kind": "all-reduce", "devices": [0, 1], "bytes": 128, "regions": [{"box": [[0, 4], [0, 4]], "from": [0, 1], "sum_on": [0, 1], "to": [0, 1]}]}
>       ],
>       "after": [[4, 5]]
>     },
>     {
>       "first": 10,
>       "gradient": "fc1.b",
>       "half": "backward",
>       "comms": [
>         {"kind": "all-reduce", "devices": [0, 1], "bytes": 32, "regions": [{"box": [[0, 4]], "from": [0, 1], "sum_on": [0, 1], "to": [0, 1]}]}
>       ],
>       "after": [[6, 7]]
>     },
>     {"first": 11, "update": "fc1.w", "devices": [0, 1], "group": 0, "after": [[9, 0], [9, 1]]},
>     {"first": 13, "update": "fc1.b", "devices": [0, 1], "group": 0, "after": [[10, 0], [10, 1]]}
>   ]
> }
$ sed 's/"ops"/"schedule": {"name": "none", "micro_batches": 2}, "ops"/' tests/cli/plan.json | hypar lower - -q -o - | sed -n '/"schedule": \[/,/^  \]/p'
>   "schedule": [
>     {
>       "devices": [0, 1],
>       "slots": ["F0.0", "B0.0", "F0.1", "B0.1", "U0.0"]
>     }
>   ],

Gradients in buckets: the same bytes, in one message where the bucket has the same number.
$ hypar lower examples/plans/data-parallel.json --bucket 25MB | tail -n 1
> 627 MB sent in all: forward 538 kB, backward 538 kB, gradients 626 MB, loss 56 B
$ hypar lower tests/cli/plan.json --bucket 1MB -q -o - | grep bucket
>   "lower": {"bucket_bytes": 1000000, "local_bn": false, "minibatches": 0},
>         {"kind": "all-reduce", "devices": [0, 1], "bytes": 128, "bucket": 9, "regions": [{"box": [[0, 4], [0, 4]], "from": [0, 1], "sum_on": [0, 1], "to": [0, 1]}]}
>         {"kind": "all-reduce", "devices": [0, 1], "bytes": 32, "bucket": 9, "regions": [{"box": [[0, 4]], "from": [0, 1], "sum_on": [0, 1], "to": [0, 1]}]}

Forward phases alone: what is left are computations, and the loss.
$ hypar lower examples/plans/data-parallel.json --forward
> resnet18:image=32,classes=10, batch 64, on 8 devices, 1 micro-batch: 233 tasks
>
> tasks         number  bytes sent
> computations     232
> updates            0
> all-reduce         1        56 B
>
> operator                 bytes sent
> loss      cross_entropy        56 B
>
> 56 B sent in all: forward 0 B, backward 0 B, gradients 0 B, loss 56 B
$ hypar lower tests/cli/plan.json --forward -q -o - | grep -e lower -e slots
>   "form": "lowered",
>   "lower": {"bucket_bytes": 0, "local_bn": false, "minibatches": 0, "forward": true},
>       "slots": ["F0.0", "U0.0"]

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
> hypar: note: 2 of 4 devices have nothing to do
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

A window of minibatches.
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
>     "schedule": {"name": "pipedream", "micro_batches": 1, "stash": true, "vertical_sync": false}
>   },
>   "graph": {
>     "format": "hypar-graph/1",
>     "name": "mlp:784-1024-1024-10",
>     "batch": 128,
>     "inputs": [
>       {"name": "x", "shape": [128, 784]},
>       {"name": "labels", "shape": [128], "index": true}
>     ],
>     "params": [
>       {"name": "fc1.w", "shape": [784, 1024]},
>       {"name": "fc1.b", "shape": [1024]},
>       {"name": "fc2.w", "shape": [1024, 1024]},
>       {"name": "fc2.b", "shape": [1024]},
>       {"name": "fc3.w", "shape": [1024, 10]},
>       {"name": "fc3.b", "shape": [10]}
>     ],
>     "ops": [
>       {"name": "fc1", "kind": "linear", "inputs": ["x", "fc1.w", "fc1.b"], "attrs": {"out": 1024, "transposed": 0}},
>       {"name": "relu1", "kind": "relu", "inputs": ["fc1"]},
>       {"name": "fc2", "kind": "linear", "inputs": ["relu1", "fc2.w", "fc2.b"], "attrs": {"out": 1024, "transposed": 0}},
>       {"name": "relu2", "kind": "relu", "inputs": ["fc2"]},
>       {"name": "fc3", "kind": "linear", "inputs": ["relu2", "fc3.w", "fc3.b"], "attrs": {"out": 10, "transposed": 0}},
>       {"name": "loss", "kind": "cross_entropy", "inputs": ["fc3", "labels"]}
>     ],
>     "outputs": ["fc3"]
>   },
>   "machine": {
>     "format": "hypar-machine/1",
>     "topology": "full",
>     "shape": [4],
>     "device": {
>       "name": "v100",
>       "fp32_op_per_s": 15700000000000,
>       "fp64_op_per_s": 7800000000000,
>       "bf16_op_per_s": 15700000000000,
>       "fp16_op_per_s": 125000000000000,
>       "tf32_op_per_s": 15700000000000,
>       "fp8_op_per_s": 0,
>       "efficiency": 0.5,
>       "memory_bytes": 16000000000,
>       "usable_bytes": 0,
>       "context_bytes": 0,
>       "workspace_bytes": 0,
>       "memory_bytes_per_s": 900000000000,
>       "add_j": 9e-13,
>       "multiply_j": 3.7e-12,
>       "sram_access_j": 5e-12,
>       "dram_access_j": 1.2544e-10,
>       "idle_w": 0,
>       "power_limit_w": 0,
>       "busy_w": 0,
>       "fp64_op_j": 0,
>       "fp32_op_j": 0,
>       "tf32_op_j": 0,
>       "bf16_op_j": 0,
>       "fp8_op_j": 0,
>       "vector_op_j": 0,
>       "reduction_length": 0,
>       "output_length": 0,
>       "unaligned_efficiency": 0,
>       "stream_efficiency": 0,
>       "product_efficiency": 0,
>       "row_efficiency": 0,
>       "column_efficiency": 0,
>       "compiled_column_efficiency": 0,
>       "window_efficiency": 0,
>       "scatter_efficiency": 0,
>       "column_sums": 0,
>       "attention_efficiency": 0,
>       "attention_backward": 0,
>       "attention_width": 0,
>       "attention_keys": 0,
>       "attention_causal": 0,
>       "flash2_share": 0,
>       "kernel_s": 0,
>       "reduction_s": 0,
>       "column_s": 0,
>       "summed_s": 0,
>       "vector_op_per_s": 0,
>       "eager_launch_s": 2.6e-05,
>       "compiled_launch_s": 0,
>       "comm_latency_s": 0,
>       "copy_bytes_per_s": 0,
>       "comm_share": 0,
>       "jitter": 0
>     },
>     "bytes_per_s": 25000000000,
>     "link_efficiency": 1,
>     "latency_s": 1e-06,
>     "energy_j_per_bit": 8e-12
>   },
>   "lower": {"bucket_bytes": 0, "local_bn": false, "minibatches": 4},
>   "schedule": [
>     {
>       "devices": [0],
>       "slots": ["F0.0", "F0.3", "B0.0", "U0.0", "B0.3", "U0.1"]
>     },
>     {
>       "devices": [1],
>       "slots": ["F0.1", "F0.4", "B0.1", "U0.0", "B0.4", "U0.1"]
>     },
>     {
>       "devices": [2],
>       "slots": ["F0.2", "F0.5", "B0.2", "U0.0", "B0.5", "U0.1"]
>     },
>     {
>       "devices": [3],
>       "slots": ["F1.0", "B1.0", "U1.0", "F1.1", "B1.1", "U1.1", "F1.2", "B1.2", "U1.2", "F1.3", "B1.3", "U1.3", "F1.4", "B1.4", "U1.4", "F1.5", "B1.5", "U1.5"]
>     }
>   ],

The devices that have the same piece of a parameter divide the optimizer's state: gradients come to
owners, parameters from them.
$ sed 's/"n": 2}/&, "shard_state": true/' examples/plans/pipeline.json | hypar lower -
> mlp:784-1024-1024-10, batch 128, on 4 devices, 8 micro-batches: 281 tasks
>
> tasks           number  bytes sent
> computations       224
> updates             12
> send                32      524 kB
> all-gather           6     3.73 MB
> reduce-scatter       6     3.73 MB
> all-reduce           1         8 B
>
> operator                 bytes sent
> fc2       linear             4.2 MB
> fc1       linear            3.22 MB
> relu1     relu               524 kB
> fc3       linear              41 kB
> loss      cross_entropy         8 B
>
> 7.98 MB sent in all: forward 262 kB, backward 262 kB, gradients 3.73 MB, loss 8 B, parameters 3.73 MB

What cannot be lowered.
$ sed 's/"stash"/"micro_batches": 2, &/' examples/plans/pipedream.json | hypar lower -
> hypar: standard input: schedule pipedream with 2 micro-batches cannot be lowered, expected 1: a minibatch is a whole batch
? 3
$ printf '{"format": "hypar-plan/1", "model": "mlp:4-4", "batch": 8, "machine": "full:2", "ops": [{"name": "*", "split": {"k": 2}, "shard": "optimizer"}]}' | hypar lower -
> hypar: standard input: op 'fc1': shard 'optimizer', but no two devices have the same of its parameters
? 1
$ sed 's/"n": 2}/&, "shard": "optimizer", "shard_over": 3/' examples/plans/pipeline.json | hypar lower -
> hypar: standard input: shard_over 3 does not divide the 2 devices that have a piece of the parameters
? 1
$ hypar import mlp:4-4 -q -o - | sed '/"loss"/d; s/\(.*"fc1", "kind".*\),$/\1/' >$TMP/no-loss.json
$ printf '{"format": "hypar-plan/1", "model": "%s", "batch": 8, "machine": "full:2", "ops": [{"name": "*"}]}' $TMP/no-loss.json | hypar lower -
> hypar: note: 1 of 2 devices has nothing to do
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
> hypar: tests/cli/plan.json: the plan is for 2 devices, --on full:1 has 1; expected as many, or a plan for them: hypar plan MODEL --on full:1
? 1
$ hypar lower $TMP/none.json
> hypar: $TMP/none.json: cannot open: No such file or directory
? 3
$ hypar lower tests/cli/plan.json -o $TMP/none/program.json
> hypar: $TMP/none/program.json: cannot write: No such file or directory
? 4

What is written is simulated as its plan is.
$ for p in data-parallel pipeline pipedream; do hypar simulate examples/plans/$p.json > $TMP/a; hypar lower examples/plans/$p.json -q -o $TMP/p.json; hypar simulate $TMP/p.json > $TMP/b; cmp $TMP/a $TMP/b && echo the same; done
> the same
> the same
> the same
$ hypar simulate $TMP/p.json --bucket 25MB
> hypar: simulate: --bucket needs a plan; '$TMP/p.json' is a program
? 2
$ hypar simulate $TMP/p.json -q --timeline - | head -n 5
> {
>   "format": "hypar-timeline/1",
>   "devices": 4,
>   "tasks": [
>     {"id": 0, "on": 0, "name": "fc1+relu1 forward part 0 minibatch 0", "kind": "forward", "ready": 0, "start": 0, "end": 2.734609e-05},
