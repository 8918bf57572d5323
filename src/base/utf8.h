/* base/utf8.h - text that is shown to people. Internal.
 *
 * Names and paths are UTF-8 and come from anywhere. What would break a line, command a terminal
 * or turn the order of what is read (control characters, the two kinds of separators, marks of
 * direction) and bytes that are no UTF-8 are never shown; here it is decided which these are.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character at the start of `text` (RFC 3629), 0 where there is none; of one that
 * can be shown as it is; and the character that has `n` bytes. */
size_t hp_utf8_length(const char *text);
size_t hp_printable_length(const char *text);
unsigned hp_utf8_code(const char *text, size_t n);

/* Is all of it UTF-8? */
bool hp_is_utf8(const char *text);

/* Is there anything in it that cannot be shown? */
bool hp_has_control(const char *text);

/* The same with `instead` for each character, and for each run of bytes that begins one, that
 * cannot be shown; changes `text` and returns it. */
char *hp_clean_text(char *text, char instead);

/* Drop a character at the end that was cut short. */
void hp_drop_cut(char *text);

/* Columns that the first `bytes` of a text take on a terminal. */
int hp_text_width(const char *text, int bytes);

#endif /* BASE_UTF8_H */
