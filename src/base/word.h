/* base/word.h - words and names as people write them. Internal. */
#ifndef BASE_WORD_H
#define BASE_WORD_H

#include <hypar/tool.h>

#include "base/arena.h"

/* As hypar_nearest(): up to three names as "a, b or c" in text; false if none is near. */
bool hp_nearest_text(const char *word, const char *const *names, int n, char *text,
                     size_t size);

/* A hint for an unknown word: "did you mean a?" if names are near, else "expected one of a, b,
 * c". Where these do not fit into `size`: "expected one that 'lister' lists", or without a
 * lister (NULL) as many as fit and "...". Returns `text`. */
const char *hp_expected(char *text, size_t size, const char *word, const char *const *names,
                        int n, const char *lister);

/* "a, b, c" into text; where these do not fit into `size`, as many as do and "...". Returns
 * `text`. */
const char *hp_word_list(char *text, size_t size, const char *const *names, int n);

/* A name with "*" for the numbers between dots, which count repeated layers: "h.*.attn.w". */
char *hp_without_numbers(struct arena *arena, const char *name);

#endif /* BASE_WORD_H */
