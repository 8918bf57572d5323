/* The profile of this machine, which steps on local:N are simulated with. */
#include "cli/opt.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool opt_profile_path(int ranks, int threads, char *path, size_t size)
{
    char name[64];
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool own = cache && *cache == '/';
    if (!own && !(home && *home))
        return false;
    snprintf(name, sizeof name, threads > 1 ? "local-%d-threads-%d.json" : "local-%d.json",
             ranks, threads);
    return (size_t)snprintf(path, size, "%s/%shypar/%s", own ? cache : home,
                            own ? "" : ".cache/", name) < size;
}

bool opt_profile_is_of(const struct args *args, const struct hypar_profile *profile, int ranks,
                       char how[OPT_HOW_BYTES])
{
    const struct hypar_profile_machine *m = hypar_profile_info(profile).machine;
    const char *kernels = hypar_kernels_text(args->kernels);
    int threads = opt_threads(args);
    if (!m)
        return true;
    if (strcmp(m->processor, hypar_local_processor()) != 0 ||
        m->cores != hypar_local_all_cores())
        snprintf(how, OPT_HOW_BYTES, "measured on %.200s, %d cores, which is another machine",
                 m->processor, m->cores);
    else if (m->ranks != ranks || m->threads != threads || strcmp(m->kernels, kernels) != 0)
        snprintf(how, OPT_HOW_BYTES,
                 "measured with ranks %d, threads %d, kernels %.80s; not %d, %d, %.80s",
                 m->ranks, m->threads, m->kernels, ranks, threads, kernels);
    else
        return true;
    return false;
}

/* On a quiet machine the spread is 0.1 or 0.2. */
static const double BUSY_SPREAD = 0.5;

void opt_note_spread(const struct args *args, const char *path,
                     const struct hypar_profile *profile)
{
    static bool told; /* a command may read it for a search and for a prediction */
    double spread = hypar_profile_info(profile).spread;
    if (spread > BUSY_SPREAD && !told)
        opt_note(args,
                 "%s: runs of the same call differ by %.0f %% of their time: the machine was "
                 "busy, and predictions may be off by as much or more; measure again into "
                 "another file when nothing else runs",
                 path, 100 * spread);
    told = told || spread > BUSY_SPREAD;
}

static void note_machine(const struct args *args, const char *path,
                         const struct hypar_profile *profile, int ranks)
{
    char how[OPT_HOW_BYTES];
    if (!opt_profile_is_of(args, profile, ranks, how))
        opt_note(args, "%s: %s", path, how);
    opt_note_spread(args, path, profile);
}

static bool is_local(const struct hypar_machine *machine)
{
    return strcmp(hypar_machine_device(machine, 0)->name, "local") == 0;
}

void opt_local_profile(const struct args *args, const struct hypar_machine *machine,
                       struct hypar_sim_options *how, struct hypar_profile **profile)
{
    char path[PATH_MAX];
    struct hypar_error why;
    int ranks = hypar_machine_device_count(machine);
    if (!is_local(machine))
        return;
    if (*profile) {
        note_machine(args, args->profile, *profile, ranks);
        return;
    }
    if (!opt_profile_path(ranks, opt_threads(args), path, sizeof path) ||
        access(path, R_OK) != 0)
        return;
    if (hypar_profile_read(profile, path, &why) != HYPAR_OK) {
        opt_note(args, "%s; not used", why.text);
        return;
    }
    note_machine(args, path, *profile, ranks);
    how->profile = *profile;
}

void opt_note_unmeasured(const struct args *args, const struct hypar_machine *machine,
                         const struct hypar_sim_options *how)
{
    if (is_local(machine) && !how->profile)
        opt_note(args,
                 "no profile of this machine: the step lacks the time that calls and messages "
                 "take besides their work, which is most of a small model's; 'hypar profile "
                 "MODEL --on local:%d' measures it, of PyTorch 'python -m hypar.torch "
                 "MODULE:FUNCTION --profile FILE'",
                 hypar_machine_device_count(machine));
}

void opt_word_profile(const struct args *args, struct hypar_sim_options *how,
                      struct hypar_profile **profile)
{
    struct hypar_machine *machine;
    if (!args->machine || strncmp(args->machine, "local", strlen("local")) != 0 ||
        hypar_machine_read(&machine, args->machine, NULL) != HYPAR_OK)
        return;
    opt_local_profile(args, machine, how, profile);
    hypar_machine_free(machine);
}
