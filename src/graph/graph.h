/* graph/graph.h - the inside of a graph, and how one is built. Internal. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/error.h"
#include "base/table.h"
#include "graph/nest.h"

enum tensor_kind {
    TENSOR_INPUT,      /* data given to the model: needs no gradient */
    TENSOR_PARAM,      /* trained */
    TENSOR_ACTIVATION, /* written by an operator */
    TENSOR_STAT,       /* a statistic between two passes of one operator */
};

struct tensor {
    const char *name;
    struct hypar_shape shape;
    enum tensor_kind kind;
    bool index; /* integers: ids, labels */
    bool
        needs_grad; /* a parameter, or computed from one; and the loss, if any, depends on it */
    bool is_output; /* of the model, for people; the loss is not one */
    bool untrained; /* a parameter that the model itself says is not trained */
    int sample_dim; /* the dimension that holds the samples, -1: none */
    int producer;   /* the op that writes it, -1: an input or a parameter */
};

/* One way in which an opaque operator was measured. Numbers are of one sample, and of each of
 * the devices that divide the operator. */
struct op_choice {
    int degree;             /* devices that divide it (tensor parallelism) */
    bool recompute;         /* its forward half is done again for the backward half */
    double seconds;         /* forward and backward */
    double parameter_bytes; /* that replicas exchange once a batch */
    double stash_bytes;     /* kept for each sample in flight */
    double fixed_bytes;     /* however many are in flight */
    /* What its devices exchange beside what is sent from stage to stage: by input, where that
     * comes from another stage; by use of its output, where that is in another stage. */
    const double *in_sync_bytes, *out_sync_bytes;
};

/* All of them, each degree with and without recomputation at most once, in that order. */
struct op_choices {
    int n;
    const struct op_choice *choice;
    int n_inputs, n_uses;      /* lengths of the lists by input and by use */
    const double *input_bytes; /* of a sample, sent to each reader by itself; NULL: output_bytes
                                  of the writer, sent once to each stage that reads it */
};

struct op {
    const char *name;
    enum op_kind kind;
    const struct nest *nest;
    const int *tensor;                /* for each operand of the nest; -1: absent */
    const struct op_choices *choices; /* NULL: none was measured */
};

/* A use of a tensor. */
struct use {
    int op, operand;
};

/* The file that has values of the parameters, and how the graph was read from it. */
struct weights_file {
    const char *path; /* NULL: none has */
    struct hypar_import_options options;
};

/* Ops are in topological order: an op reads only inputs, parameters and what earlier ops write.
 */
struct hypar_graph {
    struct arena arena; /* holds everything, the graph itself included */
    const char *name;
    int64_t batch;
    int n_ops, n_tensors, n_nests;
    struct op *ops;
    struct tensor *tensors;
    const struct nest **nests;
    int loss; /* tensor, -1: none */
    /* Readers of tensor t: use[use_start[t]] .. use[use_start[t+1] - 1], in op order. */
    int *use_start;
    struct use *use;
    struct table op_names; /* name -> op */
    const char **notes;    /* what the user should know about how it was read */
    int n_notes;
    struct weights_file weights;
    const char *values_name; /* a safetensors file beside the model's that has values, as the
                                model names it; NULL: there is none */
    const char *values_path; /* where that is; NULL: the model was not read from a path */
    /* Modules of the PyTorch model that it was made of, by path, once for each call; none: it
     * was made of something else, or nobody said. */
    const char **modules;
    int n_modules;
    struct table module_at; /* path -> its first call */
    bool own_loss;      /* the graph ends in a mean of squares that stands for another loss */
    const char *frozen; /* patterns of parameters that are not trained; NULL: none */
    uint64_t hash;
};

int64_t hp_shape_elements(const struct hypar_shape *shape);

/* Building -----------------------------------------------------------------------------
 *
 *     struct graph_builder *b = hp_build("net", batch);
 *     int x = hp_build_input(b, "x", &shape, false, 0);
 *     int y[1];
 *     TRY(hp_build_op(b, &(struct op_request){ .kind = OP_RELU, .name = "relu1",
 *                                              .n_inputs = 1, .inputs = &x }, y, err));
 *     TRY(hp_build_finish(b, out, err));      or hp_build_abandon(b) on failure
 *
 * Limits (checked, HYPAR_INVALID): HP_MAX_OPS operators, HP_MAX_TENSORS tensors, a tensor of
 * less than 2^50 elements, dimensions of at least 1. */
enum { HP_MAX_OPS = 1 << 20, HP_MAX_TENSORS = 1 << 22 };

struct graph_builder;

struct graph_builder *hp_build(const char *name, int64_t batch);
void hp_build_abandon(struct graph_builder *b);

/* The graph as it stands, to look at shapes of tensors already made. */
const struct hypar_graph *hp_build_graph(const struct graph_builder *b);

/* A model input; `sample_dim` is the dimension of the samples or -1. Returns the tensor. */
int hp_build_input(struct graph_builder *b, const char *name, const struct hypar_shape *shape,
                   bool index, int sample_dim);
int hp_build_param(struct graph_builder *b, const char *name, const struct hypar_shape *shape);

/* A parameter that no operator reads yet stays as it is: nothing is trained for its sake. */
void hp_build_untrained(struct graph_builder *b, int param);

/* In place of an input tensor: */
enum {
    HP_ABSENT = -1, /* an optional operand that is not there */
    HP_MAKE = -2,   /* a new parameter, its shape from the row, named "<op>.<operand>" */
};

struct op_request {
    enum op_kind kind;
    const char *name; /* copied; unique in the graph */
    int n_inputs; /* trailing ones left out: HP_MAKE for a required parameter, else absent */
    const int *inputs;         /* tensors, HP_ABSENT or HP_MAKE, in the row's order */
    const struct attrs *attrs; /* NULL: none; copied. Missing ones take the row's defaults */
};

/* Append an operator. Its outputs' tensors go to outputs[] (as many as the row has; for split,
 * one per size). The first output is named like the op, others "<op>:<operand>". */
enum hypar_status hp_build_op(struct graph_builder *b, const struct op_request *request,
                              int *outputs, struct hypar_error *err);

/* The choices of the operator that was appended last, an opaque one; copied. Lists by input are
 * as long as its inputs or shorter, those by use as long as there will be uses, or hold one
 * number for all. */
enum hypar_status hp_build_choices(struct graph_builder *b, const struct op_choices *choices,
                                   struct hypar_error *err);

/* Name an output of the model (not the loss). */
void hp_build_mark_output(struct graph_builder *b, int tensor);

/* Check the whole, derive uses and the hash, and hand it over. */
enum hypar_status hp_build_finish(struct graph_builder *b, struct hypar_graph **out,
                                  struct hypar_error *err);

/* The same graph with inputs and parameters where they are first read: as it is numbered when
 * it has been written and read back. */
enum hypar_status hp_graph_renumber(const struct hypar_graph *graph, struct hypar_graph **out,
                                    struct hypar_error *err);

/* Parameters whose names fit one of `patterns` ("conv1.*,*.bias", as the shell's) are not
 * trained. Before anybody else has the graph, whose hash stays: it is the same network. Each
 * pattern must fit some, and something must be left to train: HYPAR_INVALID. */
enum hypar_status hp_graph_freeze(struct hypar_graph *graph, const char *patterns,
                                  struct hypar_error *err);

/* Derive what follows from ops and tensors: uses, outputs, hash. The last step of building.
 * HYPAR_INVALID where an operator's choices do not have a number for each use. */
enum hypar_status hp_graph_seal(struct hypar_graph *graph, struct hypar_error *err);

/* The operands that are there; optional ones may be absent. */
operand_set hp_present(const struct op *op);

/* Does a sample's result depend on others, so that a batch cannot be cut there? Statistics
 * (batch norm's) are those of what is at hand, and a loss is summed. */
bool hp_op_mixes_samples(const struct hypar_graph *graph, const struct op *op);

bool hp_has_batch_norm(const struct hypar_graph *graph);

/* Backward passes (bit p: pass p) that write a needed gradient, or a statistic for one that
 * does. */
uint32_t hp_backward_passes(const struct hypar_graph *graph, const struct op *op);

/* These and all forward passes: what a step does. */
uint32_t hp_done_passes(const struct hypar_graph *graph, const struct op *op);

/* The forward passes, but for those that write running statistics (below), which are given. */
uint32_t hp_inference_passes(const struct hypar_graph *graph, const struct op *op);

/* Statistics over the samples of a batch (batch norm's), of which training keeps a running mean
 * and variance, in this tensor's shape. */
bool hp_is_running(const struct hypar_graph *graph, int tensor);

/* A note if the loss does not depend on parameters that nobody has frozen. */
void hp_graph_note_untrained(struct hypar_graph *graph);

/* Does it have a backward half? */
bool hp_op_trained(const struct hypar_graph *graph, const struct op *op);

/* What utilisation is counted by: three forward passes of what is trained, one of the rest. */
double hp_step_flops_per_sample(const struct hypar_graph *graph);

/* Is it a weighted layer in the papers' sense? */
bool hp_op_weighted(const struct hypar_graph *graph, int op);

/* By operator: the first of those that it shares parameters with, in person or through others;
 * itself if there is none. Operators without counted[op] (NULL: all are) share nothing. */
struct sharing {
    int first;
    bool transposed; /* it sums over what the first does not: a parameter is read transposed */
};
struct sharing *hp_sharing(struct arena *arena, const struct hypar_graph *graph,
                           const bool *counted);

/* The operand of an operator that writes `tensor`; its first that is an output. */
int hp_output_operand(const struct op *op, int tensor);
int hp_first_output(const struct op *op);

/* What was measured of an opaque operator, for the whole batch: of its choices the first, whose
 * backward half is taken as twice the forward one. */
struct op_measure {
    double forward_s, backward_s;
    double output_bytes, parameter_bytes;
    const struct op_choices *choices; /* NULL: it was measured in one way */
};

/* False: `op` was not measured (its times are missing). */
bool hp_op_measured(const struct hypar_graph *graph, int op, struct op_measure *out);

/* Were operators measured in several ways? */
bool hp_has_choices(const struct hypar_graph *graph);

/* The building of a graph with choices (choices.c): those of a new operator; when the graph is
 * whole, lists that hold one number for all uses at their full length. */
enum hypar_status hp_choices_copy(struct arena *arena, const struct op_choices *from,
                                  int n_inputs, const struct op_choices **out,
                                  struct hypar_error *err);
enum hypar_status hp_choices_finish(struct hypar_graph *graph, struct hypar_error *err);
uint64_t hp_choices_hash(uint64_t hash, const struct op_choices *choices);

#endif /* GRAPH_GRAPH_H */
