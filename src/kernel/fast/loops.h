/* kernel/fast/loops.h - the indices of a walk as few and long loops. Internal to kernel/
 * and to back ends.
 *
 * Axes along which every operand is dense are one loop, so that the innermost is long:
 *
 *     struct walk w;
 *     struct loops l;
 *     hp_walk(&w, call, "x y");
 *     if (!hp_loops(&l, &w))
 *         return false;
 *     while (hp_loops_next(&l))
 *         ... l.count points, of map 0 from element l.at[0] on, l.run[0] apart ... */
#ifndef KERNEL_FAST_LOOPS_H
#define KERNEL_FAST_LOOPS_H

#include "kernel/walk.h"

struct loops {
    int n_maps, n; /* loops, outermost first */
    int64_t extent[WALK_AXES], step[WALK_MAPS][WALK_AXES];
    bool empty, started;
    int64_t index[WALK_AXES];
    int64_t at[WALK_MAPS];
    int64_t count, run[WALK_MAPS]; /* of the innermost loop */
};

/* The loops of a walk that has not begun. False: a window with taps that may leave its tensor,
 * which no loop describes. */
bool hp_loops(struct loops *loops, const struct walk *w);

/* The next run; false when there is none. */
bool hp_loops_next(struct loops *loops);

/* The points of all loops; of those along which map m moves. */
int64_t hp_loops_points(const struct loops *loops);
int64_t hp_loops_elements(const struct loops *loops, int m);

/* Map 0 += map 1 times map 2 over all loops, as matrix products inside of `outer` loops. */
struct product {
    int64_t m, n, k;
    bool swapped; /* the first factor is map 2 */
    bool a_transposed, b_transposed;
    int64_t lda, ldb, ldc;
    struct loops outer;
    bool sums[WALK_AXES]; /* the outer loop does not move map 0 */
};

/* False: they are not products of matrices. */
bool hp_product(struct product *product, const struct loops *loops);

#endif /* KERNEL_FAST_LOOPS_H */
