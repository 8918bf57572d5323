Sharded state: what is divided makes no difference to what is trained.
$ for s in none optimizer gradients parameters; do hypar plan mlp:20-32-16-4 --batch 16 --on full:4 -p dp --optimizer adam --shard $s -qo $TMP/$s.json; done; grep -h '"fc1"' $TMP/*.json
>     {"name": "fc1", "kind": "linear", "split": {"n": 4}, "devices": [0, 1, 2, 3], "shard": "gradients"},
>     {"name": "fc1", "kind": "linear", "split": {"n": 4}, "devices": [0, 1, 2, 3]},
>     {"name": "fc1", "kind": "linear", "split": {"n": 4}, "devices": [0, 1, 2, 3], "shard": "optimizer"},
>     {"name": "fc1", "kind": "linear", "split": {"n": 4}, "devices": [0, 1, 2, 3], "shard": "parameters"},
$ for s in none optimizer gradients parameters; do hypar train $TMP/$s.json --steps 4 --in-process -q --checkpoint $TMP/$s.safetensors >/dev/null; cmp $TMP/none.safetensors $TMP/$s.safetensors && echo $s is the same; done
> none is the same
> optimizer is the same
> gradients is the same
> parameters is the same

Checkpoints go on under any plan.
$ for s in optimizer gradients parameters; do hypar train $TMP/none.json --steps 8 --in-process -q --resume $TMP/$s.safetensors --checkpoint $TMP/a >/dev/null; hypar train $TMP/$s.json --steps 8 --in-process -q --resume $TMP/none.safetensors --checkpoint $TMP/b >/dev/null; cmp $TMP/a $TMP/b && echo $s is the same; done
> optimizer is the same
> gradients is the same
> parameters is the same

What is sent in a step on 8 devices.
$ for s in none optimizer gradients parameters; do hypar plan gpt:layers=2,hidden=64,heads=2,seq=32,vocab=128 --on full:8 -p dp --precision bf16 --optimizer adam --shard $s -qo $TMP/$s.json; hypar lower $TMP/$s.json | tail -1; done
> 3.09 MB sent in all: forward 0 B, backward 0 B, gradients 3.09 MB, loss 56 B
> 3.09 MB sent in all: forward 0 B, backward 0 B, gradients 1.54 MB, loss 56 B, parameters 1.54 MB
> 3.09 MB sent in all: forward 0 B, backward 0 B, gradients 1.54 MB, loss 56 B, parameters 1.54 MB
> 4.58 MB sent in all: forward 0 B, backward 0 B, gradients 1.54 MB, loss 56 B, parameters 3.04 MB

Bad combinations.
$ hypar plan mlp:8-6-4 --on full:2 -p dp --shard some
> hypar: --shard: 'some' is not none, optimizer, gradients or parameters
? 2
$ hypar plan mlp:8-6-4 --on full:2 -p dp --shard-over 2
> hypar: --shard-over needs --shard, which says what is divided
? 2
$ hypar plan mlp:8-6-4 --on full:4 -p dp --shard optimizer --shard-over 3
> hypar: shard_over 3 does not divide the 4 devices that have a piece of the parameters
? 1
$ plan() { echo "{\"format\": \"hypar-plan/1\", \"model\": \"mlp:8-6-4\", \"batch\": 8, \"machine\": \"full:2\", \"ops\": [$1, {\"name\": \"*\", \"split\": {\"n\": 2}}]$2}" | hypar check -; }; plan '{"name": "relu1", "split": {"n": 2}, "shard": "optimizer"}'
> hypar: standard input: op 'relu1': shard 'optimizer', but it has no parameters
? 1
$ plan() { echo "{\"format\": \"hypar-plan/1\", \"model\": \"mlp:8-6-4\", \"batch\": 8, \"machine\": \"full:2\", \"ops\": [$1, {\"name\": \"*\", \"split\": {\"n\": 2}}]$2}" | hypar check -; }; plan '{"name": "fc1", "split": {"n": 2}, "shard_over": 2}'
> hypar: standard input: op 'fc1': shard_over 2, but nothing is sharded
? 1
$ plan() { echo "{\"format\": \"hypar-plan/1\", \"model\": \"mlp:8-6-4\", \"batch\": 8, \"machine\": \"full:2\", \"ops\": [$1, {\"name\": \"*\", \"split\": {\"n\": 2}}]$2}" | hypar check -; }; plan '{"name": "fc1", "split": {"n": 2}, "shard": "gradients"}' ', "stages": [{"ops": ["fc1", "relu1", "fc2", "loss"], "devices": [0, 1]}], "schedule": {"name": "pipedream"}'
> hypar: standard input: op 'fc1': shard 'gradients' under schedule 'pipedream', expected 'optimizer'
? 1
