/* The mesh of a plan: it is found if and only if all operators are on one mesh. */
#include "tests/plan/plans.h"

#include "emit/mesh.h"
#include "tests/random_graph.h"

enum { TRIALS = 400 };

static struct hypar_machine *machine_of(int devices)
{
    char word[32];
    struct hypar_machine *machine;
    snprintf(word, sizeof word, "full:%d", devices);
    assert_int_equal(hypar_machine_read(&machine, word, NULL), HYPAR_OK);
    return machine;
}

/* A random mesh, and an operator of a plan laid on it: each of its dimensions belongs to an
 * axis, drawn at random. Returns the dimensions of each axis. */
static void lay(struct random *random, struct hypar_plan *plan, int op, const int *size,
                int n_dims, uint32_t dims[MAX_AXES])
{
    const struct nest *nest = plan->graph->ops[op].nest;
    struct split split = { 0 };
    int n = 1, place[MAX_AXES], *device;
    memset(dims, 0, MAX_AXES * sizeof *dims);
    for (int a = 0; a < nest->n_axes; a++)
        split.degree[a] = 1;
    for (int d = 0; d < n_dims; d++) {
        int axis;
        do
            axis = (int)draw(random, 0, nest->n_axes - 1);
        while (!nest->axis[axis].splittable);
        dims[axis] |= (uint32_t)1 << d;
        split.degree[axis] *= size[d];
        n *= size[d];
    }
    device = calloc((size_t)n, sizeof *device);
    for (int q = 0; q < n; q++) { /* the part that device q has */
        int rest = q, part = 0, each = n;
        memset(place, 0, sizeof place);
        for (int d = 0; d < n_dims; d++) {
            each /= size[d];
            for (int a = 0; a < nest->n_axes; a++)
                if (dims[a] >> d & 1)
                    place[a] = place[a] * size[d] + rest / each;
            rest %= each;
        }
        for (int a = 0; a < nest->n_axes; a++)
            part = part * split.degree[a] + place[a];
        device[part] = q;
    }
    hp_plan_set(plan, op, &split, device);
    free(device);
}

/* Of each dimension that was laid, those of the mesh that was found, and back: the found mesh
 * may join neighbours that no operator tells apart. */
static void check_dims(const struct mesh *mesh, const struct hypar_plan *plan, int op,
                       const int *size, int n_dims, const uint32_t laid[MAX_AXES])
{
    uint32_t dims[MAX_AXES];
    int stride = 1;
    hp_mesh_dims(mesh, plan, op, dims);
    for (int d = n_dims - 1; d >= 0; stride *= size[d--])
        for (int j = 0; j < mesh->n_dims; j++)
            if (size[d] > 1 && mesh->stride[j] <= stride &&
                stride < mesh->stride[j] * mesh->size[j])
                for (int a = 0; a < MAX_AXES; a++)
                    assert_int_equal(dims[a] >> j & 1, laid[a] >> d & 1);
}

static void test_laid(void **state)
{
    for (uint64_t seed = 1; seed <= TRIALS; seed++) {
        struct random random = { seed };
        int size[3], n_dims = (int)draw(&random, 1, 3), n = 1;
        for (int d = 0; d < n_dims; d++)
            n *= size[d] = (int)draw(&random, 1, 3);
        struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
        struct hypar_machine *machine = machine_of(n);
        struct hypar_plan *plan =
            hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
        uint32_t(*dims)[MAX_AXES] = calloc((size_t)graph->n_ops, sizeof *dims);
        struct arena arena = { 0 };
        struct mesh mesh;
        struct hypar_error err = { 0 };
        for (int op = 0; op < graph->n_ops; op++)
            lay(&random, plan, op, size, n_dims, dims[op]);
        if (hp_find_mesh(&mesh, &arena, plan, &err) != HYPAR_OK)
            fail_msg("seed %d: %s", (int)seed, err.text);
        assert_int_equal(mesh.n_devices, n);
        for (int op = 0; op < graph->n_ops; op++)
            check_dims(&mesh, plan, op, size, n_dims, dims[op]);
        hp_arena_free(&arena);
        free(dims);
        hypar_plan_free(plan);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
    (void)state;
}

/* Whatever is found for a plan is a mesh of it: each device's coordinates tell its part.
 */
static void check_found(const struct mesh *mesh, const struct hypar_plan *plan, int seed)
{
    for (int op = 0; op < plan->graph->n_ops; op++) {
        const struct nest *nest = plan->graph->ops[op].nest;
        const struct op_plan *mine = &plan->ops[op];
        uint32_t dims[MAX_AXES], all = 0;
        hp_mesh_dims(mesh, plan, op, dims);
        for (int a = 0; a < nest->n_axes; a++) {
            assert_int_equal(all & dims[a], 0);
            all |= dims[a];
        }
        assert_int_equal(mine->n_devices, mesh->n_devices);
        for (int part = 0; part < mine->n_parts; part++) {
            int at[MAX_AXES], place = mesh->place[mine->device[part]];
            hp_part_coordinates(nest, &mine->split, part, at);
            for (int a = 0; a < nest->n_axes; a++) {
                int expected = 0;
                for (int d = 0; d < mesh->n_dims; d++)
                    if (dims[a] >> d & 1)
                        expected =
                            expected * mesh->size[d] + place / mesh->stride[d] % mesh->size[d];
                if (at[a] != expected)
                    fail_msg("seed %d: op %d: part %d: axis %d", seed, op, part, a);
            }
        }
    }
}

/* Two parts of an operator change places, which most meshes do not allow. */
static void swap_two(struct random *random, struct hypar_plan *plan, int op)
{
    struct op_plan *mine = &plan->ops[op];
    int i = (int)draw(random, 0, mine->n_parts - 1),
        j = (int)draw(random, 0, mine->n_parts - 1);
    int *device = calloc((size_t)mine->n_parts, sizeof *device);
    struct split split = mine->split;
    memcpy(device, mine->device, (size_t)mine->n_parts * sizeof *device);
    device[i] = mine->device[j];
    device[j] = mine->device[i];
    hp_plan_set(plan, op, &split, device);
    free(device);
}

static void test_swapped(void **state)
{
    int found = 0;
    for (int seed = 1; seed <= TRIALS; seed++) {
        struct random random = { (uint64_t)seed };
        int size[2] = { (int)draw(&random, 2, 3), (int)draw(&random, 1, 2) };
        struct hypar_graph *graph = random_graph(&random, OP_KIND_COUNT);
        struct hypar_machine *machine = machine_of(size[0] * size[1]);
        struct hypar_plan *plan =
            hp_plan_new(graph, machine, &(struct hypar_plan_settings){ 0 });
        uint32_t dims[MAX_AXES];
        struct arena arena = { 0 };
        struct mesh mesh;
        struct hypar_error err = { 0 };
        for (int op = 0; op < graph->n_ops; op++)
            lay(&random, plan, op, size, 2, dims);
        swap_two(&random, plan, (int)draw(&random, 0, graph->n_ops - 1));
        if (hp_find_mesh(&mesh, &arena, plan, &err) == HYPAR_OK) {
            check_found(&mesh, plan, seed);
            found++;
        } else
            assert_true(strncmp(err.text, "op '", 4) == 0);
        hp_arena_free(&arena);
        hypar_plan_free(plan);
        hypar_machine_free(machine);
        hypar_graph_free(graph);
    }
    print_message("%d of %d plans with two parts exchanged lie on a mesh\n", found, TRIALS);
    assert_in_range(found, TRIALS / 10, TRIALS * 9 / 10);
    (void)state;
}

static const struct {
    const char *machine, *rest, *expected;
} cases[] = {
    { "full:4", "'ops':[{'name':'*','split':{'n':4}}]", "4" },
    { "full:8", "'layout':{'data':2,'tensor':4}", "2 x 4" },
    { "full:4",
      "'ops':[{'name':'*','split':{'n':2}}],'schedule':{'name':'gpipe'},"
      "'stages':[{'ops':['fc1','relu1'],'devices':[3,0]},"
      "{'ops':['fc2','relu2','fc3','loss'],'devices':[1,2]}]",
      "2" },
    { "full:3",
      "'ops':[{'name':'fc1','split':{'n':2}},{'name':'relu1','split':{'n':2}},"
      "{'name':'*','split':{}}],'schedule':{'name':'gpipe'},"
      "'stages':[{'ops':['fc1','relu1'],'devices':[0,1]},"
      "{'ops':['fc2','relu2','fc3','loss'],'devices':[2]}]",
      "stage 1 has 1 devices, stage 0 has 2; expected as many" },
    { "full:1", "'ops':[{'name':'*','split':{}}]", "" },
    { "full:6",
      "'ops':[{'name':'fc1','split':{'n':3,'k':2}},{'name':'*','split':{'n':2,'r':3}}]",
      "op 'relu1': axis 'r' is split over rows of 3 devices, which do not fit those of the "
      "operators before it in one mesh" },
    { "full:4", "'ops':[{'name':'fc2','split':{}},{'name':'*','split':{'n':4}}]",
      "op 'fc2': 1 part on 4 devices, expected one on each: a split, or copies (axis 'r')" },
    { "full:4",
      "'ops':[{'name':'fc2','split':{'n':4},'devices':[0,2,1,3]},{'name':'*','split':{'n':4}}]",
      "op 'fc2': its parts are on devices in an order that no mesh has, expected rows of equal "
      "length" },
    { "full:4", "'ops':[{'name':'*','split':{'n':4},'shard':'parameters','shard_over':2}]",
      "2 x 2" },
    { "full:4",
      "'ops':[{'name':'fc1','split':{'n':2,'k':2},'devices':[0,2,1,3]},"
      "{'name':'*','split':{'n':4}}]",
      "2 x 2" }, /* k is the outer one, n the inner one, and both of the others */
};

static void test_cases(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024], got[512] = "";
        struct hypar_plan *plan;
        struct hypar_error err = { 0 };
        struct arena arena = { 0 };
        struct mesh mesh;
        snprintf(text, sizeof text,
                 "{'format':'hypar-plan/1','model':'mlp:32-32-32-32','batch':48,"
                 "'machine':'%s',%s}",
                 cases[i].machine, cases[i].rest);
        if (plan_from(&plan, text, &err) != HYPAR_OK)
            fail_msg("%s: %s", text, err.text);
        if (hp_find_mesh(&mesh, &arena, plan, &err) != HYPAR_OK)
            snprintf(got, sizeof got, "%s", err.text);
        else
            for (int d = 0, n = 0; d < mesh.n_dims; d++)
                n += snprintf(got + n, sizeof got - (size_t)n, "%s%d", d ? " x " : "",
                              mesh.size[d]);
        assert_string_equal(got, cases[i].expected);
        hp_arena_free(&arena);
        hypar_plan_free(plan);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_laid),
        cmocka_unit_test(test_swapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
