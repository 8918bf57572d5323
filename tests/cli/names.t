Names and paths are UTF-8, and tables line up with them.
$ sed 's/node2/größe/g' tests/data/pipedream/chain.txt > $TMP/épreuve.txt
$ hypar import $TMP/épreuve.txt
> operator  kind    output          params  FLOP  split along
> größe     opaque  1x20000000     100,000        n=1
> node3     opaque  1x20000000                    n=1
> node4     opaque  1x5000000      200,000        n=1
> node5     opaque  1x500000    15,000,000        n=1
> node6     opaque  1x125000     4,000,000        n=1
>
> épreuve: 19,300,000 parameters, 0 FLOP per sample forward, 5 operators, 0
> weighted layers, batch 1
$ hypar plan $TMP/épreuve.txt --on full:2 -p pipedream | head -4
> épreuve, batch 1, on 2 devices: planner pipedream
>
> stage operators        replicas  time in flight weights activations memory
>     0 größe ..     (2)        1 36 ms         2  400 kB      160 MB 321 MB
$ printf '%s' '{"format": "hypar-graph/1", "name": "净", "batch": 8, "inputs": [{"name": "x", "shape": [8, 4]}, {"name": "target", "shape": [8], "index": true}], "ops": [{"name": "层一", "kind": "linear", "inputs": ["x"], "attrs": {"out": 6}}, {"name": "é", "kind": "linear", "inputs": ["层一"], "attrs": {"out": 4}}, {"name": "loss", "kind": "cross_entropy", "inputs": ["é", "target"]}]}' > $TMP/净.json
$ hypar plan $TMP/净.json --on htree:4 -p hypar -o $TMP/plän.json | sed '/Searched/d'
> 净, batch 8, on 4 devices: planner hypar
>
>      层一 é
> H1   dp   dp
> H2   dp   dp
>
> level   ways    hypar       dp       mp      owt
> H1         2    384 B    384 B    832 B    832 B
> H2         2    768 B    768 B  1.47 kB  1.47 kB
> all           1.15 kB  1.15 kB   2.3 kB   2.3 kB
> exact         1.18 kB  1.18 kB  1.92 kB  1.56 kB
> state           384 B    384 B    112 B    112 B
> memory          556 B    556 B    564 B    660 B
> step          1.47 us  1.47 us  2.41 us  1.96 us
>
> Levels as the paper counts them: fp32, both directions, every group. Exact: what
> the plan's program sends, each byte once (hypar lower). Memory and step:
> simulated. The plan of owt splits outputs (k) where its levels count mp.
> Run as compiled on eyeriss-hmc, the default device
> Predicted step 1.47 us, simulated (the busiest device computes 8.37 ns of it),
> 5.43 M samples/s, 0.5 % of peak, 1.65 uJ by counted operations; 1.18 kB sent,
> 3.53 kB on links; 556 B of 8 GB of memory on the fullest device.
> Not calibrated, no such step was measured: expect 921 ns to 2.36 us.
> In closed form 1.45 us: compute 7.57 ns, exchange 1.44 us, no overlap.
> Lower bound 5.62 ns (mostly arithmetic): no plan is faster by this model of the
> device; this step takes 262 times as long.
$ hypar check $TMP/plän.json
> ok: 净, batch 8: 3 operators in 12 parts on a machine of 4 devices
> Run as compiled on eyeriss-hmc, the default device
> memory: 556 B of 8 GB on the fullest device
$ hypar check $TMP/plän.json --on "füll:4"
> hypar: $TMP/plän.json: machine: machine 'füll:4': unknown topology 'füll', did you mean full?
? 3

What is no UTF-8, or commands a terminal, is not shown.
$ printf 'a\351b -- Input -- forward_compute_time=1, backward_compute_time=1, activation_size=1, parameter_size=0\n' > $TMP/bad.txt; hypar import $TMP/bad.txt
> hypar: $TMP/bad.txt:1: 'a?b -- Input -- forward_compute_time=1, backward_compute_tim', expected text in UTF-8
? 3
$ printf 'a\302\233b -- Input -- forward_compute_time=1, backward_compute_time=1, activation_size=1, parameter_size=0\n' > $TMP/bad.txt; hypar import $TMP/bad.txt
> hypar: $TMP/bad.txt:1: 'a?b -- Input -- forward_compute_time=1, backward_compute_ti', expected text in UTF-8
? 3
$ hypar check "$(printf 'a\033[31m\302\233\342\200\256\377é')"
> hypar: a?[31m???é: cannot open: No such file or directory
? 3
$ hypar plan mlp:4-4 --on full:2 --"$(printf 'x\033[31m=\033')"
> hypar: plan: unknown option '--x?[31m'; see 'hypar plan --help'
? 2
$ hypar plan mlp:4-4 --on full:2 -p "$(printf 'd\303\251\033')"
> hypar: unknown planner 'dé?', expected one of auto, dp, mp, owt, hypar, accpar, optcnn, 1f1b, gpipe, zb-h1, zb-h2, pipedream, hybrid, 3d, flexflow, exhaustive
? 2
$ cp tests/cli/plan.json "$TMP/$(printf 'p\033')"; hypar compare "$TMP/$(printf 'p\033')" | cat -v | tail -2
> Run as compiled on v100, the default device
> Not calibrated, no such step was measured: expect 628 ns to 1.61 us.
$ hypar compare "$TMP/$(printf 'p\033')" --csv - | cat -v | tail -1 | cut -d , -f 1
> "$TMP/p?"
$ sed 's/mlp:4-4/\\u001b[31m\\u202e/' tests/cli/plan.json | hypar simulate - --model mlp:4-4 | cat -v | head -1
> mlp:4-4, batch 8, fp32, on 2 devices: a step takes 1 us
$ printf '{"format": "hypar-machine/1", "devices": ["k80", {"name": "\\u009b", "fp32_op_per_s": 1, "memory_bytes": 1, "memory_bytes_per_s": 1}], "links": []}' > $TMP/m.json; hypar machines $TMP/m.json
> hypar: $TMP/m.json: devices[1].name: '?' has a control character, expected a name
? 3

A graph of a file is called by its own name in all headings, with the file's where that is another.
$ hypar plan examples/models/mlp.json --on full:2 --planner dp -o $TMP/hand.json | head -n 1
> mlp by hand (mlp.json), batch 32, on 2 devices: planner dp
$ hypar explain $TMP/hand.json | head -n 1
> mlp by hand (mlp.json), batch 32, fp32, on 2 devices: a step takes 74.7 us
$ hypar compare $TMP/hand.json | head -n 1
> mlp by hand, batch 32, on 2 devices

Slips of names are told what was meant.
$ hypar plan lenet5 --on full:2 --planner hpyar
> hypar: unknown planner 'hpyar', did you mean hypar?
? 2
$ hypar plan lenet5 --on full:2 --planner flexflw
> hypar: unknown planner 'flexflw', did you mean flexflow?
? 2
$ hypar plan lenet5 --on tours:2x2
> hypar: machine 'tours:2x2': unknown topology 'tours', did you mean torus?
? 3
$ hypar plan lenet5 --on full:2,device=h10
> hypar: machine 'full:2,device=h10': unknown device 'h10', did you mean h100, h100-pcie, h100-nvl?
? 3
$ hypar plan lenet5 --on full:2,bandwith=1GB/s
> hypar: machine 'full:2,bandwith=1GB/s': unknown option 'bandwith', did you mean bandwidth?
? 3
$ hypar plan lente5 --on full:2
> hypar: unknown model 'lente5', did you mean lenet5 or lenet-c?
? 3
$ hypar plan gpt2-medium --on full:2
> hypar: unknown model 'gpt2-medium', did you mean gpt2 or gpt2-xl?
? 3
$ hypar plan resnet18:imgae=64 --on full:2
> hypar: resnet18:imgae=64: unknown option 'imgae', did you mean image?
? 3
$ hypar ops conf
> hypar: unknown operator 'conf', did you mean conv?
? 3
$ hypar plan lenet5 --on full:2 --planner best
> hypar: unknown planner 'best', expected one of auto, dp, mp, owt, hypar, accpar, optcnn, 1f1b, gpipe, zb-h1, zb-h2, pipedream, hybrid, 3d, flexflow, exhaustive
? 2
