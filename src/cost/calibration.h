/* cost/calibration.h - how far predictions with a device and a framework were off, and the
 * interval of a prediction that follows. Internal. */
#ifndef COST_CALIBRATION_H
#define COST_CALIBRATION_H

#include <hypar/framework.h>
#include <hypar/graph.h>
#include <hypar/machine.h>
#include <hypar/plan.h>

/* Of steps with this framework (a file's own calibration goes first) on these devices; of
 * several kinds of device the worst. `profiled`: the times are mostly measured ones. */
struct hypar_calibration hp_calibration(const struct hypar_machine *machine,
                                        const struct hypar_framework *framework, bool profiled);

/* Parts of a predicted step that are known less well than what devices compute: exposed
 * messages; launches by the host, beside all else; convolutions of overlapping windows. Shares
 * of the step. */
struct less_known {
    double messages, launches, convolutions;
};

/* What messages and launches add to the variance of log(measured / predicted). */
double hp_less_known(const struct less_known *parts);

/* The share of a step's computing in convolutions of overlapping windows, by
 * the roofline of the machine's first device. */
double hp_convolution_share(const struct hypar_graph *graph,
                            const struct hypar_machine *machine,
                            enum hypar_precision precision);

/* Eight of ten measured steps lie in it. Without rows it holds the published steps of such
 * devices: 1.6 times as long or as short, and convolutions 3.5 times as fast. */
struct hypar_interval hp_interval(const struct hypar_calibration *calibration, double step_s,
                                  const struct less_known *parts);

/* What hp_interval() added to the spread of the calibration, whose rows are not 0: standard
 * deviations add up as squares. */
double hp_added_spread(const struct hypar_interval *interval);

/* Is it made of rows of the device and rows of the framework, none with both? */
bool hp_measured_apart(const struct hypar_calibration *calibration);

/* Eight of ten ratios of two steps of one network on one machine are off by no more than this
 * factor. Most of what a prediction is off by is the same for both. */
double hp_pair_factor(const struct hypar_calibration *calibration);

/* Can two predicted steps of one network on one machine not be told apart? */
bool hp_are_alike(const struct hypar_calibration *calibration, double a_s, double b_s);

/* Steps whose ratio is nearer to 1 than this are equal. */
static const double HP_ROUNDING = 0.999;

/* Is one step shorter by no more than rounding? */
bool hp_are_equal(double a_s, double b_s);

/* The table, for tests; NULL past the last. `device` "": any. */
struct calibrated {
    const char *device, *framework;
    struct hypar_calibration is;
};
const struct calibrated *hp_calibrated(int i);

#endif /* COST_CALIBRATION_H */
