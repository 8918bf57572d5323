/* model/json_choices.h - the choices of an operator in hypar-graph/1: each choice is a way
 * to run the operator, with its measured time and memory. Internal. */
#ifndef MODEL_JSON_CHOICES_H
#define MODEL_JSON_CHOICES_H

#include "base/files/json.h"
#include "graph/graph.h"

/* The members "choices" and "input_bytes" of an operator that has n_inputs; *out is NULL where
 * there are none. */
enum hypar_status hp_choices_read(struct arena *arena, const struct json *op, int n_inputs,
                                  const struct op_choices **out, struct hypar_error *err);

/* Write both; nothing where `choices` is NULL. */
void hp_choices_write(struct json_writer *w, const struct op_choices *choices);

/* Numbers of a choice: at least 0, at most what the forms of profiles allow. */
enum hypar_status hp_choice_seconds(const struct json *at, double *out,
                                    struct hypar_error *err);
enum hypar_status hp_choice_bytes(const struct json *at, double *out, struct hypar_error *err);

enum { HP_MAX_CHOICES = 1 << 12, HP_MAX_DEGREE = 1 << 20 };

#endif /* MODEL_JSON_CHOICES_H */
