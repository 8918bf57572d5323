/* emit/torch.h - a plan as a Python file for PyTorch. Internal.
 *
 * Operators are named by the paths of their modules (hypar.torch.graph(),
 * docs/formats-torch.md), so what the plan says of an operator is said of a module: how its
 * parameters lie on the mesh, what it takes and gives, whether it is computed again, where a
 * stage begins. */
#ifndef EMIT_TORCH_H
#define EMIT_TORCH_H

#include "emit/mesh.h"
#include "graph/modules.h"

/* What is written: the plan, its mesh, and which dimensions of that are what. */
struct torch_script {
    const struct hypar_plan *plan;
    const struct hypar_graph *graph;
    struct arena *arena;
    struct mesh mesh;
    uint32_t data;             /* dimensions that divide the samples of all operators */
    int n_tensor;              /* the others */
    int tensor[MESH_MAX_DIMS]; /* ... their numbers */
    int stages, groups;        /* stages, and groups of devices that they lie on; 0: none */
    enum hypar_shard shard;    /* of all parameters */
    bool sharded_vocabulary;   /* the loss is that of logits that are divided */
    bool attention;            /* there is one */
    bool fp32_norms;           /* batch norms whose parameters are not cast to bf16 */
    bool norms;                /* batch norms have the statistics of all replicas' samples */
};

/* Lines of a table: "name": text. Names with numbers in them are one line where all are alike,
 * with "*" for the numbers. */
struct table_row {
    const char *name, *text; /* text "": no line, but others are not like it */
};
struct table_rows {
    int n, capacity;
    struct table_row *row;
};

/* The tables of a script. */
struct torch_tables {
    struct table_rows placements, recomputed, units, cuts;
    const char *tied;   /* lines, one for each parameter; "": there is none */
    const char *frozen; /* patterns in quotes; "": there is none */
};

/* How many dimensions divide the samples. */
static inline int hp_torch_data_dims(const struct torch_script *s)
{
    int n = 0;
    for (int d = 0; d < s->mesh.n_dims; d++)
        n += (int)(s->data >> d & 1);
    return n;
}

/* By module, how its parameters lie on the mesh's tensor dimensions, what it takes and what it
 * gives, where the plan says anything but copies. */
void hp_torch_placements(struct torch_script *s, struct table_rows *out);

/* Modules whose ops are computed again; HYPAR_INFEASIBLE, with the operator, if it is but a
 * part of one. */
enum hypar_status hp_torch_recomputed(const struct torch_script *s, struct table_rows *out,
                                      struct hypar_error *err);

/* Where stages begin or end; HYPAR_INFEASIBLE, with the operator, if a stage begins inside of a
 * module. */
enum hypar_status hp_torch_cuts(const struct torch_script *s, struct table_rows *out,
                                struct hypar_error *err);

/* By operator, whether a stage may begin with it: a module begins there, or ends before it. */
bool *hp_torch_borders(const struct hypar_graph *graph, struct arena *arena);

/* Modules whose parameters are gathered, and summed, together: repeated layers. */
void hp_torch_units(const struct torch_script *s, struct table_rows *out);

void hp_add_row(struct arena *arena, struct table_rows *rows, const char *name,
                const char *text);

/* The text as it stands between the quotes of a string of Python. */
const char *hp_python_text(struct arena *arena, const char *text);

/* Rows that are alike in all but the numbers of their names become one; those of equal name say
 * the same. */
void hp_fold_rows(struct arena *arena, struct table_rows *rows);

/* Write it (torch_write.c). */
void hp_torch_write(const struct torch_script *s, const struct torch_tables *t, FILE *to);

/* struct target's `note`. */
bool hp_torch_note(const struct hypar_plan *plan, int i, char *text, size_t size);

/* Can it be written? HYPAR_INFEASIBLE, with operator and axis, if PyTorch cannot run it. */
enum hypar_status hp_check_torch(const struct hypar_plan *plan, struct hypar_error *err);

enum hypar_status hp_emit_torch(const struct hypar_plan *plan, FILE *to,
                                struct hypar_error *err);

#endif /* EMIT_TORCH_H */
