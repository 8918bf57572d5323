#include "tests/onnx_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A protobuf message being written. */
struct bytes {
    unsigned char *at;
    size_t n, capacity;
};

static void put_byte(struct bytes *b, unsigned char byte)
{
    if (b->n == b->capacity) {
        b->capacity = b->capacity ? 2 * b->capacity : 256;
        b->at = realloc(b->at, b->capacity);
        if (!b->at)
            abort();
    }
    b->at[b->n++] = byte;
}

static void put_bytes(struct bytes *b, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_byte(b, ((const unsigned char *)from)[i]);
}

static void put_varint(struct bytes *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        put_byte(b, (unsigned char)(value | 0x80));
    put_byte(b, (unsigned char)value);
}

static void put_int(struct bytes *b, unsigned field, int64_t value)
{
    put_varint(b, (uint64_t)field << 3);
    put_varint(b, (uint64_t)value);
}

static void put_field(struct bytes *b, unsigned field, const void *from, size_t n)
{
    put_varint(b, (uint64_t)field << 3 | 2);
    put_varint(b, n);
    put_bytes(b, from, n);
}

static void put_text(struct bytes *b, unsigned field, const char *text)
{
    put_field(b, field, text, strlen(text));
}

static void put_float(struct bytes *b, unsigned field, float value)
{
    unsigned char raw[4];
    memcpy(raw, &value, sizeof raw);
    put_varint(b, (uint64_t)field << 3 | 5);
    put_bytes(b, raw, sizeof raw);
}

/* The message `part` as field of `b`; it is done with. */
static void put_message(struct bytes *b, unsigned field, struct bytes *part)
{
    put_field(b, field, part->at, part->n);
    free(part->at);
    *part = (struct bytes){ 0 };
}

static int type_number(const char *name)
{
    static const char *const names[] = { "",        "float",  "uint8",     "int8",
                                         "uint16",  "int16",  "int32",     "int64",
                                         "string",  "bool",   "float16",   "double",
                                         "uint32",  "uint64", "complex64", "complex128",
                                         "bfloat16" };
    for (int i = 1; i < (int)(sizeof names / sizeof names[0]); i++)
        if (strncmp(names[i], name, strlen(names[i])) == 0 &&
            (!name[strlen(names[i])] || name[strlen(names[i])] == '*'))
            return i;
    return atoi(name);
}

static void put_value(struct bytes *raw, int type, const char *text)
{
    double value = strtod(text, NULL);
    float f = (float)value;
    int64_t whole = fabs(value) < 0x1p63 ? (int64_t)value : 0;
    if (type == 1)
        put_bytes(raw, &f, 4);
    else if (type == 11)
        put_bytes(raw, &value, 8);
    else
        put_bytes(raw, &whole,
                  type == 7 || type == 13                              ? 8
                  : type == 6 || type == 12                            ? 4
                  : type == 10 || type == 16 || type == 4 || type == 5 ? 2
                                                                       : 1);
}

static const char *next(char **save)
{
    const char *word = strtok_r(NULL, " \n", save);
    return word ? word : "";
}

static void put_external(struct bytes *t, const char *key, const char *value)
{
    struct bytes entry = { 0 };
    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    put_message(t, 13, &entry);
}

/* init NAME TYPE DIM... [= V...| raw N | at FILE OFFSET LENGTH] */
static struct bytes read_init(char **save)
{
    struct bytes t = { 0 }, raw = { 0 };
    const char *name = next(save);
    int type = type_number(next(save));
    const char *word = next(save);
    for (;
         *word && strcmp(word, "=") != 0 && strcmp(word, "raw") != 0 && strcmp(word, "at") != 0;
         word = next(save))
        put_int(&t, 1, strtoll(word, NULL, 10));
    put_int(&t, 2, type);
    put_text(&t, 8, name);
    if (strcmp(word, "=") == 0) {
        while (*(word = next(save)))
            put_value(&raw, type, word);
        put_message(&t, 9, &raw);
    } else if (strcmp(word, "raw") == 0) {
        for (long n = strtol(next(save), NULL, 10); n > 0; n--)
            put_byte(&raw, 0);
        put_message(&t, 9, &raw);
    } else if (strcmp(word, "at") == 0) {
        word = next(save);
        if (strcmp(word, "nowhere") != 0)
            put_external(&t, "location", word);
        if (*(word = next(save)))
            put_external(&t, "offset", word);
        if (*(word = next(save)))
            put_external(&t, "length", word);
        put_int(&t, 14, 1);
    }
    return t;
}

/* NAME TYPE DIM... */
static struct bytes read_info(char **save)
{
    struct bytes info = { 0 }, type = { 0 }, tensor = { 0 }, shape = { 0 };
    put_text(&info, 1, next(save));
    const char *word = next(save);
    if (strcmp(word, "-") == 0)
        return info;
    int number = type_number(word);
    put_int(&tensor, 1, number);
    bool shaped = !strchr(word, '*');
    while (*(word = next(save))) {
        struct bytes dim = { 0 };
        char *end;
        long long size = strtoll(word, &end, 10);
        if (!*end)
            put_int(&dim, 1, size);
        else if (strcmp(word, "?") != 0)
            put_text(&dim, 2, word);
        put_message(&shape, 1, &dim);
    }
    if (shaped)
        put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_message(&info, 2, &type);
    return info;
}

/* value@int64:2=1,2 */
static struct bytes read_tensor(const char *text)
{
    struct bytes t = { 0 }, raw = { 0 };
    char type[16] = "";
    size_t n = strcspn(text, ":");
    memcpy(type, text, n < sizeof type ? n : sizeof type - 1);
    const char *p = text + n + 1;
    while (*p && *p != '=') {
        char *end;
        put_int(&t, 1, strtoll(p, &end, 10));
        p = *end == 'x' ? end + 1 : end;
        if (p == end && *p != '=')
            break;
    }
    put_int(&t, 2, type_number(type));
    for (p += *p == '='; *p; p += strcspn(p, ","), p += *p == ',')
        put_value(&raw, type_number(type), p);
    put_message(&t, 9, &raw);
    return t;
}

static void read_attr(struct bytes *node, const char *word)
{
    struct bytes attr = { 0 }, list = { 0 };
    char name[64] = "";
    size_t n = strcspn(word, "=:'@&");
    const char *value = word + n + 1;
    memcpy(name, word, n);
    put_text(&attr, 1, name);
    if (word[n] == ':') {
        put_float(&attr, 2, strtof(value, NULL));
    } else if (word[n] == '\'') {
        put_text(&attr, 4, value);
    } else if (word[n] == '@') {
        list = read_tensor(value);
        put_message(&attr, 5, &list);
    } else if (word[n] == '&') {
        put_text(&attr, 21, value);
    } else if (!strchr(value, ',')) {
        put_int(&attr, 3, strtoll(value, NULL, 10));
    } else {
        for (const char *p = value; *p; p += strcspn(p, ","), p += *p == ',')
            put_varint(&list, (uint64_t)strtoll(p, NULL, 10));
        put_message(&attr, 8, &list);
    }
    put_message(node, 5, &attr);
}

/* OP NAME INPUT... -> OUTPUT... ATTR... */
static struct bytes read_node(char **save)
{
    struct bytes node = { 0 };
    const char *op = next(save), *word;
    put_text(&node, 4, op);
    word = next(save);
    if (strcmp(word, "_") != 0)
        put_text(&node, 3, word);
    unsigned field = 1;
    while (*(word = next(save))) {
        if (strcmp(word, "->") == 0)
            field = 2;
        else if (field == 2 && strpbrk(word, "=:'@&"))
            read_attr(&node, word);
        else
            put_text(&node, field, strcmp(word, "_") == 0 ? "" : word);
    }
    return node;
}

/* NAME INPUT... -> OUTPUT...: a function, whose nodes follow. */
static struct bytes read_function(char **save)
{
    struct bytes function = { 0 };
    unsigned field = 4;
    put_text(&function, 1, next(save));
    for (const char *word = next(save); *word; word = next(save)) {
        if (strcmp(word, "->") == 0)
            field = 5;
        else
            put_text(&function, field, word);
    }
    return function;
}

static struct bytes entry(const char *key, const char *value)
{
    struct bytes entry = { 0 };
    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    return entry;
}

/* NAME FROM...: what PyTorch says of an initializer that it computed. */
static struct bytes read_folded(char **save)
{
    struct bytes info = { 0 }, from = { 0 };
    put_text(&info, 1, next(save));
    for (const char *word = next(save); *word; word = next(save)) {
        put_bytes(&from, from.n ? ", '" : "['", from.n ? 3 : 2);
        put_bytes(&from, word, strlen(word));
        put_byte(&from, '\'');
    }
    put_bytes(&from, "]", 2);
    struct bytes about = entry("pkg.onnxscript.optimizer.folded_from", (const char *)from.at);
    put_message(&info, 4, &about);
    free(from.at);
    return info;
}

/* A line of PyTorch's signature. */
static void add_signature(struct bytes *signature, const char *kind, const char *name)
{
    char line[256];
    snprintf(line, sizeof line, "p: %s target='%s'\n", kind, name);
    put_bytes(signature, line, strlen(line));
}

struct writing {
    struct bytes model, graph, function, functions, signature;
    long version;
};

/* One statement; its first word is read. */
static void write_line(struct writing *w, const char *word, char **save)
{
    struct bytes part = { 0 };
    unsigned field = strcmp(word, "in") == 0     ? 11
                     : strcmp(word, "out") == 0  ? 12
                     : strcmp(word, "info") == 0 ? 13
                                                 : 0;
    if (strcmp(word, "opset") == 0) {
        w->version = strtol(next(save), NULL, 10);
    } else if (field) {
        part = read_info(save);
        put_message(&w->graph, field, &part);
    } else if (strcmp(word, "init") == 0) {
        part = read_init(save);
        put_message(&w->graph, 5, &part);
    } else if (strcmp(word, "node") == 0) {
        part = read_node(save);
        put_message(w->function.n ? &w->function : &w->graph, w->function.n ? 7 : 1, &part);
    } else if (strcmp(word, "function") == 0) {
        w->function = read_function(save);
    } else if (strcmp(word, "end") == 0) {
        put_message(&w->functions, 25, &w->function);
    } else if (strcmp(word, "folded") == 0) {
        part = read_folded(save);
        put_message(&w->graph, 13, &part);
    } else if (strcmp(word, "param") == 0 || strcmp(word, "buffer") == 0) {
        add_signature(&w->signature, *word == 'p' ? "PARAMETER" : "BUFFER", next(save));
    } else {
        abort();
    }
}

unsigned char *onnx_text(const char *text, size_t *size)
{
    struct writing w = { .version = 14 };
    struct bytes opset = { 0 };
    char *copy = strdup(text), *lines;
    for (char *line = strtok_r(copy, ";", &lines); line; line = strtok_r(NULL, ";", &lines)) {
        char *save;
        const char *word = strtok_r(line, " \n", &save);
        if (word)
            write_line(&w, word, &save);
    }
    free(copy);
    if (w.signature.n) {
        put_byte(&w.signature, 0);
        struct bytes about = entry("pkg.torch.export.ExportedProgram.graph_signature",
                                   (const char *)w.signature.at);
        put_message(&w.graph, 16, &about);
        free(w.signature.at);
    }
    put_int(&w.model, 1, 7);
    put_text(&w.model, 2, "text");
    put_message(&w.model, 7, &w.graph);
    put_int(&opset, 2, w.version);
    put_message(&w.model, 8, &opset);
    put_bytes(&w.model, w.functions.at, w.functions.n);
    free(w.functions.at);
    *size = w.model.n;
    return w.model.at;
}

FILE *onnx_text_stream(const char *text)
{
    size_t n;
    unsigned char *bytes = onnx_text(text, &n);
    FILE *file = tmpfile();
    if (!file || fwrite(bytes, 1, n, file) != n)
        abort();
    free(bytes);
    rewind(file);
    return file;
}
