/* check_program.h - what must hold for every program, checked element by element against the
 * plan it was made from.
 *
 * Who writes and who reads each element follows from the tasks alone; from that, how often it
 * has to be sent. The program's cells, comms and totals must say the same: nothing is sent
 * twice to a device, nothing that is there already, nothing to who does not read it. */
#ifndef TESTS_CHECK_PROGRAM_H
#define TESTS_CHECK_PROGRAM_H

#include "base/error.h"
#include "program/program.h"

/* HYPAR_RUNTIME with the reason if something does not hold. At most 64 devices. */
enum hypar_status check_program(const struct hypar_program *program, struct hypar_error *err);

#endif /* TESTS_CHECK_PROGRAM_H */
