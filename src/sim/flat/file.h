/* sim/flat/file.h - a program written by hand (hypar-program/1 without a plan) as a task graph.
 * Internal.
 *
 * docs/formats-program.md describes the file. Queues are numbered: the devices, then the
 * directed links of the machine (2*link + direction) if there is one, then the links that the
 * file names. */
#ifndef SIM_FLAT_FILE_H
#define SIM_FLAT_FILE_H

#include <hypar/machine.h>

#include "base/arena.h"
#include "base/error.h"
#include "sim/tasks.h"
#include "split/comm.h"

/* A task of the file. It is on a device, on a named link, or on a list of devices; "0->1" is
 * short for a list. */
struct file_task {
    int64_t id;
    const char *name;         /* NULL: none */
    int device;               /* -1: not on one */
    int link;                 /* index of flat_file.name[]; -1: not on one */
    int n_devices;            /* 0: not on a list */
    const int *devices;       /* as listed: the first is the source of a send or broadcast, the
                                 reader of a reduction */
    enum comm_kind kind;      /* of a list */
    enum traffic traffic;     /* "class" */
    double seconds;           /* -1: absent */
    double bytes;             /* sent over all devices, each byte once; -1: absent */
    const double *hold_bytes; /* bytes that cross each of its queues; NULL: none */
};

struct flat_file {
    struct arena arena;      /* holds everything, the struct itself included */
    struct task_graph graph; /* a task's index is its position in the file */
    const struct file_task *task;
    int n_devices;           /* queues 0..n_devices-1; may be 0 */
    int n_machine_links;     /* queues n_devices.. */
    int n_names;             /* queues n_devices + n_machine_links.. */
    const char *const *name; /* of these */
};

/* Read a program from a document or a text; `name` stands in front of messages. Without a
 * `machine` (NULL) every task needs "seconds". Errors are HYPAR_INVALID with the place,
 * "tasks[3].after[0]: ...". *out is NULL on failure, else to be released with
 * hp_flat_file_free(). */
struct json_document;
enum hypar_status hp_flat_file_read(struct flat_file **out,
                                    const struct json_document *document,
                                    const struct hypar_machine *machine,
                                    struct hypar_error *err);
enum hypar_status hp_flat_file_read_text(struct flat_file **out, const char *text,
                                         size_t length, const char *name,
                                         const struct hypar_machine *machine,
                                         struct hypar_error *err);
void hp_flat_file_free(struct flat_file *file); /* NULL is allowed */

/* Convert the bytes that a program states, sent over all devices, each byte once (comm_bytes),
 * to the bytes on which the cost of a collective depends (`bytes` of struct comm_group), for a
 * group of n devices. An exchange counts as an all-to-all. */
double hp_collected_bytes(enum comm_kind kind, int n_devices, double sent_bytes);

#endif /* SIM_FLAT_FILE_H */
