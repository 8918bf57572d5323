/* numbers.h - numbers in memory, and the queue of the driver's stand-in, for those of its
 * libraries. */
#ifndef TESTS_CUDA_NUMBERS_H
#define TESTS_CUDA_NUMBERS_H

/* Types as cuBLAS numbers them. */
enum number_type { NUMBER_F32 = 0, NUMBER_F64 = 1, NUMBER_BF16 = 14 };

double number_at(const void *data, long long i, int type);
void put_number(void *data, long long i, int type, double value);

/* The function that begins work in the order of all other work. `of`: an address in the
 * library, in whose folder the driver's stand-in lies. NULL: it is not loaded. */
typedef void begin_later(void (*run)(void *arg), void *arg);
begin_later *find_later(const void *of);

#endif /* TESTS_CUDA_NUMBERS_H */
