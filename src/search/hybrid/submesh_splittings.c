/* Makes the splittings of a submesh that stages choose from: the fastest, some that need less
 * memory, and those of planner 3d. */
#include "search/hybrid/stage.h"

#include <math.h>
#include <string.h>

#include "plan/threed/threed.h"
#include "search/estimate/needs.h"
#include "search/evaluate/room.h"

/* The time of all units, without sums of gradients. */
static double all_seconds(const struct hybrid *h, const struct splitting *s)
{
    double sum = s->unit[h->units.n].sum[TIME_S];
    for (int u = 0; u < h->units.n; u++)
        sum += s->unit[u].entering_s;
    return sum;
}

/* Does the list already have these states? */
static bool is_known(const struct hybrid *h, const struct submesh_splittings *list,
                     const struct splitting *s)
{
    size_t bytes = (size_t)h->model.n_vars * sizeof *s->state;
    for (int i = 0; i < list->n; i++)
        if (list->splitting[i].resend == s->resend &&
            memcmp(list->splitting[i].state, s->state, bytes) == 0)
            return true;
    return false;
}

static void add_splitting(struct hybrid *h, struct submesh_splittings *list,
                          struct splitting *s)
{
    if (is_known(h, list, s))
        return;
    hp_sum_up_splitting(&h->model, list->submesh, &h->units, 0, h->units.n, h->arena, s);
    if (all_seconds(h, s) < INFINITY)
        list->splitting[list->n++] = *s;
}

/* The states of planner 3d: columns, then rows, heads, the sequence (plan/threed). */
static bool threed_states(struct hybrid *h, const struct submesh_splittings *list,
                          bool sequence_parallel, int *state)
{
    struct arena scratch = { 0 };
    struct tensor_axes axes;
    const struct submesh_model *m = &h->model;
    int size = list->submesh->shape.size;
    struct hypar_layout layout = { .tensor = size, .sequence_parallel = sequence_parallel };
    bool found = hp_tensor_axes(&scratch, h->problem->graph, &layout, h->problem->limits.axes,
                                &axes, NULL) == HYPAR_OK;
    for (int v = 0; v < m->n_vars && found; v++) {
        const struct class_states *s = hp_states(m, list->submesh, v);
        int op = m->var[v].op[0], copies = h->problem->graph->ops[op].nest->n_axes - 1;
        int axis = axes.op[op].axis < 0 ? copies : axes.op[op].axis;
        state[v] = -1;
        for (int i = 0; i < s->n; i++)
            if (s->state[i].fix || (s->state[i].samples == 1 && s->state[i].axis == axis))
                state[v] = i;
        found = state[v] >= 0;
    }
    hp_arena_free(&scratch);
    return found;
}

static void solve_at(struct hybrid *h, struct submesh_splittings *list, double price,
                     const double *sync_s, bool resend)
{
    struct splitting s = { .state = NEW(h->arena, int, h->model.n_vars), .resend = resend };
    if (hp_submesh_solve(&h->model, list->submesh, price, sync_s, s.state) == HYPAR_OK)
        add_splitting(h, list, &s);
}

/* Do all units fit on one submesh, with the usual micro-batches in flight? Then memory has no
 * price. */
static bool is_roomy(const struct hybrid *h, const struct splitting *s)
{
    const double *sum = s->unit[h->units.n].sum;
    double held = USUAL_IN_FLIGHT * sum[KEPT_BYTES], elements = 0;
    for (int i = 0; i < s->n_partitions; i++)
        elements += sum[PARAMS + i];
    held += elements * hp_param_state_bytes(h->problem, true);
    return held <= hp_least_room(h->problem);
}

static void fill(struct hybrid *h, struct submesh_splittings *list)
{
    const struct submesh_shape *shape = &list->submesh->shape;
    const struct hypar_search_options *o = h->problem->options;
    int n = hypar_machine_device_count(h->problem->machine);
    double *sync_s = NEW(h->arena, double, shape->size + 1);
    double gradient =
        hp_precision_bytes(hp_gradient_precision(o->precision, o->fp32_gradients));
    double m =
        fmax(1, (double)h->problem->graph->batch * shape->size / n / (double)shape->samples);
    list->splitting = NEW(h->arena, struct splitting, 6); /* of each line below, one */
    solve_at(h, list, 0, sync_s, false);
    if (shape->size == 1)
        return;
    for (int parts = 1; parts <= shape->size; parts++)
        if (shape->size % parts == 0)
            sync_s[parts] =
                gradient / m * hp_sum_line(h, 0, n - n % shape->size, parts).s_per_byte;
    solve_at(h, list, 0, sync_s, false);
    list->roomy = list->n > 0 && is_roomy(h, &list->splitting[0]);
    if (list->n == 0 || list->roomy)
        return;
    double price = all_seconds(h, &list->splitting[0]) / hp_least_room(h->problem);
    solve_at(h, list, 0.3 * price, sync_s, false);
    solve_at(h, list, 10 * price, sync_s, true);
    for (int sequence = 0; sequence < 2; sequence++) {
        struct splitting s = { .state = NEW(h->arena, int, h->model.n_vars),
                               .resend = sequence };
        if (threed_states(h, list, sequence, s.state))
            add_splitting(h, list, &s);
    }
}

const struct submesh_splittings *hp_submesh_splittings(struct hybrid *h,
                                                       const struct submesh_shape *shape)
{
    struct submesh_shape same = *shape;
    same.first = hp_same_place(h, shape->first, shape->size);
    const int64_t key[] = { same.first, same.size, same.samples, same.shares };
    void **known = hp_memo(&h->submeshes, h->arena, key, sizeof key);
    if (!*known) {
        struct submesh_splittings *list = *known = NEW(h->arena, struct submesh_splittings, 1);
        list->submesh = hp_submesh(&h->model, &same);
        if (list->submesh)
            fill(h, list);
    }
    return *known;
}
