/* Repetitions in a sequence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "graph/structure/repeated.h"

/* "a 3x(bcd) ef": runs of letters. */
static void runs_text(const char *letters, const int64_t *border, char *text, size_t size)
{
    struct arena arena = { 0 };
    int n = (int)strlen(letters), n_runs, *token = NEW(&arena, int, n + 1);
    size_t used = 0;
    for (int i = 0; i < n; i++)
        token[i] = letters[i] - 'a';
    const struct run *run = hp_find_runs(&arena, token, n, border, &n_runs);
    text[0] = '\0';
    for (int i = 0; i < n_runs; i++) {
        const char *space = i ? " " : "", *of = letters + run[i].first;
        used += (size_t)(run[i].count > 1 ? snprintf(text + used, size - used, "%s%dx(%.*s)",
                                                     space, run[i].count, run[i].period, of)
                                          : snprintf(text + used, size - used, "%s%.*s", space,
                                                     run[i].period, of));
    }
    hp_arena_free(&arena);
}

static void finds_runs(void **state)
{
    (void)state;
    static const struct {
        const char *letters, *runs;
    } cases[] = {
        { "", "" },
        { "abc", "abc" },
        { "abcbcbcd", "a 3x(bc) d" },
        { "aaaa", "4x(a)" },
        { "xaabcdaabcdaabcdy", "x 3x(aabcd) y" }, /* not the two at the front */
        { "aabcdabcdabcd", "a 3x(abcd)" },        /* the longest first */
        { "abababcdcdcde", "3x(ab) 3x(cd) e" },
        { "xyxyabcabcabcxyxy", "2x(xy) 3x(abc) 2x(xy)" },
        { "abcabca", "2x(abc) a" },
    };
    char text[128];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        runs_text(cases[i].letters, NULL, text, sizeof text);
        assert_string_equal(text, cases[i].runs);
    }
}

/* A run that may begin at several places begins where least passes its border. */
static void begins_where_least_passes(void **state)
{
    (void)state;
    char text[128];
    int64_t border[12];
    for (int i = 0; i < 12; i++)
        border[i] = 9;
    border[5] = 1; /* the second round begins there */
    runs_text("abcabcabca", border, text, sizeof text);
    assert_string_equal(text, "3x(abc) a"); /* one to spare: 3 or 4 */
    runs_text("abcabcabcab", border, text, sizeof text);
    assert_string_equal(text, "ab 3x(cab)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_runs),
        cmocka_unit_test(begins_where_least_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
