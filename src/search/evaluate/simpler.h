/* search/evaluate/simpler.h - of plans that are equally fast, the safer or simpler one.
 * Internal.
 *
 * A plan is simpler with fewer devices, then fewer stages, then fewer micro-batches, then fewer
 * ways in which its operators are split. auto and hybrid go by this order. */
#ifndef SEARCH_EVALUATE_SIMPLER_H
#define SEARCH_EVALUATE_SIMPLER_H

#include "search/evaluate/judge.h"

/* The figures in the order in which they count. */
enum { PLAN_DEVICES, PLAN_STAGES, PLAN_MICRO_BATCHES, PLAN_SPLITS, PLAN_FIGURES };
struct plan_figures {
    int64_t of[PLAN_FIGURES];
};
struct plan_figures hp_plan_figures(const struct hypar_plan *plan);

/* Negative if the first plan is simpler, 0 if both are as simple. */
int hp_compare_simpler(const struct plan_figures *a, const struct plan_figures *b);

/* "1 device instead of 4": the figure that makes the first plan simpler. */
char *hp_simpler_text(struct arena *arena, const struct plan_figures *a,
                      const struct plan_figures *b);

/* A plan beside others that are equally fast. */
struct equal_plan {
    double step_s;
    double part;  /* of its memory that the fullest device needs */
    double width; /* of the interval of its prediction, as a factor; NAN: not known, none is
                     safer */
    struct plan_figures figures;
};

/* Is the first of two equally fast plans (hp_are_equal()) preferred? It is if its fullest
 * device has clearly more free memory and its prediction is no less certain, or if it is
 * simpler and its fullest device is not clearly fuller. */
bool hp_is_preferred(const struct equal_plan *a, const struct equal_plan *b);

/* Why `chosen` is preferred to `fastest`, which is called `other`: "as fast as the plan of dp,
 * and simpler: 1 device instead of 4". */
char *hp_preferred_text(struct arena *arena, const struct equal_plan *chosen,
                        const struct equal_plan *fastest, const char *other);

#endif /* SEARCH_EVALUATE_SIMPLER_H */
