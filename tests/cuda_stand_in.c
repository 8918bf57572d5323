#include "tests/cuda_stand_in.h"

#include <stdlib.h>

bool cuda_real_card(void)
{
    return getenv("HYPAR_TEST_CARD");
}

bool cuda_stand_in(void)
{
    if (cuda_real_card())
        return true;
#ifdef STAND_IN_FOLDER
    setenv("HYPAR_CUDA_PATH", STAND_IN_FOLDER, 1);
    setenv("XDG_CACHE_HOME", STAND_IN_FOLDER, 1);
    return true;
#else
    return false;
#endif
}
