/* hypar/report.h - telling people and programs what there is and what was found.
 *
 * In the way of the data: model -> graph -> search -> plan -> program -> sim | run -> REPORT
 *
 * Each function writes to a stream, as aligned text with units, or as JSON in SI units with
 * the unit in the key (keys may be added later, never renamed). Write errors stay in the
 * stream, for the caller to look at. */
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

enum hypar_format { HYPAR_TEXT, HYPAR_JSON };

/* How long a line of text should be: what COLUMNS says, else the terminal's width, or 80 where
 * it is no terminal. All text reports are so wide. */
HYPAR_API int hypar_line_width(FILE *to);

/* `text` and a newline, broken between words; the first line has begun at `indent`, further
 * ones are indented so. */
HYPAR_API void hypar_report_text(FILE *to, const char *text, int indent);

/* The zoo: every network with parameters, FLOPs, operators and layers. */
HYPAR_API void hypar_report_models(FILE *to, enum hypar_format format);

/* One network of the zoo, which `word` names: its figures and its options. HYPAR_INVALID, with
 * the nearest names, if there is none. */
HYPAR_API enum hypar_status hypar_report_model(FILE *to, const char *word,
                                               enum hypar_format format,
                                               struct hypar_error *err);

/* The operator table: axes, operands, attributes. */
HYPAR_API void hypar_report_ops(FILE *to, enum hypar_format format);

/* One kind of operator, all of its row in words. HYPAR_INVALID if there is none of that name.
 */
HYPAR_API enum hypar_status hypar_report_op(FILE *to, const char *name,
                                            enum hypar_format format, struct hypar_error *err);

/* Device and topology tables, with the source of each figure; machines and devices of the site,
 * whose bad files have a line that says what is wrong. */
HYPAR_API void hypar_report_machines(FILE *to, enum hypar_format format);

/* One machine: its devices, levels and links. */
HYPAR_API void hypar_report_machine(FILE *to, const struct hypar_machine *machine,
                                    enum hypar_format format);

/* One graph: sizes, inputs, outputs and, as text, its layers. */
HYPAR_API void hypar_report_graph(FILE *to, const struct hypar_graph *graph,
                                  enum hypar_format format);

/* The same for Graphviz: operators, and the tensors between them. */
HYPAR_API void hypar_report_graph_dot(FILE *to, const struct hypar_graph *graph);

/* Whether a plan fits: `plan`, which does, summed up, and the memory of its fullest device
 * (NULL: not known); or NULL, and `why` it does not. */
HYPAR_API void hypar_report_check(FILE *to, const struct hypar_plan *plan,
                                  const struct hypar_memory *fullest, const char *warning,
                                  const struct hypar_error *why, enum hypar_format format);

/* One plan: how each operator is split, alike neighbours together; of a large one its
 * structure: stages, and layers that are planned alike, once. */
HYPAR_API void hypar_report_plan(FILE *to, const struct hypar_plan *plan,
                                 enum hypar_format format);

/* The same as a picture: stages on the devices, layers with how their operators are divided,
 * alike ones once. `step` is what was simulated of it; NULL: nothing. */
HYPAR_API void hypar_report_plan_svg(FILE *to, const struct hypar_plan *plan,
                                     const struct hypar_sim_summary *step);

/* The same as CSV, a row for each operator. */
HYPAR_API void hypar_report_plan_csv(FILE *to, const struct hypar_plan *plan);

/* A program: its tasks, and what moves, by phase, by kind and by operator. */
HYPAR_API void hypar_report_program(FILE *to, const struct hypar_program *program,
                                    enum hypar_format format);

/* A simulated step: time and where it goes, traffic, energy, memory. `plan` is what was
 * simulated; NULL: a program file. */
HYPAR_API void hypar_report_simulation(FILE *to, const struct hypar_sim *sim,
                                       const struct hypar_plan *plan, enum hypar_format format);

/* What devices do and links carry, a row for each; and its timeline as a picture: what lies
 * close together is drawn as one. For that it must have kept its timeline. */
HYPAR_API void hypar_report_simulation_csv(FILE *to, const struct hypar_sim *sim);
HYPAR_API void hypar_report_timeline_svg(FILE *to, const struct hypar_sim *sim);

/* What a trace shows of a simulated step; what is 0 or NULL: all, as it is done by default. */
struct hypar_trace_options {
    const bool *device;  /* by number: is it shown, with its memory and its links? */
    double from_s, to_s; /* this part of the step; to_s 0: to the end */
    int64_t most;        /* bars, the first ones; 0: HYPAR_TRACE_BARS */
    bool tasks;          /* bars are named after their tasks, not after their kinds */
    bool arrows;         /* from what a task waited for last */
};
enum { HYPAR_TRACE_BARS = 200000 };

/* What it has shown. */
struct hypar_trace_shown {
    int64_t bars, left_out; /* left out because there were more than `most` ... */
    double until_s;         /* ... that begin from then on */
};

/* Its timeline in the Chrome trace event format, which Perfetto opens: a row for each device
 * and each directed link, memory as counters. The simulation must have kept its timeline. */
HYPAR_API struct hypar_trace_shown
hypar_report_trace(FILE *to, const struct hypar_sim *sim,
                   const struct hypar_trace_options *options /* may be NULL */);

/* What ranks really did, in the same format: a row for each rank, and rows for its messages;
 * with a simulation that has kept its timeline that one too, in processes of its own, as the
 * options say. NULL: none. */
HYPAR_API struct hypar_trace_shown
hypar_report_train_trace(FILE *to, const struct hypar_train_result *result,
                         const struct hypar_plan *plan, const struct hypar_sim *sim,
                         const struct hypar_trace_options *options);

/* A measured step, the mean of those of a trace that hypar_report_train_trace() wrote, or the
 * median of those of PyTorch's profiler, annotated by the Python package
 * (docs/formats-torch.md); opaque. HYPAR_INVALID if it is of another plan. */
struct hypar_measured_step;
HYPAR_API enum hypar_status hypar_measured_step_read(struct hypar_measured_step **out,
                                                     const char *path,
                                                     const struct hypar_plan *plan,
                                                     struct hypar_error *err);
HYPAR_API void hypar_measured_step_free(struct hypar_measured_step *step); /* NULL allowed */

/* Pipedream: minibatches of the window that it is; 0: another schedule. */
HYPAR_API int hypar_measured_step_minibatches(const struct hypar_measured_step *step);

/* It beside the simulated step of the same plan, which has kept its timeline: the tasks that
 * differ most, phases, operators and exchanges (`detail`: all of them; JSON: and every task).
 * Of PyTorch's: operators, and what belongs to none. HYPAR_INVALID if the simulation is of
 * other tasks; then nothing is written. */
HYPAR_API enum hypar_status hypar_report_measured(FILE *to,
                                                  const struct hypar_measured_step *step,
                                                  const struct hypar_sim *sim, bool detail,
                                                  enum hypar_format format,
                                                  struct hypar_error *err);

/* Add what PyTorch's profiler saw to a profile, of parts as the simulated plan has them on the
 * device of the rank that was measured. HYPAR_INVALID for another trace, or another number of
 * ranks. */
struct hypar_measured_added {
    int64_t steps;
    double step_s;      /* the median of those */
    double computed_s;  /* in bars of operators */
    double operators_s; /* of that, in passes that are predicted to take time */
    double update_s;    /* of the optimizer */
    double other_s;     /* in no bar */
    int passes;         /* that were added */
    bool on_device;     /* times of kernels; else on the host */
    const char *device; /* as the trace names it, NULL: it does not; of the step */
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

/* The same as hypar-timeline/1: every task instance with its times. */
HYPAR_API void hypar_report_timeline(FILE *to, const struct hypar_sim *sim);

/* The memory of every device, itemised; `options` may be NULL: as the plan says.
 * HYPAR_INFEASIBLE, naming the fullest device, if it does not fit: that is reported too.
 * Whatever else fails leaves the stream empty. */
HYPAR_API enum hypar_status hypar_report_memory(FILE *to, const struct hypar_plan *plan,
                                                const struct hypar_lower_options *options,
                                                double limit_bytes, enum hypar_format format,
                                                struct hypar_error *err);

/* What bounds a step, the costliest operators with their alternatives, and what would help;
 * JSON: and all of the critical path. */
HYPAR_API void hypar_report_explanation(FILE *to, const struct hypar_explanation *explanation,
                                        enum hypar_format format);

/* How delta simulation did beside full simulation. */
HYPAR_API void hypar_report_delta_check(FILE *to, const struct hypar_delta_check *check,
                                        enum hypar_format format);

/* The efficiency at which the plan's step takes as long as measured. */
HYPAR_API void hypar_report_calibration(FILE *to, const struct hypar_plan *plan,
                                        double measured_s, double efficiency,
                                        enum hypar_format format);

/* A fitted device: its constants, how far predictions are off before and after, and the rows
 * that are off by more than 2 times. */
HYPAR_API void hypar_report_fit(FILE *to, const struct hypar_fit *fit,
                                enum hypar_format format);

/* One planner among others. */
struct hypar_compared {
    const char *planner; /* NULL: a plan that was there already ... */
    const char *plan;    /* ... in this file */
    const char *why;     /* it has no plan that can be simulated; NULL: it has */
    struct hypar_sim_summary step;
    bool fits;                    /* ... and the limit on memory is kept */
    double search_s, processor_s; /* looking for the plan: passed; of all threads */
    int64_t evaluated;            /* states weighed; -1: not known */
    double lower_bound_s;         /* of the planner's own cost; 0: not known */
    struct hypar_bound bound;     /* no plan has a shorter step; .step_s 0: not known */
    bool interrupted;             /* the best so far when the search was stopped */
    enum hypar_updates updates;   /* not of each batch: another training, not ranked */
};

struct hypar_comparison {
    const char *model; /* what hypar_import() took; NULL: the graph's name */
    const struct hypar_graph *graph;
    const struct hypar_machine *machine;
    enum hypar_precision precision, gradient_precision; /* of the first row's plan */
    enum hypar_optimizer optimizer;
    int64_t seed;             /* of planners that draw random numbers */
    struct hypar_bound bound; /* of all plans, with these settings; .step_s 0: not known */
    double dp_step_s;         /* of data parallelism, whether it fits or not; 0: not known */
    int n;
    const struct hypar_compared *row;
    const struct hypar_differences *differences; /* of two plans; else NULL */
};

/* Planners and plans side by side, the best of each column marked; one per line with a heading.
 */
HYPAR_API void hypar_report_comparison(FILE *to, const struct hypar_comparison *comparison,
                                       enum hypar_format format);
HYPAR_API void hypar_report_comparison_csv(FILE *to, const struct hypar_comparison *comparison);
HYPAR_API void hypar_report_comparison_svg(FILE *to, const struct hypar_comparison *comparison);

/* All of it as one page of HTML that stands alone, for a browser: what bounds the step and what
 * would help, the plan, the timeline, memory and traffic; what is NULL is left out. JSON: what
 * the page is told. HYPAR_INVALID if what was measured is of other tasks; then nothing is
 * written. */
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

/* What a search found: predicted cost, and HyPar's picture of it (layers across, levels down),
 * beside `n_others` other results for the same model and machine. */
HYPAR_API void hypar_report_found(FILE *to, const struct hypar_found *found,
                                  const struct hypar_found *const *others, int n_others,
                                  enum hypar_format format);

/* An exploration: the choices that have a name, and how they rank. */
HYPAR_API void hypar_report_exploration(FILE *to, const struct hypar_exploration *exploration,
                                        enum hypar_format format);

/* Every choice that was evaluated, one per line with a heading; and all of them as one picture:
 * a map of two levels or layers, a curve from the best on, or lines over machines. */
HYPAR_API void hypar_report_explored_csv(FILE *to, const struct hypar_exploration *exploration);
HYPAR_API void hypar_report_explored_svg(FILE *to, const struct hypar_exploration *exploration);

/* A sweep: a row for every batch on every machine; the same as CSV; and as a picture, of what a
 * device does of each batch over their number. */
HYPAR_API void hypar_report_sweep(FILE *to, const struct hypar_sweep *sweep,
                                  enum hypar_format format);
HYPAR_API void hypar_report_sweep_csv(FILE *to, const struct hypar_sweep *sweep);
HYPAR_API void hypar_report_sweep_svg(FILE *to, const struct hypar_sweep *sweep);

/* A training run, step by step (JSON: a line for each), and at the end measured beside
 * predicted; `sim` may be NULL. With a timeline of the simulation also by phase, operator and
 * exchange, the largest (`detail`, and JSON: all). */
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
