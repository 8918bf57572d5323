/* search/record.h - what a plan keeps of the search that found it. Internal. */
#ifndef SEARCH_RECORD_H
#define SEARCH_RECORD_H

#include "search/planner.h"

/* What was found, to be laid beside others: with the step that it is compared by. */
struct hypar_other hp_figures(const struct hypar_found *found, double step_s);

/* The plan that was found says how, for its file (plan/search.c). */
void hp_record_search(struct hypar_found *found, const struct hypar_search_options *options);

#endif /* SEARCH_RECORD_H */
