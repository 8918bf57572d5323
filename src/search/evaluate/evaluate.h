/* search/evaluate/evaluate.h - from candidates to the best plan that fits. Internal.
 *
 * A planner of pipelines generates candidates. It knows the step of each in closed form, and
 * bounds of its memory. Here candidates are built, simulated in part (reduced.h) and checked
 * against memory, within one budget; the best plan is kept.
 *
 * Similar candidates have similar errors of their closed forms; the planner gives similar
 * candidates the same key. An evaluated candidate shows the error of its key, and corrects the
 * expected steps of the others. The candidate with the shortest expected step comes next. */
#ifndef SEARCH_EVALUATE_EVALUATE_H
#define SEARCH_EVALUATE_EVALUATE_H

#include "base/table.h"
#include "search/evaluate/fit.h"
#include "search/evaluate/reduced.h"

/* A candidate before it is built. */
struct estimate {
    const void *candidate; /* the planner's own; it outlives the evaluation */
    double step_s;         /* in closed form */
    double least_part; /* of its memory the fullest device needs no less; above 1: no plan */
    struct fullest memory; /* in closed form; that decides where there is no program */
    double tasks;          /* that are simulated of it (hp_reduced_tasks()) */
    uint64_t alike;        /* key of candidates whose closed forms are off alike */
    unsigned family;       /* below HP_FAMILIES: the same of more candidates, off about alike */
    bool evaluated;        /* set by the evaluation; or by the planner, which drops it */
};

enum { HP_FAMILIES = 4 };

/* What is known of a candidate that was built. */
struct evaluated {
    struct estimate estimate;
    double step_s;            /* simulated, or estimated where it cannot be */
    bool state_fits;          /* weights, gradients and optimizer state, before anything else */
    struct fullest memory;    /* of the program; of the state alone, where that does not fit */
    struct reduced_step part; /* what was simulated; zeros: nothing */
};

struct evaluation;

/* What a planner has to say about its candidates. */
struct generator {
    /* A new plan. The evaluation checks the plan; it frees *out where the check or this
     * function fails. */
    enum hypar_status (*build)(void *planner, const void *candidate, struct hypar_plan **out,
                               struct hypar_error *err);
    /* A candidate was evaluated: others like it may be added. NULL: none are. */
    void (*follow)(void *planner, struct evaluation *evaluation,
                   const struct evaluated *evaluated);
    double off; /* the errors of two closed forms differ by this factor at most: a candidate
                 * that is slower than the best by a larger factor is left out */
    int most;   /* candidates that are simulated where that takes more than a moment */
};

struct evaluation {
    const struct problem *problem;
    struct arena *arena;
    const struct generator *generator;
    void *planner; /* that `generator` is handed */
    int n, capacity;
    struct estimate *estimate;
    struct hypar_plan *plan; /* of the best so far, that may not fit; NULL: none was built */
    struct evaluated best;
    int n_evaluated;
    double parts, tasks;           /* of operators, lowered; simulated, about */
    double most_parts, most_tasks; /* the budget */
    bool unseen;                   /* the best could not be simulated */
    struct table hashes;           /* of plans */
    struct table keys;             /* `alike` of candidates: numbers of ... */
    struct estimate_error {        /* ... how far their closed forms are off */
        double off; /* simulated over closed form, the least so far; INFINITY: none */
        int n;      /* candidates that were simulated */
    } * error;
    int n_errors, error_capacity;
    double least_off[HP_FAMILIES]; /* ... of all in a family */
    struct hypar_error first;      /* why the first that cannot be built cannot; "": all can */
};

void hp_evaluation_begin(struct evaluation *out, const struct problem *problem,
                         struct arena *arena, const struct generator *generator, void *planner);

/* About how many tasks are simulated of a pipeline. Each replica of a stage is `size` devices;
 * replicas are alike, and one of them is simulated. */
double hp_reduced_tasks(const struct problem *problem, int n_stages, int size,
                        int64_t micro_batches);

void hp_add_candidate(struct evaluation *evaluation, const struct estimate *estimate);

/* Evaluate candidates until none is left that may be the best, or the budget is spent. */
void hp_evaluate_candidates(struct evaluation *evaluation);

/* Evaluate one, whatever its closed form says; no others follow from it. */
void hp_evaluate_candidate(struct evaluation *evaluation, struct estimate *estimate);

/* Build the plan of a candidate and check that the target can run it. NULL on failure. */
enum hypar_status hp_candidate_plan(struct evaluation *evaluation, const void *candidate,
                                    struct hypar_plan **out, struct hypar_error *err);

/* Drop the candidates that are left; add `part` of the budget for others. */
void hp_evaluate_further(struct evaluation *evaluation, double part);

/* Is there a plan that fits? */
static inline bool hp_evaluation_fits(const struct evaluation *evaluation)
{
    return evaluation->plan && hp_fits(&evaluation->best.memory);
}

/* Does an evaluation take so little that one who stops the search gets a plan? */
bool hp_is_quick(const struct evaluation *evaluation);

/* Was so little simulated that more of it takes no time? */
bool hp_has_simulated_little(const struct evaluation *evaluation);

/* Is a simulated step so near that of the best that candidates like it may be better? */
bool hp_is_near_best(const struct evaluation *evaluation, double step_s);

/* One that fits is better than one whose state alone fits, and that better than others; then
 * the faster, or of those that do not fit the one that needs less. */
bool hp_is_better(const struct evaluated *a, const struct evaluated *b);

/* The best, which fits, is found->plan, with what was simulated of it where it is large. */
void hp_accept(struct evaluation *evaluation, struct hypar_found *found);

/* None fits: what the nearest needs, or why none could be built. Releases the plan. */
enum hypar_status hp_refuse(struct evaluation *evaluation, struct hypar_error *err);

#endif /* SEARCH_EVALUATE_EVALUATE_H */
