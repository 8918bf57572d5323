/* Operators made from the extents of their axes. */
#include "fit/one_op.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct one_op op_of(const char *kind, const char *shape, const char *passes)
{
    struct one_op op;
    struct hypar_error err = { 0 };
    if (hp_one_op(&op, kind, shape, passes, &err) != HYPAR_OK)
        fail_msg("%s %s %s: %s", kind, shape, passes, err.text);
    return op;
}

/* Extents as written are those of the nest, and the passes are as many. */
static void extents_are_those_of_the_text(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *shape, *passes;
        int n_passes;
        double macs; /* of the first */
    } cases[] = {
        { "linear", "n=8192 c=768 k=2304", "y", 1, 8192. * 768 * 2304 },
        { "linear", "n=8 t=1024 c=768 k=2304", "dw", 1, 8192. * 768 * 2304 },
        { "linear", "n=8,c=3,out=5", "y+dx+dw+db", 4, 8. * 3 * 5 },
        { "conv", "n=128 c=64 h=56 w=56 k=64 kernel=3 stride=1 pad=1", "y", 1,
          128. * 64 * 56 * 56 * 64 * 9 },
        { "conv", "n=2 c=3 h=112 w=112 k=64 kernel=7x7 stride=2x2 pad=3", "dw", 1,
          2. * 3 * 112 * 112 * 64 * 49 },
        { "conv", "n=2 c=3 h=10 k=4 i=3 pad=1", "y", 1, 2. * 3 * 10 * 4 * 3 },
        { "conv", "n=2 c=3 h=10 w=10 k=4 i=3 j=5 pad=1x2x1x2", "y", 1,
          2. * 3 * 10 * 10 * 4 * 15 },
        { "group_conv", "n=2 g=32 c=1 k=1 h=14 w=14 kernel=3 pad=1", "y", 1,
          2. * 32 * 14 * 14 * 9 },
        { "embedding", "n=8 t=1024 v=50257 k=768", "dw", 1, 0 },
        { "matmul", "n=8 b=12 m=64 k=32 c=16", "z", 1, 8. * 12 * 64 * 32 * 16 },
        { "matmul", "n=8 b=12 m=64 k=32 c=16 transposed=1", "dy", 1, 8. * 12 * 64 * 32 * 16 },
        { "attention", "n=8 q=1024 s=1024 d=64 e=64 heads=12 causal=1", "m+y", 2, -1 },
        { "attention", "n=8 a=4 g=3 q=128 s=256 d=64 e=64", "t+dx+dk+dv", 4, 0 },
        { "max_pool", "n=8 c=64 h=56 w=56 kernel=3 stride=2 pad=1", "dx", 1, 0 },
        { "lrn", "n=8 c=96 h=55 w=55 size=5", "y", 1, 0 },
        { "batch_norm", "n=32 c=64 h=56 w=56", "s+y", 2, 0 },
        { "batch_norm", "n=32 c=64", "g+dx+dw+db", 4, 0 },
        { "layer_norm", "n=8 t=1024 c=768", "s+y", 2, 0 },
        { "group_norm", "n=8 g=32 c=4 h=8 w=8", "s+y", 2, 0 },
        { "cross_entropy", "n=8192 c=50257", "m+y", 2, 0 },
        { "lstm", "n=20 t=35 c=650 k=650", "y", 1, 2. * 4 * 20 * 35 * 650 * 650 },
        { "rope", "n=8 t=128 heads=12 d=64", "y", 1, 0 },
        { "add", "n=8 t=1024 c=768", "z", 1, 0 },
        { "gelu", "n=8 c=768", "dx", 1, 0 },
        { "relu", "n=8 c=64 h=7 w=7", "y", 1, 0 },
        { "relu", "z=8 c=64", "y", 1, 0 },
        { "relu", "t=8 n=64 c=4", "y", 1, 0 },
        { "concat", "n=8 c=64 h=7 w=7 axis=1", "y", 1, 0 },
        { "concat", "n=8 c=63 axis=1 inputs=3", "dx", 1, 0 },
        { "transpose", "n=8 t=128 c=64 perm=0x2x1", "y", 1, 0 },
        { "transpose", "n=8,t=12,u=4,c=64,perm=0,2,1,3", "y", 1, 0 },
        { "reduce_mean", "n=8 c=64 h=7 w=7 axes=2x3", "y", 1, 0 },
        { "slice", "n=8 c=64 axis=-1 start=0 stop=32", "dx", 1, 0 },
        { "slice", "n=8 c=32 axis=1 start=32 stop=64", "y", 1, 0 },
        { "global_avg_pool", "n=8 c=64 h=7 w=7", "y", 1, 0 },
        { "dropout", "n=8 t=4 c=64", "y", 1, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct one_op op = op_of(cases[i].kind, cases[i].shape, cases[i].passes);
        int n = 0, first = -1;
        for (int p = 0; p < op.op->nest->n_passes; p++)
            if (op.passes >> p & 1) {
                first = n++ ? first : p;
            }
        assert_int_equal(n, cases[i].n_passes);
        if (cases[i].macs >= 0)
            assert_true(op.op->nest->pass[first].macs == cases[i].macs);
        hypar_graph_free(op.graph);
    }
}

static void windows_have_the_extents_of_results(void **state)
{
    (void)state;
    struct one_op op = op_of("conv", "n=1 c=3 h=112 w=112 k=8 kernel=7 stride=2 pad=3", "y");
    int h = hp_nest_axis(op.op->nest, 'h');
    assert_int_equal(op.op->nest->axis[h].extent, 112);
    assert_int_equal(op.graph->tensors[op.op->tensor[0]].shape.dim[2], 223);
    hypar_graph_free(op.graph);
    op = op_of("lrn", "n=8 c=96 h=55 w=55 size=5", "y");
    assert_int_equal(op.graph->tensors[op.op->tensor[0]].shape.dim[1], 96);
    hypar_graph_free(op.graph);
}

/* A row of the operator table that cannot be written so has no measurements. */
static void every_kind_can_be_written(void **state)
{
    (void)state;
    static const struct {
        enum op_kind kind;
        const char *shape;
    } needs[] = {
        { OP_LINEAR, "n=2 c=4 k=6" },
        { OP_CONV, "n=2 c=4 h=5 w=5 k=6 kernel=3" },
        { OP_GROUP_CONV, "n=2 g=2 c=2 k=3 h=5 w=5 kernel=3" },
        { OP_CONV_TRANSPOSE, "n=2 c=4 h=6 w=6 k=6 kernel=2 stride=2" },
        { OP_GROUP_CONV_TRANSPOSE, "n=2 g=2 c=2 k=3 h=6 w=6 kernel=2 stride=2" },
        { OP_GRU, "n=2 t=3 c=4 k=5" },
        { OP_GRU_CELL, "n=2 c=4 k=5" },
        { OP_ADAPTIVE_MAX_POOL, "n=2 c=4 h=6 w=6 size=6" },
        { OP_ADAPTIVE_AVG_POOL, "n=2 c=4 d=2 h=6 w=6" },
        { OP_RESIZE_NEAREST, "n=2 c=4 h=6 size=6" },
        { OP_RESIZE_LINEAR, "n=2 c=4 h=6 w=6" },
        { OP_CUMSUM, "n=2 c=4 axis=1" },
        { OP_REDUCE_MAX, "n=2 c=4 axes=1" },
        { OP_GATHER_ELEMENTS, "n=2 c=4 axis=1" },
        { OP_INDEX_SELECT, "n=2 c=4 axis=1" },
        { OP_SCATTER_ADD, "n=2 c=4 axis=1" },
        { OP_EMBEDDING, "n=2 v=10 k=4" },
        { OP_LSTM, "n=2 t=3 c=4 k=5" },
        { OP_LSTM_CELL, "n=2 c=4 k=5" },
        { OP_MATMUL, "n=2 m=3 k=4 c=5" },
        { OP_ATTENTION, "n=2 q=3 s=3 heads=2 d=4 e=4" },
        { OP_MAX_POOL, "n=2 c=4 h=5 w=5 kernel=2" },
        { OP_AVG_POOL, "n=2 c=4 h=5 kernel=2" },
        { OP_LRN, "n=2 c=8 h=5 w=5 size=5" },
        { OP_GROUP_NORM, "n=2 g=2 c=4 h=5 w=5" },
        { OP_CLIP, "n=2 c=4 min=0 max=6" },
        { OP_POW, "n=2 c=4 exponent=2" },
        { OP_ROPE, "n=2 t=3 heads=2 d=4" },
        { OP_CONCAT, "n=2 c=4 axis=1" },
        { OP_SPLIT, "n=2 c=4 axis=1 sizes=2x2" },
        { OP_SLICE, "n=2 c=4 axis=1 start=0 stop=2" },
        { OP_PAD, "n=2 c=4 pad=0x1x0x1" },
        { OP_TRANSPOSE, "n=2 t=3 c=4 perm=0x2x1" },
        { OP_RESHAPE, "n=2 c=4 shape=0x2x2" },
        { OP_FLATTEN, "n=2 c=4 h=2 w=2" },
        { OP_SQUEEZE, "n=2 c=1 axes=1" },
        { OP_UNSQUEEZE, "n=2 c=4 axes=1" },
        { OP_EXPAND, "n=2 c=1 shape=2x4" },
        { OP_REDUCE_SUM, "n=2 c=4 axes=1" },
        { OP_REDUCE_MEAN, "n=2 c=4 axes=1" },
        { OP_GLOBAL_AVG_POOL, "n=2 c=4 h=2 w=2" },
        { OP_GLOBAL_MAX_POOL, "n=2 c=4 h=2 w=2" },
    };
    for (int k = 0; k < OP_KIND_COUNT; k++) {
        const char *shape = "n=2 c=4";
        struct one_op op;
        struct hypar_error err = { 0 };
        if (hp_op[k].flags & ROW_OPAQUE)
            continue;
        for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
            if ((int)needs[i].kind == k)
                shape = needs[i].shape;
        if (hp_one_op(&op, hp_op[k].name, shape, "y", &err) != HYPAR_OK &&
            hp_one_op(&op, hp_op[k].name, shape, "z", &err) != HYPAR_OK)
            fail_msg("%s %s: %s", hp_op[k].name, shape, err.text);
        hypar_graph_free(op.graph);
    }
}

static void what_does_not_fit_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *shape, *passes, *message;
    } cases[] = {
        { "lineal", "n=8", "y", "unknown operator 'lineal', did you mean linear?" },
        { "opaque", "n=8", "y", "unknown operator 'opaque'" },
        { "linear", "8192x768", "y", "shape '8192x768', expected words such as n=8" },
        { "linear", "n=8 c=", "y", "shape 'c='" },
        { "linear", "n=8 c=3 k=4 h=7", "y",
          "'h' is no axis or attribute of linear, expected n t u k c, out, transposed" },
        { "linear", "n=8 c=3 k=4 kernel=7", "y", "unknown attribute 'kernel'" },
        { "linear", "n=8 n=8", "y", "'n' is given twice" },
        { "linear", "n=8 k=4", "y", "axis 'c' of linear is missing" },
        { "linear", "n=8 c=1.5 k=4", "y", "'c' is 1.5, expected a whole number from 1" },
        { "linear", "n=8 c=0 k=4", "y", "'c' is 0, expected a whole number from 1" },
        { "linear", "n=8 c=4 k=4 out=5", "y", "'out' is 5, but axis 'k' makes it 4" },
        { "linear", "n=8 c=4 k=4", "z",
          "no pass of linear writes 'z', expected y, dx, dw, db" },
        { "linear", "n=8 c=4 k=4", "", "no pass of linear writes ''" },
        { "linear", "n=8 c=4 k=4", "y+", "no pass of linear writes ''" },
        { "linear", "n=8 c=4 k=4", "y dx", "expected '+' between them" },
        { "relu", "a=1 b=1 c=1 d=1 e=1 f=1 g=1", "y", "7 dimensions of relu, expected 1 to 6" },
        { "relu", "", "y", "0 dimensions of relu" },
        { "relu", "n=8 nc=3", "y",
          "'nc' is no axis or attribute of relu, expected dimensions" },
        { "attention", "n=8 g=3 q=4 s=4 d=8 e=8", "y", "expected 'kv_heads' too" },
        { "concat", "n=8 c=63 axis=1", "y", "expected equal pieces" },
        { "conv", "n=8 c=3 h=7 w=7 k=4", "y", "axis 'i' of conv is missing" },
        { "linear", "n=1099511627776 c=1099511627776 k=2", "y", "expected less than 2^50" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct one_op op;
        struct hypar_error err = { 0 };
        assert_int_not_equal(
            hp_one_op(&op, cases[i].kind, cases[i].shape, cases[i].passes, &err), HYPAR_OK);
        assert_null(op.graph);
        if (!strstr(err.text, cases[i].message))
            fail_msg("%s %s %s: %s", cases[i].kind, cases[i].shape, cases[i].passes, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extents_are_those_of_the_text),
        cmocka_unit_test(windows_have_the_extents_of_results),
        cmocka_unit_test(every_kind_can_be_written),
        cmocka_unit_test(what_does_not_fit_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
