A plan of a thousand operators is shown as its structure: stages with their layers and devices, alike ones in one
row, and layers that are planned alike in one row with the splits of their operators.
$ hypar plan gpt3-175b --on cluster:128x8,device=a100 --planner 3d --tensor 8 --pipeline 32 --batch 32 --micro-batches 8 --precision bf16 --optimizer adam --recompute full --shard optimizer | sed '/^Predicted/,$d'
> gpt3-175b, batch 32, bf16, adam, on 1,024 devices: planner 3d
>
> data 4 x tensor 8 x pipeline 32, 8 micro-batches, schedule 1f1b, recompute full,
> shard optimizer
>
> stage  layers                    each          devices          replicas  tensor
> 0      wte .. drop, h.0 .. h.2   3 layers + 3  0-31                    4       8
> 1-30   h.3 .. h.92               3 layers      32-991, 32 each         4       8
> 31     h.93 .. h.95,             3 layers + 3  992-1023                4       8
>        ln_f .. loss
>
> operators              split
> wte                    n=4 v=8; optimizer sharded
> wpe.add .. drop   (2)  n=4 r=8; optimizer sharded
> h.0 .. h.95      96 x  n=4: ln_1 r=8, attn.q .. attn.v k=8, attn a=8,
>                        attn.c_proj c=8, attn.dropout .. ln_2 r=8,
>                        mlp.c_fc .. mlp.gelu k=8, mlp.c_proj c=8,
>                        mlp.dropout .. mlp.add r=8; recomputed but mlp.add,
>                        optimizer sharded
> ln_f                   n=4 r=8; optimizer sharded
> lm_head .. loss   (2)  n=4 k=8; optimizer sharded
>
> Run as compiled on a100
$ hypar plan gpt3-175b --on cluster:128x8,device=a100 --planner 3d --tensor 8 --pipeline 16 --chunks 3 --batch 128 --micro-batches 16 --precision bf16 | sed '/^Predicted/,$d'
> gpt3-175b, batch 128, bf16, on 1,024 devices: planner 3d
>
> data 8 x tensor 8 x pipeline 16 (3 chunks), 16 micro-batches, schedule
> interleaved
>
> stage           layers           each          devices          replicas  tensor
> 0, 16, 32       wte .. drop,     6 layers + 3  0-63                    8       8
>                 h.0 .. h.1,
>                 h.32 .. h.33,
>                 h.64 .. h.65
> 1-14, 17-30,    h.2 .. h.29,     6 layers      64-959, 64 each         8       8
> 33-46           h.34 .. h.61,
>                 h.66 .. h.93
> 15, 31, 47      h.30 .. h.31,    6 layers + 3  960-1023                8       8
>                 h.62 .. h.63,
>                 h.94 .. h.95,
>                 ln_f .. loss
>
> operators              split
> wte                    n=8 v=8
> wpe.add .. drop   (2)  n=8 r=8
> h.0 .. h.95      96 x  n=8: ln_1 r=8, attn.q .. attn.v k=8, attn a=8,
>                        attn.c_proj c=8, attn.dropout .. ln_2 r=8,
>                        mlp.c_fc .. mlp.gelu k=8, mlp.c_proj c=8,
>                        mlp.dropout .. mlp.add r=8
> ln_f                   n=8 r=8
> lm_head .. loss   (2)  n=8 k=8
>
> Run as compiled on a100
$ hypar plan llama2-70b --on cluster:8x8,device=a100 --planner 3d --tensor 8 --pipeline 8 --batch 16 --micro-batches 8 --precision bf16 | sed '/^Predicted/,$d'
> llama2-70b, batch 16, bf16, on 64 devices: planner 3d
>
> data 1 x tensor 8 x pipeline 8, 8 micro-batches, schedule 1f1b
>
> stage  layers                      each           devices       replicas  tensor
> 0      embed_tokens,               10 layers + 1  0-7                  1       8
>        layers.0 .. layers.9
> 1-6    layers.10 .. layers.69      10 layers      8-55, 8 each         1       8
> 7      layers.70 .. layers.79,     10 layers + 3  56-63                1       8
>        norm .. loss
>
> operators                    split
> embed_tokens                 v=8
> layers.0 .. layers.79  80 x  input_norm r=8, q_proj .. v_proj k=8, attn a=8,
>                              o_proj c=8, attn.add .. post_norm r=8,
>                              gate_proj .. gate k=8, down_proj c=8, mlp.add r=8
> norm                         r=8
> lm_head .. loss         (2)  k=8
>
> Run as compiled on a100

No report of gpt3-175b is longer than 40 lines, whichever planner made the plan.
$+ for p in "3d --tensor 8 --pipeline 16 --batch 128 --micro-batches 16" "3d --tensor 8 --pipeline 32 --batch 32 --micro-batches 8" "hypar" "accpar" "owt" "1f1b --stages 32 --batch 128 --micro-batches 4"; do n=$(hypar plan gpt3-175b --on cluster:128x8,device=a100 --precision bf16 -q --planner $p | wc -l); [ $n -gt 9 ] && [ $n -le 40 ] || echo "$p: $n lines"; done

The map of levels is turned over where it would take several lines of letters.
$ hypar plan nmt --on htree:16 --planner hypar | sed '/^level/,$d'
> nmt, batch 32, on 16 devices: planner hypar
>
> layers                                                            H1  H2  H3  H4
> source.embed.0                                                    mp  mp  mp  mp
> encoder1.0 .. encoder2.0                                          dp  dp  dp  dp
> source.embed.1 .. encoder2.39   39 x  source.embed                mp  mp  mp  mp
>                                       encoder1 .. encoder2        dp  dp  dp  dp
> target.embed.0                                                    mp  mp  mp  mp
> decoder1.0 .. decoder2.0                                          dp  dp  dp  dp
> attention.linear.0 .. linear.0                                    dp  mp  dp  mp
> target.embed.1 .. linear.39     39 x  target.embed                mp  mp  mp  mp
>                                       decoder1 .. decoder2        dp  dp  dp  dp
>                                       attention.linear .. linear  dp  mp  dp  mp
>
$ hypar plan resnet152 --on htree:16 --planner hypar | sed '/^level/,$d'
> resnet152, batch 32, on 16 devices: planner hypar
>
> layers                                                   H1  H2  H3  H4
> conv1 .. layer3.0.downsample.conv                        dp  dp  dp  dp
> layer3.1 .. layer3.35                       35 x  conv1  dp  dp  dp  dp
>                                                   conv2  dp  dp  dp  mp
>                                                   conv3  dp  dp  dp  dp
> layer4.0.conv1                                           dp  dp  dp  dp
> layer4.0.conv2                                           dp  mp  mp  dp
> layer4.0.conv3 .. layer4.0.downsample.conv               dp  dp  mp  dp
> layer4.1 .. layer4.2                         2 x  conv1  dp  dp  mp  mp
>                                                   conv2  mp  dp  mp  mp
>                                                   conv3  dp  dp  mp  dp
> fc                                                       mp  mp  mp  mp
>

The plan of a file is shown by check, and drawn, as it is when it is found.
$ hypar plan gpt2 --on cluster:2x8 --batch 64 --planner 3d --tensor 2 --pipeline 4 --micro-batches 8 -q -o $TMP/gpt2.json --svg $TMP/plan.svg && hypar check $TMP/gpt2.json --detail --svg $TMP/check.svg
> ok: gpt2, batch 64: 174 operators in 696 parts on a machine of 16 devices; 4
> stages, schedule 1f1b, micro-batches 8
> Run as compiled on v100, the default device
> memory: 1.87 GB of 16 GB on the fullest device
>
> stage  layers                     each          devices       replicas  tensor
> 0      wte .. drop, h.0 .. h.2    3 layers + 3  0-3                  2       2
> 1-2    h.3 .. h.8                 3 layers      4-11, 4 each         2       2
> 3      h.9 .. h.11, ln_f .. loss  3 layers + 3  12-15                2       2
>
> operators              split
> wte                    n=2 v=2
> wpe.add .. drop   (2)  n=2 r=2
> h.0 .. h.11      12 x  n=2: ln_1 r=2, attn.q .. attn.v k=2, attn a=2,
>                        attn.c_proj c=2, attn.dropout .. ln_2 r=2,
>                        mlp.c_fc .. mlp.gelu k=2, mlp.c_proj c=2,
>                        mlp.dropout .. mlp.add r=2
> ln_f                   n=2 r=2
> lm_head .. loss   (2)  n=2 k=2
$ sed 's/; a step of .*</</' $TMP/plan.svg | cmp - $TMP/check.svg && grep -c 'stages 1-2' $TMP/plan.svg
> 1
$ hypar plan mlp --on full:2 --planner dp -q --svg /nowhere/plan.svg
> hypar: /nowhere/plan.svg: cannot write: No such file or directory
? 4
