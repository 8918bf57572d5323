/* run/init.h - initial values of parameters. Internal.
 *
 * Every element is a function of the seed, the parameter's name and the element's position in
 * the whole parameter. So any rank can make any box without the rest, and every plan starts
 * from the same values. They are the same on every machine: no function of the C library is
 * used that may differ in its last digit.
 *
 *   linear, conv, group_conv   weight and bias uniform in +-1/sqrt(inputs of an output), as
 *   and matmul                 torch.nn.Linear and Conv2d
 *   lstm, lstm_cell            uniform in +-1/sqrt(width of the hidden state), as
 *                              torch.nn.LSTM
 *   norms                      weight 1, bias 0
 *   embedding                  normal, deviation 0.02, as GPT-2 and BERT: where the table is
 *                              the output layer too, PyTorch's deviation of 1 is too much
 *   factors (mul, div)         1
 *   all others                 normal, deviation 0.02: learned positions and tokens
 *
 * A model file may have values itself (model/weights.h); then a box is read from it.
 *
 * The first operator that reads the parameter, behind operators that only move data (reshape,
 * transpose, slice), determines the rule. */
#ifndef RUN_INIT_H
#define RUN_INIT_H

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "model/weights.h"

enum init_kind {
    INIT_CONSTANT, /* always `value` */
    INIT_UNIFORM,  /* in [-value, value) */
    INIT_NORMAL,   /* mean 0, deviation `value` */
};

struct init_rule {
    enum init_kind kind;
    double value;
};

struct init_rule hp_init_rule(const struct hypar_graph *graph, int tensor);

/* Initialise a box of a parameter in a dense array. */
void hp_init_box(const struct hypar_graph *graph, int tensor, const struct box *box,
                 enum real real, uint64_t seed, void *dense);

/* The same for a parameter or a constant input whose values a model file contains. */
enum hypar_status hp_init_from(const struct weights *weights, const struct hypar_graph *graph,
                               int tensor, const struct box *box, enum real real, void *dense,
                               struct hypar_error *err);

#endif /* RUN_INIT_H */
