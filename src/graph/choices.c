/* Opaque operators measured in several configurations: copying their choices into a graph. */
#include <string.h>

#include "base/sort.h"
#include "graph/graph.h"

bool hp_has_choices(const struct hypar_graph *graph)
{
    for (int op = 0; op < graph->n_ops; op++)
        if (graph->ops[op].choices)
            return true;
    return false;
}

/* `n` numbers: those of `list` (n_list of them; it may be NULL), then zeros. */
static const double *longer(struct arena *arena, const double *list, int n_list, int n)
{
    double *copy = NEW(arena, double, n);
    if (list && n_list)
        memcpy(copy, list, (size_t)n_list * sizeof *copy);
    return copy;
}

static int by_degree(const void *a, const void *b)
{
    const struct op_choice *x = a, *y = b;
    return x->degree != y->degree ? (x->degree > y->degree) - (x->degree < y->degree)
                                  : x->recompute - y->recompute;
}

enum hypar_status hp_choices_copy(struct arena *arena, const struct op_choices *from,
                                  int n_inputs, const struct op_choices **out,
                                  struct hypar_error *err)
{
    struct op_choices *choices = NEW(arena, struct op_choices, 1);
    struct op_choice *choice = NEW(arena, struct op_choice, from->n);
    if (from->n < 1)
        return hp_fail(err, HYPAR_INVALID, "no choices, expected at least one");
    if (from->n_inputs > n_inputs)
        return hp_fail(err, HYPAR_INVALID, "choices for %d inputs, expected %d", from->n_inputs,
                       n_inputs);
    for (int i = 0; i < from->n; i++) {
        choice[i] = from->choice[i];
        choice[i].in_sync_bytes =
            longer(arena, choice[i].in_sync_bytes, from->n_inputs, n_inputs);
        choice[i].out_sync_bytes =
            longer(arena, choice[i].out_sync_bytes, from->n_uses, from->n_uses);
    }
    hp_sort(choice, from->n, sizeof *choice, by_degree);
    for (int i = 1; i < from->n; i++)
        if (by_degree(&choice[i - 1], &choice[i]) == 0)
            return hp_fail(err, HYPAR_INVALID, "degree %d %s recomputation is there twice",
                           choice[i].degree, choice[i].recompute ? "with" : "without");
    *choices = (struct op_choices){
        .n = from->n, .choice = choice, .n_inputs = n_inputs, .n_uses = from->n_uses
    };
    if (from->input_bytes)
        choices->input_bytes = longer(arena, from->input_bytes, from->n_inputs, n_inputs);
    *out = choices;
    return HYPAR_OK;
}

/* Expand one number for all uses, or none, to a list. */
static const struct op_choices *spread(struct arena *arena, const struct op_choices *from,
                                       int n_uses)
{
    struct op_choices *choices = NEW(arena, struct op_choices, 1);
    struct op_choice *choice = NEW(arena, struct op_choice, from->n);
    for (int i = 0; i < from->n; i++) {
        double *list = NEW(arena, double, n_uses);
        choice[i] = from->choice[i];
        for (int u = 0; u < n_uses && from->n_uses; u++)
            list[u] = choice[i].out_sync_bytes[0];
        choice[i].out_sync_bytes = list;
    }
    *choices = *from;
    choices->choice = choice;
    choices->n_uses = n_uses;
    return choices;
}

enum hypar_status hp_choices_finish(struct hypar_graph *g, struct hypar_error *err)
{
    for (int i = 0; i < g->n_ops; i++) {
        struct op *op = &g->ops[i];
        if (!op->choices)
            continue;
        int output = op->tensor[hp_first_output(op)];
        int n_uses = g->use_start[output + 1] - g->use_start[output];
        if (op->choices->n_uses > 1 && op->choices->n_uses != n_uses)
            return hp_fail(
                err, HYPAR_INVALID,
                "'%s' has choices for %d readers, expected %d, or one number for all", op->name,
                op->choices->n_uses, n_uses);
        if (op->choices->n_uses != n_uses)
            op->choices = spread(&g->arena, op->choices, n_uses);
    }
    return HYPAR_OK;
}

static uint64_t hash_list(uint64_t hash, const double *list, int n)
{
    return hp_hash(hash, list, (size_t)n * sizeof *list);
}

uint64_t hp_choices_hash(uint64_t hash, const struct op_choices *choices)
{
    for (int i = 0; i < choices->n; i++) {
        const struct op_choice *c = &choices->choice[i];
        double number[] = { c->degree,          c->recompute,   c->seconds,
                            c->parameter_bytes, c->stash_bytes, c->fixed_bytes };
        hash = hash_list(hash, number, sizeof number / sizeof number[0]);
        hash = hash_list(hash, c->in_sync_bytes, choices->n_inputs);
        hash = hash_list(hash, c->out_sync_bytes, choices->n_uses);
    }
    if (choices->input_bytes)
        hash = hash_list(hash, choices->input_bytes, choices->n_inputs);
    return hash;
}
