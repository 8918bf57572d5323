/* machine/topology.h - the named topologies. Internal. */
#ifndef MACHINE_TOPOLOGY_H
#define MACHINE_TOPOLOGY_H

#include "machine/machine.h"

extern const struct topology hp_htree;                   /* tree.c */
extern const struct topology hp_torus, hp_mesh, hp_ring; /* grid.c */
extern const struct topology hp_full;                    /* full.c */
extern const struct topology hp_cluster, hp_local;       /* cluster.c */

/* grid_cycle.c: the `cycle` of a torus or mesh, for groups that are a product of coordinates;
 * finds a cycle if there is one. */
bool hp_grid_cycle(struct arena *scratch, const struct hypar_machine *machine,
                   const int *device, int n, int *order);
/* The `line` of grids: some devices of one row, column, ... */
bool hp_grid_line(struct arena *scratch, const struct hypar_machine *machine, const int *device,
                  int n, int *order);

/* torus_cycles.c: the `cycles` of a torus, for groups that are the whole torus or planes of
 * it. */
int hp_torus_cycles(struct arena *scratch, const struct hypar_machine *machine,
                    const int *device, int n, int *order);

#endif /* MACHINE_TOPOLOGY_H */
