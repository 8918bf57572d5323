/* The data of a report's page: bars are as long as devices are busy, the path is as long as the
 * step, memory has the right height, and HyPar's plans have the choice of each layer at each
 * level.
 *
 *     HYPAR_PAGE_PLANS   how many random plans (150)
 *     HYPAR_PAGE_SEED    the first seed (1)
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/html/page.h"
#include "tests/random_plan.h"
#include "tests/simulated.h"

static const char *const words[] = { "full:4", "cluster:2x2,inter=1GB/s", "torus:2x3",
                                     "htree:8", "full:1" };

static struct hypar_machine *machine_of(const char *word)
{
    struct hypar_machine *machine;
    struct hypar_error err;
    if (hypar_machine_read(&machine, word, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return machine;
}

static void write_all(struct json_writer *w, const void *what)
{
    const struct hypar_sim *sim = what;
    hp_json_begin_object(w, NULL, false);
    hp_put_page_timeline(w, sim, NULL);
    hp_put_page_memory(w, sim);
    hp_put_page_plan(w, hypar_sim_plan(sim));
    hp_put_page_traffic(w, sim);
    hp_json_end_object(w);
}

static double number_at(const struct json *array, int i)
{
    struct json at = hp_json_element(array, i);
    struct hypar_error err;
    double value = 0;
    if (hp_json_number(&at, -1e300, 1e300, &value, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return value;
}

static double number_of(const struct json *object, const char *key)
{
    struct json at = hp_json_member(object, key);
    struct hypar_error err;
    double value = 0;
    if (hp_json_number(&at, -1e300, 1e300, &value, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return value;
}

/* Bars of a row are in order, and together as long as the row says that it is busy. */
static void check_row(const struct json *timeline, const struct json *row)
{
    struct json rows = hp_json_member(timeline, "rows"),
                names = hp_json_member(timeline, "names");
    struct json as = hp_json_member(row, "as"), other, bars = hp_json_member(row, "bars");
    double tick_s = number_of(timeline, "tick_s"), busy = 0;
    if (as.value) {
        other = hp_json_element(&rows, (int)number_of(row, "as"));
        bars = hp_json_member(&other, "bars");
    }
    int n = hp_json_length(&bars) / 5;
    assert_int_equal(hp_json_length(&bars), 5 * n);
    for (int i = 0; i < n; i++) {
        assert_true(number_at(&bars, 5 * i) >= 0);
        assert_true(number_at(&bars, 5 * i + 1) > 0);
        assert_in_range(number_at(&bars, 5 * i + 2), 0, hp_json_length(&names) - 1);
        assert_int_equal(number_at(&bars, 5 * i + 4), 1);
        busy += number_at(&bars, 5 * i + 1);
    }
    /* what is shorter than a tick has no bar, and each may be rounded by one */
    double most_off = 1e-6 * number_of(timeline, "end_s") + (n + 100) * tick_s;
    assert_true(fabs(busy * tick_s - number_of(row, "busy_s")) <= most_off);
}

static void check_timeline(const struct json *timeline, const struct hypar_sim *sim)
{
    struct json rows = hp_json_member(timeline, "rows"),
                path = hp_json_member(timeline, "path");
    struct hypar_sim_pipeline p = hypar_sim_pipeline(sim);
    double tick_s = number_of(timeline, "tick_s"), whole = 0;
    int devices = 0;
    for (int i = 0; i < hp_json_length(&rows); i++) {
        struct json row = hp_json_element(&rows, i);
        devices += hp_json_member(&row, "device").value != NULL;
        if (!p.minibatches) /* of a window, busy times are those of one minibatch */
            check_row(timeline, &row);
    }
    assert_int_equal(devices, hypar_sim_summary(sim).n_devices);
    for (int i = 0; i < hp_json_length(&path); i += 4) {
        assert_in_range(number_at(&path, i) + 1, 0, hp_json_length(&rows));
        whole += number_at(&path, i + 1);
    }
    assert_true(fabs(whole * tick_s - number_of(timeline, "end_s")) <= tick_s);
}

static void check_memory(const struct json *memory, const struct hypar_sim *sim)
{
    struct json devices = hp_json_member(memory, "devices");
    double unit = number_of(memory, "unit_bytes");
    for (int i = 0; i < hp_json_length(&devices); i++) {
        struct json device = hp_json_element(&devices, i),
                    points = hp_json_member(&device, "points");
        double amount = 0, highest = 0;
        for (int k = 1; k < hp_json_length(&points); k += 2) {
            amount += number_at(&points, k);
            highest = fmax(highest, amount);
        }
        if (points.value)
            assert_true(fabs(highest * unit - hypar_sim_device(sim, i).memory.peak) <= unit);
    }
}

/* Every byte that a program sends goes from one device to another. */
static void check_matrix(const struct json *traffic, const struct hypar_sim *sim)
{
    struct json matrix = hp_json_member(traffic, "matrix");
    int n = hypar_sim_summary(sim).n_devices;
    double sum = 0;
    assert_int_equal(hp_json_length(&matrix), n * n);
    for (int i = 0; i < n * n; i++)
        sum += number_at(&matrix, i);
    expect_near("bytes", sum, hypar_sim_summary(sim).comm_bytes, 1e-9);
}

/* The devices of an operator, as runs: first and number. */
static void check_devices(const struct json *runs, const struct hypar_plan *plan, int op)
{
    int at = 0;
    for (int i = 0; i < hp_json_length(runs); i += 2)
        for (int k = 0; k < (int)number_at(runs, i + 1); k++, at++) {
            assert_true(at < hypar_plan_op(plan, op).n_devices);
            assert_int_equal(hypar_plan_op(plan, op).device[at], (int)number_at(runs, i) + k);
        }
    assert_int_equal(at, hypar_plan_op(plan, op).n_devices);
}

/* One layer of a row that begins with operator `op`; returns the one behind it. */
static int check_layer(const struct json *pieces, int layer, const struct hypar_plan *plan,
                       int op)
{
    for (int i = 0; i < hp_json_length(pieces); i++) {
        struct json piece = hp_json_element(pieces, i),
                    devices = hp_json_member(&piece, "devices");
        struct json runs = hp_json_element(&devices, hp_json_length(&devices) == 1 ? 0 : layer);
        check_devices(&runs, plan, op);
        op += (int)number_of(&piece, "ops");
    }
    return op;
}

/* Rows have all operators, in order, and every layer's pieces the devices of the plan. Returns
 * how many pieces have others in another layer. */
static int check_rows(const struct json *rows, const struct hypar_plan *plan)
{
    int op = 0, apart = 0;
    for (int i = 0; i < hp_json_length(rows); i++) {
        struct json row = hp_json_element(rows, i), pieces = hp_json_member(&row, "pieces");
        int count = hp_json_member(&row, "count").value ? (int)number_of(&row, "count") : 1;
        for (int layer = 0; layer < count; layer++)
            op = check_layer(&pieces, layer, plan, op);
        for (int k = 0; k < hp_json_length(&pieces); k++) {
            struct json piece = hp_json_element(&pieces, k),
                        devices = hp_json_member(&piece, "devices");
            apart += hp_json_length(&devices) > 1;
        }
    }
    assert_int_equal(op, hypar_graph_info(plan->graph).n_ops);
    return apart;
}

static void check_page(const struct hypar_sim *sim)
{
    struct json_document *document;
    struct hypar_error err;
    if (hp_json_read_written(&document, write_all, sim, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    struct json root = hp_json_root(document), timeline = hp_json_member(&root, "timeline"),
                memory = hp_json_member(&root, "memory"),
                traffic = hp_json_member(&root, "traffic"),
                told = hp_json_member(&root, "plan"), rows = hp_json_member(&told, "rows");
    check_rows(&rows, hypar_sim_plan(sim));
    check_timeline(&timeline, sim);
    check_memory(&memory, sim);
    check_matrix(&traffic, sim);
    hp_json_free(document);
}

static void random_plans(void **state)
{
    (void)state;
    uint64_t first = number_from("HYPAR_PAGE_SEED", 1),
             n = number_from("HYPAR_PAGE_PLANS", 150);
    uint64_t simulated = 0;
    for (uint64_t seed = first; seed < first + n; seed++) {
        struct random random = { seed };
        struct plan_focus focus = { -1, -1, -1, seed % 5 == 0 };
        printf("seed %llu\n", (unsigned long long)seed);
        struct hypar_machine *machine =
            machine_of(words[seed % (sizeof words / sizeof *words)]);
        struct hypar_graph *graph = random_graph(&random, (enum op_kind)(seed % OP_KIND_COUNT));
        struct hypar_plan *plan = random_plan(&random, graph, machine, &focus);
        struct hypar_sim *sim;
        if (hypar_simulate(&sim, plan, &(struct hypar_sim_options){ .timeline = true }, NULL) ==
            HYPAR_OK) { /* not what mixes the samples of several micro-batches */
            check_page(sim);
            simulated++;
        }
        hypar_sim_free(sim);
        hypar_plan_free(plan);
        hypar_graph_free(graph);
        hypar_machine_free(machine);
    }
    assert_true(simulated > n / 2);
}

/* Layers that are alike, in stages on other devices, and one piece of each on fewer of them. */
static void layers_of_stages(void **state)
{
    (void)state;
    static const char text[] =
        "{\"format\":\"hypar-plan/"
        "1\",\"model\":\"gpt:layers=4,hidden=8,heads=2,seq=4,vocab=8\","
        "\"batch\":4,\"machine\":\"full:4\",\"layout\":{\"tensor\":2,\"pipeline\":2,"
        "\"chunks\":2,\"micro_batches\":2,\"schedule\":\"interleaved\"},\"ops\":["
        "{\"name\":\"h.0.mlp.c_fc\",\"devices\":[1]},{\"name\":\"h.1.mlp.c_fc\",\"devices\":[3]"
        "},"
        "{\"name\":\"h.2.mlp.c_fc\",\"devices\":[1]},{\"name\":\"h.3.mlp.c_fc\",\"devices\":[3]"
        "}]}";
    struct hypar_plan *plan;
    struct hypar_error err;
    struct json_document *document;
    if (hp_plan_read_text(&plan, text, strlen(text), "plan", NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    struct hypar_sim *sim = simulate(plan, &(struct hypar_sim_options){ .timeline = true });
    if (hp_json_read_written(&document, write_all, sim, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    struct json root = hp_json_root(document), told = hp_json_member(&root, "plan"),
                rows = hp_json_member(&told, "rows");
    assert_true(check_rows(&rows, plan) > 1);
    hp_json_free(document);
    hypar_sim_free(sim);
    hypar_plan_free(plan);
}

/* dp divides samples, mp what is summed over: as HyPar's planner chose for each layer. */
static void levels_are_the_planners(void **state)
{
    (void)state;
    static const char *const models[] = { "lenet-c", "alexnet", "vgg-a", "sfc", "sconv" };
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct hypar_machine *machine = machine_of("htree:16");
        struct hypar_graph *graph;
        struct hypar_found *found;
        struct hypar_error err;
        if (hypar_import(&graph, models[m], NULL, &err) != HYPAR_OK ||
            hypar_search(&found, graph, machine,
                         &(struct hypar_search_options){ .planner = "hypar" },
                         &err) != HYPAR_OK)
            fail_msg("%s", err.text);
        const struct hypar_partition_view *view = hypar_found_partition(found);
        int samples = 0, others = 0;
        for (int i = 0; i < view->n_layers; i++)
            for (int level = 0; level < view->n_levels; level++) {
                int op = view->layer_op[i];
                unsigned axes;
                assert_true(hp_level_axes(hypar_found_plan(found), op, level, &axes));
                bool n = false;
                for (int a = 0; a < hypar_graph_op(graph, op).n_axes; a++)
                    n |=
                        (axes & 1u << a) && hypar_graph_axis(graph, op, a).role == HYPAR_SAMPLE;
                assert_true(axes != 0 && (axes & (axes - 1)) == 0);
                assert_int_equal(n, view->level[level][i] == '0');
                samples += n;
                others += !n;
            }
        printf("%s: %d by samples, %d otherwise\n", models[m], samples, others);
        hypar_found_free(found);
        hypar_graph_free(graph);
        hypar_machine_free(machine);
    }
}

/* The shortest of many bars are merged until there are few enough: none is lost. */
static void large_step(void **state)
{
    (void)state;
    static const char text[] =
        "{\"format\":\"hypar-plan/1\",\"model\":\"gpt:layers=64,hidden=64,heads=8,seq=16,"
        "vocab=128\",\"batch\":512,\"machine\":\"full:8\",\"layout\":{\"pipeline\":8,"
        "\"micro_batches\":128}}";
    struct hypar_plan *plan;
    struct hypar_error err;
    struct json_document *document;
    if (hp_plan_read_text(&plan, text, strlen(text), "plan", NULL, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    struct hypar_sim *sim = simulate(plan, &(struct hypar_sim_options){ .timeline = true });
    struct hypar_sim_event e;
    int64_t tasks = 0, merged = 0, bars = 0;
    for (int64_t i = 0; hypar_sim_event(sim, i, &e); i++)
        tasks += e.device >= 0;
    if (hp_json_read_written(&document, write_all, sim, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    struct json root = hp_json_root(document), timeline = hp_json_member(&root, "timeline"),
                rows = hp_json_member(&timeline, "rows");
    assert_true(number_of(&timeline, "merged_s") > 0);
    for (int i = 0; i < hp_json_length(&rows); i++) {
        struct json row = hp_json_element(&rows, i), list = hp_json_member(&row, "bars");
        bars += hp_json_length(&list) / 5;
        for (int k = 4; hp_json_member(&row, "device").value && k < hp_json_length(&list);
             k += 5)
            merged += (int64_t)number_at(&list, k);
    }
    printf("%lld tasks of devices, %lld bars\n", (long long)tasks, (long long)bars);
    assert_true(tasks > 100000 && bars <= 100000);
    assert_true(merged <= tasks && merged > tasks * 9 / 10);
    hp_json_free(document);
    hypar_sim_free(sim);
    hypar_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_plans),
        cmocka_unit_test(layers_of_stages),
        cmocka_unit_test(levels_are_the_planners),
        cmocka_unit_test(large_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
