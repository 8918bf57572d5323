/* run/data/synthetic.h - samples that are made up. Internal to run/data.
 *
 * Each element follows from the seed, the sample and its place. There is something to learn: a
 * sample has a hidden class; numbers are a pattern of the class and noise, ids count up in
 * steps of the class, and labels and targets say which class it is, or which id is next. */
#ifndef RUN_DATA_SYNTHETIC_H
#define RUN_DATA_SYNTHETIC_H

#include "graph/graph.h"
#include "run/data/inputs.h"

/* One input, as it is made up. */
struct synthetic {
    uint64_t seed;
    uint64_t name; /* hash of the input's: inputs differ */
    enum input_role role;
    int64_t classes;  /* hidden ones */
    int64_t below;    /* integers: less than this */
    int64_t ids;      /* ids that are counted through */
    bool next_id;     /* labels: the id that follows, not the class */
    int64_t elements; /* of a sample */
};

struct synthetic hp_synthetic(const struct hypar_graph *graph, int tensor, uint64_t seed);

/* Elements from .. from + n of a sample, as numbers or as integers. */
void hp_synthetic_numbers(const struct synthetic *s, int64_t sample, int64_t from, int64_t n,
                          double *out);
void hp_synthetic_integers(const struct synthetic *s, int64_t sample, int64_t from, int64_t n,
                           int64_t *out);

#endif /* RUN_DATA_SYNTHETIC_H */
