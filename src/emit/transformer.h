/* emit/transformer.h - a graph in the terms of transformer frameworks. Internal. */
#ifndef EMIT_TRANSFORMER_H
#define EMIT_TRANSFORMER_H

#include "graph/graph.h"

/* The base of rotary positions of a graph that does not say it. */
static const double HP_USUAL_ROTARY_BASE = 10000;

/* Equal layers, each with one attention. 0: not known. */
struct transformer {
    int layers;
    int64_t hidden, ffn, heads, kv_heads, head, sequence, vocabulary;
    double rotary_base; /* 0: no rotary embedding */
    bool positions;     /* learned positions, in a table or a parameter outside the layers */
    int unknown;        /* an operator of a layer that this struct cannot describe; -1: none */
    int outside;    /* an operator before or behind the layers that a language model does not
                     * have there; -1: none */
    bool behind;    /* it is behind them */
    double epsilon; /* of its norms */
    bool
        qk_norm; /* queries and keys have such a norm over each head, before rotary positions */
    bool causal, rms_norm, gated;
    bool bias, no_bias; /* linear layers have a bias, have none; both: some have */
    bool silu;          /* the activation that gates, or is between the two products, is silu
                         * ... */
    bool gelu;          /* ... or gelu */
    bool tied;          /* the output layer shares the embedding's table */
    bool dropout;
};

/* Describe the graph. Returns false if it is no such network; *op is then the first operator of
 * another kind, -1: nothing repeats. */
bool hp_transformer(const struct hypar_graph *graph, struct transformer *out, int *op);

#endif /* EMIT_TRANSFORMER_H */
