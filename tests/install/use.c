/* The smallest user of an installed library. */
#include <hypar/base.h>
#include <stdio.h>

int main(void)
{
    unsigned version = hypar_version();
    printf("%u.%u.%u\n", version >> 16, version >> 8 & 255, version & 255);
    return 0;
}
