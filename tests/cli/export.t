What Megatron-LM can run: the flags of its training script.
$ hypar plan llama:layers=4,hidden=64,heads=8,kv_heads=4,ffn=96,seq=16,vocab=100 --on full:8 --planner 3d --data 2 --tensor 2 --pipeline 2 --micro-batches 4 --sequence-parallel -qo $TMP/llama.json && hypar export $TMP/llama.json --to megatron
> hypar: note: --rotary-base 10000 is the usual one, which the model has or is
>        assumed to have; another is to be put in its place
> # Megatron-LM, llama:layers=4,hidden=64,heads=8,kv_heads=4,ffn=96,seq=16,vocab=100 on 8 devices: data 2, tensor 2, pipeline 2, 4 micro-batches
> # torchrun --nproc-per-node 8 pretrain_gpt.py $(grep -v '^#' this-file) and your data
> # A plan has no learning rate: replace --lr by yours.
> --tensor-model-parallel-size 2
> --pipeline-model-parallel-size 2
> --micro-batch-size 4
> --global-batch-size 32
> --sequence-parallel
> --overlap-grad-reduce
> --optimizer sgd
> --lr 0.01
> --lr-decay-style constant
> --sgd-momentum 0.0
> --weight-decay 0.0
> --clip-grad 0
> --num-layers 4
> --hidden-size 64
> --ffn-hidden-size 96
> --num-attention-heads 8
> --group-query-attention
> --num-query-groups 4
> --seq-length 16
> --max-position-embeddings 16
> --position-embedding-type rope
> --rotary-base 10000
> --normalization RMSNorm
> --norm-epsilon 1e-05
> --swiglu
> --disable-bias-linear
> --untie-embeddings-and-output-weights
> --attention-dropout 0.0
> --hidden-dropout 0.0
> --vocab-size 100

$ hypar plan gpt2:attention=unfused --on full:8 --planner 3d --data 2 --tensor 2 --pipeline 2 --chunks 3 --micro-batches 4 --recompute selective --shard optimizer --optimizer adam --precision bf16 --clip 1 -qo $TMP/gpt2.json && hypar export $TMP/gpt2.json --to megatron -o $TMP/flags.txt && hypar export $TMP/gpt2.json --to megatron -o $TMP/flags.txt --json && head -17 $TMP/flags.txt
> torchrun --nproc-per-node 8 pretrain_gpt.py $(grep -v '^#' $TMP/flags.txt)
> {"target": "megatron", "ranks": 8}
> # Megatron-LM, gpt2:attention=unfused on 8 devices: data 2, tensor 2, pipeline 2, 4 micro-batches
> # torchrun --nproc-per-node 8 pretrain_gpt.py $(grep -v '^#' this-file) and your data
> # A plan has no learning rate: replace --lr by yours.
> --tensor-model-parallel-size 2
> --pipeline-model-parallel-size 2
> --num-layers-per-virtual-pipeline-stage 2
> --micro-batch-size 4
> --global-batch-size 32
> --recompute-granularity selective
> --overlap-grad-reduce
> --use-distributed-optimizer
> --overlap-param-gather
> --bf16
> --grad-reduce-in-bf16
> --optimizer adam
> --lr 0.001
> --lr-decay-style constant

$ hypar plan gpt2 --batch 4 --on full:2 --planner dp --optimizer momentum -qo $TMP/momentum.json && hypar export $TMP/momentum.json --to megatron | grep -A4 optimizer
> --optimizer sgd
> --lr 0.01
> --lr-decay-style constant
> --sgd-momentum 0.9
> --weight-decay 0.0

$ sed 's/gelu_tanh/relu/' tests/cli/gpt2-torch.json > $TMP/relu.json && hypar plan $TMP/relu.json --on full:2 --planner dp -qo $TMP/plan.json && hypar export $TMP/plan.json --to megatron -q
> hypar: $TMP/plan.json: the activation of a layer is neither gelu nor swiglu, which Megatron-LM's flags are written for
? 1

ZeRO and stages, for DeepSpeed.
$ hypar plan gpt2 --on full:4 --planner dp --shard parameters --optimizer adam --precision bf16 -qo $TMP/dp.json && hypar export $TMP/dp.json --to deepspeed
> {
>   "train_batch_size": 32,
>   "train_micro_batch_size_per_gpu": 8,
>   "gradient_accumulation_steps": 1,
>   "zero_optimization": {"stage": 3},
>   "bf16": {"enabled": true},
>   "communication_data_type": "bf16",
>   "data_types": {"grad_accum_dtype": "bf16"},
>   "optimizer": {"type": "Adam", "params": {"lr": 0.001, "adam_w_mode": false}}
> }

$ hypar plan gpt2 --on full:4 --planner 3d --data 2 --tensor 1 --pipeline 2 --micro-batches 8 --shard optimizer --recompute full --optimizer adamw --clip 1 -qo $TMP/pp.json && hypar export $TMP/pp.json --to deepspeed
> {
>   "train_batch_size": 32,
>   "train_micro_batch_size_per_gpu": 2,
>   "gradient_accumulation_steps": 8,
>   "zero_optimization": {"stage": 1},
>   "pipeline": {"stages": 2, "partition": "uniform", "activation_checkpoint_interval": 1},
>   "optimizer": {"type": "AdamW", "params": {"lr": 0.001, "weight_decay": 0.01}},
>   "gradient_clipping": 1
> }

Gradients of bf16 and fp16 are in the precision that the plan has, or a note tells which one they are in.
$ for p in 'bf16 --gradient-precision fp32' 'fp16' 'fp16 --gradient-precision fp32'; do hypar plan gpt2:layers=2 --on full:2 --planner dp --precision $p -qo $TMP/p.json; echo $p; hypar export $TMP/p.json --to megatron | grep -e 16 -e grads | grep -v seq | head -3; done
> bf16 --gradient-precision fp32
> --micro-batch-size 16
> --bf16
> --accumulate-allreduce-grads-in-fp32
> fp16
> --micro-batch-size 16
> --fp16
> fp16 --gradient-precision fp32
> --micro-batch-size 16
> --fp16
> --accumulate-allreduce-grads-in-fp32
$ for s in none optimizer; do for p in bf16 'bf16 --gradient-precision fp32' fp16 'fp16 --gradient-precision fp32'; do hypar plan gpt2:layers=2 --on full:2 --planner dp --optimizer momentum --precision $p --shard $s -qo $TMP/p.json; hypar export $TMP/p.json --to deepspeed | grep -e '16' -e _ty -e untested; done; done
> hypar: note: gradients are planned in bf16, but DeepSpeed without ZeRO adds up
>        those of bf16 in fp32, and takes more memory than planned: plan with
>        --gradient-precision fp32, or with --shard optimizer
>   "train_micro_batch_size_per_gpu": 16,
>   "bf16": {"enabled": true},
>   "communication_data_type": "bf16",
>   "data_types": {"grad_accum_dtype": "fp32"},
>   "train_micro_batch_size_per_gpu": 16,
>   "bf16": {"enabled": true},
>   "communication_data_type": "fp32",
>   "data_types": {"grad_accum_dtype": "fp32"},
>   "train_micro_batch_size_per_gpu": 16,
>   "fp16": {"enabled": true},
>   "communication_data_type": "fp16",
>   "data_types": {"grad_accum_dtype": "fp16"},
> hypar: note: gradients are planned in fp32, but DeepSpeed without ZeRO adds up
>        those of fp16 in fp16: plan with --gradient-precision fp16, or with
>        --shard optimizer
>   "train_micro_batch_size_per_gpu": 16,
>   "fp16": {"enabled": true},
>   "communication_data_type": "fp32",
>   "data_types": {"grad_accum_dtype": "fp16"},
>   "train_micro_batch_size_per_gpu": 16,
>   "bf16": {"enabled": true},
>   "communication_data_type": "bf16",
>   "data_types": {"grad_accum_dtype": "bf16"},
>   "zero_allow_untested_optimizer": true
>   "train_micro_batch_size_per_gpu": 16,
>   "bf16": {"enabled": true},
>   "communication_data_type": "fp32",
>   "data_types": {"grad_accum_dtype": "fp32"},
>   "zero_allow_untested_optimizer": true
>   "train_micro_batch_size_per_gpu": 16,
>   "fp16": {"enabled": true},
>   "communication_data_type": "fp16",
>   "data_types": {"grad_accum_dtype": "fp16"},
>   "zero_allow_untested_optimizer": true
>   "train_micro_batch_size_per_gpu": 16,
>   "fp16": {"enabled": true},
>   "communication_data_type": "fp32",
>   "data_types": {"grad_accum_dtype": "fp32"},
>   "zero_allow_untested_optimizer": true
$ hypar plan gpt2:layers=2 --on full:2 --planner dp --shard optimizer --recompute full -qo $TMP/p.json && hypar export $TMP/p.json --to deepspeed | grep checkpoint
> hypar: note: the plan recomputes layers, but DeepSpeed's file has no word for
>        that without stages: checkpoint the model's layers (as by
>        gradient_checkpointing_enable()), or it takes more memory than planned
? 1
$ hypar plan gpt2 --on full:4 --planner 3d --data 2 --tensor 1 --pipeline 2 --micro-batches 8 --precision bf16 --optimizer sgd -qo $TMP/p.json && hypar export $TMP/p.json --to deepspeed | grep 16
>   "bf16": {"enabled": true},
>   "communication_data_type": "bf16",
>   "data_types": {"grad_accum_dtype": "bf16"},

What they cannot run is refused by operator and axis, with the nearest plan that they can run.
$ hypar export $TMP/llama.json --to deepspeed
> hypar: note: the nearest plan that DeepSpeed can run: data 2, tensor 1, pipeline
>        4, schedule 1f1b; 68 of 68 operators differ (--nearest FILE writes it)
> hypar: $TMP/llama.json: op 'layers.0.q_proj': axis 'k' is split 2 ways, DeepSpeed splits samples alone; expected tensor 1
? 1

$ hypar plan vgg11 --on full:4 --planner hypar -qo $TMP/vgg.json; for to in torch megatron deepspeed; do hypar export $TMP/vgg.json --to $to; done
> hypar: note: the nearest plan that PyTorch can run: with refused axes left
>        unsplit; 1 of 30 operators differ (--nearest FILE writes it)
> hypar: $TMP/vgg.json: op 'conv5_2': axis 'c' is split 2 ways, PyTorch's DTensor splits a convolution by samples alone, it has no halo exchange and no rule for channels; expected one of n, r
> hypar: $TMP/vgg.json: op 'conv5_1': Megatron-LM runs transformers, whose layers are alike and have one attention each
> hypar: note: the nearest plan that DeepSpeed can run: data 4, tensor 1, pipeline
>        1, schedule none; 12 of 30 operators differ (--nearest FILE writes it)
> hypar: $TMP/vgg.json: op 'conv5_2': axis 'n' is split 2 ways, expected 4 parts, as in the nearest that DeepSpeed can run (data 4, tensor 1, pipeline 1)
? 1

$ hypar export $TMP/vgg.json --to deepspeed --nearest $TMP/near.json; hypar export $TMP/near.json --to deepspeed
> hypar: note: the nearest plan that DeepSpeed can run: data 4, tensor 1, pipeline
>        1, schedule none; 12 of 30 operators differ
> hypar: note: not exported: op 'conv5_2': axis 'n' is split 2 ways, expected 4
>        parts, as in the nearest that DeepSpeed can run (data 4, tensor 1,
>        pipeline 1)
> {
>   "train_batch_size": 32,
>   "train_micro_batch_size_per_gpu": 8,
>   "gradient_accumulation_steps": 1,
>   "zero_optimization": {"stage": 0},
>   "optimizer": {"type": "SGD", "params": {"lr": 0.01}}
> }

$ hypar export $TMP/vgg.json --to torch --nearest $TMP/near.json; grep conv5_2 $TMP/near.json; hypar check $TMP/near.json | head -1
> hypar: note: the nearest plan that PyTorch can run: with refused axes left
>        unsplit; 1 of 30 operators differ
> hypar: note: not exported: op 'conv5_2': axis 'c' is split 2 ways, PyTorch's
>        DTensor splits a convolution by samples alone, it has no halo exchange
>        and no rule for channels; expected one of n, r
>     {"name": "conv5_2", "kind": "conv", "split": {"n": 4}, "devices": [0, 1, 2, 3]},
> ok: vgg11, batch 32: 30 operators in 120 parts on a machine of 4 devices

The base of rotary positions that a model does not say is assumed, and told.
$ hypar export $TMP/llama.json --to megatron 2>&1 >/dev/null | grep -A2 rotary
> hypar: note: --rotary-base 10000 is the usual one, which the model has or is
>        assumed to have; another is to be put in its place

Schedules are refused by name.
$ for s in zb-h1 zb-h2 gpipe; do hypar plan gpt2 --on full:4 --planner 3d --data 2 --tensor 1 --pipeline 2 --micro-batches 8 --schedule $s -qo $TMP/$s.json; hypar export $TMP/$s.json --to megatron -q; hypar export $TMP/$s.json --to deepspeed -q; done; for s in zb-h1 zb-h2; do hypar export $TMP/$s.json --to torch -q; done
> hypar: $TMP/zb-h1.json: Megatron-LM has no schedule 'zb-h1', expected 1f1b, interleaved
> hypar: $TMP/zb-h1.json: DeepSpeed has no schedule 'zb-h1', expected 1f1b
> hypar: $TMP/zb-h2.json: Megatron-LM has no schedule 'zb-h2', expected 1f1b, interleaved
> hypar: $TMP/zb-h2.json: DeepSpeed has no schedule 'zb-h2', expected 1f1b
> hypar: $TMP/gpipe.json: Megatron-LM has no schedule 'gpipe', expected 1f1b, interleaved
> hypar: $TMP/gpipe.json: DeepSpeed has no schedule 'gpipe', expected 1f1b
> hypar: $TMP/zb-h1.json: PyTorch has no schedule 'zb-h1', expected gpipe, 1f1b, interleaved
> hypar: $TMP/zb-h2.json: PyTorch has no schedule 'zb-h2', expected gpipe, 1f1b, interleaved
? 1

$ hypar plan vgg11 --on full:4 --planner pipedream -qo $TMP/pd.json && hypar export $TMP/pd.json --to torch -q
> hypar: $TMP/pd.json: PyTorch has no schedule 'pipedream', expected gpipe, 1f1b, interleaved
? 1

Wrong use.
$ hypar export $TMP/dp.json --to tensorflow
> hypar: 'tensorflow': no such target, expected one of torch, megatron, deepspeed
? 2

$ hypar export $TMP/dp.json --to deepspeed --json
> hypar: --json is of the summary beside -o FILE
? 2

A search is kept to what a framework can run.
$ hypar plan vgg11 --on full:4 --planner hypar --for torch -q | head -3; hypar plan vgg11 --on full:4 --planner hypar --for torch -qo $TMP/vgg.json && hypar plan vgg11 --on full:4 --planner hypar --for torch --json | grep '"for"'
> vgg11, batch 32, on 4 devices, for torch: planner hypar
>
>      conv1_1 conv2_1 conv3_1 conv3_2 conv4_1 conv4_2 conv5_1 conv5_2 fc1
> hypar: note: the graph does not tell PyTorch's modules: the script is for a
>        model whose modules are named like its operators (python -m hypar.torch
>        makes the graph of a model)
>   "for": "torch",

$ hypar plan vgg11 --on full:4 --planner zb-h1 --for torch
> hypar: PyTorch has no schedule 'zb-h1', expected gpipe, 1f1b, interleaved (or plan without --for, then 'hypar export --to torch --nearest FILE')
? 1

$ hypar plan lenet5 --on full:4 --planner 1f1b --for deepspeed
> hypar: 1f1b: op 'conv1': axis 'n' is split 2 ways, expected 4 parts, as in the nearest that DeepSpeed can run (data 4, tensor 1, pipeline 1) (or plan without --for, then 'hypar export --to deepspeed --nearest FILE')
? 1

$ hypar plan vgg11 --on full:4 --for megatron -q
> hypar: op 'conv5_1': Megatron-LM runs transformers, whose layers are alike and have one attention each
? 1

$ hypar plan gpt2 --on full:4 --planner mp --for torch --batch 6 --micro-batches 4
> hypar: mp: op 'h.0.attn.add': axis 'n' is split 4 ways in each of 4 micro-batches, PyTorch's have equal parts; expected a batch that they divide, not 6 (or plan without --for, then 'hypar export --to torch --nearest FILE')
? 1

$ hypar plan lenet5 --on full:4 --for deepspeed | sed -n '1p;/^Left out/,$p'
> lenet5, batch 32, on 4 devices, for deepspeed: planner dp
> Left out: 1f1b, gpipe, zb-h1, zb-h2, flexflow; 1f1b: op 'conv1': axis 'n' is
>           split 2 ways, expected 4 parts, as in the nearest that DeepSpeed can
>           run (data 4, tensor 1, pipeline 1); --planner NAME tells why of each,
>           and so does --json

What the framework cannot split is whole in the plan, and named; degrees that fit no machine are no matter of the framework.
$ for t in 2 3; do hypar plan vgg11:image=32 --on full:4 --planner 3d --tensor $t --for torch -q | sed -n "/^For/,\$p"; done; hypar plan bert:layers=2,hidden=64,heads=8,seq=16,vocab=100 --on full:4 --planner optcnn --for torch --json -q | grep for_target
> For torch: conv1_1, relu1_1, pool1 and 10 more operators are kept whole. Refused
> as asked: op 'conv1_1': axis 'k' is split 2 ways, PyTorch's DTensor splits a
> convolution by samples alone, it has no halo exchange and no rule for channels;
> expected one of n, r.
> hypar: 3d: --tensor 3: expected degrees whose product divides the 4 devices of the machine
>     "for_target": "embeddings.norm, layer.0.attention.norm, layer.0.ffn.norm and 2 more operators are kept whole. Refused as asked: op 'embeddings.norm': axis 'c' is split 4 ways, PyTorch's DTensor gathers what is normalised; expected one of n, t, r"

A lack of memory is no matter of the framework.
$ hypar plan gpt2:layers=48,hidden=1200 --on full:2 --planner dp --for torch --memory 1GB
> hypar: dp: weights, gradients and sgd state need 7.13 GB on device 0, which has 1 GB allowed by --memory; no recomputation, micro-batches, sharding or stages fit: weights, gradients and sgd state alone fill 8 such devices
? 1

The predicted step of an H200 comes with the steps that were measured there.
$ hypar plan llama:layers=2,hidden=64,heads=8,ffn=96,seq=16,vocab=100 --on full:2,device=h200 --planner dp --for torch -o $TMP/h200.json 2>&1 | grep -A1 measured
> hypar: note: measured scripts took 1.1 to 2.0 times the predicted step on an
>        H200: docs/formats-torch.md
> --
> 8 of 10 such steps take 2.32 ms to 8.26 ms (11 measured: exported scripts: gpt2,
> llama, vit). Why so wide: the measured steps scatter (39 %); messages and
> launches that a step waits for are predicted less well (30 %).

$ hypar plan lenet5 --on full:4 --for jax
> hypar: 'jax': no such target, expected one of torch, megatron, deepspeed
? 2

This computer is one node, however many ranks it has.
$ hypar plan gpt2:layers=2 --on local:2 --planner dp -qo $TMP/here.json && hypar export $TMP/here.json --to megatron -o $TMP/flags.txt
> torchrun --nproc-per-node 2 pretrain_gpt.py $(grep -v '^#' $TMP/flags.txt)

On several nodes, the command of each of them.
$ cd $TMP && hypar plan gpt2:layers=2 --on cluster:2x4 --planner dp --optimizer adam -q -o nodes.json && hypar export nodes.json --to megatron -o flags.txt && hypar export nodes.json --to deepspeed -o ds.json && hypar export nodes.json --to torch -o train.py; grep torchrun train.py flags.txt
> torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint HOST:29500 --nproc-per-node 4 pretrain_gpt.py $(grep -v '^#' flags.txt)
> deepspeed --hostfile HOSTS --num_nodes 2 --num_gpus 4 train.py --deepspeed_config ds.json
> hypar: note: the graph does not tell PyTorch's modules: the script is for a
>        model whose modules are named like its operators (python -m hypar.torch
>        makes the graph of a model)
> hypar: note: the script runs operator by operator, the plan counts the memory of
>        kernels that are 'compiled', which may be less: expected --as fsdp, or a
>        plan made with --for torch
> torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint HOST:29500 --nproc-per-node 4 train.py package.module:function
> train.py:    torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint HOST:29500 --nproc-per-node 4 FILE package.module:function [STEPS] [--measure]
> train.py:    """The mesh over all ranks of torchrun. What fails from now on is told in one line."""
> train.py:    by_torchrun = dist.is_initialized() or "WORLD_SIZE" in os.environ
> train.py:        raise Refused(f"this plan is for {planned} processes, " + (f"torchrun started {started}" if by_torchrun else "torchrun starts them"))
> train.py:    if not by_torchrun:
> train.py:        if dist.is_initialized():  # when one rank has ended, torchrun ends the others
> flags.txt:# torchrun --nnodes 2 --rdzv-backend c10d --rdzv-endpoint HOST:29500 --nproc-per-node 4 pretrain_gpt.py $(grep -v '^#' this-file) and your data

A rotary embedding that was not recognised is an operator without a flag: the flags would describe another network.
$ hypar import llama:layers=2,hidden=64,heads=8,ffn=96,seq=16,vocab=100 -qo $TMP/known.json; sed 's/"kind": "rope"\(.*\), "attrs": {[^}]*}/"kind": "tanh"\1/' $TMP/known.json > $TMP/unknown.json; for g in known unknown; do hypar plan $TMP/$g.json --on full:2 --planner dp -qo $TMP/$g-plan.json; hypar export $TMP/$g-plan.json --to megatron -q | grep position-embedding-type; done; hypar plan $TMP/unknown.json --on full:2 --planner dp --for megatron
> --position-embedding-type rope
> hypar: $TMP/unknown-plan.json: op 'layers.0.rope_q': Megatron-LM's flags have no word for 'tanh' at this place of a layer, and would describe another network; operators between the products of queries and keys and attention are usually a rotary embedding that was not recognised: write it as q * cos + rotate_half(q) * sin, with tables of one base, and import the model with values in its tables (not on meta)
> hypar: op 'layers.0.rope_q': Megatron-LM's flags have no word for 'tanh' at this place of a layer, and would describe another network; operators between the products of queries and keys and attention are usually a rotary embedding that was not recognised: write it as q * cos + rotate_half(q) * sin, with tables of one base, and import the model with values in its tables (not on meta)
? 1

A norm over each head of queries and keys, like the layer's other norms, has a flag; one with another epsilon, and one of queries alone, have none.
$ sed -E -f tests/cli/head-norms.sed $TMP/known.json > $TMP/normed.json; sed -E 's/(_norm.w"., "attrs": ."eps": )1e-05(.*_whole")/\11e-06\2/' $TMP/normed.json > $TMP/other.json; sed -E 's/"inputs": ."layers.(.).k_whole".( *, *"attrs": ..heads)/"inputs": ["layers.\1.k_proj"]\2/' $TMP/normed.json > $TMP/alone.json; for g in known normed other alone; do hypar plan $TMP/$g.json --on full:2 --planner dp -qo $TMP/plan.json && hypar export $TMP/plan.json --to megatron -q | grep -E 'num-layers|qk'; done
> --num-layers 2
> --num-layers 2
> --qk-layernorm
> hypar: $TMP/plan.json: op 'layers.0.q_norm': Megatron-LM's flags have no word for 'rms_norm' at this place of a layer, and would describe another network; Megatron-LM's --qk-layernorm is a norm of queries and keys over each head, like the other norms of a layer
> hypar: $TMP/plan.json: op 'layers.0.q_norm': Megatron-LM's flags have no word for 'rms_norm' at this place of a layer, and would describe another network; Megatron-LM's --qk-layernorm is a norm of queries and keys over each head, like the other norms of a layer
? 1

Another loss than the cross entropy of each word, and factors of the embedding, are in no flag either.
$ hypar import gpt2:layers=2,hidden=16,heads=2,seq=6,vocab=20 -qo $TMP/gpt.json; sed 's/"name": "loss", .*/"name": "z", "kind": "exp", "inputs": ["lm_head"]}, {"name": "loss", "kind": "mse_loss", "inputs": ["z", "lm_head"]}/' $TMP/gpt.json > $TMP/z.json; sed 's/"name": "loss", .*/"name": "first", "kind": "slice", "inputs": ["lm_head"], "attrs": {"axis": 1, "start": 0, "stop": 1}}, {"name": "loss", "kind": "cross_entropy", "inputs": ["first", "labels"]}/; s/\("labels", "shape": .[0-9]*, \)6/\11/' $TMP/gpt.json > $TMP/first.json; sed 's/"drop", "kind": "dropout"\(.*\), "attrs": {[^}]*}/"drop", "kind": "affine"\1, "attrs": {"alpha": 4}/' $TMP/gpt.json > $TMP/scaled.json; for g in gpt z first scaled; do hypar plan $TMP/$g.json --on full:2 --planner dp -qo $TMP/plan.json && hypar export $TMP/plan.json --to megatron -q | grep num-layers; done; hypar plan $TMP/z.json --on full:2 --for megatron
> --num-layers 2
> hypar: $TMP/plan.json: op 'z': behind its layers Megatron-LM has a norm, a linear layer and the cross entropy of each word; its flags have no word for 'exp', and would train with another loss
> hypar: $TMP/plan.json: op 'loss': behind its layers Megatron-LM has a norm, a linear layer and the cross entropy of each word; its flags have no word for 'cross_entropy' of fewer positions, and would train with another loss
> hypar: $TMP/plan.json: op 'drop': before its layers Megatron-LM has tables of words and positions; its flags have no word for 'affine', and would describe another network
> hypar: op 'z': behind its layers Megatron-LM has a norm, a linear layer and the cross entropy of each word; its flags have no word for 'exp', and would train with another loss
? 1

Positions that are neither learned nor rotary are none; what else the flags describe otherwise is noted.
$ sed 's/"kind": "rope"\(.*\), "attrs": {[^}]*}/"kind": "identity"\1/' $TMP/known.json > $TMP/none.json; hypar plan $TMP/none.json --on full:2 --planner dp -qo $TMP/none-plan.json; hypar export $TMP/none-plan.json --to megatron -q | grep position-embedding-type; sed 's/"causal": 1/"causal": 0/' $TMP/known.json > $TMP/bert.json; hypar plan $TMP/bert.json --on full:2 --planner dp -qo $TMP/bert-plan.json; hypar export $TMP/bert-plan.json --to megatron -o $TMP/bert.txt
> --position-embedding-type none
> hypar: note: not the same network: attention is not causal, that of
>        pretrain_gpt.py is; expected a script for models of the kind of BERT
> hypar: note: --rotary-base 10000 is the usual one, which the model has or is
>        assumed to have; another is to be put in its place
> torchrun --nproc-per-node 2 pretrain_gpt.py $(grep -v '^#' $TMP/bert.txt)

Stages without --micro-batches: as many as the target's schedule needs.
$ hypar plan mlp:64-64-64-10 --on full:2,device=a100 --batch 8 --for torch --planner 3d --pipeline 2 2>$TMP/err | sed -n 3p
> data 1 x tensor 1 x pipeline 2, 2 micro-batches, schedule 1f1b
