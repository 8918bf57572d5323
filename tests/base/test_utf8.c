/* UTF-8: the printable part of a text, and its width. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/random.h"
#include "base/utf8.h"

static void test_cases(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int width;
        const char *shown; /* NULL: as it is */
    } cases[] = {
        { "", 0, NULL },
        { "conv1", 5, NULL },
        { "größe", 5, NULL },
        { "\xe5\xb1\x82", 2, NULL },     /* a wide one */
        { "e\xcc\x81", 1, NULL },        /* e and an accent */
        { "\xf0\x9f\x98\x80", 2, NULL }, /* a picture */
        { "\xc2\xa0", 1, NULL },
        { "a\nb", 3, "a?b" },
        { "\x1b[31m", 5, "?[31m" },
        { "\x7f", 1, "?" },
        { "\xc2\x9b\x33\x31m", 4, "?31m" }, /* C1: the same as ESC [ */
        { "a\xe2\x80\xae\x62", 3, "a?b" },  /* right to left from here */
        { "\xe2\x81\xa6", 1, "?" },         /* an isolate */
        { "\xe2\x80\xa8", 1, "?" },         /* a line separator */
        { "a\xff\x62", 3, "a?b" },          /* no UTF-8 */
        { "a\xe2\x82", 3, "a?" },           /* cut short */
        { "\xc0\xaf", 2, "??" },            /* too long for what it is */
        { "\xed\xa0\x80", 3, "???" },       /* half of a pair */
        { "\xf4\x90\x80\x80", 4, "????" },  /* beyond the last */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        const char *shown = cases[i].shown ? cases[i].shown : cases[i].text;
        strcpy(text, cases[i].text);
        assert_int_equal(hp_text_width(text, (int)strlen(text)), cases[i].width);
        assert_int_equal(hp_has_control(text), cases[i].shown != NULL);
        assert_string_equal(hp_clean_text(text, '?'), shown);
    }
}

/* Whatever the bytes, what is left can be shown, and is not changed again. */
static void test_random(void **state)
{
    (void)state;
    struct random random = { 1 };
    for (int i = 0; i < 100000; i++) {
        char text[9], once[9];
        for (int k = 0; k < 8; k++) {
            uint64_t u = hp_random_u64(&random);
            text[k] = (char)(u >> 8 & 1 ? u : 0x80 | (u & 0x7f));
        }
        text[8] = '\0';
        hp_clean_text(text, '?');
        assert_false(hp_has_control(text));
        strcpy(once, text);
        assert_string_equal(hp_clean_text(text, '?'), once);
    }
}

/* An error's text ends with a whole character, wherever it is cut. */
static void test_cut(void **state)
{
    (void)state;
    static const char *const letters[] = { "a", "ä", "\xe5\xb1\x82", "\xf0\x9f\x98\x80" };
    for (size_t l = 0; l < sizeof letters / sizeof letters[0]; l++)
        for (int shift = 0; shift < 4; shift++) {
            char name[2048] = "";
            struct hypar_error err;
            for (int i = 0; i < 500; i++)
                strcat(name, letters[l]);
            hp_fail(&err, HYPAR_INVALID, "%.*s%s", shift, "xyz", name);
            assert_null(strchr(err.text, '?'));
            assert_true(strlen(err.text) > sizeof err.text - 5 || l == 0);
            assert_false(hp_has_control(err.text));
            hp_in(&err, HYPAR_INVALID, "%.*s%s", shift, "xyz", name);
            assert_null(strchr(err.text, '?'));
            assert_false(hp_has_control(err.text));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests_name("base/utf8", tests, NULL, NULL);
}
