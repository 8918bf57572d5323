/* kernel/fast/math_f32.h - functions of one number in single precision, without branches and
 * calls, so that loops over them become vectors. Internal to kernel/.
 *
 * The polynomials are those of Cephes (exp) and of Eigen (erf, tanh); errors are a few units in
 * the last place. */
#ifndef KERNEL_FAST_MATH_F32_H
#define KERNEL_FAST_MATH_F32_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* e^x = 2^n e^r with n the integer nearest to x / log 2; what is below the least normal number
 * is 0. */
static inline float fast_exp(float x)
{
    const float least = -86.6433976f, most = 88.7228394f;
    float inside = x < least ? least : x > most ? most : x;
    float shifted = inside * 1.44269504088896341f + 12582912.0f; /* its last bits are n */
    float n = shifted - 12582912.0f;
    float r = inside - n * 0.693359375f - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits - 0x4b400000u + 126u) << 23; /* 2^(n - 1): 2^128 is no number */
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    float y = p * scale * 2.0f;
    return x < least ? 0.0f : x > most ? INFINITY : y;
}

static inline float fast_erf(float v)
{
    float x = v < -4.0f ? -4.0f : v > 4.0f ? 4.0f : v, s = x * x;
    float p = -2.72614225801306e-10f;
    p = p * s + 2.77068142495902e-08f;
    p = p * s + -2.10102402082508e-06f;
    p = p * s + -5.69250639462346e-05f;
    p = p * s + -7.34990630326855e-04f;
    p = p * s + -2.95459980854025e-03f;
    p = p * s + -1.60960333262415e-02f;
    float q = -1.45660718464996e-05f;
    q = q * s + -2.13374055278905e-04f;
    q = q * s + -1.68282697438203e-03f;
    q = q * s + -7.37332916720468e-03f;
    q = q * s + -1.42647390514189e-02f;
    return x * p / q;
}

static inline float fast_tanh(float v)
{
    const float most = 7.90531110763549805f;
    float x = v < -most ? -most : v > most ? most : v, s = x * x;
    float p = -2.76076847742355e-16f;
    p = p * s + 2.00018790482477e-13f;
    p = p * s + -8.60467152213735e-11f;
    p = p * s + 5.12229709037114e-08f;
    p = p * s + 1.48572235717979e-05f;
    p = p * s + 6.37261928875436e-04f;
    p = p * s + 4.89352455891786e-03f;
    float q = 1.19825839466702e-06f;
    q = q * s + 1.18534705686654e-04f;
    q = q * s + 2.26843463243900e-03f;
    q = q * s + 4.89352518554385e-03f;
    return x * p / q;
}

#define EXP  fast_exp
#define ERF  fast_erf
#define TANH fast_tanh
#define LOG  logf
#define SQRT sqrtf
#define POW  powf

#endif /* KERNEL_FAST_MATH_F32_H */
