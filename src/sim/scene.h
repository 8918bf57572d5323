/* sim/scene.h - a sketch as the simulator plays it: blocks of tasks. Internal.
 *
 * A unit is a step together with those that only follow it, part by part on the same device,
 * without multiply-adds of their own (activations, normalisation, pooling): one task for each
 * part. A block is all tasks of a unit, of a deal of the body, of a deal of the tail, or of the
 * updates of a parameter; its number follows from the skeleton, so that a task's number
 * (block, place in the block) keeps its order when others come and go. */
#ifndef SIM_SCENE_H
#define SIM_SCENE_H

#include <hypar/sim.h>

#include "sim/acts.h"

enum block_kind { BLOCK_UNIT, BLOCK_COMM, BLOCK_TAIL_COMM, BLOCK_UPDATE };

struct scene {
    struct arena arena;
    struct sketch *sketch;
    struct acts own, *acts;        /* its own, or some that it shares */
    int n_blocks;                  /* each body's items; the tail's deals; their updates */
    int **unit;                    /* by body, by step: the first step of its unit */
    int **next;                    /* by body, by step: the next one of its unit, -1 */
    bool *may_follow;              /* by step */
    struct buckets buckets;        /* of gradients; no arrays: none */
    struct pattern_act **tail_act; /* by deal of the tail, with buckets */
    int *first;                    /* by block: the id of its first task, -1: it has none */
    int *size;                     /* by block */
    /* what a block's tasks wait for, as (task in the block, id) */
    struct wait_pair {
        int local, id;
    } * pair;
    int n_pairs, pair_capacity;
};

/* What cannot be asked for together: HYPAR_USAGE. */
enum hypar_status hp_check_settings(const struct sim_settings *settings,
                                    struct hypar_error *err);

/* More messages than could be kept, each by itself (some 300 bytes each; micro-batches share
 * them), or more links on the way of those without a pattern than could be looked at (10 ns
 * each): HYPAR_UNSUPPORTED. To be asked before the scene is made, which has them. The estimate
 * is exact but for exchanges without a pattern, of which it counts the pieces. */
enum { HP_MAX_MESSAGES = 1 << 24, HP_MAX_CROSSED = 1 << 30 };
double hp_estimate_messages(const struct sketch *sketch); /* messages.c */
enum hypar_status hp_check_messages(const struct sketch *sketch,
                                    const struct sim_settings *settings,
                                    struct hypar_error *err);

/* measured.c; `profile` may be NULL. */
struct hypar_sim_measured hp_count_measured(const struct sketch *sketch,
                                            const struct hypar_profile *profile);

/* What is longer than time can be counted: HYPAR_UNSUPPORTED. */
enum hypar_status hp_check_length(ticks length, struct hypar_error *err);

/* `acts` are shared with others whose sketches share its stock; NULL: it has its own. */
struct scene *hp_scene_new(struct sketch *sketch, const struct sim_settings *settings,
                           struct acts *acts);
void hp_scene_free(struct scene *scene); /* not the sketch; NULL is allowed */

/* Which steps make a unit in body b: fills unit[b], next[b]. */
void hp_find_units(struct scene *scene, int b);

/* The sketch has changed: units and buckets anew. */
void hp_scene_update(struct scene *scene);

/* Block numbers, and back. */
struct block {
    enum block_kind kind;
    int body, index; /* the unit's first step; the deal (of all deals) */
};
struct block hp_block_at(const struct scene *scene, int number);
static inline int hp_step_block(const struct scene *s, int b, int step)
{
    const struct skeleton *k = &s->sketch->skeleton;
    return b * k->n_items + k->step[s->unit[b][step]].item;
}
static inline int hp_deal_block(const struct scene *s, int b, int deal)
{
    const struct skeleton *k = &s->sketch->skeleton;
    return deal < k->n_deals ? b * k->n_items + k->deal[deal].item
                             : s->sketch->n_bodies * k->n_items + deal - k->n_deals;
}
static inline int hp_update_block(const struct scene *s, int deal)
{
    return hp_deal_block(s, 0, deal) + s->sketch->skeleton.n_tail;
}

/* How the comms of a deal are played. */
const struct pattern_act *hp_deal_act(struct scene *scene, int b, int deal);

/* Which of a deal's comms has task `local` of its block. */
int hp_comm_at(const struct pattern_act *act, int n_comms, int local);

/* How many tasks a block has now, and what they are; numbers included. */
int hp_block_size(struct scene *scene, int number);
void hp_block_tasks(struct scene *scene, int number, struct sim_task *task);

/* What they wait for, into scene->pair; first[] must be right for all blocks. */
void hp_block_waits(struct scene *scene, int number);

/* The whole as one graph: all bodies once, then the tail, which waits for the last micro-batch
 * of each body in its round; ids follow numbers. Fills first[] and size[]. Taken from `arena`.
 */
struct task_graph hp_scene_graph(struct scene *scene, struct arena *arena);

#endif /* SIM_SCENE_H */
