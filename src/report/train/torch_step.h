/* report/train/torch_step.h - compares a step measured by PyTorch's profiler with the simulated
 * one. Internal. */
#ifndef REPORT_TORCH_STEP_H
#define REPORT_TORCH_STEP_H

#include "report/train/torch_trace.h"
#include "sim/op_times.h"

/* As hypar_report_measured(), for a step with `torch`. */
enum hypar_status hp_report_torch(FILE *to, const struct hypar_measured_step *step,
                                  const struct hypar_sim *sim, bool detail,
                                  enum hypar_format format, struct hypar_error *err);

/* Write the comparison as a member of an open object, or as the root; hp_check_torch_rank()
 * must have succeeded. */
struct json_writer;
void hp_put_torch(struct json_writer *w, const char *key,
                  const struct hypar_measured_step *step, const struct hypar_sim *sim);

/* HYPAR_INVALID if the plan has no device for the measured rank. */
enum hypar_status hp_check_torch_rank(const struct torch_trace *trace,
                                      const struct hypar_sim *sim, struct hypar_error *err);

#endif /* REPORT_TORCH_STEP_H */
