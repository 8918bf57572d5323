/* Kernels: rates by shape, alignment, the passes that form one kernel, and the bytes it
 * touches. */
#include <math.h>
#include <string.h>

#include "tests/op_cases.h"

#include "cost/kernel.h"
#include "machine/machine.h"
#include "plan/framework.h"

static const operand_set all_operands = ~(operand_set)0;

static void assert_close(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g, expected %.17g", value, expected);
}

static void expect_within(const char *what, double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%s: %.17g, expected %.17g", what, value, expected);
}

static struct hypar_graph *graph_of(enum op_kind kind, const char *label)
{
    for (int i = 0; i < OP_CASE_COUNT; i++)
        if (op_cases[i].kind == kind && strcmp(op_cases[i].label, label) == 0)
            return op_case_build(&op_cases[i]);
    fail_msg("no case %s (%s)", hp_op[kind].name, label);
    return NULL;
}

static const struct nest *last_nest(const struct hypar_graph *graph)
{
    return graph->ops[graph->n_ops - 1].nest;
}

static struct hypar_device measured_device(void)
{
    return (struct hypar_device){ .name = "measured",
                                  .fp64_op_per_s = 1e12,
                                  .fp32_op_per_s = 2e12,
                                  .tf32_op_per_s = 4e12,
                                  .fp16_op_per_s = 8e12,
                                  .bf16_op_per_s = 8e12,
                                  .efficiency = 0.8,
                                  .memory_bytes = 1000000000,
                                  .memory_bytes_per_s = 1e9,
                                  .kernels = { .reduction_length = 10,
                                               .output_length = 3,
                                               .unaligned_efficiency = 0.25,
                                               .stream_efficiency = 0.5,
                                               .row_efficiency = 0.25,
                                               .column_efficiency = 0.125,
                                               .column_sums = 1450,
                                               .scatter_efficiency = 0.0625,
                                               .kernel_s = 1e-6,
                                               .eager_launch_s = 1e-5 } };
}

static uint32_t all_passes(const struct nest *nest)
{
    return (1u << nest->n_passes) - 1;
}

/* The table: products are all of a pass's multiply-adds, their fields all of its factors. */
static void products_are_the_multiply_adds(void **state)
{
    (void)state;
    for (int i = 0; i < OP_CASE_COUNT; i++) {
        struct hypar_graph *graph = op_case_build(&op_cases[i]);
        const struct nest *nest = last_nest(graph);
        for (int p = 0; p < nest->n_passes; p++) {
            double macs = 0;
            for (int k = 0; k < nest->pass[p].n_products; k++) {
                const struct matrix_product *product = &nest->pass[p].product[k];
                macs += product->macs;
                for (int f = 0; f < 3; f++)
                    assert_true(product->axes[f] || product->times[f] > 1);
            }
            if (nest->kind != OP_OPAQUE)
                assert_close(macs, nest->pass[p].macs);
        }
        hypar_graph_free(graph);
    }
}

static void nothing_measured_is_the_roofline(void **state)
{
    (void)state;
    struct hypar_device device = measured_device(), plain = device;
    memset(&plain.kernels, 0, sizeof plain.kernels);
    for (int i = 0; i < OP_CASE_COUNT; i++) {
        struct hypar_graph *graph = op_case_build(&op_cases[i]);
        const struct nest *nest = last_nest(graph);
        struct range range[MAX_AXES];
        double sum_s = 0;
        hp_whole_ranges(nest, range);
        for (int p = 0; p < nest->n_passes; p++)
            sum_s += hp_pass_seconds(nest, p, range, all_operands, &plain, HYPAR_FP32, NULL);
        struct kernel_place none = { .device = &device,
                                     .precision = HYPAR_FP32,
                                     .kernels = HYPAR_KERNELS_NONE };
        struct kernel_place unknown = { .device = &plain,
                                        .precision = HYPAR_FP32,
                                        .kernels = HYPAR_KERNELS_EAGER };
        uint32_t passes = all_passes(nest);
        assert_close(hp_op_seconds(nest, passes, range, all_operands, &none), sum_s);
        assert_close(hp_op_seconds(nest, passes, range, all_operands, &unknown), sum_s);
        hypar_graph_free(graph);
    }
}

/* Where the kernels of some devices are not measured, all take the times of the roofline, also
 * in machines made of some of them; measured times, the framework without kernels and other
 * machines are as they were. */
static void unlike_machines_are_rooflines(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        bool kernels;
    } cases[] = {
        { "cluster:1x2,device=a100", true },
        { "cluster:1x2,device=h100+cluster:1x2,device=a100", true },
        { "cluster:1x2,device=v100+cluster:1x2,device=p100", false },
        { "cluster:1x2,device=a100+cluster:1x2,device=v100", false },
        { "cluster:1x2,device=v100+cluster:1x2,device=a100", false },
        { "cluster:1x2,device=a100+cluster:1x2,device=v100,kernel-time=3us", true },
    };
    static const int first[] = { 0, 1 };
    double same[OPTION_COUNT];
    for (int o = 0; o < OPTION_COUNT; o++)
        same[o] = NAN;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hypar_machine *machine[4];
        struct hypar_error err;
        if (hypar_machine_read(&machine[0], cases[i].word, &err) != HYPAR_OK ||
            hp_machine_subset(&machine[1], machine[0], first, 2, &err) != HYPAR_OK ||
            hp_machine_with(&machine[2], machine[1], "a100", same, &err) != HYPAR_OK ||
            hp_machine_like(&machine[3], machine[0], 1, 2, &err) != HYPAR_OK)
            fail_msg("%s: %s", cases[i].word, err.text);
        for (int m = 0; m < 4; m++) {
            for (int d = 0; d < hypar_machine_device_count(machine[m]); d++) {
                struct kernel_place at =
                    hp_kernel_place(hypar_machine_device(machine[m], d), HYPAR_BF16,
                                    hp_framework_row("compiled"));
                if (hp_runs_kernels(&at) != cases[i].kernels)
                    fail_msg("%s, machine %d, device %d: kernels expected %d", cases[i].word, m,
                             d, cases[i].kernels);
            }
            hypar_machine_free(machine[m]);
        }
    }
}

/* y = x w + b of 6 samples, from 9 to 7: in bfloat16 rows of 18 and 14 bytes are not aligned.
 */
static void products_run_at_the_rate_of_their_shape(void **state)
{
    (void)state;
    struct hypar_graph *graph = graph_of(OP_LINEAR, "n c");
    struct hypar_device device = measured_device();
    struct range range[MAX_AXES];
    double bytes[MAX_OPERANDS];
    struct kernel_pass pass = { .bytes = bytes };
    double share = 0.8 / (1 + 10. / 9 + 3 * (1. / 6 + 1. / 7));
    hp_whole_ranges(last_nest(graph), range);
    struct kernel_place at = { .device = &device,
                               .precision = HYPAR_FP32,
                               .kernels = HYPAR_KERNELS_EAGER };
    hp_kernel_pass(last_nest(graph), 0, range, &at, &pass);
    assert_close(pass.arithmetic_s, 2 * 6 * 9 * 7 / (2e12 * share));
    at.precision = HYPAR_BF16;
    hp_kernel_pass(last_nest(graph), 0, range, &at, &pass);
    assert_close(pass.arithmetic_s, 2 * 6 * 9 * 7 / (8e12 * 0.25 * share));
    at.kernels = HYPAR_KERNELS_COMPILED; /* padded */
    hp_kernel_pass(last_nest(graph), 0, range, &at, &pass);
    assert_close(pass.arithmetic_s, 2 * 6 * 9 * 7 / (8e12 * share));
    hypar_graph_free(graph);
}

/* Statistics and values of a layer norm are one kernel, which reads x once: 84 elements in and
 * out, 12 means and deviations, 7 scales and offsets. */
static void a_kernel_touches_a_tensor_once(void **state)
{
    (void)state;
    struct hypar_graph *graph = graph_of(OP_LAYER_NORM, "n t c");
    struct hypar_device device = measured_device();
    struct range range[MAX_AXES];
    hp_whole_ranges(last_nest(graph), range);
    for (int f = 0; f < 2; f++) {
        struct kernel_place at = { .device = &device,
                                   .precision = HYPAR_FP32,
                                   .kernels = (enum hypar_kernel_mode)f };
        assert_close(hp_op_seconds(last_nest(graph), 3, range, all_operands, &at),
                     1e-6 + 4. * (2 * 84 + 2 * 12 + 2 * 7) / (1e9 * 0.25));
    }
    hypar_graph_free(graph);
}

/* 42 elements of a product's output are summed into 7: one tensor at the rate of columns. The
 * gradients of a layer norm's scales read x and dy, as long as each other: no longer than one.
 */
static void columns_go_by_elements(void **state)
{
    (void)state;
    struct hypar_device device = measured_device();
    struct kernel_place at = { .device = &device,
                               .precision = HYPAR_FP32,
                               .kernels = HYPAR_KERNELS_EAGER };
    struct range range[MAX_AXES];
    struct hypar_graph *graph = graph_of(OP_LINEAR, "n c");
    hp_whole_ranges(last_nest(graph), range);
    assert_close(hp_op_seconds(last_nest(graph), 1u << 3, range, all_operands, &at),
                 1e-6 + 4. * 42 / (1e9 * 0.125));
    hypar_graph_free(graph);
    graph = graph_of(OP_LAYER_NORM, "n t c");
    hp_whole_ranges(last_nest(graph), range);
    assert_close(hp_op_seconds(last_nest(graph), 1u << 4, range, all_operands, &at),
                 1e-6 + 4. * 84 / (1e9 * 0.125));
    device.kernels.stream_efficiency = 0.05; /* then all that it touches: x, dy, s, dw */
    assert_close(hp_op_seconds(last_nest(graph), 1u << 4, range, all_operands, &at),
                 1e-6 + 4. * (2 * 84 + 2 * 12 + 7) / (1e9 * 0.05));
    hypar_graph_free(graph);
}

/* Arithmetic element by element at the rate of vectors, of which dropout draws numbers. */
static void vectors_have_a_rate(void **state)
{
    (void)state;
    static const struct {
        enum op_kind kind;
        double operations[2];
    } cases[] = { { OP_GELU, { 8, 12 } }, { OP_DROPOUT, { 11, 3 } } };
    struct hypar_device device = measured_device();
    struct kernel_place at = { .device = &device,
                               .precision = HYPAR_FP32,
                               .kernels = HYPAR_KERNELS_EAGER };
    device.kernels.vector_op_per_s = 1e6;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_graph *graph = graph_of(cases[i].kind, "n c");
        const struct nest *nest = last_nest(graph);
        struct range range[MAX_AXES];
        hp_whole_ranges(nest, range);
        struct box box = hp_region(nest, 0, range);
        for (int p = 0; p < 2; p++)
            assert_close(hp_op_seconds(nest, 1u << p, range, all_operands, &at),
                         1e-6 + (double)hp_box_elements(&box) * cases[i].operations[p] / 1e6);
        hypar_graph_free(graph);
    }
}

/* y = x w + b, whose x, w and b are in fp32: three kernels read 4 bytes of an element and write
 * 2, and the product is as before. Its backward half converts three gradients. */
static void autocast_converts_what_products_read(void **state)
{
    (void)state;
    struct hypar_graph *graph = graph_of(OP_LINEAR, "n c");
    struct hypar_device device = measured_device();
    const struct nest *nest = last_nest(graph);
    struct range range[MAX_AXES];
    hp_whole_ranges(nest, range);
    struct kernel_place plain = { .device = &device,
                                  .precision = HYPAR_BF16,
                                  .kernels = HYPAR_KERNELS_EAGER },
                        autocast = plain;
    autocast.autocast = true;
    double converted_s = 0;
    for (int o = 0; o < nest->n_inputs; o++) {
        struct box box = hp_region(nest, o, range);
        converted_s += 1e-6 + 6 * (double)hp_box_elements(&box) / (1e9 * 0.5);
    }
    for (int backward = 0; backward < 2; backward++) {
        uint32_t passes = backward ? all_passes(nest) & ~1u : 1;
        assert_close(hp_op_seconds(nest, passes, range, all_operands, &autocast) -
                         hp_op_seconds(nest, passes, range, all_operands, &plain),
                     converted_s);
    }
    hypar_graph_free(graph);
}

/* One by one a framework writes a loss's terms and reads them again, in a second kernel. */
static void losses_are_two_kernels(void **state)
{
    (void)state;
    struct hypar_graph *graph = graph_of(OP_MSE_LOSS, "n c");
    struct hypar_device device = measured_device();
    struct range range[MAX_AXES];
    const struct nest *nest = last_nest(graph);
    hp_whole_ranges(nest, range);
    struct box box = hp_region(nest, 0, range);
    double bytes = 4. * (2 * (double)hp_box_elements(&box) + 1);
    for (int f = 0; f < 2; f++) {
        enum hypar_kernel_mode framework = f ? HYPAR_KERNELS_EAGER : HYPAR_KERNELS_COMPILED;
        struct kernel_place at = { .device = &device,
                                   .precision = HYPAR_FP32,
                                   .kernels = framework };
        assert_close(hp_op_seconds(nest, 1, range, all_operands, &at),
                     (1 + f) * (1e-6 + bytes / (1e9 * 0.25)));
    }
    hypar_graph_free(graph);
}

static void classes_follow_from_what_is_reduced(void **state)
{
    (void)state;
    static const struct {
        enum op_kind kind;
        const char *label;
        int pass;
        enum kernel_class class;
    } cases[] = {
        { OP_LINEAR, "n c", 0, KERNEL_PRODUCT },
        { OP_LINEAR, "n c", 3, KERNEL_COLUMN }, /* db */
        { OP_LAYER_NORM, "n t c", 0, KERNEL_ROW },
        { OP_LAYER_NORM, "n t c", 1, KERNEL_STREAM },
        { OP_LAYER_NORM, "n t c", 4, KERNEL_COLUMN },
        { OP_RELU, "n c", 0, KERNEL_STREAM },
        { OP_MSE_LOSS, "n c", 0, KERNEL_ROW }, /* one number: no columns */
        { OP_MAX_POOL, "halving", 0, KERNEL_WINDOW },
        { OP_ROPE, "three heads", 0, KERNEL_ROTATION },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_graph *graph = graph_of(cases[i].kind, cases[i].label);
        assert_int_equal(hp_kernel_class(last_nest(graph), cases[i].pass), cases[i].class);
        hypar_graph_free(graph);
    }
}

/* Written out they are as slow as a library's windows. */
static void rotations_stream_as_one_kernel(void **state)
{
    (void)state;
    struct hypar_device device = measured_device();
    device.kernels.stream_efficiency = 0.5;
    device.kernels.window_efficiency = 0.125;
    struct hypar_graph *graph = graph_of(OP_ROPE, "three heads");
    for (int how = 0; how < 3; how++) {
        struct kernel_place at = { .device = &device,
                                   .precision = HYPAR_FP32,
                                   .kernels =
                                       how == 1 ? HYPAR_KERNELS_COMPILED : HYPAR_KERNELS_EAGER,
                                   .fused_norms = how == 2 };
        struct kernel rotation = { .class = hp_kernel_class(last_nest(graph), 0),
                                   .bytes = 6e9 };
        double kernel_s = device.kernels.kernel_s, all_s = 6e9 / device.memory_bytes_per_s;
        assert_close(hp_kernel_seconds(&rotation, &at), kernel_s + all_s / (how ? 0.5 : 0.125));
    }
    hypar_graph_free(graph);
}

/* Of causal attention's scores each part computes what its queries see, counted one by one, and
 * 192 keys more for each. */
static void causal_attention_computes_what_is_seen(void **state)
{
    (void)state;
    const struct case_input x = { CASE_ACT, { 3, { 2, 700, 8 } } };
    const struct op_case long_case = {
        OP_ATTENTION,
        "long",
        { x, x, x },
        3,
        ATTRS({ ATTR_HEADS, 1, V(2) }, { ATTR_CAUSAL, 1, V(1) }),
        0,
    };
    struct hypar_graph *graph = op_case_build(&long_case);
    const struct nest *nest = last_nest(graph);
    struct hypar_device device = measured_device();
    device.kernels.attention_efficiency = 1;
    device.kernels.attention_keys = 192;
    struct kernel_place at = { .device = &device,
                               .precision = HYPAR_FP64,
                               .kernels = HYPAR_KERNELS_EAGER };
    int q = hp_nest_axis(nest, 'q'), s = hp_nest_axis(nest, 's');
    double bytes[MAX_OPERANDS];
    struct kernel_pass pass = { .bytes = bytes };
    for (int part = 0; part < 7 * 7 * 7 * 7; part++) {
        int from = part % 7, to = part / 7 % 7, first = part / 49 % 7, last = part / 343;
        struct range range[MAX_AXES];
        double seen = 0;
        if (to < from || last < first)
            continue;
        hp_whole_ranges(nest, range);
        range[q] = (struct range){ 100 * from, 100 * (to + 1) };
        range[s] = (struct range){ 100 * first, 100 * (last + 1) };
        for (int64_t i = range[q].lo; i < range[q].hi; i++)
            for (int64_t j = range[s].lo; j < range[s].hi; j++)
                seen += j <= i;
        double queries = 100 * (to - from + 1);
        double computed = seen > 0 ? seen + queries * 192 : 0;
        hp_kernel_pass(nest, 1, range, &at, &pass); /* y: 2 samples of 2 heads of 4 */
        if (fabs(pass.arithmetic_s - 2 * computed * 2 * 2 * 4 / (1e12 * 0.8)) > 1e-18)
            fail_msg("queries %d to %d, keys %d to %d", from, to, first, last);
    }
    hypar_graph_free(graph);
}

static struct hypar_graph *attention_of(int64_t tokens, int64_t width, bool causal)
{
    const struct case_input x = { CASE_ACT, { 3, { 2, tokens, 2 * width } } };
    const struct op_case made = {
        OP_ATTENTION,
        "made",
        { x, x, x },
        3,
        ATTRS({ ATTR_HEADS, 1, V(2) }, { ATTR_CAUSAL, 1, V(causal) }),
        0,
    };
    return op_case_build(&made);
}

/* 2 samples of 2 heads: products of 2 x tokens^2 x width in the forward half, 5 in the backward
 * half, at the share of their half, of heads of this width, and of the generation; queries see
 * keys, of which causal ones count 1.5, and cost 16 more. The first FlashAttention is as fast
 * for all widths as half of the second at 128, but no faster than the second: 0.5 x (1 + 24 /
 * d) / (1 + 24 / 128) of it. The time that a kernel takes longer than the best one forward
 * takes 0.65 of the joules. */
static void attention_has_a_rate_of_its_own(void **state)
{
    (void)state;
    static const struct {
        int64_t tokens, width;
        bool causal;
        enum hypar_attention kernel;
        double forward, backward; /* shares of generation and half */
    } cases[] = {
        { 64, 8, false, HYPAR_ATTENTION_FUSED, 1.25, 0.5 },
        { 64, 32, false, HYPAR_ATTENTION_FLASH3, 1.25, 0.5 },
        { 128, 8, true, HYPAR_ATTENTION_FLASH2, 0.75, 0.3 },
        { 128, 160, true, HYPAR_ATTENTION_FLASH1, 0.363157894736842, 0.145263157894737 },
        { 128, 32, true, HYPAR_ATTENTION_FLASH1, 0.552631578947368, 0.221052631578947 },
        { 128, 8, true, HYPAR_ATTENTION_FLASH1, 0.75, 0.3 },
    };
    struct hypar_device device = measured_device();
    device.kernels.attention_efficiency = 1.25;
    device.kernels.attention_backward = 0.5;
    device.kernels.attention_width = 24;
    device.kernels.attention_keys = 16;
    device.kernels.attention_causal = 1.5;
    device.kernels.flash2_share = 0.6;
    device.power_limit_w = 1e12;
    device.fp32_op_j = 3;
    device.vector_op_j = 5; /* of softmax: in those of products */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hypar_graph *graph =
            attention_of(cases[i].tokens, cases[i].width, cases[i].causal);
        const struct nest *nest = last_nest(graph);
        struct kernel_place at = { .device = &device,
                                   .precision = HYPAR_FP32,
                                   .kernels = HYPAR_KERNELS_EAGER,
                                   .attention = cases[i].kernel };
        double bytes[MAX_OPERANDS], half_s[2] = { 0, 0 }, half_j[2] = { 0, 0 };
        double t = (double)cases[i].tokens, d = (double)cases[i].width;
        double seen = cases[i].causal ? (t + 1) / 2 / t : 1;
        struct kernel_pass pass = { .bytes = bytes };
        struct range range[MAX_AXES];
        hp_whole_ranges(nest, range);
        for (int p = 0; p < nest->n_passes; p++) {
            double other_s = seen * nest->pass[p].other / (2e12 * 0.8);
            hp_kernel_pass(nest, p, range, &at, &pass);
            if (!nest->pass[p].n_products)
                continue;
            half_s[nest->pass[p].backward] += pass.arithmetic_s - other_s;
            half_j[nest->pass[p].backward] += pass.arithmetic_j;
        }
        double keys = (cases[i].causal ? 1.5 * (t + 1) / 2 : t) + 16;
        double product_s = 2. * 2 * 2 * t * keys * d * (1 + 24 / d) / (2e12 * 0.8);
        expect_within("forward", half_s[0], 2 * product_s / cases[i].forward);
        expect_within("backward", half_s[1], 5 * product_s / cases[i].backward);
        double dense_j = 3 * product_s * (2e12 * 0.8) / 1.25; /* 3 J an operation */
        expect_within("joules forward", half_j[0],
                      2 * dense_j * (1 + 0.65 * (1.25 / cases[i].forward - 1)));
        expect_within("joules backward", half_j[1],
                      5 * dense_j * (1 + 0.65 * (1.25 / cases[i].backward - 1)));
        hypar_graph_free(graph);
    }
}

/* 6 x 9 x 7 multiply-adds of 5 pJ an operation, and 4 bytes of each of 6 x 9 + 9 x 7 + 7 + 6 x
 * 7 elements of 8 pJ: at a limit 10 W above what is taken idle, or without one. */
static void a_kernel_keeps_to_the_power_limit(void **state)
{
    (void)state;
    struct hypar_graph *graph = graph_of(OP_LINEAR, "n c");
    const struct nest *nest = last_nest(graph);
    struct hypar_device device = measured_device();
    struct kernel_place at = { .device = &device,
                               .precision = HYPAR_FP32,
                               .kernels = HYPAR_KERNELS_EAGER };
    struct range range[MAX_AXES];
    hp_whole_ranges(nest, range);
    double free_s = hp_op_seconds(nest, 1, range, all_operands, &at);
    device.fp32_op_j = 5;
    device.vector_op_j = 3;
    device.dram_access_j = 32;
    device.idle_w = 4;
    double joules = 2. * 6 * 9 * 7 * 5 + nest->pass[0].other * 3 +
                    4. * (6 * 9 + 9 * 7 + 7 + 6 * 7) * 8,
           before = INFINITY;
    assert_close(hp_op_seconds(nest, 1, range, all_operands, &at), free_s); /* no limit */
    for (double limit_w = 5; limit_w < 1e12; limit_w *= 3) {
        device.power_limit_w = limit_w;
        double seconds = hp_op_seconds(nest, 1, range, all_operands, &at);
        expect_within("at the limit", seconds, fmax(free_s, joules / (limit_w - 4)));
        assert_true(seconds <= before);
        before = seconds;
    }
    device.power_limit_w = 14; /* an energy that is not known: large products reach the limit */
    device.fp32_op_j = device.vector_op_j = device.dram_access_j = 0;
    struct work work = { .macs = 8e11 }; /* a second at 0.8 of the peak */
    assert_close(hp_work_energy(&work, &device, HYPAR_FP32).arithmetic_j, 10);
    assert_close(hp_work_energy(&work, &device, HYPAR_BF16).arithmetic_j, 2.5);
    hypar_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_the_multiply_adds),
        cmocka_unit_test(nothing_measured_is_the_roofline),
        cmocka_unit_test(unlike_machines_are_rooflines),
        cmocka_unit_test(products_run_at_the_rate_of_their_shape),
        cmocka_unit_test(a_kernel_touches_a_tensor_once),
        cmocka_unit_test(columns_go_by_elements),
        cmocka_unit_test(vectors_have_a_rate),
        cmocka_unit_test(autocast_converts_what_products_read),
        cmocka_unit_test(losses_are_two_kernels),
        cmocka_unit_test(classes_follow_from_what_is_reduced),
        cmocka_unit_test(rotations_stream_as_one_kernel),
        cmocka_unit_test(causal_attention_computes_what_is_seen),
        cmocka_unit_test(attention_has_a_rate_of_its_own),
        cmocka_unit_test(a_kernel_keeps_to_the_power_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
