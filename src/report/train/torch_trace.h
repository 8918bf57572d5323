/* report/train/torch_trace.h - reads a trace of PyTorch's profiler and attributes its time to
 * operators. Internal.
 *
 * Bars called "hypar: NAME" (torch.profiler.record_function) name the forward half that is
 * being computed: NAME is an operator, several operators with " + " between them, or the path
 * of a module. Autograd's functions for it carry the sequence number of the operators inside
 * the bar. On a device, each kernel belongs to the bar in which it was launched. */
#ifndef REPORT_TORCH_TRACE_H
#define REPORT_TORCH_TRACE_H

#include "base/files/json.h"
#include "report/train/measured_step.h"

/* All bars of one name; seconds of a step, the medians over several steps. */
struct torch_row {
    const char *name; /* without "hypar: " */
    double forward_s, backward_s;
};

/* Time outside such bars, by PyTorch's name; the mean of a step. */
struct torch_other {
    const char *name;
    double seconds, calls;
};

struct torch_trace {
    bool on_device;     /* times of kernels; else of operators on the host */
    const char *device; /* the name in the trace; NULL: none */
    int rank, n_ranks;
    struct torch_row *row;
    int n_rows, row_capacity;
    struct torch_other *other; /* the longest first */
    int n_others, other_capacity;
    double update_s; /* of the optimizer */
};

/* Sort by time, the longest first. */
void hp_torch_sort_others(struct torch_other *other, int n);

/* Does the document look like a trace of PyTorch's profiler? */
bool hp_is_torch_trace(const struct json *root);

/* Fill a measured step: its steps, their length, the bars of the last one, and `torch`. */
enum hypar_status hp_torch_trace_read(struct hypar_measured_step *step, const struct json *root,
                                      struct hypar_error *err);

/* Find the row of each operator of a graph; -1: none. An operator is matched by its name, then
 * by the path of its module, then by the modules around it. */
void hp_torch_match(const struct torch_trace *trace, const struct hypar_graph *graph,
                    int *row_of_op);

#endif /* REPORT_TORCH_TRACE_H */
