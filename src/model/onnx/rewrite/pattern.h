/* model/onnx/rewrite/pattern.h - patterns of operators, and the matcher. Internal to model/.
 *
 * A pattern is a text. It describes a tensor by the operators that compute the tensor:
 *
 *     mul(x sigmoid(x))
 *
 * is the product of any tensor x and its own sigmoid. The matcher starts at the operator that
 * writes the tensor, and walks backwards over producers. The words of a pattern:
 *
 *     x                        any tensor; one letter. A letter that occurs again is the same
 *                              tensor again.
 *     kind(a b)                an operator of our graph and its inputs. The inputs of add and
 *                              mul match in either order.
 *     kind[a b]                the inputs match in this order only
 *     kind(a ...)              any further inputs
 *     kind(...)                any inputs
 *     one/two(a)               an operator of one of these kinds
 *     !kind(a)                 the operator's result has no other reader
 *     y=kind(a)                y captures the operator's result
 *     kind{alpha=0.5 beta=e}   attributes: a number (compared to within 1e-6), `last` (the last
 *                              dimension of the input), or a letter that captures the value
 *     <a | b>                  either a or b
 *     @one/two a               a, perhaps behind at most three operators of these kinds
 *     causal(a)                scores a behind a mask by which a query sees no later key
 *     Name(a)                  the definition of this name (pattern.c), with a in place of _
 */
#ifndef MODEL_ONNX_REWRITE_PATTERN_H
#define MODEL_ONNX_REWRITE_PATTERN_H

#include "model/onnx/rewrite/rewrite.h"

/* The values that the letters of a pattern capture. */
struct match {
    int op;            /* of the first graph: it writes the tensor that matched */
    int tensor[26];    /* by letter: of the first graph, -1: the letter has none */
    double number[26]; /* by letter: captured values of attributes */
    bool dropout;      /* the matcher went past a dropout */
};

/* The tensor, or the value of an attribute, that a letter stands for. */
static inline int hp_captured(const struct match *m, char letter)
{
    return m->tensor[letter - 'a'];
}

/* A check that a pattern cannot express, of a match that is complete otherwise. */
typedef bool pattern_check(const struct rewriting *rw, const struct match *m);

/* The pattern of a text, which is parsed once. */
const struct pattern *hp_pattern(struct rewriting *rw, const char *text);

/* Does the pattern describe tensor `t` of the first graph? Returns the first match that passes
 * `check` (NULL: none is needed) in *m. */
bool hp_match(const struct rewriting *rw, const struct pattern *pattern, int t,
              pattern_check *check, struct match *m);

#endif /* MODEL_ONNX_REWRITE_PATTERN_H */
