A plan that fits.
$ hypar check tests/cli/plan.json
> ok: mlp:4-4, batch 8: 2 operators in 4 parts on a machine of 2 devices
$ hypar check tests/cli/plan.json --json
> {"ok": true, "batch": 8, "ops": 2, "parts": 4, "devices": 2, "stages": 0, "schedule": "none", "micro_batches": 1}
$ hypar check - < tests/cli/plan.json
> ok: mlp:4-4, batch 8: 2 operators in 4 parts on a machine of 2 devices

Another machine, another model.
$ hypar check tests/cli/plan.json --on torus:2x2
> ok: mlp:4-4, batch 8: 2 operators in 4 parts on a machine of 4 devices
$ hypar check tests/cli/plan.json --on full:1
> hypar: tests/cli/plan.json: op 'fc1': device 1 is not in the machine, expected 0
? 1
$ hypar check tests/cli/plan.json --model mlp:4-4-4
> hypar: tests/cli/plan.json: op 'relu1' is not listed, nor is '*', which stands for the rest
? 1
$ hypar check tests/cli/plan.json --model mlp:6-3
> ok: mlp:6-3, batch 8: 2 operators in 4 parts on a machine of 2 devices

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
