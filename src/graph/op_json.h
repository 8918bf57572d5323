/* graph/op_json.h - kinds and attributes of operators in JSON files. Internal. */
#ifndef GRAPH_OP_JSON_H
#define GRAPH_OP_JSON_H

#include "base/json.h"
#include "graph/op.h"

/* The kind that the string at `at` names; the nearest names are told where there is none. */
enum hypar_status hp_op_read_kind(const struct json *at, enum op_kind *out,
                                  struct hypar_error *err);

/* The attributes of an operator as its object's member "attrs" gives them: a number, or an
 * array of them, for each; none where it is missing. Values are within their bounds; whether
 * the row has them, and how many, hp_attrs_complete() checks. */
enum hypar_status hp_attrs_read(struct arena *arena, const struct json *object,
                                const struct op_traits *row, struct attrs *out,
                                struct hypar_error *err);

/* Write the member "attrs"; nothing where there are none. */
void hp_attrs_write(struct json_writer *w, const struct attrs *attrs);

#endif /* GRAPH_OP_JSON_H */
