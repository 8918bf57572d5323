/* Program files: their contents, the order of their numbers, their memory, and refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "cost/collective.h"
#include "sim/flat/file.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const ticks SECOND = 1000000000000;

static struct hypar_machine *machine_of(const char *word)
{
    struct hypar_machine *machine;
    struct hypar_error err;
    if (hypar_machine_read(&machine, word, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return machine;
}

/* The tests write ' for ", so that programs can be read. */
static enum hypar_status program_from(struct flat_file **out, const char *text,
                                      const struct hypar_machine *machine,
                                      struct hypar_error *err)
{
    size_t n = strlen(text);
    char *json = malloc(n + 1);
    assert_non_null(json);
    for (size_t i = 0; i <= n; i++)
        json[i] = text[i] == '\'' ? '"' : text[i];
    enum hypar_status status = hp_flat_file_read_text(out, json, n, "program", machine, err);
    free(json);
    return status;
}

static struct flat_file *good(const char *text, const struct hypar_machine *machine)
{
    struct flat_file *file;
    struct hypar_error err;
    if (program_from(&file, text, machine, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    return file;
}

#define TASKS(x) "{'format':'hypar-program/1','tasks':[" x "]}"

static void queues_are_devices_then_names(void **state)
{
    (void)state;
    struct flat_file *file =
        good(TASKS("{'id':7,'on':2,'seconds':1.5,'name':'a'},"
                   "{'id':3,'on':'0->1','seconds':2,'bytes':64,'after':[7,7]},"
                   "{'id':5,'on':'PCIe','seconds':0,'after':[7,3]},"
                   "{'id':6,'on':[0,1],'seconds':1},"
                   "{'id':8,'on':[1,0],'kind':'send','seconds':1},"
                   "{'id':9,'on':[0,1,2],'kind':'all-reduce','seconds':1},"
                   "{'id':10,'on':'00->1','seconds':1,'after':null}"),
             NULL);
    static const char *const name[] = {
        NULL, "0->1", "PCIe", "0->1", "1->0", "0,1,2", "00->1"
    };
    const struct task_graph *graph = &file->graph;
    assert_int_equal(graph->n_tasks, COUNT(name));
    assert_int_equal(file->n_devices, 3);
    assert_int_equal(file->n_machine_links, 0);
    assert_int_equal(file->n_names, 5);
    assert_int_equal(graph->n_queues, 3 + 5);
    for (size_t i = 0; i < COUNT(name); i++) {
        assert_int_equal(graph->task[i].n_holds, 1);
        const struct hold *hold = graph->task[i].hold;
        if (name[i])
            assert_string_equal(file->name[hold->queue - 3], name[i]);
        else
            assert_int_equal(hold->queue, file->task[i].device);
        assert_int_equal(hold->busy, graph->task[i].duration);
        assert_int_equal(hold->offset, 0);
        assert_int_equal(graph->task[i].number, i);
    }
    assert_int_equal(graph->task[0].duration, 3 * SECOND / 2);
    assert_string_equal(file->task[0].name, "a");
    assert_null(file->task[1].name);
    assert_int_equal(graph->after_start[2], 1); /* listed twice, waited for once */
    assert_true(file->task[1].hold_bytes[0] == 64);
    assert_null(file->task[2].hold_bytes);
    hp_flat_file_free(file);
}

/* The numbers are the file's order where that can be; and whatever they are, each is larger
 * than those of the tasks that it waits for. */
static void numbers_keep_the_order_of_the_file(void **state)
{
    (void)state;
    struct flat_file *file = good(TASKS("{'id':0,'on':0,'seconds':1,'after':[5]},"
                                        "{'id':1,'on':0,'seconds':1},"
                                        "{'id':5,'on':0,'seconds':1,'after':[6,1]},"
                                        "{'id':2,'on':0,'seconds':1},"
                                        "{'id':6,'on':0,'seconds':1}"),
                                  NULL);
    static const int number[] = { 4, 0, 3, 1, 2 };
    for (size_t i = 0; i < COUNT(number); i++)
        assert_int_equal(file->graph.task[i].number, number[i]);
    hp_flat_file_free(file);
}

enum { MAX_RANDOM = 24 };

/* A random program of n tasks with random ids in random order: task `rank` waits for tasks of
 * smaller rank only. Returns the text, to be freed. */
static char *random_program(struct random *random, int n, int64_t *id)
{
    int order[MAX_RANDOM];
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    assert_non_null(to);
    for (int i = 0; i < n; i++) {
        int other = (int)hp_random_below(random, i + 1);
        id[i] = 1000 * hp_random_below(random, 1000) + i;
        order[i] = order[other];
        order[other] = i;
    }
    fputs("{'format':'hypar-program/1','tasks':[", to);
    for (int i = 0; i < n; i++) {
        int rank = order[i];
        fprintf(to, "%s{'id':%lld,'on':%lld,'seconds':%lld,'after':[", i ? "," : "",
                (long long)id[rank], (long long)hp_random_below(random, 3),
                (long long)hp_random_below(random, 4));
        int n_after = rank ? (int)hp_random_below(random, 4) : 0;
        for (int k = 0; k < n_after; k++)
            fprintf(to, "%s%lld", k ? "," : "", (long long)id[hp_random_below(random, rank)]);
        fputs("]}", to);
    }
    fputs("]}", to);
    assert_int_equal(fclose(to), 0);
    return text;
}

/* Number by number: the first in the file that waits for numbered ones only. */
static void check_numbers(const struct task_graph *graph, unsigned seed)
{
    int64_t number[MAX_RANDOM];
    for (int i = 0; i < graph->n_tasks; i++)
        number[i] = -1;
    for (int next = 0; next < graph->n_tasks; next++)
        for (int i = 0; i < graph->n_tasks; i++) {
            bool can = number[i] < 0;
            for (int64_t a = graph->after_start[i]; a < graph->after_start[i + 1]; a++)
                can = can && number[graph->after[a]] >= 0;
            if (!can)
                continue;
            number[i] = next;
            if (graph->task[i].number != next)
                fail_msg("seed %u: task %d has number %lld, expected %d", seed, i,
                         (long long)graph->task[i].number, next);
            break;
        }
}

static void random_programs_are_numbered(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 500; seed++) {
        struct random random = { seed };
        int64_t id[MAX_RANDOM];
        int n = 1 + (int)hp_random_below(&random, MAX_RANDOM);
        char *text = random_program(&random, n, id);
        struct flat_file *file = good(text, NULL);
        assert_int_equal(file->graph.n_tasks, n);
        check_numbers(&file->graph, seed);
        hp_flat_file_free(file);
        free(text);
    }
}

/* A ring of tasks is a cycle wherever it begins; the reason names a task on it. */
static void cycles_are_named(void **state)
{
    (void)state;
    for (int size = 2; size < 9; size++) {
        char text[2048] = "{'format':'hypar-program/1','tasks':["
                          "{'id':100,'on':0,'seconds':1,'after':[0]}";
        for (int i = 0; i < size; i++) {
            size_t n = strlen(text);
            snprintf(text + n, sizeof text - n, ",{'id':%d,'on':0,'seconds':1,'after':[%d]}", i,
                     (i + 1) % size);
        }
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "]}");
        struct flat_file *file;
        struct hypar_error err;
        assert_int_equal(program_from(&file, text, NULL, &err), HYPAR_INVALID);
        assert_string_equal(err.text, "program: tasks[1].after: a cycle: task 0 waits for task "
                                      "1, which in the end waits for it");
    }
}

/* A message over three links of a mesh: each held for bytes/bandwidth, one latency apart. */
static void bytes_take_the_route(void **state)
{
    (void)state;
    struct hypar_machine *machine = machine_of("mesh:4,bandwidth=1GB/s,latency=2us");
    struct flat_file *file = good(TASKS("{'id':0,'on':'0->3','bytes':1e6},"
                                        "{'id':1,'on':[3,0],'bytes':1000000},"
                                        "{'id':2,'on':'0->3','bytes':1e6},"
                                        "{'id':3,'on':'0->3','seconds':1},"
                                        "{'id':4,'on':'NVMe','seconds':1},"
                                        "{'id':5,'on':'0->3','bytes':0}"),
                                  machine);
    const struct task_graph *graph = &file->graph;
    int link[8];
    assert_int_equal(file->n_devices, 4);
    assert_int_equal(file->n_machine_links, 2 * hypar_machine_link_count(machine));
    assert_int_equal(hypar_machine_route(machine, 0, 3, link, 8), 3);
    const struct sim_task *task = &graph->task[0];
    assert_int_equal(task->n_holds, 3);
    assert_int_equal(task->duration, (1000 + 6) * (SECOND / 1000000));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(task->hold[i].queue, file->n_devices + link[i]);
        assert_int_equal(task->hold[i].offset, 2 * i * (SECOND / 1000000));
        assert_int_equal(task->hold[i].busy, SECOND / 1000);
        assert_true(file->task[0].hold_bytes[i] == 1e6);
    }
    assert_int_equal(graph->task[1].duration, task->duration);
    assert_int_not_equal(graph->task[1].hold[0].queue, task->hold[2].queue); /* other way */
    assert_ptr_equal(graph->task[2].hold, task->hold);                       /* shared */
    assert_int_equal(graph->task[3].duration, SECOND);
    assert_int_equal(graph->task[3].n_holds, 3);
    assert_int_equal(graph->task[3].hold[2].busy, SECOND);
    assert_null(file->task[3].hold_bytes);
    assert_int_equal(graph->task[4].hold[0].queue, file->n_devices + file->n_machine_links);
    assert_string_equal(file->name[0], "NVMe");
    assert_int_equal(graph->task[5].duration, 6 * (SECOND / 1000000));
    hp_flat_file_free(file);
    hypar_machine_free(machine);
}

/* What is sent in all when `whole` is collected by n devices (DESIGN: comm_bytes), by kind. */
static double sent_bytes(enum comm_kind kind, int n, double whole)
{
    double sends = 0; /* every device's, one by one */
    for (int from = 0; from < n; from++)
        for (int to = 0; to < n; to++) {
            bool all = kind == COMM_ALL_TO_ALL || kind == COMM_EXCHANGE;
            bool root = from == 0 ? kind == COMM_BROADCAST || kind == COMM_SEND
                                  : to == 0 && kind == COMM_REDUCE;
            bool piece = kind == COMM_ALL_GATHER || kind == COMM_REDUCE_SCATTER;
            if (from != to)
                sends += all || root               ? 1
                         : piece                   ? 1. / n
                         : kind == COMM_ALL_REDUCE ? 2. / n
                                                   : 0;
        }
    return sends * whole;
}

/* Every kind, on several machines: duration and links are those of the cost model. */
static void collectives_take_the_best_way(void **state)
{
    static const char *const words[] = { "full:6", "torus:2x3", "cluster:2x3", "htree:8" };
    static const int device[] = { 4, 0, 3, 1, 5, 2 };
    (void)state;
    for (size_t m = 0; m < COUNT(words); m++)
        for (int k = 0; k < COMM_KIND_COUNT; k++)
            for (int n = 2; n <= (k == COMM_SEND ? 2 : 6); n++) {
                struct hypar_machine *machine = machine_of(words[m]);
                struct arena arena = { 0 };
                double whole = 3e6, sent = sent_bytes((enum comm_kind)k, n, whole);
                char text[256] = "{'format':'hypar-program/1','tasks':[{'id':0,'on':[4";
                for (int i = 1; i < n; i++)
                    snprintf(text + strlen(text), sizeof text - strlen(text), ",%d", device[i]);
                snprintf(text + strlen(text), sizeof text - strlen(text),
                         "],'kind':'%s','bytes':%.17g}]}", hp_comm_text((enum comm_kind)k),
                         sent);
                struct flat_file *file = good(text, machine);
                struct comm_group group = { k == COMM_EXCHANGE ? COMM_ALL_TO_ALL
                                                               : (enum comm_kind)k,
                                            n, device, 0 };
                const struct comm_way *way =
                    hp_comm_best_way(hp_comm_model(&arena, machine, &group), whole);
                const struct sim_task *task = file->graph.task;
                double expected_s = way->fixed_s + whole * way->s_per_byte;
                assert_true(hp_collected_bytes((enum comm_kind)k, n, sent) / whole < 1 + 1e-12);
                assert_true(hp_collected_bytes((enum comm_kind)k, n, sent) / whole > 1 - 1e-12);
                assert_int_equal(task->n_holds, way->n_links);
                assert_in_range(task->duration, hp_ticks(expected_s) - 1,
                                hp_ticks(expected_s) + 1);
                double crossed = 0;
                for (int h = 0; h < task->n_holds; h++) {
                    assert_in_range(task->hold[h].queue, file->n_devices,
                                    file->n_devices + file->n_machine_links - 1);
                    assert_true(task->hold[h].offset + task->hold[h].busy <= task->duration);
                    crossed += file->task[0].hold_bytes[h];
                }
                assert_true(crossed > 0);
                hp_flat_file_free(file);
                hp_arena_free(&arena);
                hypar_machine_free(machine);
            }
}

/* Times that a person can write are written as they were. */
static void times_are_exact(void **state)
{
    (void)state;
    for (int ms = 0; ms < 100000; ms++)
        if (hp_seconds(hp_ticks(ms / 1000.)) != ms / 1000.)
            fail_msg("%d ms become %.17g s", ms, hp_seconds(hp_ticks(ms / 1000.)));
}

#define HEAD    "{'format':'hypar-program/1',"
#define TASK(x) TASKS("{'id':0," x "}")
#define KINDS                                                                           \
    "expected one of send, broadcast, all-gather, reduce, reduce-scatter, all-reduce, " \
    "all-to-all, exchange"

/* clang-format off */
static const struct {
    const char *text, *machine, *message;
} bad[] = {
    /* not a program */
    { "[]", NULL, "expected an object, not an array" },
    { "{}", NULL, "format: missing, expected a string" },
    { "{'format':'hypar-plan/1'}", NULL,
      "format: expected hypar-program/1, not \"hypar-plan/1\"" },
    { HEAD "'task':[]}", NULL,
      "unknown member 'task', did you mean tasks?" },
    { HEAD "'devices':2}", NULL, "tasks: missing, expected an array" },
    { HEAD "'tasks':{}}", NULL, "tasks: expected an array, not an object" },
    { HEAD "'tasks':[]}", NULL, "tasks: empty, expected at least one task" },
    { HEAD "'devices':0,'tasks':[]}", NULL, "devices: expected an integer in 1..1048576, not 0" },
    { HEAD "'devices':9,'tasks':[]}", "full:4", "devices: expected an integer in 1..4, not 9" },
    { TASKS("7"), NULL, "tasks[0]: expected an object, not 7" },
    { TASK("'on':0,'seconds':1,'start':2"), NULL,
      "tasks[0]: unknown member 'start', expected one of id, on, kind, name, seconds, bytes, class, after" },
    { TASK("'on':0,'seconds':1,'class':1"), NULL,
      "tasks[0].class: expected only of a task on links, not on a device" },
    { TASK("'on':'a','seconds':1,'class':2"), NULL, "tasks[0].class: expected an integer in 0..1, not 2" },

    /* ids */
    { TASKS("{'on':0,'seconds':1}"), NULL, "tasks[0].id: missing, expected an integer in 0..9007199254740992" },
    { TASKS("{'id':-1,'on':0,'seconds':1}"), NULL,
      "tasks[0].id: expected an integer in 0..9007199254740992, not -1" },
    { TASKS("{'id':'a','on':0,'seconds':1}"), NULL,
      "tasks[0].id: expected an integer in 0..9007199254740992, not \"a\"" },
    { TASKS("{'id':4,'on':0,'seconds':1},{'id':3,'on':0,'seconds':1},{'id':3,'on':0,'seconds':1},"
            "{'id':4,'on':0,'seconds':1}"), NULL, "tasks[2].id: 3 is the id of tasks[1] too" },

    /* places */
    { TASK("'seconds':1"), NULL,
      "tasks[0].on: missing, expected a device, a link (\"0->1\") or a list of devices" },
    { TASK("'on':true,'seconds':1"), NULL,
      "tasks[0].on: expected a device, a link (\"0->1\") or a list of devices" },
    { TASK("'on':-1,'seconds':1"), NULL, "tasks[0].on: expected an integer in 0..1048575, not -1" },
    { TASK("'on':1.5,'seconds':1"), NULL, "tasks[0].on: expected an integer in 0..1048575, not 1.5" },
    { TASK("'on':4,'seconds':1"), "full:4", "tasks[0].on: expected an integer in 0..3, not 4" },
    { HEAD "'devices':2,'tasks':[{'id':0,'on':2,'seconds':1}]}", NULL,
      "tasks[0].on: expected an integer in 0..1, not 2" },
    { HEAD "'devices':2,'tasks':[{'id':0,'on':'0->2','seconds':1}]}", NULL,
      "tasks[0].on: device 2, expected 0 to 1" },
    { TASK("'on':'','seconds':1"), NULL, "tasks[0].on: empty, expected a name" },
    { TASK("'on':'3->3','seconds':1"), NULL, "tasks[0].on: from device 3 to itself, expected two devices" },
    { TASK("'on':[],'seconds':1"), NULL, "tasks[0].on: has 0 devices, expected at least 2" },
    { TASK("'on':[1],'seconds':1"), NULL, "tasks[0].on: has 1 devices, expected at least 2" },
    { TASK("'on':[1,'2'],'seconds':1"), NULL,
      "tasks[0].on[1]: expected an integer in 0..1048575, not \"2\"" },
    { TASK("'on':[1,2,1],'kind':'reduce','seconds':1"), NULL, "tasks[0].on: device 1 is listed twice" },
    { TASK("'on':[0,1,2,3,0],'kind':'reduce','seconds':1"), "full:4",
      "tasks[0].on: has 5 elements, expected at most 4" },
    { TASK("'on':[0,1,2],'seconds':1"), NULL, "tasks[0].kind: missing, " KINDS },
    { TASK("'on':[0,1,2],'kind':'gather','seconds':1"), NULL, "tasks[0].kind: " KINDS ", not \"gather\"" },
    { TASK("'on':[0,1,2],'kind':3,'seconds':1"), NULL, "tasks[0].kind: expected a string, not 3" },
    { TASK("'on':[0,1,2],'kind':'send','seconds':1"), NULL, "tasks[0].kind: a send over 3 devices, expected 2" },
    { TASK("'on':0,'kind':'send','seconds':1"), NULL,
      "tasks[0].kind: expected only where \"on\" is a list of devices" },

    /* times */
    { TASK("'on':0"), NULL,
      "tasks[0].seconds: missing, expected the time of the computation" },
    { TASK("'on':0,'bytes':3,'seconds':1"), NULL,
      "tasks[0].bytes: expected only of a task on links, not on a device" },
    { TASK("'on':'x'"), NULL, "tasks[0].seconds: missing, expected \"seconds\" or \"bytes\"" },
    { TASK("'on':'x','bytes':8"), "full:4",
      "tasks[0].seconds: missing: the bandwidth of link 'x' is not known, expected \"seconds\" or a link "
      "between devices (\"0->1\")" },
    { TASK("'on':[0,1],'bytes':8"), NULL,
      "tasks[0].seconds: missing: how long the bytes take is not known without a machine, expected one "
      "(--on) or \"seconds\"" },
    { TASK("'on':0,'seconds':-1"), NULL, "tasks[0].seconds: expected a number in 0..4e+06, not -1" },
    { TASK("'on':0,'seconds':1e300"), NULL, "tasks[0].seconds: expected a number in 0..4e+06, not 1e+300" },
    { TASK("'on':0,'seconds':'1s'"), NULL, "tasks[0].seconds: expected a number in 0..4e+06, not \"1s\"" },
    { TASK("'on':'0->1','bytes':-1"), "full:4", "tasks[0].bytes: expected a number in 0..1e+18, not -1" },
    { TASK("'on':'0->1','bytes':1e19"), "full:4", "tasks[0].bytes: expected a number in 0..1e+18, not 1e+19" },
    { TASK("'on':'0->1','bytes':1e18"), "full:4,bandwidth=1kB/s,latency=0s",
      "tasks[0]: the bytes take 1e+15 s, expected at most 4e+06" },
    { TASKS("{'id':0,'on':0,'seconds':3e6},{'id':1,'on':1,'seconds':3e6}"), NULL,
      "tasks[1]: the tasks up to here take 6000000 s one after another, expected at most 4000000" },
    { TASK("'on':0,'seconds':1,'name':''"), NULL, "tasks[0].name: empty, expected a name" },

    /* waits */
    { TASK("'on':0,'seconds':1,'after':1"), NULL, "tasks[0].after: expected an array, not 1" },
    { TASK("'on':0,'seconds':1,'after':['a']"), NULL, "tasks[0].after[0]: expected an integer >= 0, not \"a\"" },
    { TASK("'on':0,'seconds':1,'after':[0]"), NULL, "tasks[0].after: task 0 waits for itself" },
    { TASKS("{'id':3,'on':0,'seconds':1},{'id':9,'on':0,'seconds':1,'after':[3,1]}"), NULL,
      "tasks[1].after[1]: no task has the id 1" },
    { TASKS("{'id':3,'on':0,'seconds':1,'after':[9]},{'id':9,'on':0,'seconds':1,'after':[3]}"), NULL,
      "tasks[0].after: a cycle: task 3 waits for task 9, which in the end waits for it" },
};
/* clang-format on */

static void bad_programs_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct hypar_machine *machine = bad[i].machine ? machine_of(bad[i].machine) : NULL;
        struct flat_file *file = (struct flat_file *)1;
        struct hypar_error err = { 0 };
        char expected[sizeof err.text];
        snprintf(expected, sizeof expected, "program: %s", bad[i].message);
        assert_int_equal(program_from(&file, bad[i].text, machine, &err), HYPAR_INVALID);
        assert_null(file);
        assert_string_equal(err.text, expected);
        hypar_machine_free(machine);
    }
}

/* A few bytes must not make a large machine work for hours. */
static void absurd_collectives_are_refused(void **state)
{
    (void)state;
    enum { DEVICES = 20000 };
    struct hypar_machine *machine = machine_of("ring:20000");
    struct flat_file *file;
    struct hypar_error err;
    char *text = NULL;
    size_t length = 0;
    FILE *to = open_memstream(&text, &length);
    assert_non_null(to);
    fputs("{'format':'hypar-program/1','tasks':[{'id':0,'bytes':1,'kind':'all-to-all','on':[0",
          to);
    for (int i = 1; i < DEVICES; i++)
        fprintf(to, ",%d", i);
    fputs("]}]}", to);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(program_from(&file, text, machine, &err), HYPAR_INVALID);
    assert_string_equal(err.text, "program: tasks[0]: the collectives up to here take up to "
                                  "4e+12 links of the machine, expected at most 1e+09");
    free(text);

    to = open_memstream(&text, &length);
    assert_non_null(to);
    fputs("{'format':'hypar-program/1','tasks':[{'id':0,'on':0,'seconds':1}", to);
    for (int i = 1; i <= 1100; i++) /* of 10,000 links each, all different */
        fprintf(to, ",{'id':%d,'on':'0->10000','bytes':%d}", i, i);
    fputs("]}", to);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(program_from(&file, text, machine, &err), HYPAR_INVALID);
    assert_string_equal(err.text, "program: tasks[1000]: the tasks up to here hold 10000001 "
                                  "links, expected at most 10000000");
    free(text);
    hypar_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_are_devices_then_names),
        cmocka_unit_test(numbers_keep_the_order_of_the_file),
        cmocka_unit_test(random_programs_are_numbered),
        cmocka_unit_test(cycles_are_named),
        cmocka_unit_test(bytes_take_the_route),
        cmocka_unit_test(collectives_take_the_best_way),
        cmocka_unit_test(times_are_exact),
        cmocka_unit_test(bad_programs_are_refused),
        cmocka_unit_test(absurd_collectives_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
