/* The table of devices, with the source of every figure. */
#include "machine/machine.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/word.h"

/* To add a device: a row here, with the source of every figure. Where a vendor gives no figure,
 * the row says "assumed". Peaks are dense (no sparsity), of matrix units where there are any,
 * sums in fp32; for a type without a unit the fp32 peak counts, in which the device computes.
 * Memory is counted in powers of ten, as the vendors print it. Bandwidths of links are per
 * direction: half of what vendors print as "bidirectional".
 *
 * Energy. HyPar's array, processors and devices whose kernels nobody measured: Horowitz (ISSCC
 * 2014), 45 nm, the figures HyPar uses; DRAM per 32-bit word: HMC and DDR 640 pJ (Horowitz),
 * GDDR5 14 pJ/bit and HBM2 3.92 pJ/bit (O'Connor et al., MICRO 2017). Other devices have a
 * power limit (TDP), what they take idle with clocks up, and memory's energy; an operation
 * takes what brings products at `efficiency` to the limit (TDP over sustained rate), unless it
 * was measured, and running 0.43 of the limit. Memory: as measured on an H200, 72 pJ for a byte
 * with all that moves it, counted for every HBM; GDDR takes 10 pJ/bit more than HBM2 (O'Connor
 * et al., MICRO 2017), of which GDDR6 saves 60 %.
 *
 * Collectives of a100: latencies fitted to all-reduces of NCCL among 2, 4 and 8 of them, 1 MiB
 * to 1 GiB (VIA-Research/vTrain), every second size. Messages reach 0.82 of NVLink there.
 * Copies run at the bandwidth of memory, which explains the rest of the measured times. On h100
 * rings have 370 of 450 GB/s of bus bandwidth with their copies, so that messages reach 0.96,
 * and 46 to 48 GB/s of a card of 50 (NCCL's authors, NVIDIA/nccl-tests issues 212 and 290).
 * Switches that sum are not counted unless `nvls` says so. Other rows take these latencies and
 * shares; PCIe 0.8 of its bandwidth, AMD's links 0.7 (assumed). */
#define HOROWITZ(dram)             0.9e-12, 3.7e-12, 5e-12, (dram), 0
#define OLD_DDR                    640e-12
#define OLD_GDDR                   (32 * 14e-12)
#define OLD_HBM                    (32 * 3.92e-12)
#define GDDR                       (4 * 102e-12)
#define HBM                        (4 * 72e-12)
#define POWER(limit, idle, memory) 0, 0, 0, (memory), (idle), (limit), 0.43 * (limit)

/* On an H200 (bench/h200/power.csv): with nothing to do and clocks up it takes 130 W, and
 * whatever runs 580 to 720 W, of which 300 W for running explain the energy of whole steps
 * best. Bytes by streams of 4.1 to 4.4 TB/s (585 W). Products of 8,192 cubed, held for seconds
 * at the limit of 700 W: 655 TF/s in bf16, 341 in tf32, 1,180 in fp8; fp32 51 TF/s at 683 W.
 * These would be 0.58, 1.15, 0.31 and 7.5 pJ, but whole steps slow down by 1 to 4 %, as with an
 * eighth less: products of random numbers take more than a network's, and a device averages
 * over kernels. Other devices of TSMC's 4N and 4NP processes with such units (the other Hopper
 * cards, Blackwell) that nobody measured have its share of the peak and its energies, so what
 * they hold follows from their power limit. */
#define HOPPER_ENERGY(half)                                                                 \
    .fp32_op_j = 7.5e-12, .tf32_op_j = 1.05e-12, .bf16_op_j = (half), .fp8_op_j = 0.29e-12, \
    .vector_op_j = 20e-12

#define UNMEASURED    \
    {                 \
        .kernel_s = 0 \
    } /* how fast kernels run relative to the peaks */

/* Memory as programs see it, in GiB: the total capacity in messages of PyTorch about memory
 * that is missing. The context and the kernels that PyTorch loads: as nvidia-smi tells them of
 * a process that trains, without what its allocator reserved and without NCCL, about half a
 * gigabyte (assumed: drivers and versions differ). Workspaces: of cuBLAS under PyTorch, 8 MiB
 * and 128 KiB, from compute capability 9 on 32 MiB (pytorch/pytorch, CublasHandlePool.cpp;
 * NVIDIA, cuBLAS, cublasSetWorkspace). */
#define ALL_SEEN    .usable_bytes = 0 /* and no context is known */
#define SEEN(gib)   .usable_bytes = (double)(int64_t)((gib)*1073741824.)
#define CUDA(gib)   SEEN(gib), .context_bytes = 450e6, .workspace_bytes = 8519680
#define CUDA_9(gib) SEEN(gib), .context_bytes = 550e6, .workspace_bytes = 33554432

/* The device's side of collectives, and the links' with one card for each device. Over NVLink
 * NCCL has 24 channels, each of which occupies a multiprocessor. Such blocks, moving 370 GB/s
 * for 20 of each 40 ms, took 0.157 to 0.17 of their time from a held transformer layer on the
 * 132 multiprocessors of an H200, 0.2 to 0.22 from one after pauses (bench/h200/beside.csv). */
#define NCCL(memory)             .comm_latency_s = 33.5e-6, .copy_bytes_per_s = (memory)
#define NCCL_NVLINK(memory, sms) NCCL(memory), .comm_share = 0.17 * 132 / (sms)
#define NVLINK(share)            .devices_per_card = 1, .link_efficiency = (share), .nic_efficiency = 0.94
#define PCIE                     .link_efficiency = 0.8, .nic_efficiency = 0.94

/* Kernels of PyTorch on an H200 (bench/h200): by `hypar fit` from two thirds of 1,189 of them,
 * with a median error of 15 % on the others; columns as compiled from 120 more, likewise;
 * launches from whole steps. Other rows take the shares and times, which belong to libraries
 * and frameworks, with element-wise arithmetic scaled by multiprocessors and clock. */
#define TIMES                                                                              \
    .kernel_s = 1.61e-6, .reduction_s = 1.48e-6, .column_s = 5.76e-6, .summed_s = 1.98e-9, \
    .eager_launch_s = 26e-6, .compiled_launch_s = 1e-6
#define LIBRARIES                                                   \
    .unaligned_efficiency = 0.137, .product_efficiency = 0.784,     \
    .compiled_column_efficiency = 0.59, .window_efficiency = 0.072, \
    .scatter_efficiency = 0.037
#define H200_SHARES                                                                      \
    LIBRARIES, .reduction_length = 76, .output_length = 108, .stream_efficiency = 0.766, \
               .row_efficiency = 0.463, .column_efficiency = 0.074, .column_sums = 1450
/* Attention on an H200: cuDNN's kernel, fitted to two thirds of 118 of bench/h200 (ops.csv,
 * power.csv), with a median error of 7 % on the others; FlashAttention 2 in 44 more. */
#define H200_ATTENTION                                                               \
    .attention_efficiency = 1.27, .attention_backward = 1.02, .attention_width = 62, \
    .attention_keys = 388, .attention_causal = 1.12, .flash2_share = 0.6
/* FlashAttention 2 on an A100: 227 TF/s forward and 196 backward for heads of 128 (Dao 2023),
 * scaled to other widths as on the H200. */
#define A100_ATTENTION                                                               \
    .attention_efficiency = 1.35, .attention_backward = 1.16, .attention_width = 62, \
    .attention_keys = 200, .attention_causal = 1.1
/* Before it: half as fast. */
#define OLD_ATTENTION                                                                \
    .attention_efficiency = 0.68, .attention_backward = 0.58, .attention_width = 62, \
    .attention_keys = 200, .attention_causal = 1.1
/* FlashAttention 4 on a B200: 1,535 TF/s forward, 1,360 backward, for heads of 128 and 8,192
 * tokens (Dao-AILab/flash-attention, pull request 2280); FlashAttention 2 330 to 380 (issue
 * 1589). */
#define B200_ATTENTION                                                              \
    .attention_efficiency = 1.01, .attention_backward = 0.9, .attention_width = 62, \
    .attention_keys = 388, .attention_causal = 1.05, .flash2_share = 0.33
#define H200_KERNELS      H200_SHARES, TIMES, H200_ATTENTION, .vector_op_per_s = 5.5e12
#define LIKE_H200(vector) H200_SHARES, TIMES, .vector_op_per_s = (vector)
/* Kernels of a100: shares by hand, kept when eight published steps of Megatron-LM came
 * within 8 %, 1.7B to 18.4B of Narayanan et al. (SC 2021, Table 1), 22B and 175B of Korthikanti
 * et al. (MLSys 2023, Table 5). docs/accuracy.md tells what had been seen of the other rows. */
#define A100_KERNELS                                                                        \
    .reduction_length = 200, .output_length = 100, .stream_efficiency = 0.85,               \
    .row_efficiency = 0.7, .column_efficiency = 0.5, .column_sums = 1450, .kernel_s = 3e-6, \
    LIBRARIES, A100_ATTENTION, .reduction_s = 1.48e-6, .summed_s = 1.98e-9,                 \
    .vector_op_per_s = 3.2e12, .eager_launch_s = 26e-6, .compiled_launch_s = 1e-6
/* Arrays of 128 by 128 that XLA compiles for (assumed). */
#define SYSTOLIC                                                                            \
    .reduction_length = 128, .output_length = 64, .stream_efficiency = 0.8,                 \
    .row_efficiency = 0.7, .column_efficiency = 0.7, .column_sums = 1450, .kernel_s = 2e-6, \
    .attention_efficiency = 0.8, .attention_backward = 0.7, .attention_width = 64,          \
    .attention_keys = 256, .attention_causal = 1.1

#define ENERGY        "; energy: Horowitz ISSCC'14, O'Connor MICRO'17"
#define TDP           "; energy: TDP over sustained rate, memory as an H200's"
#define ASSUMED       "; efficiency, latency and link energy assumed"
#define ENERGY_SOURCE ENERGY ASSUMED
#define POWER_SOURCE  TDP ASSUMED
#define LIKE_H200_POWER                                                                  \
    "; share of the peak and energies of operations: as measured on an h200, memory as " \
    "an H200's; latency and link energy assumed"
#define LIKE(row)                                              \
    "; kernels: shares and times of " row                      \
    ", element-wise arithmetic scaled by multiprocessors and " \
    "clock; collectives: latencies and shares of links as of a100"
#define NCCL_A100_SOURCE                                                                 \
    "; efficiency and kernels: guessed, checked on published steps of Megatron-LM; "     \
    "attention: Dao 2023; launches and element-wise arithmetic like h200; collectives: " \
    "latencies measured, share of NVLink by NCCL's authors, copies at the memory's "     \
    "bandwidth, share of network cards assumed" TDP "; link energy assumed"
#define NCCL_H100_SOURCE                                                                \
    "; efficiency, kernels and energy: measured on an H200 (bench/h200); collectives: " \
    "latencies as "                                                                     \
    "measured on a100, shares of NVLink and network cards by "                          \
    "NCCL's authors, copies at the memory's bandwidth; link energy assumed"

/* clang-format off */
static const struct hypar_device_type types[] = {
    /* { { name, fp64, fp32, tf32, fp16, bf16, fp8 op/s, efficiency, memory bytes, memory B/s, energy, kernels },
     *   ports, link B/s, nic B/s, latency s, J/bit, summary, source } */
    { { "eyeriss-hmc", 42e9, 84e9, 84e9, 84e9, 84e9, 0, 1.0, 8000000000, 320e9, HOROWITZ(OLD_DDR), .kernels = UNMEASURED, ALL_SEEN },
      4, 0.2e9, 0.2e9, 0, 6.78e-12,
      .summary = "168 processing elements at 250 MHz on a memory cube (HyPar's accelerator)",
      "HyPar, HPCA'19: 84 GOPS, 8 GB, 320 GB/s, links 1.6 Gb/s, energy per operation; the paper has "
      "no latency and no efficiency; link energy: logic layer of Jeddeloh and Keeth, VLSI'12; "
      "fp64 at half rate assumed", .hypar_array = true },
    { { "k80", 1.455e12, 4.365e12, 4.365e12, 4.365e12, 4.365e12, 0, 0.5, 12000000000, 240e9, HOROWITZ(OLD_GDDR), .kernels = UNMEASURED, ALL_SEEN },
      1, 15.75e9, 1.25e9, 2e-6, 10e-12,
      .summary = "one of the two GK210 GPUs of an NVIDIA Tesla K80",
      "NVIDIA Tesla K80 data sheet (board figures halved, boost clock), PCIe 3.0 x16; 10 Gb/s "
      "network as in PipeDream's cluster A" ENERGY_SOURCE },
    { { "titan-x", 0.206e12, 6.605e12, 6.605e12, 6.605e12, 6.605e12, 0, 0.5, 12000000000, 336.5e9, HOROWITZ(OLD_GDDR), .kernels = UNMEASURED, ALL_SEEN },
      1, 15.75e9, 5e9, 2e-6, 10e-12,
      .summary = "NVIDIA GeForce GTX Titan X (Maxwell)",
      "NVIDIA GeForce GTX Titan X specifications (boost clock), PCIe 3.0 x16; 40 Gb/s network as in "
      "PipeDream's cluster C" ENERGY_SOURCE },
    { { "p100", 5.3e12, 10.6e12, 10.6e12, 21.2e12, 10.6e12, 0, 0.5, 16000000000, 732e9, HOROWITZ(OLD_HBM), .kernels = UNMEASURED, ALL_SEEN },
      4, 20e9, 12.5e9, 1e-6, 8e-12,
      .summary = "NVIDIA Tesla P100 SXM2 16 GB (no bf16)",
      "NVIDIA Tesla P100 data sheet: NVLink 160 GB/s both ways; 100 Gb/s network" ENERGY_SOURCE },
    { { "v100", 7.8e12, 15.7e12, 15.7e12, 125e12, 15.7e12, 0, 0.5, 16000000000, 900e9, HOROWITZ(OLD_HBM), .kernels = UNMEASURED, ALL_SEEN },
      6, 25e9, 12.5e9, 1e-6, 8e-12,
      .summary = "NVIDIA Tesla V100 SXM2 16 GB (no bf16)",
      "NVIDIA Tesla V100 data sheet: NVLink 300 GB/s both ways; one 100 Gb/s card a node as in AWS p3dn.24xlarge" ENERGY_SOURCE },
    { { "v100-32gb", 7.8e12, 15.7e12, 15.7e12, 125e12, 15.7e12, 0, 0.5, 32000000000, 900e9, HOROWITZ(OLD_HBM), .kernels = UNMEASURED, ALL_SEEN },
      6, 25e9, 12.5e9, 1e-6, 8e-12,
      .summary = "NVIDIA Tesla V100 SXM2 32 GB (no bf16)",
      "NVIDIA Tesla V100 data sheet: NVLink 300 GB/s both ways; one 100 Gb/s card a node as in AWS p3dn.24xlarge" ENERGY_SOURCE },
    { { "t4", 0.254e12, 8.1e12, 8.1e12, 65e12, 8.1e12, 0, 0.62, 16000000000, 320e9, POWER(70, 15, GDDR), .bf16_op_j = 1.5e-12, .kernels = { LIKE_H200(1.3e12), OLD_ATTENTION, NCCL(320e9) }, CUDA(14.56) },
      1, 15.75e9, 6.25e9, 2e-6, 10e-12,
      .summary = "NVIDIA T4 16 GB (no bf16)",
      "NVIDIA T4 data sheet, PCIe 3.0 x16; fp64 a 32nd of fp32 (Turing architecture white paper); "
      "50 Gb/s network assumed" LIKE("h200") POWER_SOURCE, PCIE },
    { { "rtx-3090", 0.556e12, 35.6e12, 35.6e12, 71e12, 71e12, 0, 0.5, 24000000000, 936e9, HOROWITZ(OLD_GDDR), .kernels = UNMEASURED, CUDA(23.69) },
      1, 31.5e9, 1.25e9, 2e-6, 10e-12,
      .summary = "NVIDIA GeForce RTX 3090",
      "NVIDIA Ampere GA102 white paper: 16 bits with sums in fp32, PCIe 4.0 x16, no NVLink bridge; 10 "
      "Gb/s network assumed" ENERGY_SOURCE },
    { { "rtx-4090", 1.29e12, 82.6e12, 82.6e12, 165.2e12, 165.2e12, 330.3e12, 0.5, 24000000000, 1008e9, HOROWITZ(OLD_GDDR), .kernels = UNMEASURED, CUDA(23.64) },
      1, 31.5e9, 1.25e9, 2e-6, 10e-12,
      .summary = "NVIDIA GeForce RTX 4090",
      "NVIDIA Ada architecture white paper: 16 bits with sums in fp32, PCIe 4.0 x16; 10 Gb/s network "
      "assumed" ENERGY_SOURCE },
    { { "a10", 0.488e12, 31.2e12, 62.5e12, 125e12, 125e12, 0, 0.5, 24000000000, 600e9, HOROWITZ(OLD_GDDR), .kernels = UNMEASURED, CUDA(22.06) },
      1, 31.5e9, 12.5e9, 2e-6, 10e-12,
      .summary = "NVIDIA A10 24 GB",
      "NVIDIA A10 data sheet, PCIe 4.0 x16; fp64 a 64th of fp32 (GA102 white paper); 100 Gb/s network "
      "assumed" ENERGY_SOURCE },
    { { "a10g", 0.488e12, 31.2e12, 35e12, 70e12, 70e12, 0, 0.8, 24000000000, 600e9, POWER(300, 40, GDDR), .kernels = { LIKE_H200(2.9e12), A100_ATTENTION, NCCL(600e9) }, CUDA(22.06) },
      1, 31.5e9, 12.5e9, 2e-6, 10e-12,
      .summary = "NVIDIA A10G 24 GB (AWS g5)",
      "NVIDIA A10G data sheet: half of the A10's matrix units, 300 W; PCIe 4.0 x16; fp64 a 64th of fp32 "
      "(GA102 white paper); 100 Gb/s network as in AWS g5.48xlarge" LIKE("h200") POWER_SOURCE, PCIE },
    { { "a40", 0.585e12, 37.4e12, 74.8e12, 149.7e12, 149.7e12, 0, 0.7, 48000000000, 696e9, POWER(300, 50, GDDR), .kernels = { LIKE_H200(3.1e12), A100_ATTENTION, NCCL(696e9) }, CUDA(44.35) },
      1, 31.5e9, 12.5e9, 2e-6, 10e-12,
      .summary = "NVIDIA A40 48 GB",
      "NVIDIA A40 data sheet, PCIe 4.0 x16, no NVLink bridge; fp64 a 64th of fp32 (GA102 white paper); "
      "100 Gb/s network assumed" LIKE("h200") POWER_SOURCE, PCIE },
    { { "a6000", 0.605e12, 38.7e12, 77.4e12, 154.8e12, 154.8e12, 0, 0.5, 48000000000, 768e9, HOROWITZ(OLD_GDDR), .kernels = UNMEASURED, CUDA(47.43) },
      1, 31.5e9, 12.5e9, 2e-6, 10e-12,
      .summary = "NVIDIA RTX A6000 48 GB",
      "NVIDIA RTX A6000 data sheet (tensor figure halved: it counts sparsity), PCIe 4.0 x16, no NVLink "
      "bridge; fp64 a 64th of fp32 (GA102 white paper); 100 Gb/s network assumed" ENERGY_SOURCE },
    { { "l4", 0.473e12, 30.3e12, 60e12, 121e12, 121e12, 242e12, 0.5, 24000000000, 300e9, HOROWITZ(OLD_GDDR), .kernels = UNMEASURED, CUDA(22.03) },
      1, 31.5e9, 12.5e9, 2e-6, 10e-12,
      .summary = "NVIDIA L4 24 GB",
      "NVIDIA L4 data sheet (tensor figures halved: they count sparsity), PCIe 4.0 x16; fp64 a 64th of "
      "fp32 (Ada white paper); 100 Gb/s network assumed" ENERGY_SOURCE },
    { { "l40s", 1.43e12, 91.6e12, 183e12, 362.05e12, 362.05e12, 733e12, 0.7, 48000000000, 864e9, POWER(350, 60, GDDR), .kernels = { LIKE_H200(7e12), A100_ATTENTION, NCCL(864e9) }, CUDA(44.39) },
      1, 31.5e9, 25e9, 2e-6, 10e-12,
      .summary = "NVIDIA L40S 48 GB",
      "NVIDIA L40S data sheet, PCIe 4.0 x16; fp64 a 64th of fp32 (Ada white paper); 200 Gb/s network "
      "assumed" LIKE("h200") POWER_SOURCE, PCIE },
    { { "a100", 19.5e12, 19.5e12, 156e12, 312e12, 312e12, 0, 0.8, 80000000000, 2039e9, POWER(400, 80, HBM), .kernels = { A100_KERNELS, NCCL_NVLINK(2039e9, 108) }, CUDA(79.15) },
      12, 25e9, 25e9, 2.5e-6, 8e-12,
      .summary = "NVIDIA A100 SXM 80 GB",
      "NVIDIA A100 data sheet: fp64 tensor core, NVLink 600 GB/s both ways; a 200 Gb/s card each as in "
      "DGX A100" NCCL_A100_SOURCE, NVLINK(0.82) },
    { { "a100-40gb", 19.5e12, 19.5e12, 156e12, 312e12, 312e12, 0, 0.8, 40000000000, 1555e9, POWER(400, 70, HBM), .kernels = { A100_KERNELS, NCCL_NVLINK(1555e9, 108) }, CUDA(39.38) },
      12, 25e9, 25e9, 2.5e-6, 8e-12,
      .summary = "NVIDIA A100 SXM 40 GB",
      "NVIDIA A100 data sheet: fp64 tensor core, NVLink 600 GB/s both ways; a 200 Gb/s card each as in "
      "DGX A100" NCCL_A100_SOURCE, NVLINK(0.82) },
    { { "h100", 67e12, 67e12, 494.5e12, 989e12, 989e12, 1979e12, 0.906, 80000000000, 3350e9, POWER(700, 130, HBM), HOPPER_ENERGY(0.56e-12), .kernels = { H200_KERNELS, NCCL_NVLINK(3350e9, 132) }, CUDA_9(79.10) },
      18, 25e9, 50e9, 2.5e-6, 8e-12,
      .summary = "NVIDIA H100 SXM 80 GB",
      "NVIDIA H100 data sheet: fp64 tensor core, NVLink 900 GB/s both ways; a 400 Gb/s card each as in "
      "DGX H100" NCCL_H100_SOURCE, NVLINK(0.96) },
    { { "h100-pcie", 51e12, 51e12, 378e12, 756e12, 756e12, 1513e12, 0.906, 80000000000, 2000e9, POWER(350, 80, HBM), HOPPER_ENERGY(0.505e-12), .kernels = { LIKE_H200(4.2e12), H200_ATTENTION, NCCL(2000e9) }, CUDA_9(79.10) },
      1, 63e9, 50e9, 2e-6, 10e-12,
      .summary = "NVIDIA H100 PCIe 80 GB",
      "NVIDIA H100 data sheet of the PCIe card (tensor figures halved: they count sparsity): fp64 tensor "
      "core, PCIe 5.0 x16, no NVLink bridge; 400 Gb/s network" LIKE("h200") LIKE_H200_POWER, PCIE },
    { { "h100-nvl", 60e12, 60e12, 417.5e12, 835e12, 835e12, 1671e12, 0.906, 94000000000, 3938e9, POWER(400, 90, HBM), HOPPER_ENERGY(0.505e-12), .kernels = { LIKE_H200(4.9e12), H200_ATTENTION, NCCL(3938e9) }, CUDA_9(93.11) },
      1, 300e9, 50e9, 2.5e-6, 8e-12,
      .summary = "NVIDIA H100 NVL 94 GB",
      "NVIDIA H100 data sheet of the NVL card (tensor figures halved: they count sparsity): fp64 tensor "
      "core, an NVLink bridge of 600 GB/s both ways in pairs, counted among all; 400 Gb/s network" LIKE("h200") LIKE_H200_POWER, .link_efficiency = 0.82, .nic_efficiency = 0.94 },
    { { "h200", 67e12, 67e12, 494.5e12, 989e12, 989e12, 1979e12, 0.906, 141000000000, 4800e9, POWER(700, 130, HBM), HOPPER_ENERGY(0.505e-12), .kernels = { H200_KERNELS, NCCL_NVLINK(4800e9, 132) }, CUDA_9(139.72) },
      18, 25e9, 50e9, 2.5e-6, 8e-12,
      .summary = "NVIDIA H200 SXM 141 GB",
      "NVIDIA H200 data sheet: fp64 tensor core, NVLink 900 GB/s both ways; a 400 Gb/s card each as in "
      "DGX H200" NCCL_H100_SOURCE, NVLINK(0.96) },
    { { "gh200", 67e12, 67e12, 494e12, 990e12, 990e12, 1979e12, 0.906, 96000000000, 4000e9, POWER(700, 130, HBM), HOPPER_ENERGY(0.505e-12), .kernels = { H200_KERNELS, NCCL_NVLINK(4000e9, 132) }, CUDA_9(94.50) },
      18, 25e9, 50e9, 1e-6, 8e-12,
      .summary = "the GPU of an NVIDIA GH200 superchip, 96 GB",
      "NVIDIA GH200 data sheet: fp64 tensor core, HBM3 4 TB/s, NVLink 900 GB/s both ways; memory of its "
      "CPU not counted; 400 Gb/s network" NCCL_H100_SOURCE, NVLINK(0.96) },
    { { "b200", 40e12, 80e12, 1125e12, 2250e12, 2250e12, 4500e12, 0.906, 192000000000, 8000e9, POWER(1000, 180, HBM), HOPPER_ENERGY(0.505e-12), .kernels = { LIKE_H200(11e12), B200_ATTENTION, NCCL_NVLINK(8000e9, 148) }, CUDA_9(178.35) },
      18, 50e9, 50e9, 1e-6, 8e-12,
      .summary = "NVIDIA B200 SXM 192 GB",
      "NVIDIA Blackwell architecture brief (HGX B200): NVLink 1.8 TB/s both ways; a 400 Gb/s card each as "
      "in DGX B200" LIKE("h200") LIKE_H200_POWER, NVLINK(0.96) },
    { { "gb200", 45e12, 90e12, 1250e12, 2500e12, 2500e12, 5000e12, 0.906, 192000000000, 8000e9, POWER(1200, 180, HBM), HOPPER_ENERGY(0.505e-12), .kernels = { LIKE_H200(12e12), B200_ATTENTION, NCCL_NVLINK(8000e9, 148) }, CUDA_9(184.31) },
      18, 50e9, 50e9, 1e-6, 8e-12,
      .summary = "one of the two GPUs of an NVIDIA GB200 superchip, 192 GB",
      "NVIDIA Blackwell architecture brief (GB200 superchip halved): NVLink 1.8 TB/s both ways; memory of "
      "its CPU not counted; fp32 at twice fp64; 400 Gb/s network" LIKE("h200") LIKE_H200_POWER, NVLINK(0.96) },
    { { "mi250x", 47.85e12, 47.85e12, 47.85e12, 191.5e12, 191.5e12, 0, 0.7, 64000000000, 1638.4e9, POWER(280, 45, HBM), .kernels = { LIKE_H200(3.9e12), A100_ATTENTION, NCCL(1638.4e9) }, ALL_SEEN },
      8, 50e9, 25e9, 1e-6, 8e-12,
      .summary = "one of the two dies of an AMD Instinct MI250X",
      "AMD Instinct MI250X data sheet (module figures halved, matrix units), CDNA 2 white paper: 8 "
      "links of 50 GB/s; one 200 Gb/s card for two dies as in Frontier" LIKE("h200") POWER_SOURCE, .devices_per_card = 2, .link_efficiency = 0.7, .nic_efficiency = 0.94 },
    { { "mi300x", 163.4e12, 163.4e12, 653.7e12, 1307.4e12, 1307.4e12, 2614.9e12, 0.6, 192000000000, 5300e9, POWER(750, 140, HBM), .kernels = { LIKE_H200(10e12), A100_ATTENTION, NCCL(5300e9) }, ALL_SEEN },
      7, 64e9, 50e9, 1e-6, 8e-12,
      .summary = "AMD Instinct MI300X 192 GB",
      "AMD Instinct MI300X data sheet: matrix units, 7 links of 128 GB/s both ways; 400 Gb/s network"
      LIKE("h200") POWER_SOURCE, .devices_per_card = 1, .link_efficiency = 0.7, .nic_efficiency = 0.94 },
    { { "mi325x", 163.4e12, 163.4e12, 653.7e12, 1307.4e12, 1307.4e12, 2614.9e12, 0.6, 256000000000, 6000e9, POWER(1000, 160, HBM), .kernels = { LIKE_H200(10e12), A100_ATTENTION, NCCL(6000e9) }, ALL_SEEN },
      7, 64e9, 50e9, 1e-6, 8e-12,
      .summary = "AMD Instinct MI325X 256 GB",
      "AMD Instinct MI325X data sheet: matrix units, 7 links of 128 GB/s both ways; 400 Gb/s network"
      LIKE("h200") POWER_SOURCE, .devices_per_card = 1, .link_efficiency = 0.7, .nic_efficiency = 0.94 },
    { { "tpu-v3", 1e12, 4e12, 4e12, 4e12, 123e12, 0, 0.8, 32000000000, 900e9, POWER(262, 123, HBM), .kernels = { SYSTOLIC }, ALL_SEEN },
      4, 70e9, 12.5e9, 1e-6, 8e-12,
      .summary = "Google TPU v3, one chip (two cores; no fp16)",
      "Jouppi et al., CACM 2020 and ISCA'23: bf16 123 T, fp32 4 T, links of 70 GB/s; fp64 and network "
      "assumed" "; kernels: arrays of 128 by 128, assumed" POWER_SOURCE },
    { { "tpu-v4", 2e12, 8e12, 8e12, 8e12, 275e12, 0, 0.8, 32000000000, 1200e9, POWER(192, 90, HBM), .kernels = { SYSTOLIC }, ALL_SEEN },
      6, 50e9, 12.5e9, 1e-6, 8e-12,
      .summary = "Google TPU v4, one chip (two cores; no fp16)",
      "Jouppi et al., ISCA'23: bf16 275 T, 6 links of 50 GB/s; fp32, fp64 and network assumed"
      "; kernels: arrays of 128 by 128, assumed" POWER_SOURCE },
    { { "tpu-v5e", 1.5e12, 6e12, 6e12, 6e12, 197e12, 0, 0.8, 16000000000, 819e9, POWER(200, 70, HBM), .kernels = { SYSTOLIC }, ALL_SEEN },
      4, 50e9, 12.5e9, 1e-6, 8e-12,
      .summary = "Google TPU v5e, one chip (one core; no fp16)",
      "Google Cloud TPU documentation: bf16 197 T, 16 GB at 819 GB/s, 4 links, 400 GB/s both ways, two "
      "100 Gb/s cards for 8 chips; fp32 and fp64 assumed" "; kernels: arrays of 128 by 128, assumed" POWER_SOURCE, .devices_per_card = 4 },
    { { "tpu-v5p", 3.25e12, 13e12, 13e12, 13e12, 459e12, 0, 0.8, 95000000000, 2765e9, POWER(400, 140, HBM), .kernels = { SYSTOLIC }, ALL_SEEN },
      6, 100e9, 12.5e9, 1e-6, 8e-12,
      .summary = "Google TPU v5p, one chip (two cores; no fp16)",
      "Google Cloud TPU documentation: bf16 459 T, 95 GB at 2765 GB/s, links of a 3D torus 4800 Gb/s "
      "together; fp32, fp64 and network assumed" "; kernels: arrays of 128 by 128, assumed" POWER_SOURCE },
    { { "trainium2", 10e12, 181e12, 667e12, 667e12, 667e12, 1299e12, 0.7, 96000000000, 2900e9, POWER(500, 120, HBM), .kernels = { SYSTOLIC }, SEEN(96) },
      4, 128e9, 25e9, 1e-6, 8e-12,
      .summary = "AWS Trainium2, one chip (eight cores)",
      "AWS Neuron documentation: bf16, fp16 and tf32 667 T, fp32 181 T, fp8 1299 T, 96 GB at 2.9 TB/s, 4 links "
      "of a torus with 1 TB/s together, 3.2 Tb/s of network for 16 chips; fp64 and power assumed; kernels: arrays "
      "of 128 by 128, assumed" POWER_SOURCE, .devices_per_card = 1 },
    { { "cpu-core", 48e9, 96e9, 96e9, 96e9, 96e9, 0, 0.7, 4000000000, 10e9, HOROWITZ(OLD_DDR), .kernels = UNMEASURED, ALL_SEEN },
      1, 10e9, 1.25e9, 0.5e-6, 10e-12,
      .summary = "one core of a server processor with 256-bit vectors",
      "assumed: 3 GHz, two 8-wide fp32 multiply-adds a cycle, 4 GB and 10 GB/s a core, 10 Gb/s network"
      "; energy: Horowitz ISSCC'14" },
};
/* clang-format on */

enum { N_TYPES = sizeof types / sizeof types[0] };

const struct hypar_device_type *hypar_device_type(int i)
{
    return i >= 0 && i < N_TYPES ? &types[i] : NULL;
}

const struct hypar_device_type *hp_device_type_find(const char *name)
{
    for (int i = 0; i < N_TYPES; i++)
        if (strcmp(types[i].device.name, name) == 0)
            return &types[i];
    return NULL;
}

void hp_device_unmeasured(struct hypar_device *device)
{
    static const struct hypar_device none = {
        0, 0, 0, 0, 0, 0, 0, 0.5, 0, 0, HOROWITZ(OLD_HBM), .kernels = UNMEASURED
    };
    struct hypar_device said = *device;
    *device = none;
    device->name = said.name;
}

/* Synonyms for names of the table. */
static const struct alias {
    const char *word, *name;
} aliases[] = {
    { "v100-16", "v100" },   { "a100-80", "a100" },  { "a100-sxm", "a100" },
    { "h100-80", "h100" },   { "h100-sxm", "h100" }, { "4090", "rtx-4090" },
    { "3090", "rtx-3090" },  { "v5e", "tpu-v5e" },   { "v5p", "tpu-v5p" },
    { "trn2", "trainium2" },
};

static const char *skip_separators(const char *text)
{
    return text + strspn(text, "-_ ");
}

static bool ends(const char *text)
{
    return !*text || strcasecmp(skip_separators(text), "gb") == 0;
}

/* Are the names equal, ignoring case, separators and a final "gb": "RTX4090", "A100 40"? */
static bool is_called(const char *word, const char *name)
{
    for (; *word && *name; word++, name++) {
        word = skip_separators(word);
        name = skip_separators(name);
        if (tolower((unsigned char)*word) != *name)
            return false;
    }
    return ends(word) && ends(name);
}

static const struct hypar_device_type *find_written(const char *word)
{
    for (int i = 0; i < N_TYPES; i++)
        if (is_called(word, types[i].device.name))
            return &types[i];
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (is_called(word, aliases[i].word))
            return hp_device_type_find(aliases[i].name);
    return NULL;
}

enum hypar_status hp_device_type_get(const struct hypar_device_type **out, const char *name,
                                     struct hypar_error *err)
{
    *out = find_written(name);
    if (*out || !err)
        return *out ? HYPAR_OK : HYPAR_INVALID;
    struct arena scratch = { 0 };
    const char *table[N_TYPES], *const *all;
    char known[400];
    int n = 0, n_all = N_TYPES;
    for (int i = 0; i < N_TYPES; i++)
        table[i] = types[i].device.name;
    all = hp_site_names(&scratch, HYPAR_SITE_DEVICES, table, &n_all);
    const char **begin = NEW(&scratch, const char *, n_all);
    for (int i = 0; i < n_all; i++)
        if (*name && strncasecmp(all[i], name, strlen(name)) == 0)
            begin[n++] = all[i];
    if (n > 0)
        hp_fail(err, HYPAR_INVALID, "unknown device '%.40s', did you mean %s?", name,
                hp_word_list(known, sizeof known, begin, n));
    else
        hp_fail(err, HYPAR_INVALID, "unknown device '%.40s', %s", name,
                hp_expected(known, sizeof known, name, all, n_all, "hypar machines"));
    hp_arena_free(&scratch);
    return HYPAR_INVALID;
}
