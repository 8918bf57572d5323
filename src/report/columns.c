#include "report/columns.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/word.h"

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

enum { FILE_WIDTH = 96, LEAST_WIDTH = 20, LEAST_BROKEN = 12, GAP = 2 };

int hp_line_width(FILE *to)
{
    struct winsize size = { 0 };
    if (!isatty(fileno(to)) || ioctl(fileno(to), TIOCGWINSZ, &size) != 0 || !size.ws_col)
        return FILE_WIDTH;
    return size.ws_col < LEAST_WIDTH ? LEAST_WIDTH : size.ws_col;
}

int hp_has_colour(FILE *to)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(to)) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

/* Bytes of the words at the start of `text` that fit into `width` characters: at least one. */
static int line_bytes(const char *text, int width)
{
    int bytes = 0, used = 0;
    while (text[bytes]) {
        int blanks = (int)strspn(text + bytes, " ");
        int word = (int)strcspn(text + bytes + blanks, " ");
        int characters = hp_characters(text + bytes, blanks + word);
        if (used && used + characters > width)
            break;
        bytes += blanks + word;
        used += characters;
    }
    return bytes;
}

/* The width of every column; one that is broken gets what the others leave. */
static void measure(const struct columns *columns, int n, int line, int *width)
{
    int total = GAP * (n - 1), broken = -1;
    for (int i = 0; i < columns->n_cells; i++) {
        int w = hp_characters(columns->cell[i], (int)strlen(columns->cell[i]));
        if (w > width[i % n])
            width[i % n] = w;
    }
    for (int c = 0; c < n; c++) {
        total += width[c];
        broken = columns->align[c] == 'w' ? c : broken;
    }
    if (broken >= 0 && total > line) {
        int left = width[broken] - (total - line);
        width[broken] = left < LEAST_BROKEN ? LEAST_BROKEN : left;
    }
}

/* One line of a row; rest[] is what of each cell is still to be printed. False: all is. */
static bool print_line(const char *align, const int *width, const char **rest, FILE *to)
{
    int n = (int)strlen(align), blanks = 0; /* before the next text: none behind the last */
    bool more = false;
    for (int c = 0; c < n; c++) {
        int bytes = align[c] == 'w' ? line_bytes(rest[c], width[c]) : (int)strlen(rest[c]);
        int length = hp_characters(rest[c], bytes);
        int before = align[c] == 'r' ? width[c] - length : 0;
        if (bytes)
            fprintf(to, "%*s%.*s", blanks + before, "", bytes, rest[c]);
        int after = width[c] > length + before ? width[c] - length - before : 0;
        blanks = GAP + (bytes ? after : blanks + width[c]);
        rest[c] += bytes;
        rest[c] += strspn(rest[c], " ");
        more |= *rest[c] != '\0';
    }
    return more;
}

void hp_columns_print(const struct columns *columns, FILE *to)
{
    enum { MAX_COLUMNS = 32 };
    int n = (int)strlen(columns->align), width[MAX_COLUMNS] = { 0 };
    const char *rest[MAX_COLUMNS];
    bool bold = hp_has_colour(to);
    measure(columns, n, hp_line_width(to), width);
    for (int row = 0; row < columns->n_cells; row += n) {
        for (int c = 0; c < n; c++)
            rest[c] = columns->cell[row + c];
        for (bool more = true; more;) {
            fputs(bold && row == 0 ? "\033[1m" : "", to);
            more = print_line(columns->align, width, rest, to);
            fputs(bold && row == 0 ? "\033[0m\n" : "\n", to);
        }
    }
}

void hp_wrap(FILE *to, const char *text, int indent)
{
    int width = hp_line_width(to) - indent;
    do {
        int bytes = line_bytes(text, width);
        fprintf(to, "%.*s\n", bytes, text);
        text += bytes;
        text += strspn(text, " ");
        fprintf(to, "%*s", *text ? indent : 0, "");
    } while (*text);
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
    hp_metric_unit(buffer, value, "");
    size_t n = strlen(buffer);
    if (n && buffer[n - 1] == ' ')
        buffer[n - 1] = '\0';
    return buffer;
}

char *hp_metric_unit(char *buffer, double value, const char *unit)
{
    static const char *const prefix[] = { "", "k", "M", "G", "T", "P", "E" };
    int p = 0;
    while (value >= 999.5 && p < 6) {
        value /= 1000;
        p++;
    }
    snprintf(buffer, 32, "%.3g %s%s", value, prefix[p], unit);
    return buffer;
}

char *hp_count(char *buffer, long long n, const char *one, const char *many)
{
    char number[32];
    snprintf(buffer, 64, "%s %s", hp_thousands(number, n), n == 1 ? one : many);
    return buffer;
}
