/* model/word.h - the options behind the name of a zoo model. Internal. */
#ifndef MODEL_WORD_H
#define MODEL_WORD_H

#include "model/zoo/zoo.h"

/* The family's defaults; values[] holds MAX_SIZES. */
void hp_options_start(const struct family *family, int *values);

/* Change the values that `text` names: "layers=24,hidden=1024", or "784-512-10" for a family
 * of sizes. An empty text changes nothing. HYPAR_INVALID, with the options there are. */
enum hypar_status hp_options_read(const struct family *family, const char *text, int *values,
                                  struct hypar_error *err);

/* Apply the options of `usual` that the family has and `text` does not name. If `text` gives
 * the first of them another value, apply none. */
enum hypar_status hp_options_usual(const struct family *family, const char *usual,
                                   const char *text, int *values, struct hypar_error *err);

/* The text that gives all these values; one too long for `size` is cut. */
void hp_options_write(const struct family *family, const int *values, char *text, size_t size);

#endif /* MODEL_WORD_H */
