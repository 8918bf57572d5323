/* hypar/graph.h - the training graph: tensors, operators, their axes.
 *
 * Data flow: model -> GRAPH -> search -> plan -> program -> sim | run -> report
 *
 * A graph is built once, then read-only. Operators and tensors are named by their index,
 * 0..count-1, in topological order. Every operator is a loop nest. A plan may split its axes;
 * the index map of each tensor (which axes index which dimensions) determines the cost of a
 * split. */
#ifndef HYPAR_GRAPH_H
#define HYPAR_GRAPH_H

#include <hypar/base.h>
#include <hypar/framework.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hypar_graph; /* opaque; made by hypar_import() */

#define HYPAR_MAX_DIMS 6
#define HYPAR_MAX_AXES 12 /* of one operator, the copy axis r included */

struct hypar_shape {
    int n_dims;
    int64_t dim[HYPAR_MAX_DIMS]; /* elements, outermost first */
};

/* The role of an axis: FlexFlow's S, A and P, the summed axis, and copies. */
enum hypar_role {
    HYPAR_SAMPLE,    /* the batch */
    HYPAR_ATTRIBUTE, /* of the data: length, height, width, ... */
    HYPAR_PARAMETER, /* splitting it splits the parameters */
    HYPAR_REDUCTION, /* summed over: outputs are partial sums */
    HYPAR_COPY,      /* axis r: indexes nothing, its parts are copies */
    HYPAR_INNER,     /* never split: kernel taps, head width, the input of a nonlinearity */
};

HYPAR_API const char *hypar_role_text(enum hypar_role role);

struct hypar_axis {
    char name[2]; /* one letter: the key of a plan's "split" */
    enum hypar_role role;
    int64_t extent;
    bool splittable; /* each part's region of every tensor is a box */
};

struct hypar_import_options {
    int64_t batch; /* samples per step; 0: what the model says */
    /* For an ONNX file: which dimension of an input holds the samples, if not the first
     * ("x=1,state=1"; -1: none), and the sizes of symbolic dimensions ("seq=128"). */
    const char *batch_dims, *dims;
    /* Parameters that are not trained: patterns of their names, as in the shell
     * ("conv1.*,fc.b"); NULL: none. */
    const char *freeze;
    /* Decides, where the model's word does not, whether attention in models of the zoo is
     * written out and has dropout; may be NULL. */
    const struct hypar_framework *framework;
    bool follow_links; /* read values of weights even if a link leads out of their folder */
    /* Called with the path of each file before it is read, if given; any status but HYPAR_OK
     * ends reading with this status and the reason in *err, which may be NULL. */
    enum hypar_status (*reads)(void *who, const char *path, struct hypar_error *err);
    void *who; /* passed to it */
};

/* Make a graph from `model`: a word of the zoo ("resnet50", "bert-base:seq=128",
 * "mlp:784-8192-10"), or the path of a file: hypar-graph/1 JSON ("-": standard input), ONNX
 * (*.onnx; values of weights are not read), or a PipeDream profile, a text whose operators have
 * measured times.
 * On success *out is to be released with hypar_graph_free(). On failure *out is NULL and *err,
 * if given, says why. `options` may be NULL. */
HYPAR_API enum hypar_status hypar_import(struct hypar_graph **out, const char *model,
                                         const struct hypar_import_options *options,
                                         struct hypar_error *err);

/* A built-in model. `options` lists what may follow its name and a colon, with the defaults:
 * "image=224,classes=1000"; empty if there is none. */
struct hypar_model_info {
    const char *name, *summary, *source; /* static; source: the paper it is from */
    int64_t batch;                       /* samples per step unless told otherwise */
    char options[256];
};

/* Model 0..hypar_model_count()-1. */
HYPAR_API int hypar_model_count(void);
HYPAR_API struct hypar_model_info hypar_model_at(int model);

/* The built-in model that `word` names, with or without options; HYPAR_INVALID, with the
 * nearest names, if there is none, and *out is then -1. */
HYPAR_API enum hypar_status hypar_model_find(int *out, const char *word,
                                             struct hypar_error *err);

/* One option of a model. A model of sizes ("mlp:784-512-10") has none. */
struct hypar_model_option {
    const char *name;
    int value, least, most;   /* default; bounds */
    const char *const *words; /* names of the values from 0 on; NULL: values are numbers */
};

/* Option `i` of a model; false past the last. */
HYPAR_API bool hypar_model_option(int model, int i, struct hypar_model_option *out);

/* Release a graph and everything that its getters returned. NULL is allowed. */
HYPAR_API void hypar_graph_free(struct hypar_graph *graph);

/* Write `graph` in the form hypar-graph/1, which hypar_import() reads back identically. Write
 * errors stay in the stream. */
HYPAR_API void hypar_graph_write(const struct hypar_graph *graph, FILE *to);

/* Write the measured times of `graph` as a PipeDream profile, which hypar_import() reads.
 * HYPAR_UNSUPPORTED, with the operator, if a time is missing; then nothing is written. */
HYPAR_API enum hypar_status hypar_graph_write_profile(const struct hypar_graph *graph, FILE *to,
                                                      struct hypar_error *err);

/* Facts of a graph that need no counting; the graph owns the texts. */
struct hypar_graph_info {
    const char *name;
    /* The file with the model's values ("weights"), a file beside the model's;
     * hypar_graph_write() names it as the model does. NULL: there is none, or the model was not
     * read from a path. */
    const char *values;
    int64_t batch; /* samples of a step */
    int n_ops, n_tensors;
    int loss; /* the tensor of the loss; -1: none */
    /* A hash of everything that determines the meaning of a plan: operators, attributes,
     * shapes, names. Graphs with the same hash accept the same plans. */
    uint64_t hash;
    /* Notes for the user about how the model was read (an unknown operator, ...), one line
     * each. */
    int n_notes;
    const char *const *note;
};
HYPAR_API struct hypar_graph_info hypar_graph_info(const struct hypar_graph *graph);

/* Weighted layers: operators that multiply by a parameter (convolution, linear, LSTM) or look
 * one up (embedding). */
HYPAR_API int hypar_graph_layer_count(const struct hypar_graph *graph);

/* Elements of all parameters, shared ones once. */
HYPAR_API int64_t hypar_graph_params(const struct hypar_graph *graph);

/* Two per multiply-add of the forward pass of one sample. */
HYPAR_API double hypar_graph_flops_per_sample(const struct hypar_graph *graph);

/* Operator `op`; texts are owned by the graph. */
struct hypar_op {
    const char *name, *kind;
    int n_axes, n_operands;
    /* Floating-point operations of the forward and of the backward passes, for a batch: two for
     * each multiply-add. */
    double forward_flops, backward_flops;
};
HYPAR_API struct hypar_op hypar_graph_op(const struct hypar_graph *graph, int op);
HYPAR_API int hypar_graph_find_op(const struct hypar_graph *graph, const char *name); /* -1 */
HYPAR_API struct hypar_axis hypar_graph_axis(const struct hypar_graph *graph, int op, int axis);

/* A tensor that an operator touches. */
struct hypar_operand {
    const char *name;         /* as in 'hypar ops': "x", "w", "y"; owned by the graph */
    int tensor;               /* -1: an optional operand that is absent */
    bool written;             /* in forward passes it is written; else it is read */
    int axis[HYPAR_MAX_DIMS]; /* by dimension: the axis whose parts divide it; -1: none */
};
HYPAR_API struct hypar_operand hypar_graph_operand(const struct hypar_graph *graph, int op,
                                                   int operand);

enum hypar_tensor_kind {
    HYPAR_TENSOR_INPUT,      /* given to the model */
    HYPAR_TENSOR_PARAMETER,  /* a weight */
    HYPAR_TENSOR_ACTIVATION, /* written by an operator */
    HYPAR_TENSOR_STATISTIC,  /* between two passes of one operator: batch norm's mean */
};

struct hypar_tensor {
    const char *name; /* owned by the graph */
    enum hypar_tensor_kind kind;
    struct hypar_shape shape;
    bool index;     /* integers: token ids, labels */
    bool trained;   /* it has a gradient */
    int sample_dim; /* the dimension that holds the samples; -1: none */
    int writer;     /* the operator that writes it; -1: an input or a parameter */
    int n_readers;
};
HYPAR_API struct hypar_tensor hypar_graph_tensor(const struct hypar_graph *graph, int tensor);

/* The operator that is reader `i` of a tensor, in the order of operators; one that reads it
 * twice counts twice. */
HYPAR_API int hypar_graph_reader(const struct hypar_graph *graph, int tensor, int i);

#ifdef __cplusplus
}
#endif

#endif /* HYPAR_GRAPH_H */
