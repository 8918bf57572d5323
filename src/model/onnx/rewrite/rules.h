/* model/onnx/rewrite/rules.h - checks and writers that rows of the table of rules name, and
 * that lie in files of their own. Internal to model/. */
#ifndef MODEL_ONNX_REWRITE_RULES_H
#define MODEL_ONNX_REWRITE_RULES_H

#include "model/onnx/rewrite/pattern.h"

/* attention.c: products, scale, mask and softmax become one attention; keys and values that an
 * attention reads repeated for groups of heads are read once. */
bool hp_write_attention(struct rewriting *rw, const struct match *m);
bool hp_write_groups(struct rewriting *rw, const struct match *m);

/* rotary.c: x c + turned(x) s, where c and s are tables of cosines and sines, and turned(x) has
 * the second half h of each head, negated, before the first half l. */
bool hp_is_rotary(const struct rewriting *rw, const struct match *m);
bool hp_write_rotary(struct rewriting *rw, const struct match *m);

/* columns.c: linear layers whose columns are read apart, or whose bias is added afterwards. */
bool hp_write_columns(struct rewriting *rw, const struct match *m);
bool hp_write_packed(struct rewriting *rw, const struct match *m);
bool hp_write_biased(struct rewriting *rw, const struct match *m);

/* Apply the first rule that fits operator `op` of the first graph; false: none does. */
bool hp_apply_rules(struct rewriting *rw, int op);

#endif /* MODEL_ONNX_REWRITE_RULES_H */
