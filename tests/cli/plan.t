The map of HyPar's Figure 5, and the bytes beside the simple planners. (The last line tells how long
the search took.)
$ hypar plan lenet-c --on htree:16 --planner hypar | sed '$d'
> lenet-c, batch 256, on 16 devices: planner hypar
>
>      conv1 conv2 fc1   fc2
> H1   dp    dp    mp    mp
> H2   dp    dp    dp    dp
> H3   dp    dp    mp    mp
> H4   dp    dp    mp    dp
>
> level  ways    hypar       dp       mp      owt
> H1        2  2.58 MB  3.44 MB  12.9 MB  2.58 MB
> H2        2  3.65 MB  6.89 MB  21.4 MB  3.83 MB
> H3        2  4.24 MB  13.8 MB  38.6 MB  6.33 MB
> H4        2  7.14 MB  27.6 MB  72.9 MB  11.3 MB
> all          17.6 MB  51.7 MB   146 MB  24.1 MB
> exact        18.7 MB  51.7 MB   355 MB  37.3 MB
> state         614 kB  3.44 MB   227 kB   413 kB
> step         8.13 ms  18.8 ms  54.4 ms  10.2 ms
>
> Levels as the paper counts them: fp32, both directions, every group. Exact: what the plan's
> program sends, each byte once (hypar lower).
> Predicted step 8.13 ms (compute 2.63 ms, exchange 5.5 ms; no overlap), 31.5 k samples/s, 32.2 %
> of peak, 49.7 mJ; weights, gradients and optimizer state 614 kB on the fullest device.

$ hypar plan lenet-c --on htree:16 --planner accpar --joint | sed '$d'
> lenet-c, batch 256, on 16 devices: planner accpar
>
>      conv1 conv2 fc1   fc2
> H1   dp    dp    dp    dp
> H2   dp    dp    mp    dp
> H3   dp    dp    mp    mp
> H4   dp    dp    III   mp
>
> level  ways   accpar       dp       mp      owt
> H1        2  3.44 MB  3.44 MB  12.9 MB  2.58 MB
> H2        2  2.84 MB  6.89 MB  21.4 MB  3.83 MB
> H3        2  4.22 MB  13.8 MB  38.6 MB  6.33 MB
> H4        2  4.13 MB  27.6 MB  72.9 MB  11.3 MB
> all          14.6 MB  51.7 MB   146 MB  24.1 MB
> exact        14.4 MB  51.7 MB   355 MB  37.3 MB
> state         614 kB  3.44 MB   227 kB   413 kB
> step         7.21 ms  18.8 ms  54.4 ms  10.2 ms
>
> Levels as the paper counts them: fp32, both directions, every group. Exact: what the plan's
> program sends, each byte once (hypar lower).
> Predicted step 7.21 ms (compute 2.63 ms, exchange 4.57 ms; no overlap), 35.5 k samples/s, 36.4 %
> of peak, 48 mJ; weights, gradients and optimizer state 614 kB on the fullest device.

Any number of devices, any graph.
$ hypar plan resnet18 --on full:6 --planner hypar | sed '$d'
> resnet18, batch 32, on 6 devices: planner hypar
>
>      layers 1 to 21: conv1 .. fc
> H1   ................#.###
> H2   ...............##.###
>
>      . dp (I)   # mp (II)   o III
>
> level  ways    hypar       dp       mp      owt
> H1        2  68.3 MB  93.5 MB   748 MB  89.7 MB
> H2        3   223 MB   374 MB  2.46 GB   359 MB
> all           291 MB   468 MB  3.21 GB   448 MB
> exact         309 MB   468 MB  4.08 GB   448 MB
> state        36.7 MB  93.5 MB  15.8 MB  90.1 MB
> step         9.13 ms  9.86 ms  18.2 ms  9.81 ms
>
> Levels as the paper counts them: fp32, both directions, every group. Exact: what the plan's
> program sends, each byte once (hypar lower).
> Predicted step 9.13 ms (compute 8.18 ms, exchange 947 us; no overlap), 3.51 k samples/s, 40.5 %
> of peak, 3.51 J; weights, gradients and optimizer state 36.7 MB on the fullest device.

A plan is written, and checked when it is read back.
$ cd "${TMPDIR:-/tmp}" && hypar plan sfc --on htree:4 -q -o hypar-test-plan.json && hypar check hypar-test-plan.json && rm hypar-test-plan.json
> ok: sfc, batch 256: 8 operators in 32 parts on a machine of 4 devices

Bad requests.
$ hypar plan sfc --on htree:4 --planner best
> hypar: unknown planner 'best', expected one of auto, dp, mp, owt, hypar, accpar, 1f1b, gpipe, pipedream
? 2
$ hypar plan sfc --on htree:0
> hypar: machine 'htree:0': size 0, expected 1..1048576
? 3
$ hypar plan sfc
> hypar: plan: missing --on MACHINE; see 'hypar plan --help'
? 2
$ hypar plan sfc --on htree:64 --planner dp --batch 32
> hypar: dp splits the batch of 32 over 64 devices, expected a batch of at least 64
? 1
$ hypar plan gpt3-175b --on cluster:2x8 --planner hypar --optimizer adam
> hypar: hypar: weights, gradients and adam state need 184 GB on device 0, which has 16 GB
? 1
$ hypar plan sfc --on htree:4 --objective beauty
> hypar: --objective: 'beauty' is not time, comm or energy
? 2
$ hypar plan sfc --on htree:4 --memory 3cm
> hypar: --memory: '3cm' is not a size such as 80GB or 80GiB
? 2

$ hypar planners
> planner                                               after
> auto       the best of the others by predicted time,
>            within memory
> dp         data parallel: every operator by samples   the baseline of all four papers
> mp         model parallel: every weighted layer by    HyPar, HPCA 2019
>            its input features
> owt        one weird trick: convolutions by samples,  Krizhevsky, arXiv:1404.5997
>            other layers by features
> hypar      least exchange, each layer dp or mp at     Song et al., HPCA 2019, Algorithms 1 and 2
>            each level of the machine
> accpar     least exchange with three types of         Song et al., HPCA 2020
>            partition, unequal shares where devices
>            differ
> 1f1b       equal stages, one micro-batch forward,     Narayanan et al., ICML 2021
>            one backward in turn, less memory
> gpipe      equal stages, micro-batches all forward,   Huang et al., NeurIPS 2019
>            then all backward
> pipedream  replicated stages of a pipeline,           PipeDream, SOSP 2019
>            minibatches in turn, delayed updates
