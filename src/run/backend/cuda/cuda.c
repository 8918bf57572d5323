/* A card: its context, memory, stream and modules. */
#include "run/backend/cuda/cuda.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/table.h"
#include "run/backend/cuda/driver.h"

struct cuda_function {
    struct cuda_function *next; /* of the same module */
    const char *name;
    void *function;
    unsigned shared; /* what it may use */
};

struct cuda_module {
    struct cuda_module *next;
    const char *name;
    void *module;
    struct cuda_function *functions;
};

/* A pinned area; its size is a power of two. */
struct pinned {
    struct pinned *next;
    void *area;
    size_t bytes;
    bool used;
};

struct area {
    void *data;
    size_t bytes;
};

struct cuda {
    struct arena arena;
    const struct cuda_driver *driver;
    int number, device;
    void *context, *stream;
    struct hypar_card card;
    struct pinned *pinned;
    struct area scratch, product_scratch;
    struct cuda_module *modules;
    struct memo by_name;
    bool tf32;
    const struct cuda_blas *blas; /* NULL: not asked for yet */
    void *blas_handle;            /* NULL: it is missing */
    const struct cuda_dnn *dnn;   /* the same */
    void *dnn_handle, **descriptor;
    int n_descriptors, descriptor_capacity;
    struct arena kept_arena;
    struct memo kept;
    enum hypar_status status;
    struct hypar_error error;
};

/* Failures ------------------------------------------------------------------------------ */

static const char *text_of(const struct cuda_driver *driver, int result)
{
    const char *text = NULL;
    if (driver->cuGetErrorString(result, &text) != CUDA_DONE || !text)
        text = "an unknown error";
    return text;
}

void hp_cuda_fail(struct cuda *c, enum hypar_status status, const char *fmt, ...)
{
    char text[sizeof c->error.text];
    va_list ap;
    if (c->status != HYPAR_OK)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    hp_fail(&c->error, status, "%s", text);
    c->status = hp_in(&c->error, status, "card %d (%s)", c->number, c->card.name);
}

/* The driver's answer to something that is not expected to fail. */
static bool done(struct cuda *c, int result, const char *what)
{
    if (result != CUDA_DONE)
        hp_cuda_fail(c, HYPAR_RUNTIME, "%s: %s (CUDA error %d)", what,
                     text_of(c->driver, result), result);
    return result == CUDA_DONE;
}

enum hypar_status hp_cuda_status(const struct cuda *c, struct hypar_error *err)
{
    return c->status == HYPAR_OK ? HYPAR_OK : hp_fail(err, c->status, "%s", c->error.text);
}

/* Cards --------------------------------------------------------------------------------- */

int hp_cuda_count(const struct cuda_driver **out, struct hypar_error *err)
{
    const struct cuda_driver *d;
    int n = 0;
    if (hp_cuda_driver(&d, err) != HYPAR_OK)
        return 0;
    int result = d->cuInit(0);
    if (result == CUDA_DONE)
        result = d->cuDeviceGetCount(&n);
    if (result != CUDA_DONE && result != CUDA_NO_CARD)
        hp_fail(err, HYPAR_RUNTIME, "NVIDIA's driver does not begin: %.200s",
                text_of(d, result));
    else if (n <= 0)
        hp_fail(err, HYPAR_RUNTIME, "NVIDIA's driver finds no card");
    if (out)
        *out = d;
    return result == CUDA_DONE ? n : 0;
}

enum hypar_status hp_cuda_loads(struct hypar_error *err)
{
    const struct cuda_compiler *compiler;
    if (hp_cuda_count(NULL, err) <= 0)
        return HYPAR_RUNTIME;
    return hp_cuda_compiler(&compiler, err);
}

bool hp_cuda_describe(int number, struct hypar_card *out)
{
    const struct cuda_driver *d;
    int device = 0, major = 0, minor = 0;
    size_t bytes = 0;
    *out = (struct hypar_card){ 0 };
    if (number >= hp_cuda_count(&d, NULL) || d->cuDeviceGet(&device, number) != CUDA_DONE ||
        d->cuDeviceGetName(out->name, sizeof out->name, device) != CUDA_DONE ||
        d->cuDeviceTotalMem_v2(&bytes, device) != CUDA_DONE ||
        d->cuDeviceGetAttribute(&major, CUDA_ARCH_MAJOR, device) != CUDA_DONE ||
        d->cuDeviceGetAttribute(&minor, CUDA_ARCH_MINOR, device) != CUDA_DONE ||
        d->cuDeviceGetAttribute(&out->multiprocessors, CUDA_MULTIPROCESSORS, device) !=
            CUDA_DONE)
        return false;
    out->arch = 10 * major + minor;
    out->memory_bytes = (double)bytes;
    return true;
}

/* Opening ------------------------------------------------------------------------------- */

/* The primary context of the card, which other libraries of the process use too. */
static void begin(struct cuda *c)
{
    const struct cuda_driver *d = c->driver;
    if (done(c, d->cuDevicePrimaryCtxRetain(&c->context, c->device), "beginning") &&
        done(c, d->cuCtxSetCurrent(c->context), "beginning"))
        done(c, d->cuStreamCreate(&c->stream, 0), "making a stream");
}

enum hypar_status hp_cuda_open(struct cuda **out, int card, struct hypar_error *err)
{
    const struct cuda_driver *driver;
    int device = 0, n = hp_cuda_count(&driver, err);
    struct arena arena = { 0 };
    *out = NULL;
    if (n <= 0)
        return HYPAR_RUNTIME;
    if (card >= n)
        return hp_fail(err, HYPAR_RUNTIME, "there is no card %d: NVIDIA's driver finds %d",
                       card, n);
    struct hypar_card about;
    if (driver->cuDeviceGet(&device, card) != CUDA_DONE || !hp_cuda_describe(card, &about))
        return hp_fail(err, HYPAR_RUNTIME, "card %d cannot be used", card);
    struct cuda *c = NEW(&arena, struct cuda, 1);
    *c = (struct cuda){
        .arena = arena, .driver = driver, .number = card, .device = device, .card = about
    };
    begin(c);
    enum hypar_status status = hp_cuda_status(c, err);
    if (status == HYPAR_OK)
        *out = c;
    else
        hp_cuda_close(c);
    return status;
}

static void close_dnn(struct cuda *c)
{
    if (!c->dnn_handle)
        return;
    for (int i = c->n_descriptors - 1; i >= 0; i--)
        c->dnn->cudnnBackendDestroyDescriptor(c->descriptor[i]);
    c->dnn->cudnnDestroy(c->dnn_handle);
}

/* After a failure of a kernel the driver refuses these calls, too. */
void hp_cuda_close(struct cuda *c)
{
    if (!c)
        return;
    if (c->stream) {
        c->driver->cuStreamSynchronize(c->stream);
        c->driver->cuStreamDestroy_v2(c->stream);
    }
    if (c->blas_handle)
        c->blas->cublasDestroy_v2(c->blas_handle);
    close_dnn(c);
    for (struct pinned *p = c->pinned; p; p = p->next)
        c->driver->cuMemFreeHost(p->area);
    hp_cuda_free(c, c->scratch.data);
    hp_cuda_free(c, c->product_scratch.data);
    for (struct cuda_module *m = c->modules; m; m = m->next)
        c->driver->cuModuleUnload(m->module);
    hp_arena_free(&c->kept_arena);
    if (c->context)
        c->driver->cuDevicePrimaryCtxRelease_v2(c->device);
    hp_arena_free(&c->arena);
}

struct hypar_card hp_cuda_card(const struct cuda *c)
{
    return c->card;
}

double hp_cuda_free_bytes(struct cuda *c)
{
    size_t free_bytes = 0, bytes = 0;
    done(c, c->driver->cuMemGetInfo_v2(&free_bytes, &bytes), "its memory");
    return (double)free_bytes;
}

/* Memory -------------------------------------------------------------------------------- */

/* The driver refuses areas without bytes. */
static size_t at_least_one(size_t bytes)
{
    return bytes ? bytes : 1;
}

void *hp_cuda_alloc(struct cuda *c, size_t bytes)
{
    card_address data = 0;
    if (c->status != HYPAR_OK)
        return NULL;
    int result = c->driver->cuMemAlloc_v2(&data, at_least_one(bytes));
    if (result == CUDA_NO_ROOM || !done(c, result, "taking memory"))
        return NULL;
    return (void *)(uintptr_t)data;
}

/* After a failure, too: another back end of the process may use the card. */
void hp_cuda_free(struct cuda *c, void *data)
{
    if (data)
        done(c, c->driver->cuMemFree_v2((card_address)(uintptr_t)data), "freeing memory");
}

void *hp_cuda_pinned_alloc(struct cuda *c, size_t bytes)
{
    const unsigned flags = CUDA_PINNED_IN_ALL_CONTEXTS | CUDA_PINNED_SEEN_BY_CARD;
    struct pinned *p = c->pinned;
    size_t size = 4096;
    if (c->status != HYPAR_OK)
        return NULL;
    while (size < bytes && size < SIZE_MAX / 2)
        size *= 2;
    while (p && (p->used || p->bytes != size))
        p = p->next;
    if (!p) {
        void *area = NULL;
        int result = c->driver->cuMemHostAlloc(&area, size, flags);
        if (result == CUDA_NO_ROOM || !done(c, result, "taking pinned memory"))
            return NULL;
        p = NEW(&c->arena, struct pinned, 1);
        *p = (struct pinned){ .next = c->pinned, .area = area, .bytes = size };
        c->pinned = p;
    }
    p->used = true;
    return p->area;
}

void hp_cuda_pinned_free(struct cuda *c, void *area)
{
    for (struct pinned *p = area ? c->pinned : NULL; p; p = p->next)
        if (p->area == area)
            p->used = false;
}

static void *of_area(struct cuda *c, struct area *area, size_t bytes)
{
    if (bytes <= area->bytes)
        return area->data;
    hp_cuda_free(c, area->data);
    area->data = hp_cuda_alloc(c, bytes);
    area->bytes = area->data ? bytes : 0;
    if (!area->data)
        hp_cuda_fail(c, HYPAR_RUNTIME, "no room for %.0f bytes of scratch", (double)bytes);
    return area->data;
}

void *hp_cuda_scratch(struct cuda *c, size_t bytes)
{
    return of_area(c, &c->scratch, bytes);
}

void *hp_cuda_product_scratch(struct cuda *c, size_t bytes)
{
    return of_area(c, &c->product_scratch, bytes);
}

/* Kernels ------------------------------------------------------------------------------- */

static struct cuda_module **named(struct cuda *c, const char *name)
{
    return (struct cuda_module **)hp_memo(&c->by_name, &c->arena, name, strlen(name));
}

struct cuda_module *hp_cuda_find(struct cuda *c, const char *name)
{
    return *named(c, name);
}

/* The card's driver may be too old for the code: the reason then names the source. */
static struct cuda_module *load(struct cuda *c, const char *name, const char *source)
{
    struct arena scratch = { 0 };
    struct cuda_code code;
    struct hypar_error err = { .text = "" };
    struct cuda_module *m = NEW(&c->arena, struct cuda_module, 1);
    enum hypar_status status =
        hp_cuda_compile(&scratch, name, source, c->card.arch, &code, &err);
    if (status != HYPAR_OK)
        hp_cuda_fail(c, status, "%s", err.text);
    else
        done(c, c->driver->cuModuleLoadData(&m->module, code.bytes), name);
    hp_arena_free(&scratch);
    if (c->status != HYPAR_OK)
        return NULL;
    m->name = hp_arena_strdup(&c->arena, name);
    m->next = c->modules;
    c->modules = m;
    return m;
}

struct cuda_module *hp_cuda_module(struct cuda *c, const char *name, const char *source)
{
    struct cuda_module *m = hp_cuda_find(c, name);
    if (m || c->status != HYPAR_OK)
        return m;
    m = load(c, name, source);
    *named(c, name) = m;
    return m;
}

struct cuda_function *hp_cuda_function(struct cuda *c, struct cuda_module *module,
                                       const char *name)
{
    struct cuda_function *f = module ? module->functions : NULL;
    void *function = NULL;
    while (f && strcmp(f->name, name) != 0)
        f = f->next;
    if (f || !module || c->status != HYPAR_OK ||
        !done(c, c->driver->cuModuleGetFunction(&function, module->module, name), name))
        return f;
    f = NEW(&c->arena, struct cuda_function, 1);
    *f = (struct cuda_function){ .next = module->functions,
                                 .name = hp_arena_strdup(&c->arena, name),
                                 .function = function,
                                 .shared = 48 << 10 };
    module->functions = f;
    return f;
}

static unsigned size(unsigned n)
{
    return n ? n : 1;
}

void hp_cuda_launch(struct cuda *c, struct cuda_function *f, const struct cuda_grid *grid,
                    void **arg)
{
    const unsigned *b = grid->blocks, *t = grid->threads;
    if (!f || c->status != HYPAR_OK)
        return;
    if (grid->shared > f->shared) {
        if (!done(c,
                  c->driver->cuFuncSetAttribute(f->function, CUDA_DYNAMIC_SHARED_BYTES,
                                                (int)grid->shared),
                  f->name))
            return;
        f->shared = grid->shared;
    }
    done(c,
         c->driver->cuLaunchKernel(f->function, size(b[0]), size(b[1]), size(b[2]), size(t[0]),
                                   size(t[1]), size(t[2]), grid->shared, c->stream, arg, NULL),
         f->name);
}

void *hp_cuda_blas(struct cuda *c, const struct cuda_blas **blas)
{
    struct hypar_error ignored;
    if (!c->blas && c->status == HYPAR_OK &&
        hp_cuda_blas_library(&c->blas, &ignored) == HYPAR_OK) {
        hp_cuda_blas_done(c, c->blas->cublasCreate_v2(&c->blas_handle));
        if (c->status == HYPAR_OK)
            hp_cuda_blas_done(c, c->blas->cublasSetStream_v2(c->blas_handle, c->stream));
    }
    *blas = c->blas;
    return c->status == HYPAR_OK ? c->blas_handle : NULL;
}

void hp_cuda_blas_done(struct cuda *c, int result)
{
    if (result != 0)
        hp_cuda_fail(c, HYPAR_RUNTIME, "cuBLAS fails: status %d", result);
}

/* A cuDNN that cannot begin counts as missing. */
void *hp_cuda_dnn(struct cuda *c, const struct cuda_dnn **dnn)
{
    struct hypar_error ignored;
    if (!c->dnn && c->status == HYPAR_OK) {
        bool loads = hp_cuda_dnn_library(&c->dnn, &ignored) == HYPAR_OK;
        if (loads && c->dnn->cudnnCreate(&c->dnn_handle) == 0 &&
            c->dnn->cudnnSetStream(c->dnn_handle, c->stream) != 0)
            c->dnn_handle = NULL;
    }
    *dnn = c->dnn;
    return c->status == HYPAR_OK ? c->dnn_handle : NULL;
}

void hp_cuda_own_descriptor(struct cuda *c, void *descriptor)
{
    c->descriptor =
        GROW(&c->arena, void *, c->descriptor, c->n_descriptors, &c->descriptor_capacity);
    c->descriptor[c->n_descriptors++] = descriptor;
}

/* Some hundred megabytes of keys: a network has a thousand, tests have millions. */
void **hp_cuda_kept(struct cuda *c, const void *key, size_t length)
{
    enum { MOST = 1 << 15 };
    if (c->kept.keys.used >= MOST) {
        hp_arena_free(&c->kept_arena);
        c->kept_arena = (struct arena){ 0 };
        c->kept = (struct memo){ .capacity = 0 };
    }
    return hp_memo(&c->kept, &c->kept_arena, key, length);
}

struct arena *hp_cuda_kept_arena(struct cuda *c)
{
    return &c->kept_arena;
}

void hp_cuda_allow_tf32(struct cuda *c)
{
    c->tf32 = true;
}

bool hp_cuda_has_tf32(const struct cuda *c)
{
    return c->tf32;
}

/* A kernel that fails is noticed here, or at a later call. */
void hp_cuda_finish(struct cuda *c)
{
    if (c->status == HYPAR_OK)
        done(c, c->driver->cuStreamSynchronize(c->stream), "a kernel failed");
}
