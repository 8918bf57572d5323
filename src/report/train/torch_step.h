/* report/train/torch_step.h - a step as PyTorch's profiler saw it beside the simulated one.
 * Internal.
 */
#ifndef REPORT_TORCH_STEP_H
#define REPORT_TORCH_STEP_H

#include "report/train/torch_trace.h"
#include "sim/op_times.h"

/* As hypar_report_measured(), of a step that has `torch`. */
enum hypar_status hp_report_torch(FILE *to, const struct hypar_measured_step *step,
                                  const struct hypar_sim *sim, bool detail,
                                  enum hypar_format format, struct hypar_error *err);

/* The same as a member of an open object, or of none; where hp_check_torch_rank() is content.
 */
struct json_writer;
void hp_put_torch(struct json_writer *w, const char *key,
                  const struct hypar_measured_step *step, const struct hypar_sim *sim);

/* HYPAR_INVALID if the plan has no device for the rank that was measured. */
enum hypar_status hp_check_torch_rank(const struct torch_trace *trace,
                                      const struct hypar_sim *sim, struct hypar_error *err);

#endif /* REPORT_TORCH_STEP_H */
