/* cli/plan_text.h - passing a plan from one process to another. */
#ifndef CLI_PLAN_TEXT_H
#define CLI_PLAN_TEXT_H

#include "cli/opt.h"

/* The model word of a plan that is read in another folder: a file by its whole path, in `text`.
 */
const char *plan_model_word(const char *given, char *text, size_t size);

/* A plan as a text, to be freed. */
char *plan_to_text(const struct hypar_plan *plan);

/* Put a text into a file without a name, which is removed when its last reader closes it.
 * Returns the descriptor; -1: the file cannot be made. */
int plan_text_file(const char *text, struct hypar_error *err);

#endif /* CLI_PLAN_TEXT_H */
