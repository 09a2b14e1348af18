! SPDX-License-Identifier: BSD-3-Clause
! A library with Fortran code that a C program loads with RTLD_LOCAL, like an extension module of
! Python: no Fortran library of the MPI library is globally visible.
module plugin
  use mpi
  implicit none
  integer :: failures = 0, handled = 0
contains
  subroutine add(in, inout, length, datatype)
    integer, intent(in) :: length, datatype
    integer, intent(in) :: in(length)
    integer, intent(inout) :: inout(length)
    if (datatype == MPI_INTEGER) inout = in + inout
  end subroutine
  subroutine handle_error(comm, code)
    integer :: comm, code
    if (comm /= MPI_COMM_NULL .and. code /= MPI_SUCCESS) handled = handled + 1
  end subroutine
  ! Use all objects whose functions are Fortran procedures.
  subroutine use_procedures(comm)
    integer, intent(in) :: comm
    integer :: rank, size, op, sum, keyval, handler, code
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Comm_rank(comm, rank, code); call succeed(code, 'MPI_Comm_rank')
    call MPI_Comm_size(comm, size, code); call succeed(code, 'MPI_Comm_size')
    call MPI_Op_create(add, .true., op, code); call succeed(code, 'MPI_Op_create')
    call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, op, comm, code); call succeed(code, 'MPI_Allreduce')
    call check(sum == size*(size - 1)/2, 'a procedure sums')
    call MPI_Op_free(op, code); call succeed(code, 'MPI_Op_free')
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, keyval, &
                                0_MPI_ADDRESS_KIND, code)
    call succeed(code, 'MPI_Comm_create_keyval')
    call MPI_Comm_set_attr(comm, keyval, 7_MPI_ADDRESS_KIND, code)
    call succeed(code, 'MPI_Comm_set_attr')
    call MPI_Comm_get_attr(comm, keyval, value, flag, code); call succeed(code, 'MPI_Comm_get_attr')
    call check(flag .and. value == 7, 'an attribute is a number')
    call MPI_Comm_delete_attr(comm, keyval, code)
    call MPI_Comm_free_keyval(keyval, code); call succeed(code, 'MPI_Comm_free_keyval')
    call MPI_Comm_create_errhandler(handle_error, handler, code)
    call succeed(code, 'MPI_Comm_create_errhandler')
    call MPI_Comm_set_errhandler(comm, handler, code); call succeed(code, 'MPI_Comm_set_errhandler')
    handled = 0
    call MPI_Comm_call_errhandler(comm, MPI_ERR_ARG, code)
    call check(handled == 1, 'a procedure handles the error')
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL, code)
    call MPI_Errhandler_free(handler, code); call succeed(code, 'MPI_Errhandler_free')
  end subroutine
  ! Pass constants that are addresses.
  subroutine use_constants(comm)
    integer, intent(in) :: comm
    integer :: rank, size, requests(2), code, left, right, graph, i
    integer, volatile :: sent, received
    integer, allocatable :: numbers(:), ones(:), places(:), types(:)
    call MPI_Comm_rank(comm, rank, code)
    call MPI_Comm_size(comm, size, code)
    left = mod(rank + size - 1, size); right = mod(rank + 1, size)
    sent = rank; received = -1
    call MPI_Recv_init(received, 1, MPI_INTEGER, left, 3, comm, requests(1), code)
    call MPI_Send_init(sent, 1, MPI_INTEGER, right, 3, comm, requests(2), code)
    call MPI_Startall(2, requests, code); call succeed(code, 'MPI_Startall')
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code); call succeed(code, 'MPI_Waitall')
    call check(received == left, 'a persistent request receives')
    call MPI_Startall(2, requests, code); call succeed(code, 'MPI_Startall')
    do i = 1, 2
      call MPI_Wait(requests(i), MPI_STATUS_IGNORE, code); call succeed(code, 'MPI_Wait')
      call MPI_Request_free(requests(i), code); call succeed(code, 'MPI_Request_free')
    end do
    numbers = [(100*rank + i, i=0, size - 1)]
    ones = [(1, i=1, size)]; places = [(4*i, i=0, size - 1)]; types = [(MPI_INTEGER, i=1, size)]
    call MPI_Alltoallw(MPI_IN_PLACE, ones, places, types, numbers, ones, places, types, comm, code)
    call succeed(code, 'MPI_Alltoallw')
    call check(all(numbers == [(100*i + rank, i=0, size - 1)]), 'MPI_Alltoallw in place')
    call MPI_Dist_graph_create_adjacent(comm, 1, [left], MPI_UNWEIGHTED, 1, [right], MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., graph, code)
    call succeed(code, 'MPI_Dist_graph_create_adjacent')
    call MPI_Comm_free(graph, code); call succeed(code, 'MPI_Comm_free')
  end subroutine
  ! Use the world model only. Return the number of failures.
  integer(c_int) function plugin_run() bind(c)
    use, intrinsic :: iso_c_binding, only: c_int
    integer :: code
    call MPI_Init(code); call succeed(code, 'MPI_Init')
    call use_procedures(MPI_COMM_WORLD)
    call use_constants(MPI_COMM_WORLD)
    call MPI_Finalize(code); call succeed(code, 'MPI_Finalize')
    if (failures == 0) print '(a)', 'test passed'
    plugin_run = failures
  end function
  ! Use only a session. A failure ends the process.
  integer(c_int) function plugin_run_session() bind(c)
    use, intrinsic :: iso_c_binding, only: c_int
    integer :: comm
    call open_world(comm, 0)
    call use_procedures(comm)
    call use_constants(comm)
    call close_world(failures)
    plugin_run_session = 0
  end function
  include 'checks.inc'
end module
