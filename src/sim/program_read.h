/* sim/program_read.h - the parts of reading a program file. Internal to program_*.c. */
#ifndef SIM_PROGRAM_READ_H
#define SIM_PROGRAM_READ_H

#include "base/json.h"
#include "base/table.h"
#include "sim/program_file.h"

struct program_reader {
    struct program_file *file; /* being made */
    struct arena scratch;
    const struct hypar_machine *machine; /* may be NULL */
    struct json tasks;
    int n_tasks;
    int max_devices;  /* numbers of devices are below */
    int used_devices; /* so many, by the largest number */
    struct file_task *task;
    struct sim_task *play;
    struct table names; /* of links: text to index */
    const char **name;
    int n_names, capacity;
};

/* The index of a named link; a new one is added. */
int hp_program_link(struct program_reader *reader, const char *text);

/* program_waits.c: what each task waits for, and the numbers. Needs the ids. */
enum hypar_status hp_program_read_waits(struct program_reader *reader, struct hypar_error *err);

/* program_place.c: which queues each task holds, and for how long. Needs all else of the tasks
 * and n_devices, n_machine_links of the file. */
enum hypar_status hp_program_place(struct program_reader *reader, struct hypar_error *err);

#endif /* SIM_PROGRAM_READ_H */
