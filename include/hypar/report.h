/* hypar/report.h - telling people and programs what there is and what was found.
 *
 * In the way of the data: model -> graph -> search -> plan -> program -> sim | run -> REPORT
 *
 * Each function writes to a stream, as aligned text with units, or as JSON in SI units with
 * the unit in the key (keys may be added later, never renamed). Write errors stay in the
 * stream, for the caller to look at. */
#ifndef HYPAR_REPORT_H
#define HYPAR_REPORT_H

#include <hypar/graph.h>
#include <hypar/machine.h>
#include <hypar/plan.h>
#include <hypar/search.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hypar_format { HYPAR_TEXT, HYPAR_JSON };

/* The zoo: every network with parameters, FLOPs, operators and layers. */
HYPAR_API void hypar_report_models(FILE *to, enum hypar_format format);

/* The operator table: axes, operands, attributes. */
HYPAR_API void hypar_report_ops(FILE *to, enum hypar_format format);

/* Device and topology tables, with the source of each figure. */
HYPAR_API void hypar_report_machines(FILE *to, enum hypar_format format);

/* One machine: its devices, levels and links. */
HYPAR_API void hypar_report_machine(FILE *to, const struct hypar_machine *machine,
                                    enum hypar_format format);

/* One graph: sizes, inputs, outputs and, as text, its layers. */
HYPAR_API void hypar_report_graph(FILE *to, const struct hypar_graph *graph,
                                  enum hypar_format format);

/* One plan: how each operator is split, alike neighbours together. */
HYPAR_API void hypar_report_plan(FILE *to, const struct hypar_plan *plan,
                                 enum hypar_format format);

/* The planners. */
HYPAR_API void hypar_report_planners(FILE *to, enum hypar_format format);

/* What a search found: predicted cost, and HyPar's picture of it (layers across, levels down),
 * beside `n_others` other results for the same model and machine. */
HYPAR_API void hypar_report_found(FILE *to, const struct hypar_found *found,
                                  const struct hypar_found *const *others, int n_others,
                                  enum hypar_format format);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_REPORT_H */
