/* clang-format off */
/* machine/option_list.h - everything a word or a JSON object can set, one row each:
 *
 *  OPTION(ENUM, "name", "example", "summary",
 *         JSON key, figure, unit, scope, low, high, whole)
 *
 *  figure  whether the key is also a member of struct hypar_device (DEVICE), of its `kernels`
 *          (KERNELS) or of neither (NO; memory_bytes, a whole number, counts as that)
 *  order   fp32 is first, as other peaks may follow from it; rails is before nics, which follow
 *          from it */
OPTION(FP32, "fp32", "15.7TFLOP/s", "peak of 32-bit arithmetic",
       fp32_op_per_s, DEVICE, RATE, DEVICE, 1, 1e24, false)
OPTION(FP64, "fp64", "7.8TFLOP/s", "peak of 64-bit arithmetic",
       fp64_op_per_s, DEVICE, RATE, DEVICE, 1, 1e24, false)
OPTION(BF16, "bf16", "312TFLOP/s", "peak in bfloat16",
       bf16_op_per_s, DEVICE, RATE, DEVICE, 1, 1e24, false)
OPTION(FP16, "fp16", "125TFLOP/s", "peak of 16-bit arithmetic",
       fp16_op_per_s, DEVICE, RATE, DEVICE, 1, 1e24, false)
OPTION(TF32, "tf32", "156TFLOP/s", "peak of 32-bit arithmetic by matrix units",
       tf32_op_per_s, DEVICE, RATE, DEVICE, 1, 1e24, false)
OPTION(FP8, "fp8", "1979TFLOP/s", "peak of 8-bit arithmetic by matrix units (0: none)",
       fp8_op_per_s, DEVICE, RATE, DEVICE, 0, 1e24, false)
OPTION(EFFICIENCY, "efficiency", "0.5", "share of the peak that large products reach",
       efficiency, DEVICE, COUNT, DEVICE, 1e-6, 1, false)
OPTION(MEMORY, "memory", "80GB", "memory of a device",
       memory_bytes, NO, BYTES, DEVICE, 1, 1e15, true)
OPTION(USABLE, "usable-memory", "84.9GB", "of this, as the driver tells programs (0: all)",
       usable_bytes, DEVICE, BYTES, DEVICE, 0, 1e15, false)
OPTION(CONTEXT, "context-memory", "500MB", "that the driver's context and loaded kernels take (0: no framework runs here)",
       context_bytes, DEVICE, BYTES, DEVICE, 0, 1e15, false)
OPTION(WORKSPACE, "workspace-memory", "32MiB", "that products work in, for each handle and stream",
       workspace_bytes, DEVICE, BYTES, DEVICE, 0, 1e15, false)
OPTION(MEMORY_BANDWIDTH, "memory-bandwidth", "900GB/s", "between a device and its memory",
       memory_bytes_per_s, DEVICE, BANDWIDTH, DEVICE, 1, 1e18, false)
OPTION(ADD, "add-energy", "0.9pJ", "energy of a 32-bit addition",
       add_j, DEVICE, JOULES, DEVICE, 0, 1, false)
OPTION(MULTIPLY, "multiply-energy", "3.7pJ", "energy of a 32-bit multiplication",
       multiply_j, DEVICE, JOULES, DEVICE, 0, 1, false)
OPTION(SRAM, "sram-energy", "5pJ", "energy of a 32-bit access to memory on the chip",
       sram_access_j, DEVICE, JOULES, DEVICE, 0, 1, false)
OPTION(DRAM, "dram-energy", "640pJ", "energy of a 32-bit access to the device's memory",
       dram_access_j, DEVICE, JOULES, DEVICE, 0, 1, false)
OPTION(IDLE, "idle-power", "75W", "that a device takes all the time, computing or waiting, besides (0: not counted)",
       idle_w, DEVICE, WATTS, DEVICE, 0, 1e9, false)
OPTION(POWER_LIMIT, "power-limit", "700W", "that kernels which need more power must keep to (0: none)",
       power_limit_w, DEVICE, WATTS, DEVICE, 0, 1e9, false)
OPTION(BUSY, "busy-power", "280W", "that running kernels take, whatever they do (0: idle-power)",
       busy_w, DEVICE, WATTS, DEVICE, 0, 1e9, false)
OPTION(FP64_ENERGY, "fp64-energy", "8pJ", "of an operation of products, all told (0: such that large ones reach the limit)",
       fp64_op_j, DEVICE, JOULES, DEVICE, 0, 1, false)
OPTION(FP32_ENERGY, "fp32-energy", "8pJ", "the same in 32 bits",
       fp32_op_j, DEVICE, JOULES, DEVICE, 0, 1, false)
OPTION(TF32_ENERGY, "tf32-energy", "2pJ", "the same in tf32",
       tf32_op_j, DEVICE, JOULES, DEVICE, 0, 1, false)
OPTION(BF16_ENERGY, "bf16-energy", "0.8pJ", "the same in 16 bits",
       bf16_op_j, DEVICE, JOULES, DEVICE, 0, 1, false)
OPTION(FP8_ENERGY, "fp8-energy", "0.4pJ", "the same in 8 bits",
       fp8_op_j, DEVICE, JOULES, DEVICE, 0, 1, false)
OPTION(VECTOR_ENERGY, "vector-energy", "50pJ", "of an operation outside products (0: as in 32 bits)",
       vector_op_j, DEVICE, JOULES, DEVICE, 0, 1, false)
OPTION(REDUCTION_LENGTH, "reduction-length", "100", "of products: summed over so many, they run at half that share",
       reduction_length, KERNELS, COUNT, DEVICE, 0, 1e9, false)
OPTION(OUTPUT_LENGTH, "output-length", "50", "likewise for results of so many rows or columns",
       output_length, KERNELS, COUNT, DEVICE, 0, 1e9, false)
OPTION(UNALIGNED, "unaligned-efficiency", "0.2", "of products with rows that are no multiples of 4 bytes (0: 1)",
       unaligned_efficiency, KERNELS, COUNT, DEVICE, 0, 1, false)
OPTION(STREAM, "stream-efficiency", "0.85", "share of memory-bandwidth of element-wise kernels (0: 1)",
       stream_efficiency, KERNELS, COUNT, DEVICE, 0, 4, false)
OPTION(PRODUCT, "product-efficiency", "0.7", "of kernels that do products (0: 1)",
       product_efficiency, KERNELS, COUNT, DEVICE, 0, 4, false)
OPTION(ROW, "row-efficiency", "0.4", "of kernels that reduce, but not along samples (0: 1)",
       row_efficiency, KERNELS, COUNT, DEVICE, 0, 4, false)
OPTION(COLUMN, "column-efficiency", "0.3", "of kernels that reduce along samples (0: 1)",
       column_efficiency, KERNELS, COUNT, DEVICE, 0, 4, false)
OPTION(COMPILED_COLUMN, "compiled-column-efficiency", "0.5", "of these as a framework compiles them (0: the same)",
       compiled_column_efficiency, KERNELS, COUNT, DEVICE, 0, 4, false)
OPTION(WINDOW, "window-efficiency", "0.15", "of kernels that slide a window or exchange dimensions (0: 1)",
       window_efficiency, KERNELS, COUNT, DEVICE, 0, 4, false)
OPTION(SCATTER, "scatter-efficiency", "0.02", "of kernels that add into rows which are looked up (0: 1)",
       scatter_efficiency, KERNELS, COUNT, DEVICE, 0, 4, false)
OPTION(COLUMN_SUMS, "column-sums", "1450", "of reductions along samples: with so many sums they stream at half the rate (0: at all of it)",
       column_sums, KERNELS, COUNT, DEVICE, 0, 1e9, false)
OPTION(ATTENTION, "attention-efficiency", "1", "share of dense products' rate of fused attention, forward (0: as products)",
       attention_efficiency, KERNELS, COUNT, DEVICE, 0, 4, false)
OPTION(ATTENTION_BACKWARD, "attention-backward", "0.8", "the same of the backward half",
       attention_backward, KERNELS, COUNT, DEVICE, 0, 4, false)
OPTION(ATTENTION_WIDTH, "attention-width", "64", "heads of this width reach half that share",
       attention_width, KERNELS, COUNT, DEVICE, 0, 1e9, false)
OPTION(ATTENTION_KEYS, "attention-keys", "200", "fixed cost of a query, as a number of additional keys",
       attention_keys, KERNELS, COUNT, DEVICE, 0, 1e9, false)
OPTION(ATTENTION_CAUSAL, "attention-causal", "1.2", "under causal attention: multiply the keys that a query reads by this (0: 1)",
       attention_causal, KERNELS, COUNT, DEVICE, 0, 16, false)
OPTION(FLASH2, "flash2-share", "0.6", "share of FlashAttention 2 in the best kernel's rate (0: 1)",
       flash2_share, KERNELS, COUNT, DEVICE, 0, 1, false)
OPTION(KERNEL, "kernel-time", "2us", "that every kernel takes besides",
       kernel_s, KERNELS, SECONDS, DEVICE, 0, 1e6, false)
OPTION(REDUCTION_TIME, "reduction-time", "2us", "that kernels which multiply or reduce take besides",
       reduction_s, KERNELS, SECONDS, DEVICE, 0, 1e6, false)
OPTION(COLUMN_TIME, "column-time", "5us", "that kernels which reduce along samples take besides",
       column_s, KERNELS, SECONDS, DEVICE, 0, 1e6, false)
OPTION(SUMMED_TIME, "summed-time", "2ns", "of products, for each of up to 2,048 that they sum over",
       summed_s, KERNELS, SECONDS, DEVICE, 0, 1e6, false)
OPTION(VECTOR, "vector-rate", "6TFLOP/s", "of arithmetic element by element (0: efficiency times the peak)",
       vector_op_per_s, KERNELS, RATE, DEVICE, 0, 1e24, false)
OPTION(EAGER_LAUNCH, "eager-launch", "7us", "that the host takes to launch a kernel, one by one",
       eager_launch_s, KERNELS, SECONDS, DEVICE, 0, 1e6, false)
OPTION(COMPILED_LAUNCH, "compiled-launch", "4us", "likewise, captured by a framework that compiles",
       compiled_launch_s, KERNELS, SECONDS, DEVICE, 0, 1e6, false)
OPTION(COMM_LATENCY, "comm-latency", "30us", "of every comm, besides its messages",
       comm_latency_s, KERNELS, SECONDS, DEVICE, 0, 1e6, false)
OPTION(COPY, "copy-bandwidth", "2TB/s", "of a device's own copies of what a comm moves (0: not counted)",
       copy_bytes_per_s, KERNELS, BANDWIDTH, DEVICE, 0, 1e18, false)
OPTION(COMM_SHARE, "comm-share", "0.17", "of a collective's time: what kernels beside it lose",
       comm_share, KERNELS, COUNT, DEVICE, 0, 1, false)
OPTION(JITTER, "jitter", "3%", "devices differ by so much in speed; the slowest of all decides",
       jitter, KERNELS, COUNT, DEVICE, 0, 1, false)
OPTION(BANDWIDTH, "bandwidth", "25GB/s", "of each link and direction (htree: at the leaves)",
       bytes_per_s, NO, BANDWIDTH, SIMPLE, 1, 1e18, false)
OPTION(INTRA, "intra", "450GB/s", "cluster: of each device into its node's switch",
       intra_bytes_per_s, NO, BANDWIDTH, CLUSTER, 1, 1e18, false)
OPTION(INTER, "inter", "50GB/s", "cluster: of each network card of a node",
       inter_bytes_per_s, NO, BANDWIDTH, CLUSTER, 1, 1e18, false)
OPTION(RAILS, "rails", "on", "cluster: card i of every node is at its device i, on switch i",
       rails, NO, COUNT, CLUSTER, 0, 1, true)
OPTION(NICS, "nics", "8", "cluster: network cards of a node",
       nics, NO, COUNT, CLUSTER, 1, MACHINE_MAX_DEVICES, true)
OPTION(LINK_EFFICIENCY, "link-efficiency", "0.8", "share of the bandwidth that messages reach",
       link_efficiency, NO, COUNT, SIMPLE, 1e-6, 1, false)
OPTION(INTRA_EFFICIENCY, "intra-efficiency", "0.8", "cluster: the same of links inside a node",
       intra_efficiency, NO, COUNT, CLUSTER, 1e-6, 1, false)
OPTION(INTER_EFFICIENCY, "inter-efficiency", "0.9", "cluster: the same of network cards",
       inter_efficiency, NO, COUNT, CLUSTER, 1e-6, 1, false)
OPTION(LATENCY, "latency", "2us", "of each link",
       latency_s, NO, SECONDS, LINK, 0, 1e6, false)
OPTION(INTER_LATENCY, "inter-latency", "5us", "cluster: of each link between nodes",
       inter_latency_s, NO, SECONDS, CLUSTER, 0, 1e6, false)
OPTION(NVLS, "nvls", "on", "cluster: switches inside a node sum for all-reduces",
       nvls, NO, COUNT, CLUSTER, 0, 1, true)
OPTION(SHARP, "sharp", "on", "cluster: switches between nodes sum for all-reduces",
       sharp, NO, COUNT, CLUSTER, 0, 1, true)
OPTION(NCCL, "nccl", "on", "cluster: collectives by NCCL's algorithms alone",
       nccl, NO, COUNT, CLUSTER, 0, 1, true)
OPTION(LEAF, "leaf", "16", "cluster: nodes of a leaf switch (0: one switch for all nodes)",
       leaf, NO, COUNT, CLUSTER, 0, MACHINE_MAX_DEVICES, true)
OPTION(OVERSUBSCRIPTION, "oversubscription", "2", "cluster: the bandwidth into a leaf switch over that above it",
       oversubscription, NO, COUNT, CLUSTER, 1, 1e6, false)
OPTION(ENERGY, "energy", "8pJ", "of each bit on each link",
       energy_j_per_bit, NO, JOULES, LINK, 0, 1, false)
