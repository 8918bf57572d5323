/* Changes one thing in a plan: the changed plan is checked, lowered and simulated like any
 * other plan. */
#include "search/explain/changes.h"

#include <stdlib.h>

#include "base/stop.h"
#include "emit/target.h"

struct hypar_plan *hp_changed_plan(const struct hypar_plan *plan, struct hypar_machine *machine)
{
    struct hypar_plan_settings settings = hypar_plan_settings(plan);
    if (machine)
        settings.machine_word = NULL;
    struct hypar_plan *copy =
        hp_plan_carry(plan, machine ? machine : plan->machine, NULL, &settings);
    copy->own_machine = machine;
    copy->has_layout = false;
    return copy;
}

static struct hypar_what_if *add_row(struct changes *c, const char *what)
{
    c->row = GROW(c->arena, struct hypar_what_if, c->row, c->n, &c->capacity);
    c->row[c->n] = (struct hypar_what_if){ .what = hp_arena_strdup(c->arena, what) };
    return &c->row[c->n++];
}

void hp_refuse_change(struct changes *c, const char *what, const char *why)
{
    add_row(c, what)->why_not = hp_arena_strdup(c->arena, why);
}

static enum hypar_status simulate(const struct changes *c, const struct hypar_plan *plan,
                                  struct hypar_what_if *out, struct hypar_error *err)
{
    struct hypar_sim_options how = c->how;
    struct hypar_sim *sim;
    how.timeline = false;
    TRY(hypar_plan_check(plan, err));
    if (c->target)
        TRY(c->target->check(c->target, plan, err));
    TRY(hypar_simulate(&sim, plan, &how, err));
    struct hypar_sim_summary summary = hypar_sim_summary(sim);
    out->step_s = summary.step_s;
    out->peak_memory_bytes = summary.peak_memory_bytes;
    out->limit_bytes = hypar_sim_device(sim, summary.fullest_device).memory.limit;
    out->fits = summary.fits;
    hypar_sim_free(sim);
    return HYPAR_OK;
}

struct hypar_what_if *hp_add_change(struct changes *c, const char *what,
                                    struct hypar_plan *changed)
{
    struct hypar_what_if *row = add_row(c, what);
    struct hypar_error err;
    if (hp_stopped(c->stop))
        row->why_not = "interrupted";
    else if (simulate(c, changed, row, &err) != HYPAR_OK)
        row->why_not = hp_arena_strdup(c->arena, err.text);
    if (c->keep && !row->why_not)
        row->plan = changed;
    else
        hypar_plan_free(changed);
    return row;
}

void hp_free_changes(struct changes *c)
{
    for (int i = 0; i < c->n; i++)
        hypar_plan_free((struct hypar_plan *)c->row[i].plan);
}

static int by_step(const void *a, const void *b)
{
    const struct hypar_what_if *x = a, *y = b;
    if (!x->why_not != !y->why_not)
        return x->why_not ? 1 : -1;
    if (!x->why_not && x->step_s != y->step_s)
        return x->step_s < y->step_s ? -1 : 1;
    return 0;
}

void hp_sort_changes(struct hypar_what_if *row, int n)
{
    for (int i = 1; i < n; i++) /* stable insertion sort: there are few rows */
        for (int k = i; k > 0 && by_step(&row[k - 1], &row[k]) > 0; k--) {
            struct hypar_what_if other = row[k];
            row[k] = row[k - 1];
            row[k - 1] = other;
        }
}
