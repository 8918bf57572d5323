/* program/memory/parts.h - the parts of the memory model. Internal to program/memory/. */
#ifndef PROGRAM_MEMORY_PARTS_H
#define PROGRAM_MEMORY_PARTS_H

#include "layout/cover.h"
#include "program/memory/memory.h"

/* What begins and ends with one pass of a part on its device, in bytes. */
struct pass_memory {
    double kept, temporary;            /* begin with it */
    double end_kept, end_temporary;    /* end with it */
    double rebuilt, end_rebuilt;       /* of kept: what recomputation would not keep */
    double may_go, may_come, replaced; /* in place: of end_temporary, and of what begins */
};

/* What lies on a device at one time, of the micro-batch at hand. */
struct instant {
    double kept, temporary, rebuilt;
};

/* The passes of one body. */
struct body_memory {
    int body;
    const struct pass_order *order;
    bool *has_grad;           /* by tensor: its gradient is settled in the body */
    struct pass_memory *pass; /* in that order */
    struct instant *between;  /* by device: from the forward half to the backward half */
    struct instant *most[2];  /* by half, by device: when it is fullest */
};

/* A device's hold on the tensor at hand. */
struct store {
    int device;
    struct cover all, kept;
    int first[2], last[2]; /* passes that access it, by half; -1: none */
};

struct memory_maker {
    struct arena scratch;
    const struct hypar_program *program;
    const struct hypar_graph *graph;
    struct memory_options options;
    struct memory_model *model;
    struct body_memory *body;
    struct instant *tail; /* by device: of messages when an update period ends */
    double *shared;       /* by device: inputs that all micro-batches share */
    /* Names for the same elements: the tensor that it is another name of, or itself; and the
     * next name of the same tensor, -1. */
    int *seen_as, *next_name;
    /* of the tensor at hand */
    int *store_of; /* by device, -1 */
    struct arena stores;
    struct store *store;
    int n_stores, store_capacity;
    /* what comms take, by pattern */
    struct comm_room **room; /* by pattern id */
    int room_capacity;
};

/* names.c: which tensors are others by another name (fills seen_as, next_name), and the
 * box of the first of them that `box` of `tensor` is. */
void hp_memory_find_names(struct memory_maker *m);
struct box hp_memory_named_box(const struct memory_maker *m, int tensor, struct box box);

/* stores.c: what each pass begins and ends, of every tensor; parameters. */
void hp_memory_stores(struct memory_maker *m);

/* comms.c: elements that each device needs room for while a comm goes on. */
struct comm_room {
    int *start; /* by comm of the pattern: CSR */
    struct room {
        int device;
        int64_t elements;
    } * room;
};
const struct comm_room *hp_memory_room(struct memory_maker *m, const struct pattern *pattern);

/* memory.c: by task of the tail (from its first on), what the other members of its bucket take
 * besides: they are one message, all over the same devices. Taken from the scratch arena. */
double *hp_memory_buckets(struct memory_maker *m);

#endif /* PROGRAM_MEMORY_PARTS_H */
