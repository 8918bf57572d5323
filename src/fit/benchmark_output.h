/* fit/benchmark_output.h - what nccl-tests and the OSU micro-benchmarks print, as a table of
 * measured collectives. Internal. */
#ifndef FIT_BENCHMARK_OUTPUT_H
#define FIT_BENCHMARK_OUTPUT_H

#include "base/files/csv.h"

/* Read a table, or convert the output of a benchmark to the table
 * collective,devices,bytes,seconds,machine (docs/formats-measured.md). `machine`: the word of
 * the machine that ran the benchmark; NULL: from the output. HYPAR_SYNTAX or HYPAR_INVALID,
 * with file and line, for invalid input. */
enum hypar_status hp_measurements_read(struct csv *out, struct arena *arena, const char *text,
                                       size_t length, const char *name, const char *machine,
                                       struct hypar_error *err);

#endif /* FIT_BENCHMARK_OUTPUT_H */
