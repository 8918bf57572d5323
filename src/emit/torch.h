/* emit/torch.h - writes a plan as a Python file for PyTorch. Internal.
 *
 * The path of a module is the name of its operators (hypar.torch.graph(),
 * docs/formats-torch.md). So the plan of an operator becomes the plan of a module: the
 * placements of its parameters on the mesh, its input and output, recomputation, and the
 * beginning of a stage. */
#ifndef EMIT_TORCH_H
#define EMIT_TORCH_H

#include "emit/mesh.h"
#include "emit/target.h"
#include "graph/modules.h"

/* The plan, its mesh, and the meaning of the mesh's dimensions. */
struct torch_script {
    const struct hypar_plan *plan;
    const struct hypar_graph *graph;
    struct arena *arena;
    struct mesh mesh;
    uint32_t data;             /* dimensions that divide the samples of all operators */
    int n_tensor;              /* number of other dimensions */
    int tensor[MESH_MAX_DIMS]; /* ... and their indices */
    int stages, groups;        /* stages, and groups of devices that run them; 0: none */
    enum hypar_shard shard;    /* of all parameters */
    bool sharded_vocabulary;   /* the loss has divided logits */
    bool attention;            /* the graph has attention */
    bool fp32_norms;           /* batch norms whose parameters stay fp32 */
    bool norms;                /* batch norms use the statistics of all replicas' samples */
};

/* Rows of a table: "name": text. Rows whose names differ only in numbers, with equal texts,
 * become one row with "*" for the numbers. */
struct table_row {
    const char *name, *text; /* text "": no row, but it prevents folding with other texts */
};
struct table_rows {
    int n, capacity;
    struct table_row *row;
};

/* The tables of a script. */
struct torch_tables {
    struct table_rows placements, recomputed, units, cuts;
    struct {
        double sent_bytes, memory_bytes, tensor_bytes, saved_bytes;
    } planned;          /* of a step: by all devices; on the fullest, as an allocator counts;
                           tensors alone, and those that are saved, of processors' kernels */
    const char *tied;   /* one line for each parameter; "": none */
    const char *frozen; /* patterns in quotes; "": none */
};

/* The number of dimensions that divide the samples. */
static inline int hp_torch_data_dims(const struct torch_script *s)
{
    int n = 0;
    for (int d = 0; d < s->mesh.n_dims; d++)
        n += (int)(s->data >> d & 1);
    return n;
}

/* By module: the placements of its parameters on the mesh's tensor dimensions, of its input and
 * of its output, if the plan has other placements than copies. */
void hp_torch_placements(struct torch_script *s, struct table_rows *out);

/* Modules whose operators are recomputed; HYPAR_INFEASIBLE, with the operator, if only a part
 * of a module is recomputed. */
enum hypar_status hp_torch_recomputed(const struct torch_script *s, struct table_rows *out,
                                      struct hypar_error *err);

/* The modules at which stages begin or end; HYPAR_INFEASIBLE, with the operator, if a stage
 * begins inside a module. */
enum hypar_status hp_torch_cuts(const struct torch_script *s, struct table_rows *out,
                                struct hypar_error *err);

/* By operator: whether a stage may begin with it. It may if a module begins there or ends
 * before it. */
bool *hp_torch_borders(const struct hypar_graph *graph, struct arena *arena);

/* Modules whose parameters are gathered and summed together: repeated layers. */
void hp_torch_units(const struct torch_script *s, struct table_rows *out);

void hp_add_row(struct arena *arena, struct table_rows *rows, const char *name,
                const char *text);

/* The text, escaped for a Python string. */
const char *hp_python_text(struct arena *arena, const char *text);

/* Join rows that differ only in the numbers of their names. Rows of equal name have equal
 * texts. */
void hp_fold_rows(struct arena *arena, struct table_rows *rows);

/* Write the script (torch_write.c). */
void hp_torch_write(const struct torch_script *s, const struct torch_tables *t, FILE *to);

/* struct target's `notes` (torch_notes.c). */
extern target_note *const hp_torch_notes[];

/* Can the plan be written? HYPAR_INFEASIBLE, with operator and axis, if PyTorch cannot run
 * it. */
enum hypar_status hp_check_torch(const struct hypar_plan *plan, struct hypar_error *err);

enum hypar_status hp_emit_torch(const struct hypar_plan *plan, FILE *to,
                                struct hypar_error *err);

#endif /* EMIT_TORCH_H */
