/* The constants of a device that can be fitted: options of machine words that are shares or
 * times, or that may be 0 because nobody measured them. Peaks, bandwidths, sizes and energies
 * are the vendor's. */
#include "fit/fit.h"

#include <assert.h>
#include <math.h>

static bool is_constant(const struct option_row *row)
{
    if (row == &hp_machine_options[OPTION_OVERSUBSCRIPTION]) /* as the fabric was built */
        return false;
    return !row->whole && row->unit != HYPAR_UNIT_JOULES && row->unit != HYPAR_UNIT_WATTS &&
           (row->low <= 0 || row->unit == HYPAR_UNIT_COUNT);
}

bool hp_constant(int i, struct constant_row *out)
{
    static const double range = 1e4; /* relative to the example, which is a usual figure */
    for (int o = 0; o < OPTION_COUNT; o++) {
        const struct option_row *row = &hp_machine_options[o];
        double usual;
        if (!is_constant(row) || i-- > 0)
            continue;
        bool good = hp_option_read((enum option)o, row->text.example, &usual);
        assert(good && usual > 0);
        *out = (struct constant_row){ .option = (enum option)o,
                                      .start = usual,
                                      .least = fmax(row->low, usual / range),
                                      .most = fmin(row->high, usual * range) };
        return good;
    }
    return false;
}
