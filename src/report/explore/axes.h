/* report/explore/axes.h - the differences between the machines of an exploration or a sweep,
 * for tables, CSV, JSON and charts. Internal. */
#ifndef REPORT_AXES_H
#define REPORT_AXES_H

#include <hypar/explore.h>

#include "report/table.h"

struct axes {
    int n;
    const struct hypar_explore_axis *axis;
    bool shape;      /* show the shape of each machine, in one column with its topology */
    bool many_links; /* some machine has devices with several links that collectives may use at
                      * once */
    bool no_torus;   /* some machine is not a torus */
};

/* One machine: its shape, and its value for each axis. */
struct axes_place {
    const char *shape;
    const struct hypar_explore_value *value;
};

/* The properties in which the machines of an exploration differ. */
struct axes hp_exploration_axes(const struct hypar_exploration *e);

/* The unit of an objective's figure: samples per second, bytes, joules. */
enum hypar_unit hp_objective_unit(enum hypar_objective objective);

/* The columns `base`, with the machines' columns inserted after the first `at`: the text of
 * each figure, and the record "varied" of all figures. `shape` and `value` are the offsets of
 * the members of struct axes_place in a row. */
const struct column *hp_axes_columns(const struct axes *axes, struct arena *arena,
                                     const struct column *base, int at, size_t shape,
                                     size_t value);

/* The keys of CSV: `keys` and the names of the figures. */
const char *hp_axes_keys(const struct axes *axes, struct arena *arena, const char *keys);

/* "torus:4x4, bandwidth 50GB/s"; "" if nothing varies. */
const char *hp_axes_text(const struct axes *axes, const struct axes_place *at,
                         struct arena *arena);

/* hp_axes_x(): the axis of a chart: the number of devices if it varies, else the first figure
 * with several values; -1: none. hp_axes_line(): the name of a line: `name` (or NULL), then all
 * values of a machine except that of axis x. */
int hp_axes_x(const struct axes *axes);
const char *hp_axes_line(const struct axes *axes, int x, const struct axes_place *at,
                         const char *name, struct arena *arena);

/* Figures with several values that change no result: "latency, dram-energy"; "": none.
 * same(who, i, j): do machines i and j have the same results? */
const char *hp_axes_without_effect(const struct axes *axes,
                                   bool (*same)(const void *who, int i, int j), const void *who,
                                   struct arena *arena);

/* Do machines differ in an energy or a power, so that charts show energy? */
bool hp_axes_of_energy(const struct axes *axes);

/* Add a machine of this shape; NULL: explicit nodes and links. */
void hp_axes_add_machine(struct axes *axes, const char *shape);

/* A note on steps on different topologies, simulated with options `how` (NULL: defaults); NULL:
 * there is one topology, or nothing to note. */
const char *hp_axes_topology_note(const struct axes *axes, const struct hypar_sim_options *how);

/* "htree:16"; for several machines "3 machines like htree:16". */
const char *hp_machines_text(struct arena *arena, const char *name, int n);

/* Of a sweep, for its table and its chart ---------------------------------------------- */

/* Samples per second per device. */
double hp_for_a_device(const struct hypar_sweep_point *point);

/* Are points compared by the samples per second of all devices, not per device? This holds for
 * machines named by the user. */
bool hp_sweep_in_all(const struct hypar_sweep *sweep);

/* The value of the objective (energy or comm) per sample. */
double hp_of_a_sample(const struct hypar_sweep_point *point, enum hypar_objective objective);

int hp_sweep_machine_count(const struct hypar_sweep *sweep);

/* The properties in which machines differ; the number of devices is reported separately. */
struct axes hp_sweep_axes_of(const struct hypar_sweep *sweep);
struct axes_place hp_sweep_place(const struct hypar_sweep_point *point);

/* "3 machines like cluster:1x8"; "dp and 3d". */
const char *hp_sweep_machines(struct arena *arena, const struct hypar_sweep *sweep);
const char *hp_sweep_planners(struct arena *arena, const struct hypar_sweep *sweep);

#endif /* REPORT_AXES_H */
