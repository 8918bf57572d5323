/* The time in which one device computes each operator, from the times of the operator's parts.
 */
#include "sim/op_times.h"

/* The passes of an operator in a step. */
struct halves {
    uint32_t forward, backward, again;
};

static struct halves *halves_of(const struct training_graph *k, int n_ops, struct arena *arena)
{
    struct halves *half = NEW(arena, struct halves, n_ops);
    for (int i = 0; i < k->n_op_passes; i++) {
        const struct op_pass *p = &k->op_pass[i];
        uint32_t bit = (uint32_t)1 << p->pass;
        if (!p->resend)
            *(p->again      ? &half[p->op].again
              : p->backward ? &half[p->op].backward
                            : &half[p->op].forward) |= bit;
    }
    return half;
}

void hp_op_times(const struct hypar_sim *sim, int device, struct op_times *out)
{
    const struct lowering *s = sim->timing->lowering;
    struct arena arena = { 0 };
    struct halves *half = halves_of(&s->training, s->graph->n_ops, &arena);
    struct kernel_place at = hp_costs_place(sim->timing->costs, device);
    for (int op = 0; op < s->graph->n_ops; op++) {
        out[op] = (struct op_times){ .parts = 0 };
        operand_set present = hp_present(&s->graph->ops[op]);
        for (int b = 0; b < s->n_bodies; b++) {
            const struct op_parts *l = s->body[b].parts[op];
            double times = (double)hp_body_times(&s->iteration, b) / s->iteration.n_batches;
            for (int part = 0; part < l->n_parts; part++) {
                const struct range *range = l->range + part * l->nest->n_axes;
                if (l->empty[part] || l->device[part] != device)
                    continue;
                out[op].parts++;
                out[op].forward_s +=
                    times * hp_op_seconds(l->nest, half[op].forward, range, present, &at);
                out[op].backward_s +=
                    times * (hp_op_seconds(l->nest, half[op].backward, range, present, &at) +
                             hp_op_seconds(l->nest, half[op].again, range, present, &at));
            }
        }
    }
    hp_arena_free(&arena);
}
