/* cost/papers/partition.h - the communication model of HyPar (Song et al., HPCA 2019) and
 * AccPar (Song et al., HPCA 2020). Internal.
 *
 * One level divides a group of accelerators into p equal sides. A weighted layer F' = f(F W) is
 * divided in one of three ways, which determine the exchange:
 *
 *   I   (HyPar dp)  batch            F, F' by batch; dW is a partial sum
 *   II  (HyPar mp)  input channels   F by channel, F' whole once its partial sums are added
 *   III             output channels  F whole, F' by channel; E = dF is a partial sum
 *
 * Amounts are elements exchanged between two sides, in one direction; bytes are 4 * 2 *
 * elements. Sizes are real numbers, never rounded. */
#ifndef COST_PAPERS_PARTITION_H
#define COST_PAPERS_PARTITION_H

enum layer_type {
    TYPE_I,
    TYPE_II,
    TYPE_III,
    TYPE_CHANNEL, /* channel in, channel out, nothing to add: joins, grouped convolutions */
    TYPE_COUNT,
};

/* How a tensor is divided over the sides of a level. */
enum side_split { BY_BATCH, BY_CHANNEL, WHOLE };

/* How a layer's input (and the error that it returns) is divided, and its output (and the error
 * that it receives). */
enum side_split hp_split_in(enum layer_type type);
enum side_split hp_split_out(enum layer_type type);

/* The elements of one layer that are still to be divided, as the levels above left them. */
struct layer_sizes {
    double in, weight, out;
    double frozen; /* of `weight`: not trained, because the loss does not depend on them */
};

/* Intra-layer exchange of a p-way level. HyPar Table 1: dp A(dW), mp A(F'); AccPar: III A(E).
 * p ways: (p - 1) A. */
double hp_intra_elements(enum layer_type type, const struct layer_sizes *sizes, int ways);

/* The share of A elements that is exchanged to convert one division into another: batch <->
 * channel (p - 1) / 2p, to whole (p - 1) / 2, else nothing. */
double hp_convert_share(enum side_split from, enum side_split to, int ways);

/* Inter-layer exchange as a multiple of the elements of the tensor between two layers: F
 * converted forward, E converted backward. p = 2 is HyPar's Table 2 and AccPar's table. */
double hp_inter_share(enum layer_type producer, enum layer_type consumer, int ways);

/* The sizes of one side (the shrink rule between levels). */
void hp_shrink(struct layer_sizes *sizes, enum layer_type type, double share);

/* Unequal sides (AccPar, heterogeneous groups): `share` is this side's part, the others have
 * the rest. Returns the elements that this side receives. */
double hp_inter_share_unequal(enum layer_type producer, enum layer_type consumer, double share);

#endif /* COST_PAPERS_PARTITION_H */
