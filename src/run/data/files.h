/* run/data/files.h - sample files, matched with a model's inputs. Internal to run/data. */
#ifndef RUN_DATA_FILES_H
#define RUN_DATA_FILES_H

#include "graph/graph.h"
#include "run/data/column.h"

struct data_files {
    int n_files;
    struct input_file *file;
    struct column *column; /* by tensor; without samples: no data */
    int64_t samples;
};

/* Open the files that `text` names (run/data/source.h) and check that every input of the model
 * has a matching column. Whatever the status, opened files are in *out and must be closed. */
enum hypar_status hp_files_open(struct data_files *out, struct arena *arena,
                                const struct hypar_graph *graph, const char *text,
                                struct hypar_error *err);
void hp_files_close(struct data_files *files);

#endif /* RUN_DATA_FILES_H */
