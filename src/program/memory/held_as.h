/* program/memory/held_as.h - tensors that are held as another. Internal.
 *
 * Where an operator's output has its input's elements in the same order (reshape, flatten,
 * identity, ...) it is another name, and takes no memory of its own. */
#ifndef PROGRAM_MEMORY_HELD_AS_H
#define PROGRAM_MEMORY_HELD_AS_H

#include "program/program.h"

/* Does the place last from step to step: a parameter, its gradient, the loss, a model input
 * without samples, or in a program of forward phases alone running statistics? */
bool hp_place_lasts(const struct hypar_graph *graph, bool forward, struct place place);

/* By tensor, of each of its places (hp_place_kind()). */
struct held_as {
    int *tensor[HP_PLACES];     /* the tensor that it is held as, or itself */
    int *next[HP_PLACES];       /* the next one that is held as the same, -1 */
    const unsigned char *shard; /* what is divided of a parameter (enum hypar_shard) */
};

/* Is a place of a parameter divided: owners have its pieces from step to step, and all of it is
 * there only while a micro-batch needs it? */
static inline bool hp_is_divided(const struct held_as *held, struct place place)
{
    return held->shard[place.tensor] >=
               (place.grad ? HYPAR_SHARD_GRADIENTS : HYPAR_SHARD_PARAMETERS) &&
           !place.again;
}

/* As hp_place_lasts(), of what is not divided. */
static inline bool hp_held_lasts(const struct held_as *held, const struct hypar_graph *graph,
                                 bool forward, struct place place)
{
    return hp_place_lasts(graph, forward, place) && !hp_is_divided(held, place);
}

/* Which tensors are held as others. */
enum views {
    VIEWS_APART,     /* none */
    VIEWS_ONE,       /* outputs of operators that pass every element on */
    VIEWS_AND_SLICES /* ... and values that are slices: PyTorch keeps all of the tensor for them
                      */
};

struct lowering;
struct held_as hp_held_as(const struct lowering *lowering, enum views views,
                          struct arena *arena);

/* A framework that runs operator by operator does not copy the error of a sum: it hands the
 * error of the output on as the error of each input. Returns the addition that hands the error
 * of `tensor` on; -1: no addition does, or another operator computes this error before. */
int hp_handed_by(const struct hypar_graph *graph, const struct held_as *held, int tensor);

/* The use of a tensor whose operator is the second to compute the tensor's error, in the order
 * of the backward half. PyTorch then makes a new tensor, the sum. -1: there is none. */
int hp_second_error(const struct hypar_graph *graph, int tensor);

/* The box of the tensor that `tensor` is held as, of (around) a box of `tensor`. */
struct box hp_held_box(const struct hypar_graph *graph, const struct held_as *held,
                       struct place place, struct box box);

#endif /* PROGRAM_MEMORY_HELD_AS_H */
