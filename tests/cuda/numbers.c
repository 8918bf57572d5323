#define _GNU_SOURCE /* dladdr */
#include "tests/cuda/numbers.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/float_bits.h"

double number_at(const void *data, long long i, int type)
{
    if (type == NUMBER_BF16)
        return hp_bf16_number(((const uint16_t *)data)[i]);
    return type == NUMBER_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

void put_number(void *data, long long i, int type, double value)
{
    if (type == NUMBER_BF16)
        ((uint16_t *)data)[i] = hp_bf16_bits((float)value);
    else if (type == NUMBER_F32)
        ((float *)data)[i] = (float)value;
    else
        ((double *)data)[i] = value;
}

begin_later *find_later(const void *of)
{
    Dl_info here;
    char path[4096];
    begin_later *later = NULL;
    if (!dladdr(of, &here))
        return NULL;
    snprintf(path, sizeof path, "%.*slibcuda.so.1",
             (int)(strrchr(here.dli_fname, '/') + 1 - here.dli_fname), here.dli_fname);
    void *driver = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (driver)
        *(void **)&later = dlsym(driver, "stand_in_later");
    return later;
}
