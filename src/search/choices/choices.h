/* search/choices/choices.h - plans graphs whose operators have several measured choices.
 * Internal. */
#ifndef SEARCH_CHOICES_CHOICES_H
#define SEARCH_CHOICES_CHOICES_H

#include "search/planner.h"

/* Plan a graph for which hp_has_choices() holds. The plan has consecutive stages. Each stage
 * has a degree of tensor parallelism, a number of replicas that take samples in turn, and a set
 * of recomputed operators. The time between two samples is the least possible (Piper's space
 * and costs; Tarnawski et al., NeurIPS 2021). The plan fits in memory by the profile's figures.
 * This is the `plan` function of a planner's row. */
enum hypar_status hp_plan_choices(const struct planner *self, const struct problem *problem,
                                  struct hypar_found *found, struct hypar_error *err);

#endif /* SEARCH_CHOICES_CHOICES_H */
