/* model/model.h - the interface of a file reader, and of the zoo: each makes a graph.
 * Internal. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "graph/graph.h"

/* A form of file. To add one: a file with its reader, a declaration below, a row and a message
 * in model.c. */
struct model_reader {
    const char *form;      /* "hypar-graph/1 JSON" */
    const char *extension; /* ".json": such a name is a path, and of this form */

    /* Does a file that begins so, whatever its name, have this form? */
    bool (*begins)(const char *head, size_t n);

    /* Read `path` ("-": standard input, first row only). */
    enum hypar_status (*read)(struct hypar_graph **out, const char *path,
                              const struct hypar_import_options *options,
                              struct hypar_error *err);
};

extern const struct model_reader hp_reader_json, hp_reader_onnx, hp_reader_pipedream;

/* "dir/vgg16.txt" is called vgg16. */
char *hp_model_name(struct arena *arena, const char *path);

/* `h` was read with another batch than `g`: the samples of each tensor must be that many times
 * more, and nothing else may differ. */
enum hypar_status hp_check_follows(const struct hypar_graph *g, const struct hypar_graph *h,
                                   const char *file, struct hypar_error *err);

/* As the reader of JSON, from a text; `name` stands before messages. */
enum hypar_status hp_graph_read_text(struct hypar_graph **out, const char *text, size_t length,
                                     const char *name, int64_t batch, struct hypar_error *err);

/* A graph as a part of another file: "graph": {...}. */
struct json;
struct json_writer;
enum hypar_status hp_graph_read_json(struct hypar_graph **out, const struct json *at,
                                     struct hypar_error *err);
void hp_graph_write_json(struct json_writer *w, const char *key,
                         const struct hypar_graph *graph);

/* The most samples of a step that are taken. */
#define HP_MAX_BATCH ((int64_t)1 << 32)

#endif /* MODEL_MODEL_H */
