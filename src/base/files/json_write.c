/* Writing JSON in the layout of the file forms: indented, ASCII only, with numbers that read
 * back as themselves. */
#include "base/files/json.h"
#include "base/number.h"
#include "base/utf8.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The number of characters at `s` that need no escape. */
static size_t plain_length(const unsigned char *s, bool in_page)
{
    size_t n = 0;
    while (s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\' &&
           !(in_page && s[n] == '<'))
        n++;
    return n;
}

static void write_escaped(FILE *file, unsigned code)
{
    if (code > 0xffff) /* JSON's characters have 16 bits: two of them */
        fprintf(file, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
    else
        fprintf(file, "\\u%04x", code);
}

/* Names may come from binary files: bytes that are no UTF-8 become U+FFFD, so that the file
 * stays JSON. Control characters are escaped, as the file may be a terminal. */
static void write_string(const struct json_writer *w, const char *text)
{
    FILE *file = w->file;
    static const char escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    fputc('"', file);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t plain = plain_length(s, w->in_page);
        fwrite(s, 1, plain, file);
        s += plain;
        if (!*s)
            break;
        size_t n = hp_utf8_length((const char *)s);
        const char *escape = escapes;
        while (*escape && (unsigned char)*escape != *s)
            escape += 2;
        if (n == 0)
            fputs("\\ufffd", file);
        else if (*escape)
            fprintf(file, "\\%c", escape[1]);
        else if (*s == '<' || !hp_printable_length((const char *)s))
            write_escaped(file, hp_utf8_code((const char *)s, n));
        else
            fwrite(s, 1, n, file);
        s += n ? n : 1;
    }
    fputc('"', file);
}

static void new_line(const struct json_writer *w, int depth)
{
    if (!w->in_page)
        fprintf(w->file, "\n%*s", 2 * depth, "");
}

/* The text before every value: a comma, a line break, the key. */
static void begin_value(struct json_writer *w, const char *key)
{
    if (w->depth > 0) {
        bool first = w->empty[w->depth];
        if (!first)
            fputc(',', w->file);
        if (!w->flat[w->depth])
            new_line(w, w->depth);
        else if (!first && !w->in_page)
            fputc(' ', w->file);
        w->empty[w->depth] = false;
    }
    if (key) {
        write_string(w, key);
        fputs(w->in_page ? ":" : ": ", w->file);
    }
}

static void end_value(const struct json_writer *w)
{
    if (w->depth == 0)
        fputc('\n', w->file);
}

static void begin(struct json_writer *w, const char *key, bool flat, char bracket)
{
    assert(w->depth + 1 < (int)(sizeof w->flat / sizeof w->flat[0]));
    begin_value(w, key);
    fputc(bracket, w->file);
    bool inside_flat = w->depth > 0 && w->flat[w->depth];
    w->depth++;
    w->flat[w->depth] = flat || inside_flat;
    w->empty[w->depth] = true;
}

static void end(struct json_writer *w, char bracket)
{
    assert(w->depth > 0);
    if (!w->flat[w->depth] && !w->empty[w->depth])
        new_line(w, w->depth - 1);
    fputc(bracket, w->file);
    w->depth--;
    end_value(w);
}

void hp_json_begin_object(struct json_writer *w, const char *key, bool flat)
{
    begin(w, key, flat, '{');
}

void hp_json_end_object(struct json_writer *w)
{
    end(w, '}');
}

void hp_json_begin_array(struct json_writer *w, const char *key, bool flat)
{
    begin(w, key, flat, '[');
}

void hp_json_end_array(struct json_writer *w)
{
    end(w, ']');
}

void hp_json_put_string(struct json_writer *w, const char *key, const char *value)
{
    begin_value(w, key);
    write_string(w, value);
    end_value(w);
}

void hp_json_put_int(struct json_writer *w, const char *key, int64_t value)
{
    begin_value(w, key);
    fprintf(w->file, "%lld", (long long)value);
    end_value(w);
}

void hp_json_put_ints(struct json_writer *w, const char *key, const int *value, int n)
{
    hp_json_begin_array(w, key, true);
    for (int i = 0; i < n; i++)
        hp_json_put_int(w, NULL, value[i]);
    hp_json_end_array(w);
}

void hp_json_put_number(struct json_writer *w, const char *key, double value)
{
    if (!isfinite(value)) { /* JSON has no such number */
        hp_json_put_null(w, key);
        return;
    }
    char text[NUMBER_TEXT_BYTES];
    begin_value(w, key);
    fputs(hp_number_text(text, value), w->file);
    end_value(w);
}

void hp_json_put_millionths(struct json_writer *w, const char *key, int64_t value)
{
    enum { MILLION = 1000000 };
    char text[32];
    long long whole = (long long)(value / MILLION), part = (long long)(value % MILLION);
    if (value < 0 || whole >= 1000000000) {
        hp_json_put_number(w, key, (double)value / MILLION);
        return;
    }
    int n = snprintf(text, sizeof text, part ? "%lld.%06lld" : "%lld", whole, part);
    while (part && text[n - 1] == '0')
        n--;
    text[n] = '\0';
    begin_value(w, key);
    fputs(text, w->file);
    end_value(w);
}

void hp_json_put_bool(struct json_writer *w, const char *key, bool value)
{
    begin_value(w, key);
    fputs(value ? "true" : "false", w->file);
    end_value(w);
}

void hp_json_put_null(struct json_writer *w, const char *key)
{
    begin_value(w, key);
    fputs("null", w->file);
    end_value(w);
}

void hp_json_put_known(struct json_writer *w, const char *key, bool known, double value)
{
    hp_json_put_number(w, key, known ? value : NAN); /* JSON has no NaN: null */
}
