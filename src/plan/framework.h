/* plan/framework.h - frameworks: rows, words and files. Internal. */
#ifndef PLAN_FRAMEWORK_H
#define PLAN_FRAMEWORK_H

#include <hypar/framework.h>
#include <hypar/plan.h>

#include "base/arena.h"
#include "base/files/json.h"

/* The row called `name`; NULL: there is none. */
const struct hypar_framework *hp_framework_row(const char *name);

/* The name of a framework, "compiled" where it has none. */
const char *hp_framework_name(const struct hypar_framework *framework);

/* The same with its texts in `arena`. */
struct hypar_framework hp_keep_framework(struct arena *arena,
                                         const struct hypar_framework *framework);

/* As hypar_framework_read(), with the texts in `arena`. */
enum hypar_status hp_framework_read(struct arena *arena, const char *word,
                                    struct hypar_framework *out, struct hypar_error *err);

/* Are all members that a prediction depends on the same? */
bool hp_framework_same(const struct hypar_framework *a, const struct hypar_framework *b);

/* The word that reads back as it, "fsdp,kernels=compiled"; of one that is no row, its name. */
char *hp_framework_word(struct arena *arena, const struct hypar_framework *framework);

/* Write the member `key` of a plan: a word, or an object if no word describes the framework;
 * nothing for the unchanged row "compiled". */
void hp_put_framework(struct json_writer *w, const char *key,
                      const struct hypar_framework *framework);
enum hypar_status hp_read_framework(struct arena *arena, const struct json *at,
                                    struct hypar_framework *out, struct hypar_error *err);

/* Member `i` of the table: its name, its value as text in `arena`, and its meaning; NULL past
 * the last. */
struct framework_member {
    const char *key, *value, *summary;
};
bool hp_framework_member(struct arena *arena, const struct hypar_framework *framework, int i,
                         struct framework_member *out);

/* For fits to measured steps: a pointer to time `i` that the framework's host adds, and the
 * member's name if `key` is given; NULL past the last. */
double *hp_framework_time(struct hypar_framework *framework, int i, const char **key);

/* Alternative `i` of the framework: *framework with another value of one member, whose name is
 * returned; NULL past the last. The graph and the plan stay as they are. */
const char *hp_framework_alternative(struct hypar_framework *framework, int i);

/* The value of a member, as text in `arena`. */
const char *hp_framework_value(struct arena *arena, const struct hypar_framework *framework,
                               const char *key);

/* Are gradients of parameters in this precision fp32, if the plan does not say? */
bool hp_usual_fp32_gradients(enum hypar_precision precision,
                             const struct hypar_framework *framework);

/* HYPAR_INVALID if a member is out of its bounds. */
enum hypar_status hp_check_framework(const struct hypar_framework *framework,
                                     struct hypar_error *err);

/* Are parameters gathered and gradients handled module by module, as PyTorch's modules are run
 * or as layers are gathered ahead, whatever the kernels inside of them? */
static inline bool hp_goes_by_modules(const struct hypar_framework *framework)
{
    return framework->kernels == HYPAR_KERNELS_EAGER || framework->prefetch > 0;
}

/* Do gradients of parameters begin with the first backward half that computes them, and end
 * with the step? Else they last from step to step. Under schedules with delayed updates they
 * last, whatever the framework. */
static inline bool hp_gradients_begin(const struct hypar_framework *framework)
{
    return hp_goes_by_modules(framework) &&
           (framework->kernels == HYPAR_KERNELS_NONE || !framework->memory.flat_gradients);
}

/* Are all exchanges waited for; are some? */
bool hp_waits_for_all(const struct hypar_framework *framework);
bool hp_waits_for_any(const struct hypar_framework *framework);
void hp_wait_for_all(struct hypar_framework *framework);

#endif /* PLAN_FRAMEWORK_H */
