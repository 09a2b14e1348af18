// SPDX-License-Identifier: BSD-3-Clause
// Uses the C++ bindings that MPI-3.0 removed and Open MPI 4.1 and MPICH still have: objects that
// the bindings make past the MPI interface work, or are refused with a message.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

int failures = 0;
void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", what);
  ++failures;
}

void add(const void* in, void* inout, int length, const MPI::Datatype&) {
  for (int i = 0; i < length; ++i)
    static_cast<int*>(inout)[i] += 2 * static_cast<const int*>(in)[i];
}
void handle(MPI::Comm&, int*, ...) {}
int erase(MPI::Comm&, int, void*, void*) { return MPI_SUCCESS; }

void communicate() {
  const int rank = MPI::COMM_WORLD.Get_rank(), size = MPI::COMM_WORLD.Get_size();
  int sum = 0;
  MPI::COMM_WORLD.Allreduce(&rank, &sum, 1, MPI::INT, MPI::SUM);
  expect(sum == size * (size - 1) / 2, "Allreduce");
  MPI::Intracomm copy = MPI::COMM_WORLD.Dup();
  copy.Barrier();
  copy.Free();
}

/// On MPI_COMM_WORLD and on a communicator of a session.
void operation() {
  MPI::Op twice;
  twice.Init(add, true);
  MPI_Session session;
  MPI_Group group;
  MPI_Comm ours;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "test.cxx", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &ours);
  const int one = 1;
  int world_sum = 0, sum = 0;
  MPI::COMM_WORLD.Allreduce(&one, &world_sum, 1, MPI::INT, twice);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, twice, ours);
  expect(world_sum == 3, "an operation on MPI_COMM_WORLD of two processes");
  expect(sum == 3, "an operation on a communicator of a session");
  twice.Free();
  MPI_Comm_free(&ours);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string scenario = argc > 1 ? argv[1] : "";
  MPI::Init(argc, argv);
  communicate();
  operation();
  if (scenario == "errhandler")
    MPI::COMM_WORLD.Set_errhandler(MPI::Comm::Create_errhandler(handle));
  if (scenario == "keyval") MPI::Comm::Create_keyval(MPI::Comm::NULL_COPY_FN, erase, nullptr);
  MPI::Finalize();
  if (failures == 0) std::puts("test passed");
  return failures != 0;
}
