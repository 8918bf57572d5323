/* search/choices/solve.h - the best cut of measured operators into stages. Internal. */
#ifndef SEARCH_CHOICES_SOLVE_H
#define SEARCH_CHOICES_SOLVE_H

#include <signal.h>

#include "search/choices/stage.h"

struct choice_problem {
    const struct choice_model *model;
    const struct cut_states *states; /* their times are the model's work_s */
    int n_devices;
    int64_t samples;            /* of a batch: numbers of replicas divide it */
    int min_stages, max_stages; /* max_stages 0: any number */
    double known_s;             /* a faster pipeline than that is looked for; INFINITY: any */
    int64_t max_evaluated;      /* stages that are weighed; 0: any number */
    const volatile sig_atomic_t *stop; /* NULL: nobody can */
};

struct chosen_stage {
    int after, last; /* states */
    int degree, replicas;
    int in_flight; /* samples, on each replica */
    double load_s;
};

struct chosen {
    double load_s; /* of the slowest stage */
    int n_stages;  /* 0: there is no such pipeline, or it was not found */
    int n_devices;
    struct chosen_stage *stage;
    bool *again;       /* by operator: computed again */
    int64_t evaluated; /* stages weighed */
    bool exact;        /* there is no faster one over these states: nothing was left out */
};

/* What comes out lives in `arena`. `stop` ends it with the best so far. */
void hp_choices_solve(struct arena *arena, const struct choice_problem *problem,
                      struct chosen *out);

/* Degrees and numbers of replicas that a stage may have, together: each is weighed for each
 * stage. */
int hp_choice_shapes(const struct choice_problem *problem);

#endif /* SEARCH_CHOICES_SOLVE_H */
