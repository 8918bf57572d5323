A plan that fits.
$ hypar check tests/cli/plan.json
> ok: mlp:4-4, batch 8: 2 operators in 4 parts on a machine of 2 devices
> Run as compiled on v100, the default device
> memory: 404 B of 16 GB on the fullest device
$ hypar check tests/cli/plan.json --json
> {"ok": true, "batch": 8, "ops": 2, "parts": 4, "devices": 2, "stages": 0, "schedule": "none", "micro_batches": 1, "peak_memory_bytes": 404, "memory": {"parameters_bytes": 80, "gradients_bytes": 80, "optimizer_bytes": 0, "weight_versions_bytes": 0, "activations_bytes": 180, "buffers_bytes": 64, "framework_bytes": 0, "recompute_saves_bytes": 96, "saved_bytes": 180, "limit_bytes": 16000000000}}
$ hypar check - < tests/cli/plan.json
> ok: mlp:4-4, batch 8: 2 operators in 4 parts on a machine of 2 devices
> Run as compiled on v100, the default device
> memory: 404 B of 16 GB on the fullest device

Another machine, another model.
$ hypar check tests/cli/plan.json --on torus:2x2
> hypar: note: 2 of 4 devices have nothing to do
> ok: mlp:4-4, batch 8: 2 operators in 4 parts on a machine of 4 devices
> Run as compiled on v100, the default device
> memory: 404 B of 16 GB on the fullest device
$ hypar check tests/cli/plan.json --on full:1
> hypar: tests/cli/plan.json: the plan is for 2 devices, --on full:1 has 1; expected as many, or a plan for them: hypar plan MODEL --on full:1
? 1
$ hypar check tests/cli/plan.json --model mlp:4-4-4
> hypar: tests/cli/plan.json: op 'relu1' is not listed, nor is '*', which stands for the rest
? 1
$ hypar check tests/cli/plan.json --model mlp:6-3
> ok: mlp:6-3, batch 8: 2 operators in 4 parts on a machine of 2 devices
> Run as compiled on v100, the default device
> memory: 412 B of 16 GB on the fullest device

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

Activations count too; where a model cannot be lowered, only what lives from step to step does.
$ hypar check examples/plans/data-parallel.json
> ok: resnet18:image=32,classes=10, batch 64: 69 operators in 552 parts on a
> machine of 8 devices
> Run as compiled on v100, the default device
> memory: 92.9 MB of 16 GB on the fullest device
$ hypar check examples/plans/data-parallel.json --json
> {"ok": true, "batch": 64, "ops": 69, "parts": 552, "devices": 8, "stages": 0, "schedule": "none", "micro_batches": 1, "peak_memory_bytes": 92938132, "memory": {"parameters_bytes": 44726568, "gradients_bytes": 44726568, "optimizer_bytes": 0, "weight_versions_bytes": 0, "activations_bytes": 3451908, "buffers_bytes": 33088, "framework_bytes": 0, "recompute_saves_bytes": 3315200, "saved_bytes": 3452324, "limit_bytes": 16000000000}}
$ hypar check examples/plans/data-parallel.json --memory 90MB
> hypar: examples/plans/data-parallel.json: device 0 needs 92.9 MB of memory, has 90 MB allowed by --memory
? 1
$ hypar check examples/plans/data-parallel.json --memory 90MB --json 2>/dev/null
> {"ok": false, "error": "examples/plans/data-parallel.json: device 0 needs 92.9 MB of memory, has 90 MB allowed by --memory"}
? 1
$ hypar check examples/plans/data-parallel.json --memory 92887119B
> hypar: examples/plans/data-parallel.json: device 0 needs 92938132 B of memory, has 92887119 B allowed by --memory
? 1
$ hypar check examples/plans/data-parallel.json --memory 10MB
> hypar: examples/plans/data-parallel.json: device 0 needs 92.9 MB of memory, has 10 MB allowed by --memory
? 1
$ hypar check examples/plans/pipedream.json
> ok: mlp:784-1024-1024-10, batch 128: 6 operators in 14 parts on a machine of 4
> devices; 2 stages, schedule pipedream, micro-batches 1
> Run as compiled on v100, the default device
> memory: 26.2 MB of 16 GB on the fullest device
$ hypar check examples/plans/pipedream.json -q
> ok: mlp:784-1024-1024-10, batch 128: 6 operators in 14 parts on a machine of 4
> devices; 2 stages, schedule pipedream, micro-batches 1
> Run as compiled on v100, the default device
> memory: 26.2 MB of 16 GB on the fullest device

What is no plan is malformed.
$ sed 's/"n": 2/"n": "two"/' tests/cli/plan.json | hypar check -
> hypar: standard input: ops[0].split.n: expected an integer in 1..1048576, not "two"
? 3
$ sed 's/"batch"/"botch"/' tests/cli/plan.json | hypar check -
> hypar: standard input: unknown member 'botch', did you mean batch?
? 3
$ sed 's/full:2/fall:2/' tests/cli/plan.json | hypar check -
> hypar: standard input: machine: machine 'fall:2': unknown topology 'fall', did you mean full?
? 3
$ head -n 3 tests/cli/plan.json | hypar check -
> hypar: standard input:4:0: ']' expected near end of file
? 3

With --json, "no" is an answer too.
$ hypar check tests/cli/plan.json --on full:1 --json 2>/dev/null
> {"ok": false, "error": "tests/cli/plan.json: the plan is for 2 devices, --on full:1 has 1; expected as many, or a plan for them: hypar plan MODEL --on full:1"}
? 1
$ hypar check tests/cli/plan.json --on full:1 --json -q -o $TMP/answer.json; cat $TMP/answer.json
> hypar: tests/cli/plan.json: the plan is for 2 devices, --on full:1 has 1; expected as many, or a plan for them: hypar plan MODEL --on full:1
> {"ok": false, "error": "tests/cli/plan.json: the plan is for 2 devices, --on full:1 has 1; expected as many, or a plan for them: hypar plan MODEL --on full:1"}
$ sed 's/"n": 2/"n": "two"/' tests/cli/plan.json | hypar check - --json
> hypar: standard input: ops[0].split.n: expected an integer in 1..1048576, not "two"
? 3

A plan behind a link is the same plan: paths start from the folder that the file lies in, also of one that is yet to be made.
$ cd $TMP && rm -rf * && mkdir -p a d/e && hypar import lenet5 -q -o a/g.json && hypar machines full:2 -q -o d/e/m.json
$ cd $TMP && ln -s d/e/q.json q.json && ln -s ../q.json a/link.json && ln -s d/e folder
$ cd $TMP && hypar plan a/g.json --on full:2 --planner dp -q -o a/link.json && sed -i 's|"full:2"|"m.json"|' d/e/q.json && grep '"model"' d/e/q.json
>   "model": "../../a/g.json",
$ cd $TMP && for p in q.json a/link.json d/e/q.json folder/q.json ./q.json $TMP/q.json; do hypar check $p | head -n 1; done
> ok: lenet5, batch 32: 13 operators in 26 parts on a machine of 2 devices
> ok: lenet5, batch 32: 13 operators in 26 parts on a machine of 2 devices
> ok: lenet5, batch 32: 13 operators in 26 parts on a machine of 2 devices
> ok: lenet5, batch 32: 13 operators in 26 parts on a machine of 2 devices
> ok: lenet5, batch 32: 13 operators in 26 parts on a machine of 2 devices
> ok: lenet5, batch 32: 13 operators in 26 parts on a machine of 2 devices
$ cd $TMP/a && hypar check link.json | head -n 1; hypar check /dev/stdin < link.json | head -n 1
> ok: lenet5, batch 32: 13 operators in 26 parts on a machine of 2 devices
> ok: lenet5, batch 32: 13 operators in 26 parts on a machine of 2 devices
$ cd $TMP && hypar plan --start q.json --proposals 4 -q -o q.json && ls -F && hypar check d/e/q.json | head -n 1
> a/
> d/
> folder@
> q.json@
> ok: lenet5, batch 32: 13 operators in 26 parts on a machine of 2 devices
$ cd $TMP && hypar plan --start a/link.json --proposals 4 -q -o d/new.json && grep '"model"' d/new.json && hypar check d/new.json | head -n 1
>   "model": "../a/g.json",
> ok: lenet5, batch 32: 13 operators in 26 parts on a machine of 2 devices
$ cd $TMP && hypar lower a/link.json -o a/g.json
> hypar: a/link.json: model: --output: 'a/g.json' is what this command reads, expected another file
? 2
$ cd $TMP && mv a/g.json a/h.json; hypar check a/link.json
> hypar: a/link.json: model: $TMP/d/e/../../a/g.json: cannot open: No such file or directory
? 3

Every kind of model file is found beside the plan, with options or without.
$ cp tests/data/pipedream/chain.txt examples/models/encoder.onnx $TMP && cd $TMP && for m in chain.txt encoder.onnx encoder.onnx:batch-dim=x=0; do echo '{"format": "hypar-plan/1", "model": "'$m'", "machine": "full:2", "ops": [{"name": "*"}]}' > d/p.json; mv *.txt *.onnx d 2>/dev/null; hypar check d/p.json -q | head -n 1; done
> ok: chain, batch 1: 5 operators in 5 parts on a machine of 2 devices
> ok: encoder, batch 32: 34 operators in 34 parts on a machine of 2 devices
> ok: encoder, batch 32: 34 operators in 34 parts on a machine of 2 devices

What the loss does not depend on is not trained: weights, without gradients or state.
$ for p in dp hypar optcnn flexflow exhaustive 1f1b; do hypar plan tests/data/untrained-head.json --on full:2 --planner $p --optimizer adam --memory 1100kB -q -o $TMP/p.json && hypar check $TMP/p.json --memory 1100kB | tail -n 1; done
> memory: 1.09 MB of 1.1 MB allowed by --memory on the fullest device
> memory: 595 kB of 1.1 MB allowed by --memory on the fullest device
> memory: 562 kB of 1.1 MB allowed by --memory on the fullest device
> memory: 566 kB of 1.1 MB allowed by --memory on the fullest device
> memory: 566 kB of 1.1 MB allowed by --memory on the fullest device
> memory: 1.08 MB of 1.1 MB allowed by --memory on the fullest device

Splits that look alike and are not: 12 heads on 5 devices.
$ printf '{"format": "hypar-plan/1", "model": "gpt:layers=1,hidden=60,heads=12,seq=8,vocab=16", "batch": 2, "machine": "full:5", "ops": [%s {"name": "h.0.attn", "split": {"a": 5}}, {"name": "*"}]}' "$(printf '{"name": "h.0.attn.%s", "split": {"k": 5}},' q k v)" > $TMP/heads.json; hypar check $TMP/heads.json
> ok: gpt:layers=1,hidden=60,heads=12,seq=8,vocab=16, batch 2: 20 operators in 36
> parts on a machine of 5 devices
> Run as compiled on v100, the default device
> memory: 386 kB of 16 GB on the fullest device
> warning: 'h.0.attn.q' (k=5) and 'h.0.attn' (a=5) are split alike, on the same
> devices, but not into the same elements: what is between them is sent, 2.88 kB a
> step, forward, with 2 more such pairs
$ hypar check $TMP/heads.json --json | grep -o '"warning.*'
> "warning": "'h.0.attn.q' (k=5) and 'h.0.attn' (a=5) are split alike, on the same devices, but not into the same elements: what is between them is sent, 2.88 kB a step, forward, with 2 more such pairs"}
$ hypar simulate $TMP/heads.json 2>&1 >/dev/null
> hypar: note: 'h.0.attn.q' (k=5) and 'h.0.attn' (a=5) are split alike, on the
>        same devices, but not into the same elements: what is between them is
>        sent, 2.88 kB a step, forward, with 2 more such pairs
$ sed 's/5/4/g' $TMP/heads.json | hypar check -
> ok: gpt:layers=1,hidden=60,heads=12,seq=8,vocab=16, batch 2: 20 operators in 32
> parts on a machine of 4 devices
> Run as compiled on v100, the default device
> memory: 390 kB of 16 GB on the fullest device
