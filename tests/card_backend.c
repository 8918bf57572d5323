#include "tests/card_backend.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/cuda_stand_in.h"

struct backend card_backend(const struct kernels *kernels)
{
    static struct backend card;
    struct hypar_error err;
    if (!cuda_stand_in()) {
        print_message("no C++ compiler: there is no stand-in for a card\n");
        skip();
    }
    if (!card.card && hp_cuda_backend(&card, 0, kernels, &err) != HYPAR_OK)
        fail_msg("%s", err.text);
    card.kernels = kernels;
    return card;
}
