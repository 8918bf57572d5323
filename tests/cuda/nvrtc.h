/* The functions of NVRTC that the stand-in has. */
#ifndef TESTS_CUDA_NVRTC_H
#define TESTS_CUDA_NVRTC_H

#include <stddef.h>

struct program;

int nvrtcVersion(int *major, int *minor);
const char *nvrtcGetErrorString(int result);
int nvrtcCreateProgram(struct program **out, const char *source, const char *name,
                       int n_headers, const char *const *header,
                       const char *const *header_name);
int nvrtcDestroyProgram(struct program **program);
int nvrtcCompileProgram(struct program *p, int n_options, const char *const *option);
int nvrtcGetCUBINSize(const struct program *p, size_t *bytes);
int nvrtcGetCUBIN(const struct program *p, char *code);
int nvrtcGetProgramLogSize(const struct program *p, size_t *bytes);
int nvrtcGetProgramLog(const struct program *p, char *log);

#endif /* TESTS_CUDA_NVRTC_H */
