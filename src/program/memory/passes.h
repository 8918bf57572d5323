/* program/memory/passes.h - the passes of a body, device by device. Internal. */
#ifndef PROGRAM_MEMORY_PASSES_H
#define PROGRAM_MEMORY_PASSES_H

#include "program/blocks.h"

struct body_passes {
    const struct hypar_program *program;
    int body;
    struct pass_order order;
    int *start, *number; /* by device: its passes, ascending; CSR */
    /* By pass: the first and the last of those of the same part that a device does one after
     * another. A kernel may do them in one call, so for memory they are one. */
    int *first, *last;
};

struct body_passes hp_body_passes(const struct hypar_program *program, int body,
                                  struct arena *arena);

/* The first pass that a comm of an exchange comes before, where it is done in `action`. */
int hp_pass_after(const struct body_passes *passes, int action, int exchange);

/* The first pass of a device from `number` on, in the same action; -1: there is none. */
int hp_next_pass(const struct body_passes *passes, int device, int number, int action);

/* The last pass of the task that does pass `number`. */
int hp_task_end(const struct body_passes *passes, int number);

static inline const struct op_pass *hp_pass_at(const struct body_passes *p, int number)
{
    return &p->program->lowering->training.op_pass[p->order.at[number].op_pass];
}

static inline int hp_action_at(const struct body_passes *p, int number)
{
    return hp_pass_action(p->program->lowering, p->order.at[number].op_pass);
}

static inline const struct op_parts *hp_parts_at(const struct body_passes *p, int number)
{
    return p->program->lowering->body[p->body].parts[hp_pass_at(p, number)->op];
}

static inline int hp_device_at(const struct body_passes *p, int number)
{
    return hp_parts_at(p, number)->device[p->order.at[number].part];
}

#endif /* PROGRAM_MEMORY_PASSES_H */
