A PipeDream profile is a model whose operators have measured times.
$ hypar import tests/data/pipedream/branches.txt
> operator  kind    output          params  FLOP  split along
> node2     opaque  1x1565000    8,250,000        n=1
> node3     opaque  1x1500000                     n=1
> node5     opaque  1x1500000    1,000,000        n=1
> node6     opaque  1x1500000                     n=1
> node7     opaque  1x1500000                     n=1
> node8     opaque  1x47500000  33,000,000        n=1
>
> branches: 42,250,000 parameters, 0 FLOP per sample forward, 6 operators, 0
> weighted layers, batch 1
$ hypar import tests/data/pipedream/branches.txt -q -o $TMP/branches.txt
$ cat $TMP/branches.txt
> node1 -- Input -- forward_compute_time=0, backward_compute_time=0, activation_size=4, parameter_size=0
> node2 -- opaque -- forward_compute_time=4, backward_compute_time=6, activation_size=6260000, parameter_size=33000000
> node3 -- opaque -- forward_compute_time=0, backward_compute_time=0, activation_size=6000000, parameter_size=0
> node5 -- opaque -- forward_compute_time=3, backward_compute_time=4.5, activation_size=6000000, parameter_size=4000000
> node6 -- opaque -- forward_compute_time=0.25, backward_compute_time=0.25, activation_size=6000000, parameter_size=0
> node7 -- opaque -- forward_compute_time=0.5, backward_compute_time=0.5, activation_size=6000000, parameter_size=0
> node8 -- opaque -- forward_compute_time=2, backward_compute_time=5, activation_size=190000000, parameter_size=132000000
> 	node1 -- node2
> 	node2 -- node3
> 	node3 -- node5
> 	node3 -- node6
> 	node5 -- node7
> 	node6 -- node7
> 	node7 -- node8

The fastest pipeline; replicas of a stage take minibatches in turn.
$ hypar plan tests/data/pipedream/chain.txt --on cluster:1x4,intra=1GB/s --planner pipedream | sed '$d'
> chain, batch 1, on 4 devices: planner pipedream
>
> stage operators        replicas    time in flight weights activations memory
>     0 node2 ..     (3)        3 21.1 ms         2  1.2 MB      180 MB 364 MB
>       node4
>     1 node5 ..     (2)        1   12 ms         1   76 MB      2.5 MB 154 MB
>       node6
>
> Time and memory of a stage: in closed form.
> 2 minibatches in flight (NOAM) on each replica of the first stage. A stage of r
> replicas updates its weights once for r minibatches; a forward pass sees them so
> many updates late: stage 0 by 1; the backward pass uses the same version, which
> is kept.
> Predicted step: one minibatch every 40 ms in steady state, the slowest of stages
> and transfers (the busiest stage computes 20 ms of it); 72 ms on one device,
> 75.9 ms data parallel, each device with a minibatch of its own: 1.80 and 1.90
> times as long. 25 minibatches/s (samples/s with --batch N), weights, gradients
> and optimizer state 152 MB on the fullest device.
> In closed form, not simulated: chain has no loss, expected a cross_entropy or
> mse_loss at its end.
The profile has the times of a minibatch; --batch tells how many samples it has.
$ hypar plan tests/data/pipedream/chain.txt --on cluster:1x4,intra=1GB/s --planner pipedream --batch 64 | grep -o '[0-9.]* k samples/s'
> 1.6 k samples/s
$ hypar plan tests/data/pipedream/chain.txt --on cluster:1x4,intra=1GB/s --planner pipedream --json | grep es_per_s
>     "samples_per_s": null,
>     "minibatches_per_s": 25,
>     "samples_per_s": null,
>     "minibatches_per_s": 25,
$ hypar explore tests/data/pipedream/chain.txt --on cluster:1x4,intra=1GB/s --devices 2,4 --planner pipedream | grep -o '^[MR].*es/s'
> Most minibatches/s
> Rate: minibatches/s

$ hypar plan tests/data/pipedream/chain.txt --on cluster:1x4,intra=1GB/s --planner pipedream --straight --vertical-sync | sed '$d'
> chain, batch 1, on 4 devices: planner pipedream
>
> stage operators        replicas  time in flight weights activations memory
>     0 node2        (1)        1 30 ms         4  400 kB       80 MB 322 MB
>     1 node3        (1)        1  6 ms         3     0 B       80 MB 240 MB
>     2 node4        (1)        1 24 ms         2  800 kB       20 MB  44 MB
>     3 node5 ..     (2)        1 12 ms         1   76 MB      2.5 MB 382 MB
>       node6
>
> Time and memory of a stage: in closed form.
> 4 minibatches in flight (NOAM) on each replica of the first stage. A stage of r
> replicas updates its weights once for r minibatches; a forward pass sees them so
> many updates late: stage 0 by 3, stage 1 by 3, stage 2 by 3, stage 3 by 3; all
> stages use the weights of the same updates, those that the first stage had when
> the minibatch entered.
> The stages are uneven: a straight pipeline has a stage on each device, and of
> all cuts with the same slowest stage or transfer the planner takes the first.
> --use-fewer leaves out devices that do not make the slowest faster.
> Predicted step: one minibatch every 160 ms in steady state, the slowest of
> stages and transfers (the busiest stage computes 30 ms of it); 72 ms on one
> device, 75.9 ms data parallel, each device with a minibatch of its own: 0.45 and
> 0.47 times as long. 6.25 minibatches/s (samples/s with --batch N), weights,
> gradients and optimizer state 152 MB on the fullest device.
> In closed form, not simulated: chain has no loss, expected a cross_entropy or
> mse_loss at its end.
$ hypar plan mlp:20-16-12-10 --on full:3 --planner pipedream --straight -q --svg - | grep -o '>devices* [0-9-]*'
> >device 0
> >device 1
> >device 2
A straight pipeline may be uneven, and tells why; with --use-fewer it has fewer stages, and here it is faster.
$ hypar plan tests/data/pipedream/chain.txt --on cluster:1x4,intra=1GB/s --planner pipedream --straight --use-fewer | grep -E '^ +[0-9]|uneven|minibatch every'
>     0 node2 ..     (3)        1 60 ms         2  1.2 MB      180 MB 364 MB
>     1 node5 ..     (2)        1 12 ms         1   76 MB      2.5 MB 154 MB
> Predicted step: one minibatch every 60 ms in steady state, the slowest of stages
$ hypar plan tests/data/pipedream/chain.txt --on cluster:1x4,intra=1GB/s --planner pipedream --json | sed -n '/"pipedream"/,/^  }/p'
>   "planner": "pipedream",
>   "predicted": {
>     "model": "PipeDream's recurrence: the slowest of stages and transfers",
>     "not_simulated": "chain has no loss, expected a cross_entropy or mse_loss at its end",
>     "step_s": 0.04,
>     "compute_s": 0.02,
>     "comm_s": 0.02,
>     "samples_per_s": null,
>     "minibatches_per_s": 25,
>     "mfu": null,
>     "comm_bytes": 41600000,
>     "comm_bytes_paper": 41600000,
>     "link_bytes": null,
>     "energy_j": null,
>     "peak_memory_bytes": null,
>     "state_bytes": 152000000
>   },
>   "pipedream": {
>     "bottleneck_s": 0.04,
>     "one_worker_s": 0.07200000000000001,
>     "dp_bottleneck_s": 0.0759,
>     "noam": 2,
>     "transfer_bytes": 40000000,
>     "sync_bytes": 1600000,
>     "states": 5,
>     "all_states": true,
>     "states_left_out": 0,
>     "states_parted": 0,
>     "stages": [
>       {"ops": ["node2", "node3", "node4"], "replicas": 3, "time_s": 0.021066666666666664, "in_flight": 2, "versions": 2, "delay": 1, "weight_bytes": 1200000, "activation_bytes": 180000000, "memory_bytes": 363600000},
>       {"ops": ["node5", "node6"], "replicas": 1, "time_s": 0.01200000000000001, "in_flight": 1, "versions": 1, "delay": 0, "weight_bytes": 76000000, "activation_bytes": 2500000, "memory_bytes": 154500000}
>     ]
>   },
>   "schedule": {"name": "pipedream", "micro_batches": 1, "stash": true, "vertical_sync": false}
> }
$ hypar plan tests/data/pipedream/branches.txt --on cluster:2x2,intra=10GB/s,inter=1GB/s --planner pipedream --recurrence paper | sed '$d'
> branches, batch 1, on 4 devices: planner pipedream
>
> stage operators        replicas time in flight weights activations memory
>     0 node2 ..     (2)        2 5 ms         2   33 MB     12.3 MB 124 MB
>       node3
>     1 node5 ..     (2)        1 8 ms         2    4 MB       12 MB  36 MB
>       node6
>     2 node7 ..     (2)        1 8 ms         1  132 MB      196 MB 460 MB
>       node8
>
> Time and memory of a stage: in closed form.
> 2 minibatches in flight (NOAM) on each replica of the first stage. A stage of r
> replicas updates its weights once for r minibatches; a forward pass sees them so
> many updates late: stage 0 by 1, stage 1 by 1; the backward pass uses the same
> version, which is kept.
> Predicted step: one minibatch every 12 ms in steady state, the slowest of stages
> and transfers (the busiest stage computes 8 ms of it); 26 ms on one device,
> 169 ms data parallel, each device with a minibatch of its own: 2.17 and 14.08
> times as long. 83.3 minibatches/s (samples/s with --batch N), weights, gradients
> and optimizer state 264 MB on the fullest device.
> In closed form, not simulated: branches has no loss, expected a cross_entropy or
> mse_loss at its end.

The plan is a plan like others: it names its profile relative to itself.
$ cp tests/data/pipedream/chain.txt $TMP; hypar plan $TMP/chain.txt --on full:4,bandwidth=1GB/s --planner pipedream -q -o $TMP/plan.json
$ hypar check $TMP/plan.json
> hypar: note: memory for activations is not known:
>        $TMP/plan.json: chain has no loss, expected a
>        cross_entropy or mse_loss at its end
> ok: chain, batch 1: 5 operators in 11 parts on a machine of 4 devices; 2 stages,
> schedule pipedream, micro-batches 1

Pipelines of a model in the zoo: what is shared stays together under pipedream.
$ hypar plan gpt2 --on cluster:2x4 --planner pipedream | sed '$d'
> hypar: note: the pipeline is one stage with 8 replicas: data parallelism,
>        without stages in turn and without late weights
> hypar: the plan does not fit: device 0 needs 33.7 GB of memory, has 16 GB; fits with --recompute full (15.6 GB of 16 GB)
> gpt2, batch 32, on 8 devices: planner pipedream
>
> stage  operators           replicas    busy  in flight  weights   memory
>     0  wte .. loss  (174)         8  473 ms          1   498 MB  33.7 GB
>
> Busy computing in a step, and memory: simulated, of the busiest and of the
> fullest device of a stage.
> 1 minibatch in flight (NOAM) on each replica of the first stage. A stage of r
> replicas updates its weights once for r minibatches; a forward pass sees them so
> many updates late: no stage; the backward pass uses the same version, which is
> kept.
> 220 places to cut would part operators that share a parameter, which this
> schedule does not allow.
> Run as compiled on v100, the default device
> Predicted step 475 ms, simulated (the busiest device computes 473 ms of it),
> 67.4 samples/s, 46.9 % of peak, 288 J by counted operations; 871 MB sent,
> 1.99 GB on links; 33.7 GB of 16 GB of memory on the fullest device.
> Not calibrated, no such step was measured: expect 297 ms to 760 ms.
> In closed form one minibatch every 484 ms in steady state, the slowest of stages
> and transfers (the busiest stage computes 473 ms of it); 3.78 s on one device,
> 484 ms data parallel, each device with a minibatch of its own: 7.81 and 1.00
> times as long.
> IT DOES NOT FIT: device 0 would hold parameters 498 MB, gradients 498 MB,
> activations 26.2 GB, buffers 6.59 GB.
$ hypar plan vgg-a --on cluster:2x4 --planner 1f1b | sed '$d'
> vgg-a, batch 256, on 8 devices: planner 1f1b
>
> stage  operators               replicas    busy  in flight  weights   memory
>     0  conv1_1 .. pool3  (11)         4  199 ms          2  3.84 MB   292 MB
>     1  conv4_1 .. loss   (17)         4  211 ms          1   528 MB  1.08 GB
>
> Busy computing in a step, and memory: simulated, of the busiest and of the
> fullest device of a stage.
> 16 micro-batches; the busiest stage computes 211 ms of a step, 95 % of it.
> Run as compiled on v100, the default device
> Predicted step 222 ms, simulated (the busiest device computes 211 ms of it),
> 1.15 k samples/s, 41.9 % of peak, 121 J by counted operations; 3.6 GB sent,
> 8.03 GB on links; 1.08 GB of 16 GB of memory on the fullest device.
> Not calibrated, no such step was measured: expect 70 ms to 355 ms.
> In closed form 249 ms: compute 199 ms, exchange 50.2 ms, no overlap.
> Lower bound 191 ms (mostly arithmetic): no plan is faster by this model of the
> device; gap 16 %.
$ hypar plan vgg-a --on cluster:2x4 --planner gpipe --stages 4 --micro-batches 4 -q -o $TMP/gpipe.json
$ hypar lower $TMP/gpipe.json | head -3
> vgg-a, batch 256, on 8 devices, 4 micro-batches: 450 tasks
>
> tasks         number  bytes sent

Pipelines fit or do not by what is simulated; pipedream's recurrence has a closed form of it.
$ hypar plan bert-base --on cluster:4x4,inter=1.25GB/s --planner gpipe --memory 1GB | sed -n '3,12p'
> stage  operators                   replicas     busy  in flight  weights  memory
>     0  embeddings.word ..    (20)         2  53.6 ms         16   124 MB  714 MB
>        layer.0.ffn.norm
>     1  layer.1.attention.q   (28)         2   105 ms         16  56.7 MB  958 MB
>        .. layer.2.ffn.norm
>     2  layer.3.attention.q   (14)         2  52.3 ms         16  28.4 MB  498 MB
>        .. layer.3.ffn.norm
>     3  layer.4.attention.q   (28)         2   105 ms         16  56.7 MB  958 MB
>        .. layer.5.ffn.norm
>     4  layer.6.attention.q   (14)         2  52.3 ms         16  28.4 MB  498 MB
$ hypar plan bert-base --on cluster:4x4,inter=1.25GB/s --planner gpipe --memory 800MB
> hypar: gpipe: no plan found that fits; the nearest needs 850 MB on device 1, which has 800 MB allowed by --memory; fits with --recompute full (460 MB of 800 MB)
? 1
$ hypar plan alexnet --on cluster:2x4 --planner pipedream --memory 481MB -q -o $TMP/plan.json
> hypar: the plan does not fit: device 7 needs 486 MB of memory, has 481 MB allowed by --memory; fits with --planner hybrid (91.4 MB of 481 MB)
? 1
$ hypar plan vgg-a --on cluster:2x4 --planner 1f1b --json | grep -o '"[a-z_]*memory_bytes": [^,}]*' | sed 1d
> "simulated_memory_bytes": 291878400
> "memory_bytes": 463681024
> "simulated_memory_bytes": 1084030980
> "memory_bytes": 1089928864.0625

A stage that reads a part of a tensor or of a parameter, or divides a parameter, needs no more than that.
$ hypar plan tests/data/bounds/strided.json --on cluster:1x1,memory=50kB+cluster:1x1,memory=400kB --planner gpipe | sed -n '3,5p'
> stage  operators       replicas     busy  in flight  weights   memory
>     0  a          (1)         1  10.5 ns          1  1.02 kB  4.22 kB
>     1  b .. loss  (5)         1   591 ns          1    14 kB   226 kB
$ hypar plan tests/data/bounds/slices.json --on cluster:1x1,memory=5kB+cluster:1x4,memory=1MB --planner gpipe | sed -n '3,5p'
> stage  operators       replicas     busy  in flight  weights   memory
>     0  a          (1)         1  1.99 ns          1   256 kB    768 B
>     1  xa         (1)         1  9.67 ns          1      0 B  4.35 kB
$ hypar plan tests/data/bounds/weight-by-sample.json --on full:16 --planner gpipe --stages 2 --memory 7kB | sed -n '3,5p'
> stage  operators       replicas      busy  in flight  weights   memory
>     0  xa .. fc   (2)         8   20.3 ns          1  4.61 kB  6.18 kB
>     1  loss       (1)         8  0.222 ns          1      0 B     96 B

What is read by something else than samples is read as a whole by every replica.
$ hypar plan tests/data/bounds/sampled-weight.json --on full:64 --planner gpipe --memory 250kB
> hypar: gpipe: no plan found that fits; the nearest needs 265 kB on device 0, which has 250 kB allowed by --memory; fits with --planner hybrid (64.8 kB of 250 kB)
? 1
$ hypar plan tests/data/bounds/sampled-weight.json --on cluster:1x64+cluster:1x64,memory=100B --planner gpipe --stages 1
> hypar: gpipe: a batch of 64 and a model that can be cut into 4 make no pipeline of equal stages on 128 devices
? 1

What is not trained has no backward half, in closed form and for utilisation either.
$ hypar plan tests/data/untrained-head.json --on full:2 --planner dp | grep -v bound | grep -o 'compute [0-9.]* [a-z]*\|[0-9.]* %'
> hypar: note: tests/data/untrained-head.json: 'head.w' is not trained: the loss
>        does not depend on it
> 2.9 %
> compute 134 ns
> 267 %

A stage whose errors nobody waits for takes its time all the same.
$ hypar plan tests/data/untrained-head.json --on full:2 --planner pipedream | grep 'Predicted step'
> hypar: note: tests/data/untrained-head.json: 'head.w' is not trained: the loss
>        does not depend on it
> Predicted step 1.24 us, simulated (the busiest device computes 1.24 us of it),

Bad requests.
$ hypar plan tests/data/pipedream/chain.txt --on full:8 --planner pipedream --straight
> hypar: pipedream: a straight pipeline of 8 stages, where the model can be cut into at most 5, expected --use-fewer
? 1
$ hypar plan gpt2 --on cluster:1x4,device=a100 --planner pipedream --straight
> hypar: pipedream: a straight pipeline of 4 stages, where the model can be cut into at most 2 (operators that share a parameter stay together), expected --use-fewer
? 1
$ hypar plan tests/data/pipedream/chain.txt --on full:4 --planner pipedream --memory 10MB
> hypar: pipedream: no pipeline on all devices fits into memory
? 1
$ hypar plan lenet5 --on full:4 --planner gpipe --stages 5
> hypar: gpipe: 5 stages, expected at most 4 (4 devices, a model that can be cut into 13)
? 1
$ hypar plan lenet5 --on full:4 --planner pipedream --recurrence none
> hypar: --recurrence: 'none' is not code or paper
? 2
$ hypar import lenet5 -o $TMP/lenet5.txt
> hypar: operator 'conv1' has no measured times, which a profile is made of
? 3

# Zero bubble: gradients of parameters are done later, in what would be bubbles.
$ hypar plan vgg-a --on full:4 --planner zb-h1 --stages 4 --micro-batches 8 -q -o $TMP/zb.json && hypar lower $TMP/zb.json -o - | grep -o '"slots": \["F0.*' | cut -c1-140
> "slots": ["F0.0", "F0.1", "F0.2", "F0.3", "B0.0", "W0.0", "F0.4", "B0.1", "W0.1", "F0.5", "B0.2", "W0.2", "F0.6", "B0.3", "W0.3", "F0.7", "B

# Gradient accumulation: micro-batches one after another, without a pipeline.
$ hypar plan mlp:64-64 --batch 64 --on full:2 --planner dp --micro-batches 8 -q -o - | grep '"schedule"'
>   "schedule": {"name": "none", "micro_batches": 8, "stash": false, "vertical_sync": false},
$ hypar plan mlp:64-64 --batch 64 --on full:2 --planner flexflow --micro-batches 8
> hypar: --micro-batches is for planners auto, dp, mp, owt, hypar, accpar, optcnn, 1f1b, gpipe, zb-h1, zb-h2, hybrid and 3d, not flexflow
? 2

# A device in several stages; an order that waits for itself.
$ hypar check tests/fuzz/corpus/plan/interleaved.json
> ok: mlp:8-6-4, batch 12: 4 operators in 8 parts on a machine of 4 devices; 4
> stages, schedule interleaved, micro-batches 4
> Run as compiled on v100, the default device
> memory: 880 B of 16 GB on the fullest device
$ hypar simulate tests/fuzz/corpus/plan/slots.json | head -n 1
> mlp:8-6-4, batch 12, fp32, on 4 devices: a step takes 5.03 us
$ sed 's/"F1.0", "B1.0"/"B1.0", "F1.0"/' tests/fuzz/corpus/plan/slots.json | hypar check -
> hypar: standard input: slots[1][1]: F1.0: it comes after B1.0, expected forward by stage, then backward
? 1
$ sed 's/"W2.0", "B0.0"/"B0.0", "W2.0"/; s/"B1.0", "W1.0"/"W1.0", "B1.0"/' tests/fuzz/corpus/plan/slots.json | hypar check -
> hypar: standard input: the slots deadlock: device 2 waits in slots[1][1], W1.0, for B1.0
? 1

Of unlike devices all count as the slowest: no claim that the cut is the best.
$ hypar plan vgg16 --on cluster:1x2,device=rtx-4090+cluster:1x2,device=v100 --planner pipedream | grep -e slowest -e '^Searched' | sed 's/in [0-9.]* .*s\./in TIME./'
> The stages are cut as if all devices were as slow as the slowest.
> In closed form one minibatch every 121 ms in steady state, the slowest of stages
> Searched in TIME.

Many stages stand in one row only where they have the same operators.
$ hypar plan vgg16 --on cluster:4x4,intra=10GB/s,inter=1.25GB/s --planner pipedream --straight | sed -n 3,20p
> stage  operators                replicas     busy  in flight  weights   memory
>     0  conv1_1 .. pool1    (5)         1  53.7 ms         16   155 kB  15.8 GB
>     1  conv2_1 .. relu2_2  (4)         1  70.6 ms         15   886 kB  8.13 GB
>     2  pool2 .. conv3_2    (4)         1  69.5 ms         14  3.54 MB  6.68 GB
>     3  relu3_2 .. pool3    (4)         1  46.9 ms         13  2.36 MB  3.22 GB
>     4  conv4_1 .. relu4_1  (2)         1    23 ms         12  4.72 MB  1.09 GB
>     5  conv4_2             (1)         1  45.3 ms         11  9.44 MB   1.3 GB
>     6  relu4_2 .. conv4_3  (2)         1  45.6 ms         10  9.44 MB  1.18 GB
>     7  relu4_3 .. pool4    (2)         1   485 us          9      0 B   668 MB
>     8  conv5_1             (1)         1  11.4 ms          8  9.44 MB   303 MB
>     9  relu5_1             (1)         1  71.4 us          7      0 B   116 MB
>    10  conv5_2             (1)         1  11.4 ms          6  9.44 MB   233 MB
>    11  relu5_2             (1)         1  71.4 us          5      0 B  89.9 MB
>    12  conv5_3             (1)         1  11.4 ms          4  9.44 MB   163 MB
>    13  relu5_3             (1)         1  71.4 us          3      0 B  64.2 MB
>    14  pool5               (1)         1    50 us          2      0 B    45 MB
>    15  flatten .. loss     (9)         1  4.68 ms          1   495 MB   996 MB
>
