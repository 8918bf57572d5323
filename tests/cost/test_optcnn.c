/* OptCNN's cost model against a second implementation: t_X by boxes and single messages, t_C by
 * all parts, t_S by the messages of the servers; and the byte counts of Fig. 8. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "cost/collective.h"
#include "cost/papers/optcnn.h"
#include "cost/papers/sync.h"
#include "plan/framework.h"
#include "plan/plan.h"
#include "tests/random_graph.h"

static void near(double got, double want, const char *what)
{
    if (!(fabs(got - want) <= 1e-9 * (fabs(want) > 1e-30 ? fabs(want) : 1e-30)))
        fail_msg("%s: got %.17g, want %.17g", what, got, want);
}

/* Without latency: the reference looks at the routes that are used, the model at the longest.
 */
static const char *const machines[] = {
    "cluster:1x4,latency=0us",
    "cluster:4x2,intra=10GB/s,inter=5GB/s,latency=0us",
    "cluster:2x3,intra=4GB/s,inter=3GB/s,latency=0us",
    "cluster:4x4,intra=20GB/s,inter=12GB/s,latency=0us",
    "cluster:2x4,nics=2,latency=0us",
    "cluster:1x2,device=h100,latency=0us,comm-latency=0us"
    "+cluster:2x2,device=a100,latency=0us,comm-latency=0us",
    "cluster:2x2,device=a100,nics=1,latency=0us,comm-latency=0us,copy-bandwidth=10GB/s",
    "htree:8,latency=0us",
    "htree:6,latency=0us",
    "full:4,latency=0us",
    "full:7,latency=0us",
    "full:5,device=h100,latency=0us,comm-latency=0us,copy-bandwidth=30GB/s",
    "torus:3x3,latency=0us",
    "ring:6,latency=0us",
};
enum { N_MACHINES = sizeof machines / sizeof machines[0] };

struct world {
    struct arena arena;
    struct hypar_machine *machine;
    struct topology_view topology;
};

static void begin(struct world *w, const char *machine)
{
    struct hypar_error err;
    *w = (struct world){ 0 };
    if (hypar_machine_read(&w->machine, machine, &err) ||
        hp_topology_view(&w->topology, &w->arena, w->machine, &err))
        fail_msg("%s: %s", machine, err.text);
}

static void end(struct world *w)
{
    hypar_machine_free(w->machine);
    hp_arena_free(&w->arena);
}

/* Degrees of axes that may be divided, no more parts than devices; sometimes copies. */
static struct placement random_placement(struct world *w, const struct nest *nest,
                                         struct random *random, bool loose)
{
    int degree[MAX_AXES], left = w->topology.n_devices;
    for (int a = 0; a < nest->n_axes; a++) {
        int64_t most = nest->axis[a].extent < left ? nest->axis[a].extent : left;
        bool may = nest->axis[a].splittable && nest->axis[a].role != HYPAR_COPY;
        if (nest->axis[a].role == HYPAR_COPY && loose && one_in(random, 4))
            most = left;
        else if (!may || one_in(random, 2))
            most = 1;
        degree[a] = (int)draw(random, 1, most);
        left /= degree[a];
    }
    return hp_place_row_major(&w->topology, nest, degree);
}

/* t_X ------------------------------------------------------------------------------------ */

/* Every pair of parts: what the reader's box shares with the writer's, if on another device. */
static double by_messages(struct world *w, const struct transfer_end *from,
                          const struct placement *fp, const struct transfer_end *to,
                          const struct placement *tp, double *elements)
{
    struct arena scratch = { 0 };
    struct message *message = NEW(&scratch, struct message, fp->n_parts * tp->n_parts + 1);
    int *fd = NEW(&scratch, int, fp->n_parts), *td = NEW(&scratch, int, tp->n_parts), n = 0;
    struct split fs = hp_placement_split(from->nest, fp), ts = hp_placement_split(to->nest, tp);
    hp_placement_devices(from->nest, fp, fd);
    hp_placement_devices(to->nest, tp, td);
    *elements = 0;
    for (int i = 0; i < fp->n_parts; i++)
        for (int j = 0; j < tp->n_parts; j++) {
            struct range a[MAX_AXES], b[MAX_AXES];
            if (!hp_part_ranges(from->nest, &fs, i, a) || !hp_part_ranges(to->nest, &ts, j, b))
                continue;
            struct box x = hp_region(from->nest, from->operand, a);
            struct box y = hp_region(to->nest, to->operand, b);
            struct box both = hp_box_intersect(&x, &y);
            double shared = (double)hp_box_elements(&both);
            if (shared > 0 && fd[i] != td[j]) {
                message[n++] = (struct message){ fd[i], td[j], shared };
                *elements += shared;
            }
        }
    struct comm_way way = { 0 };
    if (n)
        hp_messages_way(&scratch, w->machine, message, n, &way);
    double s = way.s_per_byte;
    hp_arena_free(&scratch);
    return s;
}

static bool has_copies(const struct transfer_end *end, const struct placement *p)
{
    for (int a = 0; a < end->nest->n_axes; a++)
        if (p->axis[a].degree > 1 && !(end->nest->operand[end->operand].axes >> a & 1))
            return true;
    return false;
}

/* One edge, a few pairs of placements. */
static int check_edge(struct world *w, struct random *random, struct transfer_end from,
                      struct transfer_end to)
{
    enum { PAIRS = 6 };
    struct placement a[PAIRS], b[PAIRS];
    int messages = 0;
    for (int i = 0; i < PAIRS; i++) {
        a[i] = random_placement(w, from.nest, random, i == 0);
        b[i] = random_placement(w, to.nest, random, true);
    }
    struct transfer *t = hp_transfer(&w->arena, &w->topology, from, to);
    double table[PAIRS * PAIRS];
    hp_transfer_table(t, a, PAIRS, b, PAIRS, 4, table);
    for (int i = 0; i < PAIRS; i++)
        for (int j = 0; j < PAIRS; j++) {
            double elements, s = hp_transfer_s(t, &a[i], &b[j], 4);
            near(table[i * PAIRS + j], s, "table");
            near(s, hp_transfer_routed_s(t, &a[i], &b[j], 4), "products and pairs");
            near(hp_transfer_elements(t, &a[i], &b[j]),
                 hp_transfer_routed_elements(t, &a[i], &b[j]), "elements");
            if (has_copies(&from, &a[i]))
                continue;
            near(s, 4 * by_messages(w, &from, &a[i], &to, &b[j], &elements), "messages");
            near(hp_transfer_elements(t, &a[i], &b[j]), elements, "elements sent");
            messages += elements > 0;
        }
    return messages;
}

/* Edges of random graphs, every kind of operator, on every machine. */
static void transfers(void **state)
{
    (void)state;
    int messages = 0, edges = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct random random = { seed };
        struct hypar_graph *g = random_graph(&random, OP_KIND_COUNT);
        struct world w;
        begin(&w, machines[seed % N_MACHINES]);
        for (int op = 0; op < g->n_ops; op++)
            for (int o = 0; o < g->ops[op].nest->n_inputs; o++) {
                int t = g->ops[op].tensor[o], p = t >= 0 ? g->tensors[t].producer : -1;
                if (p < 0)
                    continue;
                int po = g->ops[p].nest->n_inputs;
                while (g->ops[p].tensor[po] != t)
                    po++;
                messages += check_edge(&w, &random, (struct transfer_end){ g->ops[p].nest, po },
                                       (struct transfer_end){ g->ops[op].nest, o });
                edges++;
            }
        end(&w);
        hypar_graph_free(g);
    }
    print_message("%d edges, %d pairs of placements with messages\n", edges, messages);
    assert_true(messages > 5000);
}

/* With collectives: what leaves or enters a group of devices, by boxes. Parts of a group that
 * differ only along axes that do not index the tensor count once. */
static bool seen(const struct transfer_end *end, const struct placement *p, int part, int first)
{
    struct split split = hp_placement_split(end->nest, p);
    int x[MAX_AXES], y[MAX_AXES];
    hp_part_coordinates(end->nest, &split, part, x);
    for (int before = first; before < part; before++) {
        bool same = true;
        hp_part_coordinates(end->nest, &split, before, y);
        for (int a = 0; a < end->nest->n_axes; a++)
            same &= x[a] == y[a] || !(end->nest->operand[end->operand].axes >> a & 1);
        if (same)
            return true;
    }
    return false;
}

static struct box box_of(const struct transfer_end *end, const struct placement *p, int part)
{
    struct split split = hp_placement_split(end->nest, p);
    struct range range[MAX_AXES];
    hp_part_ranges(end->nest, &split, part, range);
    return hp_region(end->nest, end->operand, range);
}

/* What parts [a, b) of the writer have for parts [c, d) of the reader. */
static double between(const struct transfer_end *from, const struct placement *fp, int a, int b,
                      const struct transfer_end *to, const struct placement *tp, int c, int d)
{
    double sum = 0;
    for (int i = a; i < b && i < fp->n_parts; i++)
        for (int j = c; j < d && j < tp->n_parts; j++) {
            struct box x = box_of(from, fp, i), y = box_of(to, tp, j);
            struct box both = hp_box_intersect(&x, &y);
            if (!seen(from, fp, i, a) && !seen(to, tp, j, c))
                sum += (double)hp_box_elements(&both);
        }
    return sum;
}

static double by_groups(const struct topology_view *f, const struct transfer_end *from,
                        const struct placement *fp, const struct transfer_end *to,
                        const struct placement *tp)
{
    double most = 0;
    for (int c = 0; c < f->n_cuts; c++)
        for (int g = 0; g < f->n_devices; g += f->cut[c].size) {
            int end = g + f->cut[c].size;
            double kept = between(from, fp, g, end, to, tp, g, end);
            double in = between(from, fp, 0, fp->n_parts, to, tp, g, end) - kept;
            double out = between(from, fp, g, end, to, tp, 0, tp->n_parts) - kept;
            most = fmax(most, fmax(in, has_copies(from, fp) ? 0 : out) * f->cut[c].s_per_byte);
        }
    return most;
}

static void transfers_once(void **state)
{
    (void)state;
    static const char *const trees[] = { "cluster:2x2,intra=3GB/s,inter=2GB/s,latency=0us",
                                         "cluster:2x4,intra=10GB/s,inter=5GB/s,latency=0us",
                                         "htree:8,latency=0us" };
    int checked = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct random random = { seed };
        struct hypar_graph *g = random_graph(&random, seed % 2 ? OP_CONV : OP_LINEAR);
        struct world w;
        begin(&w, trees[seed % 3]);
        w.topology.once = true;
        for (int op = 0; op < g->n_ops; op++)
            for (int o = 0; o < g->ops[op].nest->n_inputs; o++) {
                int t = g->ops[op].tensor[o], p = t >= 0 ? g->tensors[t].producer : -1;
                if (p < 0)
                    continue;
                struct transfer_end from = { g->ops[p].nest, g->ops[p].nest->n_inputs };
                struct transfer_end to = { g->ops[op].nest, o };
                while (g->ops[p].tensor[from.operand] != t)
                    from.operand++;
                struct placement a = random_placement(&w, from.nest, &random, false);
                struct placement b = random_placement(&w, to.nest, &random, true);
                struct transfer *x = hp_transfer(&w.arena, &w.topology, from, to);
                if (a.scattered || b.scattered)
                    continue;
                near(hp_transfer_s(x, &a, &b, 4),
                     4 * by_groups(&w.topology, &from, &a, &to, &b), "once");
                checked++;
            }
        end(&w);
        hypar_graph_free(g);
    }
    print_message("%d transfers\n", checked);
}

/* t_C and t_S ---------------------------------------------------------------------------- */

static double longest_part(const struct optcnn_model *m, int op, const struct placement *p)
{
    const struct op *o = &m->graph->ops[op];
    struct split split = hp_placement_split(o->nest, p);
    uint32_t backward = hp_backward_passes(m->graph, o);
    double most = 0;
    for (int part = 0; part < p->n_parts; part++) {
        struct range range[MAX_AXES];
        double sum = 0;
        hp_part_ranges(o->nest, &split, part, range);
        for (int pass = 0; pass < o->nest->n_passes; pass++)
            if (!o->nest->pass[pass].backward || backward >> pass & 1)
                sum += hp_pass_seconds(o->nest, pass, range, hp_present(o),
                                       hypar_machine_device(m->topology->machine, part),
                                       HYPAR_FP32, NULL);
        most = fmax(most, sum);
    }
    return most;
}

/* Every replica to every other, a share of the gradient; then the parameter back. */
static double server_messages(struct world *w, const struct nest *nest,
                              const struct placement *p, axis_set replicas)
{
    struct arena scratch = { 0 };
    struct split split = hp_placement_split(nest, p);
    struct message *message = NEW(&scratch, struct message, p->n_parts * p->n_parts + 1);
    int n = 0, r = 1, x[MAX_AXES], y[MAX_AXES];
    for (int a = 0; a < nest->n_axes; a++)
        r *= replicas >> a & 1 ? p->axis[a].degree : 1;
    for (int i = 0; i < p->n_parts; i++)
        for (int j = 0; j < p->n_parts; j++) {
            bool same = i != j;
            hp_part_coordinates(nest, &split, i, x);
            hp_part_coordinates(nest, &split, j, y);
            for (int a = 0; a < nest->n_axes; a++)
                same &= replicas >> a & 1 || x[a] == y[a];
            if (same)
                message[n++] = (struct message){ i, j, 1.0 / r };
        }
    struct comm_way way = { 0 };
    if (n)
        hp_messages_way(&scratch, w->machine, message, n, &way);
    hp_arena_free(&scratch);
    return 2 * way.s_per_byte;
}

static void layers(void **state)
{
    (void)state;
    static const char *const models[] = { "lenet5", "resnet18", "inception-v3", "bert:layers=1",
                                          "nmt:steps=2" };
    int checked = 0;
    for (int k = 0; k < N_MACHINES; k++)
        for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
            struct random random = { (uint64_t)k * 100 + i };
            struct hypar_graph *g;
            struct hypar_error err;
            struct world w;
            begin(&w, machines[k]);
            if (hypar_import(&g, models[i], NULL, &err))
                fail_msg("%s", err.text);
            struct optcnn_model m = { .arena = &w.arena,
                                      .graph = g,
                                      .topology = &w.topology,
                                      .sync = HYPAR_SYNC_SERVER,
                                      .framework = hp_framework_row("none") };
            for (int op = 0; op < g->n_ops; op++) {
                const struct nest *nest = g->ops[op].nest;
                struct placement p = random_placement(&w, nest, &random, false);
                double got = hp_optcnn_compute_s(&m, op, &p), want = longest_part(&m, op, &p);
                if (hypar_machine_is_uniform(w.machine))
                    near(got, want, g->ops[op].name);
                assert_true(got >= want * (1 - 1e-9)); /* largest part on slowest device */
                axis_set some = (axis_set)hp_random_below(&random, 1 << nest->n_axes);
                near(hp_sync_s(&m, nest, &p, some, 1e6),
                     1e6 * server_messages(&w, nest, &p, some), "server");
                checked++;
            }
            hypar_graph_free(g);
            end(&w);
        }
    print_message("%d layers\n", checked);
}

/* A linear layer by hand: replicas sum, shards do not. */
/* 8 x 16 partial sums on each of 4 devices: a reader of a fourth of them needs half of an
 * all-reduce, and its error another half; one of all of them needs all of it. */
static void sums_for_readers(struct optcnn_model *m, const struct placement *sums)
{
    double all_reduce_s = 2 * 8 * 16 * 4 / 4 / 1e9;
    struct partial_output out =
        hp_optcnn_output(m, 0, m->graph->ops[0].nest->n_operands - 1, sums);
    struct partial_input fourth = { .elements = 2 * 16 }, all = { .elements = 8 * 16 };
    assert_int_equal(out.copies, 4);
    near(out.all_reduce_s, all_reduce_s, "all-reduce");
    near(hp_optcnn_sum_s(&out, &fourth, false), all_reduce_s / 2, "reduce-scatter");
    near(hp_optcnn_sum_s(&out, &fourth, true), all_reduce_s, "and all-gather");
    near(hp_optcnn_sum_s(&out, &all, true), all_reduce_s, "all-reduce for all");
    all.partial_error = true;
    near(hp_optcnn_sum_s(&out, &all, true), 2 * all_reduce_s, "and of the error");
}

static void by_hand(void **state)
{
    (void)state;
    struct world w;
    struct hypar_graph *g;
    struct hypar_error err;
    begin(&w, "full:4,bandwidth=1GB/s,latency=0us");
    assert_int_equal(
        hypar_import(&g, "mlp:8-16-10", &(struct hypar_import_options){ .batch = 8 }, &err),
        HYPAR_OK);
    const struct nest *nest = g->ops[0].nest;
    int n = hp_nest_axis(nest, 'n'), k = hp_nest_axis(nest, 'k'), c = hp_nest_axis(nest, 'c');
    struct optcnn_model m = {
        .arena = &w.arena, .graph = g, .topology = &w.topology, .sync = HYPAR_SYNC_SERVER
    };
    int by[MAX_AXES] = { 0 };
    by[n] = 4;
    struct placement samples = hp_place_row_major(&w.topology, nest, by);
    near(hp_optcnn_sync_s(&m, 0, 1, &samples), 2 * 8 * 16 * 4 / 4 / 1e9, "dp");
    near(hp_optcnn_sync_bytes(&m, 0, 1, &samples), 2 * 3 * 8 * 16 * 4, "dp bytes");
    near(hp_optcnn_partial_s(&m, 0, &samples), 0, "no partial sums");
    by[n] = 2, by[k] = 2;
    struct placement both = hp_place_row_major(&w.topology, nest, by);
    near(hp_optcnn_sync_s(&m, 0, 1, &both), 2 * 8 * 8 * 4 / 2 / 1e9, "both");
    near(hp_optcnn_held_elements(&m, 0, 1, &both), 8 * 8, "held");
    by[n] = 1, by[k] = 4;
    struct placement channels = hp_place_row_major(&w.topology, nest, by);
    near(hp_optcnn_sync_s(&m, 0, 1, &channels), 0, "channels");
    by[k] = 1, by[c] = 4;
    struct placement sums = hp_place_row_major(&w.topology, nest, by);
    near(hp_optcnn_partial_s(&m, 0, &sums), 0, "partial sums that are read");
    sums_for_readers(&m, &sums);
    hypar_graph_free(g);
    end(&w);
}

/* All-reduce: no group is slower than its fastest algorithm, nor faster than a bound. */
static void all_reduce(void **state)
{
    (void)state;
    for (int k = 0; k < N_MACHINES; k++) {
        struct world w;
        struct hypar_graph *g;
        struct hypar_error err;
        begin(&w, machines[k]);
        assert_int_equal(hypar_import(&g, "lenet5", NULL, &err), HYPAR_OK);
        struct optcnn_model m = { .arena = &w.arena,
                                  .graph = g,
                                  .topology = &w.topology,
                                  .sync = HYPAR_SYNC_ALL_REDUCE };
        int by[MAX_AXES] = { w.topology.n_devices }, device[32];
        struct placement p = hp_place_row_major(&w.topology, g->ops[0].nest, by);
        for (int i = 0; i < w.topology.n_devices; i++)
            device[i] = i;
        struct comm_group group = { .kind = COMM_ALL_REDUCE,
                                    .n_devices = w.topology.n_devices,
                                    .device = device };
        const struct comm_way *way =
            hp_comm_best_way(hp_comm_model(&w.arena, w.machine, &group), 1e6);
        double got = hp_sync_s(&m, g->ops[0].nest, &p, 1, 1e6);
        near(got, way->fixed_s + 1e6 * way->s_per_byte, machines[k]);
        assert_true(got >= hp_comm_lower_bound_s(w.machine, &group, 1e6) * (1 - 1e-9));
        hypar_graph_free(g);
        end(&w);
    }
}

static void too_large(void **state)
{
    (void)state;
    static const char *const large[] = { "torus:16x16", "full:2048", "htree:8192" };
    for (int i = 0; i < 3; i++) {
        struct hypar_machine *machine;
        struct hypar_error err;
        struct arena arena = { 0 };
        struct topology_view topology;
        assert_int_equal(hypar_machine_read(&machine, large[i], &err), HYPAR_OK);
        assert_int_equal(hp_topology_view(&topology, &arena, machine, &err), HYPAR_UNSUPPORTED);
        print_message("%s\n", err.text);
        assert_non_null(strstr(err.text, "expected at most"));
        hypar_machine_free(machine);
        hp_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfers),  cmocka_unit_test(transfers_once),
        cmocka_unit_test(layers),     cmocka_unit_test(by_hand),
        cmocka_unit_test(all_reduce), cmocka_unit_test(too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
