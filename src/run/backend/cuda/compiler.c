/* Compiling CUDA C++ for a card. Compiled code is kept in the user's cache folder, under a hash
 * of everything that it follows from. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/files/file.h"
#include "base/table.h"
#include "run/backend/cuda/cuda.h"
#include "run/backend/cuda/driver.h"

/* Results must be those of the host: no multiplication and addition in one rounding. */
static const char *const OPTIONS[] = { "", "--std=c++17", "-fmad=false" };
enum { N_OPTIONS = sizeof OPTIONS / sizeof *OPTIONS, PATH_BYTES = HYPAR_PLACE_BYTES };

/* The cache ----------------------------------------------------------------------------- */

static bool make_folder(const char *path)
{
    return mkdir(path, 0755) == 0 || errno == EEXIST;
}

/* Make folder/hypar/cuda and name a file in it. The XDG Base Directory Specification says to
 * ignore relative paths. False: there is no such folder. */
static bool cache_path(char path[PATH_BYTES], uint64_t key, uint64_t check)
{
    static const char *const part[] = { "/.cache", "/hypar", "/cuda" };
    const char *own = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool is_own = own && *own == '/';
    if (!is_own && !(home && *home))
        return false;
    int n = snprintf(path, PATH_BYTES, "%s", is_own ? own : home);
    for (int i = is_own; i < 3 && n < PATH_BYTES; i++) {
        n += snprintf(path + n, (size_t)(PATH_BYTES - n), "%s", part[i]);
        if (n >= PATH_BYTES || !make_folder(path))
            return false;
    }
    if (n < PATH_BYTES)
        n += snprintf(path + n, (size_t)(PATH_BYTES - n), "/%016" PRIx64 "%016" PRIx64 ".cubin",
                      key, check);
    return n < PATH_BYTES;
}

/* Code is aligned for the driver. */
static char *new_code(struct arena *arena, size_t bytes)
{
    return (char *)NEW(arena, uint64_t, (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t));
}

/* A file is the code and its checksum. A file that is not whole counts as missing. */
static bool from_cache(struct arena *arena, const char *path, struct cuda_code *out)
{
    enum { MOST = 1 << 28 };
    const char *bytes;
    size_t n;
    uint64_t sum;
    struct hypar_error ignored;
    if (hp_file_read(arena, path, MOST, &bytes, &n, &ignored) != HYPAR_OK || n <= sizeof sum ||
        n > MOST)
        return false;
    n -= sizeof sum;
    memcpy(&sum, bytes + n, sizeof sum);
    char *code = new_code(arena, n);
    memcpy(code, bytes, n);
    *out = (struct cuda_code){ code, n };
    return sum == hp_hash(HP_HASH_START, code, n);
}

/* A cache that cannot be written is not an error: the next run compiles again. */
static void to_cache(const char *path, const struct cuda_code *code)
{
    struct hypar_output out;
    struct hypar_error ignored;
    uint64_t sum = hp_hash(HP_HASH_START, code->bytes, code->n);
    if (hypar_output_open(&out, path, &ignored) != HYPAR_OK)
        return;
    bool whole = fwrite(code->bytes, 1, code->n, out.file) == code->n &&
                 fwrite(&sum, sizeof sum, 1, out.file) == 1;
    hypar_output_close(&out, whole, &ignored);
}

/* Compiling ----------------------------------------------------------------------------- */

/* The line of the compiler's log that names an error; else its first. */
static enum hypar_status refused(const struct cuda_compiler *nvrtc, void *program,
                                 const char *name, int result, struct arena *arena,
                                 struct hypar_error *err)
{
    size_t size = 0;
    char *log = NULL;
    if (nvrtc->nvrtcGetProgramLogSize(program, &size) == 0 && size > 1) {
        log = NEW(arena, char, size + 1);
        if (nvrtc->nvrtcGetProgramLog(program, log) != 0)
            log = NULL;
    }
    char *line = log ? strstr(log, "error") : NULL;
    while (line && line > log && line[-1] != '\n')
        line--;
    if (!line)
        line = log;
    return hp_fail(err, HYPAR_RUNTIME, "CUDA source %s cannot be compiled: %.*s", name,
                   line ? (int)strcspn(line, "\n") : 200,
                   line ? line : nvrtc->nvrtcGetErrorString(result));
}

static enum hypar_status compile(const struct cuda_compiler *nvrtc, struct arena *arena,
                                 const char *name, const char *source, const char *arch_option,
                                 struct cuda_code *out, struct hypar_error *err)
{
    void *program = NULL;
    const char *option[N_OPTIONS];
    char *file = hp_arena_printf(arena, "%s.cu", name);
    memcpy(option, OPTIONS, sizeof option);
    option[0] = arch_option;
    int result = nvrtc->nvrtcCreateProgram(&program, source, file, 0, NULL, NULL);
    if (result != 0)
        return hp_fail(err, HYPAR_RUNTIME, "CUDA source %s cannot be compiled: %.200s", name,
                       nvrtc->nvrtcGetErrorString(result));
    result = nvrtc->nvrtcCompileProgram(program, N_OPTIONS, option);
    if (result == 0)
        result = nvrtc->nvrtcGetCUBINSize(program, &out->n);
    if (result == 0) {
        char *bytes = new_code(arena, out->n);
        out->bytes = bytes;
        result = nvrtc->nvrtcGetCUBIN(program, bytes);
    }
    enum hypar_status status =
        result == 0 ? HYPAR_OK : refused(nvrtc, program, name, result, arena, err);
    nvrtc->nvrtcDestroyProgram(&program);
    return status;
}

enum hypar_status hp_cuda_compile(struct arena *arena, const char *name, const char *source,
                                  int arch, struct cuda_code *out, struct hypar_error *err)
{
    const struct cuda_compiler *nvrtc;
    char arch_option[32], path[PATH_BYTES];
    int version[2] = { 0 };
    uint64_t key[2] = { HP_HASH_START, ~HP_HASH_START };
    *out = (struct cuda_code){ 0 };
    TRY(hp_cuda_compiler(&nvrtc, err));
    nvrtc->nvrtcVersion(&version[0], &version[1]);
    snprintf(arch_option, sizeof arch_option, "--gpu-architecture=sm_%d", arch);
    for (int k = 0; k < 2; k++) {
        key[k] = hp_hash(key[k], version, sizeof version);
        key[k] = hp_hash(key[k], arch_option, strlen(arch_option));
        for (int i = 1; i < N_OPTIONS; i++)
            key[k] = hp_hash(key[k], OPTIONS[i], strlen(OPTIONS[i]) + 1);
        key[k] = hp_hash(key[k], source, strlen(source));
    }
    bool cached = cache_path(path, key[0], key[1]);
    if (cached && from_cache(arena, path, out))
        return HYPAR_OK;
    TRY(compile(nvrtc, arena, name, source, arch_option, out, err));
    if (cached)
        to_cache(path, out);
    return HYPAR_OK;
}
