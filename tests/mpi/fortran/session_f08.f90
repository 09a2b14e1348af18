! SPDX-License-Identifier: BSD-3-Clause
! Calls the session procedures of the module mpi_f08, which MPICH 4 has, and checks the version.
program session_f08
  use mpi_f08
  implicit none
  type(MPI_Session) :: session
  type(MPI_Group) :: group
  type(MPI_Comm) :: comm
  integer :: rank, processes, total, length
  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: text

  call MPI_Get_library_version(text, length)
  if (index(text(1:length), "Intersession ") == 0) error stop "the sessions are not Intersession's"
  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session)
  call MPI_Group_from_session_pset(session, "mpi://WORLD", group)
  call MPI_Comm_create_from_group(group, "fortran", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm)
  call MPI_Group_free(group)
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, processes)
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, comm)
  if (total /= processes * (processes - 1) / 2) error stop "wrong sum of ranks"
  call MPI_Comm_free(comm)
  call MPI_Session_finalize(session)
  print "(a)", "test passed"
end program session_f08
