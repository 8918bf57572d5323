/* Time and energy of HyPar's accelerator array, by the formula of the paper's evaluation. */
#include "cost/papers/array.h"
#include "cost/work.h"

double hp_array_step_s(double macs, int n_devices, double bytes_times_hops)
{
    return 6 * macs / (HP_ARRAY_OP_PER_S * n_devices) + bytes_times_hops / HP_ARRAY_BYTES_PER_S;
}

double hp_array_energy_j(const struct array_work *work, const struct hypar_device *device,
                         double link_j_per_bit, enum hypar_precision precision)
{
    struct work macs = { .macs = work->macs };
    struct work_energy done = hp_work_energy(&macs, device, precision);
    double send_j = 2 * device->dram_access_j + 8 * HP_WORD_BYTES * link_j_per_bit;
    return done.arithmetic_j + done.sram_j + work->dram_words * device->dram_access_j +
           work->sent_words * send_j;
}
