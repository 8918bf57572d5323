/* base/utf8.h - text that is shown to people. Internal.
 *
 * Names and paths are UTF-8 and come from anywhere. Some characters would break a line, command
 * a terminal or reverse the reading order: control characters, the two separators, marks of
 * direction. These and bytes that are no UTF-8 are never shown. This module decides which
 * characters these are. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The number of bytes of the character at the start of `text` (RFC 3629), 0 if there is none;
 * the same for characters that may be shown; and the character that has `n` bytes. */
size_t hp_utf8_length(const char *text);
size_t hp_printable_length(const char *text);
unsigned hp_utf8_code(const char *text, size_t n);

/* Is the whole text UTF-8? */
bool hp_is_utf8(const char *text);

/* Does the text contain anything that may not be shown? */
bool hp_has_control(const char *text);

/* Replace each character that may not be shown, and each run of bytes that begins none, by
 * `instead`. Changes `text` and returns it. */
char *hp_clean_text(char *text, char instead);

/* Drop an incomplete character at the end. */
void hp_drop_cut(char *text);

/* Columns that the first `bytes` of a text take on a terminal. */
int hp_text_width(const char *text, int bytes);

#endif /* BASE_UTF8_H */
