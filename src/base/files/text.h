/* base/files/text.h - prints wrapped lines and aligned cells, and makes texts of numbers.
 * Internal.
 */
#ifndef BASE_FILES_TEXT_H
#define BASE_FILES_TEXT_H

#include <hypar/report.h>
#include <hypar/tool.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"

enum { MOST_COLUMNS = 32 }; /* of a table of text */

/* Print cells row by row, with two spaces between columns and none at the end of a line. The
 * first row is the heading, bold on a terminal. `align` has a letter for each column: 'l' left,
 * 'r' right, or 'w' left and wrapped between words if the line is too long; if this is not
 * enough, the cells of the last such column become lines below the rows. star[i]: cell i is
 * highlighted, bold and green if there is colour, else with a star. */
void hp_print_cells(FILE *to, const char *align, const char *const *cell, const bool *star,
                    int n_cells);

/* Below a table: explain highlighted cells, if there are any (`marked`). */
void hp_mark_note(bool marked, FILE *to, const char *what);

/* Does the output accept colour: a terminal that is not dumb, and NO_COLOR not set? */
int hp_has_colour(FILE *to);

/* Print `text`, and blanks up to `width` columns. */
void hp_put_padded(FILE *to, const char *text, int width);

/* `text`, for example a path from the user, with unprintable characters replaced. */
const char *hp_shown(struct arena *arena, const char *text);

/* Print `text` and a newline, wrapped between words at hypar_line_width(). The first line
 * starts at `indent`; further lines are indented by it. */
void hp_wrap(FILE *to, const char *text, int indent);

/* Print a formatted line from the beginning of a line, wrapped. */
void hp_put_line(FILE *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Print a label and a formatted text: "Sent      4 MB, each byte once", wrapped at `indent`. */
void hp_put_labelled(FILE *to, const char *label, int indent, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Append to a list in a loop: `text`, the separator and `more`; only `more` if `text` is empty.
 */
char *hp_joined(struct arena *arena, const char *text, const char *between, const char *more);

/* A figure of a device, with its unit: "12.5 GB/s"; a length or a share has none. */
char *hp_figure_text(struct arena *arena, double value, enum hypar_unit unit);

/* "1.23 ms", "45 MB", "3 J". */
char *hp_time_text(struct arena *arena, double seconds);
char *hp_bytes_text(struct arena *arena, double bytes);
char *hp_energy_text(struct arena *arena, double joules);

/* 1234567 -> "1,234,567". */
char *hp_thousands(struct arena *arena, long long value);

/* 3.41e9 -> "3.41 G": three digits and a power of 1000; with a unit "3.41 GFLOP". */
char *hp_metric(struct arena *arena, double value);
char *hp_metric_unit(struct arena *arena, double value, const char *unit);

/* "1 switch", "1,024 switches". An irregular plural is behind a '|': "row was|rows were". */
char *hp_count(struct arena *arena, long long n, const char *one);

#endif /* BASE_FILES_TEXT_H */
