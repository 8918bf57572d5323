Eight measured steps: where they come from is a device that reaches less than its row says, and a way of running in which nobody computes while gradients are summed.
$ printf 'mlp:8192-8192-8192 1x1 8192\nalexnet 1x1 512\nalexnet 4x2 1024\nalexnet 2x2 256\nmlp:8192-8192 2x2 8192\nmlp:8192-8192-8192 2x4 8192\nalexnet 2x4 512\nmlp:4096-16384-4096 2x1 4096\n' > $TMP/steps.txt
$ while read model cluster batch; do hypar plan $model --batch $batch --planner dp --on cluster:$cluster,device=h100 -o $TMP/$model-$cluster.json -q; done < $TMP/steps.txt
$ echo plan,seconds > $TMP/steps.csv; while read model cluster batch; do echo $model-$cluster.json,$(hypar simulate $TMP/$model-$cluster.json --on cluster:$cluster,device=h100,efficiency=0.6 --as compiled,overlap=gathers+tensor+sequence+stages --json | sed -n 's/.*"step_s": \([^,]*\).*/\1/p'); done < $TMP/steps.txt >> $TMP/steps.csv
$ cd $TMP && hypar fit steps.csv --device h100 -o mine.json --write-as ours.json
> measured: steps.csv, 8 rows, median error 0.00195 %; begun from h100
>
> constant          before  after     +-  rows
> efficiency         0.906    0.6  0.2 %     8
> output_length        108    108  0.5 %     4
> inter_efficiency    0.94   0.94  0.9 %     5
> as before, for want of rows that decide: fp8_op_per_s, usable_bytes,
> context_bytes, workspace_bytes, reduction_length, unaligned_efficiency,
> stream_efficiency, product_efficiency, row_efficiency, column_efficiency,
> compiled_column_efficiency, window_efficiency, scatter_efficiency, column_sums,
> attention_efficiency, attention_backward, attention_width, attention_keys,
> attention_causal, flash2_share, kernel_s, reduction_s, column_s, summed_s,
> vector_op_per_s, compiled_launch_s, comm_latency_s, copy_bytes_per_s,
> comm_share, jitter, link_efficiency, intra_efficiency, latency_s,
> inter_latency_s, layer_s, slot_s, bucket_s
>
> run as   before  after                           rows
> overlap  all     gathers+tensor+sequence+stages     5
>
> error of    rows  before  worst  after   mean   95 %  worst
> all            8  34.0 %   1.8x  0.0 %  0.0 %  0.0 %     1x
>   held out                       0.0 %  0.0 %  0.0 %     1x
> step           8  34.0 %   1.8x  0.0 %  0.0 %  0.0 %     1x
>   held out                       0.0 %  0.0 %  0.0 %     1x
>
> step         measured  predicted  held out  moves
> steps.csv:2    143 ms     143 ms    143 ms  efficiency
> steps.csv:3   95.3 ms    95.3 ms   95.3 ms  efficiency
> steps.csv:4   30.4 ms    30.4 ms   30.4 ms  efficiency
> steps.csv:5   16.9 ms    16.9 ms   16.9 ms  efficiency
> steps.csv:6   18.3 ms    18.3 ms   18.3 ms  efficiency
> steps.csv:7   23.5 ms    23.5 ms   23.5 ms  efficiency
> steps.csv:8   15.8 ms    15.8 ms   15.8 ms  efficiency
> steps.csv:9   49.8 ms    49.8 ms   49.8 ms  efficiency
>
> no row is more than 2 times off
$ grep -E 'format|name|source|overlap' $TMP/ours.json
>   "format": "hypar-framework/1",
>   "name": "ours",
>   "source": "measured: steps.csv, 8 rows, median error 0.00195 %; begun from h100",
>   "overlap": "gathers+tensor+sequence+stages",
$ hypar simulate $TMP/alexnet-4x2.json --on cluster:4x2,device=$TMP/mine.json --as $TMP/ours.json | head -1
> alexnet, batch 1024, fp32, on 8 devices: a step takes 30.4 ms
Rows that are not steps tell of no framework.
$ hypar fit tests/cli/all-reduce.csv --device t4 --write-as $TMP/ours.json -q
> hypar: --write-as: not all rows are steps of plans that were run in one way
? 2
