/* truth.h - tables of published measurements that lie beside the tree (../<any>/data/measured,
 * or HYPAR_MEASURED), and what is predicted for their rows. `bench_truth` prints them; all
 * knowledge of a table, how its jobs were run and what its columns are called, is in read.c. */
#ifndef BENCH_TRUTH_TRUTH_H
#define BENCH_TRUTH_TRUTH_H

#include <stdbool.h>
#include <stdio.h>

#include <hypar/framework.h>

#include "base/files/csv.h"
#include "cost/calibration.h"

enum { TRUTH_TEXT = 512, TRUTH_PLAN = 2048 };

/* Whose memory a table tells. */
enum truth_whose { FULLEST_DEVICE, FIRST_DEVICE, LAST_DEVICE };

/* How the jobs of a table were run, unless its rows say it. */
struct truth_table {
    const char *name;      /* of its file, without ".csv" */
    const char *path;      /* of a file of this tree; else NULL */
    const char *what;      /* for the heading of a figure */
    const char *framework; /* that its jobs ran under, unless a column says it */
    const char *optimizer;
    const char *network;    /* options of the network's word; NULL: none */
    bool sequence_parallel; /* wherever layers are divided */
    const char *one_device; /* on a single one of these, networks as words of the zoo */
    bool context_as_data;   /* devices that divide the sequence are counted as replicas: as much
                               arithmetic, without the exchange of keys and values */
    enum truth_whose whose; /* memory is that of this device */
    bool reserved;          /* memory is what the allocator reserved; else handed out */
    bool cases;             /* names of rows say how they were run (read.c) */
    bool padded_vocab;      /* the vocabulary is filled up to a multiple of 128 x tensor */
    bool search; /* micro-batches and chunks that were not printed are searched for */
};

const struct truth_table *truth_table(int i); /* NULL past the last */

/* Of a step. */
struct truth_prediction {
    double step_s;
    double compute_s, messages_s, waiting_s; /* their sum is the step; the mean over devices:
                                                computing; not computing beside a message of its
                                                own; neither, as in a pipeline's bubble */
    double launch_s;                         /* of the slowest host, beside all of these */
    struct less_known parts;                 /* of the step */
    double state_bytes, peak_bytes;          /* what lasts, and the most */
    double probability;                      /* that it fits */
    char device[32];                         /* as the table of devices calls it */
    char failure[TRUTH_TEXT];                /* no prediction, and why */
};

struct truth_row {
    const struct truth_table *table;
    const char *source, *model, *device, *precision, *recompute, *zero, *gradients, *attention;
    const char *framework, *word; /* of the network, where the table has it, else "" */
    const char *parameters;       /* their precision, where it is another */
    const char *container;        /* "lts": of an older one */
    int deterministic, first_layers, last_layers, instances; /* of the divided optimizer */
    bool layers_alone; /* are divided and gathered: other parameters are whole, in one stage */
    char members[160]; /* of the framework, as the row says; each begins with a comma */
    int devices, layers, hidden, heads, kv_heads, ffn, seq, vocab, tied, untied, gated, moe;
    int batch, micro_batch, tensor, data, pipeline, chunks, context, sequence_parallel, latent;
    double step_s, state_bytes, peak_bytes; /* measured; 0: not */
    const char *left_out;                   /* why there is no prediction; NULL */
    char name[128];
    bool chosen; /* the micro-batch or the chunks are not the row's */
    struct truth_prediction predicted;
};

/* The rows of a table; 0: it is not there. */
int truth_read(struct arena *arena, const struct truth_table *table, struct truth_row **rows);

/* The plan file of a row; `options` are appended to the machine's word. */
void truth_plan(const struct truth_row *row, const char *options, char text[TRUTH_PLAN]);

/* Fill in row->predicted, and what the row does not say. Equal plans are simulated once. */
void truth_predict(struct truth_row *row, const char *options);

/* Errors of predictions: predicted over measured, less 1. */
struct truth_errors {
    int rows;
    double mean, bias, rank; /* absolute; signed; Spearman's correlation */
    double worst;            /* signed */
    int worst_row;
};
struct truth_errors truth_errors(const double *measured, const double *predicted, int n);

/* What rows of one device and framework say of steps that are not among them; those of
 * `without`'s network are left out (NULL: of none). Of a single network it is not known how
 * networks differ: `between_usual`, a variance. */
#define EIGHT_OF_TEN 1.2816 /* values of a normal distribution, in standard deviations */
struct hypar_calibration truth_calibration(const struct truth_row *const *row, int n,
                                           const struct truth_row *without,
                                           double between_usual);

/* The variance between networks, and how many there are. */
double truth_between(const struct truth_row *const *row, int n, int *networks);

/* Is the measured step in the interval of the predicted one? */
bool truth_is_inside(const struct hypar_calibration *calibration, const struct truth_row *row);

#endif /* BENCH_TRUTH_TRUTH_H */
