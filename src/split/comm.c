/* The names of the kinds of communication, as files and reports print them. */
#include "split/comm.h"

static const char *const comm_name[COMM_KIND_COUNT] = {
    [COMM_SEND] = "send",
    [COMM_BROADCAST] = "broadcast",
    [COMM_ALL_GATHER] = "all-gather",
    [COMM_REDUCE] = "reduce",
    [COMM_REDUCE_SCATTER] = "reduce-scatter",
    [COMM_ALL_REDUCE] = "all-reduce",
    [COMM_ALL_TO_ALL] = "all-to-all",
    [COMM_EXCHANGE] = "exchange",
};

const char *hp_comm_text(enum comm_kind kind)
{
    return comm_name[kind];
}
