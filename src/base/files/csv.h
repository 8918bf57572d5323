/* base/files/csv.h - tables as text: a heading, then rows with as many fields. Internal.
 *
 * Commas separate fields. A field in double quotes may contain commas, and quotes written
 * twice. Blanks around fields, empty lines and lines that begin with '#' are ignored; lines end
 * with LF or CR LF. One apostrophe in front of a formula is removed. */
#ifndef BASE_FILES_CSV_H
#define BASE_FILES_CSV_H

#include "base/arena.h"
#include "base/error.h"

enum { CSV_MAX_COLUMNS = 64, CSV_MAX_ROWS = 1 << 20, CSV_MAX_BYTES = 1 << 26 };

struct csv_row {
    int line; /* in the file, from 1 */
    const char *const *field;
};

struct csv {
    const char *name; /* of the file, for messages */
    int n_columns, n_rows;
    const char *const *heading;
    int line; /* of the heading */
    const struct csv_row *row;
};

/* Read a table into the arena. HYPAR_SYNTAX, with file and line, if the text is no table;
 * HYPAR_UNSUPPORTED beyond the limits above. */
enum hypar_status hp_csv_read_text(struct csv *out, struct arena *arena, const char *text,
                                   size_t length, const char *name, struct hypar_error *err);
enum hypar_status hp_csv_read_file(struct csv *out, struct arena *arena, const char *path,
                                   struct hypar_error *err);

/* The column with this heading, ignoring case; -1: there is none. */
int hp_csv_column(const struct csv *csv, const char *name);

/* Would a spreadsheet run this text as a formula? Leading apostrophes are ignored, so that a
 * text that begins with an apostrophe is read back unchanged. */
bool hp_csv_is_formula(const char *text);

/* Raise HYPAR_INVALID with "file:line: " in front. */
enum hypar_status hp_csv_fail(const struct csv *csv, int line, struct hypar_error *err,
                              const char *fmt, ...) HYPAR_PRINTF(4, 5);

#endif /* BASE_FILES_CSV_H */
