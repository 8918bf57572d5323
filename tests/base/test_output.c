#define _GNU_SOURCE /* O_TMPFILE */
/* Output files: a file appears as a whole or not at all; links, modes and devices are kept. */

#include <hypar/tool.h>

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/hypar-output-XXXXXX";

static char *in_folder(char *path, const char *name)
{
    snprintf(path, 128, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_content(const char *path, const char *want)
{
    char text[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, want);
}

static int count_files(void)
{
    int n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

/* A file names others from where it lies itself; a pipe without a name lies nowhere. */
static void folders(void **state)
{
    (void)state;
    char link[128], path[128], expected[160], found[HYPAR_PLACE_BYTES], fd[64];
    int ends[2];
    assert_true(hypar_file_folder("plan.json", found));
    assert_string_equal(found, "");
    assert_true(hypar_file_folder("not/there/plan.json", found));
    assert_string_equal(found, "not/there/");
    assert_false(hypar_file_folder("-", found));
    assert_string_equal(found, "");

    write_file(in_folder(path, "named"), "");
    assert_int_equal(symlink(path, in_folder(link, "link")), 0);
    assert_true(hypar_file_folder(link, found));
    snprintf(expected, sizeof expected, "%s/", folder);
    assert_string_equal(found, expected);
    unlink(link);
    unlink(path);

    assert_int_equal(pipe(ends), 0);
    snprintf(fd, sizeof fd, "/dev/fd/%d", ends[1]);
    assert_false(hypar_file_folder(fd, found));
    struct hypar_error err;
    assert_int_equal(hypar_output_place(fd, found, &err), HYPAR_OK);
    assert_string_equal(found, fd);
    close(ends[0]);
    close(ends[1]);
}

/* Has an unfinished file a name? Where the file system has files without one it has not. */
static bool named(void)
{
    int fd = open(folder, O_TMPFILE | O_WRONLY, 0600);
    if (fd >= 0)
        close(fd);
    return fd < 0;
}

static void a_file_appears_whole_or_not_at_all(void **state)
{
    (void)state;
    char path[128];
    struct hypar_output out;
    struct hypar_error err;
    write_file(in_folder(path, "a"), "old");

    assert_int_equal(hypar_output_open(&out, path, &err), HYPAR_OK);
    fputs("new", out.file);
    fflush(out.file);
    assert_content(path, "old");
    assert_int_equal(hypar_output_close(&out, false, &err), HYPAR_OK);
    assert_content(path, "old");
    assert_int_equal(count_files(), 1);

    assert_int_equal(hypar_output_open(&out, path, &err), HYPAR_OK);
    fputs("new", out.file);
    assert_int_equal(hypar_output_close(&out, true, &err), HYPAR_OK);
    assert_content(path, "new");
    assert_int_equal(count_files(), 1);
    assert_int_equal(hypar_output_close(&out, true, &err), HYPAR_OK); /* twice is harmless */
    remove(path);
}

static void two_writers_do_not_meet(void **state)
{
    (void)state;
    char path[128];
    struct hypar_output one, two;
    in_folder(path, "b");
    assert_int_equal(hypar_output_open(&one, path, NULL), HYPAR_OK);
    assert_int_equal(hypar_output_open(&two, path, NULL), HYPAR_OK);
    fputs("one", one.file);
    fputs("two", two.file);
    assert_int_equal(hypar_output_close(&one, true, NULL), HYPAR_OK);
    assert_content(path, "one");
    assert_int_equal(hypar_output_close(&two, true, NULL), HYPAR_OK);
    assert_content(path, "two");
    remove(path);
    assert_int_equal(count_files(), 0);
}

static void finished_files_wait_for_each_other(void **state)
{
    (void)state;
    char path[128];
    struct hypar_output out;
    write_file(in_folder(path, "w"), "old");
    for (int keep = 0; keep < 2; keep++) {
        assert_int_equal(hypar_output_open(&out, path, NULL), HYPAR_OK);
        fputs("new", out.file);
        assert_int_equal(hypar_output_finish(&out, NULL), HYPAR_OK);
        assert_null(out.file);
        assert_content(path, "old");
        assert_content(out.temporary, "new");
        assert_int_equal(hypar_output_close(&out, keep, NULL), HYPAR_OK);
        assert_content(path, keep ? "new" : "old");
        assert_int_equal(count_files(), 1);
    }
    remove(path);
}

/* Those that are kept or given up already are nobody's any more. */
static void the_unfinished_can_be_removed(void **state)
{
    (void)state;
    enum { N = 32 };
    static struct hypar_output out[N];
    char path[128], name[8];
    for (int turn = 0; turn < 2; turn++) { /* places in the list are used again */
        for (int i = 0; i < N; i++) {
            snprintf(name, sizeof name, "u%d", i);
            assert_int_equal(hypar_output_open(&out[i], in_folder(path, name), NULL), HYPAR_OK);
        }
        assert_int_equal(hypar_output_close(&out[3], true, NULL), HYPAR_OK);
        assert_int_equal(hypar_output_close(&out[4], false, NULL), HYPAR_OK);
        assert_int_equal(hypar_output_finish(&out[5], NULL), HYPAR_OK);
        assert_int_equal(count_files(), named() ? N - 1 : 2);
        hypar_output_remove_unfinished();
        assert_int_equal(count_files(), 1);
        assert_content(in_folder(path, "u3"), "");
        for (int i = 0; i < N; i++)
            hypar_output_close(&out[i], false, NULL);
        remove(path);
        assert_int_equal(count_files(), 0);
    }
}

static void a_link_stays_a_link(void **state)
{
    (void)state;
    char path[128], target[128], text[128];
    struct hypar_output out;
    write_file(in_folder(target, "target"), "old");
    assert_int_equal(symlink("target", in_folder(path, "link")), 0);
    assert_int_equal(hypar_output_open(&out, path, NULL), HYPAR_OK);
    fputs("new", out.file);
    assert_int_equal(hypar_output_close(&out, true, NULL), HYPAR_OK);
    assert_content(target, "new");
    assert_int_equal(readlink(path, text, sizeof text), 6);
    remove(path);
    remove(target);
}

/* Also one that leads, over another, to a file that is yet to be made; a circle is refused. */
static void a_link_to_nothing_stays_a_link(void **state)
{
    (void)state;
    char path[128], other[128], target[128], text[128];
    struct hypar_output out;
    struct hypar_error err;
    in_folder(target, "target");
    assert_int_equal(symlink(target, in_folder(other, "other")), 0);
    assert_int_equal(symlink("./other", in_folder(path, "link")), 0);
    assert_int_equal(hypar_output_open(&out, path, NULL), HYPAR_OK);
    fputs("new", out.file);
    assert_int_equal(hypar_output_close(&out, true, NULL), HYPAR_OK);
    assert_content(target, "new");
    assert_int_equal(readlink(path, text, sizeof text), 7);
    remove(target);
    remove(other);
    assert_int_equal(symlink("link", other), 0);
    assert_int_equal(hypar_output_open(&out, path, &err), HYPAR_RUNTIME);
    assert_non_null(strstr(err.text, "link: cannot write: "));
    remove(other);
    remove(path);
    assert_int_equal(count_files(), 0);
}

static void the_mode_of_a_file_is_kept(void **state)
{
    (void)state;
    static const mode_t modes[] = { 0600, 0644, 0664, 0755, 0400 };
    char path[128];
    in_folder(path, "mode");
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        struct hypar_output out;
        struct stat about;
        write_file(path, "old");
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_int_equal(hypar_output_open(&out, path, NULL), HYPAR_OK);
        assert_int_equal(fstat(fileno(out.file), &about), 0);
        assert_int_equal(about.st_mode & 0777, modes[i]); /* never more open than the old */
        fputs("new", out.file);
        assert_int_equal(hypar_output_close(&out, true, NULL), HYPAR_OK);
        assert_content(path, "new");
        assert_int_equal(stat(path, &about), 0);
        assert_int_equal(about.st_mode & 0777, modes[i]);
        remove(path);
    }
}

static void a_name_may_be_as_long_as_the_system_takes(void **state)
{
    (void)state;
    char path[512], name[256], process[32];
    snprintf(process, sizeof process, "-%ld-", (long)getpid());
    for (int n = 245; n <= 255; n++) {
        struct hypar_output out;
        memset(name, 'n', (size_t)n);
        name[n] = '\0';
        snprintf(path, sizeof path, "%s/%s", folder, name);
        assert_int_equal(hypar_output_open(&out, path, NULL), HYPAR_OK);
        fputs("new", out.file);
        assert_int_equal(hypar_output_finish(&out, NULL), HYPAR_OK);
        assert_non_null(strstr(out.temporary, process)); /* others' leftovers do not matter */
        assert_int_equal(hypar_output_close(&out, true, NULL), HYPAR_OK);
        assert_content(path, "new");
        remove(path);
    }
    assert_int_equal(count_files(), 0);
}

static void failures_say_why(void **state)
{
    (void)state;
    char path[128], longest[5000];
    struct hypar_output out;
    struct hypar_error err;
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';

    assert_int_equal(hypar_output_open(&out, in_folder(path, "none/x"), &err), HYPAR_RUNTIME);
    assert_non_null(strstr(err.text, "none/x: cannot write: No such file or directory"));
    assert_null(out.file);
    assert_int_equal(hypar_output_open(&out, folder, &err), HYPAR_RUNTIME);
    assert_non_null(strstr(err.text, "Is a directory"));
    assert_int_equal(hypar_output_open(&out, "", &err), HYPAR_RUNTIME);
    assert_int_equal(hypar_output_open(&out, longest, &err), HYPAR_RUNTIME);
    assert_int_equal(hypar_output_open(&out, longest, NULL), HYPAR_RUNTIME);
    assert_int_equal(hypar_output_close(&out, true, NULL), HYPAR_OK); /* nothing was opened */
}

static void a_device_is_written_into(void **state)
{
    (void)state;
    struct hypar_output out;
    struct hypar_error err;
    assert_int_equal(hypar_output_open(&out, "/dev/null", &err), HYPAR_OK);
    fputs("x", out.file);
    assert_int_equal(hypar_output_close(&out, true, &err), HYPAR_OK);
    if (access("/dev/full", W_OK) != 0)
        return;
    assert_int_equal(hypar_output_open(&out, "/dev/full", &err), HYPAR_OK);
    fputs("x", out.file);
    assert_int_equal(hypar_output_close(&out, true, &err), HYPAR_RUNTIME);
    assert_string_equal(err.text, "/dev/full: cannot write: No space left on device");
}

static void dash_is_standard_output(void **state)
{
    (void)state;
    struct hypar_output out;
    assert_int_equal(hypar_output_open(&out, "-", NULL), HYPAR_OK);
    assert_ptr_equal(out.file, stdout);
    assert_int_equal(hypar_output_close(&out, true, NULL), HYPAR_OK);
}

static void the_version_is_the_header_s(void **state)
{
    (void)state;
    assert_int_equal(hypar_version() >> 16, HYPAR_VERSION_MAJOR);
    assert_int_equal(hypar_version() >> 8 & 0xff, HYPAR_VERSION_MINOR);
    assert_int_equal(hypar_version() & 0xff, HYPAR_VERSION_PATCH);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

/* The number of a process that has ended. */
static long ended_process(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return (long)child;
}

static void make_old(const char *path)
{
    struct timespec times[2] = { { 0, 0 }, { 0, 0 } };
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* What a killed process left is removed; what may belong to another that lives is not. Where
 * unfinished files have names, that is also a file that was written a moment ago. */
static void left_over_files(void **state)
{
    (void)state;
    static const char *const format[] = { "hypar-%ld-0.part",  "hypar-%ld-1.part",
                                          "hypar-%ld-2.part",  "hypar-%ld-0.part.txt",
                                          "hypar-0%ld-0.part", "hypar-%ld-0.par",
                                          "hypar-%ld-3.part" };
    enum { LEFT, LOCKED, ALIVE, N = sizeof format / sizeof *format, YOUNG = N - 1 };
    char name[64], path[N][128], written[128];
    struct hypar_output out;
    struct hypar_error err;
    long process = ended_process();
    for (int i = 0; i < N; i++) {
        snprintf(name, sizeof name, format[i], i == ALIVE ? (long)getppid() : process);
        write_file(in_folder(path[i], name), "");
        if (i != YOUNG)
            make_old(path[i]);
    }
    int lock = open(path[LOCKED], O_RDWR);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    assert_int_equal(hypar_output_open(&out, in_folder(written, "written"), &err), HYPAR_OK);
    for (int i = 0; i < N; i++)
        assert_int_equal(access(path[i], F_OK) == 0, i == YOUNG ? named() : i != LEFT);
    assert_int_equal(hypar_output_finish(&out, &err), HYPAR_OK);
    int finished = open(out.temporary, O_RDWR); /* it waits for its place, and is locked */
    assert_int_equal(flock(finished, LOCK_EX | LOCK_NB), -1);
    assert_int_equal(hypar_output_close(&out, true, &err), HYPAR_OK);
    assert_int_equal(flock(finished, LOCK_EX | LOCK_NB), 0);
    close(finished);
    close(lock);
    assert_int_equal(hypar_output_try(written, &err), HYPAR_OK);
    assert_int_equal(access(path[LOCKED], F_OK), -1);
    unlink(written);
    for (int i = 0; i < N; i++)
        unlink(path[i]);
    assert_int_equal(count_files(), 0);
}

/* What cannot be written is told, and nothing changes. */
static void tried_files(void **state)
{
    (void)state;
    char path[128], pipe_path[128], name[300];
    struct hypar_error err;
    write_file(in_folder(path, "old"), "old");
    assert_int_equal(hypar_output_try(path, &err), HYPAR_OK);
    assert_content(path, "old");
    unlink(path);
    assert_int_equal(hypar_output_try(path, &err), HYPAR_OK);
    assert_int_equal(hypar_output_try("-", &err), HYPAR_OK);
    assert_int_equal(mkfifo(in_folder(pipe_path, "pipe"), 0600), 0);
    assert_int_equal(hypar_output_try(pipe_path, &err), HYPAR_OK); /* no reader: not opened */
    unlink(pipe_path);
    assert_int_equal(hypar_output_try(folder, &err), HYPAR_RUNTIME);
    assert_int_equal(hypar_output_try(in_folder(path, "none/new"), &err), HYPAR_RUNTIME);
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    assert_int_equal(hypar_output_try(name, &err), HYPAR_RUNTIME);
    assert_non_null(strstr(err.text, "File name too long"));
    assert_int_equal(count_files(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folders),
        cmocka_unit_test(a_file_appears_whole_or_not_at_all),
        cmocka_unit_test(two_writers_do_not_meet),
        cmocka_unit_test(finished_files_wait_for_each_other),
        cmocka_unit_test(the_unfinished_can_be_removed),
        cmocka_unit_test(a_link_stays_a_link),
        cmocka_unit_test(a_link_to_nothing_stays_a_link),
        cmocka_unit_test(the_mode_of_a_file_is_kept),
        cmocka_unit_test(a_name_may_be_as_long_as_the_system_takes),
        cmocka_unit_test(failures_say_why),
        cmocka_unit_test(left_over_files),
        cmocka_unit_test(tried_files),
        cmocka_unit_test(a_device_is_written_into),
        cmocka_unit_test(dash_is_standard_output),
        cmocka_unit_test(the_version_is_the_header_s),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
