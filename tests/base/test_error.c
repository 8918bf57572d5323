/* Errors: the text and exit code of each status, context before a reason, limits of a line. */
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* 0 done, 1 no, 2 usage, 3 bad input, 4 the machine, 5 stopped. */
static void every_status_has_a_text_and_an_exit_code(void **state)
{
    (void)state;
    static const struct {
        enum hypar_status status;
        int exit_code;
    } rows[] = {
        { HYPAR_OK, 0 },         { HYPAR_INFEASIBLE, 1 }, { HYPAR_USAGE, 2 },
        { HYPAR_SYNTAX, 3 },     { HYPAR_INVALID, 3 },    { HYPAR_UNSUPPORTED, 3 },
        { HYPAR_UNREADABLE, 3 }, { HYPAR_RUNTIME, 4 },    { HYPAR_STOPPED, 5 },
    };
#define X(name, exit_code, text) +1
    enum { N_STATUSES = 0 HYPAR_STATUS_MAP(X) };
#undef X
    assert_int_equal(sizeof rows / sizeof rows[0], N_STATUSES);
    for (size_t i = 0; i < N_STATUSES; i++) {
        assert_int_equal(rows[i].status, i);
        assert_int_equal(hypar_status_exit_code(rows[i].status), rows[i].exit_code);
        assert_true(strlen(hypar_status_text(rows[i].status)) > 3);
    }
    assert_int_equal(hypar_status_exit_code((enum hypar_status)99), 4);
    assert_string_equal(hypar_status_text((enum hypar_status)99), "unknown status");
}

static enum hypar_status inner(struct hypar_error *err)
{
    return hp_fail(err, HYPAR_INVALID, "dims %d and %d", 2, 3);
}

static enum hypar_status outer(struct hypar_error *err)
{
    TRY(hp_in(err, inner(err), "%s '%s'", "conv", "c1"));
    return HYPAR_OK;
}

static void context_is_put_in_front(void **state)
{
    (void)state;
    struct hypar_error err;
    assert_int_equal(outer(&err), HYPAR_INVALID);
    assert_string_equal(err.text, "conv 'c1': dims 2 and 3");
    assert_int_equal(outer(NULL), HYPAR_INVALID);
    assert_int_equal(hp_in(&err, HYPAR_OK, "x"), HYPAR_OK);
    assert_string_equal(err.text, "conv 'c1': dims 2 and 3");
}

/* hp_fail() forgets the cause of an earlier failure; context keeps it, and so does passing on.
 */
static void a_cause_stays_with_its_reason(void **state)
{
    (void)state;
    struct hypar_error err, again;
    hp_about(&err, HYPAR_CAUSE_MEMORY, hp_fail(&err, HYPAR_INFEASIBLE, "too small"));
    assert_int_equal(err.cause, HYPAR_CAUSE_MEMORY);
    assert_int_equal(hp_in(&err, HYPAR_INFEASIBLE, "dp"), HYPAR_INFEASIBLE);
    assert_int_equal(hp_fail_again(&again, HYPAR_INFEASIBLE, &err), HYPAR_INFEASIBLE);
    assert_int_equal(hp_fail_again(NULL, HYPAR_INFEASIBLE, &err), HYPAR_INFEASIBLE);
    assert_int_equal(again.cause, HYPAR_CAUSE_MEMORY);
    assert_string_equal(again.text, "dp: too small");
    assert_int_equal(hp_about(&again, HYPAR_CAUSE_TARGET, HYPAR_OK), HYPAR_OK);
    assert_int_equal(hp_about(NULL, HYPAR_CAUSE_TARGET, HYPAR_INVALID), HYPAR_INVALID);
    assert_int_equal(again.cause, HYPAR_CAUSE_MEMORY);
    inner(&again);
    assert_int_equal(again.cause, HYPAR_CAUSE_OTHER);
}

static void a_reason_is_one_line_and_bounded(void **state)
{
    (void)state;
    struct hypar_error err;
    char longest[2000];
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';

    hp_fail(&err, HYPAR_SYNTAX, "a\nb\tc\x1b[2J");
    assert_string_equal(err.text, "a?b?c?[2J");
    for (int i = 0; i < 5; i++) {
        hp_in(&err, HYPAR_SYNTAX, "%s\n", longest);
        assert_true(strlen(err.text) < sizeof err.text);
        assert_null(strchr(err.text, '\n'));
    }
    hp_fail(&err, HYPAR_SYNTAX, "%s", longest);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void a_reason_is_never_pushed_out(void **state)
{
    (void)state;
    struct hypar_error err;
    char path[2000];
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';

    hp_fail(&err, HYPAR_INVALID, "expected 4");
    hp_in(&err, HYPAR_INVALID, "%s/end", path);
    assert_int_equal(strncmp(err.text, "...xxx", 6), 0);
    assert_int_equal(strlen(err.text), 160 + strlen(": expected 4"));
    assert_non_null(strstr(err.text, "x/end: expected 4"));
    for (int i = 0; i < 5; i++) {
        hp_in(&err, HYPAR_INVALID, "%s%d", path, i);
        assert_string_equal(err.text + strlen(err.text) - 17, "x/end: expected 4");
    }
    hp_in(&err, HYPAR_INVALID, "file");
    assert_int_equal(strncmp(err.text, "file: ...", 9), 0);

    /* No half of a character (two bytes each) is left, wherever the cut is. */
    for (int odd = 0; odd < 2; odd++) {
        for (int i = 0; i < 400; i++)
            path[i] = i % 2 ? '\xa9' : '\xc3';
        path[400] = '\0';
        hp_fail(&err, HYPAR_INVALID, "no");
        hp_in(&err, HYPAR_INVALID, "%s%s", path, odd ? "x" : "");
        assert_int_equal((unsigned char)err.text[3], 0xc3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_a_text_and_an_exit_code),
        cmocka_unit_test(context_is_put_in_front),
        cmocka_unit_test(a_cause_stays_with_its_reason),
        cmocka_unit_test(a_reason_is_one_line_and_bounded),
        cmocka_unit_test(a_reason_is_never_pushed_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
