/* Sharded parameters: which operators' parameters can be divided among the devices that hold
 * them, and how users of a shared parameter agree. */
#include "program/lowering.h"

/* Does a second device hold a piece of the divided tensor? */
static bool has_copies(const struct pattern *p)
{
    for (int c = 0; c < p->n_cells; c++)
        if (p->cell[c].n_receivers + p->cell[c].n_kept > 1 || p->cell[c].pieces > 1 ||
            (c > 0 && p->cell[c].box == p->cell[c - 1].box)) /* a piece of another group */
            return true;
    return false;
}

/* Is some parameter of an operator divided? `*any`: the plan asks for one. */
static bool is_divided(const struct lowering *s, int op, bool *any)
{
    const struct training_graph *k = &s->training;
    *any = false;
    for (int t = k->access_start[op]; t < k->access_start[op + 1]; t++) {
        int d = k->accessed[t];
        if (k->exchange[d].division == DIVIDE_NOT)
            continue;
        *any = true;
        if (has_copies(hp_exchange_pattern(s, 0, d)))
            return true;
    }
    return false;
}

const struct pattern *hp_pieces(const struct lowering *s, struct place place)
{
    const struct training_graph *k = &s->training;
    if (!place.grad) {
        int d = k->gather_of[place.tensor][0];
        return hp_exchange_pattern(s, 0, d < 0 ? k->gather_of[place.tensor][1] : d);
    }
    for (int d = k->n_exchanges; d < k->n_exchanges + k->n_sums; d++)
        if (k->exchange[d].place.tensor == place.tensor && k->exchange[d].place.grad)
            return hp_exchange_pattern(s, 0, d);
    return NULL;
}

bool hp_owns(const struct cell *cell, struct place place, int device)
{
    return place.grad ? hp_is_in(cell->kept, cell->n_kept, device)
                      : cell->n_contributions && cell->contribution[0].device == device;
}

enum hypar_status hp_check_divided(const struct lowering *s, struct hypar_error *err)
{
    for (int op = 0; op < s->graph->n_ops; op++) {
        bool any;
        if (s->plan->ops[op].shard && !is_divided(s, op, &any) && any)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "op '%s': shard '%s', but no two devices have the same of its "
                           "parameters",
                           s->graph->ops[op].name, hypar_shard_text(s->plan->ops[op].shard));
    }
    return HYPAR_OK;
}

/* Users of one parameter must agree: the kind that divides less wins. */
static void agree(struct hypar_plan *plan)
{
    const struct hypar_graph *g = plan->graph;
    bool changed = true;
    while (changed) {
        changed = false;
        for (int t = 0; t < g->n_tensors; t++) {
            enum hypar_shard least = HYPAR_SHARD_PARAMETERS;
            if (g->tensors[t].kind != TENSOR_PARAM)
                continue;
            for (int u = g->use_start[t]; u < g->use_start[t + 1]; u++) {
                enum hypar_shard mine = plan->ops[g->use[u].op].shard;
                least = mine < least ? mine : least;
            }
            if (least > HYPAR_SHARD_OPTIMIZER && hp_param_crosses_stages(plan, t))
                least = HYPAR_SHARD_OPTIMIZER;
            for (int u = g->use_start[t]; u < g->use_start[t + 1]; u++) {
                struct op_plan *user = &plan->ops[g->use[u].op];
                changed |= user->shard != least;
                user->shard = least;
            }
        }
    }
    for (int op = 0; op < g->n_ops; op++)
        plan->ops[op].shard_over = plan->ops[op].shard ? plan->ops[op].shard_over : 0;
}

enum hypar_status hypar_plan_shard_all(struct hypar_plan *plan, enum hypar_shard shard,
                                       int over, struct hypar_error *err)
{
    struct lowering *s;
    for (int op = 0; op < plan->graph->n_ops; op++) {
        bool has = hp_op_has_params(plan->graph, op);
        plan->ops[op].shard = has ? shard : HYPAR_SHARD_NONE;
        plan->ops[op].shard_over = has ? over : 0;
    }
    agree(plan);
    TRY(hp_check_lowerable(plan, err));
    TRY(hp_lowering_make(&s, plan, NULL, NULL, err));
    for (int op = 0; op < plan->graph->n_ops; op++) {
        bool any;
        if (!is_divided(s, op, &any))
            plan->ops[op].shard = HYPAR_SHARD_NONE;
    }
    hp_lowering_free(s);
    agree(plan);
    return HYPAR_OK;
}
