/* Running a kernel: the row of an operator in the table for the precision. */
#include "kernel/kernel.h"

#include <assert.h>

#include "kernel/reference.h"

static const struct reference *reference(enum real real)
{
    return real == REAL_F32 ? &hp_reference_f32 : &hp_reference_f64;
}

bool hp_kernel_exists(enum op_kind kind)
{
    return hp_reference_f64.kernel[kind] != NULL;
}

void hp_kernel(const struct kernel_call *call)
{
    kernel_function *kernel = reference(call->real)->kernel[call->nest->kind];
    assert(kernel);
    kernel(call);
}

void hp_kernel_add_after(const struct kernel_call *call)
{
    reference(call->real)->add_after(call);
}

void hp_view_clear(const struct view *view, enum combine combine, enum real real)
{
    reference(real)->clear(view, combine);
}

void hp_view_combine(const struct view *to, const struct view *from, enum combine combine,
                     enum real real)
{
    reference(real)->combine(to, from, combine);
}
