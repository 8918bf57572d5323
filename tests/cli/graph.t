A graph written by hand: one number for all values of an attribute, parameters that are made where
true stands, dimensions counted from the end.
$ printf '{"format":"hypar-graph/1","name":"net","batch":4,"inputs":[{"name":"x","shape":[4,3,8,8]}],"ops":[{"name":"größe","kind":"conv","inputs":["x",true,true],"attrs":{"kernel":3,"pad":1,"out":2}},{"name":"both","kind":"concat","inputs":["größe","x"],"attrs":{"axis":-3}},{"name":"custom","kind":"opaque","inputs":["both"],"attrs":{"shape":[0,10],"flops":4000}}]}' > $TMP/net.json
$ hypar import $TMP/net.json
> operator  kind    output   params    FLOP  split along
> größe     conv    4x2x8x8      56  6.91 k  n=4 k=2 c=3 h=8 w=8
> both      concat  4x5x8x8                  n=4 c=5 h=8 w=8
> custom    opaque  4x10                2 k  n=4
>
> net: 56 parameters, 7.91 kFLOP per sample forward, 3 operators, 1 weighted
> layer, batch 4
$ hypar import $TMP/net.json -o - | grep -E 'kind|größe'
>     {"name": "größe.w", "shape": [2, 3, 3, 3]},
>     {"name": "größe.b", "shape": [2]}
>     {"name": "größe", "kind": "conv", "inputs": ["x", "größe.w", "größe.b"], "attrs": {"kernel": [3, 3], "stride": [1, 1], "pad": [1, 1, 1, 1], "dilation": [1, 1], "out": 2}},
>     {"name": "both", "kind": "concat", "inputs": ["größe", "x"], "attrs": {"axis": 1}},
>     {"name": "custom", "kind": "opaque", "inputs": ["both"], "attrs": {"shape": [0, 10], "flops": 4000}}

A graph of one layer.
$ printf '{"format":"hypar-graph/1","name":"one","batch":1,"inputs":[{"name":"x","shape":[1,8]}],"ops":[{"name":"fc","kind":"linear","inputs":["x"],"attrs":{"out":8}}]}' > $TMP/one.json
$ hypar import $TMP/one.json
> operator  kind    output  params  FLOP  split along
> fc        linear  1x8         64   128  n=1 k=8 c=8
>
> one: 64 parameters, 128 FLOP per sample forward, 1 operator, 1 weighted layer,
> batch 1

Slips are told with what was probably meant.
$ sed 's/"conv"/"conv2d"/' $TMP/net.json | hypar import -
> hypar: standard input: ops[0].kind: unknown operator kind 'conv2d', did you mean conv or concat? See 'hypar ops'
? 3
$ sed 's/"pad":1/"groups":1/' $TMP/net.json | hypar import -
> hypar: standard input: ops[0]: conv 'größe': unknown attribute 'groups' (of group_conv), expected one of kernel, stride, pad, dilation, out
? 3
$ sed 's/"pad":1/"padding":1/' $TMP/net.json | hypar import -
> hypar: standard input: ops[0].attrs.padding: unknown attribute, expected one of kernel, stride, pad, dilation, out
? 3
$ sed 's/"axis":-3/"axis":-5/' $TMP/net.json | hypar import -
> hypar: standard input: ops[1]: concat 'both': attribute 'axis' is -5, expected -4 to 3
? 3
$ sed 's/"kernel":3/"kernel":[3,3,3]/' $TMP/net.json | hypar import -
> hypar: standard input: ops[0]: conv 'größe': attribute 'kernel' has 3 values, expected 1 or 2
? 3
$ sed 's/"both"/"*"/g' $TMP/net.json | hypar import -
> hypar: standard input: ops[1].name: '*' stands for the rest in a plan, expected another name
? 3
$ sed 's/"both"/"a\\nb"/g' $TMP/net.json | hypar import -
> hypar: standard input: ops[1].name: 'a?b' has a control character, expected a name
? 3
$ sed 's/"x",true,true/true,true/' $TMP/net.json | hypar import -
> hypar: standard input: ops[0]: conv 'größe': input 0 is no parameter that could be made
? 3

A plan that lies in another folder may name a machine with a bandwidth, or a file beside it.
$ mkdir $TMP/sub; hypar machines ring:2 -q -o $TMP/sub/ring; sed 's|full:2|full:2,bandwidth=5GB/s|' tests/cli/plan.json > $TMP/sub/plan.json; hypar check $TMP/sub/plan.json
> ok: mlp:4-4, batch 8: 2 operators in 4 parts on a machine of 2 devices
> Run as compiled on v100, the default device
> memory: 404 B of 16 GB on the fullest device
$ sed 's|full:2|ring|' tests/cli/plan.json > $TMP/sub/plan.json; hypar check $TMP/sub/plan.json
> hypar: $TMP/sub/plan.json: machine: machine 'ring': ring has no size, expected ring:8
? 3
$ sed 's|full:2|./ring|' tests/cli/plan.json > $TMP/sub/plan.json; hypar check $TMP/sub/plan.json
> ok: mlp:4-4, batch 8: 2 operators in 4 parts on a machine of 2 devices
> Run as compiled on v100, the default device
> memory: 404 B of 16 GB on the fullest device
$ hypar check tests/cli/plan.json --on $TMP/sub/ring
> ok: mlp:4-4, batch 8: 2 operators in 4 parts on a machine of 2 devices
> Run as compiled on v100, the default device
> memory: 404 B of 16 GB on the fullest device
$ cd $TMP/sub; mv ring my-machine; hypar machines my-machine | head -n 1
> ring:2: ring, 2 devices, 0 switches, 1 link

A parameter may have the name that an operator's statistics have: those take another.
$ printf '{"format": "hypar-graph/1", "name": "rms", "batch": 2, "inputs": [{"name": "x", "shape": [2, 4]}], "params": [{"name": "a.g", "shape": [4]}], "ops": [{"name": "a", "kind": "rms_norm", "inputs": ["x", "a.g"]}, {"name": "loss", "kind": "mse_loss", "inputs": ["a", "x"]}]}' > $TMP/rms.json; hypar import $TMP/rms.json && hypar plan $TMP/rms.json --on full:1 --planner dp -q -o $TMP/rms-plan.json && hypar check $TMP/rms-plan.json | head -1
> operator  kind      output  params  FLOP  split along
> a         rms_norm  2x4          4        n=2 c=4
> loss      mse_loss  scalar                n=2 c=4
>
> rms: 4 parameters, 0 FLOP per sample forward, 2 operators, 0 weighted layers,
> batch 2
> ok: rms, batch 2: 2 operators in 2 parts on a machine of 1 device
