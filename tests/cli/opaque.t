An operator that nobody knows is simulated as what it reads and writes, and the report says what
rests on that.
$ printf '{"format":"hypar-graph/1","name":"net","batch":64,"inputs":[{"name":"x","shape":[64,256]},{"name":"y","shape":[64],"index":true}],"ops":[{"name":"f","kind":"linear","inputs":["x",true,true],"attrs":{"out":512}},{"name":"o","kind":"opaque","inputs":["f"],"attrs":{"shape":[0,512]}},{"name":"g","kind":"linear","inputs":["o",true,true],"attrs":{"out":10}},{"name":"loss","kind":"cross_entropy","inputs":["g","y"]}]}' > $TMP/net.json
$ hypar plan $TMP/net.json --on htree:4 --planner dp -o $TMP/dp.json | grep -E 'Predicted|Opaque'
> Predicted step 4.16 ms, simulated (the busiest device computes 111 us of it),
> Opaque: 1 operator, 0.5 % of what is computed, as long as their tensors are read
$ hypar simulate $TMP/dp.json | grep -A1 -E 'Opaque|Memory'
> Opaque    1 operator, 0.5 % of what is computed, as long as their tensors are
>           read and written once
> Memory    1.24 MB of 8 GB (0.0 %) on device 0, the fullest: parameters 547 kB,
>           gradients 547 kB, activations 81.9 kB, buffers 66.2 kB; it fits
$ hypar simulate $TMP/dp.json --json | grep opaque
>   "opaque": {"operators": 1, "measured": 0, "share": 0.004592692162052353},
$ hypar simulate $TMP/dp.json --check-delta 50 | head -1
> 50 changes of one operator, in full and by delta: no mismatch
$ hypar compare $TMP/net.json --on htree:4 --planner dp --planner hypar --planner optcnn | tail -4
> Run as compiled on eyeriss-hmc, the default device
> Not calibrated, no such step was measured: expect 269 us to 689 us.
> Opaque: in its plan 1 operator, 0.5 % of what is computed, as long as their
> tensors are read and written once.
$ hypar check $TMP/dp.json
> ok: net, batch 64: 4 operators in 16 parts on a machine of 4 devices
> Run as compiled on eyeriss-hmc, the default device
> memory: 1.24 MB of 8 GB on the fullest device
$ hypar train $TMP/dp.json
> hypar: $TMP/dp.json: opaque 'o' cannot be run: it has no kernel
? 3

What autograd saves inside of it is there under a framework that runs operator by operator: of each of 16 samples
1,000 numbers of 4 bytes, and 24 bytes.
$ sed 's/"shape":.0,512../"shape":[0,512],"saved":1000,"saved_bytes":24}/' $TMP/net.json > $TMP/saved.json
$ for as in eager compiled; do for net in net saved; do hypar plan $TMP/$net.json --on htree:4 --planner dp --as $as -qo $TMP/$net-plan.json; hypar simulate $TMP/$net-plan.json --json | grep -o '"saved_bytes": [0-9]*' | head -1; done; done
> "saved_bytes": 82820
> "saved_bytes": 147204
> "saved_bytes": 82756
> "saved_bytes": 82756

One that was measured takes what was measured, in proportion to the samples: a quarter of 3 s.
$ sed 's/"shape":.0,512../"shape":[0,512],"forward_s":1,"backward_s":2}/' $TMP/net.json > $TMP/measured.json
$ hypar plan $TMP/measured.json --on htree:4 --planner dp -o $TMP/dp.json | grep -E 'Predicted|Opaque'
> Predicted step 754 ms, simulated (the busiest device computes 750 ms of it),
> Opaque: 1 operator, 100.0 % of what is computed, as measured.

Parameters that are no tensors are not known to whoever sums gradients.
$ sed 's/"backward_s":2/"backward_s":2,"parameter_bytes":8/' $TMP/measured.json > $TMP/own.json
$ hypar compare $TMP/own.json --on htree:4 --planner optcnn
> net, batch 64, on 4 devices
>
> planner  step  over dp  sent  memory  energy  search
> optcnn      -        -     -       -       -       -  no plan
> optcnn: opaque 'o' has parameters of its own, expected them among its inputs
>
> No plan could be simulated.
> hypar: opaque 'o' has parameters of its own, expected them among its inputs
? 3
