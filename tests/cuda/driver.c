/* A stand-in for NVIDIA's driver: one card, whose kernels the host runs. Launches wait in a
 * queue until somebody waits for them, and the card's memory crashes when it is touched outside
 * of kernels, so that what works here has a chance to work on a card.
 *
 *     HYPAR_STAND_IN_CARDS   how many cards there are: 0, 1 (the usual)
 *     HYPAR_STAND_IN_NAME    the name of the card
 *     HYPAR_STAND_IN_BYTES   the memory of the card, at most the usual 4 GiB
 *     HYPAR_STAND_IN_FAILS   the name of a kernel that fails
 *     HYPAR_STAND_IN_IDLE    set: kernels are not run, so that the host's time can be measured
 */
#define _GNU_SOURCE /* MAP_NORESERVE */
#include "tests/cuda/driver.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    DONE,
    BAD_VALUE,
    NO_MEMORY,
    NOT_BEGUN,
    NO_CARD = 100,
    BAD_CODE = 200,
    NOT_FOUND = 500,
    FAILED = 719
};
enum { MOST_QUEUED = 64, MOST_AREAS = 1 << 16, ALIGNMENT = 256 };

struct function {
    struct function *next;
    char name[128];
    void *(*pack)(void **arg);
    void (*run)(void *arg, const unsigned *grid, const unsigned *size);
};

struct launch {
    void (*other)(void *arg); /* instead of a function: work of the stand-in of cuBLAS */
    const struct function *function;
    void *arg;
    unsigned grid[3], size[3];
};

struct area {
    size_t at, bytes;
};

static struct {
    bool begun, failed;
    char *memory; /* addresses of MOST_BYTES bytes, no access */
    size_t bytes, used, touched;
    struct area area[MOST_AREAS]; /* by address */
    int n_areas;
    struct launch queue[MOST_QUEUED];
    int n_queued;
    struct function *functions;
} card;

static const size_t MOST_BYTES = (size_t)4 << 30;

/* Beginning ----------------------------------------------------------------------------- */

static int cards(void)
{
    const char *said = getenv("HYPAR_STAND_IN_CARDS");
    return said ? atoi(said) : 1;
}

int cuInit(unsigned flags)
{
    const char *bytes = getenv("HYPAR_STAND_IN_BYTES");
    if (flags)
        return BAD_VALUE;
    if (cards() == 0)
        return NO_CARD;
    card.bytes = bytes ? strtoull(bytes, NULL, 10) : MOST_BYTES;
    if (!card.begun)
        card.memory = mmap(NULL, MOST_BYTES, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    card.begun = card.memory != MAP_FAILED && card.bytes <= MOST_BYTES;
    return card.begun ? DONE : NO_MEMORY;
}

int cuDriverGetVersion(int *version)
{
    *version = 12000;
    return DONE;
}

int cuGetErrorString(int result, const char **text)
{
    *text = result == NO_MEMORY   ? "out of memory"
            : result == NO_CARD   ? "no card"
            : result == FAILED    ? "a kernel failed"
            : result == NOT_FOUND ? "not found"
            : result              ? "an invalid argument"
                                  : "no error";
    return DONE;
}

int cuDeviceGetCount(int *n)
{
    *n = cards();
    return card.begun ? DONE : NOT_BEGUN;
}

int cuDeviceGet(int *device, int i)
{
    *device = i;
    return i >= 0 && i < cards() ? DONE : BAD_VALUE;
}

int cuDeviceGetName(char *name, int size, int device)
{
    const char *said = getenv("HYPAR_STAND_IN_NAME");
    snprintf(name, (size_t)size, "%s", said ? said : "stand-in");
    return device < cards() ? DONE : BAD_VALUE;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == 16 ? 4 : attribute == 75 ? 9 : 0;
    return device < cards() ? DONE : BAD_VALUE;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = card.bytes;
    return device < cards() ? DONE : BAD_VALUE;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = &card;
    return device < cards() ? DONE : BAD_VALUE;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    return device < cards() ? DONE : BAD_VALUE;
}

int cuCtxSetCurrent(void *context)
{
    return context == &card ? DONE : BAD_VALUE;
}

int cuStreamCreate(void **stream, unsigned flags)
{
    *stream = &card.queue;
    return flags > 1 ? BAD_VALUE : DONE;
}

/* Kernels ------------------------------------------------------------------------------- */

/* Memory that kernels touch is open while they run. */
static void open_memory(int protection)
{
    if (card.touched && mprotect(card.memory, card.touched, protection) != 0)
        abort();
}

static void run_queue(void)
{
    const char *fails = getenv("HYPAR_STAND_IN_FAILS");
    if (card.n_queued == 0)
        return;
    if (getenv("HYPAR_STAND_IN_IDLE")) {
        card.n_queued = 0;
        return;
    }
    open_memory(PROT_READ | PROT_WRITE);
    for (int i = 0; i < card.n_queued; i++) {
        const struct launch *l = &card.queue[i];
        card.failed |= fails && l->function && strcmp(fails, l->function->name) == 0;
        if (l->other)
            l->other(l->arg);
        else if (!card.failed)
            l->function->run(l->arg, l->grid, l->size);
    }
    open_memory(PROT_NONE);
    card.n_queued = 0;
}

int cuStreamSynchronize(void *stream)
{
    if (stream != &card.queue)
        return BAD_VALUE;
    run_queue();
    return card.failed ? FAILED : DONE;
}

int cuStreamDestroy_v2(void *stream)
{
    return cuStreamSynchronize(stream);
}

/* The section headers are the end of a shared library. */
int cuModuleLoadData(void **module, const void *code)
{
    Elf64_Ehdr head;
    char path[] = "/tmp/hypar-stand-in-XXXXXX"; /* the linker tells libraries apart by path */
    memcpy(&head, code, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
        return BAD_CODE;
    size_t bytes = head.e_shoff + (size_t)head.e_shentsize * head.e_shnum;
    int file = mkstemp(path);
    bool written = file >= 0 && write(file, code, bytes) == (ssize_t)bytes;
    *module = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    return *module ? DONE : BAD_CODE;
}

int cuModuleUnload(void *module)
{
    run_queue();
    return dlclose(module) == 0 ? DONE : BAD_VALUE;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    struct function *f = calloc(1, sizeof *f);
    char pack[160], run[160];
    if (!f)
        return NO_MEMORY;
    snprintf(f->name, sizeof f->name, "%s", name);
    snprintf(pack, sizeof pack, "%s_pack", name);
    snprintf(run, sizeof run, "%s_run", name);
    *(void **)&f->pack = dlsym(module, pack);
    *(void **)&f->run = dlsym(module, run);
    f->next = card.functions;
    card.functions = f; /* they are never freed */
    *function = f;
    return f->pack && f->run ? DONE : NOT_FOUND;
}

int cuFuncSetAttribute(void *function, int attribute, int value)
{
    return function && attribute == 8 && value <= 227 << 10 ? DONE : BAD_VALUE;
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *stream, void **arg, void **extra)
{
    const struct function *f = function;
    if (!f || !grid_x || !grid_y || !grid_z || grid_y > 65535 || grid_z > 65535 || !block_x ||
        !block_y || !block_z || (size_t)block_x * block_y * block_z > 1024 ||
        shared > 227 << 10 || stream != &card.queue || extra)
        return BAD_VALUE;
    if (card.failed)
        return FAILED;
    if (card.n_queued == MOST_QUEUED)
        run_queue();
    card.queue[card.n_queued++] = (struct launch){ .function = f,
                                                   .arg = f->pack(arg),
                                                   .grid = { grid_x, grid_y, grid_z },
                                                   .size = { block_x, block_y, block_z } };
    return DONE;
}

void stand_in_later(void (*run)(void *arg), void *arg)
{
    if (card.n_queued == MOST_QUEUED)
        run_queue();
    card.queue[card.n_queued++] = (struct launch){ .other = run, .arg = arg };
}

/* Memory -------------------------------------------------------------------------------- */

/* The first gap that is large enough. */
int cuMemAlloc_v2(uint64_t *data, size_t bytes)
{
    size_t at = 0;
    int i = 0;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    for (; i < card.n_areas && card.area[i].at - at < bytes; i++)
        at = card.area[i].at + card.area[i].bytes;
    if (!card.begun || bytes == 0)
        return BAD_VALUE;
    if (card.bytes - card.used < bytes || card.bytes - at < bytes || card.n_areas == MOST_AREAS)
        return NO_MEMORY;
    memmove(&card.area[i + 1], &card.area[i], (size_t)(card.n_areas - i) * sizeof *card.area);
    card.area[i] = (struct area){ at, bytes };
    card.n_areas++;
    card.used += bytes;
    if (at + bytes > card.touched)
        card.touched = at + bytes;
    *data = (uint64_t)(uintptr_t)(card.memory + at);
    return DONE;
}

/* Waits for what was begun, as the driver does. */
int cuMemFree_v2(uint64_t data)
{
    size_t at = (size_t)((char *)(uintptr_t)data - card.memory);
    run_queue();
    for (int i = 0; i < card.n_areas; i++) {
        if (card.area[i].at != at)
            continue;
        card.used -= card.area[i].bytes;
        card.n_areas--;
        memmove(&card.area[i], &card.area[i + 1],
                (size_t)(card.n_areas - i) * sizeof *card.area);
        return DONE;
    }
    return BAD_VALUE;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *all)
{
    *free_bytes = card.bytes - card.used;
    *all = card.bytes;
    return DONE;
}

int cuMemHostAlloc(void **area, size_t bytes, unsigned flags)
{
    *area = flags <= 7 ? aligned_alloc(4096, (bytes + 4095) / 4096 * 4096) : NULL;
    return *area ? DONE : NO_MEMORY;
}

int cuMemFreeHost(void *area)
{
    run_queue();
    free(area);
    return DONE;
}
