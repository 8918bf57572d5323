/* Elements of files against their bytes, and runs of boxes against counting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "run/elements.h"

/* Each type: bytes as a little-endian file has them, and what they are. */
static const struct {
    enum element type;
    unsigned char bytes[8];
    double value;
} numbers[] = {
    { ELEMENT_U8, { 200 }, 200 },
    { ELEMENT_I8, { 200 }, -56 },
    { ELEMENT_U16, { 1, 0x80 }, 0x8001 },
    { ELEMENT_I16, { 1, 0x80 }, -0x7fff },
    { ELEMENT_U32, { 1, 2, 3, 0x84 }, 0x84030201u },
    { ELEMENT_I32, { 1, 2, 3, 0x84 }, (double)0x84030201u - 0x1p32 },
    { ELEMENT_U64, { 0, 0, 0, 0, 0, 0, 0, 0x80 }, 0x1p63 },
    { ELEMENT_I64, { 0, 0, 0, 0, 0, 0, 0, 0x80 }, -0x1p63 },
    { ELEMENT_I64, { 1, 2, 3, 4, 5, 0, 0, 0 }, 0x0504030201 },
    { ELEMENT_F16, { 0x55, 0x35 }, 0.333251953125 },
    { ELEMENT_F16, { 0x01, 0x80 }, -0x1p-24 },
    { ELEMENT_F16, { 0xff, 0x7b }, 65504 },
    { ELEMENT_F16, { 0x00, 0xfc }, -INFINITY },
    { ELEMENT_BF16, { 0x80, 0xbf }, -1 },
    { ELEMENT_F32, { 0, 0, 0xc0, 0x3f }, 1.5 },
    { ELEMENT_F64, { 0, 0, 0, 0, 0, 0, 0xf8, 0xbf }, -1.5 },
};

static void values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int width = hp_element[numbers[i].type].bytes;
        unsigned char file[1 + 16]; /* two of them, not aligned */
        double out[2];
        int64_t whole[2];
        for (int big = 0; big < 2; big++) {
            for (int k = 0; k < 2 * width; k++)
                file[1 + k] = numbers[i].bytes[big ? width - 1 - k % width : k % width];
            struct elements from = { file + 1, numbers[i].type, big, 2 };
            hp_elements_to_double(&from, out);
            assert_true(out[0] == numbers[i].value && out[1] == numbers[i].value);
            if (hp_element[from.type].kind == 'f')
                continue;
            hp_elements_to_int(&from, whole);
            assert_true(whole[1] ==
                        (numbers[i].value == 0x1p63 ? INT64_MAX : (int64_t)numbers[i].value));
        }
    }
    double nan;
    hp_elements_to_double(&(struct elements){ "\1\x7c", ELEMENT_F16, false, 1 }, &nan);
    assert_true(isnan(nan));
}

static void to_file(void **state)
{
    (void)state;
    unsigned char file[16];
    hp_elements_to_file((const float[]){ 1.5f, -1 }, ELEMENT_F32, 2, file);
    assert_memory_equal(file, "\0\0\xc0\x3f\0\0\x80\xbf", 8);
    hp_elements_to_file((const int64_t[]){ 0x0102030405060708 }, ELEMENT_I64, 1, file);
    assert_memory_equal(file, "\10\7\6\5\4\3\2\1", 8);
}

/* Every element of a box once, in the order of a dense array. */
static void runs(void **state)
{
    (void)state;
    struct random random = { 5 };
    for (int round = 0; round < 1000; round++) {
        struct hypar_shape shape = { .n_dims = (int)hp_random_below(&random, 5) };
        struct box box = { .n_dims = shape.n_dims };
        for (int d = 0; d < shape.n_dims; d++) {
            shape.dim[d] = 1 + hp_random_below(&random, 4);
            box.dim[d].lo =
                hp_random_below(&random, 2) ? 0 : hp_random_below(&random, shape.dim[d]);
            box.dim[d].hi = hp_random_below(&random, 2) ? shape.dim[d] : box.dim[d].lo + 1;
        }
        int64_t at = 0, index[MAX_DIMS];
        struct runs r = hp_runs(&shape, &box);
        while (hp_next_run(&r)) {
            assert_int_equal(r.in_box, at);
            for (int64_t i = 0; i < r.length; i++, at++) {
                int64_t left = at, place = 0;
                for (int d = shape.n_dims - 1; d >= 0; d--) {
                    int64_t n = box.dim[d].hi - box.dim[d].lo;
                    index[d] = box.dim[d].lo + left % n;
                    left /= n;
                }
                for (int d = 0; d < shape.n_dims; d++)
                    place = place * shape.dim[d] + index[d];
                assert_int_equal(r.in_array + i, place);
            }
        }
        assert_int_equal(at, hp_box_elements(&box));
    }
    struct runs none = hp_runs(&(struct hypar_shape){ 2, { 3, 3 } },
                               &(struct box){ 2, { { 0, 3 }, { 2, 2 } } });
    assert_false(hp_next_run(&none));
    /* all of a tensor is one run, and so are whole rows */
    struct runs rows = hp_runs(&(struct hypar_shape){ 3, { 4, 5, 6 } },
                               &(struct box){ 3, { { 1, 3 }, { 0, 5 }, { 0, 6 } } });
    assert_true(hp_next_run(&rows) && rows.length == 60 && rows.in_array == 30);
    assert_false(hp_next_run(&rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),
        cmocka_unit_test(to_file),
        cmocka_unit_test(runs),
    };
    return cmocka_run_group_tests_name("run: elements of files", tests, NULL, NULL);
}
