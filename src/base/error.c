#include "base/error.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

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

/* Names come from files: whatever would break the line or the terminal is shown as '?'. */
static void keep_one_line(char *text)
{
    for (; *text; text++)
        if (iscntrl((unsigned char)*text))
            *text = '?';
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
    }
    return status;
}

enum hypar_status hp_in(struct hypar_error *err, enum hypar_status status, const char *fmt, ...)
{
    if (err && status != HYPAR_OK) {
        char where[sizeof err->text / 2];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(where, sizeof where, fmt, ap);
        va_end(ap);
        keep_one_line(where);

        size_t n = strlen(where);
        memmove(err->text + n + 2, err->text, sizeof err->text - n - 2);
        memcpy(err->text, where, n);
        memcpy(err->text + n, ": ", 2);
        err->text[sizeof err->text - 1] = '\0'; /* a long reason loses its tail */
    }
    return status;
}
