/* run/exec/ahead.h - model inputs of later batches. A thread of this process fills them while a
 * back end other than the host computes. Internal to run/exec/.
 *
 * Each input lies in a staging area. An area that was taken is used again when the back end is
 * done with it. */
#ifndef RUN_EXEC_AHEAD_H
#define RUN_EXEC_AHEAD_H

#include "run/exec/executor.h"

struct ahead;

/* `fill` and `who` of the settings fill the areas; `fill` must allow calls on several
 * threads. */
struct ahead *hp_ahead_new(const struct executor_settings *settings);
void hp_ahead_free(struct ahead *a); /* NULL is allowed */

/* The dense array of an input over `box`, its elements of `element_bytes` each: already filled
 * if it was asked for, else filled now. */
enum hypar_status hp_ahead_take(struct ahead *a, const struct fill_request *request,
                                const struct box *box, size_t element_bytes, struct view *out,
                                struct hypar_error *err);

/* Begin to fill an input that will be taken later. */
void hp_ahead_ask(struct ahead *a, const struct fill_request *request, const struct box *box,
                  size_t element_bytes);

/* The back end has finished all work: the arrays that were taken are not read any more. */
void hp_ahead_finished(struct ahead *a);

#endif /* RUN_EXEC_AHEAD_H */
