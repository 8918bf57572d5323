/* report/plan/level_map.h - draws a map of layers (across) and levels of the machine (down).
 * Internal. */
#ifndef REPORT_LEVEL_MAP_H
#define REPORT_LEVEL_MAP_H

#include <hypar/search.h>
#include <stdio.h>

#include "base/arena.h"

/* HyPar's Figure 5: the choice of each layer at each level, by name if there is room, else by
 * letter. If this takes several lines of layers, repeated layers with the same choices are
 * drawn once. */
void hp_draw_levels(FILE *to, struct arena *arena, const struct hypar_partition_view *view,
                    const struct hypar_graph *graph);

#endif /* REPORT_LEVEL_MAP_H */
