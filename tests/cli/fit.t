A device's figures from measurements. Collectives decide those of its links; one row is far off.
$ hypar fit tests/cli/all-reduce.csv --device t4 -o $TMP/mine.json
> measured: all-reduce.csv, 13 rows, median error 1.58 %; begun from t4
>
> constant          before    after      +-  rows
> comm_latency_s       0 s  10.4 us  14.0 %     7
> intra_efficiency       1        1   2.6 %     9
> latency_s           2 us  4.98 us   9.6 %     9
> as before, for want of rows that decide: copy_bytes_per_s, link_efficiency,
> inter_efficiency, inter_latency_s
>
> error of    rows  before  worst  after    mean    95 %  worst
> all           13  53.2 %  6.13x  1.6 %  12.3 %  83.4 %  6.01x
>   held out                       6.7 %  16.0 %  83.3 %     6x
> all-reduce    13  53.2 %  6.13x  1.6 %  12.3 %  83.4 %  6.01x
>   held out                       6.7 %  16.0 %  83.3 %     6x
>
> more than 2 times off        row                      measured  predicted  times
> tests/cli/all-reduce.csv:15  all-reduce of 4            9.9 ms    1.65 ms   6.01
>                              devices, 16777216 bytes
> 1 row was too far off to be fitted
$ grep -E 'format|name|source|"latency_s' $TMP/mine.json | cut -c1-18
>   "format": "hypar
>   "name": "mine",
>   "source": "measu
>   "latency_s": 4.9
$ hypar machines cluster:1x4,device=$TMP/mine.json
> machine: cluster, 4 devices, 1 switch, 4 links
>
> devices   fp32/s  fp16/s  bf16/s  memory   bytes/s
> 4 x mine   8.1 T    65 T   8.1 T   16 GB  320 GB/s
>
> level  ways  bandwidth  latency
> H1        2  31.5 GB/s  20.4 us
> H2        2  15.8 GB/s  20.4 us
>
> energy of a bit on a link: 10 pJ
>
> mine
> fp64             254 GFLOP/s  peak of 64-bit arithmetic
> tf32             8.1 TFLOP/s  peak of 32-bit arithmetic by matrix units
> efficiency               0.5  share of the peak that large products reach
> add-energy            0.9 pJ  energy of a 32-bit addition
> multiply-energy       3.7 pJ  energy of a 32-bit multiplication
> sram-energy             5 pJ  energy of a 32-bit access to memory on the chip
> dram-energy           448 pJ  energy of a 32-bit access to the device's memory
> comm-latency         10.4 us  of every comm, besides its messages
> From: measured: all-reduce.csv, 13 rows, median error 1.58 %; begun from t4
$ hypar machines cluster:1x4,device=$TMP/mine.json,latency=1us | grep '^H'
> H1        2  31.5 GB/s  12.4 us
> H2        2  15.8 GB/s  12.4 us
The same as JSON; a further fit begins where the first one ended.
$ hypar fit tests/cli/all-reduce.csv --device $TMP/mine.json --json | grep -E '"(device|source|name)": "(latency_s|mine|measured)' | cut -c1-44
>   "device": "mine",
>   "source": "measured: all-reduce.csv, 13 ro
>     {"name": "latency_s", "before": 4.981922
Operators are named by the extents of their axes; what rows do not decide stays, and is named.
$ printf 'op,shape,pass,us,precision\nlinear,n=8192 c=768 k=2304,y,47.57,bf16\nidentity,n=8 c=4,y,1,bf16\n' | hypar fit - --device t4 2>/dev/null | grep -E '^these|left out|^measured:'
> measured: standard input, 1 row, median error 1.49e+04 %; begun from t4
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
