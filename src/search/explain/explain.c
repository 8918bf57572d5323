/* Explains why a step takes its time: simulates the plan, and collects its bound, its most
 * expensive operators and the changes that would help. */
#include "search/explain/explain.h"

#include <string.h>

#include "emit/target.h"
#include "plan/schedules.h"
#include "search/bound.h"

enum { OPS = 10 };

struct hypar_search_options hp_options_again(const struct hypar_plan *plan,
                                             const struct hypar_sim_options *how)
{
    return (struct hypar_search_options){ .precision = plan->precision,
                                          .fp32_gradients = plan->fp32_gradients,
                                          .optimizer = plan->optimizer,
                                          .masks = plan->masks,
                                          .framework_bytes = plan->framework_bytes,
                                          .memory_bytes = plan->memory_limit_bytes,
                                          .profile = how->profile,
                                          .simulation = how };
}

static struct hypar_bound bound_of(const struct hypar_plan *plan,
                                   const struct hypar_sim_options *how)
{
    struct arena arena = { 0 };
    struct hypar_search_options options = hp_options_again(plan, how);
    struct problem problem = hp_problem(&arena, plan->graph, plan->machine, &options);
    struct hypar_bound bound = { 0 };
    if (!hp_is_delayed(plan) && !how->lower.forward)
        bound = hp_step_bound(&problem);
    hp_arena_free(&arena);
    return bound;
}

/* Does `made` have the same split and devices of each operator as `plan`? Recomputation and
 * sharding may differ, because HyPar does not choose them. */
static bool has_same_ops(const struct hypar_plan *plan, const struct hypar_plan *made)
{
    for (int op = 0; op < plan->graph->n_ops; op++) {
        struct op_plan divided = plan->ops[op];
        divided.recompute = made->ops[op].recompute;
        divided.resend = made->ops[op].resend;
        divided.shard = made->ops[op].shard;
        divided.shard_over = made->ops[op].shard_over;
        if (!hp_same_op_plan(plan->graph->ops[op].nest, &divided, &made->ops[op]))
            return false;
    }
    return true;
}

/* Run HyPar's search again for its cost terms, which a plan does not store. Returns NULL if
 * another planner found the plan, if the plan was changed since, or if an option led to another
 * choice. */
static struct hypar_found *choose_again(const struct hypar_plan *plan,
                                        const struct hypar_sim_options *how)
{
    const struct hypar_plan_search *search = plan->search;
    const struct planner *hypar = &hp_planner_hypar;
    struct arena arena = { 0 };
    struct hypar_found *found = NULL;
    if (!search || strcmp(search->asked, hypar->info.name) != 0)
        return NULL;
    struct hypar_search_options options = hp_options_again(plan, how);
    options.joint = strstr(search->options, "--joint") != NULL;
    struct problem problem = hp_problem(&arena, plan->graph, plan->machine, &options);
    if (hp_try_planner(hypar, &problem, &found, NULL) != HYPAR_OK ||
        !has_same_ops(plan, found->plan)) {
        hypar_found_free(found);
        found = NULL;
    }
    hp_arena_free(&arena);
    return found;
}

/* The framework that the plan was made for (--for), if it still runs the plan; else NULL. */
static const struct target *target_of(const struct hypar_plan *plan)
{
    static const char option[] = "--for ";
    const struct hypar_plan_search *search = hypar_plan_search(plan);
    const char *at = search ? strstr(search->options, option) : NULL;
    const struct target *target = NULL;
    char name[32];
    if (!at)
        return NULL;
    at += sizeof option - 1;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(at, " "), at);
    if (hp_find_target(&target, name, NULL) != HYPAR_OK ||
        target->check(target, plan, NULL) != HYPAR_OK)
        return NULL;
    return target;
}

/* Without launches on the critical path, faster hosts change nothing. */
static bool waits_for_hosts(const struct hypar_sim *sim)
{
    struct hypar_sim_segment s;
    bool waits = false;
    for (int64_t i = 0; !waits && hypar_sim_segment(sim, i, &s); i++)
        waits = s.kind == HYPAR_SEGMENT_LAUNCH;
    return waits;
}

enum hypar_status hypar_explain(struct hypar_explanation **out, const struct hypar_plan *plan,
                                const struct hypar_explain_options *options,
                                struct hypar_error *err)
{
    static const struct hypar_explain_options none;
    struct arena arena = { 0 };
    struct hypar_sim *sim;
    *out = NULL;
    options = options ? options : &none;
    struct hypar_sim_options how = hypar_as_planned(plan, options->simulation);
    how.timeline = true;
    TRY(hypar_simulate(&sim, plan, &how, err));
    how.timeline = false;
    const struct hypar_plan *given = plan;
    plan = hypar_sim_plan(sim); /* with the framework that the options name */
    struct hypar_explanation *e = NEW(&arena, struct hypar_explanation, 1);
    *e = (struct hypar_explanation){ .arena = arena, .plan = plan, .sim = sim, .left_out = "" };
    e->what_ifs = (struct changes){ .arena = &e->arena,
                                    .plan = plan,
                                    .how = how,
                                    .target = target_of(given),
                                    .waits_for_hosts = waits_for_hosts(sim),
                                    .stop = options->stop };
    struct hypar_sim_summary now = hypar_sim_summary(sim);
    e->bound = bound_of(plan, &how);
    e->again = choose_again(given, &how);
    if (options->ops >= 0)
        hp_find_alternatives(e, options->ops ? options->ops : OPS);
    hp_find_what_ifs(&e->what_ifs, &now);
    *out = e;
    return HYPAR_OK;
}

void hypar_explanation_free(struct hypar_explanation *e)
{
    if (!e)
        return;
    hp_free_changes(&e->what_ifs);
    hypar_sim_free(e->sim);
    hypar_found_free(e->again);
    hp_arena_free(&e->arena);
}

struct hypar_explanation_info hypar_explanation_info(const struct hypar_explanation *e)
{
    return (struct hypar_explanation_info){
        .sim = e->sim,
        .bound = e->bound,
        .ops_left_out = e->left_out,
        .partition = e->again ? hypar_found_partition(e->again) : NULL,
    };
}

const struct hypar_what_if *hypar_explained_what_if(const struct hypar_explanation *e, int i)
{
    return i >= 0 && i < e->what_ifs.n ? &e->what_ifs.row[i] : NULL;
}

const struct hypar_explained_op *hypar_explained_op(const struct hypar_explanation *e, int i)
{
    return i >= 0 && i < e->n_ops ? &e->op[i].told : NULL;
}
