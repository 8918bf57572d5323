/* Estimates what the kernels of a stage lose beside the collectives of its parameters, by the
 * simulator's law (hp_lost_beside_s()). */
#include <math.h>

#include "cost/collective.h"
#include "search/hybrid/stage.h"

static double own_link_s_per_byte(const struct hypar_machine *machine,
                                  const struct comm_way *way, int device)
{
    double most = 0;
    for (int i = 0; i < way->n_links; i++) {
        struct hypar_link link = hypar_machine_link(machine, way->link[i].link / 2);
        if ((way->link[i].link & 1 ? link.from : link.to) == device)
            most = fmax(most, way->link[i].s_per_byte);
    }
    return most;
}

/* Beside one collective among `n` devices, on device `first`. */
static double lost_beside(const struct hybrid *h, const struct comm_model *model,
                          enum comm_kind kind, int first, int n, double bytes)
{
    const struct hypar_machine *machine = h->problem->machine;
    const struct comm_way *way = hp_comm_best_way(model, bytes);
    struct comm_group group = { kind, n, NULL, 0 };
    return hp_lost_beside_s(hypar_machine_device(machine, first), &group, bytes, way, bytes,
                            bytes * own_link_s_per_byte(machine, way, first));
}

/* Beside the collectives of a parameter with `elements` in each of its `parts`. */
static struct lost of_parameter(struct hybrid *h, const struct stage *stage, int parts,
                                double elements)
{
    const struct hypar_search_options *o = h->problem->options;
    struct {
        double elements;
        int64_t first, n, parts;
    } key = { elements, stage->first, stage->n_devices, parts };
    void **known = hp_memo(&h->lost, h->arena, &key, sizeof key);
    if (*known)
        return *(const struct lost *)*known;
    struct lost *lost = *known = NEW(h->arena, struct lost, 1);
    struct line line = hp_sum_line(h, stage->first, stage->n_devices, parts);
    int first = stage->first, n = stage->n_devices / parts;
    double bytes = elements * hp_precision_bytes(o->precision);
    double gradients =
        elements * hp_precision_bytes(hp_gradient_precision(o->precision, o->fp32_gradients));
    if (line.gather) {
        lost->gather_s = lost_beside(h, line.gather, COMM_ALL_GATHER, first, n, bytes);
        lost->scatter_s =
            lost_beside(h, line.scatter, COMM_REDUCE_SCATTER, first, n, gradients);
        lost->sum_s = lost_beside(h, line.comm, COMM_ALL_REDUCE, first, n, gradients);
    }
    return *lost;
}

static void add_op(struct hybrid *h, const struct stage *stage, const struct submesh *submesh,
                   const struct splitting *s, int op, struct lost *sum)
{
    const struct hypar_graph *g = h->problem->graph;
    int state = s->state[h->model.var_of[op]];
    const struct op_parts *parts = hp_op_parts(&h->model, submesh, op, state);
    int n = hp_op_cost(&h->model, submesh, op, state)->param_parts;
    for (int o = 0; o < g->ops[op].nest->n_operands; o++) {
        int t = g->ops[op].tensor[o];
        if (t < 0 || g->tensors[t].kind != TENSOR_PARAM)
            continue;
        struct lost lost = of_parameter(h, stage, n, hp_part_elements(&h->model, parts, o));
        bool first = g->use[g->use_start[t]].op == op;
        sum->gather_s += lost.gather_s; /* again for each operator that reads it */
        sum->scatter_s += first ? lost.scatter_s : 0;
        sum->sum_s += first ? lost.sum_s : 0;
    }
}

/* By unit: of all units before it. */
static struct lost *sum_up(struct hybrid *h, const struct stage *stage,
                           const struct submesh *submesh, const struct splitting *s)
{
    struct lost *before = NEW(s->arena, struct lost, h->units.n + 1);
    for (int u = s->lo; u < s->hi; u++) {
        before[u + 1] = before[u];
        for (int op = h->units.first[u]; op < h->units.first[u + 1]; op++)
            add_op(h, stage, submesh, s, op, &before[u + 1]);
    }
    return before;
}

struct lost hp_stage_lost(struct hybrid *h, const struct stage *stage,
                          const struct submesh *submesh, struct splitting *s)
{
    const struct hypar_device *device = hypar_machine_device(h->problem->machine, stage->first);
    if (stage->n_devices == 1 || !(device->kernels.comm_share > 0))
        return (struct lost){ 0 };
    int key[] = { stage->first, stage->n_devices };
    void **known = hp_memo(&s->lost, s->arena, key, sizeof key);
    if (!*known)
        *known = sum_up(h, stage, submesh, s);
    const struct lost *before = *known, *lo = &before[stage->lo], *hi = &before[stage->hi];
    return (struct lost){ hi->gather_s - lo->gather_s, hi->scatter_s - lo->scatter_s,
                          hi->sum_s - lo->sum_s };
}
