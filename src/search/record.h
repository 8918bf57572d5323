/* search/record.h - the record in a plan of the search that found it. Internal. */
#ifndef SEARCH_RECORD_H
#define SEARCH_RECORD_H

#include "search/planner.h"

/* The figures of a plan for a comparison with others; `step_s` is the step it is compared
 * by. */
struct hypar_other hp_figures(const struct hypar_found *found, double step_s);

/* Write into the plan how it was found, for its file (plan/provenance.c). */
void hp_record_search(struct hypar_found *found, const struct hypar_search_options *options);

#endif /* SEARCH_RECORD_H */
