/* search/choices/solve.h - finds the best cut of measured operators into stages. Internal. */
#ifndef SEARCH_CHOICES_SOLVE_H
#define SEARCH_CHOICES_SOLVE_H

#include <signal.h>

#include "search/choices/stage.h"

struct choice_problem {
    const struct choice_model *model;
    const struct cut_states *states; /* the states' times are the model's work_s */
    int n_devices;
    int64_t samples;            /* of one batch; a number of replicas divides it */
    int min_stages, max_stages; /* max_stages 0: any number */
    double known_s;             /* search for a faster pipeline than this; INFINITY: any */
    int64_t max_evaluated;      /* limit of evaluated stages; 0: none */
    const volatile sig_atomic_t *stop; /* ends the search when set; NULL: never */
};

struct chosen_stage {
    int after, last; /* states */
    int degree, replicas;
    int in_flight; /* samples on each replica */
    double load_s;
};

struct chosen {
    double load_s; /* of the slowest stage */
    int n_stages;  /* 0: no such pipeline exists, or none was found */
    int n_devices;
    struct chosen_stage *stage;
    bool *again;       /* by operator: recomputed */
    int64_t evaluated; /* evaluated stages */
    bool exact;        /* no faster pipeline over these states exists: the search was
                        * complete */
};

/* Solve; the result lives in `arena`. `stop` ends the search with the best result so far. */
void hp_choices_solve(struct arena *arena, const struct choice_problem *problem,
                      struct chosen *out);

/* The number of pairs (degree, replicas) that a stage may have. The search evaluates each pair
 * for each stage. */
int hp_choice_shapes(const struct choice_problem *problem);

#endif /* SEARCH_CHOICES_SOLVE_H */
