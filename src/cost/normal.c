#include "cost/normal.h"

#include <math.h>

double hp_normal_share(double value)
{
    return 0.5 * erfc(-value / sqrt(2));
}

/* By Newton's method. Above 0 the distribution is concave: steps from 0 approach the value from
 * below. */
double hp_normal_value(double share)
{
    enum { MOST_STEPS = 100 };
    const double density_at_0 = 0.3989422804014327; /* 1 / sqrt(2 pi) */
    double above = share < 0.5 ? share : 1 - share, value = 0;
    for (int i = 0; i < MOST_STEPS; i++) {
        double density = density_at_0 * exp(-value * value / 2);
        double step = (hp_normal_share(-value) - above) / density;
        value += step;
        if (fabs(step) < 1e-12)
            break;
    }
    return share < 0.5 ? -value : value;
}
