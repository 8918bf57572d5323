/* search/evaluate/room.h - does it fit into the memory of the devices? Internal.
 *
 * There are three answers. Each is more exact, and takes longer, than the one before; a planner
 * asks for the one that it has time for while it chooses:
 *
 *     room     the bytes of a device for tensors. A device whose parameters need more does not
 *              fit. For closed forms over layers (hypar, accpar, optcnn).
 *     least    a lower bound of the need of a device, from the operators on it alone
 *              (estimate/needs.h). For pipelines, of which there are many candidates.
 *     exact    the count of the program's model of memory, which the simulator tells too. It
 *              needs a program: up to seconds for a large network on many devices.
 *
 * plan/state.c counts the state of a whole plan before the plan is lowered. PipeDream cuts by
 * the formula of its paper, hp_pipeline_memory(). */
#ifndef SEARCH_EVALUATE_ROOM_H
#define SEARCH_EVALUATE_ROOM_H

#include "search/planner.h"

struct lowering_cache; /* of a lowering (program/lowering.h) */

/* The bytes of a device for tensors: the user's limit, or the device's own memory, less the
 * terms that are not tensors (plan/memory_terms.h). All needs below are of tensors alone, too.
 */
double hp_room(const struct problem *problem, int device);

/* Refuse a problem where no device has room, because the framework alone fills them all. */
enum hypar_status hp_check_room(const struct problem *problem, struct hypar_error *err);

/* The least bytes of that room that a plan loses for each kind of group that its devices
 * exchange with, on any device. */
double hp_group_bytes(const struct problem *problem);

/* Compare a device's memory, counted from a program, with that room, and update `f`. */
void hp_note_device(struct fullest *f, const struct problem *problem, int device,
                    const struct hypar_memory *memory);

/* The room of the device with the least; and the number of parameters for which that room
 * suffices, with gradients and optimizer, in a plan without micro-batches and stages. */
double hp_least_room(const struct problem *problem);
double hp_room_for_params(const struct problem *problem);

/* A planner whose cost knows no memory gives parameters a price. The lowest power of two at
 * which its answer fits is found by bisection, the highest first; where no price helps, the
 * answer with the fewest parameters is kept, and refused later.
 *
 *     struct prices p = hp_prices(lowest, highest);
 *     while (hp_price(&p, &price))
 *         ...                        solve with the price of one parameter
 *         if (hp_price_tried(&p, fits))
 *             ...                    keep that answer                                    */
struct prices {
    int too_low, enough, at, highest; /* exponents */
};
struct prices hp_prices(int lowest, int highest);
bool hp_price(const struct prices *prices, double *price);
bool hp_price_tried(struct prices *prices, bool fits);

/* The state of all parameters, which every plan holds somewhere, and the room of all devices.
 */
void hp_room_together(const struct problem *problem, double *need, double *has);

/* The exact need of the fullest device, of a program (tasks are not needed) or of a plan;
 * `cache` as for hp_lower(). */
struct fullest hp_program_need(const struct problem *problem,
                               const struct hypar_program *program);
enum hypar_status hp_exact_need(const struct problem *problem, const struct hypar_plan *plan,
                                struct lowering_cache *cache, struct fullest *out,
                                struct hypar_error *err);

/* An operator that has measured figures, which are of one batch; -1: none. */
int hp_find_measured(const struct hypar_graph *graph);

/* Does the plan that was found fit? The simulation decides, of the whole plan or of a part. For
 * a plan that was not simulated, the count of its program decides; for a large plan, the need
 * if everything is kept. *fullest receives the memory of the fullest device.
 *
 * If the memory cannot be counted, *fullest is zeros. The plan is then taken to fit if its
 * planner checks memory by a closed form, or if its model has measured figures, for which there
 * are no programs. Otherwise the result is the status of the count, with the reason in *err.
 * HYPAR_INFEASIBLE, naming the device: the plan does not fit. */
enum hypar_status hp_found_fits(const struct hypar_found *found, double limit_bytes,
                                struct hypar_memory *fullest, struct hypar_error *err);

/* The words that a message appends to a device's room (hp_room_words()). */
const char *hp_problem_room_words(const struct problem *problem);

/* No plan fits; *f is of the nearest, which `planner` made (NULL: not said). */
enum hypar_status hp_fail_memory(const struct fullest *f, const struct problem *problem,
                                 const char *planner, struct hypar_error *err);

#endif /* SEARCH_EVALUATE_ROOM_H */
