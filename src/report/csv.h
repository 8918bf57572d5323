/* report/csv.h - writes tables for programs: a heading, then rows with the same number of
 * fields. Internal.
 *
 *     struct csv_writer csv = { to };
 *     hp_csv_words(&csv, "device busy_s"); hp_csv_end(&csv);
 *     hp_csv_number(&csv, 0); hp_csv_number(&csv, 0.5); hp_csv_end(&csv); */
#ifndef REPORT_CSV_H
#define REPORT_CSV_H

#include <stdbool.h>
#include <stdio.h>

struct csv_writer {
    FILE *file;
    bool begun; /* the row has a field */
};

/* Write the next field: a text in quotes; a number that reads back as the same value; a number
 * that is empty if not known; a text without quotes; or several words, one field each, as in a
 * heading. A text that a spreadsheet would take for a formula gets an apostrophe in front. */
void hp_csv_text(struct csv_writer *csv, const char *text);
void hp_csv_number(struct csv_writer *csv, double value);
void hp_csv_known(struct csv_writer *csv, bool known, double value);
void hp_csv_plain(struct csv_writer *csv, const char *text);
void hp_csv_words(struct csv_writer *csv, const char *words);
void hp_csv_end(struct csv_writer *csv);

#endif /* REPORT_CSV_H */
