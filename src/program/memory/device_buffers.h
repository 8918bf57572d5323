/* program/memory/device_buffers.h - all buffers of one device, to be looked up. Internal. */
#ifndef PROGRAM_MEMORY_DEVICE_BUFFERS_H
#define PROGRAM_MEMORY_DEVICE_BUFFERS_H

#include "program/memory/buffers.h"

/* Those that last, then those of body 0, of body 1, ... Passes are counted among those of the
 * device, and what a buffer is a copy of among all its buffers. */
struct device_buffers {
    struct held_as held;
    bool forward; /* of a program of forward phases alone */
    int n_bodies, n;
    int *first; /* by body: its first buffer; n_bodies + 1 */
    struct buffer *buffer;
    int *start; /* [hp_buffers_at()]: those of a place, or a body's masks, up to the next */
};

/* Where `start` has the first buffer of a place: list 0 is of those that last, 1 + body of a
 * body's; those of tensor n_tensors are its masks. */
static inline int hp_buffers_at(const struct hypar_graph *graph, int list, struct place place)
{
    return list * (HP_PLACES * graph->n_tensors + 1) + hp_place_index(place);
}

/* `in_order`: the device does its tasks in order of their numbers. `like`: buffers of the same
 * device in another program of the plan, whose parameters and running statistics these are;
 * NULL: none. */
struct device_buffers hp_device_buffers(const struct hypar_program *program, int device,
                                        bool in_order, const struct device_buffers *like,
                                        struct arena *arena);

/* Is what the buffer holds the other program's, where there is one? */
static inline bool hp_is_shared(const struct hypar_graph *g, const struct buffer *b)
{
    enum tensor_kind kind = g->tensors[b->place.tensor].kind;
    return !b->place.grad && (kind == TENSOR_PARAM || kind == TENSOR_STAT);
}

/* The buffer that holds `box` of a place in a half of a body; -1: none does. */
int hp_find_buffer(const struct device_buffers *buffers, const struct hypar_graph *graph,
                   int body, bool backward, struct place place, const struct box *box);

/* The mask that a part of a dropout keeps in a body, by its output; -1: none. */
int hp_find_mask(const struct device_buffers *buffers, const struct hypar_graph *graph,
                 int body, int tensor, int part);

/* The buffer that holds `box` of the running statistics of a tensor; -1: none does. */
int hp_find_running(const struct device_buffers *buffers, int tensor, const struct box *box);

/* Where a box of a place lies in a buffer: the element at its lower corner, and from one index
 * to the next in each dimension. */
struct strides {
    int64_t offset, stride[MAX_DIMS];
};
struct strides hp_place_in_buffer(const struct device_buffers *buffers,
                                  const struct hypar_graph *graph, int buffer,
                                  struct place place, const struct box *box);

#endif /* PROGRAM_MEMORY_DEVICE_BUFFERS_H */
