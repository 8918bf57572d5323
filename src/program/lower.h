/* program/lower.h - writing a sketch out as tasks. Internal to program/. */
#ifndef PROGRAM_LOWER_H
#define PROGRAM_LOWER_H

#include "program/program.h"
#include "program/sketch.h"

/* One task list being written. */
struct writer {
    struct hypar_program *program;
    struct sketch *sketch;
    struct arena *scratch;
    struct task_list *list;
    int task_capacity, exchange_capacity;
    struct link *links; /* who waits for whom, in no order */
    int n_links, link_capacity;
};

struct link {
    int task, after;
};

/* Room for so many tasks and links at once: lists that double leave twice their size behind. */
void hp_reserve(struct writer *w, int n_tasks, int n_links);

/* Append a task; returns its number. */
int hp_add_task(struct writer *w, struct task task);

/* Task `task` waits for `after`. */
void hp_add_link(struct writer *w, int task, int after);

/* Append the exchange of a deal, and its comm tasks. */
void hp_append_exchange(struct writer *w, const struct deal *deal,
                        const struct pattern *pattern, const int *writer_task);

/* Put the links into the list's CSR arrays. */
void hp_finish_links(struct writer *w);

void hp_write_body(struct hypar_program *program, int b);
void hp_write_tail(struct hypar_program *program);

#endif /* PROGRAM_LOWER_H */
