/* The operators that compute in fp32 under autocast, and the operands that they convert. */
#include "graph/autocast.h"

/* Operands that a caller gives: tensors, and parameters that are made. */
static bool is_read(const struct operand *operand)
{
    return operand->role == OPERAND_INPUT || operand->role == OPERAND_PARAM;
}

/* Parameters that an operator keeps for itself do not widen its output (batch norm), but those
 * that it looks up do (a table of embeddings). */
static bool widens(const struct nest *nest, const struct operand *operand)
{
    return operand->wide && !operand->index &&
           (operand->role == OPERAND_INPUT ||
            (operand->role == OPERAND_PARAM && hp_op[nest->kind].flags & ROW_LOOKUP));
}

void hp_find_widths(struct nest *nest, operand_set wide)
{
    bool any = false;
    for (int o = 0; o < nest->n_inputs; o++) {
        nest->operand[o].wide = wide >> o & 1;
        any |= widens(nest, &nest->operand[o]);
    }
    nest->wide = hp_op[nest->kind].flags & ROW_WIDE || (any && !hp_multiplies(nest));
    for (int o = nest->n_inputs; o < nest->n_operands; o++)
        nest->operand[o].wide = nest->wide;
}

/* Is the operand held in another precision than the operator computes in? */
static bool differs(const struct nest *nest, int o)
{
    const struct operand *operand = &nest->operand[o];
    bool own = operand->role == OPERAND_PARAM && !hp_multiplies(nest);
    return is_read(operand) && !operand->index && !own && operand->wide != nest->wide;
}

static operand_set read_before(const struct nest *nest, int pass)
{
    operand_set before = 0;
    for (int p = 0; p < pass; p++)
        before |= nest->pass[p].reads;
    return before;
}

operand_set hp_converted(const struct nest *nest, int pass)
{
    const struct pass *p = &nest->pass[pass];
    bool alike = hp_multiplies(nest) || hp_op[nest->kind].flags & ROW_ALIKE;
    operand_set converted = 0, some = p->backward
                                          ? p->writes_grad
                                          : (alike ? p->reads & ~read_before(nest, pass) : 0);
    for (int o = 0; o < nest->n_operands; o++)
        if (some >> o & 1 && differs(nest, o))
            converted |= (operand_set)1 << o;
    return converted;
}

bool hp_passes_wide(const struct nest *nest, int pass, int o)
{
    bool alike = hp_multiplies(nest) || hp_op[nest->kind].flags & ROW_ALIKE;
    return nest->pass[pass].backward || alike || !is_read(&nest->operand[o])
               ? nest->wide
               : nest->operand[o].wide;
}
