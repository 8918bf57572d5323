/* base/names.h - the words of the file forms for each choice, and the choice for a word.
 * Internal. */
#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include <hypar/plan.h>

extern const char *const hp_precision_names[HYPAR_PRECISION_COUNT];
extern const char *const hp_optimizer_names[HYPAR_OPTIMIZER_COUNT];
extern const char *const hp_masks_names[HYPAR_MASKS_COUNT];
extern const char *const hp_share_names[HYPAR_SHARE_COUNT];
extern const char *const hp_recompute_names[HYPAR_RECOMPUTE_COUNT];
extern const char *const hp_shard_names[HYPAR_SHARD_COUNT];
extern const char *const hp_kernels_names[HYPAR_KERNELS_COUNT];

/* As hypar_name_find(), of all but schedules. */
int hp_find_name(enum hypar_name kind, const char *name);

#endif /* BASE_NAMES_H */
