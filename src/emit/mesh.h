/* emit/mesh.h - the device mesh that a plan lies on. Internal.
 *
 * Frameworks run every operator on all devices of its stage, which stand in a grid: a device's
 * place among them is a number whose digits are its coordinates, and each split axis of an
 * operator takes some of the digits, the outer ones first:
 *
 *     place  0 1 2 3 4 5 6 7        mesh 2 x 2 x 2
 *     n=2    0 0 0 0 1 1 1 1        dimension 0
 *     k=4    0 1 2 3 0 1 2 3        dimensions 1 and 2
 */
#ifndef EMIT_MESH_H
#define EMIT_MESH_H

#include "plan/plan.h"

enum { MESH_MAX_DIMS = 31 };

struct mesh {
    int n_devices;                                  /* of each stage */
    int n_dims;                                     /* 0: there is one device */
    int size[MESH_MAX_DIMS], stride[MESH_MAX_DIMS]; /* outermost first; the last stride is 1 */
    const int *place; /* by device of the machine: its place in its stage; -1: it is not used */
};

/* The coarsest mesh that all operators of all stages lie on; what it points to is in `arena`.
 * HYPAR_INFEASIBLE, with the operator, if there is none. */
enum hypar_status hp_find_mesh(struct mesh *out, struct arena *arena,
                               const struct hypar_plan *plan, struct hypar_error *err);

/* The dimensions of the mesh (bit i: dimension i) that each axis of an operator is split over;
 * those of axis r are the ones along which there are copies. */
void hp_mesh_dims(const struct mesh *mesh, const struct hypar_plan *plan, int op,
                  uint32_t dims[MAX_AXES]);

#endif /* EMIT_MESH_H */
