/* The constants that can be fitted. Of a device: options of machine words that are shares or
 * times, or that may be 0 because nobody measured them. Peaks, bandwidths, sizes and energies
 * are the vendor's. Of a framework: the times that its host adds. */
#include "fit/fit.h"

#include <assert.h>
#include <math.h>

#include "plan/framework.h"

static bool is_constant(const struct option_row *row)
{
    if (row == &hp_machine_options[OPTION_OVERSUBSCRIPTION]) /* as the fabric was built */
        return false;
    return !row->whole && row->unit != HYPAR_UNIT_JOULES && row->unit != HYPAR_UNIT_WATTS &&
           (row->low <= 0 || row->unit == HYPAR_UNIT_COUNT);
}

static bool framework_time(int i, struct constant_row *out)
{
    static const double usual_s = 1e-3, range = 1e4; /* 0.1 us to 10 s: of any layer or sum */
    struct hypar_framework any = { .name = NULL };
    *out = (struct constant_row){ .figure = OPTION_COUNT + i,
                                  .unit = HYPAR_UNIT_SECONDS,
                                  .start = usual_s,
                                  .high = INFINITY,
                                  .least = usual_s / range,
                                  .most = usual_s * range };
    return i < MAX_TIMES && hp_framework_time(&any, i, &out->name);
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
        *out = (struct constant_row){ .figure = o,
                                      .name = row->key,
                                      .unit = row->unit,
                                      .start = usual,
                                      .low = row->low,
                                      .high = row->high,
                                      .least = fmax(row->low, usual / range),
                                      .most = fmin(row->high, usual * range) };
        return good;
    }
    return framework_time(i, out);
}
