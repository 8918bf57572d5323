/* cost/calibration.h - how far predictions with a device and a framework were off, and the
 * interval of a prediction that follows. Internal. */
#ifndef COST_CALIBRATION_H
#define COST_CALIBRATION_H

#include <hypar/framework.h>
#include <hypar/graph.h>
#include <hypar/machine.h>
#include <hypar/plan.h>

/* The calibration of steps with this framework on these devices; of several kinds of device,
 * the worst. Devices whose figures were changed have no rows, but the bias and the spread of
 * the unchanged device. A framework file's own calibration has priority. `profiled`: most times
 * are measured. */
struct hypar_calibration hp_calibration(const struct hypar_machine *machine,
                                        const struct hypar_framework *framework, bool profiled);

/* Parts of a predicted step with larger errors than computing has, as shares of the step:
 * exposed messages; launches by the host; convolutions of overlapping windows. */
struct less_known {
    double messages, launches, convolutions;
};

/* The variance of log(measured / predicted) that messages and launches add. */
double hp_less_known(const struct less_known *parts);

/* The share of a step's computing in convolutions of overlapping windows, by
 * the roofline of the machine's first device. */
double hp_convolution_share(const struct hypar_graph *graph,
                            const struct hypar_machine *machine,
                            enum hypar_precision precision);

/* An interval that contains eight of ten measured steps. Without rows the interval contains the
 * published steps of such devices: from 1/1.6 to 1.6 times the prediction, and down to 1/3.5
 * for convolutions; it is at least as wide as that of the calibration's bias and spread, where
 * these are known (figures of a measured device were changed). */
struct hypar_interval hp_interval(const struct hypar_calibration *calibration, double step_s,
                                  const struct less_known *parts);

/* The spread that hp_interval() added to that of the calibration (whose rows are not 0):
 * variances add up. */
double hp_added_spread(const struct hypar_interval *interval);

/* Is it made of rows of the device and rows of the framework, none with both? */
bool hp_measured_apart(const struct hypar_calibration *calibration);

/* Eight of ten ratios of two steps of one network on one machine have errors within this
 * factor. Most of a prediction's error is common to both steps. */
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
