/* SPDX-License-Identifier: BSD-3-Clause */
/* Uses groups of sessions. */
#pragma once

#include "session_world.h"

/* Create a communicator of the group and check its size; collective over the group. Processes
 * outside return. */
static void use_group(MPI_Group group, const char* tag) {
  MPI_Comm comm;
  int own_rank, members, one = 1, sum = 0;
  MUST(MPI_Group_rank(group, &own_rank));
  if (own_rank == MPI_UNDEFINED) return;
  MUST(MPI_Group_size(group, &members));
  MUST(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  EXPECT(sum == members, "%s: %d of %d members", tag, sum, members);
  MUST(MPI_Comm_free(&comm));
}
