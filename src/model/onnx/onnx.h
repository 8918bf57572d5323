/* model/onnx/onnx.h - from an ONNX file to a network. Internal to model/.
 *
 * Two passes. First each node is translated (nodes.c has the table): a node whose inputs are
 * known during the import (shapes, and arithmetic with shapes) is computed at once, any other
 * node becomes operators of a first graph. Then the first graph is rewritten (rewrite/): the
 * operators that an exporter writes in place of one of ours become that one, and operators that
 * cancel are left out. file/ reads the file itself. */
#ifndef MODEL_ONNX_ONNX_H
#define MODEL_ONNX_ONNX_H

#include "model/model.h"
#include "model/onnx/file/file.h"
#include "model/onnx/rewrite/shuffle.h"

/* A run of an initializer's elements. */
struct weight_range {
    int initializer;
    int64_t start, count;
};

/* The source of the values of a parameter (or of a constant input): constants, or a sequence of
 * ranges of initializers that forms a tensor of shape `whole`. The parameter is the part `from`
 * to `to` of dimension `dim` of this tensor. */
struct weight_source {
    int n_ranges;
    const struct weight_range *range;
    struct hypar_shape whole;
    int dim;
    int64_t from, to;       /* to 0: all */
    const double *constant; /* without ranges */
    bool uniform;           /* one constant for all elements */
};

/* A source by the name of its tensor. */
struct named_source {
    const char *name;
    struct weight_source source;
};

/* Where the values of a network's parameters and constant inputs come from, in an arena of the
 * caller's. */
struct kept_sources {
    struct arena *arena;
    struct named_source *source;
    int n, capacity;
};

enum value_kind {
    VALUE_CONSTANT, /* its elements are known */
    VALUE_WEIGHT,   /* ranges of initializers, not read */
    VALUE_INDEX,    /* integers that a model input gives, perhaps shuffled */
    VALUE_NUMBERS,  /* a tensor of the first graph */
    VALUE_SEQUENCE, /* a list of values */
    VALUE_DRAWN,    /* numbers that every step draws anew */
};

/* Facts about numbers that are drawn at random. */
enum drawn_kind {
    DRAWN_OTHERWISE, /* nothing */
    DRAWN_EVENLY,    /* between `low` and `high` */
    DRAWN_EITHER,    /* `on` with the probability `chance`, else `off` */
};

struct drawn {
    enum drawn_kind kind;
    double low, high;
    double chance, on, off;
};

/* The value that a name of the file denotes. */
struct value {
    enum value_kind kind;
    int type;
    struct hypar_shape shape; /* of a constant also with dimensions of 0 */
    bool uniform;             /* constant: data[0] is every element */
    const double *data;
    int n_ranges;
    const struct weight_range *range;
    int tensor; /* of the first graph; -1: not made yet */
    const struct shuffle *shuffle;
    bool computed;     /* integers that follow from inputs: an input of their own, if need be */
    const char *label; /* what the model calls it, NULL */
    const struct drawn *drawn; /* of numbers that are; NULL: they are not */
    int n_items;               /* of a sequence */
    struct value *item;
};

/* Names that are taken, each with how often it was asked for. */
struct name_set {
    struct table names;
    int *count, n, capacity;
};

/* `name`, or with a number if that is taken; now it is. */
const char *hp_unique_name(struct name_set *set, struct arena *arena, const char *name);

/* The form in which an exporter stored a parameter. */
enum folded_as {
    FOLDED_WHOLE,  /* it has each element once, as the parameter itself */
    FOLDED_COPIES, /* it is there once for each sample */
    FOLDED_TABLE,  /* elements of it chosen by numbers: a constant */
};

struct importing {
    struct arena arena;
    struct hypar_error *err;
    struct onnx_file *file;
    const struct hypar_import_options *options;
    struct kept_sources *kept; /* NULL: they are not kept */
    int64_t batch;
    const char *symbol; /* name of the batch where the file leaves it open; NULL: none */
    struct graph_builder *b;
    struct table names;
    struct name_set op_names;
    struct value *value;
    int n_values, value_capacity;
    struct table initializers;
    int *param;    /* by initializer: its tensor, -1 */
    bool *divided; /* by initializer: parts of it are parameters of their own */
    bool *trained; /* by initializer: it is a parameter, not a constant */
    bool *absent;  /* by initializer: the file with its values is not there */
    int n_absent;
    int *copy_of; /* by initializer: it is this one, transposed, and trained with it; -1 */
    enum folded_as *folded_as;    /* by initializer */
    const struct onnx_node *node; /* at hand */
    const struct onnx_row *row;   /* of its operator; NULL: unknown */
    struct table infos;           /* what the file says about shapes */
    bool told;                    /* those shapes are of this batch */
    int64_t folded;               /* elements computed so far */
    struct named_source *source;  /* by tensor of the first graph; name NULL: none */
    int n_sources, source_capacity;
    int *causal; /* by operator of the first graph: 1 + the number of the operand (scores) whose
                    later keys it masks; 0: none */
    int n_causal, causal_capacity;
    bool *from_data; /* by tensor of the first graph */
    int n_from_data, from_data_capacity;
    struct weight_source *statistics; /* mean and variance of batch norms in the file, */
    int n_statistics, statistics_capacity;
    struct table
        norm_names;     /* by their operators in the first graph: the mean; then variance */
    int n_frozen;       /* batch norms of an export for inference */
    int n_paths;        /* factors drawn for whole samples */
    const char **notes; /* for the user */
    int n_notes, note_capacity;
};

/* Values ------------------------------------------------------------------------------- */

/* Input `i` of the node at hand, NULL where it is absent. */
struct value *hp_onnx_input(struct importing *im, int i);
struct value *hp_onnx_find(struct importing *im, const char *name);
int hp_onnx_initializer(const struct importing *im, const char *name); /* -1: it is none */

/* The file's shape and type of a tensor, or NULL. */
const struct onnx_info *hp_onnx_told(const struct importing *im, const char *name);

/* Name output `i` of the node at hand; its shape must be what the file says, if it does. */
enum hypar_status hp_onnx_define(struct importing *im, int i, struct value value);
enum hypar_status hp_onnx_enter(struct importing *im, const char *name, struct value value);

/* An output that is tensor `t`. */
enum hypar_status hp_onnx_define_tensor(struct importing *im, int i, int t);
struct value hp_onnx_tensor_value(const struct importing *im, int t);

/* The tensor of a value, made if need be. */
enum hypar_status hp_onnx_tensor(struct importing *im, struct value *v, int *out);

/* The tensors of inputs 0 to n - 1, which must be there. */
enum hypar_status hp_onnx_tensors(struct importing *im, int n, int *out);

/* Append the ranges of [start, start + count) of the elements that `from` lists to n ranges;
 * those that follow one another are joined. Returns how many there are. */
int hp_onnx_take_range(const struct value *from, struct weight_range part,
                       struct weight_range *range, int n);

/* A parameter of its own from parts of a weight: elements [start, start + count) of it. Where
 * that is all of an initializer, it has its name. */
enum hypar_status hp_onnx_part_param(struct importing *im, const struct value *weight,
                                     int n_parts, const struct weight_range *parts,
                                     const struct hypar_shape *shape, const char *name,
                                     int *out);

/* Note that parameters are made from parts of it. */
void hp_onnx_divide(struct importing *im, const struct value *weight);

/* Append an operator for the node at hand, named like it, or with a suffix. */
enum hypar_status hp_onnx_emit(struct importing *im, enum op_kind kind, const char *suffix,
                               int n_inputs, const int *inputs, const struct attrs *attrs,
                               int *outputs);
enum hypar_status hp_onnx_emit_reshape(struct importing *im, const char *suffix, int x,
                                       const struct hypar_shape *shape, int *out);
enum hypar_status hp_onnx_emit_transpose(struct importing *im, const char *suffix, int x, int n,
                                         const int *perm, int *out);
enum hypar_status hp_onnx_emit_expand(struct importing *im, const char *suffix, int x,
                                      const struct hypar_shape *shape, int *out);

/* alpha x + beta in place of tensor *t, where that is not x. */
enum hypar_status hp_onnx_emit_affine(struct importing *im, const char *suffix, double alpha,
                                      double beta, int *t);

/* [start, stop) of dimension `axis`, each `step`-th. */
enum hypar_status hp_onnx_emit_slice(struct importing *im, const char *suffix, int x, int axis,
                                     const int64_t range[3], int *out);

/* The node at hand is one operator: of input 0 with these attributes. */
enum hypar_status hp_onnx_apply(struct importing *im, enum op_kind kind,
                                const struct attrs *attrs);
const char *hp_onnx_unique(struct importing *im, const char *name);

/* Does a tensor depend on the model's inputs, not on parameters and constants alone? */
bool hp_onnx_from_data(struct importing *im, int tensor);

const struct hypar_shape *hp_onnx_shape(const struct importing *im, int tensor);
void hp_onnx_note(struct importing *im, const char *fmt, ...) HYPAR_PRINTF(2, 3);

/* Make a parameter or an input, of numbers or of integers to look up with, named by the label
 * or like it. Its values come from `source`, where that has any; it has the shape `whole`. */
enum made_as { MADE_PARAM, MADE_NUMBERS, MADE_INDEX };
enum hypar_status hp_onnx_make(struct importing *im, const char *label, enum made_as as,
                               int samples, struct weight_source source, int *out);

/* [start, stop) of dimension `axis` of a value, without that dimension if it is not kept. */
enum hypar_status hp_onnx_part(struct importing *im, struct value *x, int axis, int64_t start,
                               int64_t stop, bool keep, struct value *out);

/* Integers that follow from inputs: integers.c ----------------------------------------- */

/* Are the inputs of the node at hand, but for constants, integers that inputs give? */
bool hp_onnx_follows_from_integers(struct importing *im);

/* Define the output of the node at hand as such integers. */
enum hypar_status hp_onnx_computed(struct importing *im);

/* The input that they are, as indices or as numbers. */
enum hypar_status hp_onnx_computed_input(struct importing *im, struct value *v, bool index,
                                         int *out);

/* Constant indices as an input in `shape`. */
enum hypar_status hp_onnx_constant_index(struct importing *im, const struct value *v,
                                         const struct hypar_shape *shape, int *out);

/* Numbers that are drawn: random.c ------------------------------------------------------- */

/* Output `i` of the node at hand is 1 with the probability `chance`, else 0. */
enum hypar_status hp_onnx_define_mask(struct importing *im, int i,
                                      const struct hypar_shape *shape, double chance);

/* The node at hand reads such numbers. Where not *done they are tensors afterwards. */
enum hypar_status hp_onnx_read_drawn(struct importing *im, bool *done);

/* Constants that exporters computed from parameters: folded.c ----------------------------- */

/* Did the exporter make the name up? "onnx::Mul_12" of the older one, "val_12" of the newer. */
bool hp_onnx_is_made_up(const char *name);

/* Find initializers that are transposed copies of others. */
void hp_onnx_find_tied(struct importing *im);

/* Find the form in which the exporter stored each parameter, by comparing values. `batch`: the
 * file's samples; 0: it leaves them open. */
enum hypar_status hp_onnx_look_at_folded(struct importing *im, int64_t batch);

/* A parameter that is there once for each sample is one, and repeated. */
enum hypar_status hp_onnx_make_copies(struct importing *im);

/* Masks ----------------------------------------------------------------------------------- */

/* Is where(which, scores, other), or if not `first` where(which, other, scores), a mask by
 * which a query sees no later key? */
bool hp_onnx_is_causal_where(const struct value *which, const struct value *other, bool first);

/* Note that the last operator is such a mask of its operand `scores`. */
void hp_onnx_note_causal(struct importing *im, int scores);

/* A mask of Attention, of truths or of numbers that are added. Does it mask nothing? Does it
 * mask exactly the later keys? */
bool hp_onnx_is_idle_mask(const struct value *mask);
bool hp_onnx_is_causal_mask(const struct value *mask);

/* Tables [positions, half] of cosines and sines, lines `stride` apart: the base of their
 * angles, 0 if they are not of one. */
double hp_rotary_theta(const double *cosines, const double *sines, int64_t positions,
                       int64_t half, int64_t stride);

/* Constants ---------------------------------------------------------------------------- */

/* Room for `n` folded elements; HYPAR_UNSUPPORTED if that is too many. */
enum hypar_status hp_onnx_fold_room(struct importing *im, int64_t n, double **out);
double hp_onnx_element(const struct value *v, int64_t i);
int64_t hp_onnx_integer(double value); /* clipped to +-2^62 */
int64_t hp_onnx_elements(const struct hypar_shape *shape);
struct value hp_onnx_constant(int type, const struct hypar_shape *shape, const double *data,
                              bool uniform);

/* The integers of a constant value, at most `max`; HYPAR_UNSUPPORTED if it is not constant. */
enum hypar_status hp_onnx_integers(struct importing *im, const struct value *v, int max,
                                   int64_t *out, int *n);

/* Integers that older opsets have as an attribute and newer ones as input `i`; *n is -1 where
 * they are not given. */
enum hypar_status hp_onnx_list(struct importing *im, const char *attr, int i, int max,
                               int64_t *out, int *n);

/* Read the dimensions that a constant input lists. Check that a tensor can have them. */
enum hypar_status hp_onnx_dims(struct importing *im, const struct value *v,
                               struct hypar_shape *out);
enum hypar_status hp_onnx_check_dims(struct importing *im, const struct hypar_shape *shape);

/* Elements of a constant along strides: slice, transpose, expand; and output 0 as such. */
enum hypar_status hp_onnx_strided(struct importing *im, const struct value *x,
                                  const struct hypar_shape *shape, const int64_t *stride,
                                  int64_t offset, struct value *out);
enum hypar_status hp_onnx_define_strided(struct importing *im, const struct value *x,
                                         const struct hypar_shape *shape, const int64_t *stride,
                                         int64_t offset);
void hp_onnx_strides(const struct hypar_shape *shape, int64_t *stride);
enum hypar_status hp_onnx_missing(struct importing *im, const char *what);

bool hp_onnx_broadcast(const struct hypar_shape *a, const struct hypar_shape *b,
                       struct hypar_shape *out);

/* The shape of all inputs of the node at hand together; HYPAR_INVALID: they do not fit, or one
 * is absent. */
enum hypar_status hp_onnx_broadcast_inputs(struct importing *im, struct hypar_shape *out);

/* An index that may count from the end of `size`; HYPAR_INVALID outside. */
enum hypar_status hp_onnx_index(struct importing *im, double index, int64_t size, int64_t *out);

/* A dimension that may count from the last; HYPAR_INVALID outside 0..rank-1. Also that of the
 * first input which the attribute "axis" names. */
enum hypar_status hp_onnx_axis(struct importing *im, int64_t axis, int rank, int *out);
enum hypar_status hp_onnx_axis_attr(struct importing *im, int64_t otherwise, int *out);

/* Nodes: nodes.c has the table, the other files the functions ------------------ */

enum { MAX_NEEDS = 2 };

/* The treatment by an ONNX operator of values that are not tensors of the network. */
enum row_flag {
    PASSES_INTEGERS = 1, /* integers of an input pass unchanged, or in another shape */
    PASSES_DRAWN = 2,    /* numbers that are drawn, too */
    READS_NOTHING = 4,   /* it may have no inputs */
    IS_TRUTH = 8,        /* its results are true or false */
};

/* An ONNX operator, or several that are translated alike. To add one: a row in nodes.c. */
struct onnx_row {
    const char *ops;   /* names, with spaces between them */
    enum op_kind kind; /* of operators that are one of ours */

    /* Translate the node at hand. HYPAR_UNSUPPORTED: it has a form that is not known, and
     * becomes an opaque operator. NULL: only constants are known. */
    enum hypar_status (*translate)(struct importing *im);
    /* The attributes of our operator: "alpha=0.01 keep:1" is ONNX's alpha, 0.01 by default, and
     * 1 for keep. */
    const char *attrs;
    const char *needs[MAX_NEEDS]; /* inputs behind the first that must be there */
    /* The shape of output `i` of an opaque node, from the inputs: infer.c; NULL: unknown. */
    enum hypar_status (*shape)(struct importing *im, int i, struct hypar_shape *out);
    /* Compute the node at hand, all of whose inputs are constants: by a function of its own, or
     * element by element. All NULL: translate it. */
    enum hypar_status (*fold)(struct importing *im);
    double (*of_one)(double);
    double (*of_two)(double, double);
    unsigned flags;
};

const struct onnx_row *hp_onnx_row(const char *op); /* NULL: unknown */
const struct onnx_row *hp_onnx_row_at(int i);       /* NULL past the last */

/* The node at hand as an opaque operator. The shape of its output follows from the inputs, or
 * the file tells it; `why` begins the error where neither does. */
enum hypar_status hp_onnx_opaque(struct importing *im, const char *why);

/* The shape of output `i` in the file; false: the file has no usable shape. */
bool hp_onnx_told_shape(const struct importing *im, int i, struct hypar_shape *out);

/* The shape of output `i` that follows from the inputs by the row's rule. */
enum hypar_status hp_onnx_inferred_shape(struct importing *im, int i, struct hypar_shape *out);

/* The shape of what indices choose along a dimension. */
enum hypar_status hp_onnx_gathered_shape(struct importing *im, const struct hypar_shape *x,
                                         const struct hypar_shape *indices, int axis,
                                         struct hypar_shape *out);

/* The shape of the result of a Slice. */
enum hypar_status hp_onnx_sliced_shape(struct importing *im, const struct hypar_shape *shape,
                                       struct hypar_shape *out);

/* Translate the node at hand. */
enum hypar_status hp_onnx_node(struct importing *im);

/* clang-format off */
#define ONNX_TRANSLATORS(X) \
    X(hp_fold_where) X(hp_fold_range) X(hp_fold_reduce) X(hp_fold_triangle) X(hp_fold_matmul) \
    X(hp_fold_cumsum) X(hp_fold_gather_elements) X(hp_fold_gather_nd) X(hp_fold_scatter_nd) \
    X(hp_onnx_shape_of) X(hp_onnx_size_of) X(hp_onnx_constant_node) X(hp_onnx_constant_of_shape) \
    X(hp_onnx_alias) X(hp_onnx_cast) X(hp_onnx_cast_like) X(hp_onnx_reshape) X(hp_onnx_flatten) \
    X(hp_onnx_squeeze) X(hp_onnx_unsqueeze) X(hp_onnx_transpose) X(hp_onnx_slice) \
    X(hp_onnx_concat) X(hp_onnx_expand) X(hp_onnx_tile) X(hp_onnx_split) X(hp_onnx_pad) \
    X(hp_onnx_gather) X(hp_onnx_gather_nd) X(hp_onnx_gather_elements) X(hp_onnx_scatter_elements) \
    X(hp_onnx_split_to_sequence) X(hp_onnx_sequence_at) X(hp_onnx_apply_row) X(hp_onnx_binary) \
    X(hp_onnx_sum) X(hp_onnx_clip) X(hp_onnx_pow) X(hp_onnx_where) X(hp_onnx_reduce) \
    X(hp_onnx_softmax) X(hp_onnx_dropout) X(hp_onnx_gelu) X(hp_onnx_prelu) X(hp_onnx_selu) \
    X(hp_onnx_conv) X(hp_onnx_conv_transpose) X(hp_onnx_pool) X(hp_onnx_gemm) X(hp_onnx_matmul) \
    X(hp_onnx_einsum) X(hp_onnx_batch_norm) X(hp_onnx_norm) \
    X(hp_onnx_instance_norm) X(hp_onnx_lstm) X(hp_onnx_gru) X(hp_onnx_attention) \
    X(hp_onnx_rotary) X(hp_onnx_resize) X(hp_onnx_cumsum) X(hp_onnx_random) \
    X(hp_onnx_multinomial) X(hp_onnx_is_nan) X(hp_onnx_opaque_node) X(hp_onnx_control) \
    X(hp_fold_arithmetic)
#define ONNX_SHAPE_RULES(X) \
    X(hp_shape_like_first) X(hp_shape_broadcast) X(hp_shape_reduced) X(hp_shape_place_of) \
    X(hp_shape_largest) X(hp_shape_gathered) X(hp_shape_like_second) X(hp_shape_sliced) \
    X(hp_shape_padded) X(hp_shape_with_vector) X(hp_shape_pooled) X(hp_shape_summed) \
    X(hp_shape_recurrent) X(hp_shape_blocks) X(hp_shape_sampled)
/* clang-format on */
#define X(name) enum hypar_status name(struct importing *im);
ONNX_TRANSLATORS(X)
#undef X
#define X(name) \
    enum hypar_status name(struct importing *im, int output, struct hypar_shape *out);
ONNX_SHAPE_RULES(X)
#undef X

/* Gather and Tile of constants. */
enum hypar_status hp_fold_gather(struct importing *im, int axis);
enum hypar_status hp_fold_tile(struct importing *im, const struct hypar_shape *shape);

/* The network: the first graph `g`, rewritten, ending in a loss on the first of `outputs`. */
enum hypar_status hp_onnx_rewrite(struct importing *im, const struct hypar_graph *g,
                                  const int *outputs, int n_outputs, const char *name,
                                  struct hypar_graph **out);

/* The network of an open file; where its values come from goes to *kept, unless that is NULL.
 */
enum hypar_status hp_onnx_network(struct hypar_graph **out, struct onnx_file *file,
                                  const struct hypar_import_options *options,
                                  struct kept_sources *kept, struct hypar_error *err);

/* As the reader of ONNX, from a stream, which is closed; `path` stands before messages. */
enum hypar_status hp_onnx_read_stream(struct hypar_graph **out, FILE *stream, const char *path,
                                      const struct hypar_import_options *options,
                                      struct hypar_error *err);

#endif /* MODEL_ONNX_ONNX_H */
