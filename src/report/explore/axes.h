/* report/explore/axes.h - what the machines of an exploration or of a sweep differ in, as
 * tables, CSV, JSON and pictures tell it. Internal. */
#ifndef REPORT_AXES_H
#define REPORT_AXES_H

#include <hypar/explore.h>

#include "report/table.h"

struct axes {
    int n;
    const struct hypar_explore_axis *axis;
    bool shape;      /* the shape of each machine is told, in one column with its topology */
    bool many_links; /* of a device, which collectives may use at once: some machine has them */
    bool no_torus;   /* some machine is none */
};

/* One machine: its shape, and its values by axis. */
struct axes_place {
    const char *shape;
    const struct hypar_explore_value *value;
};

/* The columns `base`, with those of machines behind the first `at`: the text of each figure,
 * and the record "varied" of all figures. `shape` and `value` are where the row has the members
 * of its struct axes_place. */
const struct column *hp_axes_columns(const struct axes *axes, struct arena *arena,
                                     const struct column *base, int at, size_t shape,
                                     size_t value);

/* `keys` and the names of the figures: the keys of CSV. */
const char *hp_axes_keys(const struct axes *axes, struct arena *arena, const char *keys);

/* "torus:4x4, bandwidth 50GB/s"; "" where nothing varies. */
const char *hp_axes_text(const struct axes *axes, const struct axes_place *at,
                         struct arena *arena);

/* What a picture goes along: sizes if there are several, else the first figure that has
 * several values; -1: neither. And all of a machine's values but that, for the name of a line,
 * after `name` or NULL. */
int hp_axes_x(const struct axes *axes);
const char *hp_axes_line(const struct axes *axes, int x, const struct axes_place *at,
                         const char *name, struct arena *arena);

/* "latency, dram-energy": figures with several values that change nothing; "": there are none.
 * same(who, i, j): is machine i told the same of as machine j? */
const char *hp_axes_without_effect(const struct axes *axes,
                                   bool (*same)(const void *who, int i, int j), const void *who,
                                   struct arena *arena);

/* Do machines differ in an energy or a power, so that pictures draw energy? */
bool hp_axes_of_energy(const struct axes *axes);

/* Adds a machine of this shape; NULL: of explicit nodes and links. */
void hp_axes_add_machine(struct axes *axes, const char *shape);

/* What to know of steps on different topologies, simulated so (or NULL: plainly); NULL: there
 * is one, or nothing to know. */
const char *hp_axes_topology_note(const struct axes *axes, const struct hypar_sim_options *how);

/* "htree:16"; of several machines "3 machines like htree:16". */
const char *hp_machines_text(struct arena *arena, const char *name, int n);

#endif /* REPORT_AXES_H */
