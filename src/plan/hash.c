/* A hash of the tasks of a plan's step. */
#include "base/table.h"
#include "plan/slots.h"

#include <string.h>

static uint64_t add_number(uint64_t hash, int64_t number)
{
    return hp_hash(hash, &number, sizeof number);
}

static uint64_t add_split(uint64_t hash, const struct nest *nest, const struct split *split)
{
    for (int a = 0; a < nest->n_axes; a++) {
        int degree = hp_degree(split, a);
        hash = add_number(hash, degree);
        for (int i = 0; degree > 1 && i < degree; i++) {
            struct range part = hp_axis_part(nest, split, a, i);
            hash = add_number(hash, part.hi - part.lo);
        }
    }
    return hash;
}

static uint64_t add_op(uint64_t hash, const struct nest *nest, const struct op_plan *op)
{
    hash = add_split(hash, nest, &op->split);
    hash = hp_hash(hash, op->device, (size_t)op->n_devices * sizeof *op->device);
    hash = add_number(hash, op->stage);
    hash = add_number(hash, 2 * op->recompute + op->resend);
    hash = add_number(hash, op->shard);
    return add_number(hash, op->shard_over);
}

static uint64_t add_slots(uint64_t hash, const struct hypar_plan *plan)
{
    char text[SLOT_TEXT_BYTES];
    for (int g = 0; g < plan->n_orders; g++)
        for (int i = 0; i < plan->order[g].n; i++) {
            const char *slot = hp_slot_text(&plan->order[g].slot[i], text);
            hash = hp_hash(hash, slot, strlen(slot) + 1);
        }
    return hash;
}

uint64_t hypar_plan_hash(const struct hypar_plan *plan)
{
    const struct hypar_schedule *s = &plan->schedule;
    uint64_t hash = add_number(HP_HASH_START, (int64_t)plan->graph->hash);
    hash = add_number(hash, plan->precision);
    hash = add_number(hash, plan->optimizer);
    for (int op = 0; op < plan->graph->n_ops; op++)
        hash = add_op(hash, plan->graph->ops[op].nest, &plan->ops[op]);
    hash = add_number(hash, s->kind);
    hash = add_number(hash, s->micro_batches);
    hash = add_number(hash, 2 * s->stash + s->vertical_sync);
    return add_slots(hash, plan);
}
