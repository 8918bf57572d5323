Planners in one table. How long the search takes, the last column, differs from run to run.
$ hypar compare lenet-c --on htree:16 --planner dp,mp,owt,hypar,accpar | sed 's/  *[0-9.]* [mun]*s\*\{0,1\}$//; s/  *search$//'
> lenet-c, batch 256, on 16 devices
>
> planner     step   over dp      sent    memory    energy
> dp       17.1 ms    1.00 x   51.7 MB   5.71 MB    116 mJ
> mp        172 ms    0.10 x    355 MB   36.4 MB    597 mJ
> owt      15.9 ms    1.08 x   37.3 MB   3.47 MB   93.4 mJ
> hypar    8.51 ms    2.01 x   18.7 MB   2.88 MB*  81.6 mJ
> accpar   6.65 ms*   2.58 x*  14.6 MB*  2.88 MB*  78.1 mJ*
> * the best of its column
>
> The fastest is accpar: 6.65 ms a step, 38.5 k samples/s, 39.4 % of peak.
> Run as compiled on eyeriss-hmc, the default device
> Not calibrated, no such step was measured: expect 3.4 ms to 10.6 ms.
$ hypar compare lenet-c --on htree:16 --planner dp,hypar --batch 64 --precision bf16 --optimizer adam --json | sed -E 's/"(seconds|processor_s)": [^,]*/"\1": 0/g'
> {
>   "version": "0.1.0",
>   "model": "lenet-c",
>   "batch": 64,
>   "machine": "htree:16",
>   "precision": "bf16",
>   "gradient_precision": "bf16",
>   "optimizer": "adam",
>   "seed": 0,
>   "lower_bound": {"step_s": 0.0006342844772094243, "by": "mostly arithmetic", "work_s": 0.0006342861114955358, "arithmetic_s": 0.0006277142857142858, "traffic_s": 8.283072656250001e-06, "way_s": 0},
>   "plans": [
>     {
>       "planner": "dp",
>       "predicted": {"model": "simulated", "step_s": 0.008292757306, "speedup_over_dp": 1, "comm_bytes": 25830120, "peak_memory_bytes": 7170756, "energy_j": 0.05918127990560001, "energy": {"arithmetic_j": 0.0011165698175999966, "sram_j": 0.0034736399999999884, "dram_j": 0.04933722368000003, "link_j": 0.005253846407999997, "idle_j": 0, "total_j": 0.05918127990560001}, "fits": true, "samples_per_s": 7717.577837915808, "mfu": 0.07900181242116494, "link_bytes": 96862950, "gap": 12.074192423066261, "step_low_s": 0.004987635875890365, "step_high_s": 0.0132684116896, "calibrated_rows": 0, "like_the_fastest": false},
>       "search": {"seconds": 0, "processor_s": 0, "evaluated": 12, "lower_bound_s": null}
>     },
>     {
>       "planner": "hypar",
>       "predicted": {"model": "simulated", "step_s": 0.002181415711, "speedup_over_dp": 3.8015483542100514, "comm_bytes": 5117424, "peak_memory_bytes": 990948, "energy_j": 0.015802547254399987, "energy": {"arithmetic_j": 0.0009857149727999942, "sram_j": 0.0031914899999999934, "dram_j": 0.010594293759999996, "link_j": 0.001031048521600004, "idle_j": 0, "total_j": 0.015802547254399987}, "fits": true, "samples_per_s": 29338.74532821681, "mfu": 0.3003292099892908, "link_bytes": 19009006.666666597, "gap": 2.4391756213194435, "step_low_s": 0.0011729007266421338, "step_high_s": 0.0034902651376, "calibrated_rows": 0, "like_the_fastest": false},
>       "search": {"seconds": 0, "processor_s": 0, "evaluated": 48, "lower_bound_s": null}
>     }
>   ]
> }
$ hypar compare lenet-c --on htree:16 --planner hypar,mp --csv - | cut -d , -f 1-6,8-10,12-
> planner,step_s,speedup_over_dp,comm_bytes,peak_memory_bytes,energy_j,fits,why_not,delayed_updates,evaluated,samples_per_s,mfu,link_bytes,gap,batch_per_replica
> hypar,0.0085116511,2.014872053907379,18729512,2876020,0.08163202408831957,1,,0,48,30076.420778102616,0.30788050376870224,80471288,2.366202518454596,0
> mp,0.172450653885,0.09944808875840234,355123200,36418820,0.5971601180048001,1,,0,12,1484.482628698616,0.015196065480383601,1449676800,67.20108326771393,0

Planners without a plan that fits say why, in a line of their own under the table.
$ hypar compare vgg16 --on htree:4,memory=400MB --planner dp,owt,1f1b | sed 's/  *[0-9.]* [mun]*s  does/  does/; s/  *-  no plan/  no plan/; s/  *search$//'
> hypar: no planner has a plan for vgg16 that fits this machine
> vgg16, batch 32, on 4 devices
>
> planner    step  over dp    sent  memory  energy
> dp            -        -       -       -       -  no plan
> owt      8.85 s   1.00 x  379 MB  864 MB  33.4 J  does not fit
> 1f1b          -        -       -       -       -  no plan
> dp: weights, gradients and sgd state need 1.11 GB on device 0, which has
>     400 MB; with --shard parameters they need 277 MB
> 1f1b: no plan found that fits; the nearest needs 822 MB on device 2, which
>     has 400 MB
> Over dp: its step would take 8.84 s.
>
> No plan fits.
$ hypar compare vgg-a --on htree:16 --planner dp,hypar --memory 600MB --csv - | cut -d , -f 1-6,8-10,12-
> hypar: no planner has a plan for vgg-a that fits this machine
> planner,step_s,speedup_over_dp,comm_bytes,peak_memory_bytes,energy_j,fits,why_not,delayed_updates,evaluated,samples_per_s,mfu,link_bytes,gap,batch_per_replica
> dp,,,,,,,"weights, gradients and sgd state need 1.06 GB on device 0,,,,,,,,
> hypar,8.802727504811,0.9860395576258795,1562503680,761755140,130.33545205966834,0,,0,160,29.081895339834958,0.9878873232469453,5993459072,0.015142273494428204,0
$ hypar compare vgg-a --on htree:16 --planner dp --memory 1MB --json | sed -E 's/"(seconds|processor_s)": [^,]*/"\1": 0/g'
> hypar: no planner has a plan for vgg-a that fits this machine
> {
>   "version": "0.1.0",
>   "model": "vgg-a",
>   "batch": 256,
>   "machine": "htree:16",
>   "precision": "fp32",
>   "gradient_precision": "fp32",
>   "optimizer": "sgd",
>   "seed": 0,
>   "lower_bound": {"step_s": 8.671422454420439, "by": "mostly arithmetic", "work_s": 8.671431126851566, "arithmetic_s": 8.663072768000001, "traffic_s": 0.014254711951562514, "way_s": 0},
>   "plans": [
>     {
>       "planner": "dp",
>       "predicted": null,
>       "error": "weights, gradients and sgd state need 1.06 GB on device 0, which has 1 MB allowed by --memory",
>       "search": {"seconds": 0, "processor_s": 0, "evaluated": 0, "lower_bound_s": null}
>     }
>   ]
> }

Updates that are delayed are told in every form.
$ hypar compare lenet5 --on full:2 --planner dp,pipedream --csv - | awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i } { print $1, $column["fits"], $column["delayed_updates"] }'
> planner fits delayed_updates
> dp 1 0
> pipedream 1 1

With one stage they are not: each replica takes a batch of its own and sees the last update. One replica trains as the others do, and is ranked.
$ cd $TMP && hypar plan lenet5 --on full:2,bandwidth=1TB/s --planner pipedream -q -o one.json; hypar plan lenet5 --on full:2 --planner pipedream -q -o two.json
$ cd $TMP && hypar plan lenet5 --on full:2,bandwidth=1TB/s --planner dp -q -o dp.json; hypar compare one.json two.json dp.json --on full:2,bandwidth=1TB/s
> lenet5, batch 32, on 2 devices
>
> plan         step   over dp     sent    memory    energy
> one.json  9.44 us    1.12 x   247 kB    2.4 MB    1.1 mJ   a batch for each
>                                                            replica
> two.json  10.3 us    1.03 x   301 kB   2.76 MB   1.11 mJ   updates are delayed
> dp.json   10.6 us*   1.00 x*  494 kB*  1.45 MB*  1.18 mJ*
> * the best of its column by a plan that divides one batch and whose updates are
> not delayed
>
> The fastest that divides one batch and whose updates are not delayed is dp.json:
> 10.6 us a step, 3.03 M samples/s, 24.1 % of peak.
> Run as compiled on v100, the default device
> Not calibrated, no such step was measured: expect 4.87 us to 16.9 us.
> Where each replica takes a whole batch, one update is made of the gradients of
> all their batches. The others divide one batch over all devices: not the same
> training, so steps of the two are not alike.
> Where updates are delayed, a replica takes whole minibatches, of a batch each,
> and the next begin before the last has updated the weights. The others divide
> one batch over all devices and wait for its update: not the same training, so
> steps of the two are not alike.
$ cd $TMP && hypar compare one.json dp.json | tail -n +6 | sed '/^$/,$!d;/^The step/,$d'
>
> The fastest that divides one batch is dp.json: 10.6 us a step, 3.03 M samples/s,
> 24.1 % of peak.
> Run as compiled on v100, the default device
> Not calibrated, no such step was measured: expect 4.87 us to 16.9 us.
> Where each replica takes a whole batch, one update is made of the gradients of
> all their batches. The others divide one batch over all devices: not the same
> training, so steps of the two are not alike.
>
$ cd $TMP && hypar compare one.json two.json --on full:2 --json | grep -o -e '"batch_per_replica[^,]*' -e '"delayed_updates[^,]*'
> "batch_per_replica": true}
> "delayed_updates": true}
$ cd $TMP && hypar compare one.json two.json --on full:2 --csv - | cut -d , -f 1,10,17
> plan,delayed_updates,batch_per_replica
> "one.json",0,1
> "two.json",1,0
$ cd $TMP && hypar compare one.json --svg picture.svg >/dev/null; grep -o 'a batch for each replica' picture.svg
> a batch for each replica
$ hypar compare lenet5 --on full:1 --planner dp,pipedream | tail -n 1
> Not calibrated, no such step was measured: expect 7.93 us to 28.6 us.

A random search can be told how much to try.
$ hypar compare sfc --on full:4 --planner dp,flexflow --proposals 8 --json | grep -o '"evaluated": 8'
> "evaluated": 8

All that there are, but auto, which is one of them, and exhaustive search.
$ hypar compare sfc --on full:2 --csv - | sed 1d | cut -d , -f 1 | sort > $TMP/compared
$ hypar planners --json | sed -n 's/.*"name": "\([a-z0-9-]*\)".*/\1/p' | grep -v -e auto -e exhaustive | sort | diff - $TMP/compared

Where devices differ the fullest is the one that needs the largest share of what it has, in the columns of plan as here.
$ hypar plan alexnet --on cluster:1x2,device=h100+cluster:1x2,device=k80 --planner hypar | grep -E '^(level|state|memory)'
> level   ways    hypar       dp       mp      owt
> state          244 MB   489 MB   236 MB   246 MB
> memory        2.04 GB   492 MB  1.51 GB  2.03 GB
$ hypar compare alexnet --on cluster:1x2,device=h100+cluster:1x2,device=k80 --planner hypar,dp,mp,owt --csv - | cut -d, -f1,5
> planner,peak_memory_bytes
> hypar,2037452386
> dp,492049476
> mp,1513213103
> owt,2029727632
$ hypar compare alexnet --on cluster:1x2,device=h100+cluster:1x2,device=k80 --planner hypar,dp,mp,owt --memory 2GB --csv - | cut -d, -f1,5,8
> planner,peak_memory_bytes,fits
> hypar,2037452386,0
> dp,1732111604,1
> mp,1513213103,1
> owt,2029727632,0

Plans are compared without a search, and beside what planners find.
$ cd $TMP && for p in dp owt pipedream; do hypar plan alexnet --on cluster:2x2,device=p100 --planner $p -q -o $p.json; done; hypar plan alexnet --on cluster:2x2,device=p100 --planner dp --no-overlap -q -o alone.json
$ cd $TMP && hypar compare dp.json owt.json pipedream.json alone.json
> alexnet, batch 32, on 4 devices
>
> plan              step  over dp     sent  memory  energy
> dp.json          22 ms   1.00 x  1.47 GB  515 MB  1.86 J
> owt.json       6.86 ms*  3.21 x* 72.6 MB* 163 MB*  1.4 J*
> pipedream.json 10.7 ms   2.06 x  31.7 MB  496 MB  1.38 J  updates are delayed
> alone.json     27.7 ms   0.79 x  1.47 GB  515 MB  1.86 J  --as
>                                                           compiled,overlap=none
> * the best of its column by a plan whose updates are not delayed
>
> The fastest whose updates are not delayed is owt.json: 6.86 ms a step, 4.67 k
> samples/s, 47.2 % of peak.
> One plan: dp.json, alone.json.
> Run as compiled on p100
> Not calibrated, no such step was measured: expect 2.46 ms to 11 ms.
> Where updates are delayed, a replica takes whole minibatches, of a batch each,
> and the next begin before the last has updated the weights. The others divide
> one batch over all devices and wait for its update: not the same training, so
> steps of the two are not alike.
$ cd $TMP && hypar compare owt.json --planner dp,mp --csv - | cut -d, -f1,2,8
> plan,step_s,fits
> "owt.json",0.006857387872,1
> dp,0.021982579561,1
> mp,0.014586165403,1
$ cd $TMP && hypar compare alone.json --planner dp --json | grep -o -e '"plan\(ner\)*":[^,]*' -e '"step_s[^,]*' -e '"search"'
> "step_s": 0.0066236054290418605
> "plan": "alone.json"
> "step_s": 0.027731913598
> "planner": "dp"
> "step_s": 0.027731913598
> "search"

They are plans for the same.
$ cd $TMP && hypar plan lenet5 --on full:4 --planner dp -q -o other.json; hypar plan alexnet --on full:4 --planner dp -q -o full.json
$ cd $TMP && hypar compare dp.json other.json
> hypar: other.json: a plan for another model or batch than 'dp.json'
? 3
$ cd $TMP && hypar compare dp.json full.json
> hypar: full.json: a plan for another machine than 'dp.json'; --on MACHINE compares all on one
? 3
$ cd $TMP && hypar compare dp.json full.json --on full:4 --csv - | cut -d, -f1,2
> plan,step_s
> "dp.json",0.009264880574
> "full.json",0.009264880574
$ cd $TMP && hypar compare dp.json owt.json --memory 100MB
> alexnet, batch 32, on 4 devices
>
> plan         step  over dp     sent  memory  energy
> dp.json     22 ms   1.00 x  1.47 GB  515 MB  1.86 J  does not fit
> owt.json  6.86 ms   3.21 x  72.6 MB  163 MB   1.4 J  does not fit
>
> No plan fits.
>
> The step of dp.json, if this alone were as in owt.json:
> difference                                step   change  memory
> splits and devices of all 7 operators  6.86 ms*   -69 %  163 MB
> fc1: n=4 -> k=4                        13.3 ms    -39 %  288 MB
> fc2: n=4 -> k=4                        17.1 ms    -22 %  414 MB
> fc3: n=4 -> k=4                        20.9 ms   -5.0 %  490 MB
> * the fastest
> hypar: none of these plans for alexnet fits
? 1

A measured timeline beside the simulated one.
$ hypar plan mlp:4-3-2 --batch 2 --on full:2 --planner dp -q -o $TMP/mlp.json; cp tests/fuzz/corpus/trace/measured $TMP/trace.json
$ cd $TMP && hypar compare --measured trace.json mlp.json
> mlp:4-3-2, batch 2, on 2 ranks: a step takes 6.04 ms, predicted 1 us (-100.0 %)
> means of ranks and of 3 steps
>
> largest differences            predicted  measured  longer by  of the step's
> waiting before update fc1.w      1.89 ns   2.96 ms    2.96 ms           49 %
> waiting at the end                   0 s   2.96 ms    2.96 ms           49 %
> fc1+relu1 forward               0.125 ns   40.8 us    40.8 us            1 %
> waiting before fc2 gradient          0 s   19.7 us    19.7 us            0 %
> fc2+loss forward                0.103 ns   14.4 us    14.4 us            0 %
> waiting before update fc2.w         1 us   11.3 us    10.3 us            0 %
> waiting before relu1 backward        0 s   6.13 us    6.13 us            0 %
> fc2 gradient                    0.067 ns    5.2 us     5.2 us            0 %
> fc1 gradient                    0.111 ns   5.09 us    5.09 us            0 %
> waiting before fc1 gradient          0 s   3.41 us    3.41 us            0 %
> and 13 more
>
> mean of ranks    predicted  measured  ratio
> step                  1 us   6.04 ms   6014
>   forward         0.228 ns   55.2 us      -
>   backward        0.125 ns   8.89 us      -
>   gradient        0.178 ns   10.3 us      -
>   update          0.307 ns   2.55 us      -
>   communicating       1 us   2.99 ms   2985
>   waiting              0 s   2.97 ms      -
>
> operator  predicted  measured  ratio
> fc1        0.236 ns   45.8 us      -
> fc2        0.219 ns   22.9 us      -
> loss       0.036 ns   2.88 us      -
> relu1       0.04 ns   2.73 us      -
>
> exchange                      predicted  measured  sent
> all-reduce gradient of fc1.b       1 us   2.97 ms  24 B
> all-reduce gradient of fc1.w       1 us   2.96 ms  96 B
> the other 3                        3 us      3 ms  72 B
Of exchanges that were to take next to nothing there is no ratio.
$ hypar plan mlp:4-3-2 --batch 2 --on full:2,fp32=1MFLOP/s,latency=40us --planner dp -q -o $TMP/slow.json; hypar compare --measured $TMP/trace.json $TMP/slow.json | grep -e communicating
>   communicating       2 us   2.99 ms       -
$ cd $TMP && hypar compare --measured trace.json mlp.json --json --trace both.json | grep -o -e '^  "[a-z]*":' -e '"name": "all-reduce gradient of fc1.w", "bytes": [0-9]*' -e '"task": 0, .*"rank": 0'
>   "ranks":
>   "steps":
>   "phases":
>   "operators":
>   "exchanges":
> "name": "all-reduce gradient of fc1.w", "bytes": 96
>   "differences":
>   "tasks":
> "task": 0, "name": "fc1+relu1 forward part 0", "kind": "forward", "rank": 0
$ cd $TMP && for f in both trace; do grep '"pid": [45]' $f.json | sed 's/,* *"name": "[^"]*"//g' > $f; done; cmp both trace && grep -c '"X".*"pid": 1,' both.json
> 26

A step of PyTorch, as its profiler saw it, packed or not.
$ hypar plan mlp:4-3-2 --batch 2 --on full:1 --planner dp -q -o $TMP/one.json; gzip -c tests/fuzz/corpus/trace/torch-host >$TMP/torch.json.gz
$ cd $TMP && hypar compare --measured torch.json.gz one.json
> mlp:4-3-2, batch 2: a step of rank 0 takes 200 us in PyTorch, predicted 1.13 ns
> (-100.0 %)
> medians of 2 steps, times of operators on the host
>
> largest differences   forward measured  backward measured longer by of the step
> fc1                  0.129 ns    28 us  0.156 ns    32 us     60 us      30.0 %
> loss                0.0844 ns     4 us 0.0667 ns     8 us     12 us       6.0 %
> relu1 + fc2          0.133 ns     5 us  0.249 ns     6 us     11 us       5.5 %
>
> in all         predicted  measured  of the step
> step             1.13 ns    200 us      100.0 %
>   forward       0.347 ns     37 us       18.5 %
>   backward      0.471 ns     46 us       23.0 %
>   update        0.307 ns     10 us        5.0 %
>   not matched        0 s      7 us        3.5 %
>   neither            0 s    100 us       50.0 %
>
> not matched                      calls  measured  of the step
> aten::ones_like                      1      4 us        2.0 %
> torch::autograd::AccumulateGrad      1      3 us        1.5 %
$ cd $TMP && zcat torch.json.gz | hypar compare --measured - one.json --json --trace both.json | grep -e rank -e others
>   "rank": 0,
>   "others": [
$ cd $TMP && grep '"pid": 4' both.json | grep -o '"name": "[^"]*", "ph": "X".*"dur": [0-9.]*' | tail -n 3
> "name": "relu1 + fc2 backward", "ph": "X", "ts": 90, "pid": 4, "tid": 0, "dur": 6
> "name": "fc1 backward", "ph": "X", "ts": 100, "pid": 4, "tid": 0, "dur": 30
> "name": "fc1 backward", "ph": "X", "ts": 131, "pid": 4, "tid": 0, "dur": 2
Of rank 1 alone, kernel by kernel.
$ cd $TMP && cp $OLDPWD/tests/fuzz/corpus/trace/torch-device device.json; hypar compare --measured device.json mlp.json
> mlp:4-3-2, batch 2: a step of rank 1 takes 161 us in PyTorch, predicted 1 us
> (-99.4 %)
> medians of 1 step, times of kernels on the device
>
> largest differences   forward measured backward measured longer by of the step
> fc1                 0.0978 ns    21 us 0.111 ns    19 us     40 us      24.8 %
> (model)              0.129 ns      0 s 0.191 ns      0 s  -0.32 ns       0.0 %
>
> in all         predicted  measured  of the step
> step                1 us    161 us      100.0 %
>   forward       0.227 ns     21 us       13.0 %
>   backward      0.302 ns     19 us       11.8 %
>   update        0.307 ns       0 s        0.0 %
>   not matched        0 s     31 us       19.3 %
>   neither           1 us     90 us       55.9 %
>
> not matched              calls  measured  of the step
> ncclDevKernel_AllReduce      1     30 us       18.6 %
> Memcpy HtoD                  1      1 us        0.6 %
> hypar: nothing               1       0 s        0.0 %

Beside a faster plan with delayed updates the verdict says whose step is the shortest.
$ hypar compare vgg16 --on cluster:4x4,inter=1.25GB/s --planner dp,pipedream --batch 64 | tail -n +7
> * the best of its column by a plan whose updates are not delayed
>
> The fastest whose updates are not delayed is dp: 681 ms a step, 94 samples/s,
> 3.5 % of peak.
> Run as compiled on v100, the default device
> Not calibrated, no such step was measured: expect 409 ms to 1.09 s.
> Where updates are delayed, a replica takes whole minibatches, of a batch each,
> and the next begin before the last has updated the weights. The others divide
> one batch over all devices and wait for its update: not the same training, so
> steps of the two are not alike.

A plan that does not fit is left out for that, whether or not its updates are delayed.
$ hypar compare vgg16 --on cluster:4x4,intra=10GB/s,inter=1.25GB/s --batch 512 --planner dp,pipedream | sed -n '/^The fastest/,/peak/p'
> The fastest that fits is dp: 795 ms a step, 644 samples/s, 23.8 % of peak.
> Run as compiled on v100, the default device
> Not calibrated, no such step was measured: expect 369 ms to 1.27 s.

What replicas divide among them is an option of all planners, as in a search; a plan says it itself.
$ hypar compare gpt2 --on full:4 --planner dp,hypar --shard parameters | sed -n '4,5s/ J.*/ J/p'
> dp       951 ms*   1.00 x*  4.47 GB*  8.44 GB*   289 J
> hypar    951 ms*   1.00 x*  4.47 GB*  8.44 GB*   289 J
$ hypar compare examples/plans/pipeline.json --shard optimizer
> hypar: compare: --shard needs a model; 'examples/plans/pipeline.json' is a plan, which says it
? 2

What others are over is told where dp does not fit.
$ hypar compare vgg16 --on full:4,memory=1GB --batch 64 --planner dp,3d | grep '^Over dp'
> hypar: dp has no plan: the table says why
> Over dp: its step would take 198 ms.

A planner that was named and has no plan is a failure, beside plans that fit; the table is shown. One that does not apply is none where all are tried.
$ hypar compare vgg16 --on full:4,memory=1GB --batch 64 --planner dp,3d -o $TMP/table; grep -c -e ^dp -e ^3d $TMP/table
> hypar: dp has no plan: the table says why
> 3
$ hypar compare vgg16 --on full:4,memory=1GB --batch 64 --planner dp,3d -o $TMP/table
> hypar: dp has no plan: the table says why
? 1
$ hypar compare mlp:1000-1000-10 --batch 8 --on full:2,memory=6MB --csv $TMP/all.csv -q -o $TMP/table && grep '^dp' $TMP/all.csv
> dp,,,,,,,,"weights, gradients and sgd state need 8.09 MB on device 0, which has 6 MB; with --shard parameters they need 4.04 MB",,,,,,,,

Planners for a framework: with what the framework trains with, and only plans that the framework can run.
$ hypar compare mlp:64-64-8 --batch 8 --on full:2,device=h100 --for torch --planner dp,3d,zb-h1 | sed -n '1p;/has no\|zb-h1/p' | tr -s ' '
> hypar: zb-h1 has no plan: the table says why
> mlp:64-64-8, batch 8, bf16 with fp32 gradients, adamw, on 2 devices
> zb-h1 - - - - - - no plan
> zb-h1: PyTorch has no schedule 'zb-h1', expected gpipe, 1f1b, interleaved

Each refusal for want of memory says who set the limit, and what the framework takes.
$ for o in "" "--framework-memory 100MB"; do hypar compare gpt2 --on full:2 --memory 1GB $o --planner 1f1b,gpipe 2>&1 | grep -A1 -e '^1f1b:' -e '^gpipe:'; done
> 1f1b: no plan found that fits; the nearest needs 1.61 GB on device 0, which
>     has 1 GB allowed by --memory
> gpipe: no plan found that fits; the nearest needs 14 GB on device 1, which
>     has 1 GB allowed by --memory
> 1f1b: no plan found that fits; the nearest needs 1.61 GB on device 0, which
>     has 900 MB beside the framework allowed by --memory
> gpipe: no plan found that fits; the nearest needs 14 GB on device 1, which
>     has 900 MB beside the framework allowed by --memory

An operator that changes without those that follow it is told apart from one that changes with them.
$ hypar plan lenet5 --on full:4 --planner dp -q -o $TMP/all.json; sed '/"fc2"/s/"n": 4/"k": 4/' $TMP/all.json > $TMP/one.json; sed '/"tanh4"/s/"n": 4/"c": 4/' $TMP/one.json > $TMP/two.json; for p in one two; do hypar compare $TMP/all.json $TMP/$p.json | grep '^fc2'; done
> fc2 alone: n=4 -> k=4  21.8 us   +37 %  909 kB
> fc2: n=4 -> k=4  21.7 us   +36 %  909 kB
