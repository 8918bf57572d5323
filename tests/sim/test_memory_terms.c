/* Terms of memory that are no tensors, room and need, and how likely a plan fits: closed forms.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "plan/memory_terms.h"

static struct hypar_machine *machine_of(const char *word)
{
    struct hypar_machine *machine;
    struct hypar_error err;
    if (hypar_machine_read(&machine, word, &err))
        fail_msg("%s", err.text);
    return machine;
}

/* The memory of device 0 of a network whose samples are divided among all devices. */
static struct hypar_memory memory_of(const char *model, const char *word,
                                     const struct hypar_plan_settings *settings)
{
    struct hypar_graph *graph;
    struct hypar_machine *machine = machine_of(word);
    struct hypar_memory memory[4];
    struct hypar_error err;
    assert_int_equal(
        hypar_import(&graph, model, &(struct hypar_import_options){ .batch = 8 }, NULL),
        HYPAR_OK);
    struct hypar_plan *plan = hp_plan_new(graph, machine, settings);
    int devices = hypar_machine_device_count(machine);
    for (int op = 0; op < graph->n_ops; op++) {
        struct split split = { .degree = { 0 } };
        int axis = hp_sample_axis(graph->ops[op].nest);
        split.degree[axis < 0 ? graph->ops[op].nest->n_axes - 1 : axis] = devices;
        hp_plan_set(plan, op, &split, NULL);
    }
    if (hypar_plan_memory(plan, NULL, memory, &err))
        fail_msg("%s", err.text);
    hypar_plan_free(plan);
    hypar_machine_free(machine);
    hypar_graph_free(graph);
    return memory[0];
}

static void expect(const char *what, double found, double expected)
{
    if (found != expected)
        fail_msg("%s: %.0f, expected %.0f", what, found, expected);
}

/* As usual: two workspaces, 4 % idle, 550 MB for each kind of group. */
static void closed_forms(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        double groups, workspace, context, usable; /* 0: no framework runs there */
    } rows[] = {
        { "full:2,device=h100", 1, 33554432, 550e6, 84932978278. },
        { "full:1,device=a100", 0, 8519680, 450e6, 84986665369. },
        { "full:4,device=a100,workspace-memory=1MB,context-memory=2MB", 1, 1e6, 2e6,
          84986665369. },
        { "full:2,device=a100,memory=40GB", 1, 8519680, 450e6, 40e9 },
        { "full:2,device=v100", 0, 0, 0, 16e9 },
        { "full:2,device=eyeriss-hmc", 0, 0, 0, 8e9 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hypar_plan_settings settings = { .framework_bytes = i % 2 ? 3e6 : 0 };
        struct hypar_memory m = memory_of("lenet5", rows[i].word, &settings);
        double tensors = m.parameters + m.gradients + m.optimizer + m.weight_versions +
                         m.activations + m.buffers;
        bool runs = rows[i].context > 0;
        double allocated = tensors + 2 * rows[i].workspace;
        double idle = runs ? floor(0.04 * allocated) : 0;
        assert_true(tensors > 0);
        expect("tensors", hp_tensor_bytes(&m), tensors);
        expect("workspaces", m.workspaces, 2 * rows[i].workspace);
        expect("fragmentation", m.fragmentation, idle);
        expect("communicators", m.communicators, 550e6 * rows[i].groups);
        expect("context", m.context, rows[i].context);
        expect("framework", m.framework, settings.framework_bytes);
        expect("allocated", m.allocated, runs ? allocated : 0);
        expect("reserved", m.reserved, runs ? allocated + idle : 0);
        expect("peak", m.peak,
               allocated + idle + 550e6 * rows[i].groups + rows[i].context +
                   settings.framework_bytes);
        expect("limit", m.limit, rows[i].usable);
    }
}

/* The papers' model of a device has tensors alone. */
static void bare(void **state)
{
    (void)state;
    struct hypar_plan_settings none = { .simulation.framework.kernels = HYPAR_KERNELS_NONE };
    struct hypar_memory m = memory_of("lenet5", "full:2,device=h100", &none);
    expect("peak", m.peak, hp_tensor_bytes(&m));
    expect("reserved", m.reserved, 0);
    assert_true(hypar_memory_probability(&m) == 1);
    m.limit = m.peak - 1;
    assert_true(hypar_memory_probability(&m) == 0);
}

/* Operator by operator, a short cross entropy keeps logarithms of probabilities in fp32, 2
 * bytes more than its logits, and computes two errors in fp32, one instead of the short one.
 * A framework may have others; half a tensor is a short one. */
static void losses(void **state)
{
    (void)state;
    static const struct {
        enum hypar_precision precision;
        enum hypar_kernel_mode kernels;
        double tensors; /* of fp32; 0: usual */
        double bytes;   /* of each logit */
    } rows[] = { { HYPAR_BF16, HYPAR_KERNELS_EAGER, 0, 2 + 6 },
                 { HYPAR_FP16, HYPAR_KERNELS_EAGER, 0, 2 + 6 },
                 { HYPAR_FP32, HYPAR_KERNELS_EAGER, 0, 4 },
                 { HYPAR_BF16, HYPAR_KERNELS_COMPILED, 0, 0 },
                 { HYPAR_BF16, HYPAR_KERNELS_COMPILED, 2, 2 + 2 },
                 { HYPAR_BF16, HYPAR_KERNELS_COMPILED, 2.5, 2 + 4 } };
    enum { SAMPLES = 8, LENGTH = 16, VOCAB = 4096 }; /* logits are far the largest tensor */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hypar_plan_settings settings = { .precision = rows[i].precision,
                                                .simulation.framework.kernels =
                                                    rows[i].kernels };
        settings.simulation.framework.memory.logits_fp32 = rows[i].tensors;
        struct hypar_memory m =
            memory_of("gpt:layers=1,hidden=8,heads=1,seq=16,vocab=4096,dropout_percent=0",
                      "full:1", &settings);
        expect("losses", m.losses, rows[i].bytes * SAMPLES * LENGTH * VOCAB);
    }
}

/* A need is at most the room just where the peak is at most the limit. */
static void room_and_need(void **state)
{
    (void)state;
    static const struct hypar_framework_memory usual, wide = { .fragmentation = 0.25 };
    static const struct memory_how hows[] = { { .framework = NULL },
                                              { .framework = NULL, .framework_bytes = 3e9 },
                                              { .framework = &usual, .groups = 3 },
                                              { .framework = &wide, .framework_bytes = 1e9 } };
    struct hypar_machine *machine = machine_of("full:1,device=h100");
    const struct hypar_device *device = hypar_machine_device(machine, 0);
    for (size_t i = 0; i < sizeof hows / sizeof *hows; i++) {
        double room = hp_device_room(device, 0, &hows[i]);
        assert_true(room > 50e9 && room <= device->usable_bytes);
        for (int more = -1; more <= 1; more++) {
            struct hypar_memory m =
                hp_memory_of_need(floor(room) + more * 4096., device, &hows[i]);
            assert_true(fabs(hp_memory_need(&m, device, &hows[i]) - m.buffers) <= 1);
            assert_true(more == 0 || (m.peak <= device->usable_bytes) == (more < 0));
        }
    }
    expect("a limit", hp_device_room(device, 2e9, &hows[0]), 2e9);
    expect("a limit", hp_device_room(device, 4e9, &hows[1]), 1e9);
    expect("no room", hp_device_room(device, 2e9, &hows[1]), 1);
    hypar_machine_free(machine);
}

/* What keeps its margin fits as likely as was asked for, what fills the memory as the errors
 * say.
 */
static void probability(void **state)
{
    (void)state;
    static const struct hypar_framework_memory errors = { .bias = 0.05, .spread = 0.1 };
    struct hypar_machine *machine = machine_of("full:1,device=h100");
    const struct hypar_device *device = hypar_machine_device(machine, 0);
    struct memory_how how = { .framework = &errors };
    expect("without a margin", hp_usable_bytes(device, &how), device->usable_bytes);
    for (int percent = 50; percent < 100; percent += 7) {
        how.certainty = percent / 100.;
        struct hypar_memory m = hp_memory_of_need(1e9, device, &how);
        m.peak = hp_usable_bytes(device, &how);
        m.limit = device->usable_bytes;
        assert_true(fabs(hypar_memory_probability(&m) - how.certainty) < 1e-6);
        assert_true(m.error_bias == 0.05 && m.error_spread == 0.1);
    }
    /* 1.6449 standard deviations */
    how.certainty = 0.95;
    assert_true(
        fabs(hp_usable_bytes(device, &how) * exp(0.05 + 0.164485) / device->usable_bytes - 1) <
        1e-5);
    expect("a limit that is asked for", hp_device_room(device, 1e12, &how) > 0.9e12, 1);
    hypar_machine_free(machine);
}

/* Each term has words, a key and a member of its own, and a level that says who computes it. */
static void table(void **state)
{
    (void)state;
    int n = 0;
    for (const struct memory_term *t = hp_memory_terms; t->words; t++, n++) {
        assert_true((t->level == MEMORY_TENSORS) == (t->bytes == NULL));
        assert_true((t->level == MEMORY_TENSORS) == (n < TENSOR_TERMS));
        for (const struct memory_term *other = hp_memory_terms; other < t; other++) {
            assert_string_not_equal(t->words, other->words);
            assert_string_not_equal(t->key, other->key);
            assert_true(t->offset != other->offset);
        }
    }
    assert_true(n > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_forms), cmocka_unit_test(bare),
        cmocka_unit_test(losses),       cmocka_unit_test(room_and_need),
        cmocka_unit_test(probability),  cmocka_unit_test(table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
