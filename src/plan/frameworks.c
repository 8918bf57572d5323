/* The table of frameworks. Members that a row does not name are 0: as in "compiled". Where a
 * framework leaves something to its user, a row has what its own examples and published runs
 * have. */
#include "plan/framework.h"

/* Members that similar rows share. A row that differs in one of them does not use the macro. */
/* clang-format off */
#define WAITS(...) .waits = { __VA_ARGS__ } /* by class of exchanges */
/* torch.distributed.pipelining of PyTorch 2.13 on a Xeon of 2.5 GHz: 0.12 to 0.22 ms of the host
 * for a slot of 1F1B, 0.18 to 0.26 of GPipe, beside the operators (bench/torch_slot.py). */
#define PYTORCH_PIPELINE .slot_s = 0.2e-3
/* Copies around messages, bytes of an element. fully_shard() copies gathered parameters out of
 * one buffer (split_with_sizes_copy, 2 + 2) and gradients into one in fp32 (_chunk_cat, 2 + 4;
 * torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py). The older class computes with the
 * buffer itself; gradients of its views are joined (2 + 2) and divided before they are summed
 * (2 + 2; _runtime_utils.py, _reduce_grad), in fp32 (4 + 4) after a conversion (2 + 4). DDP
 * divides fp32 gradients into buckets (4 + 4) and copies sums out of these (4 + 4;
 * torch/csrc/distributed/c10d/reducer.cpp). */
#define FULLY_SHARD_COPIES .gather_copy_bytes = 4, .sum_copy_bytes = 6
#define FSDP1_SHORT_COPIES .sum_copy_bytes = 8
#define DDP_COPIES         .sum_copy_bytes = 16
/* PyTorch's divided parameters: gathered a layer ahead, in 16 bits. */
#define PYTORCH_SHARDED \
    .kernels = HYPAR_KERNELS_EAGER, .gathers = HYPAR_WIDTH_SHORT, .prefetch = 1, \
    WAITS([HYPAR_TRAFFIC_TENSOR] = true, [HYPAR_TRAFFIC_SEQUENCE] = true)
#define FP32_GRADIENTS .gradients = HYPAR_WIDTH_FP32, .sums = HYPAR_WIDTH_FP32
#define MEGATRON \
    .launches = HYPAR_LAUNCHES_EAGER, .keeps_masks = true, \
    .memory.logits_fp32 = 1, .memory.flat_gradients = true, .memory.state_by_stage = true
/* Before FlashAttention. */
#define MEGATRON_2021 \
    MEGATRON, FP32_GRADIENTS, .attention = HYPAR_ATTENTION_UNFUSED, .attention_dropout = 0.1
#define MEGATRON_CORE \
    MEGATRON, FP32_GRADIENTS, .host_waits = true, .attention = HYPAR_ATTENTION_FUSED, \
    .loss = HYPAR_WIDTH_FP32, .bucket_bytes = 160e6, WAITS([HYPAR_TRAFFIC_TENSOR] = true)
/* clang-format on */

static const struct hypar_framework rows[] = {
    {
        .name = "compiled",
        .summary = "fused kernels, captured launches, all exchanges beside kernels",
        .source = "What devices and links allow; kernels as a compiler makes them.",
    },
    {
        .name = "eager",
        .summary = "PyTorch, operator by operator, with autocast; all exchanges beside kernels",
        .source =
            "Kernels and what autograd saves: measured with PyTorch 2.13 on an H200; what "
            "autocast converts: its lists of operators (docs.pytorch.org/docs/stable/"
            "amp.html). The host's time for a slot of torch.distributed.pipelining: "
            "bench/torch_slot.py.",
        .kernels = HYPAR_KERNELS_EAGER,
        .autocast = true,
        DDP_COPIES,
        .row_shards = true,
        PYTORCH_PIPELINE,
    },
    {
        .name = "ddp",
        .summary = "PyTorch's DistributedDataParallel, operator by operator, with autocast",
        .source =
            "As eager; gradients are copied into buckets of bucket_cap_mb=25, which replicas "
            "sum while earlier layers compute (torch/nn/parallel/distributed.py, "
            "gradient_as_bucket_view=False); each replica has and updates all parameters.",
        .kernels = HYPAR_KERNELS_EAGER,
        .autocast = true,
        DDP_COPIES,
        .bucket_bytes = 25 * 1024 * 1024,
        .row_shards = true,
        .replicates = true,
        PYTORCH_PIPELINE,
        .memory.bucket_copies = true,
    },
    {
        .name = "none",
        .summary = "the roofline: pass by pass, launches cost nothing",
        .source = "The papers' model of a device.",
        .kernels = HYPAR_KERNELS_NONE,
    },
    {
        .name = "fsdp",
        .summary = "PyTorch FSDP and DTensor, operator by operator",
        .source =
            "PyTorch's FSDP notes (docs.pytorch.org/docs/stable/notes/fsdp.html): the next "
            "layer is gathered during this one (implicit forward prefetch, BACKWARD_PRE), at "
            "most two at a time (limit_all_gathers); one reduce-scatter a layer beside the "
            "backward pass; parameters in 16 bits, gradients in fp32 (MixedPrecision with "
            "reduce_dtype fp32). DTensor waits for each exchange between parts of a layer. "
            "Stages by torch.distributed.pipelining (as eager). FSDP2 divides rows: "
            "torch/distributed/fsdp/_fully_shard/_fsdp_param.py.",
        PYTORCH_SHARDED,
        FULLY_SHARD_COPIES,
        .row_shards = true,
        PYTORCH_PIPELINE,
        FP32_GRADIENTS,
        .attention = HYPAR_ATTENTION_FLASH2,
    },
    {
        .name = "llm-foundry",
        .summary = "MosaicML's llm-foundry of 2023: FSDP with Triton's first FlashAttention",
        .source = "llm-foundry's yamls (github.com/mosaicml/llm-foundry, "
                  "scripts/train/yamls/pretrain: "
                  "fsdp_config, mixed_precision PURE: gathers and sums in 16 bits); its "
                  "measured steps "
                  "grow with the sequence as FlashAttention 1 does.",
        PYTORCH_SHARDED,
        FSDP1_SHORT_COPIES,
        .attention = HYPAR_ATTENTION_FLASH1,
        .sums = HYPAR_WIDTH_SHORT,
    },
    {
        .name = "torchtitan",
        .summary = "torchtitan: FSDP2 and tensor parallelism, operator by operator",
        .source =
            "torchtitan's job configuration (github.com/pytorch/torchtitan, docs): "
            "mixed_precision_param bfloat16, mixed_precision_reduce float32, compile and async "
            "tensor parallelism off unless asked for (--as torchtitan,kernels=compiled); FSDP2 "
            "prefetches a layer in each half (pytorch/pytorch pull 128884); logits in fp32 "
            "before a loss that is not compiled (train.py, 2024); selective activation "
            "checkpointing 'op' keeps attention and every second product "
            "(parallelize_llama.py); stages by torch.distributed.pipelining (as eager).",
        PYTORCH_SHARDED,
        FULLY_SHARD_COPIES,
        PYTORCH_PIPELINE,
        FP32_GRADIENTS,
        .attention = HYPAR_ATTENTION_FLASH2,
        .loss = HYPAR_WIDTH_FP32,
        .selective = HYPAR_SELECTIVE_PRODUCTS,
        .memory = { .logits_fp32 = 3 },
    },
    {
        .name = "megatron-2021",
        .summary = "Megatron-LM of 2021: attention written out, nothing overlapped",
        .source =
            "Narayanan et al., SC 2021: fused element-wise kernels, attention as products and "
            "a "
            "softmax with 10 % dropout, masks kept, gradients accumulated and summed in fp32 "
            "after the backward pass, stages exchange between passes. After such an exchange "
            "the "
            "host waits for its device (torch.cuda.synchronize() in p2p_communication.py).",
        MEGATRON_2021,
        .host_waits = true,
        WAITS([HYPAR_TRAFFIC_GRADIENTS] = true, [HYPAR_TRAFFIC_GATHERS] = true,
              [HYPAR_TRAFFIC_TENSOR] = true, [HYPAR_TRAFFIC_SEQUENCE] = true,
              [HYPAR_TRAFFIC_STAGES] = true),
    },
    {
        .name = "megatron-2022",
        .summary = "Megatron-LM of 2022, with sequence parallelism: exchanges beside kernels",
        .source =
            "Korthikanti et al., MLSys 2023: as in 2021, but with sequence parallelism gathers "
            "run beside the gradients of weights, and stages exchange beside passes.",
        MEGATRON_2021,
        .host_waits = true,
    },
    {
        .name = "megatron",
        .summary = "Megatron-LM with Megatron-Core and Transformer Engine",
        .source =
            "Megatron-Core's arguments and DistributedDataParallelConfig (github.com/NVIDIA/"
            "Megatron-LM): gradients accumulated and summed in fp32, --overlap-grad-reduce and "
            "--overlap-param-gather as in its published runs, buckets of 40 million "
            "parameters, "
            "exchanges of tensor parallelism beside kernels only with sequence parallelism; "
            "Transformer Engine takes the device's best attention. After an exchange between "
            "stages the host waits for its device (batch_p2p_sync).",
        MEGATRON_CORE,
    },
    {
        .name = "megatron-ci",
        .summary = "Megatron-LM as its own tests run it: hosts that take long",
        .source =
            "As megatron. The host's time for a layer: Megatron-LM's own tests on A100s, small "
            "networks in deterministic mode, without a pipeline (golden values); for a slot "
            "(schedule, exchange, batch): those of four plain stages.",
        MEGATRON_CORE,
        .layer_s = 2.4e-3,
        .slot_s = 1.9e-3,
    },
    {
        .name = "nanotron",
        .summary = "nanotron: 3D parallelism, operator by operator",
        .source =
            "nanotron's source of February 2025 (github.com/huggingface/nanotron, "
            "src/nanotron, "
            "and scripts/scaling_benchmarks.py): FlashAttention 2 and norms by Triton, other "
            "operators one by one; gradients added up in one fp32 buffer, that PyTorch's DDP "
            "sums beside the last backward pass with short copies in its buckets, or that one "
            "all-reduce sums after it where the optimizer is divided (then parameters are "
            "gathered into views of each replica's piece, all_gather_coalesced); logits in "
            "fp32, and less "
            "their maximum; REDUCE_SCATTER tensor parallelism with asynchronous exchanges.",
        .kernels = HYPAR_KERNELS_EAGER,
        .attention = HYPAR_ATTENTION_FLASH2,
        .gradients = HYPAR_WIDTH_FP32,
        .gathers = HYPAR_WIDTH_SHORT,
        .sums = HYPAR_WIDTH_FP32,
        .loss = HYPAR_WIDTH_FP32,
        .gathers_by_piece = true,
        .bucket_bytes = 25e6,
        WAITS([HYPAR_TRAFFIC_GRADIENTS] = true, [HYPAR_TRAFFIC_TENSOR] = true),
        .memory = { .logits_fp32 = 2,
                    .flat_gradients = true,
                    .bucket_copies = true,
                    .state_by_stage = true,
                    .fused_norms = true },
    },
    {
        .name = "nemo",
        .summary = "NeMo and Megatron Bridge with their performance recipes",
        .source =
            "NeMo's user guide, communication overlap (docs.nvidia.com/nemo-framework): sums "
            "and gathers layer by layer beside kernels, exchanges of tensor parallelism in "
            "pieces beside products (tp_comm_overlap, user buffers), gradients summed in bf16 "
            "(grad_reduce_in_fp32 off), cuDNN's attention.",
        MEGATRON,
        .attention = HYPAR_ATTENTION_FLASH3,
        .loss = HYPAR_WIDTH_FP32,
        .bucket_bytes = 256e6,
    },
    {
        .name = "deepspeed",
        .summary = "DeepSpeed's ZeRO, operator by operator",
        .source =
            "DeepSpeed's configuration (deepspeed.ai/docs/config-json): reduce_bucket_size "
            "5e8 elements, in the parameters' precision; overlap_comm, as stage 3 has it; "
            "stage3_prefetch_bucket_size 5e7 elements, about a layer.",
        PYTORCH_SHARDED,
        .attention = HYPAR_ATTENTION_FLASH2,
        .sums = HYPAR_WIDTH_SHORT,
        .bucket_bytes = 1e9,
    },
};

const struct hypar_framework *hypar_framework_at(int i)
{
    return i >= 0 && i < (int)(sizeof rows / sizeof rows[0]) ? &rows[i] : NULL;
}
