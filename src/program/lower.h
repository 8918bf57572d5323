/* program/lower.h - the steps of lowering. Internal to program/. */
#ifndef PROGRAM_LOWER_H
#define PROGRAM_LOWER_H

#include "base/table.h"
#include "program/exchange.h"

/* What of the graph takes part in training; the same for every micro-batch. */
struct flow {
    bool *grad;       /* by tensor: its gradient is computed */
    bool *active;     /* by op: it has a backward half */
    uint32_t *passes; /* by op: bit p, pass p is done */
};

struct lowering;

/* One task list being written. */
struct writer {
    struct lowering *l;
    struct task_list *list;
    struct range samples;
    const struct part_layout **layout; /* by op */
    int (*pass_task)[MAX_PASSES];      /* by op: the task of part 0 of each pass, -1 */
    int task_capacity, exchange_capacity;
    struct link *links; /* who waits for whom, in no order */
    int n_links, link_capacity;
};

struct link {
    int task, after;
};

struct lowering {
    struct hypar_program *program;
    const struct hypar_plan *plan;
    const struct hypar_graph *graph;
    struct hypar_lower_options options;
    struct flow flow;
    struct arena scratch; /* of the lowering as a whole */
    struct hypar_error *err;
    /* layouts and patterns, by what decides them */
    struct writer body[2]; /* kept for the tail */
    struct table lists, layout_keys, pattern_keys;
    const struct part_layout **layouts;
    const struct pattern **patterns;
    int n_lists, n_layouts, layout_capacity, n_patterns, pattern_capacity;
};

enum hypar_status hp_find_flow(struct lowering *l);

/* The layout of op's parts for `samples`; shared. */
const struct part_layout *hp_layout_of(struct lowering *l, int op, struct range samples);

/* The pattern of these writers and readers; shared. */
enum hypar_status hp_pattern_of(struct lowering *l, const struct stakeholder *writers,
                                int n_writers, const struct stakeholder *readers, int n_readers,
                                const struct pattern **out);

/* Who writes and who reads a place. Room for what a tensor can have is given by
 * hp_max_stakes(). */
int hp_writers_of(struct writer *w, struct place place, struct stakeholder *who, int *task);
int hp_readers_of(struct writer *w, struct place place, struct stakeholder *who,
                  struct reader *reader);
int hp_max_stakes(const struct hypar_graph *graph, int tensor);

/* The operand of its producer that tensor `t` is. */
int hp_operand_of(const struct op *op, int t);

/* Append an exchange and its comm tasks. */
void hp_append_exchange(struct writer *w, struct exchange e, bool backward);

/* Settle `place`: find its pattern, append its comm tasks. */
enum hypar_status hp_add_exchange(struct writer *w, struct place place, bool backward);

/* Append a task; returns its number. */
int hp_add_task(struct writer *w, struct task task);

/* Task `task` waits for `after`. */
void hp_add_link(struct writer *w, int task, int after);

/* Put the links into the list's CSR arrays. */
void hp_finish_links(struct writer *w);

/* The links of a comm: every contribution, once; `offset` is added to the tasks' numbers. */
void hp_link_comm(struct writer *w, const struct exchange *e, int comm, int task,
                  const int *writer_task, int offset);

enum hypar_status hp_lower_body(struct lowering *l, int b);
enum hypar_status hp_lower_tail(struct lowering *l);
void hp_make_schedule(struct lowering *l);

/* 1F1B: `in_flight` micro-batches forward, then one backward, one forward, ... in turn. */
void hp_alternate(struct slot *slot, int n_micro, int in_flight);

/* Which parts of op write operand `o` in `pass` the same, and which only add to it. */
axis_set hp_copy_axes(const struct nest *nest, const struct split *split, int pass, int o);
axis_set hp_partial_axes(const struct nest *nest, const struct split *split, int pass, int o);

#endif /* PROGRAM_LOWER_H */
