/* Files that are written whole or not at all. A file gets its final name only when it is
 * complete; symbolic links are followed, and temporary files left by killed processes are
 * removed. */
#define _GNU_SOURCE /* realpath, O_TMPFILE */

#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

unsigned hypar_abi_version(void)
{
    return HYPAR_ABI_VERSION;
}

unsigned hypar_version(void)
{
    return HYPAR_VERSION_MAJOR << 16 | HYPAR_VERSION_MINOR << 8 | HYPAR_VERSION_PATCH;
}

static enum hypar_status cannot_write(const char *path, int why, struct hypar_error *err)
{
    enum hypar_status status = hp_fail(err, HYPAR_RUNTIME, "cannot write: %s", strerror(why));
    return hp_in(err, status, "%s", path);
}

/* Replace the link at `place` by its target; false if `place` is no link. */
static bool follow_link(char place[HYPAR_PLACE_BYTES], int *why)
{
    char link[HYPAR_PLACE_BYTES], *slash = strrchr(place, '/');
    ssize_t length = readlink(place, link, sizeof link);
    if (length < 0)
        return false;
    size_t folder = link[0] != '/' && slash ? (size_t)(slash + 1 - place) : 0;
    if (folder + (size_t)length >= HYPAR_PLACE_BYTES) {
        *why = ENAMETOOLONG;
        return false;
    }
    memcpy(place + folder, link, (size_t)length);
    place[folder + (size_t)length] = '\0';
    return true;
}

/* Does the path lead to an object without a name, as /dev/stdin to a pipe? */
static bool is_nameless(const char *path)
{
    char place[HYPAR_PLACE_BYTES];
    struct stat there;
    return stat(path, &there) == 0 && !hypar_or_out_of_memory(realpath(path, place));
}

/* A link stays; its target is replaced, or created if it does not exist. */
enum hypar_status hypar_output_place(const char *path, char place[HYPAR_PLACE_BYTES],
                                     struct hypar_error *err)
{
    enum { MAX_LINKS = 40 };
    int why = 0, n = 0;
    if (strlen(path) >= HYPAR_PLACE_BYTES)
        return cannot_write(path, ENAMETOOLONG, err);
    if (hypar_or_out_of_memory(realpath(path, place)))
        return HYPAR_OK;
    strcpy(place, path); /* a new file, a missing folder, or an object without a name */
    if (is_nameless(path))
        return HYPAR_OK;
    while (n < MAX_LINKS && follow_link(place, &why))
        n++;
    if (n == MAX_LINKS)
        why = ELOOP;
    return why ? cannot_write(path, why, err) : HYPAR_OK;
}

/* A path without links stays as it was given: people recognise it in messages. */
bool hypar_file_folder(const char *path, char folder[HYPAR_PLACE_BYTES])
{
    struct stat about;
    folder[0] = '\0';
    if (strcmp(path, "-") == 0 || is_nameless(path))
        return false;
    bool link = lstat(path, &about) == 0 && S_ISLNK(about.st_mode);
    if (!link || hypar_output_place(path, folder, NULL) != HYPAR_OK)
        snprintf(folder, HYPAR_PLACE_BYTES, "%s", path);
    char *slash = strrchr(folder, '/');
    *(slash ? slash + 1 : folder) = '\0';
    return true;
}

/* The files that have no final name yet. A signal or a lack of memory may come at any time and
 * on any thread. So each name is copied to this array, where it stays readable whatever happens
 * to its struct hypar_output, and nothing is locked. */
static struct unfinished {
    atomic_bool taken, there; /* there: `name` is written and the file exists */
    int lock; /* a descriptor that locks the file until it leaves its temporary name; -1 */
    char name[sizeof((struct hypar_output *)0)->temporary];
} unfinished[32];
enum { N_UNFINISHED = sizeof unfinished / sizeof unfinished[0] };

static void note_unfinished(const char *name, int lock)
{
    for (int i = 0; i < N_UNFINISHED; i++) {
        struct unfinished *u = &unfinished[i];
        if (atomic_exchange(&u->taken, true))
            continue;
        strcpy(u->name, name);
        u->lock = lock;
        atomic_store(&u->there, true);
        return;
    }
    if (lock >= 0)
        close(lock);
}

static void forget_unfinished(const char *name)
{
    for (int i = 0; i < N_UNFINISHED; i++) {
        struct unfinished *u = &unfinished[i];
        if (!atomic_load(&u->there) || strcmp(u->name, name) != 0)
            continue;
        int lock = u->lock;
        atomic_store(&u->there, false);
        atomic_store(&u->taken, false);
        if (lock >= 0)
            close(lock);
        return;
    }
}

void hypar_output_remove_unfinished(void)
{
    int before = errno;
    for (int i = 0; i < N_UNFINISHED; i++)
        if (atomic_load(&unfinished[i].there))
            unlink(unfinished[i].name);
    errno = before;
}

/* An action that creates a file, or names one; it returns NULL or -1 on failure. Signals are
 * blocked meanwhile: a signal between creating a file and recording its name would leave the
 * file behind. */
struct naming {
    const char *name;
    int fd;     /* of an open file that is to be linked; -1: open a new one */
    FILE *file; /* the opened file */
    int why;    /* errno; 0: done */
};

/* Lock a file; the lock outlives the stream. -1: the file system has no locks. The lock tells
 * other processes that the file is in use. EEXIST: another process removed the new file as
 * abandoned before it was locked. */
static int lock_file(int fd, int *why)
{
    struct stat about;
    int lock = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    bool locked = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0;
    bool seized = lock >= 0 && !locked && errno == EWOULDBLOCK;
    if (seized || (fstat(fd, &about) == 0 && about.st_nlink == 0))
        *why = EEXIST;
    if (locked || lock < 0)
        return lock;
    close(lock);
    return -1;
}

static void link_or_open(struct naming *n)
{
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", n->fd);
    if (n->fd >= 0)
        n->why = linkat(AT_FDCWD, self, AT_FDCWD, n->name, AT_SYMLINK_FOLLOW) ? errno : 0;
    else
        n->why = (n->file = fopen(n->name, "wx")) ? 0 : errno;
}

static void make_noted(struct naming *n)
{
    int lock = -1;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    link_or_open(n);
    if (!n->why)
        lock = lock_file(n->fd >= 0 ? n->fd : fileno(n->file), &n->why);
    if (!n->why) {
        note_unfinished(n->name, lock);
    } else {
        if (lock >= 0)
            close(lock);
        if (n->file)
            fclose(n->file);
        n->file = NULL;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = n->why;
    hypar_or_out_of_memory(n->why ? NULL : n);
}

/* The folder of a path, as open() wants it. */
static void folder_of(const char *path, char folder[HYPAR_PLACE_BYTES])
{
    const char *slash = strrchr(path, '/');
    strcpy(folder, ".");
    if (slash)
        snprintf(folder, HYPAR_PLACE_BYTES, "%.*s", (int)(slash + 1 - path), path);
}

/* Abandoned files -------------------------------------------------------------------------- */

/* The process whose temporary file has this name; 0: the name is not one of ours. */
static long writer_of(const char *name)
{
    long process;
    int number, n = 0;
    char again[64];
    if (sscanf(name, "hypar-%ld-%d.part%n", &process, &number, &n) != 2 || !n || name[n] ||
        process < 1)
        return 0;
    snprintf(again, sizeof again, "hypar-%ld-%d.part", process, number);
    return strcmp(again, name) == 0 ? process : 0;
}

/* Locks of another host may be invisible here (NFS with nolock, Lustre with localflock). Shared
 * file systems usually lack nameless files; without these, only a file that was not written for
 * an hour counts as abandoned. */
static bool may_be_left(const struct stat *file, bool shared)
{
    enum { LONG_S = 3600 };
    return S_ISREG(file->st_mode) && file->st_uid == geteuid() &&
           (!shared || file->st_mtime < time(NULL) - LONG_S);
}

/* Remove a file whose process was killed. The file of a live process is kept: the process runs
 * on this host, or it holds the lock. While we hold the lock, the name stays with its file. */
static void remove_if_left(int folder, const char *name, bool shared)
{
    struct stat open_one, named;
    long process = writer_of(name);
    if (!process || kill((pid_t)process, 0) == 0 || errno != ESRCH)
        return;
    int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &open_one) == 0 && may_be_left(&open_one, shared) &&
        flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        open_one.st_ino == named.st_ino && open_one.st_dev == named.st_dev)
        unlinkat(folder, name, 0);
    close(fd);
}

static void remove_left(const char *path, bool shared)
{
    char folder[HYPAR_PLACE_BYTES];
    folder_of(path, folder);
    DIR *dir = hypar_or_out_of_memory(opendir(folder));
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        remove_if_left(dirfd(dir), entry->d_name, shared);
    if (dir)
        closedir(dir);
}

/* Find a new name in the folder of the output, for a file to be opened or an open one (`fd`).
 * The name is short even if the place's is long, and contains the process id, so that abandoned
 * files do not collide with it. 0, or errno. */
static int take_name(struct hypar_output *out, int fd)
{
    enum { MAX_TRIES = 1000 };
    const char *slash = strrchr(out->path, '/');
    int folder = slash ? (int)(slash + 1 - out->path) : 0;
    struct naming n = { .name = out->temporary, .fd = fd, .why = EEXIST };
    for (int i = 0; i < MAX_TRIES && n.why == EEXIST; i++) {
        snprintf(out->temporary, sizeof out->temporary, "%.*shypar-%ld-%d.part", folder,
                 out->path, (long)getpid(), i);
        make_noted(&n);
    }
    if (n.why)
        out->temporary[0] = '\0';
    else if (fd < 0)
        out->file = n.file;
    return n.why;
}

/* Open a file without a name in the folder of its place; it can be named later. False: the file
 * system does not support this. */
static bool open_nameless(struct hypar_output *out)
{
    char folder[HYPAR_PLACE_BYTES], self[64];
    folder_of(out->path, folder);
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    out->file = access(self, F_OK) == 0 ? hypar_or_out_of_memory(fdopen(fd, "w")) : NULL;
    if (!out->file)
        close(fd);
    return out->file;
}

static enum hypar_status open_beside(struct hypar_output *out, struct hypar_error *err)
{
    out->nameless = open_nameless(out);
    remove_left(out->path, !out->nameless);
    if (out->nameless)
        return HYPAR_OK;
    int why = take_name(out, -1);
    return why ? cannot_write(out->path, why, err) : HYPAR_OK;
}

/* The file that standard output is redirected to must not be replaced: later output would be
 * lost. */
static bool is_standard_output(const struct stat *there)
{
    struct stat out;
    return fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == there->st_dev &&
           out.st_ino == there->st_ino;
}

enum hypar_status hypar_output_open(struct hypar_output *out, const char *path,
                                    struct hypar_error *err)
{
    out->file = NULL;
    out->path[0] = out->temporary[0] = '\0';
    out->nameless = false;
    if (strcmp(path, "-") == 0) {
        out->file = stdout;
        strcpy(out->path, "standard output");
        return HYPAR_OK;
    }
    if (!*path)
        return hp_fail(err, HYPAR_RUNTIME, "cannot write: the file has an empty name");
    TRY(hypar_output_place(path, out->path, err));

    struct stat there;
    bool exists = stat(out->path, &there) == 0;
    if (exists && S_ISDIR(there.st_mode))
        return cannot_write(path, EISDIR, err);
    if (!exists && errno == ENAMETOOLONG)
        return cannot_write(path, errno, err);
    if (!exists)
        return open_beside(out, err);
    if (is_standard_output(&there)) { /* /dev/stdout, or its target */
        out->file = stdout;
        return HYPAR_OK;
    }
    if (S_ISREG(there.st_mode)) { /* the new file gets the permissions of the old one */
        TRY(open_beside(out, err));
        (void)!fchmod(fileno(out->file), there.st_mode & 0777);
        return HYPAR_OK;
    }

    /* A device or a pipe (/dev/null, /dev/stdout) is written into, never replaced. */
    out->file = hypar_or_out_of_memory(fopen(out->path, "w"));
    return out->file ? HYPAR_OK : cannot_write(path, errno, err);
}

/* Write the file through to the disk: 0, or errno. Not every file system supports this. */
static int sync_file(int fd)
{
    int failed;
    do
        failed = fsync(fd);
    while (failed && errno == EINTR);
    return !failed || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
}

/* A name is on the disk once its folder is. A failure here is no error: no old data is lost,
 * and the file has its place already. */
static void sync_folder(const char *path)
{
    char folder[HYPAR_PLACE_BYTES];
    folder_of(path, folder);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    sync_file(fd);
    close(fd);
}

/* The file loses its temporary name: it moves to its place, or is removed. 0, or errno. */
static int leave_beside(struct hypar_output *out, bool keep)
{
    int why = 0;
    if (keep && rename(out->temporary, out->path) != 0)
        why = errno;
    if (keep && !why)
        sync_folder(out->path);
    else
        unlink(out->temporary);
    forget_unfinished(out->temporary);
    out->temporary[0] = '\0';
    return why;
}

/* Why a stream's data was not written; 0: it was. An old error is no longer reported, so one
 * more byte is tried: the file is not kept. */
static int write_error(FILE *file)
{
    errno = 0;
    if (fflush(file) == 0 && !ferror(file))
        return 0;
    if (!errno && fputc('\n', file) != EOF)
        fflush(file);
    return errno ? errno : EIO;
}

enum hypar_status hypar_output_finish(struct hypar_output *out, struct hypar_error *err)
{
    FILE *file = out->file;
    int why;
    if (!file)
        return HYPAR_OK;
    out->file = NULL;
    bool beside = out->nameless || out->temporary[0];
    why = write_error(file);
    if (!why && beside)
        why = sync_file(fileno(file));
    if (out->nameless && !why)
        why = take_name(out, fileno(file));
    out->nameless = false;
    if (file != stdout && fclose(file) != 0 && !why)
        why = errno;
    if (why && out->temporary[0])
        leave_beside(out, false);
    return why ? cannot_write(out->path, why, err) : HYPAR_OK;
}

enum hypar_status hypar_output_close(struct hypar_output *out, bool keep,
                                     struct hypar_error *err)
{
    if (keep)
        TRY(hypar_output_finish(out, err));
    else if (out->file && out->file != stdout)
        fclose(out->file);
    out->file = NULL;
    out->nameless = false;
    int why = out->temporary[0] ? leave_beside(out, keep) : 0;
    return why ? cannot_write(out->path, why, err) : HYPAR_OK;
}

/* An existing object that is no regular file is not opened: the reader of a pipe would see its
 * end. */
enum hypar_status hypar_output_try(const char *path, struct hypar_error *err)
{
    struct hypar_output out;
    struct stat there;
    if (strcmp(path, "-") != 0 && stat(path, &there) == 0 && !S_ISREG(there.st_mode) &&
        !S_ISDIR(there.st_mode))
        return access(path, W_OK) == 0 ? HYPAR_OK : cannot_write(path, errno, err);
    TRY(hypar_output_open(&out, path, err));
    return hypar_output_close(&out, false, err);
}
