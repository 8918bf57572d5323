/* kernel/fast/math_f32.h - functions of one number in single precision, without branches and
 * calls, so that loops over them become vectors. Internal to kernel/.
 *
 * The polynomials are those of Cephes (exp) and of Eigen (erf, tanh), two terms at a time,
 * which shortens the chain of dependent operations; errors are a few units in the last place.
 */
#ifndef KERNEL_FAST_MATH_F32_H
#define KERNEL_FAST_MATH_F32_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* x, but at least `least` and at most `most`; or NaN. */
static inline float within(float x, float least, float most)
{
#ifdef __aarch64__ /* GCC takes the opposite of a condition, which is six instructions here */
    uint32_t below = 0 - (uint32_t)(x < least), above = 0 - (uint32_t)(x > most);
    uint32_t bits, low, high;
    memcpy(&bits, &x, sizeof bits);
    memcpy(&low, &least, sizeof low);
    memcpy(&high, &most, sizeof high);
    bits ^= (bits ^ low) & below;
    bits ^= (bits ^ high) & above;
    memcpy(&x, &bits, sizeof x);
    return x;
#else
    return x < least ? least : x > most ? most : x;
#endif
}

/* e^x = 2^n e^r with n the integer nearest to x / log 2; what is below the least normal number
 * is 0. The bits of 2^(n - 1) are those of 0 for n = -126 and of infinity for n = 129. */
static inline float fast_exp(float x)
{
    const float least = -87.3f, most = 89.5f; /* n of -126 and 129 */
    float inside = within(x, least, most);
    float shifted = inside * 1.44269504088896341f + 12582912.0f; /* its last bits are n */
    float n = shifted - 12582912.0f;
    float r = inside - n * 0.693359375f - n * -2.12194440e-4f;
    float s = r * r;
    float p = 1.9875691500e-4f * r + 1.3981999507e-3f;
    p = p * s + (8.3334519073e-3f * r + 4.1665795894e-2f);
    p = p * s + (1.6666665459e-1f * r + 5.0000001201e-1f);
    p = p * s + r + 1.0f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits - 0x4b400000u + 126u) << 23; /* 2^(n - 1): 2^128 is no number */
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale * 2.0f;
}

static inline float fast_erf(float v)
{
    float x = within(v, -4.0f, 4.0f), s = x * x;
    float d = s * s;
    float p = -2.72614225801306e-10f * s + 2.77068142495902e-08f;
    p = p * d + (-2.10102402082508e-06f * s + -5.69250639462346e-05f);
    p = p * d + (-7.34990630326855e-04f * s + -2.95459980854025e-03f);
    p = p * s + -1.60960333262415e-02f;
    float q = -1.45660718464996e-05f;
    q = q * d + (-2.13374055278905e-04f * s + -1.68282697438203e-03f);
    q = q * d + (-7.37332916720468e-03f * s + -1.42647390514189e-02f);
    return x * p / q;
}

static inline float fast_tanh(float v)
{
    const float most = 7.90531110763549805f;
    float x = within(v, -most, most), s = x * x;
    float d = s * s;
    float p = -2.76076847742355e-16f * s + 2.00018790482477e-13f;
    p = p * d + (-8.60467152213735e-11f * s + 5.12229709037114e-08f);
    p = p * d + (1.48572235717979e-05f * s + 6.37261928875436e-04f);
    p = p * s + 4.89352455891786e-03f;
    float q = 1.19825839466702e-06f * s + 1.18534705686654e-04f;
    q = q * d + (2.26843463243900e-03f * s + 4.89352518554385e-03f);
    return x * p / q;
}

#define EXP  fast_exp
#define ERF  fast_erf
#define TANH fast_tanh
#define LOG  logf
#define SQRT sqrtf
#define POW  powf

#endif /* KERNEL_FAST_MATH_F32_H */
