/* Out of memory: a host program may catch the failure and continue, or end. */
#include "base/arena.h"
#include "base/memory.h"
#include "base/parallel.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/hypar-memory-XXXXXX";

static void run_out(void)
{
    struct arena arena = { 0 };
    NEW(&arena, double, SIZE_MAX / 8);
}

static void run_out_in_job(void *arg, int i)
{
    (void)arg;
    (void)i;
    run_out();
}

static void *run_out_in_thread(void *arg)
{
    run_out();
    return arg;
}

/* A host that goes on. */
static struct host {
    jmp_buf back;
    pthread_t thread;
    int calls;
} host;

static void go_back(size_t bytes, void *arg)
{
    struct host *h = arg;
    assert_true(bytes > 0);
    assert_true(pthread_equal(pthread_self(), h->thread));
    h->calls++;
    longjmp(h->back, 1);
}

static void a_host_may_go_on(void **state)
{
    (void)state;
    host.thread = pthread_self();
    hypar_set_out_of_memory(go_back, &host);
    if (setjmp(host.back) == 0)
        run_out();
    assert_int_equal(host.calls, 1);
    if (setjmp(host.back) == 0) /* on its own thread, though all run out */
        hp_parallel(100, 8, run_out_in_job, NULL);
    assert_int_equal(host.calls, 2);
    hypar_set_out_of_memory(NULL, NULL);
}

static _Thread_local int inner; /* guards that were reached */

static void one_of_several(void *arg, int i)
{
    int *done = arg;
    struct memory_guard guard;
    if (i == 5) { /* a guard inside a guarded job */
        hp_guard(&guard);
        if (setjmp(guard.place) == 0)
            run_out();
        else
            inner++;
        hp_unguard(&guard);
    }
    done[i] = 1;
}

static void guards_nest(void **state)
{
    (void)state;
    int done[10] = { 0 };
    hp_parallel(10, 1, one_of_several, done);
    for (int i = 0; i < 10; i++)
        assert_int_equal(done[i], 1);
    assert_int_equal(inner, 1);
}

/* Hosts that end, in processes of their own. */

static void by_default(void)
{
    run_out();
}

static void by_default_from_a_worker_pool(void)
{
    hp_parallel(64, 8, run_out_in_job, NULL);
}

static void by_default_from_its_threads(void)
{
    pthread_t thread[16];
    for (int i = 0; i < 16; i++)
        if (pthread_create(&thread[i], NULL, run_out_in_thread, NULL) != 0)
            _exit(99);
    for (int i = 0; i < 16; i++)
        pthread_join(thread[i], NULL);
}

static void by_errno(void)
{
    errno = ENOENT;
    hypar_or_out_of_memory(NULL);
    errno = ENOMEM;
    hypar_or_out_of_memory(folder);
    hypar_or_out_of_memory(NULL);
}

static void say_and_exit(size_t bytes, void *arg)
{
    (void)bytes;
    hypar_output_remove_unfinished();
    fputs("host: no memory\n", stderr);
    exit(*(int *)arg);
}

static void by_a_handler_that_exits(void)
{
    static int code = 7;
    hypar_set_out_of_memory(say_and_exit, &code);
    hp_parallel(64, 8, run_out_in_job, NULL);
}

static void return_from(size_t bytes, void *arg)
{
    (void)bytes;
    (void)arg;
}

static void by_a_handler_that_returns(void)
{
    hypar_set_out_of_memory(return_from, NULL);
    run_out();
}

static const struct {
    void (*host)(void);
    int exit_code;
    const char *line;
} endings[] = {
    { by_default, 4, "hypar: out of memory (" },
    { by_default_from_a_worker_pool, 4, "hypar: out of memory (" },
    { by_default_from_its_threads, 4, "hypar: out of memory (" },
    { by_errno, 4, "hypar: out of memory\n" },
    { by_a_handler_that_exits, 7, "host: no memory\n" },
    { by_a_handler_that_returns, 4, "hypar: out of memory (" },
};

static int count_files(void)
{
    int n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    closedir(dir);
    return n;
}

/* Files of all three kinds: being written, finished, given up. */
static _Noreturn void be_host(void (*run)(void), int err)
{
    static struct hypar_output out[3];
    char path[128];
    dup2(err, STDERR_FILENO);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/out%d", folder, i);
        if (hypar_output_open(&out[i], path, NULL) != HYPAR_OK)
            _exit(98);
        fputs("half", out[i].file);
    }
    hypar_output_finish(&out[1], NULL);
    hypar_output_close(&out[2], false, NULL);
    run();
    _exit(97);
}

static void a_host_may_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        int ends[2], status;
        char text[256];
        size_t n = 0;
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            be_host(endings[i].host, ends[1]);
        close(ends[1]);
        for (ssize_t more; (more = read(ends[0], text + n, sizeof text - 1 - n)) > 0;)
            n += (size_t)more;
        text[n] = '\0';
        close(ends[0]);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), endings[i].exit_code);
        assert_int_equal(strncmp(text, endings[i].line, strlen(endings[i].line)), 0);
        assert_ptr_equal(strchr(text, '\n'), text + n - 1); /* one line */
        assert_int_equal(count_files(), 0);
    }
}

/* A host's own allocation functions, which count. */
struct counts {
    int taken, given;
    size_t most; /* that may still be had */
};

static void *count_taken(size_t bytes, void *arg)
{
    struct counts *counts = arg;
    if (bytes > counts->most)
        return NULL;
    counts->taken++;
    return malloc(bytes);
}

static void count_given(void *memory, void *arg)
{
    ((struct counts *)arg)->given++;
    free(memory);
}

static void jump_back(size_t bytes, void *arg)
{
    (void)bytes;
    longjmp(*(jmp_buf *)arg, 1);
}

static void memory_is_the_hosts(void **state)
{
    (void)state;
    struct counts counts = { .most = SIZE_MAX };
    struct hypar_allocator allocator = { count_taken, count_given, &counts };
    struct arena arena = { 0 };
    jmp_buf back;
    hypar_set_allocator(&allocator);
    NEW(&arena, char, 1 << 20);
    for (size_t bytes = 1; bytes < 300; bytes += 7) {
        char *array = hp_array_new(bytes);
        assert_int_equal((uintptr_t)array % 64, 0);
        memset(array, 1, bytes);
        hp_array_free(array);
    }
    hp_arena_free(&arena);
    hp_array_free(NULL);
    assert_true(counts.taken > 40);
    assert_int_equal(counts.taken, counts.given);
    counts.most = 0;
    hypar_set_out_of_memory(jump_back, &back);
    if (setjmp(back) == 0) {
        hp_array_new(1);
        fail_msg("there was memory");
    }
    hypar_set_out_of_memory(NULL, NULL);
    hypar_set_allocator(NULL);
    hp_array_free(hp_array_new(1));
    assert_int_equal(counts.taken, counts.given);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_may_go_on),
        cmocka_unit_test(guards_nest),
        cmocka_unit_test(a_host_may_end),
        cmocka_unit_test(memory_is_the_hosts),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
