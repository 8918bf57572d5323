/* sim/propose.h - random changes of one operator of a plan. Internal.
 *
 * A step through the SOAP space: a random degree on random axes, now and then uneven, on
 * devices that follow each other, on every second one, or on any. */
#ifndef SIM_PROPOSE_H
#define SIM_PROPOSE_H

#include "base/random.h"
#include "plan/plan.h"

/* How one operator is split and placed. */
struct proposal {
    struct arena arena;
    int op;
    struct split split;
    int *device;
    int device_capacity;
    int64_t *sizes[MAX_AXES]; /* room for degrees up to HP_MAX_PROPOSED */
};

enum { HP_MAX_PROPOSED = 4096 };

void hp_proposal_begin(struct proposal *p, const struct hypar_plan *plan);
void hp_proposal_end(struct proposal *p);

/* Draw one. The plan may not admit it (hypar_plan_check()). */
void hp_propose(struct random *random, const struct hypar_plan *plan, struct proposal *out);

/* How `op` is now, to change it back. */
void hp_proposal_save(const struct hypar_plan *plan, int op, struct proposal *out);
void hp_proposal_apply(struct hypar_plan *plan, const struct proposal *p);

#endif /* SIM_PROPOSE_H */
