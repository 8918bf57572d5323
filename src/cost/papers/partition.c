/* HyPar's and AccPar's counts of exchanged elements, from the types of layers. */
#include "cost/papers/partition.h"

#include <stdbool.h>

enum side_split hp_split_in(enum layer_type type)
{
    static const enum side_split in[TYPE_COUNT] = { BY_BATCH, BY_CHANNEL, WHOLE, BY_CHANNEL };
    return in[type];
}

enum side_split hp_split_out(enum layer_type type)
{
    static const enum side_split out[TYPE_COUNT] = { BY_BATCH, WHOLE, BY_CHANNEL, BY_CHANNEL };
    return out[type];
}

/* HyPar Table 1; AccPar section 3 for type III. An untrained layer has neither dW nor E. */
double hp_intra_elements(enum layer_type type, const struct layer_sizes *sizes, int ways)
{
    bool trained = !(sizes->frozen > 0 && sizes->frozen == sizes->weight);
    switch (type) {
    case TYPE_I:
        return (ways - 1) * (sizes->weight - sizes->frozen);
    case TYPE_II:
        return (ways - 1) * sizes->out;
    case TYPE_III:
        return trained ? (ways - 1) * sizes->in : 0;
    default:
        return 0;
    }
}

double hp_convert_share(enum side_split from, enum side_split to, int ways)
{
    if (from == to || from == WHOLE)
        return 0;
    return to == WHOLE ? (ways - 1) / 2.0 : (ways - 1) / (2.0 * ways);
}

/* HyPar Table 2, AccPar Table 4: F is converted from the producer's output division to the
 * consumer's input division, E the other way. */
double hp_inter_share(enum layer_type producer, enum layer_type consumer, int ways)
{
    enum side_split out = hp_split_out(producer), in = hp_split_in(consumer);
    return hp_convert_share(out, in, ways) + hp_convert_share(in, out, ways);
}

/* AccPar with shares a + b = 1: batch <-> channel a b, to whole b. */
static double convert_share_unequal(enum side_split from, enum side_split to, double share)
{
    if (from == to || from == WHOLE)
        return 0;
    return to == WHOLE ? 1 - share : share * (1 - share);
}

double hp_inter_share_unequal(enum layer_type producer, enum layer_type consumer, double share)
{
    enum side_split out = hp_split_out(producer), in = hp_split_in(consumer);
    return convert_share_unequal(out, in, share) + convert_share_unequal(in, out, share);
}

/* As in HyPar's published code and AccPar's: I halves the batch of input and output, II the
 * input channels of input and weight, III the output channels of weight and output. */
void hp_shrink(struct layer_sizes *sizes, enum layer_type type, double share)
{
    if (type != TYPE_III)
        sizes->in *= share;
    if (type != TYPE_I) {
        sizes->weight *= share;
        sizes->frozen *= share;
    }
    if (type != TYPE_II)
        sizes->out *= share;
}
