/* graph/graph.h - the inside of a graph, and how one is built. Internal.
 *
 * A graph is a list of operators in topological order and a list of tensors. Models build it
 * with the functions below; everyone else only reads it. */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/error.h"
#include "base/table.h"
#include "graph/nest.h"

enum tensor_kind {
    TENSOR_INPUT,      /* data given to the model; needs no gradient */
    TENSOR_PARAM,      /* trained */
    TENSOR_ACTIVATION, /* written by an operator */
    TENSOR_STAT,       /* a statistic between two passes of one operator */
};

struct tensor {
    const char *name;
    struct hypar_shape shape;
    enum tensor_kind kind;
    bool index;      /* integers: ids, labels */
    bool wide;       /* under autocast it is held in fp32 (autocast.h) */
    bool fp32;       /* the model casts it to fp32 where parameters are in 16 bits */
    bool needs_grad; /* a parameter, or computed from one; and the loss, if there is one,
                        depends on it */
    bool is_output;  /* shown to users as an output of the model; the loss is not one */
    bool untrained;  /* a parameter that the model declares as not trained */
    int sample_dim;  /* the dimension that holds the samples, -1: none */
    int producer;    /* the op that writes it, -1: an input or a parameter */
};

/* One measured configuration of an opaque operator. Numbers are for one sample, and for each of
 * the devices that divide the operator. */
struct op_choice {
    int degree;             /* devices that divide it (tensor parallelism) */
    bool recompute;         /* its forward half is repeated for the backward half */
    double seconds;         /* forward and backward */
    double parameter_bytes; /* exchanged between replicas once a batch */
    double stash_bytes;     /* kept for each sample in flight */
    double fixed_bytes;     /* however many samples are in flight */
    /* Bytes that its devices exchange besides messages between stages: by input, if the input
     * comes from another stage; by use of its output, if the use is in another stage. */
    const double *in_sync_bytes, *out_sync_bytes;
};

/* All configurations: each degree with and without recomputation at most once, in this
 * order. */
struct op_choices {
    int n;
    const struct op_choice *choice;
    int n_inputs, n_uses; /* lengths of the lists by input and by use */
    const double
        *input_bytes; /* of a sample, sent to each reader separately; NULL: output_bytes of the
                         writer, sent once to each stage that reads it */
};

struct op {
    const char *name;
    enum op_kind kind;
    const struct nest *nest;
    const int *tensor;                /* for each operand of the nest; -1: absent */
    const struct op_choices *choices; /* NULL: none was measured */
    bool fp32; /* the model computes its outputs in fp32 where parameters are in 16 bits */
};

/* A use of a tensor. */
struct use {
    int op, operand;
};

/* The file with the values of the parameters, and how the graph was read from it. */
struct weights_file {
    const char *path; /* NULL: there is none */
    struct hypar_import_options options;
};

/* A tensor that a PyTorch model, or the function of its loss, is given. */
struct torch_argument {
    const char *name, *type; /* "ids", "int64" */
    struct hypar_shape shape;
    int sample_dim; /* -1: it has no samples */
};

/* Ops are in topological order: an op reads only inputs, parameters and outputs of earlier
 * ops. */
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
    const char **notes;    /* remarks for the user about how the model was read */
    int n_notes;
    struct weights_file weights;
    const char *values_name; /* a safetensors file with values beside the model's file, as the
                                model names it; NULL: there is none */
    const char
        *values_path; /* the path of this file; NULL: the model was not read from a path */
    /* The modules of the PyTorch model that the graph was made from, by path, once for each
     * call; none if it was made from something else, or if they are unknown. */
    const char **modules;
    int n_modules;
    struct table module_at;           /* path -> its first call */
    struct torch_argument *arguments; /* the tensors of a step of that model; may be unknown */
    int n_arguments;
    bool own_loss;    /* the graph ends in a loss that replaces another one */
    bool summed_loss; /* that model's loss is a sum over samples, not a mean */
    /* "module:function" of Python, the loss that the graph ends in; NULL: the loss is the last
     * operator, or the model's own. */
    const char *loss_function;
    const char **mixing; /* where that model mixes samples, with module and line */
    int n_mixing;
    /* Functions of PyTorch that its DTensor cannot run, with module and line. */
    const char **undivided;
    int n_undivided;
    const char *frozen; /* patterns of parameters that are not trained; NULL: none */
    uint64_t hash;
};

/* The number of a tensor among the operands of an operator that has it. */
static inline int hp_operand_of(const struct op *op, int tensor)
{
    int o = 0;
    while (op->tensor[o] != tensor)
        o++;
    return o;
}

/* The name of the kind of an operator: "conv". */
static inline const char *hp_op_kind(const struct hypar_graph *graph, int op)
{
    return hp_op[graph->ops[op].kind].name;
}

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

/* The graph built so far, for the shapes of its tensors. */
const struct hypar_graph *hp_build_graph(const struct graph_builder *b);

/* A model input; `sample_dim` is the dimension of the samples or -1. Returns the tensor. */
int hp_build_input(struct graph_builder *b, const char *name, const struct hypar_shape *shape,
                   bool index, int sample_dim);
int hp_build_param(struct graph_builder *b, const char *name, const struct hypar_shape *shape);

/* Mark a parameter as not trained; no operator may have read it yet. */
void hp_build_untrained(struct graph_builder *b, int param);

/* Special values in place of an input tensor: */
enum {
    HP_ABSENT = -1, /* an absent optional operand */
    HP_MAKE =
        -2, /* a new parameter; its shape follows from the row, its name is "<op>.<operand>" */
};

struct op_request {
    enum op_kind kind;
    const char *name;  /* copied; unique in the graph */
    int n_inputs;      /* omitted trailing inputs are HP_MAKE for a required parameter, else
                          HP_ABSENT */
    const int *inputs; /* tensors, HP_ABSENT or HP_MAKE, in the row's order */
    const struct attrs
        *attrs; /* NULL: none; copied. Missing attributes get the row's defaults */
};

/* Append an operator. The tensors of its outputs go to outputs[] (as many as the row has; for
 * split, one for each size). The first output is named after the op, others
 * "<op>:<operand>". */
enum hypar_status hp_build_op(struct graph_builder *b, const struct op_request *request,
                              int *outputs, struct hypar_error *err);

/* The model computes the outputs of the last operator in fp32 where parameters are in 16 bits.
 */
void hp_build_fp32(struct graph_builder *b);

/* Set the choices of the last operator, an opaque one; copied. Lists by input may be shorter
 * than its inputs; lists by use have an entry for each use, or one for all. */
enum hypar_status hp_build_choices(struct graph_builder *b, const struct op_choices *choices,
                                   struct hypar_error *err);

/* Mark a tensor as an output of the model (not the loss). */
void hp_build_mark_output(struct graph_builder *b, int tensor);

/* Check the graph, derive uses and hash, and return it. */
enum hypar_status hp_build_finish(struct graph_builder *b, struct hypar_graph **out,
                                  struct hypar_error *err);

/* The same graph with inputs and parameters numbered by their first reader: the numbering of a
 * graph that was written to a file and read back. */
enum hypar_status hp_graph_renumber(const struct hypar_graph *graph, struct hypar_graph **out,
                                    struct hypar_error *err);

/* Do not train parameters whose names match one of `patterns` ("conv1.*,*.bias", as in the
 * shell). Call before the graph is shared. The hash does not change: the network is the same.
 * HYPAR_INVALID if a pattern matches nothing, or if no parameter is left to train. */
enum hypar_status hp_graph_freeze(struct hypar_graph *graph, const char *patterns,
                                  struct hypar_error *err);

/* Derive uses, outputs and hash from ops and tensors: the last step of building. HYPAR_INVALID
 * if an operator's choices lack a number for some use. */
enum hypar_status hp_graph_seal(struct hypar_graph *graph, struct hypar_error *err);

/* The operands that are present; optional ones may be absent. */
operand_set hp_present(const struct op *op);

/* Does a sample's result depend on other samples, so that the batch cannot be divided?
 * Statistics (batch norm) do not count, because a part uses those of its own samples. A loss
 * does not count, because it is summed. */
bool hp_op_mixes_samples(const struct hypar_graph *graph, const struct op *op);

bool hp_has_batch_norm(const struct hypar_graph *graph);

/* The backward passes (bit p: pass p) that write a needed gradient, or a statistic that such a
 * pass reads. */
uint32_t hp_backward_passes(const struct hypar_graph *graph, const struct op *op);

/* The operands that these passes read. */
operand_set hp_read_backward(const struct hypar_graph *graph, const struct op *op);

/* All forward passes and these: the passes of a training step. */
uint32_t hp_done_passes(const struct hypar_graph *graph, const struct op *op);

/* The forward passes without those that write running statistics (below), which are given in
 * inference. */
uint32_t hp_inference_passes(const struct hypar_graph *graph, const struct op *op);

/* Is the tensor a statistic over the samples of a batch (batch norm) of which training keeps a
 * running mean or variance? */
bool hp_is_running(const struct hypar_graph *graph, int tensor);

/* Add a note if the loss does not depend on parameters that are not frozen. */
void hp_graph_note_untrained(struct hypar_graph *graph);

/* Does the operator have a backward half? */
bool hp_op_trained(const struct hypar_graph *graph, const struct op *op);

/* The operations by which utilisation is defined: three forward passes of trained operators,
 * one of others. */
double hp_step_flops_per_sample(const struct hypar_graph *graph);

/* Is the operator a weighted layer in the papers' sense? */
bool hp_op_weighted(const struct hypar_graph *graph, int op);

/* By operator: the first operator with which it shares parameters, directly or through others;
 * itself if there is none. Operators without counted[op] share nothing; counted NULL: all
 * count. */
struct sharing {
    int first;
    bool transposed; /* it sums over a dimension over which the first does not: a parameter is
                        read transposed */
};
struct sharing *hp_sharing(struct arena *arena, const struct hypar_graph *graph,
                           const bool *counted);

/* The number of `tensor` among the operands of its writer; the number of an operator's first
 * output. */
int hp_output_operand(const struct op *op, int tensor);
int hp_first_output(const struct op *op);

/* The only operator that reads activations which `op` writes; -1: none, or several. */
int hp_only_reader(const struct hypar_graph *graph, int op);

/* The measurements of an opaque operator, for the whole batch. Of several choices the first
 * counts, with a backward half of twice the forward half. */
struct op_measure {
    double forward_s, backward_s;
    double output_bytes, parameter_bytes;
    const struct op_choices *choices; /* NULL: one measurement */
};

/* False: `op` was not measured (it has no times). */
bool hp_op_measured(const struct hypar_graph *graph, int op, struct op_measure *out);

/* Is one sample of the graph a whole minibatch? A PipeDream profile has the times of a
 * minibatch and not its number of samples: without another batch its graph has a batch of 1. */
bool hp_counts_minibatches(const struct hypar_graph *graph);

/* The unit of its rates: "samples/s"; "minibatches/s" where it counts minibatches. */
const char *hp_rate_unit(const struct hypar_graph *graph);

/* Were operators measured in several configurations? */
bool hp_has_choices(const struct hypar_graph *graph);

/* Choices during building (choices.c): copy those of a new operator; when the graph is
 * complete, expand lists that hold one number for all uses. */
enum hypar_status hp_choices_copy(struct arena *arena, const struct op_choices *from,
                                  int n_inputs, const struct op_choices **out,
                                  struct hypar_error *err);
enum hypar_status hp_choices_finish(struct hypar_graph *graph, struct hypar_error *err);
uint64_t hp_choices_hash(uint64_t hash, const struct op_choices *choices);

#endif /* GRAPH_GRAPH_H */
