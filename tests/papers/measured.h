/* tests/papers/measured.h - published measurements, CSV files that lie beside the tree where
 * there are any: HYPAR_MEASURED names their folder, else ../<any>/data/measured is looked for.
 */
#ifndef TESTS_PAPERS_MEASURED_H
#define TESTS_PAPERS_MEASURED_H

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/csv.h"
#include "cost/collective.h"

enum { MEASURED_PATH = 512 };

/* Read NAME.csv, or where the name has a folder this file; false: it is not there, or no table,
 * which is told. */
static inline bool measured_read(struct csv *csv, struct arena *arena, const char *name)
{
    const char *folder = getenv("HYPAR_MEASURED");
    glob_t beside = { 0 };
    char path[MEASURED_PATH];
    struct hypar_error err;
    if (!folder && glob("../*/data/measured", 0, NULL, &beside) == 0)
        folder = beside.gl_pathv[0];
    if (strchr(name, '/'))
        snprintf(path, sizeof path, "%s", name);
    else
        snprintf(path, sizeof path, "%s/%s.csv", folder ? folder : "data/measured", name);
    globfree(&beside);
    if (access(path, R_OK) != 0)
        return false;
    if (hp_csv_read_file(csv, arena, path, &err) == HYPAR_OK)
        return true;
    fprintf(stderr, "%s\n", err.text);
    return false;
}

/* The field of a row in the first of these columns that the table has; "": it has none. */
static inline const char *measured_field(const struct csv *csv, const struct csv_row *row,
                                         const char *const *names, int n)
{
    for (int i = 0; i < n && names[i]; i++) {
        int column = hp_csv_column(csv, names[i]);
        if (column >= 0)
            return row->field[column];
    }
    return "";
}

/* An all-reduce within a node of A100s, by NCCL (VIA-Research/vTrain). */
struct nccl_row {
    int devices;
    double bytes, seconds;
};

enum { NCCL_MAX = 256 };

static inline double nccl_number(const struct csv *csv, int row, const char *column)
{
    return atof(measured_field(csv, &csv->row[row], &column, 1));
}

/* How many there are; 0: no such file. */
static inline int nccl_rows(struct nccl_row *rows)
{
    struct arena arena = { 0 };
    struct csv csv;
    int n = 0;
    if (measured_read(&csv, &arena, "nccl-a100"))
        for (; n < csv.n_rows && n < NCCL_MAX; n++)
            rows[n] = (struct nccl_row){ (int)nccl_number(&csv, n, "gpus"),
                                         nccl_number(&csv, n, "bytes"),
                                         nccl_number(&csv, n, "seconds") };
    hp_arena_free(&arena);
    return n;
}

/* The same among the first devices of a machine. */
static inline double nccl_predicted_s(const struct hypar_machine *machine,
                                      const struct nccl_row *row)
{
    struct arena arena = { 0 };
    int *device = NEW(&arena, int, row->devices);
    for (int i = 0; i < row->devices; i++)
        device[i] = i;
    struct comm_group group = { COMM_ALL_REDUCE, row->devices, device, 0 };
    const struct comm_way *way =
        hp_comm_best_way(hp_comm_model(&arena, machine, &group), row->bytes);
    double predicted_s = way->fixed_s + row->bytes * way->s_per_byte;
    hp_arena_free(&arena);
    return predicted_s;
}

/* Mean error of every second row from `first` on: the even ones were fitted. Of one number of
 * devices, or (0) of all. */
static inline double nccl_error(const struct hypar_machine *machine,
                                const struct nccl_row *rows, int n, int first, int devices)
{
    double sum = 0;
    int counted = 0;
    for (int i = first; i < n; i += 2)
        if (devices == 0 || rows[i].devices == devices) {
            sum += fabs(nccl_predicted_s(machine, &rows[i]) / rows[i].seconds - 1);
            counted++;
        }
    return counted ? sum / counted : 0;
}

#endif /* TESTS_PAPERS_MEASURED_H */
