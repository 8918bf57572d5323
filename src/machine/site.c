/* The site's files: machines and devices that users name without a path. Only this file knows
 * their folders and the environment variables that name these. */
#include "machine/machine.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sort.h"

static const char *const kind_folder[] = {
    [HYPAR_SITE_MACHINES] = "machines",
    [HYPAR_SITE_DEVICES] = "devices",
    [HYPAR_SITE_FRAMEWORKS] = "frameworks",
};

struct hypar_site_files {
    struct arena arena; /* holds everything, this struct included */
    struct hypar_site_file *file;
    int n, capacity;
};

/* Folders in the order of search. */
struct folders {
    struct arena *arena;
    const char *kind;
    const char *path[64];
    int n;
};

enum { MOST_FOLDERS = sizeof((struct folders *)0)->path / sizeof(char *) };

/* The XDG Base Directory Specification says to ignore relative paths. */
static void add_folder(struct folders *f, const char *base, size_t length, const char *below)
{
    if (length > 0 && *base == '/' && f->n < MOST_FOLDERS)
        f->path[f->n++] =
            hp_arena_printf(f->arena, "%.*s%s/hypar/%s", (int)length, base, below, f->kind);
}

/* The user's folder, those of XDG_CONFIG_DIRS, /etc. */
static void find_folders(struct folders *f, struct arena *arena, enum hypar_site_kind kind)
{
    const char *own = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const char *shared = getenv("XDG_CONFIG_DIRS");
    *f = (struct folders){ .arena = arena, .kind = kind_folder[kind] };
    if (own && *own)
        add_folder(f, own, strlen(own), "");
    else if (home)
        add_folder(f, home, strlen(home), "/.config");
    if (!shared || !*shared)
        shared = "/etc/xdg";
    for (const char *at = shared; *at;) {
        size_t length = strcspn(at, ":");
        add_folder(f, at, length, "");
        at += length + (at[length] == ':');
    }
    add_folder(f, "/etc", 4, "");
}

/* Such a name cannot lead out of its folder. */
bool hp_is_plain_name(const char *name, size_t length)
{
    static const char inside[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789._-";
    return length > 0 && length <= MACHINE_MAX_NAME && !strchr("._-", name[0]) &&
           strspn(name, inside) >= length;
}

/* Opening a pipe would wait for its writer. A dangling link counts as a file, so that opening
 * it reports the error. */
static bool may_be_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? S_ISREG(about.st_mode) : lstat(path, &about) == 0;
}

bool hp_site_find(enum hypar_site_kind kind, const char *name, char path[HYPAR_PLACE_BYTES])
{
    struct arena scratch = { 0 };
    struct folders folders;
    bool found = false;
    if (!hp_is_plain_name(name, strlen(name)))
        return false;
    find_folders(&folders, &scratch, kind);
    for (int i = 0; i < folders.n && !found; i++) {
        int n = snprintf(path, HYPAR_PLACE_BYTES, "%s/%s.json", folders.path[i], name);
        found = n < HYPAR_PLACE_BYTES && may_be_file(path);
    }
    hp_arena_free(&scratch);
    return found;
}

static bool is_listed(const struct hypar_site_files *files, const char *name, size_t length)
{
    for (int i = 0; i < files->n; i++)
        if (strlen(files->file[i].name) == length &&
            memcmp(files->file[i].name, name, length) == 0)
            return true;
    return false;
}

/* A folder that cannot be opened has no files. */
static void list_folder(struct hypar_site_files *files, const char *folder)
{
    DIR *open = hypar_or_out_of_memory(opendir(folder));
    const struct dirent *entry;
    while (open && (entry = readdir(open))) {
        const char *name = entry->d_name;
        size_t length = strlen(name);
        if (length <= 5 || strcmp(name + length - 5, ".json") != 0 ||
            !hp_is_plain_name(name, length - 5) || is_listed(files, name, length - 5))
            continue;
        const char *path = hp_arena_printf(&files->arena, "%s/%s", folder, name);
        if (!may_be_file(path))
            continue;
        files->file = GROW(&files->arena, struct hypar_site_file, files->file, files->n,
                           &files->capacity);
        files->file[files->n++] =
            (struct hypar_site_file){ hp_arena_strndup(&files->arena, name, length - 5), path };
    }
    if (open)
        closedir(open);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct hypar_site_file *)a)->name,
                  ((const struct hypar_site_file *)b)->name);
}

struct hypar_site_files *hypar_site_files(enum hypar_site_kind kind)
{
    struct arena arena = { 0 };
    struct hypar_site_files *files = NEW(&arena, struct hypar_site_files, 1);
    struct folders folders;
    files->arena = arena;
    find_folders(&folders, &files->arena, kind);
    for (int i = 0; i < folders.n; i++)
        list_folder(files, folders.path[i]);
    hp_sort(files->file, files->n, sizeof *files->file, by_name);
    return files;
}

const struct hypar_site_file *hypar_site_file(const struct hypar_site_files *files, int i)
{
    return i >= 0 && i < files->n ? &files->file[i] : NULL;
}

void hypar_site_files_free(struct hypar_site_files *files)
{
    if (!files)
        return;
    hp_arena_free(&files->arena);
}

const char *const *hp_site_names(struct arena *arena, enum hypar_site_kind kind,
                                 const char *const *before, int *n)
{
    struct hypar_site_files *files = hypar_site_files(kind);
    const char **names = NEW(arena, const char *, *n + files->n);
    memcpy(names, before, (size_t)*n * sizeof *names);
    for (int i = 0; i < files->n; i++)
        names[*n + i] = hp_arena_strdup(arena, files->file[i].name);
    *n += files->n;
    hypar_site_files_free(files);
    return names;
}
