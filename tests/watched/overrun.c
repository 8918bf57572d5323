/* Touches memory of an arena that it may not: number N of the ways below; 0: none of them. */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

static volatile int seen;

int main(int argc, char **argv)
{
    struct arena arena = { 0 };
    int way = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0, capacity = 0;
    int *first = NEW(&arena, int, 3), *second = NEW(&arena, int, 5);
    struct arena_mark mark = hp_arena_mark(&arena);
    int *scratch = NEW(&arena, int, 7);
    hp_arena_release(&arena, mark);
    int *list = GROW(&arena, int, NULL, 0, &capacity), *old = list;
    list = hp_arena_grow(&arena, list, 16, &capacity, sizeof *list, alignof(int));
    const int *touched[] = {
        &first[2],   /* its last */
        &first[3],   /* past a piece */
        &second[-1], /* before one */
        &scratch[1 << 9] /* in what was released */,
        &old[0],   /* a list that has moved on */
        &list[32], /* past a list */
    };
    seen = *touched[way];
    printf("%d of %d\n", way, (int)(sizeof touched / sizeof touched[0]) - 1);
    hp_arena_free(&arena);
    return 0;
}
