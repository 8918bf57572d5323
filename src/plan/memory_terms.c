/* What lies on a device beside tensors, and what that leaves to these. */
#include "plan/memory_terms.h"

#include <stddef.h>

/* What each row says, as a function. */
#define COUNTED 0
#define FUNCTION(member, words, level, colour, bytes)           \
    static double member##_bytes(const struct memory_facts *at) \
    {                                                           \
        (void)at;                                               \
        return bytes;                                           \
    }
HP_MEMORY_TERMS(FUNCTION)

#define ROW(member, words, level, colour, bytes)             \
    { words,          #member "_bytes",                      \
      colour,         offsetof(struct hypar_memory, member), \
      MEMORY_##level, MEMORY_##level == MEMORY_TENSORS ? NULL : member##_bytes },
const struct memory_term hp_memory_terms[] = { HP_MEMORY_TERMS(ROW){ 0 } };

double hp_memory_term(const struct hypar_memory *memory, const struct memory_term *term)
{
    return *(const double *)(const void *)((const char *)memory + term->offset);
}

double hp_tensor_bytes(const struct hypar_memory *memory)
{
    double sum = 0;
    for (const struct memory_term *t = hp_memory_terms; t->words; t++)
        sum += t->level == MEMORY_TENSORS ? hp_memory_term(memory, t) : 0;
    return sum;
}

struct memory_how hp_memory_how(const struct hypar_plan *plan)
{
    return (struct memory_how){ .framework_bytes = plan->framework_bytes };
}

void hp_fill_memory(struct hypar_memory *memory, const struct memory_facts *facts)
{
    struct memory_facts at = *facts;
    double sum = 0;
    const struct memory_term *term = hp_memory_terms;
    for (int level = 0; level < MEMORY_LEVELS; level++) {
        for (; term->words && (int)term->level == level; term++) {
            if (term->bytes)
                *(double *)(void *)((char *)memory + term->offset) = term->bytes(&at);
            sum += hp_memory_term(memory, term);
        }
        at.held[level] = sum;
    }
    memory->peak = sum;
}

/* How full a device is with so many bytes of tensors, if nothing else is known of the plan:
 * `fixed` and `factor` for each byte of them. */
struct line {
    double fixed, factor;
};

static double filled(double tensors, const struct hypar_device *device,
                     const struct memory_how *how)
{
    struct hypar_memory memory = { .buffers = tensors };
    hp_fill_memory(&memory, &(struct memory_facts){ .device = device, .how = *how });
    return memory.peak;
}

static struct line line_of(const struct hypar_device *device, const struct memory_how *how)
{
    static const double ENOUGH = 1 << 30; /* bytes, so that the factor is not rounded */
    struct line line = { .fixed = filled(0, device, how) };
    line.factor = (filled(ENOUGH, device, how) - line.fixed) / ENOUGH;
    return line;
}

double hp_device_room(const struct hypar_device *device, double limit_bytes,
                      const struct memory_how *how)
{
    struct line line = line_of(device, how);
    double has = limit_bytes > 0 ? limit_bytes : (double)device->memory_bytes;
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
    hp_fill_memory(&memory, &(struct memory_facts){ .device = device, .how = *how });
    return memory;
}
