/* The table of devices. */
#include "machine/machine.h"

#include <string.h>

/* To add a device: a row here, with the source of every figure. Where a vendor gives no figure,
 * the row says "assumed". Peaks are dense (no sparsity); 16-bit peaks of devices without
 * bfloat16 are those of fp16, or of fp32 where there is no faster 16-bit unit. Memory is
 * counted in powers of ten, as the vendors print it. Bandwidths of links are per direction:
 * half of what vendors print as "bidirectional".
 *
 * Energy of arithmetic and SRAM: Horowitz (ISSCC 2014), 45 nm, the figures HyPar uses; no
 * vendor publishes its own. DRAM per 32-bit word: HMC and DDR 640 pJ (Horowitz), GDDR5 14
 * pJ/bit and HBM2 3.92 pJ/bit (O'Connor et al., MICRO 2017); HBM2e and later counted as HBM2.
 */
#define HOROWITZ 0.9e-12, 3.7e-12, 5e-12
#define DDR      640e-12
#define GDDR5    (32 * 14e-12)
#define HBM      (32 * 3.92e-12)

#define ENERGY_SOURCE                                                                      \
    "; energy: Horowitz ISSCC'14, O'Connor MICRO'17; efficiency, latency and link energy " \
    "assumed"

/* clang-format off */
static const struct hypar_device_type types[] = {
    /* { { name, fp64, fp32, bf16 op/s, efficiency, memory bytes, memory B/s, add, multiply, SRAM, DRAM J },
     *   ports, link B/s, nic B/s, latency s, J/bit, summary, source } */
    { { "eyeriss-hmc", 42e9, 84e9, 84e9, 1.0, 8000000000, 320e9, HOROWITZ, DDR },
      4, 0.2e9, 0.2e9, 0, 6.78e-12,
      "168 processing elements at 250 MHz on a memory cube (HyPar's accelerator)",
      "HyPar, HPCA'19: 84 GOPS, 8 GB, 320 GB/s, links 1.6 Gb/s, energy per operation; the paper has "
      "no latency and no efficiency; link energy: logic layer of Jeddeloh and Keeth, VLSI'12; "
      "fp64 at half rate assumed" },
    { { "k80", 1.455e12, 4.365e12, 4.365e12, 0.5, 12000000000, 240e9, HOROWITZ, GDDR5 },
      1, 15.75e9, 1.25e9, 2e-6, 10e-12,
      "one of the two GK210 GPUs of an NVIDIA Tesla K80",
      "NVIDIA Tesla K80 data sheet (board figures halved, boost clock), PCIe 3.0 x16; 10 Gb/s "
      "network as in PipeDream's cluster A" ENERGY_SOURCE },
    { { "titan-x", 0.206e12, 6.605e12, 6.605e12, 0.5, 12000000000, 336.5e9, HOROWITZ, GDDR5 },
      1, 15.75e9, 5e9, 2e-6, 10e-12,
      "NVIDIA GeForce GTX Titan X (Maxwell)",
      "NVIDIA GeForce GTX Titan X specifications (boost clock), PCIe 3.0 x16; 40 Gb/s network as in "
      "PipeDream's cluster C" ENERGY_SOURCE },
    { { "p100", 5.3e12, 10.6e12, 21.2e12, 0.5, 16000000000, 732e9, HOROWITZ, HBM },
      4, 20e9, 12.5e9, 1e-6, 8e-12,
      "NVIDIA Tesla P100 SXM2 16 GB",
      "NVIDIA Tesla P100 data sheet: NVLink 160 GB/s both ways; 100 Gb/s network" ENERGY_SOURCE },
    { { "v100", 7.8e12, 15.7e12, 125e12, 0.5, 16000000000, 900e9, HOROWITZ, HBM },
      6, 25e9, 12.5e9, 1e-6, 8e-12,
      "NVIDIA Tesla V100 SXM2 16 GB (16 bits: fp16 tensor cores)",
      "NVIDIA Tesla V100 data sheet: NVLink 300 GB/s both ways; 100 Gb/s network as in DGX-1" ENERGY_SOURCE },
    { { "a100", 19.5e12, 19.5e12, 312e12, 0.5, 80000000000, 2039e9, HOROWITZ, HBM },
      12, 25e9, 25e9, 1e-6, 8e-12,
      "NVIDIA A100 SXM 80 GB",
      "NVIDIA A100 data sheet: fp64 tensor core, NVLink 600 GB/s both ways; 200 Gb/s network as in "
      "DGX A100" ENERGY_SOURCE },
    { { "h100", 67e12, 67e12, 989e12, 0.5, 80000000000, 3350e9, HOROWITZ, HBM },
      18, 25e9, 50e9, 1e-6, 8e-12,
      "NVIDIA H100 SXM 80 GB",
      "NVIDIA H100 data sheet: fp64 tensor core, NVLink 900 GB/s both ways; 400 Gb/s network as in "
      "DGX H100" ENERGY_SOURCE },
    { { "h200", 67e12, 67e12, 989e12, 0.5, 141000000000, 4800e9, HOROWITZ, HBM },
      18, 25e9, 50e9, 1e-6, 8e-12,
      "NVIDIA H200 SXM 141 GB",
      "NVIDIA H200 data sheet: fp64 tensor core, NVLink 900 GB/s both ways; 400 Gb/s network as in "
      "DGX H200" ENERGY_SOURCE },
    { { "b200", 40e12, 80e12, 2250e12, 0.5, 192000000000, 8000e9, HOROWITZ, HBM },
      18, 50e9, 50e9, 1e-6, 8e-12,
      "NVIDIA B200 SXM 192 GB",
      "NVIDIA Blackwell architecture brief (HGX B200): NVLink 1.8 TB/s both ways; 400 Gb/s network as "
      "in DGX B200" ENERGY_SOURCE },
    { { "mi250x", 47.85e12, 47.85e12, 191.5e12, 0.5, 64000000000, 1638.4e9, HOROWITZ, HBM },
      8, 50e9, 25e9, 1e-6, 8e-12,
      "one of the two dies of an AMD Instinct MI250X",
      "AMD Instinct MI250X data sheet (module figures halved, matrix units), CDNA 2 white paper: 8 "
      "links of 50 GB/s; 200 Gb/s network as in Frontier" ENERGY_SOURCE },
    { { "mi300x", 163.4e12, 163.4e12, 1307.4e12, 0.5, 192000000000, 5300e9, HOROWITZ, HBM },
      7, 64e9, 50e9, 1e-6, 8e-12,
      "AMD Instinct MI300X 192 GB",
      "AMD Instinct MI300X data sheet: matrix units, 7 links of 128 GB/s both ways; 400 Gb/s network"
      ENERGY_SOURCE },
    { { "tpu-v3", 1e12, 4e12, 123e12, 0.5, 32000000000, 900e9, HOROWITZ, HBM },
      4, 70e9, 12.5e9, 1e-6, 8e-12,
      "Google TPU v3, one chip (two cores)",
      "Jouppi et al., CACM 2020 and ISCA'23: bf16 123 T, fp32 4 T, links of 70 GB/s; fp64 and network "
      "assumed" ENERGY_SOURCE },
    { { "tpu-v4", 2e12, 8e12, 275e12, 0.5, 32000000000, 1200e9, HOROWITZ, HBM },
      6, 50e9, 12.5e9, 1e-6, 8e-12,
      "Google TPU v4, one chip (two cores)",
      "Jouppi et al., ISCA'23: bf16 275 T, 6 links of 50 GB/s; fp32, fp64 and network assumed"
      ENERGY_SOURCE },
    { { "cpu-core", 48e9, 96e9, 96e9, 0.7, 4000000000, 10e9, HOROWITZ, DDR },
      1, 10e9, 1.25e9, 0.5e-6, 10e-12,
      "one core of a server processor with 256-bit vectors",
      "assumed: 3 GHz, two 8-wide fp32 multiply-adds a cycle, 4 GB and 10 GB/s a core, 10 Gb/s network"
      ENERGY_SOURCE },
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

static const char *type_name(int i)
{
    return i < N_TYPES ? types[i].device.name : NULL;
}

enum hypar_status hp_device_type_get(const struct hypar_device_type **out, const char *name,
                                     struct hypar_error *err)
{
    char known[256];
    *out = hp_device_type_find(name);
    if (*out)
        return HYPAR_OK;
    return hp_fail(err, HYPAR_INVALID, "unknown device '%.40s', expected one of %s", name,
                   hp_list_names(known, sizeof known, type_name));
}
