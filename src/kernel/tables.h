/* kernel/tables.h - the structure of a table of kernels. Internal to kernel/.
 *
 * Every table has a row for each kind of operator and a version for each precision. A row of a
 * table other than the reference may be empty, and its function may refuse a call: then the
 * reference kernel runs. */
#ifndef KERNEL_TABLES_H
#define KERNEL_TABLES_H

#include "kernel/kernel.h"

typedef void kernel_function(const struct kernel_call *call);

struct kernel_row {
    /* Run all passes of the call (one, or several of `joint`), including fresh outputs and
     * terms added after; false: it refuses, and has done nothing. */
    bool (*run)(const struct kernel_call *call);
    /* Bytes, independent of the views; NULL: none. */
    size_t (*workspace)(const struct kernel_call *call);
    /* The passes that it runs in one call with pass `pass`, the first; NULL: one alone. */
    pass_set (*joint)(const struct nest *nest, int pass);
    /* Does it divide the call among the threads itself (kernel/threads.h)? NULL: never; it gets
     * parts of calls, each on one thread. */
    bool (*threads)(const struct kernel_call *call);
};

struct kernel_table {
    struct kernel_row row[OP_KIND_COUNT];
    bool (*add_after)(const struct kernel_call *call); /* likewise; NULL: the reference */
};

struct kernels {
    const char *name;
    const struct kernel_table *(*table)(enum real real); /* NULL: the reference alone */
};

#endif /* KERNEL_TABLES_H */
