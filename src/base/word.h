/* base/word.h - words and names as people write them. Internal. */
#ifndef BASE_WORD_H
#define BASE_WORD_H

#include <hypar/base.h>

/* As hypar_nearest(), up to three of them as "a, b or c" in text; false if none is near. */
bool hp_nearest_text(const char *word, const char *const *names, int n, char *text,
                     size_t size);

/* "a, b, c" into text; one too long for `size` is cut. Returns `text`. */
const char *hp_word_list(char *text, size_t size, const char *const *names, int n);

/* Does this UTF-8 text hold a control character, which would disturb a terminal or a line? */
bool hp_has_control(const char *text);

/* The length of the UTF-8 sequence at `text` (RFC 3629), 0 where there is none. */
size_t hp_utf8_length(const char *text);

/* Is this UTF-8 without control characters, which can be shown and written to JSON as it is? */
bool hp_is_plain(const char *text);

/* Make it so: each byte that is not becomes '_'. Returns `text`. */
char *hp_make_plain(char *text);

/* Characters of the first `bytes` of a UTF-8 text: its code points. */
int hp_characters(const char *text, int bytes);

#endif /* BASE_WORD_H */
