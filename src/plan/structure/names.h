/* plan/structure/names.h - short names for the layers and operators of a plan. Internal.
 *
 * Operators of a layer have names such as "h.3.attn.q". Their common beginning is the layer's
 * name; the rest is their own. '.' or '/' separates the parts of a name. */
#ifndef PLAN_STRUCTURE_NAMES_H
#define PLAN_STRUCTURE_NAMES_H

#include "plan/structure/structure.h"

/* The length of the common beginning of the names of operators from .. to - 1, up to the end of
 * a part of each; 0: none. */
size_t hp_prefix_length(const struct hypar_graph *graph, int from, int to);

/* As hp_prefix_length(), at most the first part of the names. */
size_t hp_module_length(const struct hypar_graph *graph, int from, int to);

/* The number of parts that the names of two operators have in common at their beginning. */
int hp_shared_parts(const struct hypar_graph *graph, int a, int b);

/* The numbers of characters left out of the names of a layer's operators, at the beginning and
 * at the end. */
struct short_names {
    size_t prefix, suffix;
};
struct short_names hp_short_names(const struct hypar_graph *graph, int from, int to);

/* "attn.q .. attn.v" for operators from .. to - 1, or the only name. */
char *hp_ops_name(struct arena *arena, const struct hypar_graph *graph,
                  struct short_names names, int from, int to);

/* Do `count` layers have names of their own? Checks the first and the last. */
bool hp_layers_named(const struct hypar_graph *graph, int first, int n_ops, int count);

/* "h.0 .. h.95"; for layers without names "embed.0 .. lstm.39". */
char *hp_layers_name(struct arena *arena, const struct hypar_graph *graph, int first, int n_ops,
                     int count);

/* Operators from .. to - 1 by layers: "wte .. drop, h.0 .. h.5"; if the range cuts layers, the
 * first and the last operator. */
char *hp_range_name(struct arena *arena, const struct plan_structure *s, int from, int to);

/* The number of whole layers in a range, and of their operators. */
struct range_layers {
    int layers, n_ops;
};
struct range_layers hp_layers_in(const struct plan_structure *s, int from, int to);

#endif /* PLAN_STRUCTURE_NAMES_H */
