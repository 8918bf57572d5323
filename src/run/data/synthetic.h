/* run/data/synthetic.h - synthetic samples. Internal to run/data.
 *
 * Each element follows from the seed, the sample and its position. There is something to learn:
 * a sample has a hidden class; numbers are a pattern of the class plus noise, ids count up in
 * steps of the class, and labels and targets name the class or the next id. */
#ifndef RUN_DATA_SYNTHETIC_H
#define RUN_DATA_SYNTHETIC_H

#include "graph/graph.h"
#include "run/data/inputs.h"

/* The rule for one input. */
struct synthetic {
    uint64_t seed;
    uint64_t name; /* hash of the input's name: inputs differ */
    enum input_role role;
    int64_t classes;  /* hidden ones */
    int64_t below;    /* integers: less than this */
    int64_t ids;      /* ids that occur */
    bool next_id;     /* labels are the next id, not the class */
    int64_t elements; /* of a sample */
};

struct synthetic hp_synthetic(const struct hypar_graph *graph, int tensor, uint64_t seed);

/* Elements from .. from + n of a sample, as numbers or as integers. */
void hp_synthetic_numbers(const struct synthetic *s, int64_t sample, int64_t from, int64_t n,
                          double *out);
void hp_synthetic_integers(const struct synthetic *s, int64_t sample, int64_t from, int64_t n,
                           int64_t *out);

#endif /* RUN_DATA_SYNTHETIC_H */
