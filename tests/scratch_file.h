/* Bytes as a file that has a path, for what reads files. */
#ifndef TESTS_SCRATCH_FILE_H
#define TESTS_SCRATCH_FILE_H

#include <stddef.h>

enum { SCRATCH_FILES = 4 };

/* The path of scratch file `which` (below SCRATCH_FILES), which holds these bytes until it is
 * asked for again. Nothing is left behind. */
const char *scratch_file(int which, const void *bytes, size_t n);

#endif /* TESTS_SCRATCH_FILE_H */
