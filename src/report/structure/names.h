/* report/structure/names.h - short names for what a plan is made of. Internal.
 *
 * Operators of a layer are called "h.3.attn.q": what all of them begin with is the layer's
 * name, the rest their own. Parts of a name are parted by '.' or '/'. */
#ifndef REPORT_STRUCTURE_NAMES_H
#define REPORT_STRUCTURE_NAMES_H

#include "report/structure/structure.h"

/* Characters that the names of operators from .. to - 1 begin with, up to where a part of each
 * of them ends; 0: nothing. */
size_t hp_prefix_length(const struct hypar_graph *graph, int from, int to);

/* The same, at most the first part of their names. */
size_t hp_module_length(const struct hypar_graph *graph, int from, int to);

/* Parts that the names of two operators begin with alike. */
int hp_shared_parts(const struct hypar_graph *graph, int a, int b);

/* How many characters are left out of the names of a layer's operators, before and behind. */
struct short_names {
    size_t prefix, suffix;
};
struct short_names hp_short_names(const struct hypar_graph *graph, int from, int to);

/* "attn.q .. attn.v" of operators from .. to - 1, or the only one. */
char *hp_ops_name(struct arena *arena, const struct hypar_graph *graph,
                  struct short_names names, int from, int to);

/* Do `count` layers have names of their own, as far as the first and the last tell? */
bool hp_layers_named(const struct hypar_graph *graph, int first, int n_ops, int count);

/* "h.0 .. h.95"; where layers have no name "embed.0 .. lstm.39". */
char *hp_layers_name(struct arena *arena, const struct hypar_graph *graph, int first, int n_ops,
                     int count);

/* Operators from .. to - 1 by layers: "wte .. drop, h.0 .. h.5"; if layers are cut, the first
 * and the last. */
char *hp_range_name(struct arena *arena, const struct plan_structure *s, int from, int to);

/* The whole layers among them, and how many operators those have. */
struct range_layers {
    int layers, n_ops;
};
struct range_layers hp_layers_in(const struct plan_structure *s, int from, int to);

#endif /* REPORT_STRUCTURE_NAMES_H */
