/* cli/profile_trace.h - a profile from a trace of PyTorch's profiler. */
#ifndef CLI_PROFILE_TRACE_H
#define CLI_PROFILE_TRACE_H

#include "cli/opt.h"

/* hypar profile --measured TRACE. */
enum hypar_status profile_trace(const struct args *args, struct hypar_error *err);

#endif /* CLI_PROFILE_TRACE_H */
