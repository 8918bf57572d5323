/* Time and energy of HyPar's accelerator array, as the paper's evaluation counts them. */
#include "cost/array.h"
#include "cost/work.h"

double hp_array_step_s(double macs, int n_devices, double bytes_times_hops)
{
    return 6 * macs / (HP_ARRAY_OP_PER_S * n_devices) + bytes_times_hops / HP_ARRAY_BYTES_PER_S;
}

double hp_array_energy_j(const struct array_work *work, const struct hypar_device *device,
                         double link_j_per_bit)
{
    double mac_j =
        device->add_j + device->multiply_j + HP_SRAM_WORDS_PER_MAC * device->sram_access_j;
    double send_j = 2 * device->dram_access_j + 8 * HP_WORD_BYTES * link_j_per_bit;
    return work->macs * mac_j + work->dram_words * device->dram_access_j +
           work->sent_words * send_j;
}
