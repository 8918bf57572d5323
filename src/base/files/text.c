/* Prints aligned cells and wrapped lines, and makes texts of numbers. */
#include "base/files/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/utf8.h"

enum {
    FILE_WIDTH = 80,
    LEAST_WIDTH = 20,
    MOST_WIDTH = 1000,
    LEAST_BROKEN = 12,
    GAP = 2,
    BELOW = 4 /* indentation of a cell below its row */
};

/* The width from COLUMNS, else from the terminal; 0: unknown. */
static int width_said(FILE *to)
{
    const char *said = getenv("COLUMNS");
    struct winsize size = { 0 };
    double columns;
    if (said && hypar_parse_quantity(said, HYPAR_UNIT_COUNT, &columns) && columns >= 1)
        return columns < MOST_WIDTH ? (int)columns : MOST_WIDTH;
    return isatty(fileno(to)) && ioctl(fileno(to), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

int hypar_line_width(FILE *to)
{
    int said = width_said(to);
    return !said ? FILE_WIDTH : said < LEAST_WIDTH ? LEAST_WIDTH : said;
}

int hp_has_colour(FILE *to)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(to)) && !(no && *no) && !(term && strcmp(term, "dumb") == 0);
}

/* Is the word a unit, such as "GB,", "%" or "k"? A unit stays on the line of its number. */
static bool is_unit(const char *text)
{
    static const char *const unit[] = { "%", "B", "s", "J", "B/s" };
    size_t n = strcspn(text, " "), prefix = n && strchr("kMGTPEmunp", text[0]) ? 1 : 0;
    while (n && strchr(",;:.)", text[n - 1]))
        n--;
    for (size_t i = 0; i < sizeof unit / sizeof unit[0]; i++)
        for (size_t skip = 0; skip <= prefix; skip++)
            if (strlen(unit[i]) + skip == n && strncmp(text + skip, unit[i], n - skip) == 0)
                return true;
    return n == 1 && prefix;
}

/* Bytes of the first word of `text`, including its unit if it ends in a digit. */
static int word_bytes(const char *text)
{
    int n = (int)strcspn(text, " ");
    if (n && isdigit((unsigned char)text[n - 1]) && text[n] && is_unit(text + n + 1))
        n += 1 + (int)strcspn(text + n + 1, " ");
    return n;
}

/* Is the word a degree, such as "k=8,"? */
static bool is_degree(const char *text)
{
    return isalpha((unsigned char)text[0]) && text[1] == '=' && isdigit((unsigned char)text[2]);
}

/* Bytes of the first phrase that should stay on one line, such as "conv1 .. relu3 n=2 k=8 on
 * 0-15", if it fits in `width`; else of the first word. */
static int phrase_bytes(const char *text, int width)
{
    int n = word_bytes(text), whole = n;
    bool degree = is_degree(text);
    while (text[n] == ' ' && n && !strchr(",;:", text[n - 1])) {
        const char *next = text + n + 1;
        if (strncmp(next, ".. ", 3) == 0 || (degree && strncmp(next, "on ", 3) == 0))
            n += 1 + (int)strcspn(next, " ") + 1 + word_bytes(strchr(next, ' ') + 1);
        else if (is_degree(next))
            n += 1 + word_bytes(next);
        else
            break;
        degree = is_degree(next);
    }
    return hp_text_width(text, n) <= width ? n : whole;
}

/* Bytes of the words at the start of `text` that fit in `width` characters: at least one
 * word. */
static int line_bytes(const char *text, int width)
{
    int bytes = 0, used = 0;
    while (text[bytes]) {
        int blanks = (int)strspn(text + bytes, " ");
        int word = phrase_bytes(text + bytes + blanks, width);
        int characters = hp_text_width(text + bytes, blanks + word);
        if (used && used + characters > width)
            break;
        bytes += blanks + word;
        used += characters;
    }
    return bytes;
}

/* The geometry of a table on a line. */
struct grid {
    int n, gap, width[MOST_COLUMNS];
    int least[MOST_COLUMNS]; /* least width of a column that may wrap: its longest word */
    int star[MOST_COLUMNS];  /* 1: space for a star behind its cells */
    bool colour;
    int below; /* a column that does not fit: its cells are lines of their own; -1: none */
};

/* Narrow the columns that may wrap, the widest first, until the line fits. Returns the excess
 * that remains. */
static int give_way(const char *align, int excess, struct grid *grid)
{
    for (; excess > 0; excess--) {
        int widest = -1;
        for (int c = 0; c < grid->n; c++)
            if (align[c] == 'w' && grid->width[c] > grid->least[c] &&
                (widest < 0 || grid->width[c] > grid->width[widest]))
                widest = c;
        if (widest < 0)
            break;
        grid->width[widest]--;
    }
    return excess;
}

/* The last column that may wrap; -1: none. */
static int last_broken(const char *align)
{
    const char *last = strrchr(align, 'w');
    return last ? (int)(last - align) : -1;
}

/* Characters of the longest word. */
static int longest_word(const char *text)
{
    int longest = 0;
    while (*text) {
        int n = word_bytes(text), width = hp_text_width(text, n);
        longest = width > longest ? width : longest;
        text += n;
        text += strspn(text, " ");
    }
    return longest;
}

static void widen(struct grid *grid, int c, const char *text)
{
    int width = hp_text_width(text, (int)strlen(text)) + grid->star[c];
    int word = longest_word(text) + grid->star[c];
    grid->width[c] = width > grid->width[c] ? width : grid->width[c];
    grid->least[c] = word > grid->least[c] ? word : grid->least[c];
}

/* Fit the table to the line: first wrap columns, then reduce the gaps, then move one column
 * below the rows. */
static void measure(struct grid *grid, const char *align, const char *const *cell,
                    const bool *star, int n_cells, int line)
{
    int total = GAP * (grid->n - 1), last = last_broken(align);
    for (int i = 0; i < n_cells; i++)
        grid->star[i % grid->n] |= star[i] && !grid->colour;
    for (int c = 0; c < grid->n; c++)
        grid->least[c] = LEAST_BROKEN;
    for (int i = 0; i < n_cells; i++)
        widen(grid, i % grid->n, cell[i]);
    for (int c = 0; c < grid->n; c++)
        total += grid->width[c];
    int excess = give_way(align, total - line, grid);
    if (excess > 0) {
        grid->gap = 1;
        excess -= (GAP - 1) * (grid->n - 1);
    }
    if (excess > 0 && last >= 0) {
        grid->gap = GAP;
        grid->below = last;
    }
}

/* Print one cell of a line after `blanks` blanks. Returns the number of characters. */
static int print_cell(const struct grid *grid, const char *text, int bytes, int blanks,
                      bool marked, FILE *to)
{
    bool colour = marked && grid->colour, star = marked && !grid->colour;
    fprintf(to, "%*s%s%.*s%s", blanks, "", colour ? "\033[1;32m" : "", bytes, text,
            colour ? "\033[0m" : "");
    if (star)
        fputc('*', to);
    return hp_text_width(text, bytes) + star;
}

/* Print one line of a row; rest[] has the unprinted text of each cell. Returns false if nothing
 * is left. */
static bool print_line(const struct grid *grid, const char *align, const bool *marked,
                       const char **rest, FILE *to)
{
    int blanks = 0; /* before the next text: none after the last */
    bool more = false;
    for (int c = 0; c < grid->n; c++) {
        if (c == grid->below)
            continue;
        int width = grid->width[c];
        int bytes = align[c] == 'w' ? line_bytes(rest[c], width) : (int)strlen(rest[c]);
        int before =
            align[c] == 'r' ? width - grid->star[c] - hp_text_width(rest[c], bytes) : 0;
        int length = 0;
        if (bytes)
            length = print_cell(grid, rest[c], bytes, blanks + before, marked[c], to);
        int after = width > length + before ? width - length - before : 0;
        blanks = grid->gap + (bytes ? after : blanks + width);
        rest[c] += bytes;
        rest[c] += strspn(rest[c], " ");
        more |= *rest[c] != '\0';
    }
    return more;
}

void hp_print_cells(FILE *to, const char *align, const char *const *cell, const bool *star,
                    int n_cells)
{
    struct grid grid = {
        .n = (int)strlen(align), .gap = GAP, .colour = hp_has_colour(to), .below = -1
    };
    const char *rest[MOST_COLUMNS];
    measure(&grid, align, cell, star, n_cells, hypar_line_width(to));
    for (int row = 0; row < n_cells; row += grid.n) {
        bool bold = grid.colour && row == 0;
        memcpy(rest, cell + row, sizeof *rest * (size_t)grid.n);
        for (bool more = true; more;) {
            fputs(bold ? "\033[1m" : "", to);
            more = print_line(&grid, align, star + row, rest, to);
            fputs(bold ? "\033[0m\n" : "\n", to);
        }
        if (grid.below >= 0 && *rest[grid.below]) {
            fprintf(to, "%*s", BELOW, "");
            hp_wrap(to, rest[grid.below], BELOW);
        }
    }
}

void hp_mark_note(bool marked, FILE *to, const char *what)
{
    if (marked)
        hp_put_line(to, "%s %s", hp_has_colour(to) ? "green:" : "*", what);
}

void hp_put_padded(FILE *to, const char *text, int width)
{
    int blanks = width - hp_text_width(text, (int)strlen(text));
    fprintf(to, "%s%*s", text, blanks > 0 ? blanks : 0, "");
}

const char *hp_shown(struct arena *arena, const char *text)
{
    return hp_clean_text(hp_arena_strdup(arena, text), '?');
}

void hp_wrap(FILE *to, const char *text, int indent)
{
    int width = hypar_line_width(to) - indent;
    do {
        int bytes = line_bytes(text, width);
        fprintf(to, "%.*s\n", bytes, text);
        text += bytes;
        text += strspn(text, " ");
        fprintf(to, "%*s", *text ? indent : 0, "");
    } while (*text);
}

void hp_put_line(FILE *to, const char *fmt, ...)
{
    struct arena arena = { 0 };
    va_list ap;
    va_start(ap, fmt);
    hp_wrap(to, hp_arena_vprintf(&arena, fmt, ap), 0);
    va_end(ap);
    hp_arena_free(&arena);
}

void hp_put_labelled(FILE *to, const char *label, int indent, const char *fmt, ...)
{
    struct arena arena = { 0 };
    va_list ap;
    va_start(ap, fmt);
    fprintf(to, "%-*s", indent, label);
    hp_wrap(to, hp_arena_vprintf(&arena, fmt, ap), indent);
    va_end(ap);
    hp_arena_free(&arena);
}

static char *quantity(struct arena *arena, double value, enum hypar_unit unit)
{
    char text[32];
    return hp_arena_strdup(arena, hypar_format_quantity(text, value, unit));
}

char *hp_joined(struct arena *arena, const char *text, const char *between, const char *more)
{
    return hp_arena_printf(arena, "%s%s%s", text, *text ? between : "", more);
}

char *hp_figure_text(struct arena *arena, double value, enum hypar_unit unit)
{
    return unit == HYPAR_UNIT_COUNT ? hp_arena_printf(arena, "%.3g", value)
                                    : quantity(arena, value, unit);
}

char *hp_time_text(struct arena *arena, double seconds)
{
    return quantity(arena, seconds, HYPAR_UNIT_SECONDS);
}

char *hp_bytes_text(struct arena *arena, double bytes)
{
    return quantity(arena, bytes, HYPAR_UNIT_BYTES);
}

char *hp_energy_text(struct arena *arena, double joules)
{
    return quantity(arena, joules, HYPAR_UNIT_JOULES);
}

void hypar_report_text(FILE *to, const char *text, int indent)
{
    hp_wrap(to, text, indent);
}

char *hp_thousands(struct arena *arena, long long value)
{
    char digits[24], text[32];
    int n = snprintf(digits, sizeof digits, "%lld", value < 0 ? -value : value), out = 0;
    if (value < 0)
        text[out++] = '-';
    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            text[out++] = ',';
        text[out++] = digits[i];
    }
    return hp_arena_strndup(arena, text, (size_t)out);
}

char *hp_metric(struct arena *arena, double value)
{
    char *text = hp_metric_unit(arena, value, "");
    size_t n = strlen(text);
    if (n && text[n - 1] == ' ')
        text[n - 1] = '\0';
    return text;
}

char *hp_metric_unit(struct arena *arena, double value, const char *unit)
{
    static const char *const prefix[] = { "", "k", "M", "G", "T", "P", "E" };
    int p = 0;
    char digits[32]; /* rounded first, as in hypar_format_quantity(): a number always gives the
                      * same text */
    snprintf(digits, sizeof digits, "%.2e", value);
    value = strtod(digits, NULL);
    while (value >= 999.5 && p < 6) {
        value /= 1000;
        p++;
    }
    return hp_arena_printf(arena, "%.3g %s%s", value, prefix[p], unit);
}

char *hp_count(struct arena *arena, long long n, const char *one)
{
    int length = (int)strcspn(one, "|");
    const char *many = one[length] ? one + length + 1 : "";
    const char *plural = *many ? "" : one[length - 1] == 'h' ? "es" : "s";
    const char *number = hp_thousands(arena, n);
    return n == 1 || !*many
               ? hp_arena_printf(arena, "%s %.*s%s", number, length, one, n == 1 ? "" : plural)
               : hp_arena_printf(arena, "%s %s", number, many);
}
