/* program/memory/buffers.h - the arrays in which a device holds its share of tensors. Internal.
 *
 * A device holds of a tensor what its tasks read and write: a box for each, and boxes that
 * overlap are one array, over their bounding box, so that every task finds what it touches in
 * one array. What lasts from step to step (parameters and their gradients, the loss, model
 * inputs without samples, running statistics) is held once; all else once for each micro-batch.
 */
#ifndef PROGRAM_MEMORY_BUFFERS_H
#define PROGRAM_MEMORY_BUFFERS_H

#include "program/blocks.h"

/* Tensors whose elements are another's in the same order (reshape, flatten, ...) are held as
 * that other: by tensor, of its value and of its gradient, the tensor that it is held as. */
struct held_as {
    int *tensor[2];
};
/* `views` false: each as itself. */
struct held_as hp_held_as(const struct hypar_graph *graph, bool views, struct arena *arena);

/* The loops of a view (hp_is_view()) around those that a box of its output covers. */
void hp_view_loops(const struct nest *nest, const struct box *output,
                   struct range range[MAX_AXES]);

/* The box of the tensor that `tensor` is held as, of (around) a box of `tensor`. */
struct box hp_held_box(const struct hypar_graph *graph, const struct held_as *held,
                       struct place place, struct box box);

struct buffer {
    struct place place; /* of the tensor that others are held as */
    struct box box;     /* of a body's: in its first micro-batch */
};

/* Of one device: those that last, then those of body 0, of body 1, ... */
struct device_buffers {
    struct held_as held;
    bool forward; /* of a program of forward phases alone */
    int n_bodies, n;
    int *first; /* by body: its first buffer; n_bodies + 1 */
    struct buffer *buffer;
    int n_tensors;
    int *start; /* [(1 + body) * 2 * n_tensors + 2 * tensor + grad], 0 for those that last */
};

/* `like`: buffers of the same device in another program of the plan, whose parameters and
 * running statistics these are; NULL: none. */
struct device_buffers hp_device_buffers(const struct hypar_program *program, int device,
                                        bool views, const struct device_buffers *like,
                                        struct arena *arena);

/* Is what the buffer holds the other program's, where there is one? */
static inline bool hp_is_shared(const struct hypar_graph *g, const struct buffer *b)
{
    enum tensor_kind kind = g->tensors[b->place.tensor].kind;
    return !b->place.grad && (kind == TENSOR_PARAM || kind == TENSOR_STAT);
}

/* Does the place last from step to step? Running statistics do where they are given, in a
 * program of forward phases alone. */
bool hp_place_lasts(const struct hypar_graph *graph, bool forward, struct place place);

/* The buffer that holds `box` of a place in a body; -1: none does. */
int hp_find_buffer(const struct device_buffers *buffers, const struct hypar_graph *graph,
                   int body, struct place place, const struct box *box);

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

#endif /* PROGRAM_MEMORY_BUFFERS_H */
