/* Nodes of a cluster with their own figures. The cluster becomes several parts in a row: one
 * for each run of equal nodes. */
#include "machine/machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/sort.h"

const enum option hp_peak_options[N_PEAK_OPTIONS] = {
    OPTION_FP64, OPTION_FP32,   OPTION_TF32, OPTION_FP16, OPTION_BF16,
    OPTION_FP8,  OPTION_VECTOR, OPTION_IDLE, OPTION_BUSY, OPTION_POWER_LIMIT,
};

const struct part *hp_part_of(const struct hypar_machine *machine, int device)
{
    int low = 0, high = machine->n_parts; /* parts[low].first_device <= device */
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (machine->parts[middle].first_device <= device)
            low = middle;
        else
            high = middle;
    }
    return &machine->parts[low];
}

int hp_part_whole(const struct hypar_machine *machine, int p, struct part *whole)
{
    int end = p + 1, nodes = machine->parts[p].dim[0];
    *whole = machine->parts[p];
    for (; end < machine->n_parts && machine->parts[end].continued; end++) {
        nodes += machine->parts[end].dim[0];
        if (whole->own && !machine->parts[end].own)
            *whole = machine->parts[end];
    }
    whole->dim[0] = nodes;
    return end;
}

enum hypar_status hp_part_node_figures(struct part *part, int64_t first, int64_t last,
                                       struct node_figures **out, struct hypar_error *err)
{
    char range[RANGE_TEXT_BYTES];
    if (part->topology->scope != SCOPE_CLUSTER)
        return hp_fail(err, HYPAR_INVALID, "%s has no nodes, expected a cluster",
                       part->topology->text.name);
    int64_t bad = first < 0 || first >= part->dim[0] ? first : last;
    if (bad < first || bad >= part->dim[0] || bad < 0)
        return hp_fail(err, HYPAR_INVALID, "node %lld, expected one of %s", (long long)bad,
                       hp_range_text(range, bad == first ? 0 : first, part->dim[0] - 1));
    for (int i = 0; i < part->n_nodes; i++)
        if (part->nodes[i].first == first && part->nodes[i].last == last) {
            *out = &part->nodes[i];
            return HYPAR_OK;
        }
    if (part->n_nodes == MACHINE_MAX_NODE_FIGURES)
        return hp_fail(err, HYPAR_UNSUPPORTED, "more than %d nodes with figures of their own",
                       MACHINE_MAX_NODE_FIGURES);
    part->nodes = GROW(part->arena, struct node_figures, part->nodes, part->n_nodes,
                       &part->node_capacity);
    struct node_figures *figures = &part->nodes[part->n_nodes++];
    *figures = (struct node_figures){ .first = (int)first, .last = (int)last };
    for (int o = 0; o < OPTION_COUNT; o++)
        figures->value[o] = figures->times[o] = NAN;
    *out = figures;
    return HYPAR_OK;
}

enum hypar_status hp_node_set(const struct part *part, struct node_figures *figures,
                              enum option option, bool times, double value,
                              struct hypar_error *err)
{
    if (!isnan(figures->value[option]) || !isnan(figures->times[option]))
        return hp_fail(err, HYPAR_INVALID, "%s is given twice",
                       hp_machine_options[option].text.name);
    if (!times)
        TRY(hp_option_check(part, option, value, err));
    *(times ? &figures->times[option] : &figures->value[option]) = value;
    return HYPAR_OK;
}

/* The nodes at which runs of equal nodes may begin, ascending, and the number of nodes. */
static int *find_borders(struct arena *arena, const struct part *part, int *n)
{
    int *border = NEW(arena, int, 2 * part->n_nodes + 2), all = 1, kept = 0;
    border[0] = 0;
    for (int i = 0; i < part->n_nodes; i++) {
        border[all++] = part->nodes[i].first;
        border[all++] = part->nodes[i].last + 1;
    }
    border[all++] = part->dim[0];
    hp_sort_ints(border, all);
    for (int i = 0; i < all; i++)
        if (kept == 0 || border[i] != border[kept - 1])
            border[kept++] = border[i];
    *n = kept;
    return border;
}

/* Give a run of nodes the figures that all entries set for its first node. */
static enum hypar_status set_figures(struct part *run, const struct part *cluster, int node,
                                     struct hypar_error *err)
{
    bool set[OPTION_COUNT] = { false };
    for (int i = 0; i < cluster->n_nodes; i++) {
        const struct node_figures *figures = &cluster->nodes[i];
        if (node < figures->first || node > figures->last)
            continue;
        for (int o = 0; o < OPTION_COUNT; o++) {
            double times = figures->times[o];
            if (isnan(times) && isnan(figures->value[o]))
                continue;
            if (set[o])
                return hp_fail(err, HYPAR_INVALID, "%s is given twice",
                               hp_machine_options[o].text.name);
            set[o] = true;
            run->value[o] = isnan(times) ? figures->value[o] : times * cluster->value[o];
            run->assumed &= ~(UINT64_C(1) << o);
            TRY(hp_option_check(run, (enum option)o, run->value[o], err));
            run->own |= run->value[o] != cluster->value[o];
        }
    }
    return HYPAR_OK;
}

bool hp_parts_alike(const struct part *a, const struct part *b)
{
    for (int o = 0; o < OPTION_COUNT; o++)
        if (hp_option_applies(a, (enum option)o) && a->value[o] != b->value[o])
            return false;
    return true;
}

/* Append the runs of one cluster to out[]. */
static enum hypar_status expand(struct arena *scratch, const struct part *part,
                                struct part *out, int *n, struct hypar_error *err)
{
    struct part cluster = *part;
    TRY(hp_part_finish(&cluster, err)); /* factors apply to these figures */
    int n_borders, each = cluster.dim[1], first = *n;
    const int *border = find_borders(scratch, &cluster, &n_borders);
    for (int i = 0; i + 1 < n_borders; i++) {
        struct part run = cluster;
        run.nodes = NULL;
        run.n_nodes = run.node_capacity = 0;
        TRY(hp_in(err, set_figures(&run, &cluster, border[i], err), "node %d", border[i]));
        run.dim[0] = border[i + 1] - border[i];
        run.continued = *n > first;
        if (run.continued && hp_parts_alike(&out[*n - 1], &run)) {
            out[*n - 1].dim[0] += run.dim[0];
        } else if (*n == MACHINE_MAX_RUNS) {
            return hp_fail(err, HYPAR_UNSUPPORTED, "more than %d runs of equal nodes",
                           MACHINE_MAX_RUNS);
        } else {
            out[(*n)++] = run;
        }
        out[*n - 1].n_devices = out[*n - 1].dim[0] * each;
    }
    bool all_own = true;
    for (int r = first; r < *n; r++)
        all_own &= out[r].own;
    if (all_own) /* then the first run's figures are the cluster's */
        out[first].own = false;
    return HYPAR_OK;
}

enum hypar_status hp_parts_expand(struct arena *arena, const struct part *parts, int n,
                                  struct part **out, int *n_out, struct hypar_error *err)
{
    struct arena scratch = { 0 };
    enum hypar_status status = HYPAR_OK;
    int most = 0, made = 0;
    for (int p = 0; p < n; p++)
        most += 2 * parts[p].n_nodes + 1;
    struct part *all = NEW(&scratch, struct part, most);
    for (int p = 0; p < n && status == HYPAR_OK; p++)
        if (parts[p].n_nodes)
            status = expand(&scratch, &parts[p], all, &made, err);
        else
            all[made++] = parts[p];
    *n_out = made;
    *out = NEW(arena, struct part, made);
    memcpy(*out, all, (size_t)made * sizeof *all);
    hp_arena_free(&scratch);
    return status;
}
