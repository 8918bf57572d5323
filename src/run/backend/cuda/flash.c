/* Attention in bf16 by kernels whose scores stay in registers. */
#include <stdio.h>

#include "run/backend/cuda/attention.h"
#include "run/backend/cuda/sources.h"

enum { LEAST_ARCH = 80, MOST_WIDTH = 128, UNIT = 16, MOST_BLOCKS = 65535 };
enum { MOST_PLACE = 1 << 28 }; /* of queries and keys in the whole tensors */

static int64_t step(const struct attention_place *p, int axis)
{
    return axis < 0 ? 0 : p->step[axis];
}

/* Kernels read eight numbers of bf16 at a time. */
static bool find_heads(const struct attention *at, const struct attention_place *p, int row,
                       struct cuda_heads *out)
{
    enum { EACH = 8 };
    *out = (struct cuda_heads){ .data = NULL };
    if (!p->is_there)
        return true;
    *out = (struct cuda_heads){ p->data,        step(p, at->n), step(p, at->w),
                                step(p, at->g), step(p, at->a), step(p, row) };
    bool together = out->n % EACH == 0 && out->w % EACH == 0 && out->g % EACH == 0 &&
                    out->a % EACH == 0 && out->row % EACH == 0 &&
                    (uintptr_t)p->data % (EACH * sizeof(uint16_t)) == 0;
    return p->real != REAL_BF16 || together;
}

static bool find_arguments(const struct attention *at, struct cuda_flash *f)
{
    const struct kernel_call *call = at->call;
    *f = (struct cuda_flash){ .m_second = at->args.m_second,
                              .queries = at->args.queries,
                              .keys = at->args.keys,
                              .first_query = at->args.first_query,
                              .first_key = at->args.first_key,
                              .windows = hp_attention_extent(at, at->w),
                              .group = hp_attention_extent(at, at->g),
                              .scale = at->args.scale,
                              .least = at->args.least,
                              .causal = at->args.causal };
    bool backward = call->nest->pass[call->pass].backward;
    f->fresh_y = !backward && hp_attention_fresh(call, "y");
    f->fresh_dx = backward && hp_attention_fresh(call, "dx");
    f->fresh_dk = backward && hp_attention_fresh(call, "dk");
    f->fresh_dv = backward && hp_attention_fresh(call, "dv");
    return find_heads(at, &at->x, at->q, &f->x) && find_heads(at, &at->k, at->s, &f->k) &&
           find_heads(at, &at->v, at->s, &f->v) && find_heads(at, &at->y, at->q, &f->y) &&
           find_heads(at, &at->dy, at->q, &f->dy) && find_heads(at, &at->dx, at->q, &f->dx) &&
           find_heads(at, &at->dk, at->s, &f->dk) && find_heads(at, &at->dv, at->s, &f->dv) &&
           find_heads(at, &at->m, at->q, &f->m) && find_heads(at, &at->t, at->q, &f->t);
}

static bool is_width(int64_t n)
{
    return n % UNIT == 0 && n <= MOST_WIDTH;
}

/* The widths are part of the kernels. */
static struct cuda_module *module_of(struct cuda *c, int64_t head, int64_t value)
{
    char name[64];
    snprintf(name, sizeof name, "flash_%d_%d", (int)head, (int)value);
    struct cuda_module *m = hp_cuda_find(c, name);
    if (!m) {
        struct arena scratch = { 0 };
        m = hp_cuda_module(c, name,
                           hp_arena_printf(&scratch, "enum { HEAD = %d, VALUE = %d };\n%s",
                                           (int)head, (int)value, hp_cuda_flash));
        hp_arena_free(&scratch);
    }
    return m;
}

static void launch(const struct attention *at, const struct cuda_flash *f, const char *kernel,
                   int64_t rows, int64_t heads)
{
    struct cuda *c = at->b->card;
    struct cuda_flash args = *f;
    struct cuda_module *module =
        module_of(c, hp_attention_extent(at, at->d), hp_attention_extent(at, at->e));
    int64_t samples = hp_attention_extent(at, at->n) * f->windows;
    struct cuda_grid grid = { { (unsigned)((rows + CUDA_FLASH_ROWS - 1) / CUDA_FLASH_ROWS),
                                (unsigned)heads, (unsigned)samples },
                              { CUDA_FLASH_THREADS },
                              0 };
    if (rows > 0 && heads > 0 && samples > 0)
        hp_cuda_launch(c, hp_cuda_function(c, module, kernel), &grid, (void *[]){ &args });
}

bool hp_cuda_flash_attend(const struct attention *at)
{
    const struct kernel_call *call = at->call;
    struct cuda_flash f;
    bool backward = call->nest->pass[call->pass].backward;
    int64_t heads = at->args.heads, d = hp_attention_extent(at, at->d),
            e = hp_attention_extent(at, at->e);
    if (at->real != REAL_BF16 || at->args.scale <= 0 || at->bias.is_there || at->args.cap > 0 ||
        !is_width(d) || !is_width(e) || hp_cuda_card(at->b->card).arch < LEAST_ARCH ||
        !find_arguments(at, &f) || heads * f.group > MOST_BLOCKS ||
        hp_attention_extent(at, at->n) * f.windows > MOST_BLOCKS ||
        f.first_query + f.queries > MOST_PLACE || f.first_key + f.keys > MOST_PLACE)
        return false;
    if (!backward && !(hp_attention_writes(call, "m") && hp_attention_writes(call, "y") &&
                       hp_attention_fresh(call, "m")))
        return false;
    if (!backward)
        launch(at, &f, "forward", f.queries, heads * f.group);
    if (hp_attention_writes(call, "dx"))
        launch(at, &f, "of_queries", f.queries, heads * f.group);
    if (hp_attention_writes(call, "dk") || hp_attention_writes(call, "dv"))
        launch(at, &f, "of_keys", f.keys, heads);
    return true;
}
