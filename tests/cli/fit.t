A device's figures from measurements. Collectives decide those of its links; one row is far off.
$ hypar fit tests/cli/all-reduce.csv --device t4 -o $TMP/mine.json
> hypar: note: intra_efficiency is 1, the most that it can be: rows are faster
>        than the peaks and bandwidths of 't4' allow; are bytes and units what
>        they are taken for?
> measured: all-reduce.csv, 13 rows, median error 11.5 %; begun from t4
>
> constant          before  after      +-  rows
> intra_efficiency     0.8      1  10.2 %     8
> as before, for want of rows that decide: comm_latency_s, copy_bytes_per_s,
> link_efficiency, inter_efficiency, latency_s, inter_latency_s
>
> error of    rows  before  worst   after    mean    95 %  worst
> all           13  32.2 %   4.6x  11.5 %  28.1 %  86.9 %  5.65x
>   held out                       11.5 %  28.1 %  86.9 %  5.65x
> all-reduce    13  32.2 %   4.6x  11.5 %  28.1 %  86.9 %  5.65x
>   held out                       11.5 %  28.1 %  86.9 %  5.65x
>
> more than 2 times off        row                      measured  predicted  times
> tests/cli/all-reduce.csv:15  all-reduce of 4            9.9 ms    1.75 ms   5.65
>                              devices, 16777216 bytes
> 1 row was too far off to be fitted
$ grep -E 'format|name|source|"latency_s' $TMP/mine.json | cut -c1-18
>   "format": "hypar
>   "name": "mine",
>   "source": "measu
>   "latency_s": 2e-
$ hypar machines cluster:1x4,device=$TMP/mine.json
> machine: cluster, 4 devices, 1 switch, 4 links
>
> devices   fp32/s  fp16/s  bf16/s  memory   bytes/s
> 4 x mine   8.1 T    65 T   8.1 T   16 GB  320 GB/s
>
> level  ways  bandwidth  latency
> H1        2  31.5 GB/s  37.5 us
> H2        2  15.8 GB/s  37.5 us
>
> links
> intra             15.8 GB/s  cluster: of each device into its node's switch
> inter             6.25 GB/s  cluster: of each network card of a node
> rails                     0  cluster: card i of every node is at its device i,
>                              on switch i
> nics                      1  cluster: network cards of a node
> intra-efficiency          1  cluster: the same of links inside a node
> inter-efficiency       0.94  cluster: the same of network cards
> latency                2 us  of each link
> inter-latency          4 us  cluster: of each link between nodes
> nvls                      0  cluster: switches inside a node sum for all-reduces
> sharp                     0  cluster: switches between nodes sum for all-reduces
> nccl                      0  cluster: collectives by NCCL's algorithms alone
> leaf                      0  cluster: nodes of a leaf switch (0: one switch for
>                              all nodes)
> oversubscription          1  cluster: the bandwidth into a leaf switch over that
>                              above it
> energy                10 pJ  of each bit on each link
>
> mine
> fp32                        8.1 TFLOP/s  peak of 32-bit arithmetic
> fp64                        254 GFLOP/s  peak of 64-bit arithmetic
> bf16                        8.1 TFLOP/s  peak in bfloat16
> fp16                         65 TFLOP/s  peak of 16-bit arithmetic
> tf32                        8.1 TFLOP/s  peak of 32-bit arithmetic by matrix
>                                          units
> efficiency                         0.62  share of the peak that large products
>                                          reach
> memory                            16 GB  memory of a device
> usable-memory                   15.6 GB  of this, as the driver tells programs
>                                          (0: all)
> context-memory                   450 MB  that the driver's context and loaded
>                                          kernels take (0: no framework runs
>                                          here)
> workspace-memory                8.52 MB  that products work in, for each handle
>                                          and stream
> memory-bandwidth               320 GB/s  between a device and its memory
> dram-energy                      408 pJ  energy of a 32-bit access to the
>                                          device's memory
> idle-power                         15 W  that a device takes all the time,
>                                          computing or waiting, besides (0: not
>                                          counted)
> power-limit                        70 W  that kernels which need more power must
>                                          keep to (0: none)
> busy-power                       30.1 W  that running kernels take, whatever
>                                          they do (0: idle-power)
> bf16-energy                      1.5 pJ  the same in 16 bits
> reduction-length                     76  of products: summed over so many, they
>                                          run at half that share
> output-length                       108  likewise for results of so many rows or
>                                          columns
> unaligned-efficiency              0.137  of products with rows that are no
>                                          multiples of 4 bytes (0: 1)
> stream-efficiency                 0.766  share of memory-bandwidth of
>                                          element-wise kernels (0: 1)
> product-efficiency                0.784  of kernels that do products (0: 1)
> row-efficiency                    0.463  of kernels that reduce, but not along
>                                          samples (0: 1)
> column-efficiency                 0.074  of kernels that reduce along samples
>                                          (0: 1)
> compiled-column-efficiency         0.59  of these as a framework compiles them
>                                          (0: the same)
> window-efficiency                 0.072  of kernels that slide a window or
>                                          exchange dimensions (0: 1)
> scatter-efficiency                0.037  of kernels that add into rows which are
>                                          looked up (0: 1)
> column-sums                    1.45e+03  of reductions along samples: with so
>                                          many sums they stream at half the rate
>                                          (0: at all of it)
> attention-efficiency               0.68  share of dense products' rate of fused
>                                          attention, forward (0: as products)
> attention-backward                 0.58  the same of the backward half
> attention-width                      62  heads of this width reach half that
>                                          share
> attention-keys                      200  fixed cost of a query, as a number of
>                                          additional keys
> attention-causal                    1.1  under causal attention: multiply the
>                                          keys that a query reads by this (0: 1)
> kernel-time                     1.61 us  that every kernel takes besides
> reduction-time                  1.48 us  that kernels which multiply or reduce
>                                          take besides
> column-time                     5.76 us  that kernels which reduce along samples
>                                          take besides
> summed-time                     1.98 ns  of products, for each of up to 2,048
>                                          that they sum over
> vector-rate                 1.3 TFLOP/s  of arithmetic element by element (0:
>                                          efficiency times the peak)
> eager-launch                      26 us  that the host takes to launch a kernel,
>                                          one by one
> compiled-launch                    1 us  likewise, captured by a framework that
>                                          compiles
> comm-latency                    33.5 us  of every comm, besides its messages
> copy-bandwidth                 320 GB/s  of a device's own copies of what a comm
>                                          moves (0: not counted)
> 0, without effect: fp8, add-energy, multiply-energy, sram-energy, fp64-energy,
> fp32-energy, tf32-energy, fp8-energy, vector-energy, flash2-share, comm-share,
> jitter
> From: measured: all-reduce.csv, 13 rows, median error 11.5 %; begun from t4
> Not calibrated: a step may take 0.62 to 1.6 times the prediction, one that is
> all convolutions from 0.29 times.
$ hypar machines cluster:1x4,device=$TMP/mine.json,latency=1us | grep '^H'
> H1        2  31.5 GB/s  35.5 us
> H2        2  15.8 GB/s  35.5 us
The same as JSON; a further fit begins where the first one ended.
$ hypar fit tests/cli/all-reduce.csv --device $TMP/mine.json --json | grep -E '"(device|source|name)": "(latency_s|mine|measured)' | cut -c1-44
>   "device": "mine",
>   "source": "measured: all-reduce.csv, 13 ro
>     {"name": "latency_s", "before": 2e-06, "
Operators are named by the extents of their axes; what rows do not decide stays, and is named.
$ printf 'op,shape,pass,us,precision\nlinear,n=8192 c=768 k=2304,y,47.57,bf16\nidentity,n=8 c=4,y,1,bf16\n' | hypar fit - --device t4 2>/dev/null | grep -E '^these|left out|^measured:'
> measured: standard input, 1 row, median error 1.4e+04 %; begun from t4
> these rows decide no figure
> 1 row costs nothing here: left out
With nothing decided no device is written.
$ printf 'op,shape,pass,us,precision\nidentity,n=8 c=4,y,1,bf16\nlinear,n=8192 c=768 k=2304,y,47.57,bf16\n' | hypar fit - --device t4 -q -o $TMP/none.json; echo $?; ls $TMP/none.json 2>/dev/null
> hypar: fit: these rows decide no figure of 't4'
> 1
? 2
Columns of the same are not both taken.
$ printf 'op,shape,pass,us,US\nlinear,n=8 c=4 k=2,y,1,1\n' | hypar fit - --device t4
> hypar: standard input:1: two columns 'US', expected one
? 3
$ printf '# a table\nop,shape,pass,us,seconds\nlinear,n=8 c=4 k=2,y,1,1e-6\n' | hypar fit - --device t4
> hypar: standard input:2: columns 'seconds' and 'us' tell the same, expected one of them
? 3
$ printf 'collective,devices,gpus,bytes,seconds\nall-reduce,2,4,1e6,1e-4\n' | hypar fit - --device t4
> hypar: standard input:1: columns 'devices' and 'gpus' tell the same, expected one of them
? 3
A plan keeps the figures of a device file, which it does not need any more.
$ cd $TMP && hypar plan mlp:16-16 --on cluster:1x2,device=mine.json -o plan.json -q && rm mine.json && hypar check plan.json | head -1
> hypar: note: 1 of 2 devices has nothing to do
> ok: mlp:16-16, batch 32: 2 operators in 2 parts on a machine of 2 devices

What makes the figures doubtful is told: collectives of several nodes alone, units that are not what they are taken for.
$ printf 'collective,devices,bytes,us,machine\nall_reduce,16,1048576,150.4,cluster:2x8\nall_reduce,16,4194304,222.3,cluster:2x8\nall_reduce,16,16777216,522.3,cluster:2x8\nall_reduce,16,67108864,1722,cluster:2x8\nall_reduce,16,268435456,6317,cluster:2x8\n' > $TMP/nodes.csv; hypar fit $TMP/nodes.csv --device h100 -o $TMP/nodes.json
> hypar: note: all collectives are of several nodes, which do not tell links
>        inside a node from those between them: give a table of one node, too
> measured: nodes.csv, 5 rows, median error 1.01 %; begun from h100
>
> constant           before    after     +-  rows
> comm_latency_s    33.5 us  63.8 us  2.4 %     3
> intra_efficiency     0.96    0.187  0.9 %     5
> as before, for want of rows that decide: copy_bytes_per_s, link_efficiency,
> inter_efficiency, latency_s, inter_latency_s
>
> error of    rows  before  worst  after   mean   95 %  worst
> all            5  58.6 %  4.27x  1.0 %  0.8 %  1.1 %  1.01x
> all-reduce     5  58.6 %  4.27x  1.0 %  0.8 %  1.1 %  1.01x
>
> no row is more than 2 times off
$ printf 'collective,devices,bytes,us\nall_reduce,8,1048576,60.4\nall_reduce,8,4194304,80.1\nall_reduce,8,16777216,152.3\nall_reduce,8,67108864,412.1\nall_reduce,8,268435456,1317\n' > $TMP/node.csv; hypar fit $TMP/node.csv $TMP/nodes.csv --device h100 | sed -n '/^constant/,/^as/p'
> constant           before    after      +-  rows
> comm_latency_s    33.5 us  22.6 us  20.9 %     4
> intra_efficiency     0.96     0.96   4.1 %     6
> inter_efficiency     0.94    0.116   3.3 %     5
> latency_s          2.5 us  4.73 us  12.2 %     7
> as before, for want of rows that decide: copy_bytes_per_s, link_efficiency,
$ sed 's/us$/seconds/' $TMP/node.csv > $TMP/wrong.csv; hypar fit $TMP/wrong.csv --device h100 -o $TMP/wrong.json --json | sed -n '/doubts/,/]/p'
> hypar: note: half of the rows are off by 100 % or more, whatever figures 'h100'
>        has: are bytes and units what they are taken for?
>   "doubts": [
>     "half of the rows are off by 100 % or more, whatever figures 'h100' has: are bytes and units what they are taken for?"
>   ],
$ sed 's/us$/ms/' $TMP/node.csv > $TMP/wrong.csv; hypar fit $TMP/wrong.csv --device h100 -o $TMP/wrong.json
> hypar: note: these rows hardly tell copy_bytes_per_s from intra_efficiency: they
>        feel both in one proportion, so that one may stand for the other
> hypar: note: comm_latency_s is 33 ms, 986 times what it was, copy_bytes_per_s is
>        851 MB/s, 0.000254 times what it was, intra_efficiency is 0.0017, 0.00178
>        times what it was, latency_s is 3.47 ms, 1.39e+03 times what it was: are
>        bytes and units what they are taken for?
> measured: wrong.csv, 5 rows, median error 0.0425 %; begun from h100
>
> constant             before     after      +-  rows
> comm_latency_s      33.5 us     33 ms   7.2 %     3
> copy_bytes_per_s  3.35 TB/s  851 MB/s  18.8 %     4
> intra_efficiency       0.96    0.0017  18.9 %     4
> latency_s            2.5 us   3.47 ms   9.3 %     4
> as before, for want of rows that decide: link_efficiency, inter_efficiency,
> inter_latency_s
>
> error of    rows  before     worst  after   mean   95 %  worst
> all            5  99.9 %  1.1e+03x  0.0 %  1.3 %  6.4 %  1.07x
> all-reduce     5  99.9 %  1.1e+03x  0.0 %  1.3 %  6.4 %  1.07x
>
> no row is more than 2 times off
