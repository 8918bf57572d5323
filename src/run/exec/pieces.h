/* run/exec/pieces.h - pieces of what a rank holds, to and from dense arrays. Internal to run/.
 */
#ifndef RUN_EXEC_PIECES_H
#define RUN_EXEC_PIECES_H

#include "run/exec/rank.h"

/* Do its elements lie one after another? */
bool hp_piece_is_dense(const struct piece *piece);

/* The place of its first element in the buffer. */
size_t hp_piece_offset(const struct piece *piece);

/* Between a piece of the buffer at `data`, elements of `size` bytes, and a dense array: into
 * that one (gather), or from there. */
void hp_piece_copy(const struct piece *piece, size_t size, char *data, char *apart,
                   bool gather);

/* Put what is in a dense array together with what is there. */
void hp_piece_combine(const struct piece *piece, enum combine combine, enum real real,
                      char *data, char *apart);

#endif /* RUN_EXEC_PIECES_H */
