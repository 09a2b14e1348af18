! SPDX-License-Identifier: BSD-3-Clause
! Tests the module mpi_f08 on a session's communicator: messages, collectives, statuses in all
! forms (MPI-4.1 section 19.3.5), and all objects whose functions are Fortran procedures.
module callbacks_f08
  use mpi_f08
  implicit none
  integer :: copies = 0, deletions = 0, handled = 0, last_class = -1
  type(MPI_Comm) :: last_comm
contains
  subroutine add(in, inout, length, datatype)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: in, inout
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: from(:), to(:)
    call c_f_pointer(in, from, [length])
    call c_f_pointer(inout, to, [length])
    if (datatype == MPI_INTEGER) to = from + to
  end subroutine
  subroutine copy_plus_state(comm, keyval, state, in, out, flag, code)
    type(MPI_Comm) :: comm
    integer :: keyval, code
    integer(MPI_ADDRESS_KIND) :: state, in, out
    logical :: flag
    copies = copies + 1
    out = in + state
    flag = .true.
    code = MPI_SUCCESS
  end subroutine
  subroutine count_deletion(comm, keyval, value, state, code)
    type(MPI_Comm) :: comm
    integer :: keyval, code
    integer(MPI_ADDRESS_KIND) :: value, state
    deletions = deletions + 1
    code = MPI_SUCCESS
  end subroutine
  subroutine handle_error(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    handled = handled + 1
    last_comm = comm
    last_class = code
  end subroutine
end module

program module_f08
  use mpi_f08
  use callbacks_f08
  implicit none
  type(MPI_Comm) :: world
  integer :: rank, size, right, left, code, failures = 0
  logical :: is_world_there
  is_world_there = is_beside_world()
  call open_world(world%MPI_VAL, merge(1, 0, is_world_there))
  call MPI_Comm_rank(world, rank)
  call MPI_Comm_size(world, size)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  call messages()
  call communicators()
  call operations(world)
  call attributes(world)
  call error_handlers(world)
  call refused_file()
  if (is_world_there) then
    call operations(MPI_COMM_WORLD)
    call attributes(MPI_COMM_WORLD)
    call error_handlers(MPI_COMM_WORLD)
  end if
  call close_world(failures)
contains
  subroutine messages()
    double precision :: out(100), in(100)
    type(MPI_Status) :: status, statuses(2), copied
    type(MPI_Request) :: requests(2)
    type(MPI_Datatype) :: vector
    integer :: count, old_form(MPI_STATUS_SIZE), sum
    logical :: flag
    out = rank; in = -1
    call MPI_Sendrecv(out, 100, MPI_DOUBLE_PRECISION, right, 3, &
                      in, 100, MPI_DOUBLE_PRECISION, left, 3, world, status)
    call check(all(in == left), 'MPI_Sendrecv receives')
    call check(status%MPI_SOURCE == left .and. status%MPI_TAG == 3, 'a status has source and tag')
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count)
    call check(count == 100, 'MPI_Get_count of a status')
    call MPI_Status_f082f(status, old_form, code); call succeed(code, 'MPI_Status_f082f')
    call check(old_form(MPI_SOURCE) == left .and. old_form(MPI_TAG) == 3, 'a status as an array')
    call MPI_Status_f2f08(old_form, copied, code); call succeed(code, 'MPI_Status_f2f08')
    call check(copied%MPI_SOURCE == left .and. copied%MPI_TAG == 3, 'an array as a status')
    call MPI_Get_count(copied, MPI_DOUBLE_PRECISION, count)
    call check(count == 100, 'MPI_Get_count of a converted status')
    call MPI_Test_cancelled(copied, flag)
    call check(.not. flag, 'no message is cancelled')
    in = -1
    call MPI_Irecv(in, 100, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 4, world, requests(1))
    call MPI_Isend(out, 100, MPI_DOUBLE_PRECISION, right, 4, world, requests(2))
    call MPI_Waitall(2, requests, statuses)
    call check(all(in == left) .and. statuses(1)%MPI_SOURCE == left, 'MPI_Waitall fills statuses')
    call check(requests(1) == MPI_REQUEST_NULL, 'MPI_Waitall resets requests')
    call MPI_Type_vector(10, 1, 2, MPI_DOUBLE_PRECISION, vector)
    call MPI_Type_commit(vector)
    in = -1
    call MPI_Sendrecv(out, 1, vector, right, 6, in, 1, vector, left, 6, world, MPI_STATUS_IGNORE)
    call check(in(1) == left .and. in(2) == -1 .and. in(19) == left, 'a vector is received')
    call MPI_Type_free(vector)
    call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, world)
    call check(sum == size*(size - 1)/2, 'MPI_Allreduce sums')
    out = rank
    call MPI_Allreduce(MPI_IN_PLACE, out, 100, MPI_DOUBLE_PRECISION, MPI_MAX, world)
    call check(all(out == size - 1), 'MPI_Allreduce in place')
    call MPI_Bcast(out, 100, MPI_DOUBLE_PRECISION, 0, world)
    call MPI_Barrier(world)
  end subroutine
  subroutine communicators()
    type(MPI_Comm) :: copy, half
    type(MPI_Group) :: group
    integer :: number
    call MPI_Comm_dup(world, copy)
    call MPI_Comm_split(copy, mod(rank, 2), 0, half)
    call MPI_Comm_size(half, number)
    call check(number == (size + 1 - mod(rank, 2))/2, 'the size of a half')
    call MPI_Comm_free(half)
    call MPI_Comm_free(copy)
    call check(copy == MPI_COMM_NULL, 'MPI_Comm_free resets its argument')
    call MPI_Comm_group(world, group)
    call MPI_Group_size(group, number)
    call check(number == size, 'MPI_Group_size')
    call MPI_Group_free(group)
  end subroutine
  subroutine operations(comm)
    type(MPI_Comm), intent(in) :: comm
    type(MPI_Op) :: op
    integer :: sum, number
    call MPI_Comm_size(comm, number)
    call MPI_Op_create(add, .true., op)
    call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, op, comm)
    call check(sum == number*(number - 1)/2, 'a procedure sums')
    call MPI_Op_free(op)
  end subroutine
  subroutine attributes(comm)
    type(MPI_Comm), intent(in) :: comm
    type(MPI_Comm) :: copied
    integer :: keyval
    integer(MPI_ADDRESS_KIND) :: value, seen
    integer(MPI_ADDRESS_KIND), save :: state = 5, large = 2_MPI_ADDRESS_KIND**40
    logical :: flag
    copies = 0; deletions = 0
    call MPI_Comm_get_attr(comm, MPI_TAG_UB, value, flag)
    call check(flag .and. value >= 32767, 'MPI_TAG_UB is a number')
    call MPI_Comm_create_keyval(copy_plus_state, count_deletion, keyval, state)
    call MPI_Comm_set_attr(comm, keyval, large)
    call MPI_Comm_get_attr(comm, keyval, value, flag)
    call check(flag .and. value == large, 'an attribute is a number')
    call comm_value_seen_by_c(comm%MPI_VAL, keyval, seen)
    call check(seen == large, 'C reads the number behind an address')
    call MPI_Comm_dup(comm, copied)
    call MPI_Comm_get_attr(copied, keyval, value, flag)
    call check(flag .and. value == large + state .and. copies == 1, &
               'the copy procedure runs with its extra state')
    call MPI_Comm_free(copied)
    call MPI_Comm_delete_attr(comm, keyval)
    call check(deletions == 2, 'the delete procedure runs')
    call MPI_Comm_free_keyval(keyval)
  end subroutine
  subroutine error_handlers(comm)
    type(MPI_Comm), intent(in) :: comm
    type(MPI_Errhandler) :: handler
    double precision :: data(1)
    handled = 0; data = 0
    call MPI_Comm_create_errhandler(handle_error, handler)
    call MPI_Comm_set_errhandler(comm, handler)
    call MPI_Errhandler_free(handler)
    call MPI_Send(data, -1, MPI_DOUBLE_PRECISION, right, 4, comm, code)
    call check(code /= MPI_SUCCESS .and. handled == 1, 'a procedure handles the error')
    call check(last_comm == comm .and. last_class == code, &
               'the procedure gets communicator and code')
    call MPI_Comm_call_errhandler(comm, MPI_ERR_ARG, code)
    call succeed(code, 'MPI_Comm_call_errhandler')
    call check(handled == 2 .and. last_class == MPI_ERR_ARG, &
               'MPI_Comm_call_errhandler calls the procedure')
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
  end subroutine
  subroutine refused_file()
    type(MPI_File) :: file
    call MPI_File_open(world, 'no such folder/file', MPI_MODE_RDONLY, MPI_INFO_NULL, file, code)
    call check(code /= MPI_SUCCESS, 'MPI_File_open returns')
  end subroutine
  include 'checks.inc'
end program
