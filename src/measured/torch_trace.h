/* measured/torch_trace.h - reads a trace of PyTorch's profiler and attributes its time to
 * operators. Internal.
 *
 * Bars called "hypar: NAME" (torch.profiler.record_function) name the forward half that is
 * being computed: NAME is an operator, several operators with " + " between them, or the path
 * of a module. Autograd's functions for it carry the sequence number of the operators inside
 * the bar. On a device, each kernel belongs to the bar in which it was launched. */
#ifndef MEASURED_TORCH_TRACE_H
#define MEASURED_TORCH_TRACE_H

#include "base/files/json.h"
#include "measured/step.h"

/* Seconds of a step. */
struct torch_times {
    double predicted_s, measured_s;
};

/* All bars of one name; measured times are medians over several steps. */
struct torch_row {
    const char *name; /* without "hypar: " */
    struct torch_times forward, backward;
    /* Of hp_torch_compare(): the number of operators of the graph, and the difference. */
    int ops;
    double longer_s; /* than predicted */
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

/* HYPAR_INVALID if the plan has no device for the measured rank. */
enum hypar_status hp_check_torch_rank(const struct torch_trace *trace,
                                      const struct hypar_sim *sim, struct hypar_error *err);

/* PyTorch's step compared with the simulated one. */
struct torch_compared {
    struct arena arena;
    const struct hypar_measured_step *step;
    const struct hypar_sim *sim;
    struct torch_row *row; /* the largest difference first */
    int n;
    int lacking; /* operators with a time that are in no row */
    struct torch_times forward, backward, update, whole;
    struct torch_times neither; /* the device does not compute; negative if several kernels run
                                 * at once, or if several operators are predicted as one */
    double lacking_s;           /* predicted time of operators in no row */
    struct torch_other *other; /* measured, but of no operator of the plan; the longest first */
    int n_others;
    double other_s; /* of all `other` */
};

/* Compare a step that has `torch`; hp_check_torch_rank() must have succeeded. The caller frees
 * the arena. */
struct torch_compared hp_torch_compare(const struct hypar_measured_step *step,
                                       const struct hypar_sim *sim);

#endif /* MEASURED_TORCH_TRACE_H */
