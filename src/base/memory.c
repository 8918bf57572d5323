/* Memory from the system or from the host. When memory runs out, the process prints a line and
 * exits, unless the host has set a handler. */
#include "base/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*host_handler)(size_t bytes, void *arg);
static void *host_arg;
static _Thread_local struct memory_guard *innermost;

void hypar_set_out_of_memory(void (*handler)(size_t bytes, void *arg), void *arg)
{
    host_handler = handler;
    host_arg = arg;
}

static struct hypar_allocator host;

void hypar_set_allocator(const struct hypar_allocator *allocator)
{
    host = allocator ? *allocator : (struct hypar_allocator){ 0 };
}

void *hp_take(size_t bytes)
{
    void *memory = host.allocate ? host.allocate(bytes, host.arg) : malloc(bytes);
    if (!memory)
        hypar_out_of_memory(bytes);
    return memory;
}

void hp_give_back(void *memory)
{
    if (!memory)
        return;
    if (host.allocate)
        host.release(memory, host.arg);
    else
        free(memory);
}

void hp_guard(struct memory_guard *guard)
{
    guard->outer = innermost;
    innermost = guard;
}

void hp_unguard(const struct memory_guard *guard)
{
    innermost = guard->outer;
}

/* Not exit(): other threads may be using objects that exit() destroys, and the buffer of
 * standard output holds a partial result. If several threads run out of memory, the first one
 * reports it. */
static _Noreturn void end_process(size_t bytes)
{
    static atomic_flag ending = ATOMIC_FLAG_INIT;
    char line[80] = "hypar: out of memory\n";
    while (atomic_flag_test_and_set(&ending))
        pause();
    hypar_output_remove_unfinished();
    if (bytes)
        snprintf(line, sizeof line, "hypar: out of memory (%zu bytes)\n", bytes);
    (void)!write(STDERR_FILENO, line, strlen(line));
    _exit(hypar_status_exit_code(HYPAR_RUNTIME));
}

void hypar_out_of_memory(size_t bytes)
{
    if (innermost) {
        innermost->bytes = bytes;
        longjmp(innermost->place, 1);
    }
    if (host_handler)
        host_handler(bytes, host_arg);
    end_process(bytes);
}

void *hypar_or_out_of_memory(void *made)
{
    if (!made && errno == ENOMEM)
        hypar_out_of_memory(0);
    return made;
}
