/* emit/mesh.h - the device mesh of a plan. Internal.
 *
 * Frameworks run every operator on all devices of its stage, which form a grid. A device's
 * place in its stage is a number whose digits are its coordinates. Each split axis of an
 * operator takes some of the digits, the outer ones first:
 *
 *     place  0 1 2 3 4 5 6 7        mesh 2 x 2 x 2
 *     n=2    0 0 0 0 1 1 1 1        dimension 0
 *     k=4    0 1 2 3 0 1 2 3        dimensions 1 and 2 */
#ifndef EMIT_MESH_H
#define EMIT_MESH_H

#include "plan/plan.h"

enum { MESH_MAX_DIMS = 31 };

struct mesh {
    int n_devices;                                  /* of each stage */
    int n_dims;                                     /* 0: a single device */
    int size[MESH_MAX_DIMS], stride[MESH_MAX_DIMS]; /* outermost first; the last stride is 1 */
    const int *place; /* by device of the machine: its place in its stage; -1: not used */
};

/* The coarsest mesh for all operators of all stages; its arrays are in `arena`.
 * HYPAR_INFEASIBLE, with the operator, if there is none. */
enum hypar_status hp_find_mesh(struct mesh *out, struct arena *arena,
                               const struct hypar_plan *plan, struct hypar_error *err);

/* The dimensions of the mesh (bit i: dimension i) that each axis of an operator is split over.
 * Along those of axis r, the operator is copied. */
void hp_mesh_dims(const struct mesh *mesh, const struct hypar_plan *plan, int op,
                  uint32_t dims[MAX_AXES]);

#endif /* EMIT_MESH_H */
