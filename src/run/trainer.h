/* run/trainer.h - the inside of a training run. Internal to run/. */
#ifndef RUN_TRAINER_H
#define RUN_TRAINER_H

#include "model/weights.h"
#include "run/checkpoint/checkpoint.h"
#include "run/data/source.h"
#include "run/exec/executor.h"
#include "run/ranks.h"

struct trainer {
    struct arena arena;
    const struct hypar_plan *plan;
    const struct hypar_graph *graph;
    struct hypar_program *program;
    const struct hypar_train_options *options;
    struct hypar_ranks *ranks;
    enum real real;
    struct optimizer optimizer;
    uint64_t seed;
    int64_t first_step; /* done before this run */
    struct data_source *data;
    struct checkpoint *resumed; /* NULL: from the start */
    struct weights *weights;    /* of the model's file; NULL: it has none */

    /* The devices that this process runs: its rank's, or all. */
    int rank, n_ranks, first_device, n_here, n_devices;
    struct executor **x;
    struct local_network *network; /* between them; NULL: MPI */
    struct transport control;      /* between processes, where there are several */
    int tag_loss, tag_word, tag_save, tag_trace;
    int loss_device; /* the first that knows the loss */
};

/* What the executor asks for (train.c). */
enum hypar_status hp_trainer_fill(void *who, const struct fill_request *request,
                                  const struct view *to, struct hypar_error *err);

/* Write a checkpoint at `step`: rank 0 does, the others send what they have (save.c). */
enum hypar_status hp_trainer_save(struct trainer *t, const char *path, int64_t step,
                                  struct hypar_error *err);

/* What was recorded comes to rank 0, where it becomes *out, which takes the program over; NULL
 * on the others (trace.c). */
void hp_trainer_trace(struct trainer *t, struct hypar_trace **out);

#endif /* RUN_TRAINER_H */
