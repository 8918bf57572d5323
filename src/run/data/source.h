/* run/data/source.h - the samples that a training reads. Internal.
 *
 * The samples of a batch follow from the seed and from the number of samples before the batch,
 * never from the plan. Every rank reads, of each model input, only the samples and the parts of
 * samples that its tasks use. In each epoch the training's samples come in another order, which
 * follows from seed and epoch; a batch may reach into the next epoch.
 *
 * Where samples come from is a text:
 *
 *     synthetic               made up, and there is something to learn: labels follow from x
 *     x.npy,y.npy             arrays of NumPy, first dimension the samples: one for each input,
 *     train-images,train-labels  in the model's order, or INPUT=FILE; likewise IDX (MNIST)
 *     cifar10:FILE,...        binary CIFAR-10, cifar100: with fine labels; files in a row
 *     tokens:FILE,...         uint16 ids, tokens32: uint32: a sample is a window of as many as
 *                             the model takes, its labels are the window one further on
 *
 * Bytes (uint8) that are given to an input of numbers are divided by 255. */
#ifndef RUN_DATA_SOURCE_H
#define RUN_DATA_SOURCE_H

#include "graph/graph.h"
#include "kernel/kernel.h"

enum data_set { DATA_TRAIN, DATA_TEST, DATA_SET_COUNT };

struct data_options {
    const char *train, *test; /* texts as above; NULL: synthetic, none */
    double held_out; /* the share of the last training samples that is kept for testing: 0 <=
                        held_out < 1; not together with `test` */
    int64_t synthetic_samples; /* 0: 2^16, for testing 2^10 */
    uint64_t seed;
    bool in_order; /* do not shuffle; test samples never are shuffled */
};

struct data_source;

/* Open the files that the options name and check them against the model's inputs:
 * HYPAR_UNREADABLE, or HYPAR_INVALID with the file, the fault and what was expected. The graph
 * must outlive the source. */
enum hypar_status hp_data_open(struct data_source **out, const struct hypar_graph *graph,
                               const struct data_options *options, struct hypar_error *err);
void hp_data_close(struct data_source *source);

/* The number of samples; 0 if there is no such set. */
int64_t hp_data_samples(const struct data_source *source, enum data_set set);

/* A box of a model input, of one batch. */
struct data_request {
    enum data_set set; /* which has samples */
    int tensor;
    int64_t position; /* samples before the batch: (step - 1) * batch */
    struct box box;   /* of the input's tensor */
    enum real real;   /* of numbers; integers are int32_t */
};

/* Fill a dense array. The next epoch follows the last sample. HYPAR_INVALID for a label or an
 * id that the model does not accept; HYPAR_UNREADABLE. Threads may read at the same time. */
enum hypar_status hp_data_read(const struct data_source *source,
                               const struct data_request *request, void *dense,
                               struct hypar_error *err);

/* Check labels and ids before the first step, the first 2^24 of each input and set: finds early
 * what hp_data_read() would refuse. One rank does this for all. */
enum hypar_status hp_data_check(const struct data_source *source, struct hypar_error *err);

#endif /* RUN_DATA_SOURCE_H */
