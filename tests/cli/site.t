Machines and devices of the site, which are named without a path. The user's files come first.
$ mkdir -p $TMP/home/hypar/machines $TMP/etc/hypar/machines $TMP/etc/hypar/devices $TMP/here/test
$ hypar machines cluster:4x8,device=h100,node3.peak=0.8x -q -o $TMP/etc/hypar/machines/prod.json
$ hypar machines ring:4 -q -o $TMP/etc/hypar/machines/test.json
$ hypar machines ring:2 -q -o $TMP/home/hypar/machines/test.json
$ echo '{"format": "hypar-machine/1", "topology": "rung"}' > $TMP/etc/hypar/machines/bad.json
$ cp $TMP/etc/hypar/machines/test.json $TMP/etc/hypar/machines/ring.json
$ echo '{"format": "hypar-device/1", "name": "ours", "fp32_op_per_s": 1e13, "memory_bytes": 2e10, "memory_bytes_per_s": 1e12, "bytes_per_s": 1e10}' > $TMP/etc/hypar/devices/our-card.json
$ printf 'XDG_CONFIG_HOME=$TMP/home XDG_CONFIG_DIRS=relative:$TMP/etc exec hypar "$@"\n' > $TMP/site

A bad file is one line of the list, and so is one whose name a topology has.
$ sh $TMP/site machines | sed -n '/this site/,/^$/p'
> machine of this site
> bad                            -
>     $TMP/etc/hypar/machines/bad.json: topology: unknown
>     topology 'rung', did you mean ring?
> prod                  32 devices
>     $TMP/etc/hypar/machines/prod.json
> ring                           -
>     $TMP/etc/hypar/machines/ring.json: has the name of a
>     topology, expected another name; --on takes its path
> test                   2 devices
>     $TMP/home/hypar/machines/test.json
>
> device of this site
> our-card             $TMP/etc/hypar/devices/our-card.json
>
$ sh $TMP/site machines --json | sed -n '/site_machines/,$p'
>   "site_machines": [
>     {"name": "bad", "path": "$TMP/etc/hypar/machines/bad.json", "error": "$TMP/etc/hypar/machines/bad.json: topology: unknown topology 'rung', did you mean ring?"},
>     {"name": "prod", "path": "$TMP/etc/hypar/machines/prod.json", "devices": 32},
>     {"name": "ring", "path": "$TMP/etc/hypar/machines/ring.json", "error": "$TMP/etc/hypar/machines/ring.json: has the name of a topology, expected another name; --on takes its path"},
>     {"name": "test", "path": "$TMP/home/hypar/machines/test.json", "devices": 2}
>   ],
>   "site_devices": [
>     {"name": "our-card", "path": "$TMP/etc/hypar/devices/our-card.json"}
>   ]
> }

$ sh $TMP/site machines prod | head -n 1
> cluster:4x8,device=h100,node3.peak=0.8x: cluster, 32 devices, 5 switches, 64 links
$ sh $TMP/site machines test | head -n 1
> ring:2: ring, 2 devices, 0 switches, 1 link
A folder of that name is no machine file; a file here goes first.
$ cd $TMP/here && sh $TMP/site machines test | head -n 1
> ring:2: ring, 2 devices, 0 switches, 1 link
$ cp $TMP/etc/hypar/machines/test.json $TMP/here/prod; cd $TMP/here && sh $TMP/site machines prod | head -n 1
> ring:4: ring, 4 devices, 0 switches, 4 links
$ sh $TMP/site plan lenet5 --on test --batch 8 -p dp -q -o $TMP/plan.json && grep '"machine"' $TMP/plan.json
>   "machine": "ring:2",
$ sed 's/"machine": "ring:2"/"machine": "test"/' $TMP/plan.json > $TMP/by-hand.json; sh $TMP/site simulate $TMP/by-hand.json | head -n 1
> lenet5, batch 8, fp32, on 2 devices: a step takes 12.1 us
$ sh $TMP/site machines ring:2,device=our-card | head -n 4
> machine: ring, 2 devices, 0 switches, 1 link
>
> devices   fp32/s  fp16/s  bf16/s  memory  bytes/s
> 2 x ours    10 T   ~10 T   ~10 T   20 GB   1 TB/s
$ echo '{"format": "hypar-machine/1", "topology": "ring", "shape": [2], "device": "our-card"}' > $TMP/m.json; sh $TMP/site machines $TMP/m.json | head -n 4
> machine: ring, 2 devices, 0 switches, 1 link
>
> devices   fp32/s  fp16/s  bf16/s  memory  bytes/s
> 2 x ours    10 T   ~10 T   ~10 T   20 GB   1 TB/s

$ sh $TMP/site machines bad
> hypar: $TMP/etc/hypar/machines/bad.json: topology: unknown topology 'rung', did you mean ring?
? 3
$ sh $TMP/site plan lenet5 --on prdo
> hypar: machine 'prdo': unknown topology or machine 'prdo', did you mean prod?
? 3
$ sh $TMP/site plan lenet5 --on ring
> hypar: machine 'ring': ring has no size, expected ring:8
? 3
$ sh $TMP/site plan lenet5 --on ..prod
> hypar: machine '..prod': unknown topology or machine '..prod', did you mean prod?
? 3
$ sh $TMP/site plan lenet5 --on ../machines/prod
> hypar: ../machines/prod: cannot open: No such file or directory
? 3
$ sh $TMP/site machines ring:2,device=our-crad
> hypar: machine 'ring:2,device=our-crad': unknown device 'our-crad', did you mean our-card?
? 3
$ sh $TMP/site machines ring:2,device=../devices/our-card 2>&1 | cut -c-100
> hypar: machine 'ring:2,device=../devices/our-card': unknown device '../devices/our-card', expected o
$ sh $TMP/site completion machines
> bad
> prod
> ring
> test
$ sh $TMP/site completion devices
> our-card
$ hypar completion machines
