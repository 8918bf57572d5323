/* sim/scene.h - the blocks of a program as the simulator plays them: times and queues.
 * Internal.
 */
#ifndef SIM_SCENE_H
#define SIM_SCENE_H

#include <hypar/sim.h>

#include "sim/acts.h"

struct scene {
    struct arena arena;
    struct sketch *sketch;
    struct acts own, *acts;             /* its own, or some that it shares */
    struct blocks *own_blocks, *blocks; /* likewise */
    struct pattern_act **tail_act;      /* by deal of the tail, with buckets */
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

/* `acts` are shared with others whose sketches share its stock; NULL: it has its own. `blocks`
 * are those of a program; NULL: it has its own. Where messages are played one by one, they are
 * tasks of its own blocks. */
struct scene *hp_scene_new(struct sketch *sketch, struct blocks *blocks,
                           const struct sim_settings *settings, struct acts *acts);
void hp_scene_free(struct scene *scene); /* not the sketch; NULL is allowed */

/* The sketch has changed: fusion groups and buckets anew. */
void hp_scene_update(struct scene *scene);

/* How the comms of a deal are played. */
const struct pattern_act *hp_deal_act(struct scene *scene, int b, int deal);

/* Which of a deal's comms has task `local` of its block, and the first of its tasks there. */
int hp_comm_at(const struct pattern_act *act, int n_comms, int local);
static inline int hp_first_of_comm(const struct pattern_act *act, int comm)
{
    return act->messages ? act->messages[comm].first : comm;
}

/* The message that task `local` of an exchange's block is; NULL: it is all of a comm. */
const struct message *hp_message_at(const struct pattern_act *act, int comm, int local);

/* The tasks of a block, size[number] of them; numbers included. */
void hp_block_tasks(struct scene *scene, int number, struct sim_task *task);

/* The whole as one graph: all bodies once, then the tail, which waits for the last micro-batch
 * of each body in its round; ids follow numbers. Fills first[] and size[] of the blocks. Taken
 * from `arena`. */
struct task_graph hp_scene_graph(struct scene *scene, struct arena *arena);

/* The same with the edges that a program has, whose blocks the scene plays. */
struct task_graph hp_program_graph(struct scene *scene, const struct hypar_program *program,
                                   struct arena *arena);

#endif /* SIM_SCENE_H */
