/* Reads the options behind the name of a zoo model: vgg:depth=16. */
#include "model/word.h"

#include "base/word.h"

#include <string.h>

enum { MAX_SIZE = 1 << 24 };

void hp_options_start(const struct family *family, int *values)
{
    memset(values, 0, MAX_SIZES * sizeof *values);
    for (int i = 0; i < family->n_options; i++)
        values[i] = family->options[i].value;
}

/* All of text[0..n) as a decimal number of at most nine digits; false if it is none. */
static bool read_number(const char *text, size_t n, int *out)
{
    int value = 0;
    if (n == 0 || n > 9)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (text[i] - '0');
    }
    *out = value;
    return true;
}

/* All of text[0..n) as one of the option's words, or as a number within its bounds. */
static bool read_value(const struct option *option, const char *text, size_t n, int *out)
{
    for (int i = 0; option->words && i <= option->most; i++)
        if (strlen(option->words[i]) == n && memcmp(option->words[i], text, n) == 0) {
            *out = i;
            return true;
        }
    return !option->words && read_number(text, n, out) && *out >= option->least &&
           *out <= option->most;
}

static enum hypar_status wrong_value(const struct option *option, const char *text, size_t n,
                                     struct hypar_error *err)
{
    char known[200];
    if (option->words)
        hp_word_list(known, sizeof known, option->words, option->most + 1);
    else
        snprintf(known, sizeof known, "%d to %d", option->least, option->most);
    return hp_fail(err, HYPAR_INVALID, "option '%s' is '%.*s', expected %s%s", option->name,
                   (int)(n < 40 ? n : 40), text, option->words ? "one of " : "", known);
}

static enum hypar_status read_sizes(const char *text, int *values, struct hypar_error *err)
{
    int n = 0;
    for (const char *p = text;; p++) {
        size_t length = strcspn(p, "-");
        int size;
        if (n == MAX_SIZES - 1)
            return hp_fail(err, HYPAR_INVALID, "too many sizes, expected at most %d", n);
        if (!read_number(p, length, &size) || size < 1 || size > MAX_SIZE)
            return hp_fail(err, HYPAR_INVALID, "'%.*s' is no size, expected sizes from 1 to %d",
                           (int)(length < 40 ? length : 40), p, MAX_SIZE);
        values[n++] = size;
        p += length;
        if (!*p)
            break;
    }
    if (n < 2)
        return hp_fail(err, HYPAR_INVALID, "one size, expected at least two, as in 784-512-10");
    values[n] = 0;
    return HYPAR_OK;
}

static enum hypar_status unknown_option(const struct family *family, const char *text, size_t n,
                                        struct hypar_error *err)
{
    const char *names[MAX_OPTIONS];
    char known[200], word[41];
    snprintf(word, sizeof word, "%.*s", (int)n, text);
    for (int i = 0; i < family->n_options; i++)
        names[i] = family->options[i].name;
    if (!family->n_options)
        return hp_fail(err, HYPAR_INVALID, "this model has no options");
    return hp_fail(err, HYPAR_INVALID, "unknown option '%s', %s", word,
                   hp_expected(known, sizeof known, word, names, family->n_options, NULL));
}

/* One "name=value" of n characters. */
static enum hypar_status read_option(const struct family *family, const char *text, size_t n,
                                     int *values, bool *given, struct hypar_error *err)
{
    const char *equals = memchr(text, '=', n);
    size_t length = equals ? (size_t)(equals - text) : n;
    int i = 0;
    while (i < family->n_options && (strlen(family->options[i].name) != length ||
                                     memcmp(family->options[i].name, text, length) != 0))
        i++;
    if (i == family->n_options)
        return unknown_option(family, text, length, err);
    const struct option *option = &family->options[i];
    if (given[i])
        return hp_fail(err, HYPAR_INVALID, "option '%s' is given twice", option->name);
    given[i] = true;
    const char *value = equals ? equals + 1 : text + n;
    size_t digits = (size_t)(text + n - value);
    return read_value(option, value, digits, &values[i])
               ? HYPAR_OK
               : wrong_value(option, value, digits, err);
}

enum hypar_status hp_options_read(const struct family *family, const char *text, int *values,
                                  struct hypar_error *err)
{
    bool given[MAX_OPTIONS] = { false };
    if (!*text)
        return HYPAR_OK;
    if (family->sizes)
        return read_sizes(text, values, err);
    for (const char *p = text;; p++) {
        size_t n = strcspn(p, ",");
        TRY(read_option(family, p, n, values, given, err));
        p += n;
        if (!*p)
            return HYPAR_OK;
    }
}

/* What `text` says of the option that `item` names, "name=value" of n characters; NULL:
 * nothing.
 */
static const char *find_option(const char *text, const char *item, size_t n)
{
    size_t name = (size_t)((const char *)memchr(item, '=', n) + 1 - item);
    for (const char *p = text; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
        if (strncmp(p, item, name) == 0)
            return p;
    return NULL;
}

static bool has_option(const struct family *family, const char *item)
{
    size_t name = strcspn(item, "=");
    for (int i = 0; i < family->n_options; i++)
        if (strlen(family->options[i].name) == name &&
            memcmp(family->options[i].name, item, name) == 0)
            return true;
    return false;
}

enum hypar_status hp_options_usual(const struct family *family, const char *usual,
                                   const char *text, int *values, struct hypar_error *err)
{
    for (const char *item = usual; item && *item;) {
        bool given[MAX_OPTIONS] = { false };
        size_t n = strcspn(item, ",");
        const char *said = find_option(text, item, n);
        bool differs = said && (strcspn(said, ",") != n || memcmp(said, item, n) != 0);
        if (item == usual && (differs || !has_option(family, item)))
            return HYPAR_OK;
        if (!said && has_option(family, item))
            TRY(read_option(family, item, n, values, given, err));
        item += n + (item[n] == ',');
    }
    return HYPAR_OK;
}

void hp_options_write(const struct family *family, const int *values, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; used < size && family->sizes && values[i]; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%d", i ? "-" : "", values[i]);
    for (int i = 0; used < size && i < family->n_options; i++) {
        const struct option *option = &family->options[i];
        used += (size_t)snprintf(text + used, size - used, "%s%s=", i ? "," : "", option->name);
        if (used < size && option->words)
            used += (size_t)snprintf(text + used, size - used, "%s", option->words[values[i]]);
        else if (used < size)
            used += (size_t)snprintf(text + used, size - used, "%d", values[i]);
    }
}
