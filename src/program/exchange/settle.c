/* Settling cells: for each cell of a tensor, which copies count, who sums, who receives, who
 * keeps; for divided parameters the same for each piece. */
#include "program/exchange/settle.h"

#include <limits.h>
#include <string.h>

#include "base/sort.h"

/* The state of a device while one cell is settled. */
struct mark {
    unsigned flag;
    int count;   /* classes that the device has */
    int counted; /* the last class that was counted, plus one */
};

enum { READS = 1, CHOSEN = 2, HAS_ALL = 4, SEEN = 8, HOLDS = 16, EARLY = 32 };

static const struct access *access_at(const struct finder *f, int i)
{
    return &f->cut.access[f->view.of[i]];
}

static struct mark *mark_at(const struct finder *f, int i)
{
    return &f->mark[access_at(f, i)->device];
}

/* Which copy counts ------------------------------------------------------------------- */

static void find_classes(struct finder *f)
{
    struct accesses_view *v = &f->view;
    v->n_classes = 0;
    for (int i = 0; i < v->n_writers; i++) {
        int *number = &f->by_class[access_at(f, i)->class];
        v->next[i] = -1;
        if (*number < 0) {
            *number = v->n_classes;
            v->first[v->n_classes] = v->last[v->n_classes] = i;
            v->n_classes++;
        } else {
            v->next[v->last[*number]] = i;
            v->last[*number] = i;
        }
    }
    for (int i = 0; i < v->n_writers; i++)
        f->by_class[access_at(f, i)->class] = -1; /* clear for the next cell */
}

/* Devices that have a copy of every class need no message. */
static bool find_self_sufficient(struct finder *f)
{
    const struct accesses_view *v = &f->view;
    bool any = false;
    for (int c = 0; c < v->n_classes; c++)
        for (int i = v->first[c]; i >= 0; i = v->next[i]) {
            struct mark *mark = mark_at(f, i);
            if (mark->counted == c + 1)
                continue; /* another copy of the same class */
            mark->counted = c + 1;
            if (++mark->count == v->n_classes) {
                mark->flag |= HAS_ALL;
                any = true;
            }
        }
    return any;
}

/* A device that is the only one with some class contributes in any case. */
static void mark_forced(struct finder *f)
{
    const struct accesses_view *v = &f->view;
    for (int c = 0; c < v->n_classes; c++) {
        int device = access_at(f, v->first[c])->device, i = v->next[v->first[c]];
        while (i >= 0 && access_at(f, i)->device == device)
            i = v->next[i];
        if (i < 0)
            f->mark[device].flag |= CHOSEN;
    }
}

/* The position among the copies of its class of the copy that the reader of the current piece
 * holds; 0 where the sum is not divided into pieces. */
static int place_of_reader(const struct finder *f)
{
    const struct accesses_view *v = &f->view;
    for (int c = 0; c < v->n_classes && f->cut.division != DIVIDE_NOT; c++)
        for (int i = v->first[c], place = 0; i >= 0; i = v->next[i], place++)
            if (mark_at(f, i)->flag & READS)
                return place;
    return 0;
}

/* Among the copies of a class on one device, the same one counts in every piece. */
static int first_on_device(const struct finder *f, int class, int device)
{
    int i = f->view.first[class];
    while (access_at(f, i)->device != device)
        i = f->view.next[i];
    return i;
}

/* Chooses for each class the copy that contributes to the sum. Preferred is the copy of a
 * device that has all classes, then of a device that contributes another class, then of a
 * device that reads the sum. Among equals it is the copy at the reader's position in its class,
 * so that readers at one position sum together. */
static void choose_copies(struct finder *f, bool any_sufficient)
{
    const struct accesses_view *v = &f->view;
    mark_forced(f);
    int reader = place_of_reader(f);
    for (int c = 0; c < v->n_classes; c++) {
        int best = -1, best_rank = -1;
        for (int i = v->first[c], place = 0; i >= 0; i = v->next[i], place++) {
            unsigned flag = mark_at(f, i)->flag;
            unsigned rank = any_sufficient
                                ? (flag & HAS_ALL ? 4 + (flag & CHOSEN) + (flag & READS) : 0)
                                : (flag & CHOSEN) * 2 + (flag & READS);
            rank = 2 * rank + (place == reader);
            if ((int)rank > best_rank) {
                best = i;
                best_rank = (int)rank;
            }
        }
        mark_at(f, best)->flag |= CHOSEN;
        v->chosen[c] = first_on_device(f, c, access_at(f, best)->device);
    }
}

/* The same if there are no copies: every class has one member. */
static bool choose_all(struct finder *f)
{
    struct accesses_view *v = &f->view;
    int device = access_at(f, 0)->device;
    bool sufficient = true;
    v->n_classes = v->n_writers;
    for (int i = 0; i < v->n_writers; i++) {
        v->chosen[i] = i;
        mark_at(f, i)->flag |= CHOSEN;
        sufficient &= access_at(f, i)->device == device;
    }
    f->mark[device].flag |= sufficient ? HAS_ALL : 0;
    return sufficient;
}

/* Choose the member that counts of each class. Does a device have all classes? */
static bool choose(struct finder *f)
{
    if (!f->cut.copied)
        return choose_all(f);
    find_classes(f);
    bool sufficient = find_self_sufficient(f);
    choose_copies(f, sufficient);
    return sufficient;
}

/* Settling one cell ------------------------------------------------------------------- */

/* Room for the lists of the current cell: contributions, receivers, keepers and summing
 * devices. Most patterns are small and take just enough room for all their cells at once. */
static void make_room(struct finder *f, bool sufficient)
{
    enum { PIECE = 256 };
    const struct accesses_view *v = &f->view;
    int readers = v->n - v->n_writers < v->n_devices ? v->n - v->n_writers : v->n_devices;
    int need = sufficient ? readers : 2 * readers;
    if (f->n_ints < need) {
        int all = f->reading_left < PIECE ? f->reading_left : PIECE;
        f->n_ints = need > all ? need : all;
        f->ints = NEW(f->arena, int, f->n_ints);
    }
    if (f->n_contributions < v->n_classes) {
        int all = f->writing_left < PIECE ? f->writing_left : PIECE;
        f->n_contributions = v->n_classes > all ? v->n_classes : all;
        f->contributions = NEW(f->arena, struct contribution, f->n_contributions);
    }
}

/* The readers, ascending: those that lack some class, and among them those marked `second`. */
static void collect(struct finder *f, struct cell *cell, unsigned second)
{
    const struct accesses_view *v = &f->view;
    int *receiver = f->ints, n = 0, k = 0;
    for (int i = 0; i < v->n_devices; i++) {
        unsigned flag = f->mark[v->device[i]].flag;
        if (flag & READS && !(flag & HAS_ALL))
            receiver[n++] = v->device[i];
    }
    int *also = receiver + n;
    bool any = false;
    for (int i = 0; i < v->n_devices; i++)
        any |= (f->mark[v->device[i]].flag & (READS | second)) == (READS | second);
    for (int i = 0; i < v->n_devices; i++)
        if ((f->mark[v->device[i]].flag & (READS | second)) == (READS | second))
            also[k++] = v->device[i];
    for (int i = 0; second == CHOSEN && !any && i < v->n_devices; i++)
        if (f->mark[v->device[i]].flag & EARLY)
            also[k++] = v->device[i];
    cell->receiver = receiver;
    cell->n_receivers = n;
    if (second == HAS_ALL) {
        cell->kept = also;
        cell->n_kept = k;
    } else if (k && k < n) {
        cell->owner = also;
        cell->n_owners = k;
    } else { /* all readers */
        cell->owner = receiver;
        cell->n_owners = n;
        k = 0;
    }
    f->ints += n + k;
    f->n_ints -= n + k;
}

static const struct contribution *collect_contributions(struct finder *f)
{
    const struct accesses_view *v = &f->view;
    struct contribution *out = f->contributions;
    for (int i = 0; i < v->n_classes; i++) {
        const struct access *s = access_at(f, v->chosen[i]);
        out[i] = (struct contribution){ s->holder, s->part, s->device };
    }
    f->contributions += v->n_classes;
    f->n_contributions -= v->n_classes;
    return out;
}

void hp_sort_devices(int *device, int n)
{
    enum { FEW = 16 };
    for (int i = 1; i < n; i++) {
        int k = i, moved = device[i];
        if (moved >= device[i - 1])
            continue;
        if (n > FEW) {
            hp_sort_ints(device, n);
            return;
        }
        for (; k > 0 && device[k - 1] > moved; k--)
            device[k] = device[k - 1];
        device[k] = moved;
    }
}

/* The devices of the current cell, ascending. */
static void list_devices(struct finder *f)
{
    struct accesses_view *v = &f->view;
    v->n_devices = 0;
    for (int i = 0; i < v->n; i++) {
        int device = access_at(f, i)->device;
        struct mark *mark = &f->mark[device];
        if (!mark->flag)
            v->device[v->n_devices++] = device;
        mark->flag |= i < v->n_writers ? SEEN : SEEN | READS;
    }
    int earliest = INT_MAX;
    for (int i = v->n_writers; i < v->n; i++) {
        int stage = f->reader[access_at(f, i)->holder].stage;
        earliest = stage < earliest ? stage : earliest;
    }
    for (int i = v->n_writers; i < v->n; i++)
        if (f->reader[access_at(f, i)->holder].stage == earliest)
            mark_at(f, i)->flag |= EARLY;
    hp_sort_devices(v->device, v->n_devices);
}

static void forget_marks(struct finder *f)
{
    for (int i = 0; i < f->view.n_devices; i++)
        f->mark[f->view.device[i]] = (struct mark){ 0 };
}

/* The devices that have all classes, if there are several of them and several receivers. */
static void collect_copies(struct finder *f, struct cell *cell)
{
    const struct accesses_view *v = &f->view;
    int n = 0;
    for (int i = 0; cell->n_receivers > 1 && i < v->n_devices; i++)
        n += (f->mark[v->device[i]].flag & HAS_ALL) != 0;
    if (n < 2)
        return;
    int *copy = NEW(f->arena, int, n);
    for (int i = 0; i < v->n_devices; i++)
        if (f->mark[v->device[i]].flag & HAS_ALL)
            copy[cell->n_copies++] = v->device[i];
    cell->copy = copy;
}

/* Settle a cell whose devices are marked. `like`: another piece of the same cell; NULL: this is
 * the first piece. */
static void settle(struct finder *f, struct cell *cell, const struct cell *like)
{
    const struct accesses_view *v = &f->view;
    bool sufficient = choose(f);
    make_room(f, sufficient);
    cell->n_contributions = v->n_classes;
    cell->contribution = like && !f->cut.copied ? like->contribution : collect_contributions(f);
    if (v->n > v->n_writers) /* readers keep it; without readers, those that sum it */
        collect(f, cell, sufficient ? HAS_ALL : CHOSEN);
    if (sufficient && f->cut.copied)
        collect_copies(f, cell);
    f->moves |= cell->n_receivers > 0;
    for (int i = 0; !cell->n_receivers && i < cell->n_kept; i++)
        f->keeps[cell->kept[i]] = true;
    forget_marks(f);
}

/* Divided cells ----------------------------------------------------------------------- */

/* The devices that hold the current cell, ascending: readers of its gradient, or holders in the
 * place of writers. */
static int list_holders(struct finder *f)
{
    struct accesses_view *v = &f->view;
    int n = 0;
    list_devices(f);
    for (int i = 0; f->cut.division == DIVIDE_GATHER && i < v->n_writers; i++)
        mark_at(f, i)->flag |= HOLDS;
    for (int i = 0; i < v->n_devices; i++) {
        unsigned flag = f->mark[v->device[i]].flag;
        if (flag & (f->cut.division == DIVIDE_GATHER ? HOLDS : READS))
            f->holder[n++] = v->device[i];
    }
    return n;
}

/* Several devices own a piece to which none of them contributes: one contributor sums it, at no
 * more bytes. */
static void sum_by_contributor(struct cell *cell)
{
    for (int i = 0; i < cell->n_contributions; i++)
        if (hp_is_in(cell->owner, cell->n_owners, cell->contribution[i].device))
            return;
    cell->owner = &cell->contribution[0].device;
    cell->n_owners = 1;
}

/* The owners have the piece, wherever it was summed. */
static void keep_by_owners(struct finder *f, struct cell *cell, int n_holders, int piece,
                           int each)
{
    int *kept = NEW(f->arena, int, n_holders / each), n = 0;
    for (int i = piece; i < n_holders; i += each)
        kept[n++] = f->holder[i];
    cell->kept = kept;
    cell->n_kept = n;
    cell->n_receivers = cell->n_owners = 0;
}

/* The gradient of a piece; its owners are its only readers. */
static void settle_sum(struct finder *f, struct cell *cell, int n_holders)
{
    const struct accesses_view *v = &f->view;
    int each = hp_group_size(&f->cut, n_holders);
    for (int piece = 0; piece < each; piece++) {
        for (int i = 0; i < v->n_devices; i++)
            f->mark[v->device[i]].flag = SEEN;
        for (int i = piece; i < n_holders; i += each)
            f->mark[f->holder[i]].flag |= READS;
        settle(f, &cell[piece], piece ? cell : NULL);
        if (cell[piece].n_owners > 1)
            sum_by_contributor(&cell[piece]);
        if (f->cut.division == DIVIDE_OWNED)
            keep_by_owners(f, &cell[piece], n_holders, piece, each);
        cell[piece].piece = piece;
        cell[piece].pieces = each;
    }
}

/* The first part of an owner represents it. */
static const struct contribution *contribution_of(struct finder *f, int device)
{
    struct contribution *out = NEW(f->arena, struct contribution, 1);
    int i = 0;
    while (access_at(f, i)->device != device)
        i++;
    *out = (struct contribution){ access_at(f, i)->holder, access_at(f, i)->part, device };
    return out;
}

/* The pieces of a parameter, group after group: each goes to the members of the group that read
 * it. */
static void settle_gather(struct finder *f, struct cell *cell, int n_holders)
{
    int each = hp_group_size(&f->cut, n_holders);
    for (int i = 0; i < n_holders; i++) {
        int *to = NEW(f->arena, int, each), n = 0, owner = f->holder[i],
            first = i / each * each;
        for (int k = first; k < first + each; k++)
            if (k != i && f->mark[f->holder[k]].flag & READS)
                to[n++] = f->holder[k];
        cell[i].n_contributions = 1;
        cell[i].contribution = contribution_of(f, owner);
        cell[i].receiver = to;
        cell[i].n_receivers = n;
        if (f->mark[owner].flag & READS) {
            cell[i].kept = &cell[i].contribution->device;
            cell[i].n_kept = 1;
        }
        cell[i].piece = i - first;
        cell[i].pieces = each;
        f->moves |= n > 0;
    }
    forget_marks(f);
}

static void prepare(struct finder *f)
{
    const struct cut *cut = &f->cut;
    struct accesses_view *v = &f->view;
    int most = 0, total = cut->start[cut->n_cells], n_devices = cut->last_device + 1;
    for (int c = 0; c < cut->n_cells; c++) {
        int n = cut->start[c + 1] - cut->start[c];
        most = n > most ? n : most;
    }
    v->device = NEW(f->scratch, int, (cut->copied ? 5 : 2) * most);
    v->chosen = v->device + most;
    if (cut->copied) {
        v->first = v->chosen + most;
        v->last = v->first + most;
        v->next = v->last + most;
    }
    f->by_class = NEW(f->scratch, int, cut->n_classes);
    memset(f->by_class, -1, (size_t)cut->n_classes * sizeof *f->by_class);
    f->mark = NEW(f->scratch, struct mark, n_devices);
    f->keeps = NEW(f->scratch, bool, n_devices);
    f->writing_left = cut->writing_cells;
    f->reading_left = total - cut->writing_cells;
}

/* Set the view to the accesses of a cell. */
static void view_cell(struct finder *f, int c)
{
    const struct cut *cut = &f->cut;
    struct accesses_view *v = &f->view;
    v->of = cut->of_cell + cut->start[c];
    v->n = cut->start[c + 1] - cut->start[c];
    f->holder = cut->holder ? cut->holder + cut->holder_start[c] : NULL;
    for (v->n_writers = 0; v->n_writers < v->n && v->of[v->n_writers] < cut->n_writing;)
        v->n_writers++;
}

/* The number of pieces of each cell. A gradient that nobody writes is not divided. */
static enum hypar_status count_pieces(struct finder *f, struct hypar_error *err)
{
    struct cut *cut = &f->cut;
    cut->piece_start = NEW(f->scratch, int, 2 * (cut->n_cells + 1));
    cut->holder_start = cut->piece_start + cut->n_cells + 1;
    cut->holder = NEW(f->scratch, int, cut->start[cut->n_cells]);
    for (int c = 0; c < cut->n_cells; c++) {
        view_cell(f, c);
        int n = list_holders(f);
        forget_marks(f);
        cut->holder_start[c + 1] = cut->holder_start[c] + n;
        if (cut->over && n > 1 && n % cut->over)
            return hp_fail(err, HYPAR_INFEASIBLE,
                           "shard_over %d does not divide the %d devices that have a piece of "
                           "the parameters",
                           cut->over, n);
        int pieces = cut->division == DIVIDE_GATHER ? n
                     : f->view.n_writers            ? hp_group_size(cut, n)
                                                    : 1;
        cut->piece_start[c + 1] = cut->piece_start[c] + (pieces ? pieces : 1);
    }
    return HYPAR_OK;
}

static void settle_cell(struct finder *f, struct cell *cell)
{
    if (f->cut.division != DIVIDE_NOT) {
        int n = list_holders(f);
        if (n && f->cut.division == DIVIDE_GATHER)
            settle_gather(f, cell, n);
        else if (n && f->view.n_writers)
            settle_sum(f, cell, n);
        else
            forget_marks(f);
    } else if (f->view.n_writers) {
        list_devices(f);
        settle(f, cell, NULL);
    }
}

enum hypar_status hp_settle_cells(struct finder *f, struct hypar_error *err)
{
    const struct cut *cut = &f->cut;
    prepare(f);
    if (cut->division != DIVIDE_NOT)
        TRY(count_pieces(f, err));
    int n = hp_piece_start(cut, cut->n_cells);
    struct cell *cell = NEW(f->arena, struct cell, n);
    for (int c = 0; c < cut->n_cells; c++) {
        int first = hp_piece_start(cut, c);
        for (int i = first; i < hp_piece_start(cut, c + 1); i++) {
            cell[i].comm = -1;
            cell[i].box = c;
            cell[i].pieces = 1;
        }
        view_cell(f, c);
        settle_cell(f, &cell[first]);
        f->writing_left -= f->view.n_writers;
        f->reading_left -= f->view.n - f->view.n_writers;
    }
    f->pattern->n_cells = n;
    f->pattern->cell = cell;
    return HYPAR_OK;
}
