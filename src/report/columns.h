/* report/columns.h - tables that line up. Internal.
 *
 *     struct columns table = { .align = "lrr" };
 *     hp_cell(&table, &arena, "name"); ...         the first row is the heading
 *     hp_columns_print(&table, to);
 */
#ifndef REPORT_COLUMNS_H
#define REPORT_COLUMNS_H

#include <stdio.h>

#include "base/arena.h"

struct columns {
    const char *align; /* 'l' or 'r' for each column */
    char **cell;       /* row by row */
    int n_cells, capacity;
};

/* The next cell, row by row. */
void hp_cell(struct columns *columns, struct arena *arena, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Print heading and rows, two spaces between columns; the heading is bold on a terminal. */
void hp_columns_print(const struct columns *columns, FILE *to);

/* Is colour wanted there: a terminal, and NO_COLOR not set? */
int hp_has_colour(FILE *to);

/* Print `text` and a newline, broken between words at 96 columns; the first line has begun at
 * `indent`, further ones are indented so. */
void hp_wrap(FILE *to, const char *text, int indent);

/* 1234567 -> "1,234,567"; buffer holds at least 32 bytes. */
char *hp_thousands(char *buffer, long long value);

/* 3.41e9 -> "3.41 G": three digits and a power of 1000; buffer holds at least 32 bytes. */
char *hp_metric(char *buffer, double value);

#endif /* REPORT_COLUMNS_H */
