/* Choosing the compiled table for this processor. */
#include "kernel/fast/fast.h"

#ifdef HYPAR_WITH_BLAS

#ifdef HYPAR_X86_LEVELS
const struct kernel_table *hp_fast_table(enum real real)
{
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512cd"))
        return real == REAL_F32 ? &hp_fast_f32_v4 : &hp_fast_f64_v4;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return real == REAL_F32 ? &hp_fast_f32_v3 : &hp_fast_f64_v3;
    return real == REAL_F32 ? &hp_fast_f32 : &hp_fast_f64;
}
#else
const struct kernel_table *hp_fast_table(enum real real)
{
    return real == REAL_F32 ? &hp_fast_f32 : &hp_fast_f64;
}
#endif

#endif
