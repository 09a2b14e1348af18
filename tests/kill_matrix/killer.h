/* SPDX-License-Identifier: BSD-3-Clause */
/* killer.c kills its own process with SIGKILL at a point that the environment names, and reports
 * that it does.
 *
 *   KILL_RANK    rank in the world of the process to kill; every other process is left alone
 *   KILL_AT      the point, one of
 *                  start             before main
 *                  call:MPI_X:N      the N-th call of a function, from 1
 *                  return:MPI_X:N    the return of that call
 *                  begins:PHASE:N    one of Intersession's phases (pmpi_tools/README.md)
 *                  ends:PHASE:N
 *   KILL_DELAY   microseconds from that point to the signal; default 0
 *   KILL_REPORT  file that gets a line just before the signal: a run without that line is a run in
 *                which no process was killed. The process to kill starts once each process of the
 *                job has made a file of this name with its rank behind a point: Hydra sends SIGUSR1
 *                to all processes when one ends, and they must ignore it by then (member.sh).
 */
#ifndef TESTS_KILLER_H
#define TESTS_KILLER_H

/* Return the rank that the launcher's environment states; -1 without a launcher. */
int rank_in_environment(void);
/* Return the rank to kill; -1 if there is none. */
int rank_to_kill(void);
/* Wait for the signal if the point has been passed and the delay runs. */
void await_kill(void);

#endif
