/* The table of targets: each row is found by its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <hypar/emit.h>

static void each_is_found_by_its_name(void **state)
{
    (void)state;
    struct hypar_target found, target;
    assert_non_null(hypar_target_at(0).name);
    for (int i = 0; (target = hypar_target_at(i)).name; i++) {
        assert_int_equal(hypar_target_find(&found, target.name, NULL), HYPAR_OK);
        assert_string_equal(found.title, target.title);
        assert_true(target.summary[0]);
    }
    assert_int_equal(hypar_target_find(&found, "never", NULL), HYPAR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_is_found_by_its_name) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
