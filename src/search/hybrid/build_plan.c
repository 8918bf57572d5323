/* Makes a plan from a candidate. */
#include "program/lowering.h"
#include "search/hybrid/pipeline.h"

static void place_stage(const struct hybrid *h, const struct candidate *c, int s,
                        struct hypar_plan *plan, int *device)
{
    const struct stage *stage = &c->stage[s].stage;
    const struct stage_estimate *e = &c->stage[s].estimate;
    struct submesh_place place = { stage->n_devices / e->size, c->stage[s].first,
                                   stage->step.micro_batches, stage->step.shares };
    int again_until = h->units.first[stage->lo + e->recomputed];
    for (int op = h->units.first[stage->lo]; op < h->units.first[stage->hi]; op++) {
        int v = h->model.var_of[op];
        const struct submesh_state *state =
            &hp_states(&h->model, e->submesh, v)->state[e->splitting->state[v]];
        struct split split;
        struct arena_mark mark = hp_arena_mark(h->arena);
        hp_submesh_split(&h->model, op, state, &place, h->arena, &split, device);
        hp_plan_set(plan, op, &split, device);
        hp_arena_release(h->arena, mark);
        plan->ops[op].recompute = op < again_until && h->model.again[e->recompute][op];
    }
}

/* Mark tensors that are gathered again instead of kept, if the splitting resends. */
static void mark_resent(const struct hybrid *h, const struct candidate *c,
                        struct hypar_plan *plan)
{
    for (int t = 0; t < h->model.n_terms; t++) {
        const struct submesh_term *term = &h->model.term[t];
        int s = 0, unit = h->units.of_op[term->last];
        while (c->stage[s].stage.hi <= unit)
            s++;
        const struct stage_estimate *e = &c->stage[s].estimate;
        if (e->splitting->resend && h->units.of_op[term->first] >= c->stage[s].stage.lo &&
            hp_term_resends(&h->model, e->submesh, e->splitting->state, term))
            plan->ops[hp_term_writer(&h->model, term)].resend = true;
    }
}

/* Set the sharding of each operator. All users of a parameter have the same sharding: none if
 * one of them has no copies; only the optimizer if several stages use the parameter. */
static void set_shards(const struct hybrid *h, const struct candidate *c,
                       struct hypar_plan *plan)
{
    const struct hypar_graph *g = plan->graph;
    enum hypar_shard most = c->shape.step.shard;
    for (int op = 0; op < g->n_ops && most; op++) {
        int stage = plan->ops[op].stage < 0 ? 0 : plan->ops[op].stage;
        const struct stage_estimate *e = &c->stage[stage].estimate;
        const struct op_cost *cost =
            hp_op_cost(&h->model, e->submesh, op, e->splitting->state[h->model.var_of[op]]);
        plan->ops[op].shard = hp_op_has_params(g, op) ? most : HYPAR_SHARD_NONE;
        if (plan->ops[op].n_parts / cost->param_parts <= 1)
            plan->ops[op].shard = HYPAR_SHARD_NONE;
    }
    for (int turn = 0; turn < 2; turn++) /* twice: operators may share parameters through other
                                          * operators */
        for (int t = 0; t < g->n_tensors && most; t++) {
            if (g->tensors[t].kind != TENSOR_PARAM)
                continue;
            enum hypar_shard least =
                hp_param_crosses_stages(plan, t) ? HYPAR_SHARD_OPTIMIZER : most;
            for (int u = g->use_start[t]; u < g->use_start[t + 1]; u++)
                if (plan->ops[g->use[u].op].shard < least)
                    least = plan->ops[g->use[u].op].shard;
            for (int u = g->use_start[t]; u < g->use_start[t + 1]; u++)
                plan->ops[g->use[u].op].shard = least;
        }
}

struct hypar_plan *hp_build_candidate(struct hybrid *h, const struct candidate *c)
{
    struct arena scratch = { 0 };
    struct hypar_plan *plan =
        hp_plan_new(h->problem->graph, h->problem->machine, &h->problem->settings);
    int *device = NEW(&scratch, int, hypar_machine_device_count(h->problem->machine));
    for (int s = 0; s < c->n_stages && c->n_stages > 1; s++) {
        const struct stage *stage = &c->stage[s].stage;
        hp_plan_add_range(plan, h->units.first[stage->lo], h->units.first[stage->hi],
                          c->stage[s].first, stage->n_devices,
                          stage->n_devices / c->stage[s].estimate.size);
    }
    hp_plan_set_schedule(plan, &(struct hypar_schedule){
                                   .kind = c->shape.schedule,
                                   .micro_batches = c->shape.step.micro_batches,
                                   .chunks = c->shape.chunks,
                               });
    for (int s = 0; s < c->n_stages; s++)
        place_stage(h, c, s, plan, device);
    mark_resent(h, c, plan);
    set_shards(h, c, plan);
    for (int op = 0; op < plan->graph->n_ops; op++)
        if (plan->ops[op].shard == HYPAR_SHARD_PARAMETERS)
            plan->gather_ahead = hp_gather_ahead(&c->shape.step);
    hp_arena_free(&scratch);
    return plan;
}
