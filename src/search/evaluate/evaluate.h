/* search/evaluate/evaluate.h - from candidates to the best plan that fits. Internal.
 *
 * A planner of pipelines generates candidates. It knows the step of each candidate in closed
 * form, and bounds of its memory. The evaluation builds candidates, simulates them in part
 * (reduced.h), checks their memory, and keeps the best plan. All planners have the same budget
 * (limits.h).
 *
 * Similar candidates have similar errors of their closed forms; the planner gives similar
 * candidates the same key. An evaluated candidate shows the error of its key, and corrects the
 * expected steps of the others. The candidate with the shortest expected step comes next. */
#ifndef SEARCH_EVALUATE_EVALUATE_H
#define SEARCH_EVALUATE_EVALUATE_H

#include "base/table.h"
#include "search/evaluate/reduced.h"
#include "search/evaluate/room.h"
#include "search/evaluate/simpler.h"

/* A candidate before it is built. */
struct estimate {
    const void *candidate; /* the planner's own; it outlives the evaluation */
    double step_s;         /* in closed form */
    double least_part; /* the least part of its memory that the fullest device needs; above 1:
                        * the candidate does not fit */
    struct fullest memory; /* in closed form; it decides if there is no program */
    double tasks;          /* to simulate (hp_reduced_tasks()) */
    uint64_t alike;        /* key of candidates whose closed forms have similar errors */
    unsigned family;       /* below HP_FAMILIES: a wider class, with less similar errors */
    bool evaluated;        /* set by the evaluation, or by a planner that drops the candidate */
};

enum { HP_FAMILIES = 4 };

/* A candidate that was built. */
struct evaluated {
    struct estimate estimate;
    double step_s;            /* simulated, or estimated if it cannot be simulated */
    bool state_fits;          /* weights, gradients and optimizer state fit */
    struct fullest memory;    /* of the program; of the state alone if the state does not fit */
    struct reduced_step part; /* the simulation; zeros: none */
};

struct evaluation;

/* The functions and limits of a planner that generates candidates. */
struct generator {
    /* A new plan. The evaluation checks the plan; it frees *out where the check or this
     * function fails. */
    enum hypar_status (*build)(void *planner, const void *candidate, struct hypar_plan **out,
                               struct hypar_error *err);
    /* Called when a candidate was evaluated: may add similar candidates. May be NULL. */
    void (*follow)(void *planner, struct evaluation *evaluation,
                   const struct evaluated *evaluated);
    double off;   /* the errors of two closed forms differ by this factor at most: a candidate
                   * that is slower than the best by a larger factor is left out (limits.h) */
    bool simpler; /* of candidates that are equally fast the simpler one is the best */
};

struct evaluation {
    const struct problem *problem;
    struct arena *arena;
    const struct generator *generator;
    void *planner; /* the first argument of the generator's functions */
    int n, capacity;
    struct estimate *estimate;
    struct hypar_plan *plan; /* the best so far, which may not fit; NULL: none was built */
    struct evaluated best;
    struct equal_plan equal,
        fastest; /* the best and the fastest that fit (generator.simpler) */
    int n_evaluated;
    double parts, tasks;           /* parts lowered; tasks simulated, approximately */
    double most_parts, most_tasks; /* the budget */
    bool unseen;                   /* the best could not be simulated */
    struct table hashes;           /* of plans */
    struct table keys;             /* `alike` of candidates: indices into `error` */
    struct estimate_error {
        double off; /* the least ratio of simulated step to closed form; INFINITY: unknown */
        int n;      /* candidates that were simulated */
    } * error;
    int n_errors, error_capacity;
    double least_off[HP_FAMILIES]; /* the least `off` of a family */
    struct hypar_error first;      /* why the first failed candidate cannot be built; "": none
                                    * failed */
};

void hp_evaluation_begin(struct evaluation *out, const struct problem *problem,
                         struct arena *arena, const struct generator *generator, void *planner);

/* The approximate number of tasks to simulate for a pipeline. Each replica of a stage has
 * `size` devices; replicas are equal, and one of them is simulated. */
double hp_reduced_tasks(const struct problem *problem, int n_stages, int size,
                        int64_t micro_batches);

void hp_add_candidate(struct evaluation *evaluation, const struct estimate *estimate);

/* Evaluate candidates until no other can be the best, or until the budget is spent. */
void hp_evaluate_candidates(struct evaluation *evaluation);

/* Evaluate this candidate, even if its closed form is slow. `follow` is not called. */
void hp_evaluate_candidate(struct evaluation *evaluation, struct estimate *estimate);

/* Build the plan of a candidate and check that the target can run it. NULL on failure. */
enum hypar_status hp_candidate_plan(struct evaluation *evaluation, const void *candidate,
                                    struct hypar_plan **out, struct hypar_error *err);

/* Drop the remaining candidates, and allow `part` of a budget more for others. */
void hp_evaluate_further(struct evaluation *evaluation, double part);

/* Is there a plan that fits? */
static inline bool hp_evaluation_fits(const struct evaluation *evaluation)
{
    return evaluation->plan && hp_fits(&evaluation->best.memory);
}

/* Does an evaluation take so little time that a stopped search still returns a plan? */
bool hp_is_quick(const struct evaluation *evaluation);

/* Was so little simulated that more simulations take no noticeable time? */
bool hp_has_simulated_little(const struct evaluation *evaluation);

/* Is a simulated step so close to the best that similar candidates may be better? */
bool hp_is_near_best(const struct evaluation *evaluation, double step_s);

/* A candidate that fits comes first, then one whose state alone fits, then all others. Of two
 * that fit, the faster is better; of two that do not fit, the smaller. */
bool hp_is_better(const struct evaluated *a, const struct evaluated *b);

/* Why the best plan was taken where another is faster by less than rounding; NULL: none is. */
const char *hp_why_simpler(const struct evaluation *evaluation, struct arena *arena);

/* Move the best plan, which fits, to *found; of a large plan also the result of its reduced
 * simulation. */
void hp_accept(struct evaluation *evaluation, struct hypar_found *found);

/* No candidate fits: report what the nearest needs, or why none could be built. Frees the
 * plan. */
enum hypar_status hp_refuse(struct evaluation *evaluation, struct hypar_error *err);

#endif /* SEARCH_EVALUATE_EVALUATE_H */
