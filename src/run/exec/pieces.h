/* run/exec/pieces.h - copying pieces of a rank's buffers to and from dense arrays. Internal to
 * run/. */
#ifndef RUN_EXEC_PIECES_H
#define RUN_EXEC_PIECES_H

#include "run/backend/backend.h"
#include "run/exec/rank.h"

/* Are its elements contiguous? */
bool hp_piece_is_dense(const struct piece *piece);

/* The position of its first element in the buffer. */
size_t hp_piece_offset(const struct piece *piece);

/* Copy a piece of the buffer at `data`, with elements of `size` bytes, to a dense array
 * (gather), or back. */
void hp_piece_copy(const struct backend *b, const struct piece *piece, size_t size, char *data,
                   char *apart, bool gather);

/* Combine a dense array with the piece. */
void hp_piece_combine(const struct backend *b, const struct piece *piece, enum combine combine,
                      enum real real, char *data, char *apart);

#endif /* RUN_EXEC_PIECES_H */
