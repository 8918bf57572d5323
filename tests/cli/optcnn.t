OptCNN: how each layer is divided, what its cost is made of, and that it is the optimum. (The last line
tells how long the search took.)
$ hypar plan vgg16 --on cluster:1x4,device=p100 --batch 128 --planner optcnn | sed '$s/in .*;/in a moment;/'
> vgg16, batch 128, on 4 devices: planner optcnn
>
> operators                      kind           split  devices
> conv1_1 .. flatten       (32)                 n=4    0-3
> fc1                            linear         k=4    0-3
> fc1.relu .. fc1.dropout  (2)                  c=4    0-3
> fc2                            linear         k=4    0-3
> fc2.relu .. fc2.dropout  (2)                  c=4    0-3
> fc3                            linear         k=4    0-3
> loss                           cross_entropy  c=4    0-3
>
> t_C 577 ms + t_X 340 us + t_S 1.25 ms (all-reduce); 102 MB moved between layers,
> 353 MB for parameters. 16 layers with 213 configurations by nkhw, 15 edges in 34
> tables; 16 node, 0 edge and 0 general eliminations.
> Run as compiled on p100
> Predicted step 578 ms, simulated (the busiest device computes 578 ms of it), 221
> samples/s, 48.5 % of peak, 119 J by counted operations; 455 MB sent, 915 MB on
> links; 2.36 GB of 16 GB of memory on the fullest device.
> Not calibrated, no such step was measured: expect 172 ms to 925 ms.
> In closed form 579 ms: compute 577 ms, exchange 1.59 ms, no overlap.
> Lower bound 572 ms (mostly arithmetic): no plan is faster by this model of the
> device; gap 1.0 %.
> Searched in a moment; the optimum of its cost model.
$ hypar plan alexnet --on cluster:2x2,device=p100 --batch 128 --planner optcnn --sync server | grep -v Searched
> alexnet, batch 128, on 4 devices: planner optcnn
>
> operators                     kind           split    devices
> conv1 .. pool2           (6)                 n=4      0-3
> conv3                         conv           n=2 k=2  0-3
> relu3                         relu           n=2 c=2  0-3
> conv4                         conv           n=2 k=2  0-3
> relu4                         relu           n=2 c=2  0-3
> conv5                         conv           n=2 k=2  0-3
> relu5 .. fc1.dropout     (4)                 n=2 c=2  0-3
> fc1                           linear         k=4      0-3
> fc1.relu .. fc2.dropout  (2)                 c=4      0-3
> fc2                           linear         k=4      0-3
> fc2.relu                      relu           c=4      0-3
> fc3                           linear         k=4      0-3
> loss                          cross_entropy  c=4      0-3
>
> t_C 25.8 ms + t_X 1.97 ms + t_S 1.02 ms (server); 197 MB moved between layers,
> 25 MB for parameters. 8 layers with 93 configurations by nkhw, 7 edges in 21
> tables; 8 node, 0 edge and 0 general eliminations.
> Run as compiled on p100
> Predicted step 26.7 ms, simulated (the busiest device computes 26 ms of it),
> 4.79 k samples/s, 48.5 % of peak, 5.41 J by counted operations; 223 MB sent,
> 520 MB on links; 250 MB of 16 GB of memory on the fullest device.
> Not calibrated, no such step was measured: expect 9.63 ms to 42.7 ms.
> In closed form 28.8 ms: compute 25.8 ms, exchange 2.99 ms, no overlap.
> Lower bound 25.7 ms (mostly arithmetic): no plan is faster by this model of the
> device; gap 3.7 %.
$ hypar plan bert:layers=2 --on full:4 --planner optcnn --axes nktc | grep 't_C'
> t_C 52.7 ms + t_X 260 us + t_S 1.82 ms (all-reduce); 76.1 MB moved between

Its plan is an ordinary one.
$ hypar plan lenet5 --on full:3 --planner optcnn -q -o $TMP/plan.json && hypar check $TMP/plan.json && hypar simulate $TMP/plan.json | head -1
> ok: lenet5, batch 32: 13 operators in 27 parts on a machine of 3 devices
> Run as compiled on v100, the default device
> memory: 1.18 MB of 16 GB on the fullest device
> lenet5, batch 32, fp32, on 3 devices: a step takes 17 us
$ hypar plan lenet5 --on full:4 --planner optcnn --json | sed -n '/"search"/,/^  }/p; /"optcnn": {/,/^  }/p' | sed -E 's/"(seconds|processor_s)": [^,]*/"\1": 0/'
>   "search": {
>     "seconds": 0,
>     "processor_s": 0,
>     "evaluated": 528,
>     "lower_bound_s": 1.5209378004246285e-05,
>     "lower_bound_elements": null,
>     "lower_bound": {"step_s": 3.790157298718599e-06, "by": "mostly memory traffic", "work_s": 3.791161089879689e-06, "arithmetic_s": 2.307179617834395e-06, "traffic_s": 2.4548933333333336e-06, "way_s": 0},
>     "gap": 3.987568987279519,
>     "exact": true
>   },
>   "optcnn": {
>     "t_c_s": 6.171298004246285e-06,
>     "t_x_s": 9.03808e-06,
>     "t_s_s": 0,
>     "transfer_bytes": 979968,
>     "sync_bytes": 0,
>     "sync": "all-reduce",
>     "axes": "nkhw",
>     "layers": 5,
>     "edges": 4,
>     "configurations": 48,
>     "tables": 12,
>     "node_eliminations": 5,
>     "edge_eliminations": 0,
>     "general_eliminations": 0,
>     "width": 1,
>     "method": "elimination",
>     "thinned": false
>   },

Memory: a plan that fits is looked for; where there is none, what would be needed is said.
$ hypar plan vgg16 --on full:4 --planner optcnn --memory 300MB | grep -o 'within.*model'
> hypar: the plan does not fit: device 0 needs 924 MB of memory, has 300 MB allowed by --memory; fits with --planner hybrid (298 MB of 300 MB)
> within 0.062 % of the optimum of its cost model
$ hypar plan vgg16 --on full:4 --planner optcnn --memory 100MB
> hypar: optcnn: weights, gradients and sgd state need 277 MB on device 0, which has 100 MB allowed by --memory; no recomputation, micro-batches, sharding or stages fit: weights, gradients and sgd state alone fill 12 such devices
? 1

Many devices: fewer configurations are weighed, and it is said.
$ hypar plan resnet18 --on htree:1024 --batch 4096 --planner optcnn | grep -o '; the best.*'
> ; the best of the configurations weighed, not of all.

Bad requests.
$ hypar plan lenet5 --on full:4 --planner optcnn --axes nkq
> hypar: axes 'nkq', expected letters of nkhwtc
? 2
$ hypar plan lenet5 --on full:4 --planner optcnn --sync gossip
> hypar: --sync: 'gossip' is not all-reduce or server
? 2
$ hypar plan lenet5 --on torus:32x32 --planner optcnn
> hypar: optcnn: 1024 devices as torus, expected at most 128
? 3
$ hypar plan lenet5 --on full:4 --planner optcnn --profile /nonexistent.json
> hypar: /nonexistent.json: cannot open: No such file or directory
? 3
