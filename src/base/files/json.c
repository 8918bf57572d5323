/* Reading JSON: typed access to members, errors that name the place. Only this file includes
 * jansson. */
#include "base/files/json.h"

#include "base/files/file.h"
#include "base/files/gzip.h"
#include "base/number.h"
#include "base/utf8.h"
#include "base/word.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 64, PLACE_BYTES = 240, FOUND_BYTES = 64 };

static const int64_t MAX_FILE_BYTES = (int64_t)1 << 30;
static const int64_t MAX_BLANK_BYTES = (int64_t)1 << 26; /* before the value begins */
static const int64_t MAX_VALUES = (int64_t)1 << 25; /* each takes some 100 bytes, objects 240 */
/* ... of a packed file, or as many as it has bytes, if that is more. A trace has one value for
 * every two bytes; a file with far more was packed to exhaust memory. */
static const int64_t MAX_PACKED_VALUES = (int64_t)1 << 20;

struct json_document {
    struct arena arena;
    const char *name;
    json_t *root;
};

/* jansson does not report every failed allocation: a string may come out shorter, or a value as
 * malformed. The only way to know is through its allocation functions. These belong to the
 * process, which may have set its own. So ours call the functions set before, and note whether
 * a call of this thread failed. A host that uses jansson as well sees no difference. */
static json_malloc_t host_malloc;
static _Thread_local size_t lacked_bytes; /* 0: none */

static void *noting_malloc(size_t bytes)
{
    void *made = host_malloc(bytes);
    if (!made && bytes)
        lacked_bytes = bytes;
    return made;
}

static void note_failures(void)
{
    json_free_t host_free;
    json_get_alloc_funcs(&host_malloc, &host_free);
    json_set_alloc_funcs(noting_malloc, host_free);
}

static json_t *load(json_load_callback_t read, void *source, json_error_t *at)
{
    static pthread_once_t noting = PTHREAD_ONCE_INIT;
    pthread_once(&noting, note_failures);
    lacked_bytes = 0;
    json_t *root =
        json_load_callback(read, source, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, at);
    bool lacking = /* as far as it is known, if the host has set other functions since */
        !root && (at->line < 0 || json_error_code(at) == json_error_out_of_memory);
    if (lacked_bytes || lacking) {
        json_decref(root);
        hypar_out_of_memory(lacked_bytes);
    }
    return root;
}

/* The input of the parser, and counts of the input read so far. Excessive depth, size and
 * number of values are refused here, before anything is built. */
struct source {
    FILE *file;       /* NULL: read from `text` */
    const char *text; /* `left` bytes remain */
    size_t left;
    int64_t bytes, values; /* values: lists, objects and commas, so an upper bound */
    int64_t packed;        /* packed size of the input; 0: it is not packed */
    int depth;
    bool begun, in_string, escaped;
    const char *refused; /* the reason, or NULL */
    int failed;          /* errno of a read, or 0 */
};

static void watch(struct source *source, char c)
{
    bool begins = !source->in_string && (c == '[' || c == '{');
    if (!source->begun)
        source->begun = c != ' ' && c != '\t' && c != '\r' && c != '\n';
    source->values += begins || (!source->in_string && c == ',');
    if (source->escaped)
        source->escaped = false;
    else if (source->in_string && c == '\\')
        source->escaped = true;
    else if (c == '"')
        source->in_string = !source->in_string;
    else if (begins)
        source->depth++;
    else if (!source->in_string && (c == ']' || c == '}'))
        source->depth--;
    if (source->depth > MAX_DEPTH)
        source->refused = "nested deeper than 64 levels";
    else if (source->values >= MAX_VALUES)
        source->refused = "more than 2^25 values";
    else if (source->packed && source->values >= MAX_PACKED_VALUES &&
             source->values > source->packed)
        source->refused = "more than 2^20 values, and more than the packed file has bytes";
}

/* The parser's json_load_callback_t: fill `buffer`, 0 at the end. */
static size_t read_source(void *buffer, size_t size, void *data)
{
    struct source *source = data;
    size_t n;
    if (source->file) {
        n = fread(buffer, 1, size, source->file);
        if (ferror(source->file))
            source->failed = errno;
    } else {
        n = source->left < size ? source->left : size;
        memcpy(buffer, source->text, n);
        source->text += n;
        source->left -= n;
    }
    source->bytes += (int64_t)n;
    if (source->bytes > MAX_FILE_BYTES)
        source->refused = "larger than 1 GiB";
    for (size_t i = 0; i < n && !source->refused; i++)
        watch(source, ((const char *)buffer)[i]);
    if (!source->begun && source->bytes >= MAX_BLANK_BYTES)
        source->refused = "no value within the first 64 MiB";
    return source->refused ? 0 : n;
}

/* Scan the whole input first if it can be read twice, so that nothing is built before the input
 * is refused. A pipe is checked while it is parsed. */
static void look_ahead(struct source *source)
{
    const struct source start = *source;
    struct stat about;
    long place = 0;
    char buffer[4096];
    if (source->file) {
        if (fstat(fileno(source->file), &about) != 0 || !S_ISREG(about.st_mode))
            return;
        if (about.st_size > MAX_FILE_BYTES)
            source->refused = "larger than 1 GiB";
        place = ftell(source->file);
        if (source->refused || place < 0)
            return;
    }
    while (read_source(buffer, sizeof buffer, source) > 0)
        continue;
    if (source->refused || source->failed)
        return;
    *source = start;
    if (source->file && fseek(source->file, place, SEEK_SET) != 0)
        source->failed = errno;
}

/* A long name is cut; the reason is not. */
static enum hypar_status fail_in(struct hypar_error *err, enum hypar_status status,
                                 const char *name, const char *what, const char *why)
{
    return hp_in(err, hp_fail(err, status, "%s%s", what, why), "%s", name);
}

/* The parser's message, except where it speaks of its own flags. */
static const char *syntax_text(const json_error_t *at)
{
    enum json_error_code code = json_error_code(at);
    return code == json_error_null_character || code == json_error_null_byte_in_key
               ? "\\u0000 is not allowed in a string"
               : at->text;
}

static enum hypar_status parse(struct json_document **out, struct source *source,
                               const char *name, struct hypar_error *err)
{
    json_error_t at;
    json_t *root = NULL;
    look_ahead(source);
    if (!source->refused && !source->failed)
        root = load(read_source, source, &at);
    if (source->failed) {
        json_decref(root);
        return fail_in(err, HYPAR_UNREADABLE, name, "cannot read: ", strerror(source->failed));
    }
    if (source->refused) {
        json_decref(root);
        return fail_in(err, HYPAR_UNSUPPORTED, name, "", source->refused);
    }
    if (!root) {
        hp_fail(err, HYPAR_SYNTAX, "%s", syntax_text(&at));
        return hp_in(err, HYPAR_SYNTAX, "%s:%d:%d", name, at.line, at.column);
    }

    struct arena arena = { 0 };
    struct json_document *document = NEW(&arena, struct json_document, 1);
    document->name = hp_arena_strdup(&arena, name);
    document->root = root;
    document->arena = arena;
    *out = document;
    return HYPAR_OK;
}

/* A file packed by gzip is unpacked as a whole. */
static enum hypar_status parse_packed(struct json_document **out, FILE *file, const char *name,
                                      struct hypar_error *err)
{
    struct arena arena = { 0 };
    const char *packed, *text;
    size_t n_packed, n, most = (size_t)MAX_FILE_BYTES;
    enum hypar_status status =
        hp_file_read_rest(&arena, file, name, most, &packed, &n_packed, err);
    if (status == HYPAR_OK && n_packed > most)
        status = fail_in(err, HYPAR_UNSUPPORTED, name, "", "larger than 1 GiB");
    else if (status == HYPAR_OK) {
        status = hp_gunzip(&arena, &text, &n, packed, n_packed, most, err);
        if (status != HYPAR_OK)
            hp_in(err, status, "%s", name);
    }
    if (status == HYPAR_OK)
        status =
            parse(out, &(struct source){ .text = text, .left = n, .packed = (int64_t)n_packed },
                  name, err);
    hp_arena_free(&arena);
    return status;
}

static enum hypar_status parse_file(struct json_document **out, FILE *file, const char *name,
                                    struct hypar_error *err)
{
    int first = getc(file);
    if (first != EOF)
        ungetc(first, file);
    return first == HP_GZIP_FIRST_BYTE
               ? parse_packed(out, file, name, err)
               : parse(out, &(struct source){ .file = file }, name, err);
}

enum hypar_status hp_json_read_file(struct json_document **out, const char *path,
                                    struct hypar_error *err)
{
    *out = NULL;
    if (strcmp(path, "-") == 0)
        return parse_file(out, stdin, "standard input", err);
    TRY(hp_file_refuse_python(path, err));

    FILE *file = hypar_or_out_of_memory(fopen(path, "rb"));
    if (!file)
        return fail_in(err, HYPAR_UNREADABLE, path, "cannot open: ", strerror(errno));
    enum hypar_status status = parse_file(out, file, path, err);
    fclose(file);
    return status;
}

enum hypar_status hp_json_read_text(struct json_document **out, const char *text, size_t length,
                                    const char *name, struct hypar_error *err)
{
    *out = NULL;
    return parse(out, &(struct source){ .text = text, .left = length }, name, err);
}

enum hypar_status hp_json_read_written(struct json_document **out,
                                       void (*write)(struct json_writer *w, const void *what),
                                       const void *what, struct hypar_error *err)
{
    static const char name[] = "a temporary file";
    FILE *file = hypar_or_out_of_memory(tmpfile());
    *out = NULL;
    if (!file)
        return fail_in(err, HYPAR_RUNTIME, name, "cannot open: ", strerror(errno));
    write(&(struct json_writer){ .file = file }, what);
    enum hypar_status status = HYPAR_OK;
    if (fflush(file) != 0 || ferror(file))
        status = fail_in(err, HYPAR_RUNTIME, name, "cannot write: ", strerror(errno));
    rewind(file);
    if (status == HYPAR_OK)
        status = parse(out, &(struct source){ .file = file }, name, err);
    fclose(file);
    return status;
}

void hp_json_free(struct json_document *document)
{
    if (!document)
        return;
    json_decref(document->root);
    hp_arena_free(&document->arena);
}

/* The root's key is the document's name; messages take the name from there. */
struct json hp_json_root(const struct json_document *document)
{
    json_t *root = json_is_null(document->root) ? NULL : document->root;
    return (struct json){ .value = root, .key = document->name };
}

/* Write "ops[3].split.n" into `text`, without the root; returns its length. */
static size_t write_place(const struct json *at, char *text, size_t size)
{
    if (!at->parent)
        return 0;
    size_t n = write_place(at->parent, text, size);
    int more;
    if (at->key)
        more = snprintf(text + n, size - n, "%s%.60s", n ? "." : "", at->key);
    else
        more = snprintf(text + n, size - n, "[%d]", at->index);
    n += (size_t)more;
    return n < size ? n : size - 1;
}

static enum hypar_status fail_at(const struct json *at, struct hypar_error *err,
                                 const char *message)
{
    char place[PLACE_BYTES] = "";
    write_place(at, place, sizeof place);
    const struct json *root = at;
    while (root->parent)
        root = root->parent;
    hp_fail(err, HYPAR_INVALID, "%s", message);
    if (*place)
        hp_in(err, HYPAR_INVALID, "%s", place);
    if (root->key)
        hp_in(err, HYPAR_INVALID, "%s", root->key);
    return HYPAR_INVALID;
}

enum hypar_status hp_json_fail(const struct json *at, struct hypar_error *err, const char *fmt,
                               ...)
{
    char message[sizeof err->text];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    return fail_at(at, err, message);
}

bool hp_json_is_object(const struct json *at)
{
    return json_is_object((const json_t *)at->value);
}

bool hp_json_is_array(const struct json *at)
{
    return json_is_array((const json_t *)at->value);
}

bool hp_json_is_string(const struct json *at)
{
    return json_is_string((const json_t *)at->value);
}

bool hp_json_is_number(const struct json *at)
{
    return json_is_number((const json_t *)at->value);
}

bool hp_json_is_bool(const struct json *at)
{
    return json_is_boolean((const json_t *)at->value);
}

static json_t *present(json_t *value)
{
    return json_is_null(value) ? NULL : value;
}

struct json hp_json_member(const struct json *object, const char *key)
{
    json_t *value = present(json_object_get(object->value, key));
    return (struct json){ .value = value, .parent = object, .key = key };
}

struct json hp_json_element(const struct json *array, int i)
{
    json_t *value = i < 0 ? NULL : present(json_array_get(array->value, (size_t)i));
    return (struct json){ .value = value, .parent = array, .index = i };
}

int hp_json_length(const struct json *array)
{
    return (int)json_array_size(array->value); /* a file has at most 2^30 bytes */
}

bool hp_json_next(const struct json *object, void **iter, struct json *member)
{
    *iter =
        *iter ? json_object_iter_next(object->value, *iter) : json_object_iter(object->value);
    if (!*iter)
        return false;
    *member = (struct json){ .value = present(json_object_iter_value(*iter)),
                             .parent = object,
                             .key = json_object_iter_key(*iter) };
    return true;
}

enum hypar_status hp_json_only(const struct json *object, const char *const *keys,
                               struct hypar_error *err)
{
    struct json member;
    for (void *iter = NULL; hp_json_next(object, &iter, &member);) {
        int k = 0;
        while (keys[k] && strcmp(keys[k], member.key) != 0)
            k++;
        if (keys[k])
            continue;
        char known[200];
        return hp_json_fail(object, err, "unknown member '%.60s', %s", member.key,
                            hp_expected(known, sizeof known, member.key, keys, k, NULL));
    }
    return HYPAR_OK;
}

/* The value that a file has in place of the expected one. */
static const char *found(const struct json *at, char *text)
{
    const json_t *value = at->value;
    if (json_is_string(value))
        snprintf(text, FOUND_BYTES, "\"%.40s\"", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(text, FOUND_BYTES, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value)) {
        hp_number_text(text, json_real_value(value));
        if (!text[strspn(text, "-0123456789")]) /* 4.0 is no integer */
            memcpy(text + strlen(text), ".0", sizeof ".0");
    } else if (json_is_boolean(value))
        snprintf(text, FOUND_BYTES, "%s", json_is_true(value) ? "true" : "false");
    else
        snprintf(text, FOUND_BYTES, "%s", json_is_array(value) ? "an array" : "an object");
    return text;
}

static enum hypar_status expected(const struct json *at, struct hypar_error *err,
                                  const char *what)
{
    char text[FOUND_BYTES];
    if (!at->value)
        return hp_json_fail(at, err, "missing, expected %s", what);
    return hp_json_fail(at, err, "expected %s, not %s", what, found(at, text));
}

enum hypar_status hp_json_string(const struct json *at, const char **out,
                                 struct hypar_error *err)
{
    if (!hp_json_is_string(at))
        return expected(at, err, "a string");
    *out = json_string_value(at->value);
    return HYPAR_OK;
}

enum hypar_status hp_json_name(const struct json *at, const char **out, struct hypar_error *err)
{
    TRY(hp_json_string(at, out, err));
    if (!**out)
        return hp_json_fail(at, err, "empty, expected a name");
    if (hp_has_control(*out))
        return hp_json_fail(at, err, "'%.60s' has a control character, expected a name", *out);
    return HYPAR_OK;
}

enum hypar_status hp_json_int(const struct json *at, int64_t lo, int64_t hi, int64_t *out,
                              struct hypar_error *err)
{
    if (json_is_integer((const json_t *)at->value)) {
        int64_t value = json_integer_value(at->value);
        if (value >= lo && value <= hi) {
            *out = value;
            return HYPAR_OK;
        }
    }
    char what[80];
    if (lo == INT64_MIN && hi == INT64_MAX)
        snprintf(what, sizeof what, "an integer");
    else if (lo > hi)
        snprintf(what, sizeof what, "none");
    else if (lo == hi)
        snprintf(what, sizeof what, "%lld", (long long)lo);
    else if (hi == INT64_MAX)
        snprintf(what, sizeof what, "an integer >= %lld", (long long)lo);
    else
        snprintf(what, sizeof what, "an integer in %lld..%lld", (long long)lo, (long long)hi);
    return expected(at, err, what);
}

enum hypar_status hp_json_number(const struct json *at, double lo, double hi, double *out,
                                 struct hypar_error *err)
{
    if (hp_json_is_number(at)) {
        double value = json_number_value(at->value);
        if (value >= lo && value <= hi && isfinite(value)) {
            *out = value == 0 ? 0 : value; /* -0 is 0 */
            return HYPAR_OK;
        }
    }
    char what[80];
    if (!isfinite(lo) && !isfinite(hi))
        snprintf(what, sizeof what, "a number");
    else if (lo == hi)
        snprintf(what, sizeof what, "%g", lo);
    else if (!isfinite(hi))
        snprintf(what, sizeof what, "a number >= %g", lo);
    else
        snprintf(what, sizeof what, "a number in %g..%g", lo, hi);
    return expected(at, err, what);
}

enum hypar_status hp_json_whole(const struct json *at, double lo, double hi, double *out,
                                struct hypar_error *err)
{
    TRY(hp_json_number(at, lo, hi, out, err));
    return *out == floor(*out) ? HYPAR_OK : expected(at, err, "a whole number");
}

enum hypar_status hp_json_bool(const struct json *at, bool *out, struct hypar_error *err)
{
    if (!hp_json_is_bool(at))
        return expected(at, err, "true or false");
    *out = json_is_true((const json_t *)at->value);
    return HYPAR_OK;
}

enum hypar_status hp_json_object(const struct json *at, struct hypar_error *err)
{
    return hp_json_is_object(at) ? HYPAR_OK : expected(at, err, "an object");
}

enum hypar_status hp_json_array(const struct json *at, int64_t max_length,
                                struct hypar_error *err)
{
    if (!hp_json_is_array(at))
        return expected(at, err, "an array");
    int length = hp_json_length(at);
    if (length > max_length)
        return hp_json_fail(at, err, "has %d elements, expected at most %lld", length,
                            (long long)max_length);
    return HYPAR_OK;
}

enum hypar_status hp_json_choice(const struct json *at, const char *const *words, int count,
                                 int *out, struct hypar_error *err)
{
    const char *word = "";
    char known[256];
    TRY(hp_json_string(at, &word, err));
    for (int i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0) {
            *out = i;
            return HYPAR_OK;
        }
    return hp_json_fail(at, err, "expected one of %s, not \"%.40s\"",
                        hp_word_list(known, sizeof known, words, count), word);
}

bool hp_json_each(const struct json *list, struct json *at)
{
    int next = at->parent == list ? at->index + 1 : 0;
    if (next >= hp_json_length(list))
        return false;
    *at = hp_json_element(list, next);
    return true;
}

enum hypar_status hp_json_format(const struct json *at, const char *format,
                                 struct hypar_error *err)
{
    const char *given = "";
    TRY(hp_json_object(at, err));
    struct json member = hp_json_member(at, "format");
    TRY(hp_json_string(&member, &given, err));
    if (strcmp(given, format) != 0)
        return hp_json_fail(&member, err, "expected \"%s\", not \"%.40s\"", format, given);
    return HYPAR_OK;
}

static enum hypar_status read_field(const struct json *at, const struct json_field *f,
                                    struct hypar_error *err)
{
    int64_t value;
    if (f->number)
        return hp_json_number(at, f->least, f->most, f->number, err);
    if (f->integer)
        return hp_json_int(at, f->from, f->to, f->integer, err);
    if (f->choice)
        return hp_json_choice(at, f->words, (int)f->to, f->choice, err);
    if (f->truth)
        return hp_json_bool(at, f->truth, err);
    if (f->name)
        return hp_json_name(at, f->name, err);
    if (f->string)
        return hp_json_string(at, f->string, err);
    if (f->whole) {
        TRY(hp_json_int(at, f->from, f->to, &value, err));
        *f->whole = (int)value;
    }
    return f->list ? hp_json_array(at, f->to, err) : HYPAR_OK;
}

enum hypar_status hp_json_fields(const struct json *object, const struct json_field *fields,
                                 struct hypar_error *err)
{
    enum { MOST_FIELDS = 32 };
    const char *keys[MOST_FIELDS + 1];
    int n = 0;
    for (; fields[n].key && *fields[n].key != '*'; n++) {
        assert(n < MOST_FIELDS);
        keys[n] = fields[n].key + (*fields[n].key == '?');
    }
    keys[n] = NULL;
    TRY(hp_json_object(object, err));
    if (!fields[n].key)
        TRY(hp_json_only(object, keys, err));
    for (int i = 0; i < n; i++) {
        const struct json_field *f = &fields[i];
        struct json at = hp_json_member(object, keys[i]);
        if (f->list)
            *f->list = at;
        if (f->any)
            *f->any = at;
        if (at.value || *f->key != '?')
            TRY(read_field(&at, f, err));
    }
    return HYPAR_OK;
}

/* A value as a message shows it; of a long value only its type. */
static void show(const struct json *at, char text[FOUND_BYTES])
{
    const json_t *value = at->value;
    if (json_is_string(value))
        snprintf(text, FOUND_BYTES, "\"%.40s\"", json_string_value(value));
    else if (json_is_integer(value))
        snprintf(text, FOUND_BYTES, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        snprintf(text, FOUND_BYTES, "%.17g", json_real_value(value));
    else if (json_is_array(value))
        snprintf(text, FOUND_BYTES, "an array of %d", hp_json_length(at));
    else
        snprintf(text, FOUND_BYTES, "%s",
                 !value                 ? "missing"
                 : json_is_true(value)  ? "true"
                 : json_is_false(value) ? "false"
                                        : "an object");
}

static enum hypar_status same_members(const struct json *at, const struct json *expected,
                                      const char *why, struct hypar_error *err)
{
    void *iter = NULL;
    struct json member;
    while (hp_json_next(at, &iter, &member)) {
        struct json other = hp_json_member(expected, member.key);
        TRY(hp_json_same(&member, &other, why, err));
    }
    for (iter = NULL; hp_json_next(expected, &iter, &member);) {
        struct json mine = hp_json_member(at, member.key);
        if (!mine.value)
            return hp_json_fail(&mine, err, "missing%s", why);
    }
    return HYPAR_OK;
}

enum hypar_status hp_json_same(const struct json *at, const struct json *expected,
                               const char *why, struct hypar_error *err)
{
    bool arrays = hp_json_is_array(at) && hp_json_is_array(expected);
    char found[FOUND_BYTES], other[FOUND_BYTES];
    if (hp_json_is_object(at) && hp_json_is_object(expected))
        return same_members(at, expected, why, err);
    if (arrays ? hp_json_length(at) != hp_json_length(expected)
               : at->value != expected->value && !json_equal(at->value, expected->value)) {
        show(at, found);
        show(expected, other);
        return hp_json_fail(at, err, "%s, expected %s%s", found, other, why);
    }
    for (int i = 0; arrays && i < hp_json_length(at); i++) {
        struct json mine = hp_json_element(at, i), theirs = hp_json_element(expected, i);
        TRY(hp_json_same(&mine, &theirs, why, err));
    }
    return HYPAR_OK;
}
