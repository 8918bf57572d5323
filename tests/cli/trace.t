A trace is packed if its name says so; the whole step, or some devices and a part of it.
$ hypar plan mlp:64-64-64-10 --on ring:2 --batch 32 --planner gpipe --micro-batches 2 -q -o $TMP/plan.json
$ cd $TMP && hypar simulate plan.json --trace whole.json -q -o out && hypar simulate plan.json --trace whole.json.gz -q -o out && gzip -dc whole.json.gz | cmp - whole.json && hypar simulate plan.json --trace - | cmp - whole.json
$ cd $TMP && grep -c '"ph": "X"' whole.json
> 38
$ cd $TMP && hypar simulate plan.json --trace part.json --trace-names kind --trace-devices 1 --trace-from 1us --trace-to 2us -q -o out && grep -o '"name": "[a-z-]* *[01]*", "ph": "[XC]".*"tid": [0-9]*' part.json
> "name": "forward 0", "ph": "X", "ts": 1.200533, "pid": 1, "tid": 1
> "name": "forward 0", "ph": "X", "ts": 1.237226, "pid": 1, "tid": 1
> "name": "backward 0", "ph": "X", "ts": 1.410999, "pid": 1, "tid": 1
> "name": "backward 0", "ph": "X", "ts": 1.412639, "pid": 1, "tid": 1
> "name": "gradient 0", "ph": "X", "ts": 1.420746, "pid": 1, "tid": 1
> "name": "gradient 0", "ph": "X", "ts": 1.428853, "pid": 1, "tid": 1
> "name": "backward 0", "ph": "X", "ts": 1.429609, "pid": 1, "tid": 1
> "name": "backward 0", "ph": "X", "ts": 1.443262, "pid": 1, "tid": 1
> "name": "gradient 0", "ph": "X", "ts": 1.470569, "pid": 1, "tid": 1
> "name": "gradient 0", "ph": "X", "ts": 1.497876, "pid": 1, "tid": 1
> "name": "send 0", "ph": "X", "ts": 1.470569, "pid": 2, "tid": 1
> "name": "forward 1", "ph": "X", "ts": 1.364373, "pid": 1, "tid": 1
> "name": "forward 1", "ph": "X", "ts": 1.401066, "pid": 1, "tid": 1
> "name": "backward 1", "ph": "X", "ts": 1.502712, "pid": 1, "tid": 1
> "name": "backward 1", "ph": "X", "ts": 1.504352, "pid": 1, "tid": 1
> "name": "gradient 1", "ph": "X", "ts": 1.512459, "pid": 1, "tid": 1
> "name": "gradient 1", "ph": "X", "ts": 1.520566, "pid": 1, "tid": 1
> "name": "backward 1", "ph": "X", "ts": 1.521322, "pid": 1, "tid": 1
> "name": "backward 1", "ph": "X", "ts": 1.543641, "pid": 1, "tid": 1
> "name": "gradient 1", "ph": "X", "ts": 1.570948, "pid": 1, "tid": 1
> "name": "gradient 1", "ph": "X", "ts": 1.598255, "pid": 1, "tid": 1
> "name": "send 1", "ph": "X", "ts": 1.634409, "pid": 2, "tid": 1
> "name": "update", "ph": "X", "ts": 1.534975, "pid": 1, "tid": 1
> "name": "update", "ph": "X", "ts": 1.543508, "pid": 1, "tid": 1
> "name": "update", "ph": "X", "ts": 1.603091, "pid": 1, "tid": 1
> "name": "update", "ph": "X", "ts": 1.657704, "pid": 1, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.200533, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.228124, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.237226, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.245377, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.24623, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.364373, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.391964, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.401066, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.409217, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.41007, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.410999, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.412639, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.429609, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.443262, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.502712, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.504352, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.521322, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.534975, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.543641, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.603091, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.603091, "pid": 3, "tid": 1
> "name": "device 1", "ph": "C", "ts": 1.603091, "pid": 3, "tid": 1
$ cd $TMP && grep -o '"args": {"name": "[^"]*"' part.json
> "args": {"name": "devices"
> "args": {"name": "links"
> "args": {"name": "memory"
> "args": {"name": "device 1: stage 1"
> "args": {"name": "device 1: stage 1"
> "args": {"name": "1 -> 0"

Names of kinds in the place of tasks; arrows.
$ cd $TMP && hypar simulate plan.json --trace names.json --trace-names kind -q -o out && grep -m 3 -o '"name": "[^"]*", "ph": "X"' names.json
> "name": "forward 0", "ph": "X"
> "name": "send 0", "ph": "X"
> "name": "forward 0", "ph": "X"
$ cd $TMP && hypar simulate plan.json --trace names.json --trace-arrows -q -o out && grep -m 3 -o '"name": "[^"]*", "ph": "X"' names.json; grep -m 2 '"cat": "arrow"' names.json; grep -c '"ph": "s"' names.json; grep -c '"ph": "f"' names.json
> "name": "fc1+relu1 forward part 0 micro 0", "ph": "X"
> "name": "send relu1 micro 0", "ph": "X"
> "name": "fc2+relu2 forward part 0 micro 0", "ph": "X"
>     {"name": "waits for", "ph": "s", "ts": 0, "pid": 1, "tid": 0, "cat": "arrow", "id": 0},
>     {"name": "waits for", "ph": "f", "ts": 0.036693, "pid": 2, "tid": 0, "cat": "arrow", "id": 0, "bp": "e"},
> 37
> 37

A limit; what is left out is a note.
$ cd $TMP && hypar simulate plan.json --trace few.json --trace-bars 10 -o out; grep -c '"ph": "X"' few.json
> hypar: note: few.json: the first 10 of 38 bars, up to 1.42 us of the step;
>        --trace-devices, --trace-from and --trace-to show others, --trace-bars
>        more
> 10
$ cd $TMP && hypar simulate plan.json --trace few.json --trace-bars 10 -q -o out

A part of the step in which nothing is done is told.
$ cd $TMP && hypar simulate plan.json --trace part.json --trace-from 1s -o out && grep -c '"ph": "X"' part.json
> hypar: note: part.json: empty, nothing is under way at --trace-from, 1 s, or
>        later
> 0
? 1

A trace of a large plan is a file that can be opened: less than 30 MB.
$ cd $TMP && hypar plan llama2-70b --on cluster:8x8,device=H100 --precision BF16 --optimizer AdamW --batch 64 --planner 3d --data 1 --tensor 8 --pipeline 8 --micro-batches 64 -q -o large.json && hypar simulate large.json --trace large.trace.json.gz -o out && test $(wc -c <large.trace.json.gz) -lt 30000000 && gzip -dc large.trace.json.gz | grep -c '"ph": "X"'
> hypar: note: large.trace.json.gz: the first 199992 of 2178728 bars, up to 655 ms
>        of the step; --trace-devices, --trace-from and --trace-to show others,
>        --trace-bars more
> 199992

What cannot be written leaves nothing behind.
$ cd $TMP && hypar simulate plan.json --trace none/t.json.gz; hypar simulate plan.json --trace /dev/full -q -o out2; test ! -e out2 && echo nothing
> hypar: none/t.json.gz: cannot write: No such file or directory
> hypar: /dev/full: cannot write: No space left on device
> nothing

Rows of devices say of which stage they are a replica; so do pictures.
$ hypar simulate examples/plans/pipedream.json --trace $TMP/replicas.json --svg $TMP/replicas.svg -q -o $TMP/out && grep -o '"thread_name", "ph": "M", "ts": 0, "pid": 1, .*"name": "device[^"]*"' $TMP/replicas.json | sed 's/.*"name": //'; grep -o 'device [0-9]*: stage[^<]*' $TMP/replicas.svg
> "device 0: stage 0, 1 of 3 replicas"
> "device 1: stage 0, 1 of 3 replicas"
> "device 2: stage 0, 1 of 3 replicas"
> "device 3: stage 1"
> device 0: stage 0, 1 of 3 replicas
> device 1: stage 0, 1 of 3 replicas
> device 2: stage 0, 1 of 3 replicas
> device 3: stage 1
Pictures name the stage of each device, and mark round times.
$ hypar simulate examples/plans/pipeline.json --svg $TMP/p.svg -q -o $TMP/out && grep -o '>device 0: stage[^<]*\|>link [^<]*\|>[0-9.]* [mun]*s<\|>time<\|>gradient of[^<]*\|>exchange on[^<]*' $TMP/p.svg | head -16
> >time<
> >50 us<
> >100 us<
> >150 us<
> >device 0: stage 0, 1 of 2 replicas
> >link 2 -&gt; 3
> >link 3 -&gt; 2
> >link 0 -&gt; 1
> >link 1 -&gt; 0
> >link 0 -&gt; 2
> >link 2 -&gt; 0
> >link 1 -&gt; 3
> >link 3 -&gt; 1
> >gradient of parameters
> >exchange on a link
Asynchronous pipelines have minibatches, no micro-batches.
$ grep -m 1 -o '"name": "[^"]*forward[^"]*"' $TMP/replicas.json; grep -m 1 -o '"minibatch": [0-9]*, "stage": [0-9]*' $TMP/replicas.json; grep -c micro $TMP/replicas.json
> "name": "fc1+relu1 forward part 0 minibatch 0"
> "minibatch": 0, "stage": 0
> 0
? 1
$ hypar plan vgg16 --on cluster:4x4,intra=10GB/s,inter=1.25GB/s --planner pipedream -q -o $TMP/out --svg $TMP/stages.svg && grep -o 'devices 0[^<]*' $TMP/stages.svg
> devices 0-11: 12 replicas
