/* Errors as one line of text: the place that fails writes the reason, each caller puts its
 * context in front. */
#include "base/error.h"

#include <stdarg.h>
#include <string.h>

#include "base/utf8.h"

const char *hypar_status_text(enum hypar_status status)
{
    switch (status) {
#define X(name, exit_code, text) \
    case HYPAR_##name:           \
        return text;
        HYPAR_STATUS_MAP(X)
#undef X
    }
    return "unknown status";
}

int hypar_status_exit_code(enum hypar_status status)
{
    switch (status) {
#define X(name, exit_code, text) \
    case HYPAR_##name:           \
        return exit_code;
        HYPAR_STATUS_MAP(X)
#undef X
    }
    return 4;
}

/* Names come from files and may be cut short here. The result is one line that a terminal can
 * show. */
static void keep_one_line(char *text)
{
    hp_drop_cut(text);
    hp_clean_text(text, '?');
}

enum hypar_status hp_fail(struct hypar_error *err, enum hypar_status status, const char *fmt,
                          ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(err->text, sizeof err->text, fmt, ap);
        va_end(ap);
        keep_one_line(err->text);
        err->cause = HYPAR_CAUSE_OTHER;
    }
    return status;
}

enum hypar_status hp_about(struct hypar_error *err, enum hypar_cause cause,
                           enum hypar_status status)
{
    if (err && status != HYPAR_OK)
        err->cause = cause;
    return status;
}

enum hypar_status hp_fail_again(struct hypar_error *err, enum hypar_status status,
                                const struct hypar_error *why)
{
    if (err)
        *err = *why;
    return status;
}

enum { WHERE_CHARS = 160, LEAST_WHERE_CHARS = 40 };

/* The last `limit` characters of `text`; "..." replaces a lost front. The end of a path, and of
 * a reason, is nearest to the fault. */
static void keep_end(char *text, size_t limit)
{
    size_t n = strlen(text);
    if (n <= limit)
        return;
    const char *end = text + n - (limit - 3);
    while (((unsigned char)*end & 0xc0) == 0x80) /* do not begin in the middle of a character */
        end++;
    memmove(text + 3, end, strlen(end) + 1);
    memcpy(text, "...", 3);
}

enum hypar_status hp_in(struct hypar_error *err, enum hypar_status status, const char *fmt, ...)
{
    if (err && status != HYPAR_OK) {
        enum { SIZE = sizeof err->text };
        char where[8192]; /* a path and some words */
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(where, sizeof where, fmt, ap);
        va_end(ap);
        keep_one_line(where);

        keep_end(err->text, SIZE - 1 - LEAST_WHERE_CHARS - 2);
        size_t reason = strlen(err->text), room = SIZE - 1 - reason - 2;
        keep_end(where, room < WHERE_CHARS ? room : WHERE_CHARS);
        size_t n = strlen(where);
        memmove(err->text + n + 2, err->text, reason + 1);
        memcpy(err->text, where, n);
        memcpy(err->text + n, ": ", 2);
    }
    return status;
}
