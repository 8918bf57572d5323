What bounds a step, what operators would cost if they were split otherwise, and what would help.
$ hypar plan alexnet --batch 64 --on cluster:2x4,inter=1GB/s --planner hypar -q -o $TMP/alex.json
$ cd $TMP && hypar explain alex.json
> alexnet, batch 64, fp32, on 8 devices: a step takes 17.3 ms
> Run as compiled on v100, the default device
> Not calibrated, no such step was measured: expect 9.56 ms to 27.7 ms.
> Lower bound 4.42 ms (mostly arithmetic): no plan is faster by this model of the
> device; gap 292 %. What has to be done takes 4.42 ms, shared evenly by all
> devices (its arithmetic alone 4.22 ms, its memory traffic 377 us).
> It is bound by: exchanges that nothing hides 73.3 %, exchanges beside computing
> 14.7 %, computing 12.0 %.
>
> Found by hypar (least exchange, each layer dp or mp at each level of the
> machine).
>
> Why dp or mp:
> layer  level   dp own  dp between       dp    mp own  mp between       mp
> conv1  H1      186 kB         0 B   186 kB*  23.9 MB     11.9 MB  35.8 MB
> conv2  H1     2.46 MB         0 B  2.46 MB*  16.6 MB     20.3 MB  36.9 MB
> conv3  H1     5.31 MB         0 B  5.31 MB*  33.2 MB     24.9 MB  58.1 MB
> conv4  H1     7.08 MB         0 B  7.08 MB*  22.2 MB     27.7 MB  49.8 MB
> conv5  H1     4.72 MB     2.36 MB  7.08 MB*  4.72 MB     13.4 MB  18.2 MB
> fc1    H1      302 MB     1.05 MB   303 MB    2.1 MB     3.41 MB  5.51 MB*
> fc2    H1      134 MB      2.1 MB   136 MB    2.1 MB      2.1 MB  4.19 MB*
> fc3    H1     32.8 MB     1.05 MB  33.8 MB    512 kB     1.05 MB  1.56 MB*
> conv1  H2      373 kB         0 B   373 kB*  23.9 MB     11.9 MB  35.8 MB
> conv2  H2     4.92 MB         0 B  4.92 MB*  16.6 MB     20.3 MB  36.9 MB
> conv3  H2     10.6 MB         0 B  10.6 MB*  33.2 MB     24.9 MB  58.1 MB
> conv4  H2     14.2 MB         0 B  14.2 MB*  22.2 MB     27.7 MB  49.8 MB
> conv5  H2     9.44 MB     2.36 MB  11.8 MB*  4.72 MB     13.4 MB  18.2 MB
> fc1    H2      302 MB     1.05 MB   303 MB   4.19 MB     3.41 MB   7.6 MB*
> fc2    H2      134 MB      2.1 MB   136 MB   4.19 MB      2.1 MB  6.29 MB*
> fc3    H2     32.8 MB     1.05 MB  33.8 MB   1.02 MB     1.05 MB  2.07 MB*
> conv1  H3      745 kB         0 B   745 kB*  23.9 MB     11.9 MB  35.8 MB
> conv2  H3     9.84 MB         0 B  9.84 MB*  16.6 MB     20.3 MB  36.9 MB
> conv3  H3     21.2 MB         0 B  21.2 MB*  33.2 MB     24.9 MB  58.1 MB
> conv4  H3     28.3 MB     11.1 MB  39.4 MB*  22.2 MB     27.7 MB  49.8 MB
> conv5  H3     18.9 MB     2.36 MB  21.2 MB   4.72 MB     13.4 MB  18.2 MB*
> fc1    H3      302 MB     3.41 MB   305 MB   8.39 MB     3.41 MB  11.8 MB*
> fc2    H3      134 MB      2.1 MB   136 MB   8.39 MB      2.1 MB  10.5 MB*
> fc3    H3     32.8 MB     1.05 MB  33.8 MB   2.05 MB     1.05 MB   3.1 MB*
> * the choice
> Own is HyPar's Table 1: gradients under dp, partial sums of the output under mp.
> Between is its Table 2: what moves between this layer and the layers before and
> behind it, as these are chosen. Tensors are as the levels above left them; bytes
> are those of all groups of a level.
>
> critical path                                         time   share  in queues
> exchange       all-reduce gradient of conv4.w      3.54 ms  20.4 %    3.54 ms
> exchange       all-reduce gradient of conv3.w      2.65 ms  15.3 %    2.65 ms
> exchange       all-reduce gradient of conv5.w      2.36 ms  13.6 %    2.36 ms
> computing      conv                                1.79 ms  10.3 %     203 us
> exchange       all-reduce gradient of conv2.w      1.23 ms   7.1 %    1.23 ms
> exchange       broadcast gradient of fc1.dropout    1.2 ms   7.0 %    1.08 ms
> exchange       all-reduce fc1                      1.07 ms   6.2 %          -
> exchange       all-reduce fc2                      1.07 ms   6.2 %          -
> exchange       send fc1.dropout                     597 us   3.4 %     517 us
> exchange       all-gather gradient of fc2.dropout   536 us   3.1 %          -
>                14 others                           1.26 ms   7.3 %    15.4 us
>
> costliest operators  kind    split       time   share  the step, if it were
>                                                        split
> conv5                conv    n=4 c=2  4.82 ms  27.8 %  n=8 -3.7 %, k=8 +43 %,
>                                                        r=8 +44 %, whole +73 %
> conv4                conv    n=8      3.86 ms  22.3 %  r=8 +89 %, c=8 +94 %, k=8
>                                                        +107 %, h=8 +133 %
> conv3                conv    n=8      2.89 ms  16.7 %  r=8 +66 %, k=8 +81 %, c=8
>                                                        +105 %, h=8 +107 %
> fc1                  linear  c=8      1.77 ms  10.2 %  whole +8.7 %, r=8 +14 %,
>                                                        k=8 +26 %, n=8 9.6 x
> conv2                conv    n=8       1.7 ms   9.8 %  r=8 +73 %, k=8 +86 %,
>                                                        whole +115 %, h=8 +122 %
> fc2                  linear  c=8      1.68 ms   9.7 %  k=8 -6.1 %, r=8 -3.7 %,
>                                                        whole +2.1 %, n=8 4.8 x
> fc3                  linear  c=8       296 us   1.7 %  r=8 -3.3 %, k=8 +1.6 %,
>                                                        whole +2.2 %, n=8 +93 %
> conv1                conv    n=8       280 us   1.6 %  k=8 +34 %, r=8 +41 %, h=8
>                                                        +66 %, w=8 +66 %
> Each row with what follows the operator (norms, additions, activations), what it
> sends and its updates: in all the critical path above.
> Split otherwise: with the operators that only follow it, on the devices that it
> has (one: on all of its stage, or of the machine), in the order in which the
> plan lists them.
>
> what would help                       step   change   memory
> links between nodes twice as fast  9.78 ms*   -44 %   107 MB
> devices twice as fast              16.3 ms   -6.0 %   107 MB
> arithmetic twice as fast           16.3 ms   -5.7 %   107 MB
> devices' memory twice as fast      17.3 ms   -0.3 %   107 MB
> links inside nodes twice as fast   17.3 ms   -0.1 %   107 MB
> 2 micro-batches instead of 1       18.4 ms   +6.6 %  91.8 MB
> * the fastest
> No difference: twice the memory.
> Left out: another schedule: the plan has no stages; no recomputation: nothing is
> computed again.

The terms of hypar's choice do not depend on what is sharded.
$ hypar plan lenet-c --on htree:16 --planner hypar --shard optimizer -q -o $TMP/shard.json && hypar explain $TMP/shard.json --operators 1 | grep 'H4'
> conv1  H4      32 kB         0 B    32 kB*   5.9 MB     2.95 MB  8.85 MB
> conv2  H4     1.6 MB      819 kB  2.42 MB*  1.64 MB     3.77 MB  5.41 MB
> fc1    H4     6.4 MB         0 B   6.4 MB    4.1 MB     1.33 MB  5.43 MB*
> fc2    H4      80 kB      512 kB   592 kB*  81.9 kB      512 kB   594 kB

The pipeline's bubble is called a bubble; what cannot be had says why.
$ hypar explain examples/plans/pipeline.json
> mlp:784-1024-1024-10, batch 128, fp16, on 4 devices: a step takes 180 us
> Run as compiled on v100, the default device
> Not calibrated, no such step was measured: expect 112 us to 288 us.
> Lower bound 20.3 us (mostly memory traffic): no plan is faster by this model of
> the device; gap 785 %. What has to be done takes 20.3 us, shared evenly by all
> devices (its arithmetic alone 4.9 us, its memory traffic 18.8 us).
> It is bound by: exchanges that nothing hides 48.0 %, computing 31.3 %, updating
> parameters 18.2 %, exchanges beside computing 1.5 %, the pipeline's bubble
> 1.0 %.
>
> critical path                                           time   share  in queues
> exchange       all-reduce gradient of fc2.w          84.9 us  47.2 %          -
> computing      linear                                55.9 us  31.1 %    33.8 us
> update         parameters                            32.7 us  18.2 %    32.5 us
> bubble         other stages compute, device 2 waits  1.85 us   1.0 %          -
> exchange       send relu1                            1.66 us   0.9 %          -
> exchange       send gradient of relu1                1.66 us   0.9 %          -
> exchange       all-reduce gradient of fc3.w           819 ns   0.5 %     819 ns
> computing      relu                                   437 ns   0.2 %          -
> computing      cross_entropy                         3.43 ns   0.0 %          -
> exchange       all-reduce gradient of fc3.b           0.8 ns   0.0 %     0.8 ns
>
> costliest operators  kind    split     time   share  the step, if it were split
> fc2                  linear  n=2     173 us  96.1 %  -
> fc1                  linear  n=2    5.17 us   2.9 %  -
> fc3                  linear  n=2    1.82 us   1.0 %  -
> Each row with what follows the operator (norms, additions, activations), what it
> sends and its updates: in all the critical path above.
> None of them can be split otherwise over the devices that it has.
>
> what would help                   step   change   memory
> devices' memory twice as fast   135 us*   -25 %    17 MB
> devices twice as fast           135 us    -25 %    17 MB
> links twice as fast             137 us    -24 %    17 MB
> 4 micro-batches instead of 8    153 us    -15 %  17.1 MB
> schedule zb-h1 instead of 1f1b  180 us   -0.1 %  17.1 MB
> schedule zb-h2 instead of 1f1b  180 us   -0.1 %  17.1 MB
> 16 micro-batches instead of 8   236 us    +31 %    17 MB
> * the fastest
> No difference: arithmetic twice as fast, twice the memory, schedule gpipe
> instead of 1f1b.
> Left out: schedule pipedream instead of 1f1b: it delays updates, which is
> another training; no recomputation: nothing is computed again.

A step in which the devices wait for their hosts says so, and what would help there.
$ hypar plan lenet-c --batch 64 --on full:2,device=h100 --planner dp --as eager -q -o $TMP/hosts.json && hypar explain $TMP/hosts.json | sed -n '/^It is bound/,$p'
> It is bound by: launching kernels 100.0 %.
>
> Found by dp (data parallel: every operator by samples).
>
> critical path                                      time    share  in queues
> launches       the host, longer than its device  598 us  100.0 %          -
>
> what would help                    step   change   memory
> launches captured (CUDA graphs)  192 us*   -68 %  1.18 GB
> hosts twice as fast              299 us    -50 %  1.18 GB
> 2 micro-batches instead of 1     1.2 ms   +100 %  1.18 GB
> * the fastest
> No difference: links twice as fast, arithmetic twice as fast, devices' memory
> twice as fast, devices twice as fast, power limit twice as high, twice the
> memory.
> Left out: another schedule: the plan has no stages; no recomputation: nothing is
> computed again.

Micro-batches are no more than samples.
$ cd $TMP && hypar plan mlp:16-8-4 --batch 4 --on full:2 --planner gpipe --micro-batches 4 -q -o samples.json && hypar explain samples.json | sed -n '/^Left out/,$p'
> Left out: 8 micro-batches instead of 4: the batch has 4 samples; schedule
> pipedream instead of gpipe: it delays updates, which is another training; no
> recomputation: nothing is computed again.

What is computed again is told apart; layers that are alike are one row.
$ hypar plan gpt2:layers=4 --batch 16 --on cluster:2x2,device=a100 --planner dp --recompute full -q -o $TMP/gpt.json
$ cd $TMP && hypar explain gpt.json --operators 2
> gpt2:layers=4, batch 16, fp32, on 4 devices: a step takes 172 ms
> Run as compiled on a100
> 8 of 10 such steps take 131 ms to 212 ms (209 measured: a100). Why so wide: no
> step was measured with this device and this framework together (19 %).
> Lower bound 141 ms (mostly arithmetic): no plan is faster by this model of the
> device; gap 22 %. What has to be done takes 141 ms, shared evenly by all devices
> (its arithmetic alone 138 ms, its memory traffic 7.26 ms); a sample's way to the
> loss and back 176 us.
> It is bound by: computing 87.4 %, recomputation 10.4 %, exchanges that nothing
> hides 2.0 %, updating parameters 0.2 %, exchanges beside computing 0.1 %.
>
> Found by dp (data parallel: every operator by samples), with --recompute full.
>
> critical path                                   time   share  in queues
> computing      linear                         134 ms  77.7 %    92.2 ms
> recomputation  operators of all kinds        17.9 ms  10.4 %    5.42 ms
> computing      attention                     14.4 ms   8.4 %    10.7 ms
> exchange       all-reduce gradient of wte.w  3.53 ms   2.1 %          -
> computing      cross_entropy                  953 us   0.6 %     953 us
> computing      layer_norm                     588 us   0.3 %     213 us
> computing      dropout                        523 us   0.3 %          -
> computing      add                            276 us   0.2 %          -
> update         parameters                     267 us   0.2 %          -
> exchange       all-reduce gradient of wpe.w  66.9 us   0.0 %    66.9 us
>                2 others                      19.5 us   0.0 %     173 ns
>
> costliest operators        kind    split     time   share  the step, if it were
>                                                            split
> lm_head                    linear  n=4    75.1 ms  43.6 %  k=4 +0.2 %, t=4
>                                                            +0.3 %, c=4 +61 %,
>                                                            r=4 +128 %
> h.0.mlp.c_fc (of 4 alike)  linear  n=4      26 ms  15.1 %  t=4 +1.2 %, k=4
>                                                            +1.8 %, c=4 +5.3 %,
>                                                            r=4 +12 %
> all others                                  71 ms  41.2 %
> Each row with what follows the operator (norms, additions, activations), what it
> sends and its updates: in all the critical path above.
> Split otherwise: with the operators that only follow it, on the devices that it
> has (one: on all of its stage, or of the machine), in the order in which the
> plan lists them.
>
> what would help                       step   change   memory
> devices twice as fast              87.8 ms*   -49 %  3.37 GB
> arithmetic twice as fast           90.9 ms    -47 %  3.37 GB
> no recomputation                    154 ms    -10 %  4.16 GB
> devices' memory twice as fast       170 ms   -1.4 %  3.37 GB
> links between nodes twice as fast   170 ms   -1.0 %  3.37 GB
> 2 micro-batches instead of 1        177 ms   +2.8 %  2.48 GB
> * the fastest
> No difference: power limit twice as high, links inside nodes twice as fast,
> twice the memory.
> Left out: another schedule: the plan has no stages.

Pipedream's path is that of the window that is simulated.
$ hypar explain examples/plans/pipedream.json --operators 1
> mlp:784-1024-1024-10, batch 128, fp32, on 4 devices: a step takes 115 us
> Run as compiled on v100, the default device
> Not calibrated, no such step was measured: expect 71.9 us to 184 us.
> The path is that of the window of 45 minibatches, 5.18 ms.
> It is bound by: exchanges that nothing hides 45.9 %, computing 38.5 %, exchanges
> beside computing 12.5 %, updating parameters 3.1 %.
>
> critical path                                   time   share  in queues
> computing      linear                        1.97 ms  38.0 %     513 us
> exchange       all-reduce gradient of fc2.w  1.68 ms  32.4 %    1.67 ms
> exchange       all-reduce gradient of fc1.w  1.34 ms  26.0 %          -
> update         parameters                     161 us   3.1 %          -
> computing      relu                          26.2 us   0.5 %          -
> exchange       all-reduce gradient of fc2.b  2.46 us   0.0 %    2.46 us
>
> costliest operators  kind    split     time   share  the step, if it were split
> fc2                  linear  whole  3.26 ms  63.0 %  -
> all others                          1.92 ms  37.0 %
> Each row with what follows the operator (norms, additions, activations), what it
> sends and its updates: in all the critical path above.
> None of them can be split otherwise over the devices that it has.
>
> what would help                   step   change   memory
> links twice as fast            82.1 us*   -29 %  26.2 MB
> devices twice as fast          91.1 us    -21 %  26.2 MB
> arithmetic twice as fast       93.6 us    -19 %  26.2 MB
> devices' memory twice as fast   113 us   -2.1 %  26.2 MB
> * the fastest
> No difference: twice the memory.
> Left out: other micro-batches: pipedream takes whole minibatches; another
> schedule: replicas of its stages take minibatches in turn; no recomputation:
> nothing is computed again.

What needs more memory than there is is left out, with its step; twice the memory holds it.
$ cd $TMP && hypar explain gpt.json --operators 1 --on cluster:2x2,device=a100,memory=2.5GB | sed -n '/^what/,$p'
> hypar: gpt.json: the plan does not fit: device 0 needs 3.37 GB of memory, has 2.5 GB
> what would help                                      step   change   memory
> devices twice as fast (does not fit)              87.8 ms*   -49 %  3.37 GB
> arithmetic twice as fast (does not fit)           90.9 ms    -47 %  3.37 GB
> no recomputation (does not fit)                    154 ms    -10 %  4.16 GB
> devices' memory twice as fast (does not fit)       170 ms   -1.4 %  3.37 GB
> links between nodes twice as fast (does not fit)   170 ms   -1.0 %  3.37 GB
> twice the memory (fits)                            172 ms   +0.0 %  3.37 GB
> 2 micro-batches instead of 1 (fits)                177 ms   +2.8 %  2.48 GB
> * the fastest
> No difference: power limit twice as high, links inside nodes twice as fast.
> Left out: another schedule: the plan has no stages.

Of JSON, which has every segment: they add up to the step.
$ cd $TMP && hypar explain alex.json --operators 1 --json > explain.json; sed '/critical_path/,$d' explain.json
> {
>   "model": "alexnet",
>   "step_s": 0.017309150537,
>   "step_low_s": 0.009560420213205875,
>   "step_high_s": 0.0276946408592,
>   "calibrated_rows": 0,
>   "fits": true,
>   "lower_bound": {"step_s": 0.004420946964362547, "by": "mostly arithmetic", "work_s": 0.004420952385314932, "arithmetic_s": 0.0042237730242038205, "traffic_s": 0.0003773549922222225, "way_s": 0},
>   "search": {
>     "planner": "hypar",
>     "step_s": 0.017309150537,
>     "compute_s": 0.004537769976,
>     "comm_bytes": 206169600,
>     "energy_j": 2.7642270002591958,
>     "asked": "hypar",
>     "plan_hash": "a2fa5c82704be793"
>   },
>   "as_found": true,
>   "terms": [
>     {"layer": "conv1", "level": "H1", "chosen": "dp", "dp_own_bytes": 186368, "dp_previous_bytes": 0, "dp_next_bytes": 0, "dp_bytes": 186368, "mp_own_bytes": 23887872, "mp_previous_bytes": 0, "mp_next_bytes": 11943936, "mp_bytes": 35831808},
>     {"layer": "conv2", "level": "H1", "chosen": "dp", "dp_own_bytes": 2459136, "dp_previous_bytes": 0, "dp_next_bytes": 0, "dp_bytes": 2459136, "mp_own_bytes": 16613376, "mp_previous_bytes": 11943936, "mp_next_bytes": 8306688, "mp_bytes": 36864000},
>     {"layer": "conv3", "level": "H1", "chosen": "dp", "dp_own_bytes": 5311488, "dp_previous_bytes": 0, "dp_next_bytes": 0, "dp_bytes": 5311488, "mp_own_bytes": 33226752, "mp_previous_bytes": 8306688, "mp_next_bytes": 16613376, "mp_bytes": 58146816},
>     {"layer": "conv4", "level": "H1", "chosen": "dp", "dp_own_bytes": 7079936, "dp_previous_bytes": 0, "dp_next_bytes": 0, "dp_bytes": 7079936, "mp_own_bytes": 22151168, "mp_previous_bytes": 16613376, "mp_next_bytes": 11075584, "mp_bytes": 49840128},
>     {"layer": "conv5", "level": "H1", "chosen": "dp", "dp_own_bytes": 4720640, "dp_previous_bytes": 0, "dp_next_bytes": 2359296, "dp_bytes": 7079936, "mp_own_bytes": 4718592, "mp_previous_bytes": 11075584, "mp_next_bytes": 2359296, "mp_bytes": 18153472},
>     {"layer": "fc1", "level": "H1", "chosen": "mp", "dp_own_bytes": 302022656, "dp_previous_bytes": 0, "dp_next_bytes": 1048576, "dp_bytes": 303071232, "mp_own_bytes": 2097152, "mp_previous_bytes": 2359296, "mp_next_bytes": 1048576, "mp_bytes": 5505024},
>     {"layer": "fc2", "level": "H1", "chosen": "mp", "dp_own_bytes": 134250496, "dp_previous_bytes": 1048576, "dp_next_bytes": 1048576, "dp_bytes": 136347648, "mp_own_bytes": 2097152, "mp_previous_bytes": 1048576, "mp_next_bytes": 1048576, "mp_bytes": 4194304},
>     {"layer": "fc3", "level": "H1", "chosen": "mp", "dp_own_bytes": 32776000, "dp_previous_bytes": 1048576, "dp_next_bytes": 0, "dp_bytes": 33824576, "mp_own_bytes": 512000, "mp_previous_bytes": 1048576, "mp_next_bytes": 0, "mp_bytes": 1560576},
>     {"layer": "conv1", "level": "H2", "chosen": "dp", "dp_own_bytes": 372736, "dp_previous_bytes": 0, "dp_next_bytes": 0, "dp_bytes": 372736, "mp_own_bytes": 23887872, "mp_previous_bytes": 0, "mp_next_bytes": 11943936, "mp_bytes": 35831808},
>     {"layer": "conv2", "level": "H2", "chosen": "dp", "dp_own_bytes": 4918272, "dp_previous_bytes": 0, "dp_next_bytes": 0, "dp_bytes": 4918272, "mp_own_bytes": 16613376, "mp_previous_bytes": 11943936, "mp_next_bytes": 8306688, "mp_bytes": 36864000},
>     {"layer": "conv3", "level": "H2", "chosen": "dp", "dp_own_bytes": 10622976, "dp_previous_bytes": 0, "dp_next_bytes": 0, "dp_bytes": 10622976, "mp_own_bytes": 33226752, "mp_previous_bytes": 8306688, "mp_next_bytes": 16613376, "mp_bytes": 58146816},
>     {"layer": "conv4", "level": "H2", "chosen": "dp", "dp_own_bytes": 14159872, "dp_previous_bytes": 0, "dp_next_bytes": 0, "dp_bytes": 14159872, "mp_own_bytes": 22151168, "mp_previous_bytes": 16613376, "mp_next_bytes": 11075584, "mp_bytes": 49840128},
>     {"layer": "conv5", "level": "H2", "chosen": "dp", "dp_own_bytes": 9441280, "dp_previous_bytes": 0, "dp_next_bytes": 2359296, "dp_bytes": 11800576, "mp_own_bytes": 4718592, "mp_previous_bytes": 11075584, "mp_next_bytes": 2359296, "mp_bytes": 18153472},
>     {"layer": "fc1", "level": "H2", "chosen": "mp", "dp_own_bytes": 302022656, "dp_previous_bytes": 0, "dp_next_bytes": 1048576, "dp_bytes": 303071232, "mp_own_bytes": 4194304, "mp_previous_bytes": 2359296, "mp_next_bytes": 1048576, "mp_bytes": 7602176},
>     {"layer": "fc2", "level": "H2", "chosen": "mp", "dp_own_bytes": 134250496, "dp_previous_bytes": 1048576, "dp_next_bytes": 1048576, "dp_bytes": 136347648, "mp_own_bytes": 4194304, "mp_previous_bytes": 1048576, "mp_next_bytes": 1048576, "mp_bytes": 6291456},
>     {"layer": "fc3", "level": "H2", "chosen": "mp", "dp_own_bytes": 32776000, "dp_previous_bytes": 1048576, "dp_next_bytes": 0, "dp_bytes": 33824576, "mp_own_bytes": 1024000, "mp_previous_bytes": 1048576, "mp_next_bytes": 0, "mp_bytes": 2072576},
>     {"layer": "conv1", "level": "H3", "chosen": "dp", "dp_own_bytes": 745472, "dp_previous_bytes": 0, "dp_next_bytes": 0, "dp_bytes": 745472, "mp_own_bytes": 23887872, "mp_previous_bytes": 0, "mp_next_bytes": 11943936, "mp_bytes": 35831808},
>     {"layer": "conv2", "level": "H3", "chosen": "dp", "dp_own_bytes": 9836544, "dp_previous_bytes": 0, "dp_next_bytes": 0, "dp_bytes": 9836544, "mp_own_bytes": 16613376, "mp_previous_bytes": 11943936, "mp_next_bytes": 8306688, "mp_bytes": 36864000},
>     {"layer": "conv3", "level": "H3", "chosen": "dp", "dp_own_bytes": 21245952, "dp_previous_bytes": 0, "dp_next_bytes": 0, "dp_bytes": 21245952, "mp_own_bytes": 33226752, "mp_previous_bytes": 8306688, "mp_next_bytes": 16613376, "mp_bytes": 58146816},
>     {"layer": "conv4", "level": "H3", "chosen": "dp", "dp_own_bytes": 28319744, "dp_previous_bytes": 0, "dp_next_bytes": 11075584, "dp_bytes": 39395328, "mp_own_bytes": 22151168, "mp_previous_bytes": 16613376, "mp_next_bytes": 11075584, "mp_bytes": 49840128},
>     {"layer": "conv5", "level": "H3", "chosen": "mp", "dp_own_bytes": 18882560, "dp_previous_bytes": 0, "dp_next_bytes": 2359296, "dp_bytes": 21241856, "mp_own_bytes": 4718592, "mp_previous_bytes": 11075584, "mp_next_bytes": 2359296, "mp_bytes": 18153472},
>     {"layer": "fc1", "level": "H3", "chosen": "mp", "dp_own_bytes": 302022656, "dp_previous_bytes": 2359296, "dp_next_bytes": 1048576, "dp_bytes": 305430528, "mp_own_bytes": 8388608, "mp_previous_bytes": 2359296, "mp_next_bytes": 1048576, "mp_bytes": 11796480},
>     {"layer": "fc2", "level": "H3", "chosen": "mp", "dp_own_bytes": 134250496, "dp_previous_bytes": 1048576, "dp_next_bytes": 1048576, "dp_bytes": 136347648, "mp_own_bytes": 8388608, "mp_previous_bytes": 1048576, "mp_next_bytes": 1048576, "mp_bytes": 10485760},
>     {"layer": "fc3", "level": "H3", "chosen": "mp", "dp_own_bytes": 32776000, "dp_previous_bytes": 1048576, "dp_next_bytes": 0, "dp_bytes": 33824576, "mp_own_bytes": 2048000, "mp_previous_bytes": 1048576, "mp_next_bytes": 0, "mp_bytes": 3096576}
>   ],
>   "bound_by": [
>     {"kind": "exchange", "name": "all-reduce gradient of conv4.w", "seconds": 0.0035389440000000005, "share": 0.20445509399407916, "queued_s": 0.003538944},
>     {"kind": "exchange", "name": "all-reduce gradient of conv3.w", "seconds": 0.002654208, "share": 0.15334132049555935, "queued_s": 0.002654208},
>     {"kind": "exchange", "name": "all-reduce gradient of conv5.w", "seconds": 0.0023592959999999994, "share": 0.13630339599605273, "queued_s": 0.002359296},
>     {"kind": "computing", "name": "conv", "seconds": 0.0017886110049999994, "share": 0.10333326301465047, "queued_s": 0.000203169949},
>     {"kind": "exchange", "name": "all-reduce gradient of conv2.w", "seconds": 0.0012288000000000021, "share": 0.0709913520812776, "queued_s": 0.0012288},
>     {"kind": "exchange", "name": "broadcast gradient of fc1.dropout", "seconds": 0.0012036480000000007, "share": 0.06953824784336388, "queued_s": 0.001081344},
>     {"kind": "exchange", "name": "all-reduce fc1", "seconds": 0.00107290368, "share": 0.0619847679819159, "queued_s": 0},
>     {"kind": "exchange", "name": "all-reduce fc2", "seconds": 0.0010729036799999995, "share": 0.06198476798191588, "queued_s": 0},
>     {"kind": "exchange", "name": "send fc1.dropout", "seconds": 0.0005968070399999998, "share": 0.03447927954201256, "queued_s": 0.00051707904},
>     {"kind": "exchange", "name": "all-gather gradient of fc2.dropout", "seconds": 0.0005364518400000004, "share": 0.030992383990957974, "queued_s": 0},
>     {"kind": "exchange", "name": "all-gather gradient of fc2.relu", "seconds": 0.0005364518399999995, "share": 0.030992383990957925, "queued_s": 0},
>     {"kind": "exchange", "name": "all-reduce fc3", "seconds": 0.00027855999999999975, "share": 0.016093221871549997, "queued_s": 0},
>     {"kind": "computing", "name": "linear", "seconds": 0.00023896846599999943, "share": 0.013805903732201127, "queued_s": 0},
>     {"kind": "exchange", "name": "all-reduce gradient of conv1.w", "seconds": 0.00011385728000000081, "share": 0.0065778664156059975, "queued_s": 0},
>     {"kind": "computing", "name": "relu", "seconds": 3.440639900000237e-05, "share": 0.001987757800502996, "queued_s": 0},
>     {"kind": "exchange", "name": "all-reduce conv5", "seconds": 2.0459306999999873e-05, "share": 0.0011819937065233853, "queued_s": 0},
>     {"kind": "computing", "name": "dropout", "seconds": 1.044935099999908e-05, "share": 0.0006036894172052275, "queued_s": 0},
>     {"kind": "exchange", "name": "send relu4", "seconds": 6.614827000000004e-06, "share": 0.0003821578064076666, "queued_s": 0},
>     {"kind": "exchange", "name": "all-reduce gradient of conv3.b", "seconds": 6.143999999999594e-06, "share": 0.00035495676040636393, "queued_s": 6.144e-06},
>     {"kind": "exchange", "name": "all-reduce gradient of conv4.b", "seconds": 4.095999999998573e-06, "share": 0.00023663784027084248, "queued_s": 4.096e-06},
>     {"kind": "exchange", "name": "all-reduce gradient of conv2.b", "seconds": 3.071999999999797e-06, "share": 0.00017747838020318196, "queued_s": 3.072e-06},
>     {"kind": "exchange", "name": "all-reduce gradient of conv5.b", "seconds": 2.0480000000010212e-06, "share": 0.00011831892013552146, "queued_s": 2.048e-06},
>     {"kind": "computing", "name": "cross_entropy", "seconds": 1.140061999999921e-06, "share": 6.586469957395812e-05, "queued_s": 0},
>     {"kind": "update", "name": "update", "seconds": 3.0975999999738324e-07, "share": 1.7895736670337518e-05, "queued_s": 0}
>   ],
>   "operators": [
>     {
>       "name": "conv5",
>       "kind": "conv",
>       "split": "n=4 c=2",
>       "alike": 1,
>       "seconds": 0.004820312762000001,
>       "alternatives": [
>         {"what": "n=8", "step_s": 0.01666104508, "change": -0.03744293838190449, "fits": true, "peak_memory_bytes": 105941316},
>         {"what": "k=8", "step_s": 0.024761097485, "change": 0.43052066200884553, "fits": true},
>         {"what": "r=8", "step_s": 0.024850318935, "change": 0.4356752448296073, "fits": true},
>         {"what": "whole", "step_s": 0.029953712271, "change": 0.7305131298598979, "fits": true},
>         {"what": "h=8", "step_s": 0.030406132548, "change": 0.7566507659058093, "fits": true},
>         {"what": "w=8", "step_s": 0.030406132548, "change": 0.7566507659058093, "fits": true},
>         {"what": "c=8", "step_s": 0.031361444924, "change": 0.811841942038799, "fits": true}
>       ]
>     }
>   ],
>   "what_if": [
>     {"what": "links between nodes twice as fast", "step_s": 0.009778782537, "change": -0.435051274405587, "fits": true, "peak_memory_bytes": 107448644},
>     {"what": "devices twice as fast", "step_s": 0.016272208014, "change": -0.05990718728706146, "fits": true, "peak_memory_bytes": 107448644},
>     {"what": "arithmetic twice as fast", "step_s": 0.016318403076, "change": -0.05723836411741756, "fits": true, "peak_memory_bytes": 107448644},
>     {"what": "devices' memory twice as fast", "step_s": 0.017262955475, "change": -0.002668823169643786, "fits": true, "peak_memory_bytes": 107448644},
>     {"what": "links inside nodes twice as fast", "step_s": 0.017294885789, "change": -0.0008241160055489916, "fits": true, "peak_memory_bytes": 107448644},
>     {"what": "twice the memory", "step_s": 0.017309150537, "change": 0, "fits": true, "peak_memory_bytes": 107448644},
>     {"what": "2 micro-batches instead of 1", "step_s": 0.018443973609, "change": 0.06556203145695716, "fits": true, "peak_memory_bytes": 91771204},
>     {"what": "another schedule", "step_s": null, "why_not": "the plan has no stages"},
>     {"what": "no recomputation", "step_s": null, "why_not": "nothing is computed again"}
>   ],
$ cd $TMP && sed -n '/critical_path/,$p' explain.json | sed -n '2,3p'
>     {"name": "conv1+relu1+pool1 forward part 0", "task": 0, "device": 0, "start_s": 0, "end_s": 0.000165548885, "queued_s": 0},
>     {"name": "conv2+relu2+pool2 forward part 0", "task": 8, "device": 0, "start_s": 0.000165548885, "end_s": 0.000638088665, "queued_s": 0},
$ cd $TMP && sed -n 's/.*"start_s": \([^,]*\), "end_s": \([^,]*\),.*/\1 \2/p' explain.json | awk '$1 != end { print "gap at " $1 } { end = $2 } END { print end }'
> 0.017309150537

As planned, but for what the command line says.
$ cd $TMP && hypar explain alex.json --no-overlap --operators 1 | sed -n '1p;/^It is bound/p'
> alexnet, batch 64, fp32, on 8 devices: a step takes 22.5 ms
> It is bound by: exchanges that nothing hides 73.1 %, computing 25.9 %, updating

Why a planner chose what it chose: the plans of the others, as they were simulated.
$ cd $TMP && hypar plan lenet5 --batch 64 --on cluster:2x2,inter=1GB/s --memory 4GB -q -o auto.json && hypar explain auto.json --operators 1 | sed -n '/^Found/,/^$/p'
> hypar: note: 2 of 4 devices have nothing to do
> Found by hybrid (stages, splits, micro-batches, recomputation and sharding in
> one search) for auto, with --memory 4GB, over the plans of 12 others.
> planner      step   change  computing  exposed  plan
> hybrid    19.9 us*            17.9 us     2 us  n=2 of all operators
> flexflow  19.9 us   +0.0 %    17.9 us     2 us  n=2 of all operators
> optcnn    26.5 us    +33 %    19.5 us  7.03 us  whole of 6 operators, c=2 of 5,
>                                                 k=2 of 2
> zb-h1     30.2 us    +52 %    18.3 us  11.9 us  2 stages, zb-h1, 2
>                                                 micro-batches, n=2 of all
>                                                 operators
> zb-h2     30.2 us    +52 %    18.3 us  11.9 us  2 stages, zb-h2, 2
>                                                 micro-batches, n=2 of all
>                                                 operators
> 1f1b        31 us    +56 %    18.3 us  12.6 us  2 stages, 1f1b, 2 micro-batches,
>                                                 n=2 of all operators
> gpipe     34.9 us    +75 %    18.3 us  16.5 us  2 stages, gpipe, 2
>                                                 micro-batches, n=2 of all
>                                                 operators
> 3d         173 us    8.7 x    15.4 us   157 us  data 2 x tensor 1 x pipeline 2,
>                                                 1f1b, 16 micro-batches
> hypar      212 us     11 x       9 us   203 us  n=4 of 7 operators, n=2 c=2 of
>                                                 2, n=2 r=2 of 2, ...
> accpar     213 us     11 x    8.96 us   204 us  n=4 of 7 operators, c=4 of 1,
>                                                 r=4 of 1, ...
> owt        244 us     12 x    8.85 us   235 us  n=4 of 7 operators, k=4 of 3,
>                                                 c=4 of 3
> dp         270 us     14 x    9.58 us   260 us  n=4 of all operators
> mp        2.03 ms    102 x    24.3 us     2 ms  r=4 of 8 operators, c=4 of 5
> * the plan that was chosen
> flexflow computes as long and exposes as much. dp computes 8.31 us less and
> exposes 258 us more. Computing is that of the device that computes longest;
> exposed is the rest of the step: exchanges, bubbles and launches that it does
> not hide.
> flexflow cannot be told apart from it: the ratio of two such steps is off by up
> to 25.9 % (8 of 10).
>
$ cd $TMP && hypar explain auto.json --on cluster:2x2,intra=1GB/s --operators 1 | sed -n '/^Found/,/^planner/p'
> hypar: note: 2 of 4 devices have nothing to do
> Found by hybrid (stages, splits, micro-batches, recomputation and sharding in
> one search) for auto, with --memory 4GB, over the plans of 12 others. Its step
> was 19.9 us then, and is 255 us: the machine, a profile or how steps are
> simulated differ.
> planner      step   change  computing  exposed  plan
$ cd $TMP && hypar plan lenet5 --on full:4 --planner hypar --joint -q -o joint.json && hypar explain joint.json --operators 1 | sed -n '/^Found/,/^$/p'
> Found by hypar (least exchange, each layer dp or mp at each level of the
> machine), with --joint. Exact: no other choice of types exchanges less.
>

What was changed since, or says nothing, is told no more of.
$ cd $TMP && sed 's/"devices": .0, 1./"devices": [1, 0]/' auto.json > changed.json && hypar explain changed.json --operators 1 | grep -A2 '^Found'
> hypar: note: 2 of 4 devices have nothing to do
> Found by hybrid (stages, splits, micro-batches, recomputation and sharding in
> one search) for auto, with --memory 4GB, and changed since.
>
$ hypar explain examples/plans/data-parallel.json --operators 1 | grep -c '^Found'
> 0
? 1
$ cd $TMP && sed 's/"asked": "auto"/"asked": 1/' auto.json > bad.json && hypar explain bad.json
> hypar: bad.json: search.asked: expected a string, not 1
? 3

A machine of listed links may have faster ones, and faster devices.
$ hypar plan alexnet --on examples/machines/dgx1-v100.json --planner dp -q -o $TMP/listed.json; hypar explain $TMP/listed.json --operators 1 | sed -n '/^what would help/,/^No diff/p'
> what would help                   step   change  memory
> links twice as fast            3.61 ms*   -36 %  502 MB
> devices twice as fast          4.88 ms    -14 %  502 MB
> devices' memory twice as fast  5.22 ms   -7.6 %  502 MB
> arithmetic twice as fast       5.31 ms   -5.9 %  502 MB
> 2 micro-batches instead of 1   7.09 ms    +25 %  495 MB
> * the fastest
> No difference: twice the memory.

Of this computer nothing is faster.
$ hypar explain examples/plans/data-parallel.json --on local:8 -q 2>&1 | grep -o 'a faster machine: [^;]*'
> a faster machine: this computer is as it is

Bad input.
$ hypar explain
> hypar: explain: missing operand PLAN; see 'hypar explain --help'
? 2
$ hypar explain $TMP/none.json
> hypar: $TMP/none.json: cannot open: No such file or directory
? 3
$ hypar explain lenet5
> hypar: explain: 'lenet5' is a model, expected a plan; make one first: hypar plan lenet5 --on MACHINE -o plan.json
? 2
$ hypar explain examples/programs/flexflow-fig4.json
> hypar: explain: 'examples/programs/flexflow-fig4.json' is a program, expected a plan
? 2
$ cd $TMP && hypar explain alex.json --operators 0
> hypar: --operators: '0' is not a whole number from 1 to 1000000
? 2
$ cd $TMP && hypar explain alex.json --on full:2
> hypar: alex.json: the plan is for 8 devices, --on full:2 has 2; expected as many, or a plan for them: hypar plan MODEL --on full:2
? 1

Of a plan for a framework only what that runs would help.
$ hypar plan tests/data/encoder-decoder.json --on full:2 --planner 1f1b --for torch -q -o $TMP/for.json && hypar explain $TMP/for.json | tr '\n' ' ' | grep -o "schedule zb-h1 instead of 1f1b: PyTorch has no schedule"
> schedule zb-h1 instead of 1f1b: PyTorch has no schedule

Gradients of a layer include its biases', which mp halves with the weight: fc3 of lenet5 has 84 x 10 weights and 10 biases, 8 x 850 bytes
at H1, and the same at H2, where two groups have half of all of them.
$ hypar plan lenet5 --on htree:4 --planner hypar -q -o $TMP/lenet5.json; hypar explain $TMP/lenet5.json | grep '^layer\|^fc3 *H'
> layer  level   dp own  dp between       dp    mp own  mp between       mp
> fc3    H1      6.8 kB     10.8 kB  17.6 kB   2.56 kB     10.8 kB  13.3 kB*
> fc3    H2      6.8 kB     10.8 kB  17.6 kB   5.12 kB     10.8 kB  15.9 kB*

A plan that does not fit: twice the memory is told to hold it.
$ hypar plan mlp:8192-8192-8192 --batch 16384 --on full:1,device=h100,memory=4GB --planner dp --precision bf16 -q -o $TMP/lack.json; hypar explain $TMP/lack.json --on full:1,device=h100,memory=1.5GB | grep -e 'twice the memory' -e 'No difference'
> hypar: $TMP/lack.json: the plan does not fit: device 0 needs 2.85 GB of memory, has 1.5 GB
> twice the memory (fits)                       17.9 ms   +0.0 %  2.85 GB
> No difference: links twice as fast.

Splits that the plan's framework refuses are no alternatives, and are not said to be none.
$ hypar plan vgg11 --on full:2 --planner dp --for torch -qo $TMP/kept.json && hypar explain $TMP/kept.json --operators 2 | tr '\n' ' ' | grep -o "Splits that.*others\|Splits that.*left out\|None of them[^.]*"
> Splits that PyTorch refuses, for which the plan was made (--for), are left out
