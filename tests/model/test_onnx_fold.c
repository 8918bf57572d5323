/* Constant folding while an ONNX file is read: each operator on constants, as ONNX defines it.
 * A case has nodes that write `c`, and the type, shape and values of `c`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model/onnx/onnx.h"
#include "tests/onnx_text.h"

/* clang-format off */
static const struct fold {
    const char *nodes, *result; /* "!": it is refused with this text */
} folds[] = {
#define A(tensor) "node Constant a -> a value@" tensor "; "
#define B(tensor) "node Constant b -> b value@" tensor "; "
#define D(tensor) "node Constant d -> d value@" tensor "; "
#define E(tensor) "node Constant e -> e value@" tensor "; "
#define ONE(op) "node " op " f a -> c"
#define TWO(op) "node " op " f a b -> c"
    /* one by one */
    { A("float:4=4,0,2.25,1") ONE("Sqrt"), "FLOAT 4: 2 0 1.5 1" },
    { A("float:2=0,1") ONE("Exp"), "FLOAT 2: 1 2.71828" },
    { A("float:2=1,2") ONE("Log"), "FLOAT 2: 0 0.693147" },
    { A("float:1=-1") ONE("Log"), "!not known of constants" },
    { A("float:4=1.5,-1.5,2,-0.25") ONE("Floor"), "FLOAT 4: 1 -2 2 -1" },
    { A("float:4=1.5,-1.5,2,0.25") ONE("Ceil"), "FLOAT 4: 2 -1 2 1" },
    { A("float:5=0.5,1.5,2.5,-0.75,3") ONE("Round"), "FLOAT 5: 0 2 2 -1 3" },
    { A("int32:2=-3,4") ONE("Abs"), "INT32 2: 3 4" },
    { A("float:2=0,1") ONE("Erf"), "FLOAT 2: 0 0.842701" },
    { A("float:2=0,1") ONE("Sin"), "FLOAT 2: 0 0.841471" },
    { A("float:2=0,1") ONE("Cos"), "FLOAT 2: 1 0.540302" },
    { A("float:2=0,1") ONE("Tanh"), "FLOAT 2: 0 0.761594" },
    { A("int64:2=-3,4") ONE("Neg"), "INT64 2: 3 -4" },
    { A("bool:3=1,0,1") ONE("Not"), "BOOL 3: 0 1 0" },
    { A("float:2=4,-2") ONE("Reciprocal"), "FLOAT 2: 0.25 -0.5" },
    { A("float:3=-1,0,2") ONE("Relu"), "FLOAT 3: 0 0 2" },
    { A("float:2=0,1") ONE("Sigmoid"), "FLOAT 2: 0.5 0.731059" },
    { A("float:=9") ONE("Sqrt"), "FLOAT : 3" },
    { A("float:0=") ONE("Sqrt"), "FLOAT 0:" },
    /* two by two */
    { A("int64:2=7,-7") B("int64:2=2,2") TWO("Add"), "INT64 2: 9 -5" },
    { A("int64:2=7,-7") B("int64:=2") TWO("Sub"), "INT64 2: 5 -9" },
    { A("float:2x1=1,2") B("float:3=1,10,100") TWO("Mul"), "FLOAT 2x3: 1 10 100 2 20 200" },
    { A("int64:2=7,-7") B("int64:2=2,2") TWO("Div"), "INT64 2: 3 -3" },
    { A("float:2=7,-7") B("float:2=2,2") TWO("Div"), "FLOAT 2: 3.5 -3.5" },
    { A("int64:1=7") B("int64:1=0") TWO("Div"), "INT64 1: nan" },
    { A("float:2=2,3") B("float:2=3,2") TWO("Pow"), "FLOAT 2: 8 9" },
    { A("int64:4=7,-7,7,-7") B("int64:4=3,3,-3,-3") TWO("Mod"), "INT64 4: 1 2 -2 -1" },
    { A("int64:4=7,-7,7,-7") B("int64:4=3,3,-3,-3") TWO("Mod") " fmod=1", "INT64 4: 1 -1 1 -1" },
    { A("int64:1=7") B("int64:1=0") TWO("Mod"), "INT64 1: nan" },
    { A("int64:2=1,5") B("int64:=3") TWO("Min"), "INT64 2: 1 3" },
    { A("int64:2=1,5") B("int64:=3") TWO("Max"), "INT64 2: 3 5" },
    { A("bool:4=0,0,1,1") B("bool:4=0,1,0,1") TWO("And"), "BOOL 4: 0 0 0 1" },
    { A("bool:4=0,0,1,1") B("bool:4=0,1,0,1") TWO("Or"), "BOOL 4: 0 1 1 1" },
    { A("int64:3=1,2,3") B("int64:=2") TWO("Equal"), "BOOL 3: 0 1 0" },
    { A("int64:3=1,2,3") B("int64:=2") TWO("Greater"), "BOOL 3: 0 0 1" },
    { A("int64:3=1,2,3") B("int64:=2") TWO("GreaterOrEqual"), "BOOL 3: 0 1 1" },
    { A("int64:3=1,2,3") B("int64:=2") TWO("Less"), "BOOL 3: 1 0 0" },
    { A("int64:3=1,2,3") B("int64:=2") TWO("LessOrEqual"), "BOOL 3: 1 1 0" },
    { A("int64:=4") B("int64:1x1=2") TWO("Add"), "INT64 1x1: 6" },
    { A("float:2=1,2") B("float:3=1,2,3") TWO("Add"), "!the shapes of its inputs do not fit together" },
    { A("float:2=1,2") "node Min f a a a -> c", "!3 inputs" },
    { A("float:2=1,2") "node Min f a -> c", "FLOAT 2: 1 2" },
    { A("float:0=") B("float:=2") TWO("Mul"), "FLOAT 0:" },
    { A("bool:2=1,0") B("int64:2x1=1,2") D("int64:=9") "node Where f a b d -> c", "INT64 2x2: 1 9 2 9" },
    { A("bool:2=1,0") B("int64:3=1,2,3") D("int64:=9") "node Where f a b d -> c", "!the shapes of its inputs do not fit together" },
    { A("bool:2=1,0") B("int64:2=1,2") D("int64:3=1,2,3") "node Where f a b d -> c", "!the shapes of its inputs do not fit together" },
    { A("bool:2=1,0") B("int64:2=1,2") "node Where f a b -> c", "!an input is missing" },
    /* from nothing */
    { "node Constant f -> c value_int=7", "INT64 : 7" },
    { "node Constant f -> c value_ints=7,8", "INT64 2: 7 8" },
    { "node Constant f -> c value_float:2.5", "FLOAT : 2.5" },
    { "node Constant f -> c value_string'x", "!a constant without numbers" },
    { A("int64:2=2,3") "node ConstantOfShape f a -> c", "FLOAT 2x3: 0 0 0 0 0 0" },
    { A("int64:2=2,1") "node ConstantOfShape f a -> c value@int64:1=5", "INT64 2x1: 5 5" },
    { A("int64:0=") "node ConstantOfShape f a -> c value@int64:1=5", "INT64 : 5" },
    { A("int64:1=-2") "node ConstantOfShape f a -> c", "!a shape with -2 in dimension 0" },
    { A("int64:7=1,1,1,1,1,1,1") "node ConstantOfShape f a -> c", "!7 values, expected at most 6" },
    { A("int64:2=1073741824,1073741824") "node ConstantOfShape f a -> c", "!a shape of 2^50 elements or more" },
    { A("int64:=2") B("int64:=9") D("int64:=3") "node Range f a b d -> c", "INT64 3: 2 5 8" },
    { A("float:=1") B("float:=-0.5") D("float:=-0.5") "node Range f a b d -> c", "FLOAT 3: 1 0.5 0" },
    { A("int64:=2") B("int64:=1") D("int64:=3") "node Range f a b d -> c", "INT64 0:" },
    { A("int64:=2") B("int64:=9") D("int64:=0") "node Range f a b d -> c", "!a range that takes steps of 0" },
    { A("int64:=2") B("int64:=2") D("int64:=0") "node Range f a b d -> c", "!a range that takes steps of 0" },
    { A("int64:2=2,3") B("int64:=9") D("int64:=1") "node Range f a b d -> c", "!start, limit and step are not known" },
    { A("int64:=2") B("int64:=9") "node Range f a b -> c", "!start, limit and step are not known" },
    /* shapes */
#define ZEROS "node ConstantOfShape z a -> z; node "
    { A("int64:2=2,3") ZEROS "Shape f z -> c", "INT64 2: 2 3" },
    { A("int64:3=2,3,4") ZEROS "Shape f z -> c start=-2", "INT64 2: 3 4" },
    { A("int64:3=2,3,4") ZEROS "Shape f z -> c start=-9 end=-1", "INT64 2: 2 3" },
    { A("int64:3=2,3,4") ZEROS "Shape f z -> c start=1 end=9", "INT64 2: 3 4" },
    { A("int64:3=2,3,4") ZEROS "Shape f z -> c start=2 end=1", "INT64 0:" },
    { A("float:=1") ONE("Shape"), "INT64 0:" },
    { A("int64:2x3=1,2,3,4,5,6") ONE("Size"), "INT64 : 6" },
    { A("int64:2x3=1,2,3,4,5,6") B("int64:2=3,-1") TWO("Reshape"), "INT64 3x2: 1 2 3 4 5 6" },
    { A("int64:2x3=1,2,3,4,5,6") B("int64:2=0,3") TWO("Reshape"), "INT64 2x3: 1 2 3 4 5 6" },
    { A("int64:0=") B("int64:2=0,4") TWO("Reshape") " allowzero=1", "INT64 0x4:" },
    { A("int64:2x3=1,2,3,4,5,6") B("int64:1=5") TWO("Reshape"), "!6 elements do not fit a shape of 5" },
    { A("int64:2x3=1,2,3,4,5,6") B("int64:2=-1,4") TWO("Reshape"), "!6 elements do not fit a shape of 0" },
    { A("int64:2x3=1,2,3,4,5,6") B("int64:2=-1,-1") TWO("Reshape"), "!a shape with -1 in dimension 1" },
    { A("int64:2x1x2=1,2,3,4") ONE("Flatten"), "INT64 2x2: 1 2 3 4" },
    { A("int64:2x1x2=1,2,3,4") ONE("Flatten") " axis=-1", "INT64 2x2: 1 2 3 4" },
    { A("int64:2x1x2=1,2,3,4") ONE("Flatten") " axis=0", "INT64 1x4: 1 2 3 4" },
    { A("int64:2x1x2=1,2,3,4") ONE("Squeeze"), "INT64 2x2: 1 2 3 4" },
    { A("int64:1x1x2=1,2") B("int64:1=-2") TWO("Squeeze"), "INT64 1x2: 1 2" },
    { A("int64:1x1x2=1,2") B("int64:2=1,1") TWO("Squeeze"), "!dimension 1 twice" },
    { A("int64:1x1x2=1,2") B("int64:1=3") TWO("Squeeze"), "!dimension 3 of a tensor that has 3" },
    { A("int64:2=1,2") B("int64:2=0,-1") TWO("Unsqueeze"), "INT64 1x2x1: 1 2" },
    { A("int64:2=1,2") ONE("Unsqueeze"), "!the list of axes is missing" },
    { A("int64:2=1,2") B("int64:6=0,1,2,3,4,5") TWO("Unsqueeze"), "!7 dimensions, expected at most 6" },
    { A("int64:2=1,2") ONE("Unsqueeze") " axes=0,1,2,3,4,5,6", "!attribute 'axes' has 7 values" },
    { A("int64:2=1,2") ONE("Identity"), "INT64 2: 1 2" },
    { A("float:4=1.75,-1.75,0,3") ONE("Cast") " to=7", "INT64 4: 1 -1 0 3" },
    { A("float:4=1.75,-1.75,0,3") ONE("Cast") " to=9", "BOOL 4: 1 1 0 1" },
    { A("int64:2=1,2") ONE("Cast") " to=1", "FLOAT 2: 1 2" },
    { A("int64:2=1,2") ONE("Cast") " to=14", "!element type COMPLEX64 is not supported" },
    { A("int64:2=1,2") ONE("Cast") " to=99", "!element type of an unknown number is not supported" },
    { A("int64:2x3=1,2,3,4,5,6") ONE("Transpose"), "INT64 3x2: 1 4 2 5 3 6" },
    { A("int64:2x1x3=1,2,3,4,5,6") ONE("Transpose") " perm=2,1,0", "INT64 3x1x2: 1 4 2 5 3 6" },
    { A("int64:2x3=1,2,3,4,5,6") ONE("Transpose") " perm=0,2", "!'perm' is no permutation of 0 to 1" },
    /* pieces */
#define SLICE "node Slice f a b d e -> c"
    { A("int64:5=1,2,3,4,5") B("int64:1=1") D("int64:1=-1") E("int64:1=0") SLICE, "INT64 3: 2 3 4" },
    { A("int64:5=1,2,3,4,5") B("int64:1=-9") D("int64:1=99") E("int64:1=-1") SLICE, "INT64 5: 1 2 3 4 5" },
    { A("int64:2x3=1,2,3,4,5,6") B("int64:2=1,0") D("int64:2=2,2") "node Slice f a b d -> c", "INT64 1x2: 4 5" },
    { A("int64:5=1,2,3,4,5") B("int64:1=-1") D("int64:1=-99") E("int64:1=0") "node Constant g -> g value@int64:1=-2; node Slice f a b d e g -> c", "INT64 3: 5 3 1" },
    { A("int64:5=1,2,3,4,5") B("int64:1=0") D("int64:1=5") E("int64:1=0") "node Constant g -> g value@int64:1=3; node Slice f a b d e g -> c", "INT64 2: 1 4" },
    { A("int64:5=1,2,3,4,5") B("int64:1=0") D("int64:1=5") E("int64:1=0") "node Constant g -> g value@int64:1=0; node Slice f a b d e g -> c", "!a step of 0" },
    { A("int64:5=1,2,3,4,5") B("int64:1=3") D("int64:1=2") E("int64:1=0") SLICE, "INT64 0:" },
    { A("int64:5=1,2,3,4,5") B("int64:1=3") D("int64:1=2") E("int64:1=1") SLICE, "!dimension 1 of a tensor that has 1" },
    { A("int64:2=1,2") "node Slice f a -> c", "!starts, ends, axes and steps do not match" },
    { A("int64:1x2=1,2") B("int64:1x2=3,4") "node Concat f a b a -> c axis=-1", "INT64 1x6: 1 2 3 4 1 2" },
    { A("int64:1x2=1,2") B("int64:1x2=3,4") TWO("Concat") " axis=0", "INT64 2x2: 1 2 3 4" },
    { A("int64:1x2=1,2") B("int64:1x3=3,4,5") TWO("Concat") " axis=0", "!input 1 has 3 in dimension 1, expected 2" },
    { A("int64:1x2=1,2") "node Concat f a _ -> c axis=0", "!an input is missing" },
    { A("int64:2x1=1,2") B("int64:3=2,2,3") TWO("Expand"), "INT64 2x2x3: 1 1 1 2 2 2 1 1 1 2 2 2" },
    { A("int64:2=1,2") ONE("Expand"), "!the shape is missing" },
    { A("int64:2=1,2") B("int64:1=-2") TWO("Expand"), "!a shape with -2 in dimension 0" },
    { A("int64:3=5,6,7") B("int64:2=-1,0") TWO("Gather"), "INT64 2: 7 5" },
    { A("int64:2x2=1,2,3,4") B("int64:2x1=1,0") TWO("Gather") " axis=1", "INT64 2x2x1: 2 1 4 3" },
    { A("int64:2x2=1,2,3,4") B("int64:=1") TWO("Gather"), "INT64 2: 3 4" },
    { A("int64:3=5,6,7") B("int64:0=") TWO("Gather"), "INT64 0:" },
    { A("int64:3=5,6,7") B("int64:1=-4") TWO("Gather"), "!index -4 of a dimension of 3" },
    { A("int64:3=5,6,7") B("int64:1=0") TWO("Gather") " axis=1", "!dimension 1 of a tensor that has 1" },
    { A("int64:1x1x1x1=5") B("int64:1x1x1x1=0") TWO("Gather"), "!7 dimensions, expected at most 6" },
    /* all into one */
    { A("int64:2x2=1,2,3,4") ONE("ReduceSum"), "INT64 1x1: 10" },
    { A("int64:2x2=1,2,3,4") ONE("ReduceProd") " keepdims=0", "INT64 : 24" },
    { A("float:2x2=1,2,3,4") ONE("ReduceMean") " keepdims=0", "FLOAT : 2.5" },
    { A("int64:4=1,-2,3,0") ONE("ReduceMax") " keepdims=0", "INT64 : 3" },
    { A("int64:4=1,-2,3,0") ONE("ReduceMin") " axes=0, keepdims=0", "INT64 : -2" },
    { A("int64:2x2=1,2,3,4") ONE("ReduceSum") " axes=0,", "an input" },
    { A("int64:0=") ONE("ReduceSum"), "an input" },
    { A("int64:3x3=1,2,3,4,5,6,7,8,9") ONE("Trilu"), "INT64 3x3: 1 2 3 0 5 6 0 0 9" },
    { A("int64:3x3=1,2,3,4,5,6,7,8,9") ONE("Trilu") " upper=0", "INT64 3x3: 1 0 0 4 5 0 7 8 9" },
    { A("int64:2x2=1,2,3,4") B("int64:=1") TWO("Trilu"), "INT64 2x2: 0 2 0 0" },
    { A("int64:2x2x1=1,2,3,4") B("int64:=-1") TWO("Trilu") " upper=0", "INT64 2x2x1: 0 2 0 4" },
    { A("int64:2=1,2") ONE("Trilu"), "!1 dimensions, expected at least 2" },
};
/* clang-format on */

static void show(const struct value *v, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "%s ", hp_onnx_type_name(v->type));
    for (int d = 0; d < v->shape.n_dims; d++)
        n += (size_t)snprintf(text + n, size - n, "%s%lld", d ? "x" : "",
                              (long long)v->shape.dim[d]);
    n += (size_t)snprintf(text + n, size - n, ":");
    for (int64_t i = 0; i < hp_onnx_elements(&v->shape) && n < size; i++)
        n += (size_t)snprintf(text + n, size - n, " %.6g", hp_onnx_element(v, i) + 0);
}

/* The value of `c`, or "!" and why there is none. */
static void fold(const char *nodes, char *text, size_t size)
{
    struct hypar_error err = { 0 };
    struct onnx_file *file;
    if (hp_onnx_open_stream(&file, onnx_text_stream(nodes), "fold", &err) != HYPAR_OK)
        fail_msg("%s: %s", nodes, err.text);
    struct importing im = { .err = &err, .file = file, .batch = 3, .b = hp_build("fold", 3) };
    enum hypar_status status = HYPAR_OK;
    for (int i = 0; i < file->n_nodes && status == HYPAR_OK; i++) {
        im.node = &file->node[i];
        status = hp_onnx_node(&im);
    }
    if (status == HYPAR_OK && hp_onnx_find(&im, "c")->kind == VALUE_NUMBERS) {
        snprintf(text, size, "an input"); /* it is not computed, but its shape is known */
    } else if (status == HYPAR_OK) {
        assert_int_equal(hp_onnx_find(&im, "c")->kind, VALUE_CONSTANT);
        show(hp_onnx_find(&im, "c"), text, size);
    } else {
        snprintf(text, size, "!%s", err.text);
    }
    hp_build_abandon(im.b);
    hp_arena_free(&im.arena);
    hp_onnx_close(file);
}

static void test_folds(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof folds / sizeof folds[0]; i++) {
        char text[1024];
        const char *want = folds[i].result;
        fold(folds[i].nodes, text, sizeof text);
        if (*want == '!' ? *text != '!' || !strstr(text, want + 1) : strcmp(text, want) != 0)
            print_error("%s\n    is       %s\n    expected %s\n", folds[i].nodes, text, want),
                wrong++;
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folds),
    };
    if (strstr(hypar_features(), "protobuf-c: no"))
        return 77; /* nothing to test */
    return cmocka_run_group_tests_name("model/onnx_fold", tests, NULL, NULL);
}
