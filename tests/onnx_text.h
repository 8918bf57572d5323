/* ONNX files from a few words, for tests.
 *
 *     opset 14; in x float batch 3; init w float 4 3; node Gemm g x w -> y transB=1; out y
 * float batch 4
 *
 *  opset N
 *  in NAME TYPE DIM...        a model input; a dimension is a number, a symbol, or ?; none: [];
 *  out, info                  likewise; TYPE - : no type at all, TYPE* : no shape
 *  init NAME TYPE DIM... = V...     values as raw_data; none: without values
 *  init NAME TYPE DIM... raw N      N bytes of raw_data, all 0
 *  init NAME TYPE DIM... at FILE OFFSET LENGTH   external data
 *  node OP NAME INPUT... -> OUTPUT... ATTR...   _ is an absent input or output
 *     ATTR: axis=1 (an integer)  perm=1,0 (a list; axes=1, is one of one)  alpha:0.5  mode'edge
 *           value@int64:2=1,2 (a tensor: type, dimensions x apart, values)
 *           alpha&gamma (in a function: the caller's gamma)
 *  function NAME INPUT... -> OUTPUT...; node ...; end     nodes that stand for one
 *  param NAME, buffer NAME    a line of PyTorch's signature
 *  folded NAME FROM...        what PyTorch computed an initializer from
 *  type a number: an element type by number */
#ifndef TESTS_ONNX_TEXT_H
#define TESTS_ONNX_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* The file's bytes, to be freed; *size is how many. NULL if the text is wrong. */
unsigned char *onnx_text(const char *text, size_t *size);

/* A stream over them, as hp_onnx_open_stream() takes; it owns them. */
FILE *onnx_text_stream(const char *text);

#endif /* TESTS_ONNX_TEXT_H */
