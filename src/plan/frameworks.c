/* The table of frameworks. Members that a row does not name are 0: as in "compiled". Where a
 * framework leaves something to its user, a row has what its own examples and published runs
 * have. */
#include "plan/framework.h"

/* What waits, by class. */
#define WAITS(...) .waits = { __VA_ARGS__ }

static const struct hypar_framework rows[] = {
    {
        .name = "compiled",
        .summary = "fused kernels, captured launches, all exchanges beside kernels",
        .source = "What devices and links allow; kernels as a compiler makes them.",
    },
    {
        .name = "eager",
        .summary = "PyTorch, operator by operator; all exchanges beside kernels",
        .source = "Kernels and what autograd saves: measured with PyTorch 2.13 on an H200.",
        .kernels = HYPAR_KERNELS_EAGER,
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
            "reduce_dtype fp32). DTensor waits for each exchange between parts of a layer.",
        .kernels = HYPAR_KERNELS_EAGER,
        .attention = HYPAR_ATTENTION_FLASH2,
        .gradients = HYPAR_WIDTH_FP32,
        .gathers = HYPAR_WIDTH_SHORT,
        .sums = HYPAR_WIDTH_FP32,
        .prefetch = 1,
        WAITS([HYPAR_TRAFFIC_TENSOR] = true, [HYPAR_TRAFFIC_SEQUENCE] = true),
    },
    {
        .name = "llm-foundry",
        .summary = "MosaicML's llm-foundry of 2023: FSDP with Triton's first FlashAttention",
        .source = "llm-foundry's yamls (github.com/mosaicml/llm-foundry, "
                  "scripts/train/yamls/pretrain: "
                  "fsdp_config, mixed_precision PURE: gathers and sums in 16 bits); its "
                  "measured steps "
                  "grow with the sequence as FlashAttention 1 does.",
        .kernels = HYPAR_KERNELS_EAGER,
        .attention = HYPAR_ATTENTION_FLASH1,
        .gathers = HYPAR_WIDTH_SHORT,
        .sums = HYPAR_WIDTH_SHORT,
        .prefetch = 1,
        WAITS([HYPAR_TRAFFIC_TENSOR] = true, [HYPAR_TRAFFIC_SEQUENCE] = true),
    },
    {
        .name = "torchtitan",
        .summary = "torchtitan: FSDP2 and tensor parallelism, operator by operator",
        .source =
            "torchtitan's job configuration (github.com/pytorch/torchtitan, docs): "
            "mixed_precision_param bfloat16, mixed_precision_reduce float32, compile and async "
            "tensor parallelism off unless asked for (--as torchtitan,kernels=compiled); FSDP2 "
            "prefetches a layer in each half (pytorch/pytorch pull 128884); logits in fp32 "
            "before the loss.",
        .kernels = HYPAR_KERNELS_EAGER,
        .attention = HYPAR_ATTENTION_FLASH2,
        .gradients = HYPAR_WIDTH_FP32,
        .gathers = HYPAR_WIDTH_SHORT,
        .sums = HYPAR_WIDTH_FP32,
        .loss = HYPAR_WIDTH_FP32,
        .prefetch = 1,
        WAITS([HYPAR_TRAFFIC_TENSOR] = true, [HYPAR_TRAFFIC_SEQUENCE] = true),
    },
    {
        .name = "megatron-2021",
        .summary = "Megatron-LM of 2021: attention written out, nothing overlapped",
        .source =
            "Narayanan et al., SC 2021: fused element-wise kernels, attention as products and "
            "a "
            "softmax with 10 % dropout, masks kept, gradients accumulated and summed in fp32 "
            "after the backward pass, stages exchange between passes. After such an exchange the "
            "host waits for its device (torch.cuda.synchronize() in p2p_communication.py).",
        .launches = HYPAR_LAUNCHES_EAGER,
        .host_waits = true,
        .attention = HYPAR_ATTENTION_UNFUSED,
        .attention_dropout = 0.1,
        .keeps_masks = true,
        .gradients = HYPAR_WIDTH_FP32,
        .sums = HYPAR_WIDTH_FP32,
        WAITS([HYPAR_TRAFFIC_GRADIENTS] = true, [HYPAR_TRAFFIC_GATHERS] = true,
              [HYPAR_TRAFFIC_TENSOR] = true, [HYPAR_TRAFFIC_SEQUENCE] = true,
              [HYPAR_TRAFFIC_STAGES] = true),
        .memory = { .logits_fp32 = 1, .flat_gradients = true },
    },
    {
        .name = "megatron-2022",
        .summary = "Megatron-LM of 2022, with sequence parallelism: exchanges beside kernels",
        .source =
            "Korthikanti et al., MLSys 2023: as in 2021, but with sequence parallelism gathers "
            "run beside the gradients of weights, and stages exchange beside passes.",
        .launches = HYPAR_LAUNCHES_EAGER,
        .host_waits = true,
        .attention = HYPAR_ATTENTION_UNFUSED,
        .attention_dropout = 0.1,
        .keeps_masks = true,
        .gradients = HYPAR_WIDTH_FP32,
        .sums = HYPAR_WIDTH_FP32,
        .memory = { .logits_fp32 = 1, .flat_gradients = true },
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
            "stages the host waits for its device (batch_p2p_sync). The host's time for a "
            "layer: Megatron-LM's own tests on A100s without a pipeline (golden values).",
        .launches = HYPAR_LAUNCHES_EAGER,
        .host_waits = true,
        .attention = HYPAR_ATTENTION_FUSED,
        .keeps_masks = true,
        .gradients = HYPAR_WIDTH_FP32,
        .sums = HYPAR_WIDTH_FP32,
        .loss = HYPAR_WIDTH_FP32,
        .layer_s = 2.4e-3,
        .bucket_bytes = 160e6,
        WAITS([HYPAR_TRAFFIC_TENSOR] = true),
        .memory = { .logits_fp32 = 1, .flat_gradients = true },
    },
    {
        .name = "nemo",
        .summary = "NeMo and Megatron Bridge with their performance recipes",
        .source =
            "NeMo's user guide, communication overlap (docs.nvidia.com/nemo-framework): sums "
            "and gathers layer by layer beside kernels, exchanges of tensor parallelism in "
            "pieces beside products (tp_comm_overlap, user buffers), gradients summed in bf16 "
            "(grad_reduce_in_fp32 off), cuDNN's attention.",
        .launches = HYPAR_LAUNCHES_EAGER,
        .attention = HYPAR_ATTENTION_FLASH3,
        .keeps_masks = true,
        .loss = HYPAR_WIDTH_FP32,
        .bucket_bytes = 256e6,
        .memory = { .logits_fp32 = 1, .flat_gradients = true },
    },
    {
        .name = "deepspeed",
        .summary = "DeepSpeed's ZeRO, operator by operator",
        .source =
            "DeepSpeed's configuration (deepspeed.ai/docs/config-json): reduce_bucket_size "
            "5e8 elements, in the parameters' precision; overlap_comm, as stage 3 has it; "
            "stage3_prefetch_bucket_size 5e7 elements, about a layer.",
        .kernels = HYPAR_KERNELS_EAGER,
        .attention = HYPAR_ATTENTION_FLASH2,
        .gathers = HYPAR_WIDTH_SHORT,
        .sums = HYPAR_WIDTH_SHORT,
        .bucket_bytes = 1e9,
        .prefetch = 1,
        WAITS([HYPAR_TRAFFIC_TENSOR] = true, [HYPAR_TRAFFIC_SEQUENCE] = true),
    },
};

const struct hypar_framework *hypar_framework_at(int i)
{
    return i >= 0 && i < (int)(sizeof rows / sizeof rows[0]) ? &rows[i] : NULL;
}
