/* A stand-in for NVRTC: it compiles a source for the host, by the C++ compiler that CMake
 * found. The "code for the card" is a shared library, which the stand-in of the driver
 * (driver.c) loads. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cuda/nvrtc.h"

enum { DONE = 0, NO_MEMORY = 1, REFUSED = 6 };

struct program {
    char *source, *code, *log;
    size_t code_bytes;
};

static char *copy_of(const char *text, size_t n)
{
    char *copy = malloc(n + 1);
    if (copy) {
        memcpy(copy, text, n);
        copy[n] = 0;
    }
    return copy;
}

static char *read_all(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    *n = 0;
    if (!file)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && ftell(file) >= 0) {
        *n = (size_t)ftell(file);
        rewind(file);
        bytes = malloc(*n + 1);
        if (bytes && fread(bytes, 1, *n, file) != *n)
            *n = 0;
        if (bytes)
            bytes[*n] = 0;
    }
    fclose(file);
    return bytes;
}

/* No version of NVRTC, so that its code is not taken for that of a card; another one when
 * device.h has changed. */
int nvrtcVersion(int *major, int *minor)
{
    size_t n;
    unsigned hash = 0;
    char *header = read_all(STAND_IN_ROOT "/tests/cuda/device.h", &n);
    for (size_t i = 0; header && i < n; i++)
        hash = 31 * hash + (unsigned char)header[i];
    free(header);
    *major = 0;
    *minor = (int)(hash >> 1);
    return DONE;
}

const char *nvrtcGetErrorString(int result)
{
    return result == REFUSED ? "the source is refused" : result ? "no memory" : "no error";
}

int nvrtcCreateProgram(struct program **out, const char *source, const char *name,
                       int n_headers, const char *const *header, const char *const *header_name)
{
    (void)name;
    (void)n_headers;
    (void)header;
    (void)header_name;
    *out = calloc(1, sizeof **out);
    if (*out)
        (*out)->source = copy_of(source, strlen(source));
    return *out && (*out)->source ? DONE : NO_MEMORY;
}

int nvrtcDestroyProgram(struct program **program)
{
    free((*program)->source);
    free((*program)->code);
    free((*program)->log);
    free(*program);
    *program = NULL;
    return DONE;
}

/* Name the kernels behind the source: what lies between "__global__" and "(" ends with the
 * name. */
static void write_kernels(const char *source, FILE *file)
{
    static const char word[] = "__global__", names[] = "abcdefghijklmnopqrstuvwxyz"
                                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    for (const char *at = strstr(source, word); at; at = strstr(at + 1, word)) {
        const char *from = strstr(at, "void");
        const char *end = from ? strchr(from, '(') : NULL;
        const char *bounds = from ? strstr(from, "__launch_bounds__") : NULL;
        if (bounds && end && bounds < end) {
            end = strchr(end, ')');
            end = end ? strchr(end, '(') : NULL;
        }
        if (!end)
            return;
        while (end > from && !strchr(names, end[-1]))
            end--;
        for (from = end; strchr(names, from[-1]); from--)
            ;
        fprintf(file, "STAND_IN_KERNEL(%.*s)\n", (int)(end - from), from);
    }
}

/* A source whose threads wait for each other needs contexts for them, which are slow. */
static bool takes_turns(const char *source)
{
    return strstr(source, "__sync") || strstr(source, "__shfl");
}

int nvrtcCompileProgram(struct program *p, int n_options, const char *const *option)
{
    char folder[] = "/tmp/hypar-stand-in-XXXXXX", command[2048], path[64];
    (void)n_options;
    (void)option;
    /* as NVRTC does: found only if it is loaded already */
    if (!dlopen("libnvrtc-builtins.so.12.0", RTLD_NOW)) {
        p->log = copy_of("error: failed to open libnvrtc-builtins.so.12.0.", 48);
        return REFUSED;
    }
    if (!mkdtemp(folder))
        return NO_MEMORY;
    snprintf(path, sizeof path, "%s/source.cpp", folder);
    FILE *file = fopen(path, "w");
    if (!file)
        return NO_MEMORY;
    fputs("#include \"device.h\"\n#line 1 \"source.cu\"\n", file);
    fprintf(file, "%s\n", p->source);
    write_kernels(p->source, file);
    fclose(file);
    snprintf(command, sizeof command,
             "'%s' " STAND_IN_FLAGS " -D%s -I'" STAND_IN_FOLDER "' -I'" STAND_IN_ROOT
             "/tests/cuda'"
             " -shared -o %s/code.so %s >%s/log 2>&1",
             STAND_IN_CXX, takes_turns(p->source) ? "STAND_IN_TURNS" : "STAND_IN_AT_ONCE",
             folder, path, folder);
    int result = system(command) == 0 ? DONE : REFUSED;
    size_t n;
    snprintf(path, sizeof path, "%s/log", folder);
    p->log = read_all(path, &n);
    snprintf(path, sizeof path, "%s/code.so", folder);
    if (result == DONE)
        p->code = read_all(path, &p->code_bytes);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? result : REFUSED;
}

int nvrtcGetCUBINSize(const struct program *p, size_t *bytes)
{
    *bytes = p->code_bytes;
    return p->code_bytes ? DONE : REFUSED;
}

int nvrtcGetCUBIN(const struct program *p, char *code)
{
    memcpy(code, p->code, p->code_bytes);
    return DONE;
}

int nvrtcGetProgramLogSize(const struct program *p, size_t *bytes)
{
    *bytes = p->log ? strlen(p->log) + 1 : 1;
    return DONE;
}

int nvrtcGetProgramLog(const struct program *p, char *log)
{
    strcpy(log, p->log ? p->log : "");
    return DONE;
}
