/* search/choices/choices.h - plans of graphs whose operators were measured in several ways.
 * Internal. */
#ifndef SEARCH_CHOICES_CHOICES_H
#define SEARCH_CHOICES_CHOICES_H

#include "search/planner.h"

/* Plan a graph for which hp_has_choices() holds: consecutive stages, each with a degree of
 * tensor parallelism and a number of replicas that take samples in turn, and what is computed
 * again in each; the time between two samples is the least there is (Piper's space and costs;
 * Tarnawski et al., NeurIPS 2021). It keeps to memory as the profile counts it. As a planner's
 * row has it. */
enum hypar_status hp_plan_choices(const struct planner *self, const struct problem *problem,
                                  struct hypar_found *found, struct hypar_error *err);

#endif /* SEARCH_CHOICES_CHOICES_H */
