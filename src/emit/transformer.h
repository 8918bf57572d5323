/* emit/transformer.h - a graph as frameworks of transformers describe it. Internal. */
#ifndef EMIT_TRANSFORMER_H
#define EMIT_TRANSFORMER_H

#include "graph/graph.h"

/* Layers that are alike, each with one attention. 0: not known. */
struct transformer {
    int layers;
    int64_t hidden, ffn, heads, kv_heads, head, sequence, vocabulary;
    double rotary_base; /* 0: no rotary embedding */
    bool positions;     /* learned, in a table or a parameter outside of the layers */
    int unknown;        /* an operator of a layer that no description here has; -1: none */
    double epsilon;     /* of its norms */
    bool causal, rms_norm, gated;
    bool bias, no_bias; /* linear layers have one, have none; both: some */
    bool silu;          /* what gates, or stands between the two products */
    bool gelu;          /* ... or this */
    bool tied;          /* the output layer has the embedding's table */
    bool dropout;
};

/* False: the graph is no such network; *op is the first operator of another kind, -1: nothing
 * repeats. */
bool hp_transformer(const struct hypar_graph *graph, struct transformer *out, int *op);

#endif /* EMIT_TRANSFORMER_H */
