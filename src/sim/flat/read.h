/* sim/flat/read.h - the steps of reading a program written by hand. Internal to sim/flat. */
#ifndef SIM_FLAT_READ_H
#define SIM_FLAT_READ_H

#include "base/files/json.h"
#include "base/table.h"
#include "sim/flat/file.h"

struct flat_reader {
    struct flat_file *file; /* under construction */
    struct arena scratch;
    const struct hypar_machine *machine; /* may be NULL */
    struct json tasks;
    int n_tasks;
    int max_devices;  /* device numbers are below */
    int used_devices; /* devices in use, by the largest number */
    struct file_task *task;
    struct sim_task *timed;
    struct table names; /* of links: text to index */
    const char **name;
    int n_names, capacity;
};

/* The index of a named link; a new one is added. */
int hp_flat_link(struct flat_reader *reader, const char *text);

/* edges.c: the predecessors of each task, and the numbers. Needs the ids. */
enum hypar_status hp_flat_read_edges(struct flat_reader *reader, struct hypar_error *err);

/* place.c: the queues that each task holds, and for how long. Needs the other members of the
 * tasks, and n_devices and n_machine_links of the file. */
enum hypar_status hp_flat_place(struct flat_reader *reader, struct hypar_error *err);

#endif /* SIM_FLAT_READ_H */
