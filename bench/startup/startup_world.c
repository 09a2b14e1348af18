/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures MPI_Init and first uses in a program of the world model.
 * Built with the substrate alone. */
#include "bench/startup/startup.h"

/* Time a communicator created from the group of all processes. Collective. */
static void time_second(Phases* phases) {
  enum { kTimes = 5 };
  double times[kTimes];
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  for (int i = 0; i < kTimes; ++i) {
    MPI_Comm comm;
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    double start = now_ms();
    check(MPI_Comm_create_group(MPI_COMM_WORLD, group, i, &comm), "MPI_Comm_create_group");
    times[i] = now_ms() - start;
    MPI_Comm_free(&comm);
  }
  MPI_Group_free(&group);
  add_phase(phases, "second_comm", median(times, kTimes));
}

int main(int argc, char** argv) {
  const Words words = words_of(argc, argv);
  Phases phases = start_phases(&words);
  MPI_Init(&argc, &argv);
  end_phase(&phases, "world_init");
  const Reach reach = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL};
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &phases.rank);
  if (words.more) {
    time_allreduce(&phases, &reach, size);
    report(&phases, &reach, size);
    time_second(&phases);
    time_dup(&phases, MPI_COMM_WORLD);
    time_first_messages(&phases, MPI_COMM_WORLD, words.peers);
  }
  report(&phases, &reach, size);
  leave_if_asked(&words, &reach);
  MPI_Finalize();
  return 0;
}
