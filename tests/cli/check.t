A plan that fits.
$ hypar check tests/cli/plan.json
> ok: mlp:4-4, batch 8: 2 operators in 4 parts on a machine of 2 devices
> memory: 400 B of 16 GB on the fullest device
$ hypar check tests/cli/plan.json --json
> {"ok": true, "batch": 8, "ops": 2, "parts": 4, "devices": 2, "stages": 0, "schedule": "none", "micro_batches": 1, "peak_memory_bytes": 400, "memory": {"parameters_bytes": 80, "gradients_bytes": 80, "optimizer_bytes": 0, "weight_versions_bytes": 0, "activations_bytes": 176, "buffers_bytes": 64, "recompute_saves_bytes": 96, "limit_bytes": 16000000000}}
$ hypar check - < tests/cli/plan.json
> ok: mlp:4-4, batch 8: 2 operators in 4 parts on a machine of 2 devices
> memory: 400 B of 16 GB on the fullest device

Another machine, another model.
$ hypar check tests/cli/plan.json --on torus:2x2
> ok: mlp:4-4, batch 8: 2 operators in 4 parts on a machine of 4 devices
> memory: 400 B of 16 GB on the fullest device
$ hypar check tests/cli/plan.json --on full:1
> hypar: tests/cli/plan.json: op 'fc1': device 1 is not in the machine, expected 0
? 1
$ hypar check tests/cli/plan.json --model mlp:4-4-4
> hypar: tests/cli/plan.json: op 'relu1' is not listed, nor is '*', which stands for the rest
? 1
$ hypar check tests/cli/plan.json --model mlp:6-3
> ok: mlp:6-3, batch 8: 2 operators in 4 parts on a machine of 2 devices
> memory: 408 B of 16 GB on the fullest device

What does not fit is told with the operator and the reason; it is no malformed input.
$ sed 's/"n": 2/"q": 2/' tests/cli/plan.json | hypar check -
> hypar: standard input: op 'fc1': axis 'q' is unknown, expected one of n, k, c, r
? 1
$ sed 's/"n": 2/"n": 3/' tests/cli/plan.json | hypar check -
> hypar: standard input: op 'fc1': 2 devices, expected one for each of its 3 parts
? 1
$ sed 's/\[0, 1\]/[0, 7]/' tests/cli/plan.json | hypar check -
> hypar: standard input: op 'fc1': device 7 is not in the machine, expected 0 to 1
? 1
$ sed 's/"fc1"/"fc2"/' tests/cli/plan.json | hypar check -
> hypar: standard input: op 'fc2' is not in the model; perhaps 'fc1'
? 1

Activations count too; where a plan cannot be made explicit, only what lives from step to step does.
$ hypar check examples/plans/data-parallel.json
> ok: resnet18:image=32,classes=10, batch 64: 69 operators in 552 parts on a machine of 8 devices
> memory: 92.9 MB of 16 GB on the fullest device
$ hypar check examples/plans/data-parallel.json --json
> {"ok": true, "batch": 64, "ops": 69, "parts": 552, "devices": 8, "stages": 0, "schedule": "none", "micro_batches": 1, "peak_memory_bytes": 92887120, "memory": {"parameters_bytes": 44726568, "gradients_bytes": 44726568, "optimizer_bytes": 0, "weight_versions_bytes": 0, "activations_bytes": 3380736, "buffers_bytes": 53248, "recompute_saves_bytes": 3282432, "limit_bytes": 16000000000}}
$ hypar check examples/plans/data-parallel.json --memory 90MB
> hypar: examples/plans/data-parallel.json: device 0 needs 92.9 MB of memory, has 90 MB
? 1
$ hypar check examples/plans/data-parallel.json --memory 90MB --json 2>/dev/null
> {"ok": false, "error": "examples/plans/data-parallel.json: device 0 needs 92.9 MB of memory, has 90 MB"}
? 1
$ hypar check examples/plans/data-parallel.json --memory 10MB
> hypar: examples/plans/data-parallel.json: weights, gradients and sgd state need 89.5 MB on device 0, which has 10 MB
? 1
$ hypar check examples/plans/pipedream.json
> ok: mlp:784-1024-1024-10, batch 128: 6 operators in 14 parts on a machine of 4 devices; 2 stages, schedule pipedream, micro-batches 1
> memory: 25.7 MB of 16 GB on the fullest device
$ hypar check examples/plans/pipedream.json -q
> ok: mlp:784-1024-1024-10, batch 128: 6 operators in 14 parts on a machine of 4 devices; 2 stages, schedule pipedream, micro-batches 1
> memory: 25.7 MB of 16 GB on the fullest device

What is no plan is malformed.
$ sed 's/"n": 2/"n": "two"/' tests/cli/plan.json | hypar check -
> hypar: standard input: ops[0].split.n: expected an integer in 1..1048576, not "two"
? 3
$ sed 's/"batch"/"botch"/' tests/cli/plan.json | hypar check -
> hypar: standard input: unknown member 'botch', expected one of format, model, graph_hash, batch, machine, precision, optimizer, seed, ops, stages, schedule
? 3
$ sed 's/full:2/fall:2/' tests/cli/plan.json | hypar check -
> hypar: standard input: machine: machine 'fall:2': unknown topology 'fall', expected one of htree, torus, mesh, ring, full, cluster, local
? 3
$ head -n 3 tests/cli/plan.json | hypar check -
> hypar: standard input:4:0: ']' expected near end of file
? 3

With --json, "no" is an answer too.
$ hypar check tests/cli/plan.json --on full:1 --json 2>/dev/null
> {"ok": false, "error": "tests/cli/plan.json: op 'fc1': device 1 is not in the machine, expected 0"}
? 1
$ hypar check tests/cli/plan.json --on full:1 --json -q -o $TMP/answer.json; cat $TMP/answer.json
> hypar: tests/cli/plan.json: op 'fc1': device 1 is not in the machine, expected 0
> {"ok": false, "error": "tests/cli/plan.json: op 'fc1': device 1 is not in the machine, expected 0"}
$ sed 's/"n": 2/"n": "two"/' tests/cli/plan.json | hypar check - --json
> hypar: standard input: ops[0].split.n: expected an integer in 1..1048576, not "two"
? 3
