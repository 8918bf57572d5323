Planners in one table. How long the search takes, the last column, differs from run to run.
$ hypar compare lenet-c --on htree:16 --planner dp,mp,owt,hypar,accpar | sed 's/  *[0-9.]* [mun]*s\*\{0,1\}$//; s/  *search$//'
> lenet-c, batch 256, on 16 devices
>
> planner     step   over dp      sent    memory    energy
> dp       17.1 ms    1.00 x   51.7 MB   5.15 MB    116 mJ
> mp        172 ms    0.10 x    355 MB   27.6 MB    597 mJ
> owt      16.3 ms    1.05 x   37.3 MB   3.47 MB   93.4 mJ
> hypar    12.3 ms*   1.39 x*  18.7 MB   2.36 MB   81.6 mJ
> accpar   18.4 ms    0.93 x   14.6 MB*  2.32 MB*  78.1 mJ*
>
> The fastest is hypar: 12.3 ms a step, 20.8 k samples/s, 21.3 % of peak.
$ hypar compare lenet-c --on htree:16 --planner dp,hypar --batch 64 --precision bf16 --optimizer adam --json | sed 's/"seconds": [^,]*/"seconds": 0/'
> [
>   {
>     "planner": "dp",
>     "predicted": {"model": "simulated", "step_s": 0.008292757306, "speedup_over_dp": 1, "samples_per_s": 7717.577837915808, "mfu": 0.07900181242116494, "comm_bytes": 25830120, "link_bytes": 96862950, "energy_j": 0.05918127990560001, "peak_memory_bytes": 7101632, "fits": true},
>     "search": {"seconds": 0, "evaluated": 12, "lower_bound_s": null}
>   },
>   {
>     "planner": "hypar",
>     "predicted": {"model": "simulated", "step_s": 0.002887590707, "speedup_over_dp": 2.87186036646294, "samples_per_s": 22163.805917803158, "mfu": 0.22688217397108323, "comm_bytes": 5117424, "link_bytes": 19009006.666666597, "energy_j": 0.015802547254399987, "peak_memory_bytes": 927584, "fits": true},
>     "search": {"seconds": 0, "evaluated": 48, "lower_bound_s": null}
>   }
> ]
$ hypar compare lenet-c --on htree:16 --planner hypar,mp --csv - | cut -d , -f 1-6,8-
> planner,step_s,speedup_over_dp,comm_bytes,peak_memory_bytes,energy_j,fits,why_not
> hypar,0.012311319068,1.39301790809537,18729512,2362480,0.08163202408831957,1,
> mp,0.172450653885,0.09944808875840234,355123200,27571456,0.5971601180048001,1,

Planners without a plan that fits say why.
$ hypar compare vgg-a --on htree:16 --planner dp,hypar --memory 600MB --csv - | cut -d , -f 1-6,8-
> hypar: no planner has a plan for vgg-a that fits this machine
> planner,step_s,speedup_over_dp,comm_bytes,peak_memory_bytes,energy_j,fits,why_not
> dp,,,,,,,"weights, gradients and sgd state need 1.06 GB on device 0, which has 600 MB"
> hypar,8.802727504811,0.9860395576258795,1562503680,732009984,130.33545205966834,0,
$ hypar compare vgg-a --on htree:16 --planner dp --memory 1MB --json | sed 's/"seconds": [^,]*/"seconds": 0/'
> hypar: no planner has a plan for vgg-a that fits this machine
> [
>   {
>     "planner": "dp",
>     "predicted": null,
>     "error": "weights, gradients and sgd state need 1.06 GB on device 0, which has 1 MB",
>     "search": {"seconds": 0, "evaluated": 0, "lower_bound_s": null}
>   }
> ]

A random search can be told how much to try.
$ hypar compare sfc --on full:4 --planner dp,flexflow --proposals 8 --json | grep -o '"evaluated": 8'
> "evaluated": 8

All that there are, but auto, which is one of them, and the yardstick.
$ hypar compare sfc --on full:2 --csv - | sed 1d | cut -d , -f 1 | sort > $TMP/compared
$ hypar planners --json | sed -n 's/.*"name": "\([a-z0-9]*\)".*/\1/p' | grep -v -e auto -e exhaustive | sort | diff - $TMP/compared

Where devices differ the fullest is the one that needs the largest share of what it has, in the columns of plan as here.
$ hypar plan alexnet --on cluster:1x2,device=h100+cluster:1x2,device=k80 --planner hypar | grep -E '^(level|state|memory)'
> level   ways    hypar       dp       mp      owt
> state          238 MB   489 MB    15 MB   240 MB
> memory         291 MB   527 MB  84.1 MB   286 MB
$ hypar compare alexnet --on cluster:1x2,device=h100+cluster:1x2,device=k80 --planner hypar,dp,mp,owt --csv - | cut -d, -f1,5
> planner,peak_memory_bytes
> hypar,290691840
> dp,526555456
> mp,84124192
> owt,286074328
$ hypar compare alexnet --on cluster:1x2,device=h100+cluster:1x2,device=k80 --planner hypar,dp,mp,owt --memory 500MB --csv - | cut -d, -f1,5,8
> planner,peak_memory_bytes,fits
> hypar,290691840,1
> dp,534832960,0
> mp,315851808,1
> owt,286074328,1
