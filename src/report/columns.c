#include "report/columns.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void hp_cell(struct columns *columns, struct arena *arena, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *text = NEW(arena, char, (size_t)n + 1);
    vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    columns->cell = GROW(arena, char *, columns->cell, columns->n_cells, &columns->capacity);
    columns->cell[columns->n_cells++] = text;
}

int hp_has_colour(FILE *to)
{
    const char *no = getenv("NO_COLOR");
    return isatty(fileno(to)) && !(no && *no);
}

void hp_columns_print(const struct columns *columns, FILE *to)
{
    int n = (int)strlen(columns->align);
    int width[32] = { 0 };
    for (int i = 0; i < columns->n_cells; i++) {
        int w = (int)strlen(columns->cell[i]);
        if (w > width[i % n])
            width[i % n] = w;
    }
    bool bold = hp_has_colour(to);
    for (int i = 0; i < columns->n_cells; i++) {
        int c = i % n;
        bool last = c == n - 1, left = columns->align[c] == 'l';
        if (bold && i == 0)
            fputs("\033[1m", to);
        fprintf(to, "%s%*s", c ? "  " : "", left ? (last ? 0 : -width[c]) : width[c],
                columns->cell[i]);
        if (bold && i == n - 1)
            fputs("\033[0m", to);
        if (last)
            fputc('\n', to);
    }
}

void hp_wrap(FILE *to, const char *text, int indent)
{
    enum { COLUMNS = 96 };
    int column = indent;
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (column > indent && column + 1 + n > COLUMNS) {
            fprintf(to, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            fputc(' ', to);
            column++;
        }
        fprintf(to, "%.*s", n, text);
        column += n;
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', to);
}

char *hp_thousands(char *buffer, long long value)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%lld", value < 0 ? -value : value), out = 0;
    if (value < 0)
        buffer[out++] = '-';
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            buffer[out++] = ',';
        buffer[out++] = digits[i];
    }
    buffer[out] = '\0';
    return buffer;
}

char *hp_metric(char *buffer, double value)
{
    static const char *const prefix[] = { "", " k", " M", " G", " T", " P", " E" };
    int p = 0;
    while (value >= 999.5 && p < 6) {
        value /= 1000;
        p++;
    }
    snprintf(buffer, 32, "%.3g%s", value, prefix[p]);
    return buffer;
}
