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

#include "cost/collective.h"

enum { MEASURED_LINE = 512 };

/* The file, past its first line, which must be `header`; NULL: it is not there. */
static inline FILE *measured_open(const char *name, const char *header)
{
    const char *folder = getenv("HYPAR_MEASURED");
    glob_t beside = { 0 };
    char path[MEASURED_LINE], line[MEASURED_LINE];
    if (!folder && glob("../*/data/measured", 0, NULL, &beside) == 0)
        folder = beside.gl_pathv[0];
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "data/measured", name);
    globfree(&beside);
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    if (fgets(line, sizeof line, file) && strncmp(line, header, strlen(header)) == 0)
        return file;
    fprintf(stderr, "%s: expected the header %s\n", path, header);
    fclose(file);
    return NULL;
}

/* An all-reduce within a node of A100s, by NCCL (VIA-Research/vTrain). */
struct nccl_row {
    int devices;
    double bytes, seconds;
};

enum { NCCL_MAX = 256 };

/* How many there are; 0: no such file. */
static inline int nccl_rows(struct nccl_row *rows)
{
    FILE *file = measured_open("nccl-a100.csv", "collective,gpus,bytes,seconds");
    char line[MEASURED_LINE];
    int n = 0;
    while (file && n < NCCL_MAX && fgets(line, sizeof line, file))
        n += sscanf(line, "all_reduce,%d,%lf,%lf", &rows[n].devices, &rows[n].bytes,
                    &rows[n].seconds) == 3;
    if (file)
        fclose(file);
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
