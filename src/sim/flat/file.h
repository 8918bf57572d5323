/* sim/flat/file.h - a program written by hand (hypar-program/1 without a plan) as tasks to
 * timed. Internal.
 *
 * What a file may say is in docs/formats-program.md. Queues are numbered: the devices, then the
 * directed links of the machine (2*link + direction) if there is one, then the links that the
 * file names. */
#ifndef SIM_FLAT_FILE_H
#define SIM_FLAT_FILE_H

#include <hypar/machine.h>

#include "base/arena.h"
#include "base/error.h"
#include "sim/tasks.h"
#include "split/comm.h"

/* A task as the file has it. It is on a device, on a named link, or on a list of devices, of
 * which "0->1" is a short form. */
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
    double seconds;           /* -1: not said */
    double bytes;             /* sent over all devices, each once; -1: not said */
    const double *hold_bytes; /* that cross each queue it holds; NULL: none */
};

struct flat_file {
    struct arena arena;      /* holds everything, the struct itself included */
    struct task_graph graph; /* a task's index is its place in the file */
    const struct file_task *task;
    int n_devices;           /* queues 0..n_devices-1; may be 0 */
    int n_machine_links;     /* queues n_devices.. */
    int n_names;             /* queues n_devices + n_machine_links.. */
    const char *const *name; /* of those */
};

/* Read a program from a document or a text; `name` stands in front of messages. `machine` may
 * be NULL: then every task needs "seconds". What is wrong is HYPAR_INVALID with its place,
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

/* Programs say what is sent over all devices, each byte once (comm_bytes); the cost of a
 * collective is a function of what is collected (`bytes` of struct comm_group). From the one to
 * the other, for a group of n devices. An exchange counts as an all-to-all. */
double hp_collected_bytes(enum comm_kind kind, int n_devices, double sent_bytes);

#endif /* SIM_FLAT_FILE_H */
