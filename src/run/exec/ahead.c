/* Filling model inputs before they are needed: a thread takes the entries in the order in which
 * they were asked for, and shares the rows of each among a few threads. */
#include "run/exec/ahead.h"

#include <pthread.h>
#include <string.h>

#include "base/arena.h"
#include "base/parallel.h"

enum entry_state {
    ENTRY_FREE,
    ENTRY_WAITS, /* for the thread */
    ENTRY_FILLED,
    ENTRY_TAKEN,
};

struct entry {
    struct entry *next; /* of all entries */
    enum entry_state state;
    int64_t turn; /* the lowest turn is filled first */
    struct fill_request request;
    struct view view; /* in the staging area */
    size_t bytes;     /* of the area */
    size_t element_bytes;
    enum hypar_status status; /* of filling it */
    struct hypar_error error;
};

struct ahead {
    struct arena arena;
    struct executor_settings settings;
    struct entry *entries;
    int64_t turns;
    bool begun, ends; /* the thread */
    pthread_t thread;
    pthread_mutex_t lock; /* of states, and of `ends` */
    pthread_cond_t asked, filled;
};

/* Filling ------------------------------------------------------------------------------- */

enum { PIECES = 4, PIECE_BYTES = 1 << 18 };

struct pieces {
    const struct ahead *a;
    struct entry *entry;
    int n;
    enum hypar_status status[PIECES];
    struct hypar_error error[PIECES];
};

/* Piece `i` of the rows of an entry, which are contiguous. */
static void fill_piece(void *arg, int i)
{
    struct pieces *p = arg;
    struct entry *e = p->entry;
    struct view view = e->view;
    if (view.box.n_dims > 0) {
        struct range all = view.box.dim[0];
        int64_t rows = all.hi - all.lo;
        view.box.dim[0].lo = all.lo + rows * i / p->n;
        view.box.dim[0].hi = all.lo + rows * (i + 1) / p->n;
        view.data = (char *)view.data +
                    (size_t)((view.box.dim[0].lo - all.lo) * view.stride[0]) * e->element_bytes;
    }
    p->status[i] =
        hp_box_empty(&view.box)
            ? HYPAR_OK
            : p->a->settings.fill(p->a->settings.who, &e->request, &view, &p->error[i]);
}

static void fill(const struct ahead *a, struct entry *e)
{
    size_t bytes = (size_t)hp_box_elements(&e->view.box) * e->element_bytes;
    struct pieces p = { .a = a, .entry = e, .n = 1 };
    if (e->view.box.n_dims > 0 && bytes >= PIECE_BYTES)
        p.n = PIECES;
    memset(e->view.data, 0, bytes);
    hp_parallel(p.n, p.n, fill_piece, &p);
    e->status = HYPAR_OK;
    for (int i = p.n - 1; i >= 0; i--)
        if (p.status[i] != HYPAR_OK) {
            e->status = p.status[i];
            e->error = p.error[i];
        }
}

static struct entry *first_waiting(const struct ahead *a)
{
    struct entry *first = NULL;
    for (struct entry *e = a->entries; e; e = e->next)
        if (e->state == ENTRY_WAITS && (!first || e->turn < first->turn))
            first = e;
    return first;
}

static void *fill_all(void *arg)
{
    struct ahead *a = arg;
    pthread_mutex_lock(&a->lock);
    while (!a->ends) {
        struct entry *e = first_waiting(a);
        if (!e) {
            pthread_cond_wait(&a->asked, &a->lock);
            continue;
        }
        pthread_mutex_unlock(&a->lock);
        fill(a, e);
        pthread_mutex_lock(&a->lock);
        e->state = ENTRY_FILLED;
        pthread_cond_signal(&a->filled);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* Entries ------------------------------------------------------------------------------- */

/* Is the entry for this input? */
static bool is_for(const struct entry *e, const struct fill_request *request,
                   const struct box *box)
{
    return e->request.tensor == request->tensor && e->request.state == request->state &&
           e->request.batch == request->batch && hp_box_equal(&e->view.box, box);
}

static void free_taken(const struct ahead *a)
{
    for (struct entry *e = a->entries; e; e = e->next)
        if (e->state == ENTRY_TAKEN)
            e->state = ENTRY_FREE;
}

/* A free entry. Rather than take ever more areas, wait for the back end. */
static struct entry *find_free(const struct ahead *a, size_t bytes)
{
    enum { MOST_TAKEN = 16 };
    int n_taken = 0;
    for (const struct entry *e = a->entries; e; e = e->next)
        n_taken += e->state == ENTRY_TAKEN;
    if (n_taken > MOST_TAKEN) {
        a->settings.backend->finish(a->settings.backend);
        free_taken(a);
    }
    struct entry *e = a->entries;
    while (e && !(e->state == ENTRY_FREE && e->bytes == bytes))
        e = e->next;
    return e;
}

/* An entry with an area; NULL: the back end has no room, as its status tells. With the lock. */
static struct entry *prepare(struct ahead *a, const struct fill_request *request,
                             const struct box *box, size_t element_bytes)
{
    const struct backend *b = a->settings.backend;
    size_t bytes = (size_t)hp_box_elements(box) * element_bytes;
    struct entry *e = find_free(a, bytes);
    void *area = e ? e->view.data : b->staging_new(b, bytes);
    if (!area)
        return NULL;
    if (!e) {
        e = NEW(&a->arena, struct entry, 1);
        e->next = a->entries;
        a->entries = e;
    }
    e->bytes = bytes;
    e->request = *request;
    e->view = hp_dense_view(area, box);
    e->element_bytes = element_bytes;
    return e;
}

enum hypar_status hp_ahead_take(struct ahead *a, const struct fill_request *request,
                                const struct box *box, size_t element_bytes, struct view *out,
                                struct hypar_error *err)
{
    pthread_mutex_lock(&a->lock);
    struct entry *e = a->entries;
    while (e &&
           !((e->state == ENTRY_WAITS || e->state == ENTRY_FILLED) && is_for(e, request, box)))
        e = e->next;
    while (e && e->state == ENTRY_WAITS)
        pthread_cond_wait(&a->filled, &a->lock);
    if (!e) {
        e = prepare(a, request, box, element_bytes);
        if (e)
            fill(a, e);
    }
    if (e) {
        e->state = ENTRY_TAKEN;
        *out = e->view;
    }
    pthread_mutex_unlock(&a->lock);
    if (!e)
        return a->settings.backend->status(a->settings.backend, err);
    if (e->status != HYPAR_OK)
        *err = e->error;
    return e->status;
}

void hp_ahead_ask(struct ahead *a, const struct fill_request *request, const struct box *box,
                  size_t element_bytes)
{
    if (!a->begun)
        a->begun = pthread_create(&a->thread, NULL, fill_all, a) == 0;
    if (!a->begun)
        return;
    pthread_mutex_lock(&a->lock);
    struct entry *e = prepare(a, request, box, element_bytes);
    if (e) {
        e->turn = a->turns++;
        e->state = ENTRY_WAITS;
        pthread_cond_signal(&a->asked);
    }
    pthread_mutex_unlock(&a->lock);
}

void hp_ahead_finished(struct ahead *a)
{
    pthread_mutex_lock(&a->lock);
    free_taken(a);
    pthread_mutex_unlock(&a->lock);
}

/* Beginning and ending ------------------------------------------------------------------ */

struct ahead *hp_ahead_new(const struct executor_settings *settings)
{
    struct arena arena = { 0 };
    struct ahead *a = NEW(&arena, struct ahead, 1);
    *a = (struct ahead){ .arena = arena, .settings = *settings };
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->asked, NULL);
    pthread_cond_init(&a->filled, NULL);
    return a;
}

void hp_ahead_free(struct ahead *a)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->ends = true;
    pthread_cond_signal(&a->asked);
    pthread_mutex_unlock(&a->lock);
    if (a->begun)
        pthread_join(a->thread, NULL);
    for (struct entry *e = a->entries; e; e = e->next)
        a->settings.backend->staging_free(a->settings.backend, e->view.data);
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->asked);
    pthread_cond_destroy(&a->filled);
    hp_arena_free(&a->arena);
}
