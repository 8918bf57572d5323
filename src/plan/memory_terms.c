/* Memory of a device that tensors do not use, and the room that tensors have. */
#include "plan/memory_terms.h"

#include <math.h>
#include <stddef.h>

#include "cost/normal.h"

static double workspaces_bytes(const struct memory_facts *at)
{
    return at->usual.workspaces * at->usual.workspace_bytes;
}

static double fragmentation_bytes(const struct memory_facts *at)
{
    return at->usual.fragmentation * at->held[MEMORY_ALLOCATED];
}

static double communicators_bytes(const struct memory_facts *at)
{
    return at->usual.communicator_bytes * at->how.groups;
}

static double context_bytes(const struct memory_facts *at)
{
    return at->usual.context_bytes;
}

static double framework_bytes(const struct memory_facts *at)
{
    return at->how.framework_bytes;
}

#define ROW(member, level, words, bytes) \
    { words, #member "_bytes", offsetof(struct hypar_memory, member), MEMORY_##level, bytes },
#define COUNTED(member, level, shown, words, meaning)  ROW(member, level, words, NULL)
#define COMPUTED(member, level, shown, words, meaning) ROW(member, level, words, member##_bytes)
const struct memory_term hp_memory_terms[] = { HYPAR_TENSOR_TERMS(COUNTED)
                                                   HYPAR_FRAMEWORK_TERMS(COMPUTED){ 0 } };

double hp_memory_term(const struct hypar_memory *memory, const struct memory_term *term)
{
    return *(const double *)(const void *)((const char *)memory + term->offset);
}

void hp_add_to_term(struct hypar_memory *memory, const struct memory_term *term, double bytes)
{
    *(double *)(void *)((char *)memory + term->offset) += bytes;
}

double hp_tensor_bytes(const struct hypar_memory *memory)
{
    double sum = 0;
    for (const struct memory_term *t = hp_memory_terms; t->words; t++)
        sum += t->level == MEMORY_TENSORS ? hp_memory_term(memory, t) : 0;
    return sum;
}

const struct hypar_framework_memory *hp_framework_memory(const struct hypar_simulation *how)
{
    static const struct hypar_framework_memory bare = { .bare = true };
    return how->framework.kernels == HYPAR_KERNELS_NONE ? &bare : &how->framework.memory;
}

/* Kinds of groups that a device exchanges with: devices with other samples, devices with other
 * parts of an operator, other stages. */
static double kinds_of_groups(const struct hypar_plan *plan)
{
    bool samples = false, parts = false;
    for (int op = 0; op < plan->graph->n_ops; op++) {
        const struct op_plan *placed = &plan->ops[op];
        int axis = hp_sample_axis(plan->graph->ops[op].nest);
        int by_sample = axis < 0 ? 1 : hp_degree(&placed->split, axis);
        samples |= by_sample > 1 || placed->n_devices > placed->n_parts;
        parts |= placed->n_parts > by_sample;
    }
    return samples + parts + (plan->n_stages > 1);
}

struct memory_how hp_memory_how(const struct hypar_plan *plan)
{
    return (struct memory_how){ .framework = hp_framework_memory(&plan->simulation),
                                .framework_bytes = plan->framework_bytes,
                                .groups = kinds_of_groups(plan),
                                .certainty = plan->memory_certainty };
}

static bool runs_framework(const struct hypar_device *device, const struct memory_how *how)
{
    return how->framework && !how->framework->bare && device->context_bytes > 0;
}

/* Usual are two threads that call cuBLAS, one for each half (pytorch/pytorch,
 * CublasHandlePool.cpp), and NCCL's 544 to 688 MB for a group of A100s over NVLink
 * (NVIDIA/nccl, issues 864 and 964). The share of memory that the
 * allocator holds and no tensor uses is assumed: nobody has published it. Errors:
 * docs/accuracy.md, memory. */
static struct hypar_framework_memory usual_memory(const struct hypar_device *device,
                                                  const struct memory_how *how)
{
    static const struct hypar_framework_memory nothing;
    if (!runs_framework(device, how))
        return nothing;
    struct hypar_framework_memory m = *how->framework;
    m.context_bytes += device->context_bytes;
    m.workspaces = m.workspaces > 0 ? m.workspaces : 2;
    m.workspace_bytes = m.workspace_bytes > 0 ? m.workspace_bytes : device->workspace_bytes;
    m.communicator_bytes = m.communicator_bytes > 0 ? m.communicator_bytes : 550e6;
    m.fragmentation = m.fragmentation > 0 ? m.fragmentation : 0.04;
    if (!(m.spread > 0)) {
        m.bias = 0.02;
        m.spread = 0.06;
    }
    return m;
}

double hp_usable_bytes(const struct hypar_device *device, const struct memory_how *how)
{
    double all = device->usable_bytes > 0 ? device->usable_bytes : (double)device->memory_bytes;
    if (!runs_framework(device, how) || !(how->certainty > 0))
        return all;
    struct hypar_framework_memory m = usual_memory(device, how);
    double margin = exp(m.bias + hp_normal_value(how->certainty) * m.spread);
    return margin > 1 ? all / margin : all;
}

double hypar_memory_probability(const struct hypar_memory *m)
{
    if (!(m->error_spread > 0) || !(m->peak > 0) || isinf(m->limit))
        return m->peak <= m->limit;
    return hp_normal_share((log(m->limit / m->peak) - m->error_bias) / m->error_spread);
}

void hp_add_framework_terms(struct hypar_memory *memory, const struct hypar_device *device,
                            const struct memory_how *how)
{
    struct memory_facts at = { .device = device,
                               .how = *how,
                               .usual = usual_memory(device, how) };
    double sum = 0;
    for (int level = 0; level < MEMORY_LEVELS; level++) {
        for (const struct memory_term *term = hp_memory_terms; term->words; term++) {
            if ((int)term->level != level)
                continue;
            if (term->bytes)
                *(double *)(void *)((char *)memory + term->offset) = floor(term->bytes(&at));
            sum += hp_memory_term(memory, term);
        }
        at.held[level] = sum;
    }
    memory->peak = sum;
    if (!runs_framework(device, how))
        return;
    memory->allocated = at.held[MEMORY_ALLOCATED];
    memory->reserved = at.held[MEMORY_RESERVED];
    memory->error_bias = at.usual.bias;
    memory->error_spread = at.usual.spread;
}

/* The memory of a device with a given number of bytes of tensors, if nothing else of the plan
 * is known: `fixed`, and `factor` for each of these bytes. */
struct line {
    double fixed, factor;
};

static double filled(double tensors, const struct hypar_device *device,
                     const struct memory_how *how)
{
    struct hypar_memory memory = { .buffers = tensors };
    hp_add_framework_terms(&memory, device, how);
    return memory.peak;
}

static struct line line_of(const struct hypar_device *device, const struct memory_how *how)
{
    static const double ENOUGH =
        (double)((int64_t)1 << 50); /* bytes: whole ones matter little */
    struct line line = { .fixed = filled(0, device, how) };
    line.factor = (filled(ENOUGH, device, how) - line.fixed) / ENOUGH;
    return line;
}

double hp_device_room(const struct hypar_device *device, double limit_bytes,
                      const struct memory_how *how)
{
    struct line line = line_of(device, how);
    double has = limit_bytes > 0 ? limit_bytes : hp_usable_bytes(device, how);
    double room = (has - line.fixed) / line.factor;
    return room > 1 ? room : 1; /* to be divided by */
}

double hp_memory_need(const struct hypar_memory *memory, const struct hypar_device *device,
                      const struct memory_how *how)
{
    struct line line = line_of(device, how);
    return (memory->peak - line.fixed) / line.factor;
}

struct hypar_memory hp_memory_of_need(double need, const struct hypar_device *device,
                                      const struct memory_how *how)
{
    struct hypar_memory memory = { .buffers = need };
    hp_add_framework_terms(&memory, device, how);
    return memory;
}
