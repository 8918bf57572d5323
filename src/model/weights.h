/* model/weights.h - values of the parameters of a model file. Internal.
 *
 * Planning does not read values; training starts from them. A parameter has the name, the shape
 * and the order that it has in the graph that hypar_import() makes of the same file. Where the
 * importer divided or joined initializers, the values are divided or joined in the same way. */
#ifndef MODEL_WEIGHTS_H
#define MODEL_WEIGHTS_H

#include "graph/graph.h"

struct weights; /* of one file, open */

/* HYPAR_UNSUPPORTED if files of that form have no weights. `options`: as for the import. */
enum hypar_status hp_weights_open(struct weights **out, const char *path,
                                  const struct hypar_import_options *options,
                                  struct hypar_error *err);
/* The same from a stream, which is closed in the end; `path` stands before messages. */
enum hypar_status hp_weights_open_stream(struct weights **out, FILE *stream, const char *path,
                                         const struct hypar_import_options *options,
                                         struct hypar_error *err);
void hp_weights_close(struct weights *weights);

/* Does the file have values for this tensor of the graph: a parameter, or a constant input?
 * Those that a batch norm has for inference are called "<op>.mean" and "<op>.variance". */
bool hp_weights_has(const struct weights *weights, const char *name);

/* All elements of a tensor, from fp16, bf16, fp32 or fp64; `n` is how many the caller expects.
 * HYPAR_INVALID if the file has none or not as many. */
enum hypar_status hp_weights_read(const struct weights *weights, const char *name, int64_t n,
                                  double *values, struct hypar_error *err);

/* The same of elements [start, start + count) of the `n`. */
enum hypar_status hp_weights_read_part(const struct weights *weights, const char *name,
                                       int64_t n, int64_t start, int64_t count, double *values,
                                       struct hypar_error *err);

#endif /* MODEL_WEIGHTS_H */
