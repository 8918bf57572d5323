/* cli/plan_text.h - a plan on its way from one process to another. */
#ifndef CLI_PLAN_TEXT_H
#define CLI_PLAN_TEXT_H

#include "cli/opt.h"

/* How a plan that is read elsewhere names its model: a file by its whole path, in `text`. */
const char *plan_model_word(const char *given, char *text, size_t size);

/* A plan as a text, to be freed. */
char *plan_to_text(const struct hypar_plan *plan);

/* A text as a file without a name, which goes with its last reader; -1: it cannot be made. */
int plan_text_file(const char *text, struct hypar_error *err);

#endif /* CLI_PLAN_TEXT_H */
