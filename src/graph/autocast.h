/* graph/autocast.h - precisions under autocast, as PyTorch has it. Internal.
 *
 * Parameters and inputs are in fp32. Products compute in 16 bits, norms, softmax and losses in
 * fp32 (ROW_WIDE), every other operator in the widest precision that it reads. A product, and a
 * row that wants operands alike (ROW_ALIKE), converts what it reads in another precision by a
 * kernel of its own; others read both. Gradients are converted back wherever the tensor's
 * precision is not the operator's. All these precisions follow from the graph. */
#ifndef GRAPH_AUTOCAST_H
#define GRAPH_AUTOCAST_H

#include "graph/nest.h"

/* Fill in nest->wide and operand[].wide; `wide` says it of the nest's inputs. */
void hp_find_widths(struct nest *nest, operand_set wide);

/* The operands whose value (of a forward pass) or gradient (of a backward pass) is converted
 * for this pass. */
operand_set hp_converted(const struct nest *nest, int pass);

/* Does a pass read or write operand `o`, or its gradient, in fp32, after conversions? */
bool hp_passes_wide(const struct nest *nest, int pass, int o);

#endif /* GRAPH_AUTOCAST_H */
