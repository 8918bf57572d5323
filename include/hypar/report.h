/* hypar/report.h - reports for people and programs.
 *
 * Data flow: model -> graph -> search -> plan -> program -> sim | run -> REPORT
 *
 * Each function writes to a stream. Text has aligned columns and units. JSON is in SI units,
 * with the unit in the key (keys may be added later, never renamed). The comment of a function
 * names its further formats. A format that a function does not have is written as text. Write
 * errors stay in the stream; the caller checks them. */
#ifndef HYPAR_REPORT_H
#define HYPAR_REPORT_H

#include <hypar/explain.h>
#include <hypar/explore.h>
#include <hypar/fit.h>
#include <hypar/graph.h>
#include <hypar/machine.h>
#include <hypar/plan.h>
#include <hypar/program.h>
#include <hypar/run.h>
#include <hypar/search.h>
#include <hypar/sim.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hypar_format {
    HYPAR_TEXT,
    HYPAR_JSON,
    HYPAR_CSV,
    HYPAR_SVG, /* a picture */
    HYPAR_DOT, /* a graph for Graphviz */
};

/* The length of a line of text: COLUMNS, else the terminal's width, else 80. All text reports
 * use it. */
HYPAR_API int hypar_line_width(FILE *to);

/* Write `text` and a newline, broken between words. The first line has begun at `indent`;
 * further lines are indented to it. */
HYPAR_API void hypar_report_text(FILE *to, const char *text, int indent);

/* The zoo: every network with parameters, FLOPs, operators and layers; or the figures and the
 * options of the network that `word` names. `word` may be NULL: all networks. HYPAR_INVALID,
 * with the nearest names, if there is none. */
HYPAR_API enum hypar_status hypar_report_models(FILE *to, const char *word,
                                                enum hypar_format format,
                                                struct hypar_error *err);

/* The operator table: axes, operands, attributes; or the row of the kind `name` in words.
 * `name` may be NULL: all kinds. HYPAR_INVALID, with the nearest names, if there is none. */
HYPAR_API enum hypar_status hypar_report_ops(FILE *to, const char *name,
                                             enum hypar_format format, struct hypar_error *err);

/* A machine: its devices, levels and links. NULL: the tables of devices and topologies, with
 * the source of each figure; machines and devices of the site, with a line for each faulty
 * file. */
HYPAR_API void hypar_report_machine(FILE *to, const struct hypar_machine *machine,
                                    enum hypar_format format);

/* The framework, member by member; NULL: the rows of the table and the files of the site. */
HYPAR_API void hypar_report_frameworks(FILE *to, const struct hypar_framework *framework,
                                       enum hypar_format format);

/* One graph: sizes, inputs, outputs and, as text, its layers. DOT: operators, and the tensors
 * between them. */
HYPAR_API void hypar_report_graph(FILE *to, const struct hypar_graph *graph,
                                  enum hypar_format format);

/* The result of a check: a summary of `plan` and the memory of its fullest device (NULL:
 * unknown); or NULL and `why` the plan does not fit. */
HYPAR_API void hypar_report_check(FILE *to, const struct hypar_plan *plan,
                                  const struct hypar_memory *fullest, const char *warning,
                                  const struct hypar_error *why, enum hypar_format format);

/* One plan: how each operator is split, equal neighbours together; of a large plan its
 * structure: stages, and layers that are planned alike once. CSV: a row for each operator. SVG:
 * stages on devices, and layers with the division of their operators, equal ones once. `step`:
 * the simulated step, for the picture's subtitle; may be NULL. */
HYPAR_API void hypar_report_plan(FILE *to, const struct hypar_plan *plan,
                                 const struct hypar_sim_summary *step,
                                 enum hypar_format format);

/* A program: its tasks, and its traffic by phase, by kind and by operator. */
HYPAR_API void hypar_report_program(FILE *to, const struct hypar_program *program,
                                    enum hypar_format format);

/* A simulated step: time and its causes, traffic, energy, memory. `plan`: the simulated plan;
 * NULL: a program file. CSV: the work of devices and the traffic of links, a row for each. */
HYPAR_API void hypar_report_simulation(FILE *to, const struct hypar_sim *sim,
                                       const struct hypar_plan *plan, enum hypar_format format);

/* The timeline of a simulation that has kept it. JSON: every task instance with its times, as
 * hypar-timeline/1. SVG: a bar for each task, in which close bars are merged. There is no
 * text: JSON is written instead. */
HYPAR_API void hypar_report_timeline(FILE *to, const struct hypar_sim *sim,
                                     enum hypar_format format);

/* The parts of a simulated step that a trace shows; 0 or NULL: everything. */
struct hypar_trace_options {
    const bool *device;  /* by number: show it, with its memory and its links */
    double from_s, to_s; /* this part of the step; to_s 0: to the end */
    int64_t most;        /* bars, the first ones; 0: HYPAR_TRACE_BARS */
    bool tasks;          /* bars have the names of tasks, not of kinds */
    bool arrows;         /* from the last predecessor of a task */
};
enum { HYPAR_TRACE_BARS = 200000 };

/* The contents of the written trace. */
struct hypar_trace_shown {
    int64_t bars, left_out; /* left out because there are more than `most` ... */
    double until_s;         /* ... beginning at this time */
};

/* The timeline in the Chrome trace event format, which Perfetto opens: a row for each device
 * and each directed link, memory as counters. The simulation must have kept its timeline. */
HYPAR_API struct hypar_trace_shown
hypar_report_trace(FILE *to, const struct hypar_sim *sim,
                   const struct hypar_trace_options *options /* may be NULL */);

/* A trace of measured tasks, in the same format: a row for each rank, and rows for its
 * messages. A simulation that has kept its timeline is added as separate processes, as the
 * options say; it may be NULL. */
HYPAR_API struct hypar_trace_shown
hypar_report_train_trace(FILE *to, const struct hypar_train_result *result,
                         const struct hypar_plan *plan, const struct hypar_sim *sim,
                         const struct hypar_trace_options *options);

/* A measured step: the mean step of a trace written by hypar_report_train_trace(), or the
 * median of PyTorch's profiler, annotated by the Python package (docs/formats-torch.md);
 * opaque. HYPAR_INVALID for another plan. */
struct hypar_measured_step;
HYPAR_API enum hypar_status hypar_measured_step_read(struct hypar_measured_step **out,
                                                     const char *path,
                                                     const struct hypar_plan *plan,
                                                     struct hypar_error *err);
HYPAR_API void hypar_measured_step_free(struct hypar_measured_step *step); /* NULL allowed */

/* Pipedream: the minibatches of its window; 0: another schedule. */
HYPAR_API int hypar_measured_step_minibatches(const struct hypar_measured_step *step);

/* Compares a measured step with the simulated step of the same plan, which has kept its
 * timeline: the tasks that differ most, phases, operators and exchanges (`detail`: all of them;
 * JSON: also every task). For PyTorch: operators, and time outside all operators. HYPAR_INVALID
 * if the simulation has other tasks; then nothing is written. */
HYPAR_API enum hypar_status hypar_report_measured(FILE *to,
                                                  const struct hypar_measured_step *step,
                                                  const struct hypar_sim *sim, bool detail,
                                                  enum hypar_format format,
                                                  struct hypar_error *err);

/* Add the times of PyTorch's profiler to a profile, for the parts that the simulated plan has
 * on the device of the measured rank. HYPAR_INVALID for another kind of trace, or another
 * number of ranks. */
struct hypar_measured_added {
    int64_t steps;
    double step_s;      /* their median */
    double computed_s;  /* in bars of operators */
    double operators_s; /* of this, in passes that are predicted to take time */
    double update_s;    /* of the optimizer */
    double other_s;     /* in no bar */
    int passes;         /* added ones */
    bool on_device;     /* times are those of kernels; else of the host */
    const char *device; /* the trace's name for it, NULL: none; owned by the step */
};
HYPAR_API enum hypar_status hypar_measured_step_add(const struct hypar_measured_step *step,
                                                    const struct hypar_sim *sim,
                                                    struct hypar_profile *profile,
                                                    struct hypar_measured_added *out,
                                                    struct hypar_error *err);

/* Both timelines in one trace. */
HYPAR_API struct hypar_trace_shown
hypar_report_measured_trace(FILE *to, const struct hypar_measured_step *step,
                            const struct hypar_sim *sim,
                            const struct hypar_trace_options *options);

/* The memory of every device, itemised; `options` may be NULL: as the plan says.
 * HYPAR_INFEASIBLE, with the fullest device, if it does not fit: the report is written all the
 * same. On any other failure nothing is written. */
HYPAR_API enum hypar_status hypar_report_memory(FILE *to, const struct hypar_plan *plan,
                                                const struct hypar_sim_options *options,
                                                double limit_bytes, enum hypar_format format,
                                                struct hypar_error *err);

/* The shares of the critical path, the costliest operators with their alternatives, and the
 * changes that would help; JSON: also the whole critical path. */
HYPAR_API void hypar_report_explanation(FILE *to, const struct hypar_explanation *explanation,
                                        enum hypar_format format);

/* Delta simulation compared with full simulation. */
HYPAR_API void hypar_report_delta_check(FILE *to, const struct hypar_delta_check *check,
                                        enum hypar_format format);

/* The efficiency at which the plan's step takes as long as measured. */
HYPAR_API void hypar_report_calibration(FILE *to, const struct hypar_plan *plan,
                                        double measured_s, double efficiency,
                                        enum hypar_format format);

/* A fitted device: its constants, the errors of predictions before and after, and the rows that
 * are off by more than a factor of 2. */
HYPAR_API void hypar_report_fit(FILE *to, const struct hypar_fit *fit,
                                enum hypar_format format);

/* One planner among others. */
struct hypar_compared {
    const char *planner; /* NULL: an existing plan ... */
    const char *plan;    /* ... in this file */
    const char *why;     /* why it has no plan that can be simulated; NULL: it has one */
    struct hypar_sim_summary step;
    bool fits;                    /* ... and it keeps the memory limit */
    double search_s, processor_s; /* of the search: elapsed; of all threads */
    int64_t evaluated;            /* candidates examined; -1: unknown */
    double lower_bound_s;         /* of the planner's own cost; 0: unknown */
    struct hypar_bound bound;     /* no plan has a shorter step; .step_s 0: not known */
    uint64_t plan_hash;           /* equal for the same plan (hypar_plan_hash()); 0: unknown */
    bool interrupted;             /* the best so far when the search was stopped */
    enum hypar_updates
        updates; /* if not after each batch: another kind of training, not ranked */
};

struct hypar_comparison {
    const char *model; /* the argument of hypar_import(); NULL: the graph's name */
    const struct hypar_graph *graph;
    const struct hypar_machine *machine;
    enum hypar_precision precision, gradient_precision; /* of the first row's plan */
    enum hypar_optimizer optimizer;
    int64_t seed;             /* of planners that use random numbers */
    struct hypar_bound bound; /* of all plans, with these settings; .step_s 0: not known */
    double dp_step_s;         /* of data parallelism, whether it fits or not; 0: unknown */
    int n;
    const struct hypar_compared *row;
    const struct hypar_differences *differences; /* of two plans; else NULL */
};

/* Planners and plans side by side, the best of each column marked. CSV: a row for each. SVG: a
 * bar for each step. */
HYPAR_API void hypar_report_comparison(FILE *to, const struct hypar_comparison *comparison,
                                       enum hypar_format format);

/* Everything as one self-contained HTML page for a browser: what bounds the step and what would
 * help, the plan, the timeline, memory and traffic; NULL members are left out. JSON: the page's
 * data. HYPAR_INVALID if the measured step has other tasks; then nothing is written. */
struct hypar_page {
    const struct hypar_explanation *explanation;
    const struct hypar_comparison *comparison;  /* planners and plans beside it; may be NULL */
    const struct hypar_measured_step *measured; /* of the same plan; may be NULL */
};
HYPAR_API enum hypar_status hypar_report_page(FILE *to, const struct hypar_page *page,
                                              enum hypar_format format,
                                              struct hypar_error *err);

/* The planners. */
HYPAR_API void hypar_report_planners(FILE *to, enum hypar_format format);

/* The result of a search: predicted cost, and HyPar's picture of the plan (layers across,
 * levels down), beside `n_others` other results for the same model and machine. */
HYPAR_API void hypar_report_found(FILE *to, const struct hypar_found *found,
                                  const struct hypar_found *const *others, int n_others,
                                  enum hypar_format format);

/* An exploration: the named choices, and their ranks. CSV: every evaluated choice, one per line
 * with a heading. SVG: all of them as a map of two levels or layers, a curve from the best on,
 * or lines over machines. */
HYPAR_API void hypar_report_exploration(FILE *to, const struct hypar_exploration *exploration,
                                        enum hypar_format format);

/* A sweep: a row for every batch on every machine; CSV likewise. SVG: the throughput of a
 * device for each batch, over the number of devices. */
HYPAR_API void hypar_report_sweep(FILE *to, const struct hypar_sweep *sweep,
                                  enum hypar_format format);

/* A training run, step by step (JSON: a line for each), and at the end measured beside
 * predicted; `sim` may be NULL. With a timeline of the simulation also by phase, operator and
 * exchange, the largest ones (`detail`, and JSON: all). */
HYPAR_API void hypar_report_train_step(FILE *to, const struct hypar_train_step *step,
                                       int64_t batch, enum hypar_format format);

/* A test: "test after 100/200: loss 0.123, 97.31 % of 297 samples right". */
HYPAR_API void hypar_report_train_test(FILE *to, const struct hypar_train_test *test,
                                       enum hypar_format format);
HYPAR_API void hypar_report_train(FILE *to, const struct hypar_train_result *result,
                                  const struct hypar_plan *plan, const struct hypar_sim *sim,
                                  bool detail, enum hypar_format format);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_REPORT_H */
