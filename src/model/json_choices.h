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
#define HP_MAX_CHOICE_BYTES      0x1p49
#define CHOICE_BYTES(key, out)   JSON_NUMBER(key, out, 0, HP_MAX_CHOICE_BYTES)
#define CHOICE_SECONDS(key, out) JSON_NUMBER(key, out, 0, 1e12)

enum { HP_MAX_CHOICES = 1 << 12, HP_MAX_DEGREE = 1 << 20 };

#endif /* MODEL_JSON_CHOICES_H */
