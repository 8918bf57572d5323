Nodes with figures of their own. A slow node is what a part of one node is in a machine that is
split by hand: the step is the same, and longer than with equal nodes.
$ hypar plan gpt2 --on cluster:4x2,device=h100,node2.peak=0.5x,node2.inter=10GB/s --batch 64 -p dp -q -o $TMP/slow.json
$ grep '"machine"' $TMP/slow.json
>   "machine": "cluster:4x2,device=h100,node2.peak=0.5x,node2.inter=0.2x",
$ hypar simulate $TMP/slow.json | head -n 1
> gpt2, batch 64, fp32, on 8 devices: a step takes 256 ms
$ hypar plan gpt2 --on cluster:2x2,device=h100+cluster:1x2,device=h100,fp32=33.5T,fp64=33.5T,tf32=247.25T,fp16=494.5T,bf16=494.5T,vector-rate=2.75T,inter=10GB/s+cluster:1x2,device=h100 --batch 64 -p dp -q -o $TMP/parts.json
$ hypar simulate $TMP/parts.json | head -n 1
> gpt2, batch 64, fp32, on 8 devices: a step takes 248 ms
$ hypar plan gpt2 --on cluster:4x2,device=h100 --batch 64 -p dp -q -o $TMP/equal.json
$ hypar simulate $TMP/equal.json | head -n 1
> gpt2, batch 64, fp32, on 8 devices: a step takes 170 ms
A plan for equal nodes, on the machine whose node is slow.
$ hypar simulate $TMP/equal.json --on cluster:4x2,device=h100,node2.peak=0.5x | head -n 1
> gpt2, batch 64, fp32, on 8 devices: a step takes 325 ms

One node has less memory: the plan that fits the others does not fit.
$ hypar simulate $TMP/equal.json --on cluster:4x2,device=h100,node2.memory=4GB --fits
> gpt2, batch 64, fp32, sgd, on 8 devices
>
> device parameters gradients activations buffers workspaces fragmentation communicators context    peak      of
> 0-3        498 MB    498 MB     6.54 GB 1.65 GB    67.1 MB        370 MB        550 MB  550 MB 10.7 GB 84.9 GB fits
> 4-5        498 MB    498 MB     6.54 GB 1.65 GB    67.1 MB        370 MB        550 MB  550 MB 10.7 GB    4 GB too little
> 6-7        498 MB    498 MB     6.54 GB 1.65 GB    67.1 MB        370 MB        550 MB  550 MB 10.7 GB 84.9 GB fits
>
> It does not fit: device 4, the fullest, needs 10.7 GB of 4 GB (268.0 %).
> The framework's allocator hands out 9.25 GB there and holds 9.62 GB; the rest
> lies outside it.
> With --recompute full the fullest device would need 6 GB, 4.72 GB less.
> Memory of h100: 4 GB, of which planners fill 3.55 GB: 448 MB are kept free, as
> predictions are not exact.
> hypar: $TMP/equal.json: device 4 needs 10.7 GB of memory, has 4 GB
? 1

The machine as it is told, and as a file.
$ hypar machines cluster:4x2,device=h100,node2.peak=0.5x,node2-3.inter=10GB/s | sed -n '1,6p; /^node/,/^$/p'
> cluster:4x2,device=h100,node2.peak=0.5x,node2.inter=0.2x,node3.inter=0.2x: cluster, 8 devices, 5 switches, 16 links
>
> devices   fp32/s  fp16/s  bf16/s  memory    bytes/s
> 4 x h100    67 T   989 T   989 T   80 GB  3.35 TB/s
> 2 x h100  33.5 T   494 T   494 T   80 GB  3.35 TB/s
> 2 x h100    67 T   989 T   989 T   80 GB  3.35 TB/s
> node  figure               here   other nodes
> 2     fp32         33.5 TFLOP/s    67 TFLOP/s
> 2     fp64         33.5 TFLOP/s    67 TFLOP/s
> 2     bf16          494 TFLOP/s   989 TFLOP/s
> 2     fp16          494 TFLOP/s   989 TFLOP/s
> 2     tf32          247 TFLOP/s   494 TFLOP/s
> 2     fp8           990 TFLOP/s  1.98 PFLOP/s
> 2     idle-power           65 W         130 W
> 2     power-limit         350 W         700 W
> 2     busy-power          150 W         301 W
> 2     vector-rate  2.75 TFLOP/s   5.5 TFLOP/s
> 2     inter             10 GB/s       50 GB/s
> 3     inter             10 GB/s       50 GB/s
>
$ hypar machines cluster:4x2,device=h100,node2.peak=0.5x,node2-3.inter=10GB/s -q -o $TMP/m.json
$ sed -n '/"nodes"/,$p' $TMP/m.json
>   "nodes": [
>     {"node": 2, "fp32_op_per_s": 33500000000000, "fp64_op_per_s": 33500000000000, "bf16_op_per_s": 494500000000000, "fp16_op_per_s": 494500000000000, "tf32_op_per_s": 247250000000000, "fp8_op_per_s": 989500000000000, "idle_w": 65, "power_limit_w": 350, "busy_w": 150.5, "vector_op_per_s": 2750000000000, "inter_bytes_per_s": 10000000000},
>     {"node": 3, "inter_bytes_per_s": 10000000000}
>   ]
> }
$ hypar machines $TMP/m.json | head -n 1
> cluster:4x2,device=h100,node2.peak=0.5x,node2.inter=0.2x,node3.inter=0.2x: cluster, 8 devices, 5 switches, 16 links
A machine without a word is written into plans whole.
$ sed 's/"name": "h100"/"name": "ours"/' $TMP/m.json > $TMP/ours.json
$ hypar plan gpt2 --on $TMP/ours.json --batch 64 -p dp -q -o $TMP/ours-plan.json
$ grep -A 3 '"nodes": ' $TMP/ours-plan.json | cut -c-60
>     "nodes": [
>       {"node": 2, "fp32_op_per_s": 33500000000000, "fp64_op_
>       {"node": 3, "inter_bytes_per_s": 10000000000}
>     ]
$ hypar simulate $TMP/ours-plan.json | head -n 1
> gpt2, batch 64, fp32, on 8 devices: a step takes 256 ms

$ hypar machines cluster:4x2,node4.peak=0.5x
> hypar: machine 'cluster:4x2,node4.peak=0.5x': node 4, expected one of 0 to 3
? 3

Shares in proportion to speed leave no part empty:

$ hypar plan mlp:64-64-10 --on cluster:1x1,device=a100+cluster:1x1,device=v100 --batch 7 --planner hybrid -q -o $TMP/few.json 2>/dev/null; hypar check $TMP/few.json | head -n 1
> hypar: note: 1 of 2 devices has nothing to do
> ok: mlp:64-64-10, batch 7: 4 operators in 4 parts on a machine of 2 devices

A machine of which some devices have measured kernels and others have none: all take the times of
the roofline, and the output says so. Devices of the faster kind are not left idle.
$ hypar machines cluster:1x2,device=a100+cluster:1x2,device=v100 | sed -n '/^The kernels/,/^$/p'
> The kernels of v100 were not measured: passes of all devices take the times of
> the roofline.
>
$ hypar plan vgg16 --on cluster:1x2,device=a100+cluster:1x2,device=v100 --precision fp16 -p hybrid -o $TMP/mixed.json | sed -n '/^Run as/,/^Pred/p; /nothing to do/p'
> Run as compiled on a100 and v100, all by the roofline: the kernels of v100 were
> not measured
> Predicted step 7.65 ms, simulated (the busiest device computes 7.19 ms of it),
$ hypar simulate $TMP/mixed.json --as none | grep '^Run'
> Run as none on a100 and v100
$ hypar simulate $TMP/mixed.json --on cluster:2x2,device=a100 | grep '^Run'
> Run as compiled on a100
