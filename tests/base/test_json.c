/* JSON: errors with line and column, limits, typed reads, and a writer whose output reads
 * back. */
#include "base/files/json.h"

#include "base/random.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct json_document *read_text(const char *text)
{
    struct json_document *document;
    struct hypar_error err;
    if (hp_json_read_text(&document, text, strlen(text), "t.json", &err) != HYPAR_OK)
        fail_msg("%s: %s", text, err.text);
    return document;
}

static void syntax_errors_name_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum hypar_status status;
        const char *message; /* a beginning */
    } rows[] = {
        { "", HYPAR_SYNTAX, "t.json:1:0: " },
        { "{\n  \"a\" 1}", HYPAR_SYNTAX, "t.json:2:7: ':' expected near '1'" },
        { "{\"a\": 1, \"a\": 2}", HYPAR_SYNTAX, "t.json:1:12: duplicate object key" },
        { "{} x", HYPAR_SYNTAX, "t.json:1:4: end of file expected near 'x'" },
        { "[1e999]", HYPAR_SYNTAX, "t.json:1:6: real number overflow" },
        { "[NaN]", HYPAR_SYNTAX, "t.json:1:4: invalid token" },
        { "[99999999999999999999]", HYPAR_SYNTAX, "t.json:1:21: too big integer" },
        { "[\"\\u0000\"]", HYPAR_SYNTAX, "t.json:1:9: \\u0000 is not allowed" },
        { "[\"\xff\"]", HYPAR_SYNTAX, "t.json:1:" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct json_document *document = (void *)"unset";
        struct hypar_error err;
        assert_int_equal(
            hp_json_read_text(&document, rows[i].text, strlen(rows[i].text), "t.json", &err),
            rows[i].status);
        assert_null(document);
        if (strncmp(err.text, rows[i].message, strlen(rows[i].message)) != 0)
            fail_msg("%s: '%s', want '%s'", rows[i].text, err.text, rows[i].message);
    }
}

static void depth_is_bounded(void **state)
{
    (void)state;
    char text[140];
    for (int depth = 63; depth <= 66; depth++) {
        struct json_document *document;
        struct hypar_error err;
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        enum hypar_status status =
            hp_json_read_text(&document, text, 2 * (size_t)depth, "t", &err);
        assert_int_equal(status, depth <= 64 ? HYPAR_OK : HYPAR_UNSUPPORTED);
        if (depth > 64)
            assert_string_equal(err.text, "t: nested deeper than 64 levels");
        hp_json_free(document);
    }
    /* Brackets inside strings do not count. */
    memset(text, '[', sizeof text);
    memcpy(text, "\"\\\"", 3);
    text[sizeof text - 1] = '"';
    struct json_document *document;
    assert_int_equal(hp_json_read_text(&document, text, sizeof text, "t", NULL), HYPAR_OK);
    hp_json_free(document);
}

/* The text is refused before any of it is built, so this takes no more memory than the text. */
static void values_are_bounded(void **state)
{
    (void)state;
    enum { BYTES = 1 << 26 }; /* "[1,1,1 ... 1]" has 2^25 - 1 values and their array */
    struct json_document *document;
    struct hypar_error err;
    char *text = test_malloc(BYTES + 2);
    for (int i = 0; i < BYTES; i += 2)
        memcpy(text + i, ",1", 2);
    text[0] = '[';
    text[BYTES] = ']';
    assert_int_equal(hp_json_read_text(&document, text, BYTES + 1, "t", &err),
                     HYPAR_UNSUPPORTED);
    assert_string_equal(err.text, "t: more than 2^25 values");
    assert_null(document);

    memset(text, '\n', BYTES);
    assert_int_equal(hp_json_read_text(&document, text, BYTES, "t", &err), HYPAR_UNSUPPORTED);
    assert_string_equal(err.text, "t: no value within the first 64 MiB");
    memcpy(text + 1000, "{}", 2);
    assert_int_equal(hp_json_read_text(&document, text, 2000, "t", &err), HYPAR_OK);
    hp_json_free(document);
    test_free(text);
}

static void a_large_file_is_not_read(void **state)
{
    (void)state;
    char path[] = "/tmp/hypar-json-XXXXXX", want[128];
    struct json_document *document;
    struct hypar_error err;
    int file = mkstemp(path);
    assert_true(file >= 0);
    int made = ftruncate(file, ((off_t)1 << 30) + 1); /* a hole */
    close(file);
    enum hypar_status status = hp_json_read_file(&document, path, &err);
    remove(path);
    assert_int_equal(made, 0);
    assert_int_equal(status, HYPAR_UNSUPPORTED);
    snprintf(want, sizeof want, "%s: larger than 1 GiB", path);
    assert_string_equal(err.text, want);
}

/* What a host may have set before anything of jansson is used. */
static int allocations_left = INT_MAX;

static void *failing_malloc(size_t size)
{
    return allocations_left-- > 0 ? malloc(size) : NULL;
}

static jmp_buf without_memory;

static void go_back(size_t bytes, void *arg)
{
    assert_true(bytes > 0);
    ++*(int *)arg;
    longjmp(without_memory, 1);
}

/* Whichever allocation fails, it is out of memory: never malformed, never shortened. */
static void memory_may_run_out(void **state)
{
    (void)state;
    static const char text[] =
        "{\"a\": [1, 2.5, \"a string that is longer than what jansson starts with\", {}],"
        " \"b\": null, \"123456789012345678901234567890\": 12345678901234567}";
    static struct json_document *document;
    static int refused, tries;
    hypar_set_out_of_memory(go_back, &refused);
    setjmp(without_memory);
    allocations_left = tries++;
    if (!document && tries < 1000)
        assert_int_equal(hp_json_read_text(&document, text, strlen(text), "t", NULL), HYPAR_OK);
    allocations_left = INT_MAX;
    hypar_set_out_of_memory(NULL, NULL);
    assert_true(refused > 10);
    assert_int_equal(refused, tries - 1);
    assert_non_null(document);
    hp_json_free(document);
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    struct json_document *document;
    struct hypar_error err;
    assert_int_equal(hp_json_read_file(&document, "/nonexistent.json", &err), HYPAR_UNREADABLE);
    assert_string_equal(err.text, "/nonexistent.json: cannot open: No such file or directory");
    assert_int_equal(hp_json_read_file(&document, "/tmp", &err), HYPAR_UNREADABLE);
    assert_string_equal(err.text, "/tmp: cannot read: Is a directory");
    assert_null(document);
    hp_json_free(NULL);

    char longest[1000];
    memset(longest, 'x', sizeof longest);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(hp_json_read_file(&document, longest, &err), HYPAR_UNREADABLE);
    assert_non_null(strstr(err.text, "xxx: cannot open: File name too long"));
}

static const char sample[] =
    "{\"ops\": [{}, {\"split\": {\"n\": 0}}], \"x\": 1.5, \"s\": \"text\","
    " \"t\": true, \"none\": null, \"i\": -7, \"whole\": 4.0}";

static void typed_reads(void **state)
{
    (void)state;
    struct json_document *document = read_text(sample);
    struct json root = hp_json_root(document);
    struct json i = hp_json_member(&root, "i"), x = hp_json_member(&root, "x");
    struct json s = hp_json_member(&root, "s"), t = hp_json_member(&root, "t");
    struct json ops = hp_json_member(&root, "ops");
    int64_t integer;
    double number;
    bool boolean;
    const char *string;

    assert_int_equal(hp_json_object(&root, NULL), HYPAR_OK);
    assert_int_equal(hp_json_array(&ops, 2, NULL), HYPAR_OK);
    assert_int_equal(hp_json_length(&ops), 2);
    assert_int_equal(hp_json_length(&root), 0);
    assert_int_equal(hp_json_int(&i, -7, -7, &integer, NULL), HYPAR_OK);
    assert_int_equal(integer, -7);
    assert_int_equal(hp_json_number(&i, -INFINITY, INFINITY, &number, NULL), HYPAR_OK);
    assert_true(number == -7);
    assert_int_equal(hp_json_number(&x, 0, 1.5, &number, NULL), HYPAR_OK);
    assert_true(number == 1.5);
    assert_int_equal(hp_json_bool(&t, &boolean, NULL), HYPAR_OK);
    assert_true(boolean);
    assert_int_equal(hp_json_string(&s, &string, NULL), HYPAR_OK);
    assert_string_equal(string, "text");
    assert_true(hp_json_is_object(&root) && hp_json_is_array(&ops));
    assert_true(hp_json_is_string(&s) && hp_json_is_number(&i) && hp_json_is_number(&x));
    assert_false(hp_json_is_number(&s) || hp_json_is_object(&ops));
    assert_null(hp_json_member(&root, "none").value);
    assert_null(hp_json_member(&root, "absent").value);
    assert_null(hp_json_member(&s, "absent").value);
    assert_null(hp_json_element(&ops, 2).value);
    assert_null(hp_json_element(&ops, -1).value);
    hp_json_free(document);
}

static void failures_name_the_place(void **state)
{
    (void)state;
    struct json_document *document = read_text(sample);
    struct json root = hp_json_root(document);
    struct json ops = hp_json_member(&root, "ops"), op = hp_json_element(&ops, 1);
    struct json split = hp_json_member(&op, "split"), n = hp_json_member(&split, "n");
    struct json x = hp_json_member(&root, "x"), s = hp_json_member(&root, "s");
    struct json gone = hp_json_member(&split, "k"), t = hp_json_member(&root, "t");
    struct json whole = hp_json_member(&root, "whole");
    struct hypar_error err;
    int64_t integer;
    double number;
    bool boolean;
    const char *string;

#define SAYS(call, message)                  \
    assert_int_equal((call), HYPAR_INVALID); \
    assert_string_equal(err.text, "t.json: " message)
    SAYS(hp_json_int(&n, 1, INT64_MAX, &integer, &err),
         "ops[1].split.n: expected an integer >= 1, not 0");
    SAYS(hp_json_int(&gone, 1, 8, &integer, &err),
         "ops[1].split.k: missing, expected an integer in 1..8");
    SAYS(hp_json_int(&x, INT64_MIN, INT64_MAX, &integer, &err),
         "x: expected an integer, not 1.5");
    SAYS(hp_json_int(&whole, INT64_MIN, INT64_MAX, &integer, &err),
         "whole: expected an integer, not 4.0");
    SAYS(hp_json_int(&n, -1, -1, &integer, &err), "ops[1].split.n: expected -1, not 0");
    SAYS(hp_json_int(&n, 0, -1, &integer, &err), "ops[1].split.n: expected none, not 0");
    SAYS(hp_json_number(&n, 1, 1, &number, &err), "ops[1].split.n: expected 1, not 0");
    SAYS(hp_json_number(&s, 0, INFINITY, &number, &err),
         "s: expected a number >= 0, not \"text\"");
    SAYS(hp_json_number(&x, 0, 1, &number, &err), "x: expected a number in 0..1, not 1.5");
    SAYS(hp_json_number(&t, -INFINITY, INFINITY, &number, &err),
         "t: expected a number, not true");
    SAYS(hp_json_bool(&ops, &boolean, &err), "ops: expected true or false, not an array");
    SAYS(hp_json_string(&root, &string, &err), "expected a string, not an object");
    SAYS(hp_json_object(&ops, &err), "ops: expected an object, not an array");
    SAYS(hp_json_array(&op, 9, &err), "ops[1]: expected an array, not an object");
    SAYS(hp_json_array(&ops, 1, &err), "ops: has 2 elements, expected at most 1");
    SAYS(hp_json_fail(&op, &err, "no %s", "way"), "ops[1]: no way");
    const char *const keys[] = { "ops", "x", "s", "t", "none", "whole", NULL };
    SAYS(hp_json_only(&root, keys, &err),
         "unknown member 'i', expected one of ops, x, s, t, none, whole");
    assert_int_equal(hp_json_only(&op, (const char *const[]){ "split", NULL }, &err), HYPAR_OK);
#undef SAYS
    hp_json_free(document);
}

/* Rows name the members of an object: one row of each type, and each complaint once. */
static void an_object_is_read_by_rows(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says; /* NULL: nothing */
    } cases[] = {
        { "{\"n\": 2, \"i\": 3, \"w\": 4, \"c\": \"two\", \"t\": true, \"name\": \"a\", "
          "\"list\": [7, 8], \"any\": {}, \"key\": 0}",
          NULL },
        { "{\"i\": 3, \"n\": 0}", NULL },
        { "[]", "t: expected an object, not an array" },
        { "{\"i\": 3, \"other\": 1}",
          "t: unknown member 'other', expected one of n, i, w, c, t, "
          "name, list, any, key" },
        { "{}", "t: i: missing, expected an integer in 0..9" },
        { "{\"i\": 10}", "t: i: expected an integer in 0..9, not 10" },
        { "{\"i\": 1, \"n\": -1}", "t: n: expected a number in 0..5, not -1" },
        { "{\"i\": 1, \"c\": \"x\"}", "t: c: expected one of one, two, not \"x\"" },
        { "{\"i\": 1, \"name\": \"\"}", "t: name: empty, expected a name" },
        { "{\"i\": 1, \"list\": [1, 2, 3]}", "t: list: has 3 elements, expected at most 2" },
    };
    static const char *const words[] = { "one", "two" };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct json_document *document;
        struct hypar_error err = { 0 };
        double number = -1;
        int64_t integer = -1, sum = 0, value;
        int whole = -1, choice = -1;
        bool truth = false;
        const char *name = "";
        struct json list = { 0 }, any = { 0 };
        assert_int_equal(
            hp_json_read_text(&document, cases[k].text, strlen(cases[k].text), "t", &err),
            HYPAR_OK);
        struct json root = hp_json_root(document);
        enum hypar_status status = HP_JSON_READ(
            &root, &err, JSON_NUMBER("?n", &number, 0, 5), JSON_INT("i", &integer, 0, 9),
            JSON_WHOLE("?w", &whole, 0, 9), JSON_CHOICE("?c", &choice, words, 2),
            JSON_BOOL("?t", &truth), JSON_NAME("?name", &name), JSON_LIST("?list", &list, 2),
            JSON_ANY("any", &any), JSON_KEY("key"));
        assert_string_equal(err.text, cases[k].says ? cases[k].says : "");
        assert_int_equal(status, cases[k].says ? HYPAR_INVALID : HYPAR_OK);
        for (struct json at = { 0 }; status == HYPAR_OK && hp_json_each(&list, &at);) {
            assert_int_equal(hp_json_int(&at, 0, 9, &value, &err), HYPAR_OK);
            sum += value;
        }
        if (k == 0)
            assert_true(number == 2 && integer == 3 && whole == 4 && choice == 1 && truth &&
                        strcmp(name, "a") == 0 && sum == 15 && hp_json_is_object(&any));
        if (k == 1)
            assert_true(number == 0 && integer == 3 && whole == -1 && choice == -1 && !truth &&
                        !*name && !sum && !any.value);
        hp_json_free(document);
    }
}

static void members_come_in_file_order(void **state)
{
    (void)state;
    struct json_document *document = read_text(sample);
    struct json root = hp_json_root(document), member;
    char order[64] = "";
    for (void *iter = NULL; hp_json_next(&root, &iter, &member);) {
        strcat(order, member.key);
        strcat(order, member.value ? " " : "(null) ");
    }
    assert_string_equal(order, "ops x s t none(null) i whole ");
    struct json string = hp_json_member(&root, "s");
    void *iter = NULL;
    assert_false(hp_json_next(&string, &iter, &member));
    hp_json_free(document);
}

static void messages_stay_bounded(void **state)
{
    (void)state;
    enum { DEPTH = 30 };
    char key[400];
    memset(key, 'k', sizeof key);
    key[sizeof key - 1] = '\0';
    struct json chain[DEPTH] = { { .key = "t" } };
    for (int i = 1; i < DEPTH; i++)
        chain[i] = (struct json){ .parent = &chain[i - 1], .key = key };
    struct hypar_error err;
    const char *string;
    assert_int_equal(hp_json_string(&chain[DEPTH - 1], &string, &err), HYPAR_INVALID);
    assert_non_null(strstr(err.text, "missing, expected a string"));
}

static char *written(void (*write)(struct json_writer *w), char *text, size_t size)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    write(&(struct json_writer){ .file = file });
    rewind(file);
    size_t n = fread(text, 1, size - 1, file);
    text[n] = '\0';
    fclose(file);
    return text;
}

static void write_sample(struct json_writer *w)
{
    hp_json_begin_object(w, NULL, false);
    hp_json_put_string(w, "name", "a\"b\\c\n\x01\x7f\xc3\xa9\xff\xe2\x82!");
    hp_json_begin_array(w, "empty", false);
    hp_json_end_array(w);
    hp_json_begin_array(w, "list", true);
    hp_json_put_int(w, NULL, -1);
    hp_json_put_number(w, NULL, 0.1);
    hp_json_put_number(w, NULL, 16e9);
    hp_json_put_number(w, NULL, NAN);
    hp_json_begin_object(w, NULL, false);
    hp_json_put_bool(w, "t", true);
    hp_json_put_null(w, "n");
    hp_json_end_object(w);
    hp_json_end_array(w);
    hp_json_begin_object(w, "deep", false);
    hp_json_put_int(w, "i", INT64_MIN);
    hp_json_end_object(w);
    hp_json_end_object(w);
}

static void write_for_page(struct json_writer *w)
{
    w->in_page = true;
    hp_json_begin_object(w, NULL, false);
    hp_json_put_string(w, "</script>", "<!-- a > b & c \xe2\x80\xa8");
    hp_json_begin_array(w, "list", false);
    hp_json_put_int(w, NULL, 1);
    hp_json_put_int(w, NULL, 2);
    hp_json_end_array(w);
    hp_json_end_object(w);
}

/* Nothing in it can end the element that it is in, and nothing is wasted. */
static void writer_for_pages(void **state)
{
    (void)state;
    char text[200];
    assert_string_equal(written(write_for_page, text, sizeof text),
                        "{\"\\u003c/script>\":\"\\u003c!-- a > b & c \\u2028\","
                        "\"list\":[1,2]}\n");
}

static void writer_gives_commas_lines_and_escapes(void **state)
{
    (void)state;
    char text[500];
    assert_string_equal(
        written(write_sample, text, sizeof text),
        "{\n"
        "  \"name\": \"a\\\"b\\\\c\\n\\u0001\\u007f\xc3\xa9\\ufffd\\ufffd\\ufffd!\",\n"
        "  \"empty\": [],\n"
        "  \"list\": [-1, 0.1, 16000000000, null, {\"t\": true, \"n\": null}],\n"
        "  \"deep\": {\n"
        "    \"i\": -9223372036854775808\n"
        "  }\n"
        "}\n");
    hp_json_free(read_text(text));
}

static void write_random_value(struct json_writer *w, struct random *random, const char *key)
{
    char name[16];
    int64_t kind = hp_random_below(random, w->depth < 6 ? 6 : 4);
    for (size_t i = 0; i < sizeof name; i++)
        name[i] = (char)(hp_random_u64(random) % 255 + 1);
    name[sizeof name - 1] = '\0';
    if (kind == 0)
        hp_json_put_string(w, key, name);
    else if (kind == 1)
        hp_json_put_int(w, key, (int64_t)hp_random_u64(random));
    else if (kind == 2)
        hp_json_put_number(w, key,
                           ldexp(hp_random_unit(random), (int)hp_random_below(random, 400)));
    else if (kind == 3)
        hp_json_put_null(w, key);
    else if (kind == 4) {
        hp_json_begin_object(w, key, hp_random_below(random, 3) == 0);
        for (int i = 0; i < 4; i++) {
            snprintf(name, sizeof name, "%d\t\"\xf0\x9f\x98\x80", i);
            write_random_value(w, random, name);
        }
        hp_json_end_object(w);
    } else {
        hp_json_begin_array(w, key, hp_random_below(random, 3) == 0);
        for (int i = 0; i < 4; i++)
            write_random_value(w, random, NULL);
        hp_json_end_array(w);
    }
}

/* Whatever is put in, valid JSON comes out. */
static void what_is_written_can_be_read(void **state)
{
    (void)state;
    print_message("seeds 0..299\n");
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct random random = { seed };
        FILE *file = tmpfile();
        assert_non_null(file);
        write_random_value(&(struct json_writer){ .file = file }, &random, NULL);
        long size = ftell(file);
        char *text = test_malloc((size_t)size);
        rewind(file);
        assert_int_equal(fread(text, 1, (size_t)size, file), size);
        fclose(file);
        struct json_document *document;
        struct hypar_error err;
        if (hp_json_read_text(&document, text, (size_t)size, "t", &err) != HYPAR_OK)
            fail_msg("seed %d: %s", (int)seed, err.text);
        hp_json_free(document);
        test_free(text);
    }
}

int main(void)
{
    json_set_alloc_funcs(failing_malloc, free);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(syntax_errors_name_line_and_column),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(values_are_bounded),
        cmocka_unit_test(a_large_file_is_not_read),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(typed_reads),
        cmocka_unit_test(failures_name_the_place),
        cmocka_unit_test(an_object_is_read_by_rows),
        cmocka_unit_test(members_come_in_file_order),
        cmocka_unit_test(messages_stay_bounded),
        cmocka_unit_test(writer_for_pages),
        cmocka_unit_test(writer_gives_commas_lines_and_escapes),
        cmocka_unit_test(what_is_written_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
