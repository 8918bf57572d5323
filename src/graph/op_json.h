/* graph/op_json.h - reading and writing kinds and attributes of operators as JSON. Internal. */
#ifndef GRAPH_OP_JSON_H
#define GRAPH_OP_JSON_H

#include "base/files/json.h"
#include "graph/op.h"

/* The kind that the string at `at` names; if there is none, the error lists the nearest
 * names. */
enum hypar_status hp_op_read_kind(const struct json *at, enum op_kind *out,
                                  struct hypar_error *err);

/* Read the attributes from an operator's member "attrs": a number or an array of numbers for
 * each; none if it is missing. Values are checked against their bounds; hp_attrs_complete()
 * checks whether the row has them, and how many. */
enum hypar_status hp_attrs_read(struct arena *arena, const struct json *object,
                                const struct op_traits *row, struct attrs *out,
                                struct hypar_error *err);

/* Write the member "attrs"; nothing if there are no attributes. */
void hp_attrs_write(struct json_writer *w, const struct attrs *attrs);

#endif /* GRAPH_OP_JSON_H */
