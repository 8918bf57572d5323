/* program/memory/parts.h - the parts of the memory model. Internal to program/memory/. */
#ifndef PROGRAM_MEMORY_PARTS_H
#define PROGRAM_MEMORY_PARTS_H

#include "program/memory/buffers.h"
#include "program/memory/memory.h"

/* What begins and ends with one pass of a part on its device, in bytes. */
struct pass_memory {
    double kept, temporary;         /* begin with it */
    double end_kept, end_temporary; /* end with it */
    double rebuilt, end_rebuilt;    /* of kept: what recomputation would not keep */
};

/* What lies on a device at one time, of the micro-batch at hand. */
struct instant {
    double kept, temporary, rebuilt;
};

/* The passes of one body. */
struct body_memory {
    const struct body_passes *passes;
    struct pass_memory *pass; /* in their order */
    struct instant *between;  /* by device: from the forward half to the backward half */
    struct instant *late;  /* ... of which it begins after the last pass of the forward half */
    struct instant *waits; /* ... and ends before the first of the backward half */
    struct instant *most[2]; /* by half, by device: when it is fullest */
};

struct memory_maker {
    struct arena scratch;
    const struct hypar_program *program;
    const struct hypar_graph *graph;
    struct memory_options options;
    struct memory_model *model;
    struct buffer_finder finder;
    struct body_memory *body;
    double *shared; /* by device: the loss, and inputs that all micro-batches share */
};

/* pass_memory.c: what each pass begins and ends, of every tensor; what lasts. */
void hp_memory_of_passes(struct memory_maker *m);

#endif /* PROGRAM_MEMORY_PARTS_H */
