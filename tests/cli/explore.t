The paper's 256 points of lenet-c, with H2 and H3 as it prints them.
$ hypar explore lenet-c --on htree:16 --levels H1,H4 --fix H2=0010,H3=0000 --joint --mark 0011/0010/0000/0011
> lenet-c, batch 256: 256 choices of H1 x H4 on htree:16
>
> choice      paper step gain speedup exchange  energy better levels
> best           75.4 ms 2.81    1.07  17.6 MB 49.7 mJ      0 0011/0010/0000/0011
> hypar          75.4 ms 2.81    1.07  17.6 MB 49.7 mJ      0 0011/0010/0000/0011
> hypar joint    75.4 ms 2.81    1.07  17.6 MB 49.7 mJ      0 0011/0010/0000/0011
> dp              212 ms    1    0.38  51.7 MB 71.6 mJ    240 0000/0000/0000/0000
> marked         75.4 ms 2.81    1.07  17.6 MB 49.7 mJ      0 0011/0010/0000/0011
>
> On htree:16 none of 256 choices is better than that of hypar.
> Planners that choose do so with these levels fixed: H2=0010,H3=0000.
> Gain over data parallel, speedup over one device; better: how many choices are
> strictly better.
> Times by the paper's model (HyPar's array): exchange after computation, bytes
> one after another; latency and the memory's bandwidth do not count. Energy in
> closed form: a byte sent counts one link on every topology. --cost simulated
> counts all of that, and each link that a byte crosses.

And of vgg-a; what is not explored stays as the planner has it.
$ hypar explore vgg-a --on htree:16 --layers conv5_2,fc1 --planner hypar
> vgg-a, batch 256: 256 choices of conv5_2 x fc1 on htree:16
>
> choice  paper step  gain  speedup  exchange  energy  better
>     levels
> best        14.8 s   4.9      9.4   1.52 GB   119 J       0
>     00000000111/00000000111/00000000111/00000000111
> hypar       14.8 s   4.9      9.4   1.52 GB   119 J       0
>     00000000111/00000000111/00000000111/00000000111
>
> On htree:16 none of 256 choices is better than that of hypar.
> Gain over data parallel, speedup over one device; better: how many choices are
> strictly better.
> Times by the paper's model (HyPar's array): exchange after computation, bytes
> one after another; latency and the memory's bandwidth do not count. Energy in
> closed form: a byte sent counts one link on every topology. --cost simulated
> counts all of that, and each link that a byte crosses.

Array sizes and topologies.
$ hypar explore vgg-e --on htree:16 --devices 1..64 --planner hypar --cost paper
> vgg-e, batch 256: 7 machines like htree:16
>
> machine   choice  paper step   gain  speedup  exchange  energy
> htree:1   hypar        359 s      1        1       0 B   306 J
> htree:2   hypar        180 s   1.02     1.99    213 MB   306 J
> htree:4   hypar       92.2 s   1.12     3.89    605 MB   306 J
> htree:8   hypar       50.3 s   1.53     7.14   1.36 GB   307 J
> htree:16  hypar       33.7 s   2.71     10.6   2.82 GB   308 J
> htree:32  hypar       33.5 s*  4.59     10.7   5.57 GB   309 J
> htree:64  hypar       45.1 s   6.54     7.96   9.88 GB   312 J
>
> Gain over data parallel, speedup over one device; *: the least time of a step.
> Times by the paper's model (HyPar's array): exchange after computation, bytes
> one after another; latency and the memory's bandwidth do not count. Energy in
> closed form: a byte sent counts one link on every topology. --cost simulated
> counts all of that, and each link that a byte crosses.
> Levels of the choices: --json, --csv.
$ hypar explore lenet-c --on htree:16 --topology htree,torus --planner hypar,dp,owt --cost paper
> lenet-c, batch 256: 2 machines like htree:16
>
> machine   choice paper step  gain speedup exchange  energy levels
> htree:16  hypar     75.4 ms* 2.81    1.07  17.6 MB 49.7 mJ 0011/0000/0011/0010
> htree:16  dp         212 ms     1    0.38  51.7 MB 71.6 mJ 0000/0000/0000/0000
> htree:16  owt        101 ms  2.09   0.794  24.1 MB 53.3 mJ 0011/0011/0011/0011
> torus:4x4 hypar      103 ms  2.73   0.783  17.6 MB 49.7 mJ 0011/0000/0011/0010
> torus:4x4 dp         281 ms     1   0.287  51.7 MB 71.6 mJ 0000/0000/0000/0000
> torus:4x4 owt        137 ms  2.05   0.588  24.1 MB 53.3 mJ 0011/0011/0011/0011
>
> Gain over data parallel, speedup over one device; *: the least time of a step.
> Times by the paper's model (HyPar's array): exchange after computation, bytes
> one after another; latency and the memory's bandwidth do not count. Energy in
> closed form: a byte sent counts one link on every topology. --cost simulated
> counts all of that, and each link that a byte crosses.

Bandwidths, on other devices: in the paper's model, time by levels.
$ hypar explore resnet18 --on full:8 --bandwidth 1GB/s,100GB/s --batch 64 --planner accpar --cost paper
> resnet18, batch 64: 2 machines like full:8
>
> bandwidth  choice  paper step   gain  speedup  exchange  energy
>     1GB/s  accpar     45.4 ms    1.6     1.97    398 MB     7 J
>   100GB/s  accpar     11.6 ms*  1.02     7.71    398 MB     7 J
>
> Gain over data parallel, speedup over one device; *: the least time of a step.
> Times by the paper's model (the machine's levels): exchange after computation,
> levels one after another; the memory's bandwidth counts only on devices whose
> kernels were measured. Energy in closed form: a byte sent counts one link on
> every topology. --cost simulated counts all of that, and each link that a byte
> crosses.
> Levels of the choices: --json, --csv.

By the simulator: what 'hypar plan' tells of the same plan.
$ hypar explore lenet-c --on htree:16 --levels H1 --cost simulated
> lenet-c, batch 256: 16 choices of H1 on htree:16
>
> choice     step  gain  speedup  exchange   energy  better  levels
> best    7.08 ms  2.42     5.73   18.8 MB  83.1 mJ       0  0000/0000/0011/0010
> hypar   8.51 ms  2.01     4.77   18.7 MB  81.6 mJ       1  0011/0000/0011/0010
> dp      17.1 ms     1     2.37   51.7 MB   116 mJ       8  0000/0000/0000/0000
>
> On htree:16 1 of 16 choices is better than that of hypar, the best by 20 %.
> Gain over data parallel, speedup over one device; better: how many choices are
> strictly better.
> Times and energy of simulated steps, as 'hypar plan' and 'hypar simulate' tell
> them.
> Run as compiled on eyeriss-hmc, the default device.
$ for p in hypar dp owt mp; do hypar explore lenet-c --on htree:16 --devices 16 --planner $p --cost simulated --json | grep -o '"step_s": [0-9.e-]*'; hypar plan lenet-c --on htree:16 --planner $p --json -q | grep -m 1 -o '"step_s": [0-9.e-]*'; done
> "step_s": 0.0085116511
> "step_s": 0.0085116511
> "step_s": 0.017149887934
> "step_s": 0.017149887934
> "step_s": 0.015891667621
> "step_s": 0.015891667621
> "step_s": 0.172450653885
> "step_s": 0.172450653885
$ hypar explore mlp:64-32-10 --on full:2,device=A100 --levels H1 --cost simulated --planner accpar --json | grep -o -e '"cost": "[a-z]*"' -e '"choice": "accpar", "step_s": [0-9.e-]*'; hypar plan mlp:64-32-10 --on full:2,device=a100 --planner accpar -q -o $TMP/a.json; hypar simulate $TMP/a.json --json | grep -m 1 -o '"step_s": [0-9.e-]*'
> "cost": "simulated"
> "choice": "accpar", "step_s": 0.000155087426
> "step_s": 0.000155087426

Energy scales with the width of what is computed and sent, in closed form as simulated.
$ for p in fp32 fp16; do hypar explore vgg11 --on full:4 --devices 4 --planner dp --precision $p --cost paper --json | grep -o '"energy_j": [0-9]*'; hypar explore vgg11 --on full:4 --devices 4 --planner dp --precision $p --cost simulated --json | grep -o '"energy_j": [0-9]*'; done
> "energy_j": 14
> "energy_j": 15
> "energy_j": 7
> "energy_j": 7

As JSON; every point as CSV; a picture.
$ hypar explore mlp:64-32-10 --on htree:2 --levels H1 --json
> {
>   "model": "mlp:64-32-10",
>   "batch": 32,
>   "cost": "array",
>   "objective": "time",
>   "machines": [
>     {
>       "machine": "htree:2",
>       "devices": 2,
>       "bandwidth_bytes_per_s": 200000000,
>       "one_device_s": 5.4125714285714285e-06,
>       "dp_s": 7.98262857142857e-05,
>       "points": 4,
>       "choices": [
>         {"choice": "best", "step_s": 6.209828571428571e-05, "compute_s": 2.7062857142857143e-06, "comm_s": 5.9392e-05, "gain": 1.2854829210836276, "speedup": 0.08716136631330977, "samples_per_s": 515312.1319199058, "comm_bytes": 14848, "energy_j": 2.569874432e-05, "energy": null, "state_bytes": 9640, "fits": true, "best": true, "better": 0, "levels": "11"},
>         {"choice": "hypar", "step_s": 6.209828571428571e-05, "compute_s": 2.7062857142857143e-06, "comm_s": 5.9392e-05, "gain": 1.2854829210836276, "speedup": 0.08716136631330977, "samples_per_s": 515312.1319199058, "comm_bytes": 14848, "energy_j": 2.569874432e-05, "energy": null, "state_bytes": 9640, "fits": true, "best": true, "better": 0, "levels": "11"},
>         {"choice": "dp", "step_s": 7.98262857142857e-05, "compute_s": 2.7062857142857143e-06, "comm_s": 7.712e-05, "gain": 1, "speedup": 0.06780437521475204, "samples_per_s": 400870.4615737029, "comm_bytes": 19280, "energy_j": 2.9404095999999998e-05, "energy": null, "state_bytes": 19280, "fits": true, "best": false, "better": 2, "levels": "00"}
>       ]
>     }
>   ]
> }
$ hypar explore lenet-c --on htree:4 --levels H1,H2 --csv $TMP/points.csv --svg $TMP/points.svg -o $TMP/out
$ head -n 6 $TMP/points.csv
> machine,devices,choice,levels,step_s,compute_s,comm_s,gain,speedup,comm_bytes,energy_j,state_bytes,samples_per_s,fits,cost,arithmetic_j,sram_j,dram_j,link_j,idle_j,best
> "htree:4",4,best,0000/0011,0.04501129142857143,0.02010057142857143,0.02491072,1.364736924423789,1.7862692485034866,6227680,0.043347806643199996,1824000,5687.461787366116,1,array,,,,,,1
> "htree:4",4,hypar,0011/0000,0.04501129142857143,0.02010057142857143,0.02491072,1.364736924423789,1.7862692485034866,6227680,0.043347806643199996,1824000,5687.461787366116,1,array,,,,,,1
> "htree:4",4,dp,0000/0000,0.06142857142857143,0.02010057142857143,0.041328,1,1.3088744186046513,10332000,0.046188332160000005,3444000,4167.441860465116,1,array,,,,,,0
> "htree:4",4,0,0000/0000,0.06142857142857143,0.02010057142857143,0.041328,1,1.3088744186046513,10332000,0.046188332160000005,3444000,4167.441860465116,1,array,,,,,,0
> "htree:4",4,1,0000/0001,0.06323849142857144,0.02010057142857143,0.04313792,0.9713794564178633,1.2714137212634329,10784480,0.046343383475200006,3424000,4048.1674090716533,1,array,,,,,,0
$ wc -l < $TMP/points.csv
> 260
$ grep -o 'digits: [^<]*' $TMP/points.svg; hypar explore vgg-a --on htree:4 --layers conv5_2,fc1 --svg - -o $TMP/layers | grep -o 'digits: [^<]*'
> digits: conv1 conv2 fc1 fc2 (0 dp, 1 mp)
> digits: H1 .. H2 (0 dp, 1 mp)
$ grep -c '<rect' $TMP/points.svg
> 297
$ head -n 1 $TMP/out
> lenet-c, batch 256: 256 choices of H1 x H2 on htree:4

A device of one's own, in a file of the machine or in its word: what varies is in the rows, the rest above them.
$ echo '{"format": "hypar-device/1", "name": "npu", "source": "its data sheet", "fp32_op_per_s": 10e12, "bf16_op_per_s": 80e12, "memory_bytes": 16000000000, "memory_bytes_per_s": 400e9, "bytes_per_s": 12.5e9}' > $TMP/npu.json
$ echo '{"format": "hypar-machine/1", "topology": "torus", "shape": [4, 4], "device": "npu.json"}' > $TMP/own.json
$ cd $TMP; hypar explore resnet18 --on own.json --bandwidth 12.5GB/s,50GB/s --precision bf16 --optimizer adam --csv own.csv
> resnet18, batch 32, bf16, adam, on 2 machines like own.json: plans of hypar and
> dp
>
> bandwidth     step    rate      MFU    sent  energy   memory  plan
>  12.5GB/s  2.34 ms  13.6 k   11.6 %  327 MB  1.92 J  78.3 MB  hypar, by layer
>  12.5GB/s  2.89 ms  11.1 k    9.4 %  704 MB  2.09 J   208 MB  dp 16x1x1
>    50GB/s  1.71 ms  18.7 k*  15.9 %  327 MB  1.92 J  78.3 MB  hypar, by layer
>    50GB/s   2.2 ms  14.6 k   12.4 %  704 MB   2.1 J   208 MB  dp 16x1x1
>
> Most samples/s (*): 18.7 k of batch 32 on 16 devices, bandwidth 50GB/s, by
> hypar.
> Rate: samples/s. Memory: of the fullest device, which has 16 GB. Plans: data x
> tensor x pipeline, by layer: layers with weights are not divided alike.
$ cut -d, -f1-3,15- $TMP/own.csv
> machine,devices,batch,memory_bytes,limit_bytes,best,why,comm_bytes,energy_j,arithmetic_j,sram_j,dram_j,link_j,idle_j,recomputed,sharded,interrupted,plan_of,bandwidth
> "torus:4x4,device=npu.json",16,0.116058674709755,78278276,16000000000,0,"",326888192,1.9208672004947358,0.39407869251360245,1.2800993576400108,0.22031838144512264,0.026370768895999975,0,0,none,0,hypar,12500000000
> "torus:4x4,device=npu.json",16,0.09418328596698607,207885956,16000000000,0,"",703674840,2.092837094940826,0.396692165481602,1.2862259078400158,0.3639961196032083,0.045922902015999995,0,0,none,0,dp,12500000000
> "torus:4x4,device=npu.json,bandwidth=50GB/s",1171.8591261152944,0.15943788027066674,78278276,16000000000,1,"",326888192,1.924653346286736,0.39407869251360245,1.2800993576400108,0.22031838144512264,0.030156914687999973,0,0,none,0,hypar,50000000000
> "torus:4x4,device=npu.json,bandwidth=50GB/s",910.8624330160305,0.1239278444839025,207885956,16000000000,0,"",703674840,2.095240431132826,0.396692165481602,1.2862259078400158,0.3639961196032083,0.04832623820800001,0,0,none,0,dp,50000000000
$ cd $TMP; word=$(grep -m 1 -o 'torus[^"]*' own.csv); hypar explore resnet18 --on "$word" --devices 16 --planner hypar --precision bf16 --optimizer adam | grep ' ms '
> 2.34 ms  13.6 k*  11.6 %  327 MB  1.92 J  78.3 MB
$ echo '{"format": "hypar-machine/1", "topology": "torus", "shape": [2, 2], "device": {"name": "die", "fp32_op_per_s": 10e12, "memory_bytes": 16000000000, "memory_bytes_per_s": 400e9}, "bytes_per_s": 12.5e9}' > $TMP/die.json
$ cd $TMP; hypar explore lenet5 --on die.json --bandwidth 4GB/s --planner dp --csv die.csv | grep ' us '; word=$(grep -m 1 -o 'torus[^"]*' die.csv); echo "$word"; hypar explore lenet5 --on "$word" --bandwidth 4GB/s --planner dp | grep ' us '
>     4GB/s  55.6 us  576 k*  3.6 %  1.48 MB  1.4 mJ  970 kB
> torus:2x2,fp32=10TFLOP/s,fp64=5TFLOP/s,bf16=10TFLOP/s,fp16=10TFLOP/s,tf32=10TFLOP/s,memory-bandwidth=400GB/s,eager-launch=0s,bandwidth=4GB/s
>     4GB/s  55.6 us  576 k*  3.6 %  1.48 MB  1.4 mJ  970 kB
$ cd $TMP; hypar explore lenet5 --on torus:4x4,device=npu.json,latency=3us,dram-energy=200pJ --topology torus,mesh,cluster --bandwidth 1GB/s,4GB/s --planner dp,1f1b --svg own.svg
> lenet5, batch 32, on 6 machines like
> torus:4x4,device=npu.json,latency=3us,dram-energy=200pJ: plans of dp and 1f1b
>
> machine     bandwidth    step   rate    MFU    sent  energy memory plan
> torus:4x4       1GB/s  341 us 93.9 k  0.1 %  7.4 MB 3.67 mJ 613 kB dp 16x1x1
> torus:4x4       1GB/s  205 us  156 k  0.2 % 1.56 MB 1.91 mJ 784 kB 1f1b 4x1x4/2
> torus:4x4       4GB/s  146 us  220 k  0.3 %  7.4 MB 3.83 mJ 613 kB dp 16x1x1
> torus:4x4       4GB/s 80.6 us  397 k* 0.6 % 1.72 MB 1.94 mJ 408 kB 1f1b 4x1x4/2
> mesh:4x4        1GB/s  321 us 99.8 k  0.2 %  7.4 MB 3.64 mJ 613 kB dp 16x1x1
> mesh:4x4        1GB/s  230 us  139 k  0.2 % 3.49 MB 2.68 mJ 595 kB 1f1b 8x1x2/2
> mesh:4x4        4GB/s  141 us  227 k  0.4 %  7.4 MB 3.68 mJ 613 kB dp 16x1x1
> mesh:4x4        4GB/s  102 us  314 k  0.5 % 3.49 MB 2.39 mJ 644 kB 1f1b 8x1x2
> cluster:2x8     1GB/s  567 us 56.5 k  0.1 %  7.4 MB 4.19 mJ 613 kB dp 16x1x1
> cluster:2x8     1GB/s  356 us   90 k  0.1 %  805 kB 1.76 mJ 675 kB 1f1b 2x1x8/4
> cluster:2x8     4GB/s  217 us  147 k  0.2 %  7.4 MB 4.25 mJ 613 kB dp 16x1x1
> cluster:2x8     4GB/s  152 us  210 k  0.3 % 3.49 MB 2.97 mJ 595 kB 1f1b 8x1x2/2
>
> Most samples/s (*): 397 k of batch 32 on torus:4x4, bandwidth 4GB/s, by 1f1b.
> Rate: samples/s. Memory: of the fullest device, which has 16 GB. Plans: data x
> tensor x pipeline / micro-batches.
> Topologies: in a collective a device sends to at most two others at a time. Over
> all their links at once large all-reduces would be up to (n-1)/2 times as fast
> on full:n (--all-reduce direct), and k times on a torus of k dimensions
> (--all-reduce multi-ring).
$ grep -c polyline $TMP/own.svg; grep -o '>dp, torus<\|>1f1b, mesh<\|>dp, cluster<\|>bandwidth<' $TMP/own.svg
> 6
> >dp, torus<
> >1f1b, mesh<
> >dp, cluster<
> >bandwidth<
$ hypar explore lenet5 --on torus:8x2 --devices 16,32 --planner dp --json | grep -o '"torus:[0-9x]*"'
> "torus:8x2"
> "torus:8x4"

Any figure of the machine's word, simulated; plans by energy.
$ hypar explore lenet5 --on torus:2x2 --sweep latency=1us,100us --sweep dram-energy=160pJ,640pJ --planner dp --csv $TMP/swept.csv | sed -n 1,7p; head -2 $TMP/swept.csv
> lenet5, batch 32, on 4 machines like torus:2x2: plans of dp
>
> latency  dram-energy     step    rate     MFU     sent   energy  memory
>     1us        160pJ  15.9 us  2.01 M*  8.0 %  1.48 MB  1.57 mJ  970 kB
>     1us        640pJ  15.9 us  2.01 M   8.0 %  1.48 MB  3.81 mJ  970 kB
>   100us        160pJ   220 us   146 k   0.6 %  1.48 MB  1.59 mJ  970 kB
>   100us        640pJ   220 us   146 k   0.6 %  1.48 MB  3.83 mJ  970 kB
> machine,devices,batch,verdict,planner,data,tensor,pipeline,micro_batches,simulated,step_s,samples_per_s,samples_per_s_per_device,mfu,memory_bytes,limit_bytes,best,why,comm_bytes,energy_j,arithmetic_j,sram_j,dram_j,link_j,idle_j,recomputed,sharded,interrupted,plan_of,latency,dram-energy
> "torus:2x2,dram-energy=160pJ",4,32,fits,dp,4,1,1,1,1,1.5941846e-05,2007295.767378508,501823.941844627,0.07988014328297735,970324,16000000000,1,"",1480968,0.0015663403743999998,0.00016999967840000007,0.0005470431599999995,0.0007474976000000003,0.00010179993599999998,0,0,none,0,dp,1e-06,1.6e-10
$ hypar explore lenet5 --on torus:2x2 --batch 32,64 --planner dp,1f1b --objective energy
> lenet5, on torus:2x2: plans of dp and 1f1b
>
> batch     step    rate     MFU     sent   energy    memory  plan
>    32  15.9 us  2.01 M   8.0 %  1.48 MB   1.4 mJ    970 kB  dp 4x1x1
>    32  16.1 us  1.99 M   7.9 %   524 kB  1.18 mJ   1.36 MB  1f1b 2x1x2
>    64  17.5 us  3.67 M  14.6 %  1.48 MB  2.42 mJ   1.45 MB  dp 4x1x1
>    64  20.3 us  3.15 M  12.5 %   499 kB   2.2 mJ*   2.4 MB  1f1b 2x1x2
>
> Least energy a sample (*): 34.3 uJ of batch 64 on 4 devices, by 1f1b.
> Rate: samples/s. Memory: of the fullest device, which has 16 GB. Plans: data x
> tensor x pipeline.
> Plans are compared by energy, which the search of dp, 1f1b does not look at.
$ hypar explore lenet5 --on torus:2x2 --sweep frob=1
> hypar: sweep: unknown option 'frob', expected one with a number that 'hypar machines' lists, such as memory-bandwidth, or links
? 2
$ hypar explore vgg16 --on full:4 --sweep bandwith=1GB/s
> hypar: sweep: unknown option 'bandwith', did you mean bandwidth?
? 2
$ hypar explore lenet5 --on torus:2x2 --sweep latency
> hypar: sweep: 'latency', expected an option of a machine and its values such as latency=1us,2us
? 2
$ hypar explore lenet5 --on torus:2x2 --sweep inter=1GB/s,2GB/s
> hypar: sweep: inter is no option of torus
? 3
$ hypar explore lenet5 --on torus:2x2 --sweep efficiency=0.5,2
> hypar: efficiency is 2, expected 1e-06..1
? 3

A range of values doubles, in the unit of its first.
$ hypar explore lenet5 --on torus:2x2 --sweep memory-bandwidth=500GB/s..4TB/s,5TB/s --planner dp | grep -o '^ *[0-9.]*[GT]B/s'
>          500GB/s
>         1000GB/s
>         2000GB/s
>         4000GB/s
>            5TB/s
$ hypar explore lenet5 --on torus:2x2 --sweep latency=2us..1us
> hypar: sweep: latency: 2us..1us, expected a value above 0 and a higher one
? 2
$ hypar explore lenet5 --on torus:2x2 --sweep latency=0s..1us
> hypar: sweep: latency: 0s..1us, expected a value above 0 and a higher one
? 2
$ hypar explore lenet5 --on torus:2x2 --bandwidth 1GB/s..fast
> hypar: bandwidths: 'fast' is not a bandwidth such as 450GB/s or 100Gb/s
? 3

The bandwidth of links by either option: the same figures.
$ for o in --bandwidth "--sweep bandwidth="; do hypar explore lenet5 --on torus:2x2 $(echo "$o" | sed 's/bandwidth$/bandwidth /')1GB/s,4GB/s --planner dp --json | grep -o '"step_s": [0-9.e-]*'; done
> "step_s": 0.000192627606
> "step_s": 5.3225606e-05
> "step_s": 0.000192627606
> "step_s": 5.3225606e-05

A figure that changes nothing is told, and what counts it.
$ hypar explore lenet-c --on htree:4 --sweep memory-bandwidth=100GB/s,200GB/s --cost paper --planner dp
> lenet-c, batch 256: 2 machines like htree:4
>
> memory-bandwidth choice paper step  gain speedup exchange  energy levels
>          100GB/s dp        61.4 ms*    1    1.31  10.3 MB 46.2 mJ 0000/0000
>          200GB/s dp        61.4 ms*    1    1.31  10.3 MB 46.2 mJ 0000/0000
>
> Gain over data parallel, speedup over one device; *: the least time of a step.
> Times by the paper's model (HyPar's array): exchange after computation, bytes
> one after another; latency and the memory's bandwidth do not count. Energy in
> closed form: a byte sent counts one link on every topology. --cost simulated
> counts all of that, and each link that a byte crosses.
> No effect on any row: memory-bandwidth, which the paper's model does not count;
> see --cost simulated.
$ hypar explore lenet5 --on torus:2x2 --sweep latency=1us,2us --sweep fp64=1TFLOP/s,2TFLOP/s --planner dp | tail -3
> Rate: samples/s. Memory: of the fullest device, which has 16 GB. Plans: data x
> tensor x pipeline.
> No effect on any row: fp64.
$ hypar explore lenet5 --on torus:2x2 --batch 32,64 --sweep fp64=1TFLOP/s,2TFLOP/s --planner dp,1f1b | tail -1
> No effect on any row: fp64.

One rule for where time comes from: few choices are simulated, whatever is swept, but on HyPar's own
accelerators; those that are enumerated are not.
$ for o in '--sweep bandwidth=2GB/s,4GB/s' '--bandwidth 4GB/s' '--devices 16' '--topology mesh' '--sweep latency=1us' '--levels H1' '--layers conv1_1'; do hypar explore vgg16 --on torus:4x4,device=a100 --batch 576 $o --joint --json | grep -o '"cost": "[a-z]*"'; done
> "cost": "simulated"
> "cost": "simulated"
> "cost": "simulated"
> "cost": "simulated"
> "cost": "simulated"
> "cost": "levels"
> "cost": "levels"
$ for o in '--bandwidth 4GB/s' '--sweep memory-bandwidth=1TB/s' '--levels H1'; do hypar explore lenet-c --on htree:4 $o --joint --json | grep -o '"cost": "[a-z]*"'; done
> "cost": "array"
> "cost": "array"
> "cost": "array"
$ hypar explore vgg16 --on torus:4x4,device=a100 --batch 576 --sweep bandwidth=2GB/s,4GB/s | sed -n '3,$p'
>
> bandwidth    step    rate      MFU     sent   energy   memory  plan
>     2GB/s  401 ms  1.44 k   42.7 %   2.7 GB  1.87 kJ  4.12 GB  hypar, by layer
>     2GB/s  447 ms  1.29 k   38.3 %  16.6 GB  1.95 kJ  4.51 GB  dp 16x1x1
>     4GB/s  387 ms  1.49 k*  44.2 %   2.7 GB  1.86 kJ  4.12 GB  hypar, by layer
>     4GB/s  414 ms  1.39 k   41.4 %  16.6 GB   1.9 kJ  4.51 GB  dp 16x1x1
>
> Most samples/s (*): 1.49 k of batch 576 on 16 devices, bandwidth 4GB/s, by
> hypar.
> Rate: samples/s. Memory: of the fullest device, which has 85 GB. Plans: data x
> tensor x pipeline, by layer: layers with weights are not divided alike.

The best row by the objective is marked, of those that fit.
$ for o in time comm energy; do hypar explore lenet-c --on htree:16 --topology htree,torus --cost simulated --planner hypar,accpar,dp,owt --objective $o | grep -e '[a-zA-Z]\*' -e '^Gain'; done
> torus:4x4 hypar  4.88 ms*  1.88    8.31  18.7 MB 78.5 mJ 0011/0000/0011/0010
> Gain over data parallel, speedup over one device; *: the least time of a step.
> htree:16  accpar 6.65 ms  2.58     6.1  14.6 MB* 78.1 mJ 0011/0021/0000/0010
> torus:4x4 accpar 5.47 ms  1.68    7.42  14.6 MB* 75.1 mJ 0011/0021/0000/0010
> Gain over data parallel, speedup over one device; *: the least exchange.
> torus:4x4 accpar 5.47 ms  1.68    7.42  14.6 MB 75.1 mJ* 0011/0021/0000/0010
> Gain over data parallel, speedup over one device; *: the least energy.
$ hypar explore vgg16 --on full:2 --sweep memory=1GB,16GB --planner dp | grep '\*'
>   16GB  198 ms   162*  47.7 %  1.11 GB  30.1 J  2.11 GB  dp 2x1x1
> Most samples/s (*): 162 of batch 32 on 2 devices, memory 16GB.

What tells plans apart that are divided alike is told, too.
$ hypar explore gpt2 --on full:8,device=a100 --batch 8,64 --planner hybrid,3d --shard optimizer --recompute full --json | grep -o '"recomputed": [0-9]*, "sharded": "[a-z]*"'
> "recomputed": 156, "sharded": "optimizer"
> "recomputed": 156, "sharded": "optimizer"
> "recomputed": 156, "sharded": "optimizer"
> "recomputed": 156, "sharded": "optimizer"
$ hypar explore gpt2 --on full:8,device=a100,memory=3GB --batch 8,64 --planner hybrid | sed -n '/step/,/Plans/p'
> batch    step  rate      MFU     sent   energy   memory  plan
>     8   93 ms    86   48.2 %  10.4 GB    234 J  2.21 GB  hybrid 8x1x1, shard
>                                                          parameters
>    64  692 ms  92.5*  51.9 %  31.4 GB  1.85 kJ  2.62 GB  hybrid 8x1x1/8,
>                                                          recompute 13, shard
>                                                          gradients
>
> Most samples/s (*): 92.5 of batch 64 on 8 devices.
> Rate: samples/s. Memory: of the fullest device, which has 3 GB. Plans: data x
$ hypar explore gpt2 --on full:8,device=a100,memory=2GB --batch 8,64 --planner hybrid | sed -n '/step/,/Plans/p'
> batch    step  rate      MFU     sent   energy   memory  plan
>     8  106 ms  75.3*  42.3 %  10.4 GB    270 J  1.67 GB  hybrid 8x1x1, recompute
>                                                          143, shard parameters
>    64  1.37 s  46.9   26.3 %  2.32 GB  2.27 kJ  1.77 GB  hybrid 1x1x6/64,
>                                                          recompute 13
>
> Most samples/s (*): 75.3 of batch 8 on 8 devices.
> Rate: samples/s. Memory: of the fullest device, which has 2 GB. Plans: data x

Legends have room: the picture is as wide as they need.
$ hypar explore lenet5 --on torus:2x2 --sweep bandwidth=2GB/s,4GB/s --sweep memory-bandwidth=0.8TB/s,1.6TB/s --svg - | grep -o '^<svg.* width="[0-9]*"' | grep -o '[0-9]*"$'
> 901"

What simulated collectives do not do is told where topologies are compared.
$ hypar explore lenet5 --on torus:4x4 --topology torus,full --planner dp --cost simulated
> lenet5, batch 32: 2 machines like torus:4x4
>
> machine    choice     step   gain  speedup  exchange   energy
> torus:4x4  dp      31.2 us      1    0.573    7.4 MB  3.07 mJ
> full:16    dp      25.4 us*     1    0.703    7.4 MB  2.84 mJ
>
> Gain over data parallel, speedup over one device; *: the least time of a step.
> Times and energy of simulated steps, as 'hypar plan' and 'hypar simulate' tell
> them.
> Run as compiled on v100, the default device.
> Topologies: in a collective a device sends to at most two others at a time. Over
> all their links at once large all-reduces would be up to (n-1)/2 times as fast
> on full:n (--all-reduce direct), and k times on a torus of k dimensions
> (--all-reduce multi-ring).
> Levels, on all machines alike: dp 00000/00000/00000/00000.
$ for o in auto direct; do hypar explore lenet5 --on full:16,bandwidth=1GB/s,latency=0 --devices 16 --planner dp --cost simulated --all-reduce $o | grep '^dp'; done
> dp      232 us     1   0.0771    7.4 MB  2.72 mJ  00000/00000/00000/00000
> dp      31.5 us     1    0.568    7.4 MB  2.72 mJ  00000/00000/00000/00000
$ hypar explore lenet5 --on htree:16 --devices 16 --planner dp --all-reduce direct --cost paper
> hypar: explore: --all-reduce is of simulated steps, expected --cost simulated
? 2

Energies are drawn against what they change.
$ hypar explore lenet5 --on torus:2x2 --sweep dram-energy=160pJ,640pJ --planner dp --svg - | grep -o 'joules of a sample'
> joules of a sample
> joules of a sample
$ hypar explore lenet5 --on torus:2x2 --sweep dram-energy=160pJ,640pJ --planner 1f1b --svg - | grep -c 'joules of a sample'
> 2

A planner that 'hypar plan' has no plan of has none here.
$ hypar explore lenet5 --on torus:2x2 --devices 32,64 --planner hypar,dp --cost levels --csv $TMP/few.csv; cut -d, -f1-5,8 $TMP/few.csv
> lenet5, batch 32: 2 machines like torus:2x2
>
> machine    choice  paper step    gain  speedup  exchange   energy
> torus:8x4  hypar      81.6 us   0.874    0.129   2.21 MB  1.22 mJ
> torus:8x4  dp         71.3 us*      1    0.147   15.3 MB  3.52 mJ
> torus:8x8  hypar       112 us       -   0.0935   3.32 MB  1.41 mJ
> torus:8x8  dp               -       -        -         -        -
>
> Gain over data parallel, speedup over one device; *: the least time of a step.
> Times by the paper's model (the machine's levels): exchange after computation,
> levels one after another; the memory's bandwidth counts only on devices whose
> kernels were measured. Energy in closed form: a byte sent counts one link on
> every topology. --cost simulated counts all of that, and each link that a byte
> crosses.
> Levels of the choices: --json, --csv.
> No plan on torus:8x8: dp splits the batch of 32 over 64 devices, expected a
> batch of at least 64.
> Sizes are real numbers: 64 parts of a batch of 32 count as less than a sample
> each.
> machine,devices,choice,levels,step_s,gain
> "torus:8x4",32,hypar,00111/00111/00100/00111/01000,8.156636624203821e-05,0.8742366434522723
> "torus:8x4",32,dp,00000/00000/00000/00000/00000,7.130830624203821e-05,1
> "torus:8x8",64,hypar,00111/00111/00100/00111/01000/00111,0.00011239552312101912,
> "torus:8x8",64,dp,,,
$ hypar plan lenet5 --on torus:8x8 --planner dp
> hypar: dp splits the batch of 32 over 64 devices, expected a batch of at least 64
? 1
$ hypar explore lenet5 --on torus:2x2 --devices 64 --planner dp
> lenet5, batch 32, on torus:8x8: plans of dp
>
> step  rate  MFU  sent  energy  memory  plan
>    -     -    -     -       -       -  no plan: dp splits the batch of 32 over
>                                        64 devices, expected a batch of at least
>                                        64
>
> None fits.
> Rate: samples/s. Plans: data x tensor x pipeline.
> hypar: explore: no plan fits, of any batch on any machine
? 1

Wrong words get one line.
$ hypar explore lenet-c --levels H1
> hypar: explore: missing --on MACHINE; see 'hypar explore --help'
? 2
$ hypar explore lenet-c --on htree:16
> hypar: explore: nothing to vary, expected --planner, --levels, --layers, --devices, --topology, --bandwidth, --sweep or a second --on
? 2
$ hypar explore lenet-c --on htree:16 --levels H5
> hypar: levels: 'H5' is no level of htree:16, expected H1 to H4
? 3
$ hypar explore lenet-c --on htree:16 --layers fc7
> hypar: layers: 'fc7' is no operator of lenet-c, expected a weighted layer such as 'conv1'
? 3
$ hypar explore lenet-c --on htree:16 --levels H1 --fix H2=00
> hypar: fix: '00' has 2 digits, expected 4: one for each weighted layer of lenet-c
? 3
$ hypar explore lenet-c --on htree:16 --devices 0
> hypar: devices: '0' is not a whole number from 1 to 1048576
? 2
$ hypar explore lenet-c --on htree:16 --devices many
> hypar: devices: 'many' is not a whole number from 1 to 1048576
? 2
$ hypar explore lenet-c --on htree:16 --topology frob
> hypar: topologies: unknown topology 'frob', expected one of htree, torus, mesh, ring, full, cluster, local
? 3
$ hypar explore lenet-c --on htree:16 --bandwidth fast
> hypar: bandwidths: 'fast' is not a bandwidth such as 450GB/s or 100Gb/s
? 3
$ hypar explore lenet-c --on htree:16 --levels H1 --planner optcnn
> hypar: planners: 'optcnn' does not divide level by level, expected hypar, accpar, dp, mp or owt
? 2
$ hypar explore lenet-c --on htree:16 --levels H1 --cost frob
> hypar: --cost: 'frob' is not paper, array, levels or simulated
? 2
$ hypar explore lenet-c --on htree:16 --levels H1 --objective frob
> hypar: --objective: 'frob' is not time, comm or energy
? 2
$ hypar explore vgg-e --on htree:16 --levels H1,H2
> hypar: 2.75e+11 choices on htree:16, expected at most 1048576: name fewer levels or layers
? 3
$ hypar explore lenet-c --on htree:16 --levels H1 --svg $TMP/none/picture.svg
> hypar: $TMP/none/picture.svg: cannot write: No such file or directory
? 4

Plans: of every batch on every machine one of each planner, or why there is none.
$ hypar explore vgg16 --on cluster:1x8 --batch 64..1024 --devices 2..8 --planner dp,mp,1f1b --csv $TMP/plans.csv --svg $TMP/plans.svg
> vgg16, on 3 machines like cluster:1x8: plans of dp, mp and 1f1b
>
> devices batch   step rate each     MFU    sent energy  memory plan
>       2    64 394 ms  162 81.2  48.0 % 1.11 GB 59.9 J  3.1 GB dp 2x1x1
>       2    64 431 ms  148 74.2  43.8 % 9.24 GB 62.5 J 4.36 GB mp 1x2x1
>       2    64 441 ms  145 72.6  42.9 %  411 MB 60.4 J 1.17 GB 1f1b
>                                                               1x1x2/16
>       2   128 786 ms  163 81.4  48.1 % 1.11 GB  119 J  5.1 GB dp 2x1x1
>       2   128 862 ms  148 74.2  43.9 % 18.5 GB  125 J 8.16 GB mp 1x2x1
>       2   128 853 ms  150   75  44.4 %  822 MB  120 J 1.24 GB 1f1b
>                                                               1x1x2/16
>       2   256 1.57 s  163 81.5* 48.2 % 1.11 GB  238 J  9.1 GB dp 2x1x1
>       2   256 1.72 s  149 74.3  43.9 % 36.9 GB  249 J 15.8 GB mp 1x2x1
>       2   256 1.66 s  154 77.1  45.6 % 1.64 GB  240 J 1.24 GB 1f1b
>                                                               1x1x2/32
>       2   512      -    -    -       -       -      - 17.1 GB no plan fits
>                                                               (dp 2x1x1)
>       2   512      -    -    -       -       -      -   31 GB no plan fits
>                                                               (mp 1x2x1)
>       2   512 3.26 s  157 78.4  46.4 % 3.29 GB  478 J 1.72 GB 1f1b
>                                                               1x1x2/32
>       2 1,024      -    -    -       -       -      - 33.1 GB no plan fits
>                                                               (dp 2x1x1)
>       2 1,024      -    -    -       -       -      - 61.4 GB no plan fits
>                                                               (mp 1x2x1)
>       2 1,024 6.44 s  159 79.6  47.0 % 6.58 GB  956 J 1.72 GB 1f1b
>                                                               1x1x2/64
>       4    64 198 ms  323 80.8  47.7 % 3.32 GB 60.5 J 2.11 GB dp 4x1x1
>       4    64 255 ms  251 62.6  37.0 % 26.9 GB   68 J 3.98 GB mp 1x4x1
>       4    64 231 ms  277 69.4  41.0 % 1.52 GB 60.7 J 1.17 GB 1f1b 2x1x2/8
>       4   128 394 ms  325 81.2  48.0 % 3.32 GB  120 J  3.1 GB dp 4x1x1
>       4   128 510 ms  251 62.7  37.1 % 53.8 GB  136 J 7.68 GB mp 1x4x1
>       4   128 439 ms  292 72.9  43.1 % 1.93 GB  121 J 1.17 GB 1f1b
>                                                               2x1x2/16
>       4   256 786 ms  326 81.4  48.1 % 3.32 GB  239 J  5.1 GB dp 4x1x1
>       4   256 1.02 s  251 62.7  37.1 %  108 GB  272 J 15.1 GB mp 1x4x1
>       4   256 851 ms  301 75.2  44.5 % 2.75 GB  240 J 1.24 GB 1f1b
>                                                               2x1x2/16
>       4   512 1.57 s  326 81.5  48.2 % 3.32 GB  477 J  9.1 GB dp 4x1x1
>       4   512      -    -    -       -       -      - 29.9 GB no plan fits
>                                                               (mp 1x4x1)
>       4   512 1.66 s  309 77.2  45.7 %  4.4 GB  480 J 1.24 GB 1f1b
>                                                               2x1x2/32
>       4 1,024      -    -    -       -       -      - 17.1 GB no plan fits
>                                                               (dp 4x1x1)
>       4 1,024      -    -    -       -       -      - 59.5 GB no plan fits
>                                                               (mp 1x4x1)
>       4 1,024 3.26 s  314 78.5  46.4 % 7.68 GB  956 J 1.72 GB 1f1b
>                                                               2x1x2/32
>       8    64 101 ms  635 79.3  46.9 % 7.75 GB 61.8 J 1.61 GB dp 8x1x1
>       8    64 173 ms  370 46.2  27.3 % 60.5 GB 78.6 J 3.79 GB mp 1x8x1
>       8    64 122 ms  525 65.6  38.8 % 3.73 GB 62.1 J 1.13 GB 1f1b 4x1x2/8
>       8   128 198 ms  646 80.7  47.7 % 7.75 GB  121 J 2.11 GB dp 8x1x1
>       8   128 346 ms  370 46.3  27.4 %  121 GB  157 J 7.45 GB mp 1x8x1
>       8   128 231 ms  555 69.4  41.0 % 4.14 GB  122 J 1.17 GB 1f1b 4x1x2/8
>       8   256 394 ms  650 81.2  48.0 % 7.75 GB  240 J  3.1 GB dp 8x1x1
>       8   256 691 ms  371 46.3  27.4 %  242 GB  314 J 14.8 GB mp 1x8x1
>       8   256 439 ms  583 72.9  43.1 % 4.96 GB  242 J 1.17 GB 1f1b
>                                                               4x1x2/16
>       8   512 786 ms  651 81.4  48.1 % 7.75 GB  478 J  5.1 GB dp 8x1x1
>       8   512      -    -    -       -       -      - 29.4 GB no plan fits
>                                                               (mp 1x8x1)
>       8   512 851 ms  601 75.2  44.5 % 6.61 GB  480 J 1.24 GB 1f1b
>                                                               4x1x2/16
>       8 1,024 1.57 s  652 81.5  48.2 % 7.75 GB  954 J  9.1 GB dp 8x1x1
>       8 1,024      -    -    -       -       -      - 58.6 GB no plan fits
>                                                               (mp 1x8x1)
>       8 1,024 1.66 s  618 77.2  45.7 %  9.9 GB  960 J 1.24 GB 1f1b
>                                                               4x1x2/32
>
> Most samples/s for a device (*): 81.5 of batch 256 on 2 devices, by dp; in all:
> 652 of batch 1,024 on 8 devices, by dp.
> Rate: samples/s of all devices; each: of one. Memory: of the fullest device,
> which has 16 GB. Plans: data x tensor x pipeline / micro-batches. In brackets
> the plan that needs least.
$ head -3 $TMP/plans.csv; wc -l <$TMP/plans.csv; grep -c polyline $TMP/plans.svg
> machine,devices,batch,verdict,planner,data,tensor,pipeline,micro_batches,simulated,step_s,samples_per_s,samples_per_s_per_device,mfu,memory_bytes,limit_bytes,best,why,comm_bytes,energy_j,arithmetic_j,sram_j,dram_j,link_j,idle_j,recomputed,sharded,interrupted,plan_of
> "cluster:1x2",2,64,fits,dp,2,1,1,1,1,0.394140951807,162.37845802772367,81.18922901386183,0.48000719724132057,3104266564,16000000000,0,"",1106860360,59.881098046938924,13.642135554224016,44.47527600504003,1.6220083615948797,0.14167812607999988,0,0,none,0,dp
> "cluster:1x2",2,64,fits,mp,1,2,1,1,1,0.431476775604,148.32779796875514,74.16389898437757,0.4384720204930321,4355622724,16000000000,0,"",9235976192,62.45369215377476,13.644550022200033,44.473200641880005,3.1537365371187223,1.1822049525760001,0,0,none,0,mp
> 46
> 12
$ hypar explore vgg16 --on cluster:1x8 --batch 64,4096 --devices 8 --planner dp --json
> {
>   "model": "vgg16",
>   "planners": "dp",
>   "points": [
>     {"machine": "cluster:1x8", "devices": 8, "batch": 64, "verdict": "fits", "planner": "dp", "plan_of": "dp", "data": 8, "tensor": 1, "pipeline": 1, "micro_batches": 1, "recomputed": 0, "sharded": "none", "simulated": true, "step_s": 0.100821389052, "samples_per_s": 634.7859378032485, "samples_per_s_per_device": 79.34824222540607, "mfu": 0.46912290976601917, "comm_bytes": 7748022520, "energy_j": 61.79015922445059, "energy": {"arithmetic_j": 13.645954222438405, "sram_j": 44.48772818400002, "dram_j": 2.6633311872921683, "link_j": 0.9931456307199995, "idle_j": 0, "total_j": 61.79015922445059}, "memory_bytes": 1606211908, "limit_bytes": 16000000000, "best": true},
>     {"machine": "cluster:1x8", "devices": 8, "batch": 4096, "verdict": "too large", "planner": "dp", "plan_of": "dp", "data": 8, "tensor": 1, "pipeline": 1, "micro_batches": 1, "recomputed": 0, "sharded": "none", "simulated": true, "step_s": 6.278557149033, "samples_per_s": 652.3791856590572, "samples_per_s_per_device": 81.54739820738214, "mfu": 0.4821247661948392, "comm_bytes": 7748022520, "energy_j": 3807.537750860336, "energy": {"arithmetic_j": 873.0203021060497, "sram_j": 2846.1686207433504, "dram_j": 87.35568238021594, "link_j": 0.9931456307199995, "idle_j": 0, "total_j": 3807.537750860336}, "memory_bytes": 33065359684, "limit_bytes": 16000000000, "best": false}
>   ]
> }
$ hypar explore gpt2 --on full:8 --batch 64 --devices 4,8 --planner 3d --precision bf16 --shard optimizer --recompute full
> hypar: note: v100 computes bf16 at 0.126 times the rate of fp16
> gpt2, batch 64, bf16, on 2 machines like full:8: plans of 3d
>
> devices    step  rate  each      MFU     sent  energy   memory  plan
>       4  2.18 s  29.3  7.32*  40.8 %  1.49 GB   338 J  4.27 GB  3d 4x1x1
>       8  1.09 s  58.5  7.31   40.8 %  3.48 GB   338 J  2.38 GB  3d 8x1x1
>
> Most samples/s for a device (*): 7.32 of batch 64 on 4 devices; in all: 58.5 of
> batch 64 on 8 devices.
> All plans: recompute 156, shard optimizer.
> Rate: samples/s of all devices; each: of one. Memory: of the fullest device,
> which has 16 GB. Plans: data x tensor x pipeline, recompute: so many operators.
$ hypar explore alexnet --on cluster:1x2 --batch 1024,4096 --planner owt --topology full,ring --memory 2GB --micro-batches 2
> alexnet, on 2 machines like cluster:1x2: plans of owt
>
> machine  batch    step    rate      MFU    sent  energy   memory  plan
> full:2   1,024  282 ms  3.63 k*  49.6 %  162 MB  42.5 J  1.08 GB  owt, by
>                                                                   layer/2
> full:2   4,096       -       -        -       -       -  3.57 GB  no plan fits
>                                                                   (owt, by
>                                                                   layer/2)
> ring:2   1,024  282 ms  3.63 k   49.6 %  162 MB  42.5 J  1.08 GB  owt, by
>                                                                   layer/2
> ring:2   4,096       -       -        -       -       -  3.57 GB  no plan fits
>                                                                   (owt, by
>                                                                   layer/2)
>
> Most samples/s (*): 3.63 k of batch 1,024 on full:2.
> Rate: samples/s. Memory: of the fullest device, which has 2 GB. Plans: data x
> tensor x pipeline / micro-batches, by layer: layers with weights are not divided
> alike. In brackets the plan that needs least.
> Topologies: in a collective a device sends to at most two others at a time. Over
> all their links at once large all-reduces would be up to (n-1)/2 times as fast
> on full:n (--all-reduce direct), and k times on a torus of k dimensions
> (--all-reduce multi-ring).
$ hypar explore vgg16 --on full:2,memory=100MB --batch 4,8 --planner dp,mp
> vgg16, on full:2,memory=100MB: plans of dp and mp
>
> batch  step  rate  MFU  sent  energy  memory  plan
>     4     -     -    -     -       -       -  no plan: dp: weights, gradients
>                                               and sgd state need 1.11 GB on
>                                               device 0, which has 100 MB
>     4     -     -    -     -       -       -  no plan: mp: weights, gradients
>                                               and sgd state need 553 MB on
>                                               device 0, which has 100 MB
>     8     -     -    -     -       -       -  no plan: dp: weights, gradients
>                                               and sgd state need 1.11 GB on
>                                               device 0, which has 100 MB
>     8     -     -    -     -       -       -  no plan: mp: weights, gradients
>                                               and sgd state need 553 MB on
>                                               device 0, which has 100 MB
>
> None fits.
> Rate: samples/s. Plans: data x tensor x pipeline.
> hypar: explore: no plan fits, of any batch on any machine
? 1

Too large to be simulated as a whole: the step is that of a part, extrapolated. Larger still:
no figure is exact, and all say so.
$ hypar explore gpt2 --on torus:128x128 --batch 16384,32768 --planner dp
> gpt2, on torus:128x128: plans of dp
>
>  batch     step    rate      MFU      sent   energy   memory
> 16,384  ~263 ms  62.2 k   21.2 %  ~16.3 TB  ~148 kJ  1.97 GB
> 32,768  ~378 ms  86.8 k*  29.5 %  ~16.3 TB  ~293 kJ  2.95 GB
>
> Most samples/s (*): 86.8 k of batch 32,768 on 16,384 devices.
> All plans: dp 16384x1x1.
> Rate: samples/s. Memory: of the fullest device, which has 16 GB. Plans: data x
> tensor x pipeline. ~: as simulating takes long, the step of a part of the
> devices, extrapolated, or in closed form; sent and energy with it, in closed
> form (-: there is none).
$+ hypar explore gpt2 --on torus:64x64 --batch 4096,8192 --planner dp
> gpt2, on torus:64x64: plans of dp
>
> batch     step    rate      MFU     sent   energy   memory
> 4,096  ~133 ms  30.9 k   42.0 %  4.08 TB  37.8 kJ  2.02 GB
> 8,192  ~251 ms  32.7 k*  44.4 %  4.08 TB  74.6 kJ  3.04 GB
>
> Most samples/s (*): 32.7 k of batch 8,192 on 4,096 devices.
> All plans: dp 4096x1x1.
> Rate: samples/s. Memory: of the fullest device, which has 16 GB. Plans: data x
> tensor x pipeline. ~: as simulating takes long, the step of a part of the
> devices, extrapolated; sent and energy are of all devices.

What is sent, and energy, are those of all tasks where the step is extrapolated.
$+ hypar explore gpt2 --on torus:64x64 --batch 4096 --planner hybrid --objective energy --csv $TMP/energy.csv | sed -n '/energy/,$p'
> devices  batch     step    rate  each     MFU     sent   energy    memory
>   4,096  4,096  ~131 ms  31.3 k  7.63  42.5 %  4.08 TB  37.5 kJ*  2.02 GB
>
> Least energy a sample (*): 9.16 J of batch 4,096 on 4,096 devices.
> All plans: hybrid 4096x1x1, shard optimizer.
> Rate: samples/s of all devices; each: of one. Memory: of the fullest device,
> which has 16 GB. Plans: data x tensor x pipeline. ~: as simulating takes long,
> the step of a part of the devices, extrapolated; sent and energy are of all
> devices.
> Plans are compared by energy, which the search of hybrid does not look at.
$+ cut -d, -f 10,19- $TMP/energy.csv
> simulated,comm_bytes,energy_j,arithmetic_j,sram_j,dram_j,link_j,idle_j,recomputed,sharded,interrupted,plan_of
> 0,4076648142840,37536.77780753048,8437.070621658277,27472.046137501555,1366.7554372049487,260.90561116569404,0,0,optimizer,0,hybrid

Where a plan is too large even for that they are not known: nothing is the best.
$+ hypar explore gpt2 --on torus:128x64 --batch 524288 --micro-batches 64 --planner hybrid --objective energy --csv $TMP/energy.csv | sed -n '/energy/,/best/p'
> devices    batch     step    rate  each     MFU  sent  energy   memory
>   8,192  524,288  ~7.57 s  69.3 k  8.45  47.1 %     -       -  1.97 GB
>
> The best is not known: all plans are too large to be simulated, even in part
> closed form; sent and energy with it, in closed form (-: there is none).
> Plans are compared by energy, which the search of hybrid does not look at.
$+ cut -d, -f 10,19- $TMP/energy.csv
> simulated,comm_bytes,energy_j,arithmetic_j,sram_j,dram_j,link_j,idle_j,recomputed,sharded,interrupted,plan_of
> 0,,,,,,,,0,optimizer,0,hybrid

Devices that send to many at once are not said to send to two; a memory that varies is told as it does.
$ hypar explore lenet5 --on full:4 --planner hypar --topology full,ring --all-reduce direct | sed -n '/^Rate/,$p'
> Rate: samples/s. Memory: of the fullest device, which has 16 GB. Plans: data x
> tensor x pipeline, by layer: layers with weights are not divided alike.
$ hypar explore lenet5 --on full:4 --planner hypar --topology full,ring --all-reduce ring | sed -n '/^Rate/,$p'
> Rate: samples/s. Memory: of the fullest device, which has 16 GB. Plans: data x
> tensor x pipeline, by layer: layers with weights are not divided alike.
> Topologies: in a collective a device sends to at most two others at a time. Over
> all their links at once large all-reduces would be up to (n-1)/2 times as fast
> on full:n (--all-reduce direct), and k times on a torus of k dimensions
> (--all-reduce multi-ring).
$ hypar explore lenet5 --on full:4 --planner hypar --sweep memory=8GB..32GB | sed -n '/^Rate/,$p'
> Rate: samples/s. Memory: of the fullest device, which has 8 GB to 32 GB. Plans:
> data x tensor x pipeline, by layer: layers with weights are not divided alike.

Levels that are the same on all machines are told once.
$ hypar explore vgg-a --on torus:2x4 --sweep bandwidth=1GB/s,2GB/s --cost simulated | grep -e '/s ' -e '000'
>     1GB/s  hypar   208 ms   2.55     7.46    752 MB   117 J
>     1GB/s  dp      530 ms      1     2.93   7.44 GB   119 J
>     2GB/s  hypar   201 ms*  1.48     7.73    752 MB   117 J
>     2GB/s  dp      298 ms      1     5.21   7.44 GB   119 J
> Levels, on all machines alike: hypar 00000000111/00000000111/00000000111, dp
> 00000000000/00000000000/00000000000.

A ring of which every link is listed takes what the word's takes, and is swept likewise.
$ (echo '{"format": "hypar-machine/1", "devices": [{"name": "a100", "count": 15}], "bytes_per_s": 25e9, "links": ['; for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13; do echo "{\"from\": $i, \"to\": $((i+1))},"; done; echo '{"from": 14, "to": 0}]}') > $TMP/ring.json
$ for m in ring:15,device=a100 $TMP/ring.json; do hypar plan vgg16 --on $m --batch 240 --planner dp --json | grep -m 1 step_s; hypar explore vgg16 --on $m --batch 240 --planner dp --sweep link-efficiency=0.4,0.8 --sweep latency=1us,5us --json | grep -o "\"step_s\": [0-9.]*"; done
>     "step_s": 0.179667122723,
> "step_s": 0.184996621218
> "step_s": 0.185450054847
> "step_s": 0.179629868709
> "step_s": 0.180053616295
>     "step_s": 0.179667122723,
> "step_s": 0.184996621218
> "step_s": 0.185450054847
> "step_s": 0.179629868709
> "step_s": 0.180053616295

Idle power counts once, by whatever planner and model of cost: 4 devices of 100 W for the step.
$ for o in '--planner dp' '--planner 3d' '--planner optcnn' '--planner pipedream' '--planner dp --cost paper'; do for w in 0 100; do hypar explore vgg16 --on full:4,idle-power=${w}W --batch 64 $o --sweep latency=1us --json | tr -d ' ,' | grep -e '"step_s"' -e '"energy_j"' | tr '{' '\n' | grep -o '"\(step_s\|energy_j\)":[0-9.e-]*' | sed 's/.*://'; done | paste -s -d ' ' | awk '{printf "%.4f\n", ($4 - $2) / $3}'; done
> 400.0000
> 400.0000
> 400.0000
> 400.0000
> 400.0000
$+ o='--planner auto'; for w in 0 100; do hypar explore vgg16 --on full:4,idle-power=${w}W --batch 64 $o --sweep latency=1us --json | tr -d ' ,' | grep -e '"step_s"' -e '"energy_j"' | tr '{' '\n' | grep -o '"\(step_s\|energy_j\)":[0-9.e-]*' | sed 's/.*://'; done | paste -s -d ' ' | awk '{printf "%.4f\n", ($4 - $2) / $3}'
> 400.0000

Several machines in one table.
$ hypar explore vgg16 --on ring:16 --on torus:4x4 --on examples/machines/fat-tree.json --batch 256 --planner hypar,dp | sed '/^Topologies/,$d'
> vgg16, batch 256, on 3 machines like ring:16 or torus:4x4 or
> examples/machines/fat-tree.json: plans of hypar and dp
>
> machine                            step    rate      MFU     sent  energy   memory
>     plan
> ring:16                          197 ms   1.3 k   48.0 %  2.22 GB   238 J  1.18 GB
>     hypar, by layer
> ring:16                          198 ms  1.29 k   47.7 %  16.6 GB   242 J  2.11 GB
>     dp 16x1x1
> torus:4x4                        197 ms   1.3 k*  48.0 %  2.22 GB   238 J  1.18 GB
>     hypar, by layer
> torus:4x4                        198 ms  1.29 k   47.7 %  16.6 GB   242 J  2.11 GB
>     dp 16x1x1
> examples/machines/fat-tree.json  198 ms  1.29 k   47.8 %  2.22 GB   239 J  1.18 GB
>     hypar, by layer
> examples/machines/fat-tree.json  198 ms  1.29 k   47.7 %  16.6 GB   243 J  2.11 GB
>     dp 16x1x1
>
> Most samples/s (*): 1.3 k of batch 256 on torus:4x4, by hypar.
> Rate: samples/s. Memory: of the fullest device, which has 16 GB. Plans: data x
> tensor x pipeline, by layer: layers with weights are not divided alike.
$ hypar explore vgg16 --on ring:16 --on torus:4x4,bandwidth=50GB/s --on examples/machines/fat-tree.json --batch 256 --planner dp,optcnn --sweep links=0.01,1 | sed -n '1,/^Most/p'
> vgg16, batch 256, on 6 machines like ring:16 or torus:4x4,bandwidth=50GB/s or
> examples/machines/fat-tree.json: plans of dp and optcnn
>
> machine                          links    step    rate      MFU     sent  energy   memory
>     plan
> ring:16                           0.01  2.14 s     120    4.4 %  16.6 GB   242 J  2.11 GB
>     dp 16x1x1
> ring:16                           0.01  410 ms     624   23.1 %  1.81 GB   238 J  2.14 GB
>     optcnn, by layer
> ring:16                              1  198 ms  1.29 k   47.7 %  16.6 GB   242 J  2.11 GB
>     dp 16x1x1
> ring:16                              1  198 ms   1.3 k   47.9 %  2.68 GB   238 J  1.22 GB
>     optcnn, by layer
> torus:4x4,bandwidth=50GB/s        0.01   1.1 s     232    8.6 %  16.6 GB   242 J  2.11 GB
>     dp 16x1x1
> torus:4x4,bandwidth=50GB/s        0.01  255 ms     1 k   37.0 %  2.54 GB   238 J  1.36 GB
>     optcnn, by layer
> torus:4x4,bandwidth=50GB/s           1  198 ms  1.29 k   47.7 %  16.6 GB   242 J  2.11 GB
>     dp 16x1x1
> torus:4x4,bandwidth=50GB/s           1  197 ms   1.3 k*  48.1 %  2.79 GB   239 J   1.2 GB
>     optcnn, by layer
> examples/machines/fat-tree.json   0.01  4.22 s    60.7    2.2 %  16.6 GB   243 J  2.11 GB
>     dp 16x1x1
> examples/machines/fat-tree.json   0.01  721 ms     355   13.1 %  1.81 GB   239 J  2.14 GB
>     optcnn, by layer
> examples/machines/fat-tree.json      1  198 ms  1.29 k   47.7 %  16.6 GB   243 J  2.11 GB
>     dp 16x1x1
> examples/machines/fat-tree.json      1  199 ms  1.29 k   47.7 %  2.76 GB   239 J  1.21 GB
>     optcnn, by layer
>
> Most samples/s (*): 1.3 k of batch 256 on torus:4x4,bandwidth=50GB/s, links 1,
$ hypar explore vgg16 --on ring:16 --on examples/machines/fat-tree.json --batch 256 --planner optcnn --svg $TMP/machines.svg --json | grep -o '"machine": "[^"]*"'; grep -c fat-tree.json $TMP/machines.svg
> "machine": "ring:16"
> "machine": "examples/machines/fat-tree.json"
> 3
$ hypar explore vgg16 --on ring:8 --on torus:4x4 --planner dp --devices 8,16
> hypar: devices: 2 machines have their own, expected one machine, or figures of all (--bandwidth, --sweep)
? 2
$ hypar explore lenet-c --on htree:4 --on ring:4 --planner dp --joint --json | grep -o '"cost": "[a-z]*"'
> "cost": "simulated"

Machines of links one by one are swept, too: figures of their devices, and how fast their links are.
$ hypar explore vgg16 --on examples/machines/dgx1-v100.json --batch 64 --planner dp --sweep links=0.05,1 --sweep memory=1GB,16GB
> vgg16, batch 64, on 4 machines like examples/machines/dgx1-v100.json: plans of
> dp
>
> links  memory    step  rate      MFU     sent  energy   memory  plan
>  0.05     1GB       -     -        -        -       -        -  no plan: dp:
>                                                                 weights,
>                                                                 gradients and
>                                                                 sgd state need
>                                                                 1.11 GB on
>                                                                 device 0, which
>                                                                 has 1 GB; with
>                                                                 --shard
>                                                                 parameters they
>                                                                 need 138 MB
>  0.05    16GB  227 ms   282   20.9 %  7.75 GB  61.3 J  1.61 GB  dp 8x1x1
>     1     1GB       -     -        -        -       -        -  no plan: dp:
>                                                                 weights,
>                                                                 gradients and
>                                                                 sgd state need
>                                                                 1.11 GB on
>                                                                 device 0, which
>                                                                 has 1 GB; with
>                                                                 --shard
>                                                                 parameters they
>                                                                 need 138 MB
>     1    16GB  101 ms   635*  46.9 %  7.75 GB  61.3 J  1.61 GB  dp 8x1x1
>
> Most samples/s (*): 635 of batch 64 on 8 devices, links 1, memory 16GB.
> Rate: samples/s. Memory: of the fullest device, which has 16 GB. Plans: data x
> tensor x pipeline.
$ hypar explore vgg16 --on examples/machines/dgx1-v100.json --batch 64 --planner dp,hybrid --sweep fp32=8TFLOP/s,16TFLOP/s --csv - | cut -d, -f 1-5,15-17,25-
> machine,devices,batch,verdict,planner,memory_bytes,limit_bytes,best,idle_j,recomputed,sharded,interrupted,plan_of,fp32
> "examples/machines/dgx1-v100.json",8,64,fits,dp,1606211908,16000000000,0,0,0,none,0,dp,8000000000000
> "examples/machines/dgx1-v100.json",8,64,fits,hybrid,449009636,16000000000,0,0,0,gradients,0,hybrid,8000000000000
> "examples/machines/dgx1-v100.json",8,64,fits,dp,1606211908,16000000000,0,0,0,none,0,dp,16000000000000
> "examples/machines/dgx1-v100.json",8,64,fits,hybrid,740747588,16000000000,1,0,0,optimizer,0,hybrid,16000000000000

One class of listed links is swept alone: values are figures or factors. Twice the bandwidth of a global link is 100 GB/s.
$ hypar machines examples/machines/dragonfly.json | sed -n '/^class/,/^$/p'
> class   links  bandwidth  latency
> device     24    25 GB/s     1 us
> group      12    25 GB/s     1 us
> global      6    50 GB/s     2 us
>
$ hypar machines examples/machines/dragonfly.json --json | sed -n '/link_classes/,/^  .,/p'
>   "link_classes": [
>     {"name": "device", "links": 24, "least_bytes_per_s": 25000000000, "most_bytes_per_s": 25000000000, "least_latency_s": 1e-06, "most_latency_s": 1e-06},
>     {"name": "group", "links": 12, "least_bytes_per_s": 25000000000, "most_bytes_per_s": 25000000000, "least_latency_s": 1e-06, "most_latency_s": 1e-06},
>     {"name": "global", "links": 6, "least_bytes_per_s": 50000000000, "most_bytes_per_s": 50000000000, "least_latency_s": 2e-06, "most_latency_s": 2e-06}
>   ],
$ hypar explore vgg16 --on examples/machines/dragonfly.json --batch 192 --planner dp --sweep global.bandwidth=0.05x..0.1x,2x --sweep group.bandwidth=25GB/s,50GB/s
> vgg16, batch 192, on 6 machines like examples/machines/dragonfly.json: plans of
> dp
>
> global.bandwidth group.bandwidth   step   rate     MFU    sent energy  memory
>            0.05x          25GB/s 245 ms    782  19.3 % 25.5 GB  187 J 1.61 GB
>            0.05x          50GB/s 245 ms    782  19.3 % 25.5 GB  187 J 1.61 GB
>             0.1x          25GB/s 139 ms 1.38 k  33.9 % 25.5 GB  187 J 1.61 GB
>             0.1x          50GB/s 139 ms 1.38 k  33.9 % 25.5 GB  187 J 1.61 GB
>               2x          25GB/s 101 ms  1.9 k  46.9 % 25.5 GB  187 J 1.61 GB
>               2x          50GB/s 101 ms  1.9 k* 46.9 % 25.5 GB  187 J 1.61 GB
>
> Most samples/s (*): 1.9 k of batch 192 on 24 devices, global.bandwidth 2x,
> group.bandwidth 50GB/s.
> All plans: dp 24x1x1.
> Rate: samples/s. Memory: of the fullest device, which has 16 GB. Plans: data x
> tensor x pipeline.
$ for s in global.bandwidth=2x global.bandwidth=100GB/s; do hypar explore lenet5 --on examples/machines/dragonfly.json --batch 192 --planner dp --sweep $s --json | grep -o -e '"global[^}]*' -e '"step_s": [^,]*'; done
> "global.bandwidth": 2
> "step_s": 9.6670806e-05
> "global.bandwidth": 100000000000
> "step_s": 9.6670806e-05
$ hypar explore lenet5 --on examples/machines/dragonfly.json --batch 192 --planner dp --sweep global.latency=1us,2us --csv - | sed 's/.*,//'
> global.latency
> 1e-06
> 2e-06
$ hypar explore lenet5 --on examples/machines/dragonfly.json --sweep wan.latency=1us
> hypar: sweep: unknown class 'wan', expected one of device, group, global
? 3
$ hypar machines examples/machines/dragonfly.json -o $TMP/again.json -q; hypar machines $TMP/again.json | sed -n '/^class/,/^$/p'
> class   links  bandwidth  latency
> device     24    25 GB/s     1 us
> group      12    25 GB/s     1 us
> global      6    50 GB/s     2 us
>

The marks of a picture's axis stand at the values that were swept, those without room for their text are short lines.
$ hypar explore lenet5 --on full:4 --planner dp --sweep memory-bandwidth=200GB/s,300GB/s,450GB/s,900GB/s,910GB/s --svg $TMP/marks.svg -o $TMP/out; grep -o '>[0-9]* GB/s<' $TMP/marks.svg; grep -c 'y2="434"' $TMP/marks.svg
> >200 GB/s<
> >300 GB/s<
> >450 GB/s<
> >900 GB/s<
> 1
$ hypar explore lenet5 --on full:4 --planner dp --batch 48,100,6000 --svg $TMP/marks.svg -o $TMP/out; sed -n 's/.* y="448".*>\(.*\)<.text>/\1/p' $TMP/marks.svg
> 48
> 100
> 6000

Links of a topology that is not the machine's own are scaled, too.
$ hypar explore lenet-c --on cluster:2x4 --topology cluster,full --sweep links=0.5,2 --planner dp | grep ' us '
> cluster:2x4    0.5  333 us   769 k    8.4 %  24.1 MB  46.5 mJ  7.97 MB
> cluster:2x4      2  128 us  2.01 M   22.0 %  24.1 MB  46.5 mJ  7.97 MB
> full:8         0.5  166 us  1.54 M   16.9 %  24.1 MB  44.5 mJ  7.97 MB
> full:8           2   81 us  3.16 M*  34.6 %  24.1 MB  44.5 mJ  7.97 MB

More than three machines are counted, and of topologies there is nothing to know where none has many links.
$ hypar explore lenet5 --on ring:4 --on mesh:2x2 --on examples/machines/dgx1-v100.json --on ring:8 --planner dp,mp --batch 64 | sed -n '1p; /^Topologies/p'
> lenet5, batch 64, on 4 machines: plans of dp and mp
$ hypar explore lenet5 --on examples/machines/fat-tree.json --on examples/machines/dragonfly.json --planner dp --batch 64 | sed -n '1p; /^Topologies/p'
> lenet5, batch 64, on 2 machines like examples/machines/fat-tree.json or
$ hypar plan alexnet --on examples/machines/fat-tree.json --planner dp -q -o $TMP/tree.json && hypar simulate $TMP/tree.json | grep -m1 -o '^0 -> switch [0-9]*'
> 0 -> switch 16

What is compared by something else than what its planner looks at is told.
$ hypar explore lenet5 --on full:4 --planner hybrid --batch 64,128 --objective energy | grep -A1 '^Plans are'
> Plans are compared by energy, which the search of hybrid does not look at.

Several rings at a time are known of tori alone.
$ hypar explore lenet-c --on torus:2x4 --on ring:8 --batch 64 --planner dp --all-reduce multi-ring | grep -A 1 '^Topologies'
> Topologies: several rings at a time are known of tori by word alone (torus:4x4);
> other machines sum by one ring.

What is wrong with a machine comes before what is missing.
$ hypar explore lenet5 --on full:4,devcie=a100 2>&1; hypar explore lenet5 --on full:4 2>&1
> hypar: machine 'full:4,devcie=a100': unknown option 'devcie', did you mean device?
> hypar: explore: nothing to vary, expected --planner, --levels, --layers, --devices, --topology, --bandwidth, --sweep or a second --on
? 2

A row for each planner, whatever it is called: more planners add rows and lines, and change none.
$ for p in hypar,dp hypar,dp,optcnn hypar,dp,hybrid; do hypar explore lenet5 --on torus:2x2 --bandwidth 1GB/s,4GB/s --planner $p --csv $TMP/$p.csv --svg $TMP/$p.svg -o $TMP/$p; head -n 3 $TMP/$p | tail -n 1; grep -e hypar -e 'dp 4' $TMP/$p | sed 1d | grep -v Most; sed 's/^"[^"]*",//' $TMP/$p.csv | cut -d, -f2-4 | tr '\n' ' '; grep -c '<polyline' $TMP/$p.svg; done
> bandwidth     step   rate     MFU     sent   energy  memory  plan
>     1GB/s  83.3 us  384 k   1.5 %   381 kB  1.15 mJ  617 kB  hypar, by layer
>     1GB/s   193 us  166 k   0.7 %  1.48 MB   1.4 mJ  970 kB  dp 4x1x1
>     4GB/s  43.1 us  743 k*  3.0 %   381 kB  1.15 mJ  617 kB  hypar, by layer
>     4GB/s  53.2 us  601 k   2.4 %  1.48 MB   1.4 mJ  970 kB  dp 4x1x1
> devices,batch,verdict 32,fits,hypar 32,fits,dp 32,fits,hypar 32,fits,dp 2
> bandwidth     step    rate     MFU     sent   energy  memory  plan
>     1GB/s  83.3 us   384 k   1.5 %   381 kB  1.15 mJ  617 kB  hypar, by layer
>     1GB/s   193 us   166 k   0.7 %  1.48 MB   1.4 mJ  970 kB  dp 4x1x1
>     4GB/s  43.1 us   743 k   3.0 %   381 kB  1.15 mJ  617 kB  hypar, by layer
>     4GB/s  53.2 us   601 k   2.4 %  1.48 MB   1.4 mJ  970 kB  dp 4x1x1
> devices,batch,verdict 32,fits,hypar 32,fits,dp 32,fits,optcnn 32,fits,hypar 32,fits,dp 32,fits,optcnn 3
> bandwidth     step    rate     MFU     sent   energy  memory  plan
>     1GB/s  83.3 us   384 k   1.5 %   381 kB  1.15 mJ  617 kB  hypar, by layer
>     1GB/s   193 us   166 k   0.7 %  1.48 MB   1.4 mJ  970 kB  dp 4x1x1
>     4GB/s  43.1 us   743 k   3.0 %   381 kB  1.15 mJ  617 kB  hypar, by layer
>     4GB/s  53.2 us   601 k   2.4 %  1.48 MB   1.4 mJ  970 kB  dp 4x1x1
> devices,batch,verdict 32,fits,hypar 32,fits,dp 32,fits,hybrid 32,fits,hypar 32,fits,dp 32,fits,hybrid 3

Several machines are compared in samples/s: a fast one beats a slow one that gains more from its devices.
$ m="--on full:8,device=v100,bandwidth=1TB/s --on full:2,device=h100"; hypar explore vgg16 $m --batch 64 --planner dp --svg $TMP/two.svg | sed -n '/^machine/,/^Most/p'; grep -c '>samples/s<' $TMP/two.svg; hypar explore vgg16 $m --batch 64 --planner dp --cost simulated --svg $TMP/two.svg | sed -n '/^machine/,/^Gain/p'; grep -c '>samples/s<' $TMP/two.svg
> machine                             devices     step  rate   each     MFU     sent  energy   memory
>     plan
> full:8,device=v100,bandwidth=1TB/s        8   101 ms   635   79.4  46.9 %  7.75 GB  61.3 J  1.61 GB
>     dp 8x1x1
> full:2,device=h100                        2  95.2 ms   672*   336  46.6 %  1.11 GB   104 J   4.4 GB
>     dp 2x1x1
>
> Most samples/s (*): 672 of batch 64 on full:2,device=h100.
> 1
> machine                            choice    step  gain rate exchange energy
> full:8,device=v100,bandwidth=1TB/s dp      101 ms     1  635  7.75 GB 61.3 J
> full:2,device=h100                 dp     95.2 ms*    1  672  1.11 GB  104 J
>
> Gain over data parallel, rate in samples/s; *: the least time of a step.
> 1
$ m="--on full:8,device=v100,bandwidth=1TB/s --on full:2,device=h100"; for c in '' '--cost simulated'; do hypar explore vgg16 $m --batch 64 --planner dp $c --json | grep -o '"samples_per_s": [0-9]*'; hypar explore vgg16 $m --batch 64 --planner dp $c --csv - | grep -o ',[0-9]*\.[0-9]*,1,simulated' ; hypar explore vgg16 $m --batch 64 --planner dp $c --svg - | grep -o 'dp on full:[28][^<]*'; done
> "samples_per_s": 634
> "samples_per_s": 672
> dp on full:8,device=v100,bandwidth=1TB/s: 634.8
> dp on full:2,device=h100: 672.3
> "samples_per_s": 634
> "samples_per_s": 672
> ,634.8048541983832,1,simulated
> ,672.27120147665,1,simulated
> dp on full:8,device=v100,bandwidth=1TB/s: 634.8
> dp on full:2,device=h100: 672.3

Plans for a framework alone; choices level by level are no such plans.
$ hypar explore vgg11:image=32 --on full:2,device=h100 --devices 2,4 --planner dp,3d --for torch 2>/dev/null | head -2; hypar explore lenet5 --on full:2 --planner dp --levels H1 --for torch
> vgg11:image=32, batch 32, bf16 with fp32 gradients, adamw, on 2 machines like
> full:2,device=h100, for torch: plans of dp and 3d
> hypar: explore: --for is of whole plans and --levels of choices level by level, expected one of them
? 2
