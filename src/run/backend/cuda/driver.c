/* Finding and loading the driver and NVRTC. HYPAR_CUDA_PATH names a folder that is looked into
 * first; then follow the folders that the dynamic linker knows, those of the toolkit, and those
 * of the packages that PyTorch is installed with. */
#include "run/backend/cuda/driver.h"

#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/library.h"

/* A library, under each soname that will do, and its functions. */
struct wanted {
    const char *const *soname; /* ends with NULL */
    const struct library_symbol *symbol;
    int n_symbols;
    const char *beside; /* libraries in its folder that it opens by their names later, as a
                           pattern of glob(); NULL: none */
};

static struct cuda_driver driver;
static struct cuda_compiler compiler;
static struct cuda_blas blas;
static struct cuda_dnn dnn;

#define OF_DRIVER(name)     \
    {                       \
#name, &driver.name \
    }
#define OF_COMPILER(name)     \
    {                         \
#name, &compiler.name \
    }

#define OF_BLAS(name)     \
    {                     \
#name, &blas.name \
    }

#define OF_DNN(name)     \
    {                    \
#name, &dnn.name \
    }

static const struct library_symbol driver_symbols[] = {
    OF_DRIVER(cuInit),
    OF_DRIVER(cuDriverGetVersion),
    OF_DRIVER(cuGetErrorString),
    OF_DRIVER(cuDeviceGetCount),
    OF_DRIVER(cuDeviceGet),
    OF_DRIVER(cuDeviceGetName),
    OF_DRIVER(cuDeviceGetAttribute),
    OF_DRIVER(cuDeviceTotalMem_v2),
    OF_DRIVER(cuDevicePrimaryCtxRetain),
    OF_DRIVER(cuDevicePrimaryCtxRelease_v2),
    OF_DRIVER(cuCtxSetCurrent),
    OF_DRIVER(cuMemGetInfo_v2),
    OF_DRIVER(cuMemAlloc_v2),
    OF_DRIVER(cuMemFree_v2),
    OF_DRIVER(cuMemHostAlloc),
    OF_DRIVER(cuMemFreeHost),
    OF_DRIVER(cuStreamCreate),
    OF_DRIVER(cuStreamDestroy_v2),
    OF_DRIVER(cuStreamSynchronize),
    OF_DRIVER(cuModuleLoadData),
    OF_DRIVER(cuModuleUnload),
    OF_DRIVER(cuModuleGetFunction),
    OF_DRIVER(cuFuncSetAttribute),
    OF_DRIVER(cuLaunchKernel),
};

static const struct library_symbol compiler_symbols[] = {
    OF_COMPILER(nvrtcVersion),        OF_COMPILER(nvrtcGetErrorString),
    OF_COMPILER(nvrtcCreateProgram),  OF_COMPILER(nvrtcDestroyProgram),
    OF_COMPILER(nvrtcCompileProgram), OF_COMPILER(nvrtcGetCUBINSize),
    OF_COMPILER(nvrtcGetCUBIN),       OF_COMPILER(nvrtcGetProgramLogSize),
    OF_COMPILER(nvrtcGetProgramLog),
};

static const struct library_symbol blas_symbols[] = {
    OF_BLAS(cublasCreate_v2),
    OF_BLAS(cublasDestroy_v2),
    OF_BLAS(cublasSetStream_v2),
    OF_BLAS(cublasGemmStridedBatchedEx),
};

static const struct library_symbol dnn_symbols[] = {
    OF_DNN(cudnnCreate),
    OF_DNN(cudnnDestroy),
    OF_DNN(cudnnSetStream),
    OF_DNN(cudnnBackendCreateDescriptor),
    OF_DNN(cudnnBackendDestroyDescriptor),
    OF_DNN(cudnnBackendSetAttribute),
    OF_DNN(cudnnBackendGetAttribute),
    OF_DNN(cudnnBackendFinalize),
    OF_DNN(cudnnBackendExecute),
};

/* Where the name may lie, as patterns of glob(): %s is the name. Below HYPAR_CUDA_PATH, and
 * anywhere else. */
static const char *const below_path[] = { "%s", "lib64/%s", "lib/%s", "nvidia/*/lib/%s" };
static const char *const elsewhere[] = { "/usr/local/cuda/lib64/%s",
                                         "/usr/local/cuda-*/lib64/%s" };
static const char *const below_python[] = { "lib/python3*/site-packages/nvidia/*/lib/%s",
                                            "lib/python3*/dist-packages/nvidia/*/lib/%s" };

enum { PATH_BYTES = 4096 };

/* Load what the library at `path` will open: the dynamic linker does not look into its
 * folder. */
static void load_beside(const struct wanted *w, const char *path)
{
    char pattern[PATH_BYTES];
    const char *name = strrchr(path, '/');
    struct hypar_error ignored;
    void *stays;
    glob_t found = { 0 };
    if (!w->beside || !name ||
        snprintf(pattern, sizeof pattern, "%.*s/%s", (int)(name - path), path, w->beside) >=
            PATH_BYTES)
        return;
    int result = glob(pattern, 0, NULL, &found);
    if (result == GLOB_NOSPACE)
        hypar_out_of_memory(0);
    for (size_t i = 0; result == 0 && i < found.gl_pathc; i++)
        hp_library_load(&stays, found.gl_pathv[i], LIBRARY_APART, NULL, 0, &ignored);
    if (result == 0)
        globfree(&found);
}

/* Load the first match of folder/pattern. */
static enum hypar_status load_match(const struct wanted *w, const char *name,
                                    const char *folder, int length, const char *pattern,
                                    struct hypar_error *err)
{
    char path[PATH_BYTES], below[256];
    const char *place = strstr(pattern, "%s");
    void *stays;
    glob_t found = { 0 };
    snprintf(below, sizeof below, "%.*s%s", (int)(place - pattern), pattern, name);
    if (snprintf(path, sizeof path, "%.*s%s%s", length, folder, length ? "/" : "", below) >=
        PATH_BYTES)
        return HYPAR_RUNTIME;
    int result = glob(path, 0, NULL, &found);
    if (result == GLOB_NOSPACE)
        hypar_out_of_memory(0);
    enum hypar_status status = HYPAR_RUNTIME;
    for (size_t i = 0; result == 0 && i < found.gl_pathc && status != HYPAR_OK; i++) {
        load_beside(w, found.gl_pathv[i]);
        status = hp_library_load(&stays, found.gl_pathv[i], LIBRARY_APART, w->symbol,
                                 w->n_symbols, err);
    }
    if (result == 0)
        globfree(&found);
    return status;
}

static enum hypar_status load_below(const struct wanted *w, const char *name,
                                    const char *folder, int length, const char *const *pattern,
                                    int n, struct hypar_error *err)
{
    enum hypar_status status = HYPAR_RUNTIME;
    for (int i = 0; i < n && status != HYPAR_OK; i++)
        status = load_match(w, name, folder, length, pattern[i], err);
    return status;
}

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* The environments of all Pythons on PATH: /somewhere/bin/python3 has its packages below
 * /somewhere/lib. */
static enum hypar_status load_beside_python(const struct wanted *w, const char *name,
                                            struct hypar_error *err)
{
    const char *path = getenv("PATH");
    enum hypar_status status = HYPAR_RUNTIME;
    for (; path && *path && status != HYPAR_OK; path += *path == ':') {
        char python[PATH_BYTES];
        int length = (int)strcspn(path, ":");
        if (length > 4 && strncmp(path + length - 4, "/bin", 4) == 0 &&
            snprintf(python, sizeof python, "%.*s/python3", length, path) < PATH_BYTES &&
            access(python, X_OK) == 0)
            status =
                load_below(w, name, path, length - 4, below_python, COUNT(below_python), err);
        path += length;
    }
    return status;
}

/* The folder that the user names comes before all others, for every name. */
static enum hypar_status load(const struct wanted *w, struct hypar_error *err)
{
    const char *own = getenv("HYPAR_CUDA_PATH");
    struct hypar_error why = { .text = "" }, ignored;
    void *stays;
    for (int i = 0; own && *own && w->soname[i]; i++)
        if (load_below(w, w->soname[i], own, (int)strlen(own), below_path, COUNT(below_path),
                       &why) == HYPAR_OK)
            return HYPAR_OK;
    if (why.text[0]) /* it is there, and cannot be used */
        return hp_fail(err, HYPAR_RUNTIME, "%.400s", why.text);
    for (int i = 0; w->soname[i]; i++)
        if (hp_library_load(&stays, w->soname[i], LIBRARY_APART, w->symbol, w->n_symbols,
                            i ? &ignored : &why) == HYPAR_OK ||
            load_below(w, w->soname[i], "", 0, elsewhere, COUNT(elsewhere), &ignored) ==
                HYPAR_OK ||
            load_beside_python(w, w->soname[i], &ignored) == HYPAR_OK)
            return HYPAR_OK;
    return hp_fail(err, HYPAR_RUNTIME, "%.300s; HYPAR_CUDA_PATH may name its folder", why.text);
}

/* Each library is loaded once for a process; a failure is kept too. */
struct loaded {
    enum hypar_status status;
    struct hypar_error error;
};
static struct loaded driver_loaded, compiler_loaded, blas_loaded, dnn_loaded;

static void load_driver(void)
{
    static const char *const soname[] = { "libcuda.so.1", NULL };
    struct wanted w = { soname, driver_symbols, COUNT(driver_symbols), NULL };
    driver_loaded.status = load(&w, &driver_loaded.error);
}

/* The driver runs code of a compiler of its own version and of older ones, so that the
 * compiler of the driver's version comes first. Without a driver, the newest comes first. The
 * same for cuBLAS. */
static bool is_old_driver(void)
{
    int version = 0;
    return driver.cuDriverGetVersion && driver.cuDriverGetVersion(&version) == CUDA_DONE &&
           version < 13000;
}

static void load_compiler(void)
{
    static const char *const newest_first[] = { "libnvrtc.so.13", "libnvrtc.so.12", NULL };
    static const char *const older[] = { "libnvrtc.so.12", "libnvrtc.so.13", NULL };
    struct wanted w = { is_old_driver() ? older : newest_first, compiler_symbols,
                        COUNT(compiler_symbols), "libnvrtc-builtins.so*" };
    compiler_loaded.status = load(&w, &compiler_loaded.error);
}

static void load_blas(void)
{
    static const char *const newest_first[] = { "libcublas.so.13", "libcublas.so.12", NULL };
    static const char *const older[] = { "libcublas.so.12", "libcublas.so.13", NULL };
    struct wanted w = { is_old_driver() ? older : newest_first, blas_symbols,
                        COUNT(blas_symbols), NULL };
    blas_loaded.status = load(&w, &blas_loaded.error);
}

static void load_dnn(void)
{
    static const char *const soname[] = { "libcudnn.so.9", NULL };
    struct wanted w = { soname, dnn_symbols, COUNT(dnn_symbols), NULL };
    dnn_loaded.status = load(&w, &dnn_loaded.error);
}

static enum hypar_status report(const struct loaded *loaded, const char *what,
                                struct hypar_error *err)
{
    if (loaded->status == HYPAR_OK)
        return HYPAR_OK;
    return hp_fail(err, loaded->status, "%s: %.500s", what, loaded->error.text);
}

enum hypar_status hp_cuda_driver(const struct cuda_driver **out, struct hypar_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_driver);
    *out = &driver;
    return report(&driver_loaded, "NVIDIA's driver", err);
}

enum hypar_status hp_cuda_compiler(const struct cuda_compiler **out, struct hypar_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_compiler);
    *out = &compiler;
    return report(&compiler_loaded, "NVIDIA's compiler NVRTC", err);
}

enum hypar_status hp_cuda_blas_library(const struct cuda_blas **out, struct hypar_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_blas);
    *out = &blas;
    return report(&blas_loaded, "cuBLAS", err);
}

enum hypar_status hp_cuda_dnn_library(const struct cuda_dnn **out, struct hypar_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_dnn);
    *out = &dnn;
    return report(&dnn_loaded, "cuDNN", err);
}
