#include "cost/array.h"

double hp_array_step_s(double macs, int n_devices, double bytes_times_hops)
{
    return 6 * macs / (HP_ARRAY_OP_PER_S * n_devices) + bytes_times_hops / HP_ARRAY_BYTES_PER_S;
}

double hp_array_energy_j(const struct array_work *work, const struct hypar_device *device,
                         double link_j_per_bit)
{
    enum { SRAM_WORDS_PER_MAC = 3, BITS_PER_WORD = 32 };
    double mac_j =
        device->add_j + device->multiply_j + SRAM_WORDS_PER_MAC * device->sram_access_j;
    double send_j = 2 * device->dram_access_j + BITS_PER_WORD * link_j_per_bit;
    return work->macs * mac_j + work->dram_words * device->dram_access_j +
           work->sent_words * send_j;
}
