/* Words: misspellings and lists. */
#include "base/word.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_nearest(void **state)
{
    (void)state;
    static const char *const names[] = { "alpha", "alphas", "Beta", "alphabet" };
    static const struct {
        const char *word, *text;
    } cases[] = {
        { "alpa", "alpha" },
        { "alph", "alpha, alphas or alphabet" },
        { "ebta", "Beta" },
        { "be", "" },
        { "bxtx", "" },
        { "ALPHAB", "alpha, alphas or alphabet" },
        { "alphabets", "alphabet, alphas or alpha" },
        { "bta", "Beta" },
        { "beta", "Beta" },
        { "omega", "" },
        { "", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        bool near = hp_nearest_text(cases[i].word, names, 4, text, sizeof text);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(near, *cases[i].text != '\0');
    }
}

/* Only as many as are asked for; too long a word or name is near nothing. */
static void test_bounds(void **state)
{
    (void)state;
    char word[200], longer[201];
    memset(word, 'a', sizeof word - 1);
    memset(longer, 'a', sizeof longer - 1);
    word[sizeof word - 1] = longer[sizeof longer - 1] = '\0';
    const char *const names[] = { longer, "ab", "abc", "abcd", "abcde" };
    int near[4] = { -1, -1, -1, -1 };
    assert_int_equal(hypar_nearest(word, names, 5, near, 3), 0);
    assert_int_equal(hypar_nearest("abc", names, 5, near, 0), 0);
    assert_int_equal(hypar_nearest("abc", names, 5, near, 1), 1);
    assert_int_equal(near[0], 2);
    assert_int_equal(near[1], -1);
    assert_int_equal(hypar_nearest("abc", names, 5, near, 4), 3);
    assert_int_equal(near[0], 2);
    assert_int_equal(near[1], 1);
    assert_int_equal(near[2], 3);
    assert_int_equal(near[3], -1);
}

/* A slip is told what was meant; of a word that is near nothing, or keeps no letter, all are.
 */
static void test_expected(void **state)
{
    (void)state;
    static const char *const names[] = { "htree", "torus", "x", "cluster" };
    char text[64], small[32];
    assert_string_equal(hp_expected(text, sizeof text, "tours", names, 4, NULL),
                        "did you mean torus?");
    assert_string_equal(hp_expected(text, sizeof text, "y", names, 4, NULL),
                        "expected one of htree, torus, x, cluster");
    assert_string_equal(hp_expected(small, sizeof small, "frob", names, 4, NULL),
                        "expected one of htree, ...");
    char enough[48];
    assert_string_equal(hp_expected(enough, 40, "frob", names, 4, "hypar x"),
                        "expected one that 'hypar x' lists");
    assert_string_equal(hp_expected(enough, sizeof enough, "frob", names, 4, "hypar x"),
                        "expected one of htree, torus, x, cluster");
}

static void test_list(void **state)
{
    (void)state;
    static const char *const names[] = { "a", "bc", "d" };
    char text[32], small[8];
    assert_string_equal(hp_word_list(text, sizeof text, names, 3), "a, bc, d");
    assert_string_equal(hp_word_list(text, sizeof text, names, 0), "");
    assert_string_equal(hp_word_list(small, sizeof small, names, 3), "a, ...");
}

static void test_without_numbers(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "h.0.attn.w", "h.*.attn.w" },
        { "h.12", "h.*" },
        { "0.weight", "*.weight" },
        { "3", "*" },
        { "layers.0.1.w", "layers.*.*.w" },
        { "conv1.bn2", "conv1.bn2" },
        { "a..1", "a..*" },
        { "", "" },
    };
    struct arena arena = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(hp_without_numbers(&arena, cases[i][0]), cases[i][1]);
    hp_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest),         cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_expected),        cmocka_unit_test(test_list),
        cmocka_unit_test(test_without_numbers),
    };
    return cmocka_run_group_tests_name("base/word", tests, NULL, NULL);
}
