A plan that divides the batch. Computing, communicating and waiting add up to the step.
$ hypar simulate examples/plans/data-parallel.json
> resnet18:image=32,classes=10, batch 64, fp32, on 8 devices: a step takes 1.96 ms
> 32.7 k samples/s, 5.8 % of peak (model FLOPs), 1,639 tasks
> Run as compiled on v100, the default device
> Not calibrated, no such step was measured: expect 1.11 ms to 3.13 ms.
>
> device  computing        communicating  waiting  overlap
> 0-7        466 us  24 %        1.49 ms      0 s   323 us  ####==============
> # computing   = communicating   . waiting
> Overlap: it communicates as it computes, counted as computing.
>
> busiest links     busy            bytes
> 0 -> 1         1.57 ms  80.3 %  39.3 MB
> 1 -> 0         1.57 ms  80.3 %  39.3 MB
> 2 -> 3         1.57 ms  80.3 %  39.3 MB
> 3 -> 2         1.57 ms  80.3 %  39.3 MB
> 4 -> 5         1.57 ms  80.3 %  39.3 MB
> and 27 more; all are busy 40.2 % of the step on average
>
> Sent      627 MB, each byte once; 629 MB on links
> Energy    295 mJ: arithmetic 32.5 mJ, SRAM 106 mJ, DRAM 117 mJ, links 40.3 mJ
> Memory    92.9 MB of 16 GB (0.6 %) on device 0, the fullest: parameters 44.7 MB,
>           gradients 44.7 MB, activations 3.45 MB, buffers 33.1 kB; it fits
>
> Energy: a multiply-add is an add, a multiply and three words of SRAM; every
> tensor of a phase moves once between DRAM and SRAM; a word sent is read from
> DRAM, crosses its links and is written to DRAM.

A pipeline.
$ hypar simulate examples/plans/pipeline.json
> mlp:784-1024-1024-10, batch 128, fp16, on 4 devices: a step takes 180 us
> 712 k samples/s, 1.6 % of peak (model FLOPs), 275 tasks
> Run as compiled on v100, the default device
> Not calibrated, no such step was measured: expect 112 us to 288 us.
>
> device  computing        communicating  waiting  overlap
> 0-1         55 us  31 %          90 us  34.8 us  1.76 us  ######=========...
> 2-3       91.7 us  51 %        86.3 us  1.85 us    27 us  #########=========
> # computing   = communicating   . waiting
> Overlap: it communicates as it computes, counted as computing.
>
> busiest links     busy            bytes
> 2 -> 3         84.8 us  47.1 %  2.12 MB
> 3 -> 2         84.8 us  47.1 %  2.12 MB
> 0 -> 1         64.3 us  35.8 %  1.61 MB
> 1 -> 0         64.3 us  35.8 %  1.61 MB
> 0 -> 2         5.24 us   2.9 %   131 kB
> and 3 more; all are busy 22.2 % of the step on average
>
> Sent      7.98 MB, each byte once; 7.98 MB on links
> Energy    15.5 mJ: arithmetic 1.49 mJ, SRAM 4.76 mJ, DRAM 8.78 mJ, links 511 uJ
> Memory    17 MB of 16 GB (0.1 %) on device 2, the fullest: parameters 2.12 MB,
>           gradients 2.12 MB, optimizer 12.7 MB, activations 32.8 kB, buffers
>           32.8 kB; it fits
>
> Energy: a multiply-add is an add, a multiply and three words of SRAM; every
> tensor of a phase moves once between DRAM and SRAM; a word sent is read from
> DRAM, crosses its links and is written to DRAM.

The same plan elsewhere; without overlap; with every message of a collective simulated.
$ hypar simulate examples/plans/one-weird-trick.json | head -n 2
> lenet5, batch 64, fp32, on 4 devices: a step takes 41.9 us
> 1.53 M samples/s, 6.1 % of peak (model FLOPs), 161 tasks
$ hypar simulate examples/plans/one-weird-trick.json --on ring:4 | head -n 2
> lenet5, batch 64, fp32, on 4 devices: a step takes 38 us
> 1.68 M samples/s, 6.7 % of peak (model FLOPs), 161 tasks
$ hypar simulate examples/plans/one-weird-trick.json --no-overlap | head -n 2
> lenet5, batch 64, fp32, on 4 devices: a step takes 58.7 us
> 1.09 M samples/s, 4.3 % of peak (model FLOPs), 161 tasks
$ hypar simulate examples/plans/one-weird-trick.json --expand-collectives | head -n 2
> lenet5, batch 64, fp32, on 4 devices: a step takes 41.9 us
> 1.53 M samples/s, 6.1 % of peak (model FLOPs), 260 tasks
$ hypar simulate examples/plans/data-parallel.json --all-reduce server | head -n 2
> resnet18:image=32,classes=10, batch 64, fp32, on 8 devices: a step takes 2.16 ms
> 29.6 k samples/s, 5.2 % of peak (model FLOPs), 1,639 tasks
$ hypar simulate examples/plans/data-parallel.json --all-reduce two-way-ring --expand-collectives | head -n 2
> resnet18:image=32,classes=10, batch 64, fp32, on 8 devices: a step takes 2.31 ms
> 27.7 k samples/s, 4.9 % of peak (model FLOPs), 24,608 tasks
$ hypar simulate examples/plans/data-parallel.json --all-reduce hierarchical-server --check-delta 20 --json | grep -e changes -e mismatches
>   "changes": 20,
>   "mismatches": 0,
$ hypar simulate examples/plans/data-parallel.json --all-reduce rnig
> hypar: --all-reduce: unknown all-reduce 'rnig', did you mean ring?
? 2
$ hypar simulate examples/plans/data-parallel.json --bucket 25MB | head -n 2
> resnet18:image=32,classes=10, batch 64, fp32, on 8 devices: a step takes 2.15 ms
> 29.8 k samples/s, 5.3 % of peak (model FLOPs), 1,639 tasks
$ hypar simulate examples/plans/data-parallel.json --local-bn | head -n 2
> resnet18:image=32,classes=10, batch 64, fp32, on 8 devices: a step takes 1.71 ms
> 37.5 k samples/s, 6.6 % of peak (model FLOPs), 1,279 tasks

Forward phases alone, as for inference.
$ hypar simulate examples/plans/data-parallel.json --forward | head -n 3
> resnet18:image=32,classes=10, batch 64, fp32, on 8 devices: a forward pass takes
> 108 us
> 591 k samples/s, 34.8 % of peak (model FLOPs), 233 tasks
$ hypar simulate examples/plans/data-parallel.json --forward --json | grep -e forward -e update_tasks
>   "forward": true,
>   "update_tasks": 0,
$ hypar simulate examples/plans/data-parallel.json --forward --fits
> resnet18:image=32,classes=10, batch 64, fp32, sgd, on 8 devices
>
> device  parameters  activations  buffers     peak     of
> 0-7        44.7 MB      38.4 kB  1.05 MB  45.8 MB  16 GB  fits
>
> It fits: device 0, the fullest, needs 45.8 MB of 16 GB (0.3 %).
$ hypar simulate examples/plans/data-parallel.json --forward --check-delta 20 --json | grep -e changes -e mismatches
>   "changes": 20,
>   "mismatches": 0,
$ hypar lower examples/plans/data-parallel.json --forward -q -o $TMP/forward.json
$ hypar simulate $TMP/forward.json | head -n 3
> resnet18:image=32,classes=10, batch 64, fp32, on 8 devices: a forward pass takes
> 108 us
> 591 k samples/s, 34.8 % of peak (model FLOPs), 233 tasks

For other programs.
$ hypar simulate tests/cli/plan.json --json
> {
>   "step_s": 1.004133e-06,
>   "model": "mlp:4-4",
>   "batch": 8,
>   "precision": "fp32",
>   "optimizer": "sgd",
>   "step_low_s": 6.275831249999999e-07,
>   "step_high_s": 1.6066127999999998e-06,
>   "calibrated_rows": 0,
>   "samples_per_s": 7967072.0910477005,
>   "tokens_per_s": null,
>   "mfu": 2.4357927412120357e-05,
>   "peak_memory_bytes": 404,
>   "fullest_device": 0,
>   "fits": true,
>   "comm_bytes": 168,
>   "link_bytes": 167.99999999999997,
>   "tasks": 15,
>   "compute_tasks": 8,
>   "comm_tasks": 3,
>   "update_tasks": 4,
>   "devices": [
>     {"busy_s": 1.235e-09, "comm_s": 1.003613e-06, "waiting_s": 0, "peak_memory_bytes": 404, "memory": {"parameters_bytes": 80, "gradients_bytes": 80, "optimizer_bytes": 0, "weight_versions_bytes": 0, "activations_bytes": 180, "buffers_bytes": 64, "framework_bytes": 0, "recompute_saves_bytes": 96, "saved_bytes": 180, "limit_bytes": 16000000000}},
>     {"busy_s": 1.235e-09, "comm_s": 1.003613e-06, "waiting_s": 0, "peak_memory_bytes": 404, "memory": {"parameters_bytes": 80, "gradients_bytes": 80, "optimizer_bytes": 0, "weight_versions_bytes": 0, "activations_bytes": 180, "buffers_bytes": 64, "framework_bytes": 0, "recompute_saves_bytes": 96, "saved_bytes": 180, "limit_bytes": 16000000000}}
>   ],
>   "links": [
>     {"from": 0, "to": 1, "busy_s": 3.36e-09, "bytes": 83.99999999999999},
>     {"from": 1, "to": 0, "busy_s": 3.36e-09, "bytes": 83.99999999999999}
>   ],
>   "energy": {"arithmetic_j": 1.6064000000000004e-09, "sram_j": 4.44e-09, "dram_j": 8.028159999999998e-08, "link_j": 1.0751999999999998e-08, "idle_j": 0, "total_j": 9.707999999999998e-08}
> }

Does it fit?
$ hypar simulate examples/plans/pipeline.json --fits
> mlp:784-1024-1024-10, batch 128, fp16, adam, on 4 devices
>
> device parameters gradients optimizer activations buffers  peak    of
> 0-1       1.61 MB   1.61 MB   9.65 MB     57.9 kB 32.8 kB 13 MB 16 GB fits
> 2-3       2.12 MB   2.12 MB   12.7 MB     32.8 kB 32.8 kB 17 MB 16 GB fits
>
> It fits: device 2, the fullest, needs 17 MB of 16 GB (0.1 %).
$ hypar simulate tests/cli/plan.json --fits --json
> {
>   "fits": true,
>   "fullest_device": 0,
>   "peak_memory_bytes": 404,
>   "devices": [
>     {"peak_memory_bytes": 404, "memory": {"parameters_bytes": 80, "gradients_bytes": 80, "optimizer_bytes": 0, "weight_versions_bytes": 0, "activations_bytes": 180, "buffers_bytes": 64, "framework_bytes": 0, "recompute_saves_bytes": 96, "saved_bytes": 180, "limit_bytes": 16000000000}},
>     {"peak_memory_bytes": 404, "memory": {"parameters_bytes": 80, "gradients_bytes": 80, "optimizer_bytes": 0, "weight_versions_bytes": 0, "activations_bytes": 180, "buffers_bytes": 64, "framework_bytes": 0, "recompute_saves_bytes": 96, "saved_bytes": 180, "limit_bytes": 16000000000}}
>   ]
> }
$ hypar simulate tests/cli/plan.json --fits --memory 399B | grep It
> hypar: tests/cli/plan.json: device 0 needs 404 B of memory, has 399 B allowed by --memory
> It does not fit: device 0, the fullest, needs 404 B of 399 B allowed by --memory
$ hypar simulate tests/cli/plan.json --memory 399B
> hypar: simulate: --memory goes with --fits
? 2
$ hypar simulate tests/cli/plan.json --fits --on full:2,memory=100B
> mlp:4-4, batch 8, fp32, sgd, on 2 devices
>
> device  parameters  gradients  activations  buffers   peak     of
> 0-1           80 B       80 B        180 B     64 B  404 B  100 B  too little
>
> It does not fit: device 0, the fullest, needs 404 B of 100 B (404.0 %).
> hypar: tests/cli/plan.json: device 0 needs 404 B of memory, has 100 B
? 1

The timeline, for Perfetto.
$ hypar simulate tests/cli/plan.json --trace -
> {
>   "displayTimeUnit": "ms",
>   "traceEvents": [
>     {"name": "process_name", "ph": "M", "ts": 0, "pid": 1, "tid": 0, "args": {"name": "devices"}},
>     {"name": "process_name", "ph": "M", "ts": 0, "pid": 2, "tid": 0, "args": {"name": "links"}},
>     {"name": "process_name", "ph": "M", "ts": 0, "pid": 3, "tid": 0, "args": {"name": "memory"}},
>     {"name": "fc1+loss forward part 0", "ph": "X", "ts": 0, "pid": 1, "tid": 0, "dur": 0.000467, "cat": "forward", "args": {"task": 0, "ready_us": 0, "micro_batch": 0}},
>     {"name": "fc1+loss forward part 1", "ph": "X", "ts": 0, "pid": 1, "tid": 1, "dur": 0.000467, "cat": "forward", "args": {"task": 1, "ready_us": 0, "micro_batch": 0}},
>     {"name": "loss backward part 0", "ph": "X", "ts": 0.000467, "pid": 1, "tid": 0, "dur": 0.0002, "cat": "backward", "args": {"task": 2, "ready_us": 0.000467, "micro_batch": 0}},
>     {"name": "loss backward part 1", "ph": "X", "ts": 0.000467, "pid": 1, "tid": 1, "dur": 0.0002, "cat": "backward", "args": {"task": 3, "ready_us": 0.000467, "micro_batch": 0}},
>     {"name": "fc1 gradient part 0 of fc1.w", "ph": "X", "ts": 0.000667, "pid": 1, "tid": 0, "dur": 0.000213, "cat": "gradient", "args": {"task": 4, "ready_us": 0.000667, "micro_batch": 0}},
>     {"name": "fc1 gradient part 1 of fc1.w", "ph": "X", "ts": 0.000667, "pid": 1, "tid": 1, "dur": 0.000213, "cat": "gradient", "args": {"task": 5, "ready_us": 0.000667, "micro_batch": 0}},
>     {"name": "fc1 gradient part 0 of fc1.b", "ph": "X", "ts": 0.00088, "pid": 1, "tid": 0, "dur": 0.000089, "cat": "gradient", "args": {"task": 6, "ready_us": 0.000667, "micro_batch": 0}},
>     {"name": "fc1 gradient part 1 of fc1.b", "ph": "X", "ts": 0.00088, "pid": 1, "tid": 1, "dur": 0.000089, "cat": "gradient", "args": {"task": 7, "ready_us": 0.000667, "micro_batch": 0}},
>     {"name": "all-reduce loss (recursive doubling)", "ph": "X", "ts": 0.000467, "pid": 2, "tid": 0, "dur": 0.00016, "cat": "comm", "args": {"task": 8, "ready_us": 0.000467, "bytes": 8}},
>     {"name": "all-reduce loss (recursive doubling)", "ph": "X", "ts": 0.000467, "pid": 2, "tid": 1, "dur": 0.00016, "cat": "comm", "args": {"task": 8, "ready_us": 0.000467, "bytes": 8}},
>     {"name": "all-reduce gradient of fc1.w (recursive doubling)", "ph": "X", "ts": 0.00088, "pid": 2, "tid": 0, "dur": 0.00256, "cat": "comm", "args": {"task": 9, "ready_us": 0.00088, "bytes": 128}},
>     {"name": "all-reduce gradient of fc1.w (recursive doubling)", "ph": "X", "ts": 0.00088, "pid": 2, "tid": 1, "dur": 0.00256, "cat": "comm", "args": {"task": 9, "ready_us": 0.00088, "bytes": 128}},
>     {"name": "all-reduce gradient of fc1.b (recursive doubling)", "ph": "X", "ts": 0.00344, "pid": 2, "tid": 0, "dur": 0.00064, "cat": "comm", "args": {"task": 10, "ready_us": 0.000969, "bytes": 32}},
>     {"name": "all-reduce gradient of fc1.b (recursive doubling)", "ph": "X", "ts": 0.00344, "pid": 2, "tid": 1, "dur": 0.00064, "cat": "comm", "args": {"task": 10, "ready_us": 0.000969, "bytes": 32}},
>     {"name": "update fc1.w", "ph": "X", "ts": 1.00344, "pid": 1, "tid": 0, "dur": 0.000213, "cat": "update", "args": {"task": 11, "ready_us": 1.00344}},
>     {"name": "update fc1.w", "ph": "X", "ts": 1.00344, "pid": 1, "tid": 1, "dur": 0.000213, "cat": "update", "args": {"task": 12, "ready_us": 1.00344}},
>     {"name": "update fc1.b", "ph": "X", "ts": 1.00408, "pid": 1, "tid": 0, "dur": 0.000053, "cat": "update", "args": {"task": 13, "ready_us": 1.00408}},
>     {"name": "update fc1.b", "ph": "X", "ts": 1.00408, "pid": 1, "tid": 1, "dur": 0.000053, "cat": "update", "args": {"task": 14, "ready_us": 1.00408}},
>     {"name": "device 0", "ph": "C", "ts": 0, "pid": 3, "tid": 0, "args": {"bytes": 292}},
>     {"name": "device 0", "ph": "C", "ts": 0.000231, "pid": 3, "tid": 0, "args": {"bytes": 324}},
>     {"name": "device 0", "ph": "C", "ts": 0.000338, "pid": 3, "tid": 0, "args": {"bytes": 340}},
>     {"name": "device 0", "ph": "C", "ts": 0.000467, "pid": 3, "tid": 0, "args": {"bytes": 404}},
>     {"name": "device 0", "ph": "C", "ts": 0.000667, "pid": 3, "tid": 0, "args": {"bytes": 292}},
>     {"name": "device 0", "ph": "C", "ts": 0.000969, "pid": 3, "tid": 0, "args": {"bytes": 164}},
>     {"name": "device 1", "ph": "C", "ts": 0, "pid": 3, "tid": 1, "args": {"bytes": 292}},
>     {"name": "device 1", "ph": "C", "ts": 0.000231, "pid": 3, "tid": 1, "args": {"bytes": 324}},
>     {"name": "device 1", "ph": "C", "ts": 0.000338, "pid": 3, "tid": 1, "args": {"bytes": 340}},
>     {"name": "device 1", "ph": "C", "ts": 0.000467, "pid": 3, "tid": 1, "args": {"bytes": 404}},
>     {"name": "device 1", "ph": "C", "ts": 0.000667, "pid": 3, "tid": 1, "args": {"bytes": 292}},
>     {"name": "device 1", "ph": "C", "ts": 0.000969, "pid": 3, "tid": 1, "args": {"bytes": 164}},
>     {"name": "thread_name", "ph": "M", "ts": 0, "pid": 1, "tid": 0, "args": {"name": "device 0"}},
>     {"name": "thread_sort_index", "ph": "M", "ts": 0, "pid": 1, "tid": 0, "args": {"sort_index": 0}},
>     {"name": "thread_name", "ph": "M", "ts": 0, "pid": 3, "tid": 0, "args": {"name": "device 0"}},
>     {"name": "thread_sort_index", "ph": "M", "ts": 0, "pid": 3, "tid": 0, "args": {"sort_index": 0}},
>     {"name": "thread_name", "ph": "M", "ts": 0, "pid": 1, "tid": 1, "args": {"name": "device 1"}},
>     {"name": "thread_sort_index", "ph": "M", "ts": 0, "pid": 1, "tid": 1, "args": {"sort_index": 1}},
>     {"name": "thread_name", "ph": "M", "ts": 0, "pid": 3, "tid": 1, "args": {"name": "device 1"}},
>     {"name": "thread_sort_index", "ph": "M", "ts": 0, "pid": 3, "tid": 1, "args": {"sort_index": 1}},
>     {"name": "thread_name", "ph": "M", "ts": 0, "pid": 2, "tid": 0, "args": {"name": "0 -> 1"}},
>     {"name": "thread_sort_index", "ph": "M", "ts": 0, "pid": 2, "tid": 0, "args": {"sort_index": 0}},
>     {"name": "thread_name", "ph": "M", "ts": 0, "pid": 2, "tid": 1, "args": {"name": "1 -> 0"}},
>     {"name": "thread_sort_index", "ph": "M", "ts": 0, "pid": 2, "tid": 1, "args": {"sort_index": 1}}
>   ]
> }

One measured step gives the devices' efficiency, and a profile with it the measured time.
$ hypar simulate examples/plans/data-parallel.json --measured 100ms -o $TMP/profile.json
> A step takes 100 ms, as measured, where dense kernels on v100 reach 0.001131 of the peak.
$ hypar simulate examples/plans/data-parallel.json --profile $TMP/profile.json | head -n 1
> resnet18:image=32,classes=10, batch 64, fp32, on 8 devices: a step takes 100 ms
$ hypar simulate examples/plans/data-parallel.json --measured 100ms --json
> {
>   "measured_s": 0.1,
>   "efficiency": 0.0011311236008025394,
>   "devices": ["v100"]
> }
$ hypar simulate examples/plans/data-parallel.json --measured 1ns
> hypar: examples/plans/data-parallel.json: no efficiency makes a step of 1 ns: it takes 1.88 ms at 100 %, 1.12 s at 0.01 % (libraries compute convolutions with fewer multiplications than are counted here)
? 1

A profile says how much of the step it tells; one that tells nothing does not go unnoticed.
$ hypar plan lenet5 --on full:2 --planner dp -q -o $TMP/lenet5.json
$ printf '{"format": "hypar-profile/1", "passes": [{"device": "v100", "precision": "fp32", "kind": "linear", "pass": 0, "extents": {"n": 16, "k": 120, "c": 400}, "seconds": 1e-4}]}' > $TMP/one.json
$ sed s/v100/k80/ $TMP/one.json > $TMP/other.json
$ hypar simulate $TMP/lenet5.json --profile $TMP/one.json | grep Profile
> Profile   of 34 passes 1 measured (92.2 % of computing), 33 by the roofline (7.8 %)
$ hypar simulate $TMP/lenet5.json --profile $TMP/other.json | grep Profile
> hypar: note: $TMP/other.json: knows none of the 34 passes of
>        this step, nor its devices' efficiency; no measured time was used
> Profile   all 34 passes by the roofline
$ hypar simulate $TMP/lenet5.json --profile $TMP/other.json --json -q | grep profile
>   "profile": {"passes": 34, "measured_passes": 0, "measured_share": 0, "calibrated": false},
$ hypar simulate $TMP/lenet5.json --profile $TMP/one.json --fits > /dev/null
> hypar: note: $TMP/one.json: not used, as --fits looks at no
>        times
$ hypar simulate examples/plans/data-parallel.json --profile $TMP/profile.json | grep Profile
> Profile   all 248 passes at the calibrated efficiency
$ hypar plan lenet5 --on full:2 --planner dp --profile $TMP/one.json | grep -A 1 Profile
> Profile: of 34 passes 1 measured (92.2 % of computing), 33 by the roofline
> (7.8 %).
$ hypar plan lenet5 --on full:2 --planner dp --profile $TMP/other.json -q -o /dev/null
$ hypar plan lenet5 --on full:2 --planner dp --profile $TMP/other.json -o /dev/null | grep Profile
> hypar: note: $TMP/other.json: knows none of the 34 passes of
>        this step, nor its devices' efficiency; no measured time was used
> Profile: all 34 passes by the roofline.
$ hypar plan $PWD/tests/data/pipedream/chain.txt --on full:4,bandwidth=1GB/s --planner pipedream --profile $TMP/one.json 2>&1 >/dev/null
> hypar: note: $TMP/one.json: not used, as the plan was not
>        simulated
$ hypar compare lenet5 --on full:2 --planner dp,mp --profile $TMP/one.json | grep Profile
> Profile: of its plan all 34 passes by the roofline.
$ hypar compare lenet5 --on full:2 --planner dp,mp --profile $TMP/other.json | grep Profile
> hypar: note: $TMP/other.json: knows none of the 34 passes of
>        this step, nor its devices' efficiency; no measured time was used
> Profile: of its plan all 34 passes by the roofline.

Delta simulation is full simulation.
$ hypar simulate examples/plans/one-weird-trick.json --check-delta 100 | head -n 1
> 100 changes of one operator, in full and by delta: no mismatch
$ hypar simulate examples/plans/one-weird-trick.json --check-delta 100 --seed 3 --expand-collectives --json | grep -e changes -e mismatches
>   "changes": 100,
>   "mismatches": 0,

A program written by hand, from a file or from a pipe.
$ printf '%s' '{"format": "hypar-program/1", "tasks": [{"id": 0, "on": 0, "name": "first", "seconds": 2}, {"id": 1, "on": "bus", "seconds": 1, "after": [0]}, {"id": 2, "on": 1, "seconds": 3, "after": [1]}]}' > $TMP/program.json
$ hypar simulate $TMP/program.json
> 3 tasks on 2 devices: 6 s
>
> task          ready  start  end
>    0  first     0 s    0 s  2 s
>    1  task 1    2 s    2 s  3 s
>    2  task 2    3 s    3 s  6 s
>
> device  computing        communicating  waiting  overlap
> 0             2 s  33 %            0 s      4 s      0 s  ######............
> 1             3 s  50 %            0 s      3 s      0 s  #########.........
> # computing   = communicating   . waiting
> Overlap: it communicates as it computes, counted as computing.
>
> busiest links  busy          bytes
> bus             1 s  16.7 %    0 B
>
> Sent      0 B, each byte once; 0 B on links
$ cat $TMP/program.json | hypar simulate - --json
> {
>   "step_s": 6,
>   "comm_bytes": 0,
>   "link_bytes": 0,
>   "tasks": 3,
>   "compute_tasks": 2,
>   "comm_tasks": 1,
>   "update_tasks": 0,
>   "devices": [
>     {"busy_s": 2, "comm_s": 0, "waiting_s": 4},
>     {"busy_s": 3, "comm_s": 0, "waiting_s": 3}
>   ],
>   "links": [
>     {"name": "bus", "busy_s": 1, "bytes": 0}
>   ],
>   "timeline": [
>     {"id": 0, "name": "first", "ready_s": 0, "start_s": 0, "end_s": 2},
>     {"id": 1, "name": "task 1", "ready_s": 2, "start_s": 2, "end_s": 3},
>     {"id": 2, "name": "task 2", "ready_s": 3, "start_s": 3, "end_s": 6}
>   ]
> }

PipeDream's schedule: start-up and steady state.
$ hypar simulate examples/plans/pipedream.json | sed -n 1,11p
> mlp:784-1024-1024-10, batch 128, fp32, on 4 devices: a step takes 115 us
> 1.11 M samples/s, 19.8 % of peak (model FLOPs), 1,050 tasks
> Run as compiled on v100, the default device
> Not calibrated, no such step was measured: expect 71.9 us to 184 us.
>
> A step is a minibatch in steady state: 8.69 k/s. 45 minibatches in 5.18 ms, of
> which start-up 408 us: each replica of the first stage admits 2 (NOAM) before it
> goes on to the next.
>
> stage  replicas  computing  bubble  in flight  versions   memory
>     0         3    62.2 us   0.0 %          2         2  26.2 MB
$ hypar simulate examples/plans/pipedream.json --json | grep -A 12 '"pipeline"'
>   "pipeline": {
>     "minibatches": 45,
>     "noam": 2,
>     "startup_s": 0.000407902238,
>     "window_s": 0.005177931975,
>     "steady": true,
>     "minibatches_per_s": 8690.728309539061,
>     "stages": [
>       {"replicas": 3, "in_flight": 2, "versions": 2, "busy_s": 6.222031633333333e-05, "bubble": 0, "peak_memory_bytes": 26189824},
>       {"replicas": 1, "in_flight": 1, "versions": 1, "busy_s": 2.070986e-06, "bubble": 0.8569510262830365, "peak_memory_bytes": 1135700}
>     ]
>   },
>   "devices": [
$ hypar simulate examples/plans/pipedream.json --no-overlap --half-duplex | head -1
> mlp:784-1024-1024-10, batch 128, fp32, on 4 devices: a step takes 234 us
$ hypar simulate examples/plans/pipedream.json --minibatches 3 | sed -n 6,7p
> A step is a minibatch on average, not yet steady: 7.6 k/s. 3 minibatches in
> 395 us, of which start-up 395 us: each replica of the first stage admits 2
$ hypar simulate examples/programs/flexflow-fig4.json --half-duplex
> hypar: simulate: --half-duplex needs a plan; 'examples/programs/flexflow-fig4.json' is a program
? 2

A plan keeps how its step was simulated, and is simulated so: the same step as when it was found.
$ hypar plan resnet18 --on cluster:2x2 --planner optcnn --all-reduce hierarchical-server --no-overlap --bucket 25MB -o $TMP/p.json --json | grep -m 1 step_s && hypar simulate $TMP/p.json --json | grep -E 'step_s|simulation'
>     "step_s": 0.016920261999,
>   "step_s": 0.016920261999,
>   "simulation": {"all_reduce": "hierarchical-server"},
$ hypar simulate $TMP/p.json | head -n 4; grep simulation $TMP/p.json
> resnet18, batch 32, fp32, on 4 devices: a step takes 16.9 ms
> 1.89 k samples/s, 32.8 % of peak (model FLOPs), 849 tasks
> Run as compiled,overlap=none,bucket_bytes=25000000 on v100, the default device
> Not calibrated, no such step was measured: expect 7.49 ms to 27.1 ms.
>   "simulation": {"all_reduce": "hierarchical-server"},
$ hypar lower $TMP/p.json -q -o - | grep -c bucket
> 53
Options are added to it, or stand in its place; a plan that is improved keeps it.
$ hypar simulate $TMP/p.json --all-reduce auto --half-duplex | head -n 5
> resnet18, batch 32, fp32, on 4 devices: a step takes 17.4 ms
> 1.84 k samples/s, 31.9 % of peak (model FLOPs), 849 tasks
> Run as compiled,overlap=none,bucket_bytes=25000000 on v100, the default device
> Not calibrated, no such step was measured: expect 7.77 ms to 27.8 ms.
> planned: --as compiled,overlap=none,bucket_bytes=25000000 --all-reduce
$ hypar plan --start $TMP/p.json --proposals 4 --local-bn -q -o - | grep simulation
>   "simulation": {"all_reduce": "hierarchical-server", "local_bn": true},
Without it, as by default; and one that asks for what there is not.
$ sed -i '/"simulation"/d' $TMP/p.json && hypar simulate $TMP/p.json | head -n 4
> resnet18, batch 32, fp32, on 4 devices: a step takes 15.2 ms
> 2.1 k samples/s, 36.4 % of peak (model FLOPs), 849 tasks
> Run as compiled,overlap=none,bucket_bytes=25000000 on v100, the default device
> Not calibrated, no such step was measured: expect 6.44 ms to 24.4 ms.
$ sed 's/\("schedule".*\)$/\1 "simulation": {"all_reduce": "rign"},/' $TMP/p.json | hypar check -
> hypar: standard input: simulation.all_reduce: unknown all-reduce 'rign', did you mean ring?
? 3
$ hypar plan lenet5 --on full:4 --planner dp --all-reduce auto -q -o - | grep -c simulation
> 0
? 1

The picture of a pipeline of minibatches tells the window that its axis shows.
The legend stands above the rows, of which there may be many.
$ hypar simulate examples/plans/pipedream.json --minibatches 10 -q --svg $TMP/window.svg; sed -n 's/.* y="\([0-9]*\)".*>\(critical path\|time\|device 0[^<]*\)<.*/\2 at \1/p' $TMP/window.svg
> time at 84
> device 0: stage 0, 1 of 3 replicas at 102
> critical path at 66
$ grep -o '>[^<]*: a window of [^<]*' $TMP/window.svg
> >mlp:784-1024-1024-10 on 4 devices: a window of 12 minibatches, 1.38 ms

One bar for many tasks has the colours of all of them: in a picture 850 wide, with bars 10 high, device 0 has 80 % of the area, as it has of the time.
$ hypar plan vgg16 --on cluster:4x4,intra=10GB/s,inter=1.25GB/s --planner pipedream -q -o $TMP/long.json; hypar simulate $TMP/long.json --svg $TMP/long.svg | grep '^0  .*%'; grep -o 'one bar stands for[^<]*' $TMP/long.svg; awk -F'"' '/<rect/ && $4 >= 92 && $4 < 105 { area[$10] += $6 * $8; sum += $6 * $8 } END { for (c in area) printf "%s %.1f %%\n", c, area[c] / 85; printf "in all %.1f %%\n", sum / 85 }' $TMP/long.svg | sort; grep -o 'backward [0-9]* %: [^<]*' $TMP/long.svg | head -n 1
> 0         29.6 ms  80 %         338 us  7.14 ms   5.5 ms  ##############=...
> one bar stands for bars that lie close together; the height of a colour is its share of the bar's time
> #43b08a 0.0 %
> #6aa9e0 26.8 %
> #c678ad 26.2 %
> #eda04a 27.3 %
> in all 80.3 %
> backward 47 %: conv4_3+relu4_3+pool4 forward and 3 more

Quietly, a file that is asked for is all there is.
$ hypar plan lenet5 --on full:2 --planner dp -q -o $TMP/quiet.json; hypar simulate $TMP/quiet.json -q --svg $TMP/quiet.svg; head -c 5 $TMP/quiet.svg; echo
> <svg

Memory is counted for the framework that the command names, with --fits too, and in comparisons.
$ for f in compiled eager; do hypar plan tests/cli/gpt2-torch.json --on full:2,device=h100 --planner dp --precision bf16 --as $f -q -o $TMP/$f.json; done; for o in "compiled.json" "compiled.json --as eager" "eager.json"; do for fits in "" --fits; do hypar simulate $TMP/$o $fits --json | grep -m1 -o '"peak_memory_bytes": [0-9]*'; done; hypar explain $TMP/$o --json | grep -m1 -o '"peak_memory_bytes": [0-9]*'; done; hypar compare $TMP/eager.json $TMP/compiled.json | grep -e '->'; hypar lower $TMP/compiled.json -q -o $TMP/lowered.json; hypar simulate $TMP/lowered.json --as eager --json | grep -m1 -o '"peak_memory_bytes": [0-9]*'
> "peak_memory_bytes": 1720085620
> "peak_memory_bytes": 1720085620
> "peak_memory_bytes": 1720085620
> "peak_memory_bytes": 1720112045
> "peak_memory_bytes": 1720112045
> "peak_memory_bytes": 1720112045
> "peak_memory_bytes": 1720062990
> "peak_memory_bytes": 1720062990
> "peak_memory_bytes": 1720062990
> simulated: --as eager -> by default  321 us*   -91 %  1.72 GB
> "peak_memory_bytes": 1720062990

A script of PyTorch's DistributedDataParallel copies gradients into buckets, which are there beside the gradients.
$ for as in eager ddp; do hypar plan mlp:4096-4096-10 --batch 16 --on full:2,device=h200 --planner dp --as $as -qo $TMP/$as.json; hypar simulate $TMP/$as.json --json | jq -c '[.comm_bytes, .peak_memory_bytes]'; done
> [134578264,1380007931]
> [134578264,1449988624]

Python source in place of a plan or a model has the command that makes a graph of it.
$ printf 'import torch\n' >$TMP/nets.py; cd $TMP; hypar simulate nets.py
> hypar: nets.py: Python source, expected a graph or a plan; 'python -m hypar.torch nets:FUNCTION -o FILE.json' writes the graph of a model
? 3
$ cd $TMP; for m in nets.py ./nets.py; do hypar plan $m --on full:2; done
> hypar: nets.py: Python source, expected a graph or a plan; 'python -m hypar.torch nets:FUNCTION -o FILE.json' writes the graph of a model
> hypar: ./nets.py: Python source, expected a graph or a plan; 'python -m hypar.torch nets:FUNCTION -o FILE.json' writes the graph of a model
? 3

Operators that a model writes out are several kernels, where a framework runs operator by operator.
$ jq '(.ops[] | select(.kind == "gelu_tanh") | .attrs) += {"forward_steps": 8, "backward_steps": 11}' tests/cli/gpt2-torch.json >$TMP/steps.json; grep -c backward_steps $TMP/steps.json
> 2
$ for m in tests/cli/gpt2-torch.json $TMP/steps.json; do for as in eager compiled; do hypar plan $m --on full:1,device=h200 --planner dp --as $as -qo $TMP/p.json; hypar simulate $TMP/p.json --json | jq -c '[.kernels, (.launch_s * 1e6 | round)]'; done; done
> [88,2288]
> [80,80]
> [122,3172]
> [80,80]

A framework that cannot shard what a plan shards is told.
$ hypar plan mlp:8-8-4 --on full:2 --planner 3d --data 2 --shard gradients --batch 4 -qo $TMP/sharded.json; for as in ddp fsdp ddp,replicates=no; do hypar simulate $TMP/sharded.json --as $as -o $TMP/out; hypar check $TMP/sharded.json --as $as 2>&1 >$TMP/out; hypar explain $TMP/sharded.json --as $as 2>&1 >$TMP/out; done
> hypar: note: the plan shards gradients and the optimizer's state, which ddp
>        cannot: each of its replicas has all of them
> hypar: note: the plan shards gradients and the optimizer's state, which ddp
>        cannot: each of its replicas has all of them
> hypar: note: the plan shards gradients and the optimizer's state, which ddp
>        cannot: each of its replicas has all of them
