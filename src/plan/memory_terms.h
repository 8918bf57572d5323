/* plan/memory_terms.h - the memory of a device that is not tensors, and the room that it leaves
 * to tensors. Internal. The table of terms is hypar/memory_terms.h. Texts, JSON, the page and
 * the room for tensors, which planners compare bounds and estimates with, follow from its rows.
 */
#ifndef PLAN_MEMORY_TERMS_H
#define PLAN_MEMORY_TERMS_H

#include <hypar/program.h>

#include "plan/plan.h"

/* How a plan's memory is used, whatever its splits are. */
struct memory_how {
    const struct hypar_framework_memory *framework;
    double framework_bytes; /* of each device: --framework-memory */
    double groups;          /* at least so many kinds of groups that devices exchange with */
    double certainty; /* the probability with which a planner wants a plan to fit; 0: memory
                         counts as predicted */
};

enum memory_level {
    MEMORY_TENSORS,
    MEMORY_ALLOCATED,
    MEMORY_RESERVED,
    MEMORY_DEVICE,
    MEMORY_LEVELS,
};

/* The facts from which a term outside the program is computed. The bytes of a term grow
 * linearly with the bytes of tensors, and do not shrink when more of the plan is known. So the
 * bytes computed before there is a program are a lower bound. */
struct memory_facts {
    const struct hypar_device *device;
    struct memory_how how;
    struct hypar_framework_memory usual; /* the framework's memory, with usual values filled in;
                                            0 on a device that runs no framework */
    double held[MEMORY_LEVELS]; /* bytes of each level, with those before; until they are known
                                   0 */
};

/* Numbers of the terms of tensors: their rows in hp_memory_terms. */
#define TERM_NUMBER(member, level, shown, words, meaning) TERM_##member,
enum tensor_term { HYPAR_TENSOR_TERMS(TERM_NUMBER) TENSOR_TERMS };

struct memory_term {
    const char *words, *key;
    size_t offset; /* of the member of struct hypar_memory */
    enum memory_level level;
    double (*bytes)(const struct memory_facts *at); /* NULL: counted */
};

/* The terms in their order; the last has no words. */
extern const struct memory_term hp_memory_terms[];

double hp_memory_term(const struct hypar_memory *memory, const struct memory_term *term);
void hp_add_to_term(struct hypar_memory *memory, const struct memory_term *term, double bytes);

/* The plan's own tensors, together. */
double hp_tensor_bytes(const struct hypar_memory *memory);

/* How the framework of a simulation uses memory. */
const struct hypar_framework_memory *hp_framework_memory(const struct hypar_simulation *how);

/* The number of copies of a parameter's optimizer state, sharded or not: 1, or, if the
 * framework keeps it by stage, one for each group of devices with stages that use the
 * parameter. */
int hp_state_copies(const struct hypar_plan *plan, int tensor);

struct memory_how hp_memory_how(const struct hypar_plan *plan);

/* The tensors of *memory are counted: fill in the other terms, and the sums. */
void hp_add_framework_terms(struct hypar_memory *memory, const struct hypar_device *device,
                            const struct memory_how *how);

/* The default probability with which plans of a search fit. */
static const double HP_USUAL_CERTAINTY = 0.95;

/* The bytes that programs may use of a device, less the margin with which a plan that is
 * predicted to fill them fits with probability how->certainty. */
double hp_usable_bytes(const struct hypar_device *device, const struct memory_how *how);

/* The bytes of a device for tensors: `limit_bytes`, or the device's own memory if the limit is
 * 0, less the other terms; always above 0. */
double hp_device_room(const struct hypar_device *device, double limit_bytes,
                      const struct memory_how *how);

/* The need to compare with that room: bytes of tensors that alone would fill the device as
 * much. If other terms depend on more than tensors, the need is more than the tensors. */
double hp_memory_need(const struct hypar_memory *memory, const struct hypar_device *device,
                      const struct memory_how *how);

/* A device's memory of which no more is known than such a need. */
struct hypar_memory hp_memory_of_need(double need, const struct hypar_device *device,
                                      const struct memory_how *how);

/* A phrase for messages: how the memory of a device that a plan may use was found.
 * `limit_bytes`: this memory before the terms that are no tensors are subtracted; 0: the
 * devices' own. `for_tensors`: these terms were subtracted. */
const char *hp_room_words(const struct hypar_machine *machine, double limit_bytes,
                          const struct memory_how *how, bool for_tensors);

#endif /* PLAN_MEMORY_TERMS_H */
