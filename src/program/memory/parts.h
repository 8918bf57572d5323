/* program/memory/parts.h - the parts of the memory model. Internal to program/memory/. */
#ifndef PROGRAM_MEMORY_PARTS_H
#define PROGRAM_MEMORY_PARTS_H

#include "plan/memory_terms.h"
#include "program/memory/buffers.h"
#include "program/memory/memory.h"

/* Bytes of tensors that a device holds at one time, of the micro-batch at hand: by term, and
 * shares of the sum of all terms. */
struct held_bytes {
    double term[TENSOR_TERMS];
    double kept;    /* held from a forward half to a later action */
    double rebuilt; /* of `kept`: what recomputation would not keep */
    double saved;   /* what the backward half reads */
};

static inline void hp_add_held(struct held_bytes *to, const struct held_bytes *bytes,
                               double times)
{
    for (int i = 0; i < TENSOR_TERMS; i++)
        to->term[i] += times * bytes->term[i];
    to->kept += times * bytes->kept;
    to->rebuilt += times * bytes->rebuilt;
    to->saved += times * bytes->saved;
}

static inline double hp_held_sum(const struct held_bytes *held)
{
    double sum = 0;
    for (int i = 0; i < TENSOR_TERMS; i++)
        sum += held->term[i];
    return sum;
}

/* What begins and ends with one pass of a part on its device. */
struct pass_memory {
    struct held_bytes begin, end;
    double gradients; /* of parameters, that begin with it in the first micro-batch and stay */
};

/* The passes of one body; by action of a device: hp_memory_at(). */
struct body_memory {
    const struct body_passes *passes;
    struct pass_memory *pass; /* in their order */
    struct held_bytes *late;  /* by action: begins after its last pass */
    struct held_bytes *waits; /* ... ends before its first pass */
    double *over;             /* ... bytes that end with a slot after it */
    struct held_bytes *most;  /* ... the most that it holds at once beyond what it found */
    struct held_bytes *first; /* ... the same in the micro-batch that makes the gradients */
    double *most_saved;       /* ... the most at once that backward halves will read */
    double *gradients;        /* ... of parameters: made in the first micro-batch */
    struct held_bytes *
        *lasts; /* by device: [begin * (n + 1) + end], kept from action to action */
};

/* Parameters that are gathered, and gradients that are summed, together: unit_memory.c. */
struct unit_memory {
    int n;            /* 0: each by itself */
    int *of_op;       /* n - 1: it is in no layer */
    bool copies;      /* a step computes with copies of parameters */
    bool copies_end;  /* ... which end when their gradients are computed */
    bool *has_params; /* by unit */
    bool *at_end;     /* ... its inputs have no errors: its gradients are summed last */
    double *gathered; /* [device * n + unit]: bytes of parameters that are divided */
    double *received; /* ... of those that are received from others */
    double *copied;   /* ... of copies of parameters, in the plan's precision */
    double *held;     /* ... of the last parameter's gradient, while its unit's are summed */
    double *padding;  /* elements of divided parameters that pad them where they are together */
    double *largest;  /* by device, of the parameter at hand */
};

struct memory_maker {
    struct arena scratch;
    const struct hypar_program *program;
    const struct hypar_graph *graph;
    struct memory_options options;
    struct memory_how how;
    struct memory_model *model;
    struct buffer_finder finder;
    struct body_memory *body;
    struct unit_memory units;
    double *shared;   /* by device: the loss, and inputs that all micro-batches share */
    double *batch;    /* by device: inputs as they are handed over, beside narrower copies */
    double *received; /* by device: what all micro-batches are received in */
};

/* The action of a device, counted among its own; past the last: the end of a micro-batch. */
static inline int hp_own_at(const struct memory_maker *m, int device, int action)
{
    const struct schedule *s = m->program->schedule;
    const struct slot_list *list = hp_slots_of(s, device);
    return action < hp_action_count(s) ? hp_own_action(s, list, action)
                                       : hp_list_actions(s, list);
}

/* A divided parameter has so many times the elements that operators read. */
static inline double hp_whole_times(const struct memory_maker *m, int tensor)
{
    int read = hp_slice_of_param(m->program->plan, tensor);
    return (double)hp_shape_elements(&m->graph->tensors[tensor].shape) /
           (double)hp_shape_elements(&m->graph->tensors[read].shape);
}

/* Is an input of the graph an argument of the model, not what the model makes of its arguments
 * (a mask of words), and not the target of a loss beside the model? */
bool hp_is_argument(const struct hypar_graph *graph, int tensor);

/* pass_memory.c: what each pass begins and ends, of every tensor; what lasts. */
void hp_memory_of_passes(struct memory_maker *m);

/* unit_memory.c: parameters and gradients that are held while a unit is gathered or summed. */
bool hp_has_units(const struct hypar_program *program);
void hp_units_begin(struct memory_maker *m);

/* The buffers that the finder has are of a parameter that is gathered with its unit. */
void hp_gather_with_unit(struct memory_maker *m, int tensor);

/* A device has a copy of the parameter in a buffer, which begins and ends with its unit. */
void hp_copy_with_unit(struct memory_maker *m, int tensor, int device, double bytes);

/* All parameters have come to their units: those that are gathered, and copies, take more where
 * the framework pads pieces. */
void hp_pad_units(struct memory_maker *m);

/* `elements`: by pass, of gradients that it is the first to write. */
void hp_memory_of_units(struct memory_maker *m, struct body_memory *body,
                        const double *elements);

#endif /* PROGRAM_MEMORY_PARTS_H */
