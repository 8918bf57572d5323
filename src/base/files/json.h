/* base/files/json.h - reading and writing JSON; the only module that knows jansson. Internal.
 *
 * Reading: a document is parsed whole. Typed getters return its values; on failure they write
 * one line that names the place: "ops[3].split.n: expected an integer >= 1". A struct json is a
 * small value (pointer and place); copy it freely while the document lives. */
#ifndef BASE_FILES_JSON_H
#define BASE_FILES_JSON_H

#include "base/arena.h"
#include "base/error.h"

struct json_document; /* owns everything read from one text */

/* One value and its place in the document. */
struct json {
    void *value;               /* NULL: absent */
    const struct json *parent; /* for the place in messages; NULL: the root */
    const char *key;           /* of an object's member, else NULL */
    int index;                 /* of an array's element */
};

/* Parse a file ("-": standard input) or a text. `name` stands in front of messages. Refused
 * are: files above 1 GiB, more than 2^25 values (in a packed file: more than 2^20 and more than
 * its bytes), a depth above 64, duplicate keys, and text after the value. A file is opened
 * once, so a pipe works; it may be packed by gzip. */
enum hypar_status hp_json_read_file(struct json_document **out, const char *path,
                                    struct hypar_error *err);
enum hypar_status hp_json_read_text(struct json_document **out, const char *text, size_t length,
                                    const char *name, struct hypar_error *err);
/* Parse the text that a writing function writes. */
struct json_writer;
enum hypar_status hp_json_read_written(struct json_document **out,
                                       void (*write)(struct json_writer *w, const void *what),
                                       const void *what, struct hypar_error *err);
void hp_json_free(struct json_document *document);
struct json hp_json_root(const struct json_document *document);

/* Raise HYPAR_INVALID for `at`: "place: message". */
enum hypar_status hp_json_fail(const struct json *at, struct hypar_error *err, const char *fmt,
                               ...) HYPAR_PRINTF(3, 4);

bool hp_json_is_object(const struct json *at);
bool hp_json_is_array(const struct json *at);
bool hp_json_is_string(const struct json *at);
bool hp_json_is_number(const struct json *at);
bool hp_json_is_bool(const struct json *at);

/* The member `key` of an object (value NULL when absent or JSON null); the i-th of an array. */
struct json hp_json_member(const struct json *object, const char *key);
struct json hp_json_element(const struct json *array, int i);
int hp_json_length(const struct json *array); /* 0 unless an array */

/* Fail on the first member of `object` whose key is not in the NULL-terminated list. */
enum hypar_status hp_json_only(const struct json *object, const char *const *keys,
                               struct hypar_error *err);

/* Walk an object's members in file order: start with iter NULL; false at the end. */
bool hp_json_next(const struct json *object, void **iter, struct json *member);

/* Typed reads; an absent value fails with "place: missing, expected ...". Strings are owned by
 * the document, without embedded NUL. Bounds are inclusive. */
enum hypar_status hp_json_string(const struct json *at, const char **out,
                                 struct hypar_error *err);
/* A string that names something: not empty, no control characters. */
enum hypar_status hp_json_name(const struct json *at, const char **out,
                               struct hypar_error *err);
enum hypar_status hp_json_int(const struct json *at, int64_t lo, int64_t hi, int64_t *out,
                              struct hypar_error *err);
enum hypar_status hp_json_number(const struct json *at, double lo, double hi, double *out,
                                 struct hypar_error *err);
/* A number without a fraction, which may be written as one: 80e9. */
enum hypar_status hp_json_whole(const struct json *at, double lo, double hi, double *out,
                                struct hypar_error *err);
enum hypar_status hp_json_bool(const struct json *at, bool *out, struct hypar_error *err);
enum hypar_status hp_json_object(const struct json *at, struct hypar_error *err);
enum hypar_status hp_json_array(const struct json *at, int64_t max_length,
                                struct hypar_error *err);

/* One of `count` words: its place among them. */
enum hypar_status hp_json_choice(const struct json *at, const char *const *words, int count,
                                 int *out, struct hypar_error *err);

/* Walk a list: start with *at zero; false at the end. */
bool hp_json_each(const struct json *list, struct json *at);

/* Is it an object whose member "format" is this word? */
enum hypar_status hp_json_format(const struct json *at, const char *format,
                                 struct hypar_error *err);

/* A member of an object, and the variable that receives its value; made by the macros below.
 * The pointer that is not NULL tells the type. */
struct json_field {
    const char *key; /* "?key": may be absent, which leaves the value as it is */
    double *number, least, most;
    int64_t *integer;
    int *whole, *choice;
    int64_t from, to;
    const char *const *words;
    bool *truth;
    const char **name, **string;
    struct json *list, *any;
};

/* clang-format off */
#define JSON_NUMBER(k, out, lo, hi) { .key = k, .number = out, .least = lo, .most = hi }
#define JSON_INT(k, out, lo, hi)    { .key = k, .integer = out, .from = lo, .to = hi }
#define JSON_WHOLE(k, out, lo, hi)  { .key = k, .whole = out, .from = lo, .to = hi } /* an int */
/* An int or an enum that counts from 0. */
#define JSON_CHOICE(k, out, names, n) { .key = k, .choice = (int *)(out), .words = names, .to = n }
#define JSON_BOOL(k, out)           { .key = k, .truth = out }
#define JSON_NAME(k, out)           { .key = k, .name = out }
#define JSON_STRING(k, out)         { .key = k, .string = out }
#define JSON_LIST(k, out, longest)  { .key = k, .list = out, .to = longest }
#define JSON_ANY(k, out)            { .key = k, .any = out } /* may be absent; read by the caller */
#define JSON_KEY(k)                 { .key = k }             /* read elsewhere */
#define JSON_OTHERS                 { .key = "*" } /* the last: other members are passed over */
/* clang-format on */

/* Read an object that has these members and no others, in this order. The list of fields ends
 * in one without a key, which the macro adds. */
enum hypar_status hp_json_fields(const struct json *object, const struct json_field *fields,
                                 struct hypar_error *err);
#define HP_JSON_READ(object, err, ...) \
    hp_json_fields(object, (const struct json_field[]){ __VA_ARGS__, { .key = NULL } }, err)

/* Does the value at `at` equal `expected`? HYPAR_INVALID at the first place that differs; `why`
 * ends the message. The order of members is ignored. */
enum hypar_status hp_json_same(const struct json *at, const struct json *expected,
                               const char *why, struct hypar_error *err);

/* Writing: nested begin/end calls; commas, indentation and escapes are handled here. A
 * container begun with `flat` is written on one line. Numbers are the shortest text that reads
 * back the same; integers are written as integers. The key is NULL inside an array and for the
 * root. */
struct json_writer {
    FILE *file;
    bool in_page; /* inside an HTML element: no '<', which could end the element, and no blanks
                   */
    int depth;
    bool flat[64], empty[64];
};

void hp_json_begin_object(struct json_writer *w, const char *key, bool flat);
void hp_json_end_object(struct json_writer *w);
void hp_json_begin_array(struct json_writer *w, const char *key, bool flat);
void hp_json_end_array(struct json_writer *w);
void hp_json_put_string(struct json_writer *w, const char *key, const char *value);
void hp_json_put_int(struct json_writer *w, const char *key, int64_t value);
void hp_json_put_ints(struct json_writer *w, const char *key, const int *value, int n);
void hp_json_put_number(struct json_writer *w, const char *key, double value);
/* value / 1,000,000, of at most 15 digits. The text is that of hp_json_put_number(), made
 * faster. */
void hp_json_put_millionths(struct json_writer *w, const char *key, int64_t value);
void hp_json_put_bool(struct json_writer *w, const char *key, bool value);
void hp_json_put_null(struct json_writer *w, const char *key);
/* A number, or null where it is not known. */
void hp_json_put_known(struct json_writer *w, const char *key, bool known, double value);

#endif /* BASE_FILES_JSON_H */
