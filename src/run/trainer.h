/* run/trainer.h - the inside of a training run. Internal to run/. */
#ifndef RUN_TRAINER_H
#define RUN_TRAINER_H

#include "model/weights.h"
#include "run/checkpoint/checkpoint.h"
#include "run/data/source.h"
#include "run/exec/executor.h"
#include "run/ranks.h"

/* Tests on held-out samples: forward phases alone (evaluate.c). */
struct evaluation {
    struct arena arena;
    struct trainer *trainer;
    struct hypar_program *program; /* NULL: there are no such samples */
    struct executor **x;           /* like the trainer's executors, whose parameters they use */
    int loss_device;
    int64_t samples, batches_at_once, rows_at_once;
    int64_t classes;     /* of a classifier; else 0 */
    struct score *score; /* of this process, since the last gathering */
    struct score *best;  /* on rank 0, by row */
    int n_scores, capacity;
    int64_t right, counted; /* rows of this test, on rank 0 */
};

struct measuring; /* measure.h */

struct trainer {
    struct arena arena;
    const struct hypar_plan *plan;
    const struct hypar_graph *graph;
    struct hypar_program *program;
    const struct hypar_train_options *options;
    struct hypar_ranks *ranks;
    enum real real; /* of what comes in and goes out, and of the optimizer's state */
    bool narrow;    /* what the plan holds in two bytes is bf16 */
    struct backend backend;
    struct optimizer optimizer;
    uint64_t seed;
    int64_t first_step;      /* done before this run */
    int64_t resumed_samples; /* samples of the data set before; 0: unknown */
    struct data_source *data;
    struct checkpoint *resumed; /* NULL: from the start */
    struct weights *weights;    /* of the model's file; NULL: it has none */
    struct checkpoint *values;  /* from the file beside the model's; NULL: there are none */

    /* The devices that this process runs: its rank's, or all. */
    int rank, n_ranks, first_device, n_here, n_devices;
    struct executor **x;
    struct local_network *network; /* between these devices; NULL: MPI */
    struct transport control;      /* between processes, if there are several */
    int tag_loss, tag_word, tag_save, tag_trace, tag_test;
    int loss_device; /* the first device that knows the loss */
    struct evaluation test;
    struct measuring *measuring; /* NULL: times are not measured */
};

/* The first device that knows the loss; the number of losses in a step (one, or one for each
 * update period); gathering these at rank 0 (train.c). */
int hp_loss_device(const struct trainer *t, const struct hypar_program *program);
int hp_loss_count(const struct trainer *t, const struct hypar_program *program);
void hp_collect_losses(struct trainer *t, struct executor **x, int device, double *loss, int n);

/* Prepare tests, with executors set up like `as`; does nothing without held-out samples. */
enum hypar_status hp_evaluation_make(struct trainer *t, const struct executor_settings *as,
                                     struct hypar_error *err);
void hp_evaluation_free(struct trainer *t);

/* Run a test after `step`, on all ranks; rank 0 has the result. */
enum hypar_status hp_evaluate(struct trainer *t, int64_t step, struct hypar_train_test *out,
                              struct hypar_error *err);

/* Fill an array that an executor asks for (fill.c). */
enum hypar_status hp_trainer_fill(void *who, const struct fill_request *request,
                                  const struct view *to, struct hypar_error *err);

/* A tensor of a checkpoint: a parameter, its state, or running statistics. */
struct saved {
    int tensor;
    int state; /* -1: the value; of running statistics: which one */
};

/* The tensors of a checkpoint of this training, in the order of the file; room for
 * hp_saved_most() (save.c). */
int hp_saved_most(const struct trainer *t);
int hp_list_saved(const struct trainer *t, struct saved *saved,
                  struct checkpoint_tensor *tensor, struct arena *arena);

/* The files with initial values: a checkpoint, the model's weights (restore.c). They are
 * opened, and their checksums compared, before the plan is lowered ... */
enum hypar_status hp_trainer_open(struct trainer *t, struct hypar_error *err);
/* ... and missing tensors are reported after it, when the samples are known too. */
enum hypar_status hp_trainer_check_values(struct trainer *t, struct hypar_error *err);

/* Write a checkpoint at `step`: rank 0 writes, the others send their pieces (save.c). */
enum hypar_status hp_trainer_save(struct trainer *t, const char *path, int64_t step,
                                  struct hypar_error *err);

/* Gather all records at rank 0 as *out, which takes ownership of the program; NULL on the other
 * ranks (trace.c). */
void hp_trainer_trace(struct trainer *t, struct hypar_trace **out);

#endif /* RUN_TRAINER_H */
