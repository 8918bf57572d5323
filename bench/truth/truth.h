/* truth.h - tables of published measurements that lie beside the tree (../<any>/data/measured,
 * or HYPAR_MEASURED), and what is predicted for their rows. `bench_truth` prints them; all
 * knowledge of a table, how its jobs were run and what its columns are called, is in read.c. */
#ifndef BENCH_TRUTH_TRUTH_H
#define BENCH_TRUTH_TRUTH_H

#include <stdbool.h>
#include <stdio.h>

#include "base/files/csv.h"

enum { TRUTH_TEXT = 512, TRUTH_PLAN = 2048 };

/* How the jobs of a table were run, unless its rows say it. */
struct truth_table {
    const char *name;       /* of its file, without ".csv" */
    const char *what;       /* for the heading of a figure */
    const char *job;        /* members of the plan file */
    const char *network;    /* options of the network's word */
    bool sequence_parallel; /* wherever layers are divided */
    bool last_device;       /* memory is that of the last device; else of the fullest */
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
    double state_bytes, peak_bytes;          /* what lasts, and the most */
    char failure[TRUTH_TEXT];                /* no prediction, and why */
};

struct truth_row {
    const struct truth_table *table;
    const char *source, *model, *device, *precision, *recompute, *zero, *gradients, *attention;
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

#endif /* BENCH_TRUTH_TRUTH_H */
