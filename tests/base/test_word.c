/* Words: slips, lists, control characters, lengths. */
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
        { "alpa", "alpha or alphas" },
        { "alph", "alpha or alphas" },
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

static void test_list(void **state)
{
    (void)state;
    static const char *const names[] = { "a", "bc", "d" };
    char text[32], small[5];
    assert_string_equal(hp_word_list(text, sizeof text, names, 3), "a, bc, d");
    assert_string_equal(hp_word_list(text, sizeof text, names, 0), "");
    assert_string_equal(hp_word_list(small, sizeof small, names, 3), "a, b");
}

static void test_characters(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int characters;
        bool control;
    } cases[] = {
        { "", 0, false },
        { "conv1", 5, false },
        { "größe", 5, false },
        { "\xe5\xb1\x82", 1, false },
        { "a\nb", 3, true },
        { "\x1b[31m", 5, true },
        { "\x7f", 1, true },
        { "\xc2\x9b"
          "31m",
          4, true },
        { "\xc2\xa0", 1, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = cases[i].text;
        assert_int_equal(hp_characters(text, (int)strlen(text)), cases[i].characters);
        assert_int_equal(hp_has_control(text), cases[i].control);
    }
}

static void test_plain(void **state)
{
    (void)state;
    static const struct {
        const char *text, *plain;
    } cases[] = {
        { "", "" },
        { "conv1", "conv1" },
        { "gr\xc3\xb6\xc3\x9f"
          "e",
          "gr\xc3\xb6\xc3\x9f"
          "e" },
        { "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
        { "a\nb\x1b\x7f", "a_b__" },
        { "\xc2\x9b"
          "31m",
          "__31m" },
        { "a\xff", "a_" },             /* never a byte of UTF-8 */
        { "\xc3", "_" },               /* cut off */
        { "\xc3(", "_(" },             /* not followed by a continuation */
        { "\xc0\xaf", "__" },          /* '/' in two bytes */
        { "\xe0\x80\xaf", "___" },     /* in three */
        { "\xed\xa0\x80", "___" },     /* a surrogate */
        { "\xf4\x90\x80\x80", "____" } /* past U+10FFFF */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char copy[16];
        snprintf(copy, sizeof copy, "%s", cases[i].text);
        assert_string_equal(hp_make_plain(copy), cases[i].plain);
        assert_int_equal(hp_is_plain(cases[i].text),
                         strcmp(cases[i].text, cases[i].plain) == 0);
        assert_true(hp_is_plain(copy));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_list),    cmocka_unit_test(test_characters),
        cmocka_unit_test(test_plain),
    };
    return cmocka_run_group_tests_name("base/word", tests, NULL, NULL);
}
