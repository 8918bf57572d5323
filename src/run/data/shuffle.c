/* A permutation of 0..n-1 without a table: a Feistel network over the next even number of bits,
 * applied again until the result is below n (Black and Rogaway, CT-RSA 2002, "cycle walking").
 * The network permutes at most four times as many numbers as there are samples. */
#include "run/data/shuffle.h"

#include "base/random.h"

enum { ROUNDS = 6 };

static uint64_t mixed(uint64_t key, uint64_t x)
{
    struct random random = { key ^ x * 0xd1342543de82ef95u };
    return hp_random_u64(&random);
}

/* In each round the halves swap, and one is changed by a function of the other. */
static uint64_t network(uint64_t key, int half_bits, uint64_t x)
{
    uint64_t mask = ((uint64_t)1 << half_bits) - 1, left = x >> half_bits, right = x & mask;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t next = left ^ (mixed(key + round, right) >> 16 & mask);
        left = right;
        right = next;
    }
    return left << half_bits | right;
}

int64_t hp_shuffled(uint64_t seed, int64_t epoch, int64_t n, int64_t i)
{
    uint64_t key = mixed(seed, (uint64_t)epoch + 1), x = (uint64_t)i;
    int half_bits = 1;
    while (half_bits < 31 && (int64_t)1 << 2 * half_bits < n)
        half_bits++;
    do
        x = network(key, half_bits, x);
    while (x >= (uint64_t)n);
    return (int64_t)x;
}
