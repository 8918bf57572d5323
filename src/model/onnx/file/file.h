/* model/onnx/file/file.h - the contents of an ONNX file, as plain structs. Internal to model/.
 *
 * skim.c copies the structure of the file without the values of its tensors; file.c unpacks the
 * structure; data.c reads values on request; functions.c puts the nodes of functions in place
 * of their calls; metadata.c reads PyTorch's own entries. */
#ifndef MODEL_ONNX_FILE_FILE_H
#define MODEL_ONNX_FILE_FILE_H

#include "base/arena.h"
#include "base/error.h"
#include "graph/graph.h"

/* Element types, by ONNX's numbers: name, number, bytes of one element, what it is. */
#define ONNX_TYPE_MAP(X)              \
    X(FLOAT, 1, 4, ONNX_NUMBERS)      \
    X(UINT8, 2, 1, ONNX_INTEGERS)     \
    X(INT8, 3, 1, ONNX_INTEGERS)      \
    X(UINT16, 4, 2, ONNX_INTEGERS)    \
    X(INT16, 5, 2, ONNX_INTEGERS)     \
    X(INT32, 6, 4, ONNX_INTEGERS)     \
    X(INT64, 7, 8, ONNX_INTEGERS)     \
    X(STRING, 8, 0, ONNX_OTHER)       \
    X(BOOL, 9, 1, ONNX_INTEGERS)      \
    X(FLOAT16, 10, 2, ONNX_NUMBERS)   \
    X(DOUBLE, 11, 8, ONNX_NUMBERS)    \
    X(UINT32, 12, 4, ONNX_INTEGERS)   \
    X(UINT64, 13, 8, ONNX_INTEGERS)   \
    X(COMPLEX64, 14, 8, ONNX_OTHER)   \
    X(COMPLEX128, 15, 16, ONNX_OTHER) \
    X(BFLOAT16, 16, 2, ONNX_NUMBERS)

enum onnx_type {
#define X(name, number, bytes, family) ONNX_##name = number,
    ONNX_TYPE_MAP(X)
#undef X
};

enum onnx_family { ONNX_OTHER, ONNX_NUMBERS, ONNX_INTEGERS };

enum onnx_family hp_onnx_family(int type);
const char *hp_onnx_type_name(int type); /* "float16", "type 99" */
int hp_onnx_type_bytes(int type);        /* 0: not of a fixed size */

/* The most elements that are computed with while importing: shapes, masks, indices. */
enum { ONNX_MAX_FOLDED = 1 << 22 };

/* Whether an initializer is trained, as the file says; most files do not say. */
enum onnx_role { ROLE_UNTOLD, ROLE_TRAINED, ROLE_CONSTANT };

struct onnx_tensor {
    const char *name;  /* "" in an attribute */
    const char *label; /* the name in the model, also if the exporter did not keep the name */
    enum onnx_role role;
    bool mixed;    /* the exporter computed it from a parameter, and from something else */
    bool buffered; /* a buffer is among that */
    int type;
    struct hypar_shape shape; /* dimensions may be 0 here */
    int64_t elements;
    int field;                 /* that held the values, 0: none */
    const unsigned char *copy; /* the values, if few; else */
    int64_t offset, size;      /* where they are */
    const char *location;      /* in this file, beside the model; NULL: in the model */
    bool external;
};

struct onnx_attr {
    const char *name;
    int64_t i;
    double f;
    const char *s;
    int n_ints, n_floats;
    const int64_t *ints;
    const float *floats;
    const struct onnx_tensor *t; /* NULL: none */
    const char *refers;          /* in a function: to this attribute of the caller; "": no */
};

struct onnx_node {
    const char *name, *op, *domain;
    int n_inputs, n_outputs, n_attrs;
    const char **input, **output; /* "": absent */
    struct onnx_attr *attr;
};

/* A dimension that is known, or has a symbol ("batch"), or neither (-1, ""). */
struct onnx_dim {
    int64_t size; /* -1: not known */
    const char *symbol;
};

struct onnx_info {
    const char *name;
    int type;    /* 0: not told */
    bool shaped; /* does it have a shape? */
    int n_dims;
    struct onnx_dim dim[MAX_DIMS];
    const char *folded_from; /* the names that it was computed from by the exporter, NULL */
};

/* A function of the file: nodes that stand for one of its name. */
struct onnx_function {
    const char *name, *domain;
    int n_inputs, n_outputs, n_nodes, n_defaults;
    const char **input, **output;
    struct onnx_node *node;
    struct onnx_attr *otherwise; /* attributes that a caller may leave out */
};

/* Of the default domain: those that are known, and those that are read with a note. */
enum {
    ONNX_LEAST_OPSET = 7,
    ONNX_FIRST_OPSET = 9,
    ONNX_LAST_OPSET = 23,
    ONNX_MOST_OPSET = 99,
};

struct onnx_file {
    struct arena arena;
    const char *path;
    const struct hypar_import_options *options; /* while it is imported; else NULL */
    bool follow_links;                          /* as in struct hypar_import_options */
    FILE *stream;
    int64_t bytes;
    int opset;
    int64_t batch; /* that its inputs have, once that was looked for; 0: a symbol */
    int n_nodes, n_initializers, n_inputs, n_outputs, n_infos;
    struct onnx_node *node; /* each after those that it reads from */
    struct onnx_tensor *initializer;
    struct onnx_info *input, *output, *info;
    int n_functions;
    struct onnx_function *function;
    const char *signature; /* PyTorch's, of what was exported; NULL: none */
    int n_lost;            /* parameters of the model that the exporter left out or merged */
    const char *lost;      /* one of them */
    int n_lost_norms;      /* batch norms that it folded into other layers */
};

/* Read the file at `path`, or `stream`, which is closed; messages begin with `path`. */
enum hypar_status hp_onnx_open(struct onnx_file **out, const char *path,
                               struct hypar_error *err);
enum hypar_status hp_onnx_open_stream(struct onnx_file **out, FILE *stream, const char *path,
                                      struct hypar_error *err);
void hp_onnx_close(struct onnx_file *file);

/* The structure of the file, without values of tensors, as protobuf of onnx.proto. */
enum hypar_status hp_onnx_skim(struct arena *arena, FILE *stream, int64_t bytes,
                               const unsigned char **out, size_t *size,
                               struct hypar_error *err);

/* Replace each call of a function by the function's nodes. */
enum hypar_status hp_onnx_inline(struct onnx_file *file, struct hypar_error *err);

/* PyTorch's metadata. Is an entry with this key read? */
bool hp_onnx_is_metadata(const char *key, size_t length);
enum { ONNX_FOLDED_FROM, ONNX_SCOPES, ONNX_SIGNATURE };
const char *hp_onnx_metadata_key(int which);

/* "encoder.norm/layer_norm" of "['', 'encoder', 'encoder.norm', 'layer_norm']", the modules
 * that a node comes from; NULL: none. */
const char *hp_onnx_scoped_name(struct arena *arena, const char *scopes);

/* Read PyTorch's metadata of each initializer, and note initializers that the exporter left
 * out. */
void hp_onnx_read_signature(struct onnx_file *file);

/* Are the values of `tensor` there, all of them? Nothing is read. A tensor without any values
 * passes, or with a file for them that is not there: its shape is enough to plan with. */
enum hypar_status hp_onnx_check_data(const struct onnx_file *file,
                                     const struct onnx_tensor *tensor, struct hypar_error *err);

/* Are they in a file that does not exist? Then it is planned with, but not trained. */
bool hp_onnx_is_absent(const struct onnx_file *file, const struct onnx_tensor *tensor);

/* Read elements [start, start + count) of `tensor`. */
enum hypar_status hp_onnx_read_data(const struct onnx_file *file,
                                    const struct onnx_tensor *tensor, int64_t start,
                                    int64_t count, double *out, struct hypar_error *err);

/* The attribute `name` of a node, or NULL; its integer, or `otherwise`; and so on. */
const struct onnx_attr *hp_onnx_attr(const struct onnx_node *node, const char *name);
int64_t hp_onnx_int(const struct onnx_node *node, const char *name, int64_t otherwise);
double hp_onnx_float(const struct onnx_node *node, const char *name, double otherwise);
double hp_onnx_number(const struct onnx_node *node, const char *name,
                      double otherwise); /* an integer or a float */
const char *hp_onnx_string(const struct onnx_node *node, const char *name,
                           const char *otherwise);

/* Is `op` one of `ops`, names with spaces between them? */
bool hp_onnx_lists(const char *ops, const char *op);

#endif /* MODEL_ONNX_FILE_FILE_H */
