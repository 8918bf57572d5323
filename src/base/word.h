/* base/word.h - words and names as people write them. Internal. */
#ifndef BASE_WORD_H
#define BASE_WORD_H

#include <hypar/tool.h>

#include "base/arena.h"

/* As hypar_nearest(), up to three of them as "a, b or c" in text; false if none is near. */
bool hp_nearest_text(const char *word, const char *const *names, int n, char *text,
                     size_t size);

/* What an unknown word should have been: "did you mean a?" of those that are near, else
 * "expected one of a, b, c", of a list too long for `size` the first ones. Returns `text`. Of
 * the few words of a setting all are told instead. */
const char *hp_expected(char *text, size_t size, const char *word, const char *const *names,
                        int n);

/* "a, b, c" into text; one too long for `size` is cut. Returns `text`. */
const char *hp_word_list(char *text, size_t size, const char *const *names, int n);

/* A name with "*" for numbers between dots, which are those of layers that repeat:
 * "h.*.attn.w". */
char *hp_without_numbers(struct arena *arena, const char *name);

#endif /* BASE_WORD_H */
