/* Cuts a graph between its repeated layers, as is usual for pipelines of transformers. */
#include <math.h>

#include "search/pipeline/flush.h"

/* The state that has exactly the operators before `end`; -1: none. */
static int find_state(const struct choosing *c, int end)
{
    int n_ops = c->problem->graph->n_ops;
    for (int j = 0; j < c->states->n; j++) {
        int op = 0;
        if (!hp_state_has(c->states, j, end - 1) || hp_state_has(c->states, j, end))
            continue;
        while (op < n_ops && hp_state_has(c->states, j, op) == (op < end))
            op++;
        if (op == n_ops)
            return j;
    }
    return -1;
}

/* The states after each of the repeated layers but the last; returns their number. */
static int layer_states(const struct choosing *c, struct arena *arena, int **out)
{
    int n = 0;
    *out = NEW(arena, int, c->points.n);
    for (int i = 1; i < c->points.n && c->points.layers; i++) {
        int state = find_state(c, c->points.first[i]);
        if (state >= 0)
            (*out)[n++] = state;
    }
    return n;
}

/* Choose the cuts in order: each is the one nearest to an equal share of the time, among those
 * that leave a cut for each later stage. */
bool hp_flush_cut_layers(const struct choosing *c, struct flush_cut *cut)
{
    struct arena scratch = { 0 };
    const double *time_s = c->states->cost.time_s;
    int *state, n = layer_states(c, &scratch, &state), from = 0, last = c->states->n - 1;
    struct pipeline_stage *stage = NULL;
    if (n >= cut->n_stages - 1 && cut->n_stages > 1) {
        stage = NEW(c->arena, struct pipeline_stage, cut->n_stages);
        for (int s = 0; s < cut->n_stages - 1; s++) {
            double share_s = time_s[last] * (s + 1) / cut->n_stages;
            int at = from, end = n - (cut->n_stages - 2 - s);
            for (int i = from; i < end; i++)
                if (fabs(time_s[state[i]] - share_s) < fabs(time_s[state[at]] - share_s))
                    at = i;
            stage[s] = (struct pipeline_stage){ .after = s ? stage[s - 1].last : -1,
                                                .last = state[at],
                                                .workers = 1 };
            from = at + 1;
        }
        stage[cut->n_stages - 1] = (struct pipeline_stage){
            .after = stage[cut->n_stages - 2].last, .last = last, .workers = 1
        };
        cut->stage = stage;
    }
    hp_arena_free(&scratch);
    return stage != NULL;
}
