! SPDX-License-Identifier: BSD-3-Clause
! Tests the older Fortran interfaces on a session's communicator: messages, collectives, and all
! objects whose functions are Fortran procedures (operations, keys of attributes, error handlers;
! MPI-4.1 section 19.3). The program uses mpif.h, or the module mpi if MODULE_MPI is defined.
module callbacks
  implicit none
  integer :: queries = 0, frees = 0, cancellations = 0
  integer :: copies = 0, deletions = 0, handled = 0
  integer :: last_class = -1, last_comm = 0, type_of_operation = 0
contains
  subroutine add(in, inout, length, datatype)
    integer, intent(in) :: length, datatype
    integer, intent(in) :: in(length)
    integer, intent(inout) :: inout(length)
    inout = in + inout
    type_of_operation = datatype
  end subroutine
  subroutine copy_plus_state(comm, keyval, state, in, out, flag, code)
    integer, parameter :: address = selected_int_kind(18)
    integer :: comm, keyval, code
    integer(address) :: state, in, out
    logical :: flag
    copies = copies + 1
    out = in + state
    flag = .true.
    code = 0
  end subroutine
  subroutine count_deletion(comm, keyval, value, state, code)
    integer, parameter :: address = selected_int_kind(18)
    integer :: comm, keyval, code
    integer(address) :: value, state
    deletions = deletions + 1
    code = 0
  end subroutine
  subroutine copy_integer_plus_state(comm, keyval, state, in, out, flag, code)
    integer :: comm, keyval, state, in, out, code
    logical :: flag
    copies = copies + 1
    out = in + state
    flag = .true.
    code = 0
  end subroutine
  subroutine count_integer_deletion(comm, keyval, value, state, code)
    integer :: comm, keyval, value, state, code
    deletions = deletions + 1
    code = 0
  end subroutine
  subroutine describe_request(state, status, code)
    integer, parameter :: address = selected_int_kind(18)
    integer(address) :: state
    integer :: status(*), code
    call fill_status(status, int(state))
    queries = queries + 1
    code = 0
  end subroutine
  subroutine free_state(state, code)
    integer, parameter :: address = selected_int_kind(18)
    integer(address) :: state
    integer :: code
    frees = frees + 1
    code = 0
  end subroutine
  subroutine cancel_request(state, is_complete, code)
    integer, parameter :: address = selected_int_kind(18)
    integer(address) :: state
    logical :: is_complete
    integer :: code
    if (.not. is_complete) cancellations = cancellations + 1
    code = 0
  end subroutine
  subroutine handle_error(comm, code)
    integer :: comm, code
    handled = handled + 1
    last_comm = comm
    last_class = code
  end subroutine
end module

program procedures
  use callbacks
#ifdef MODULE_MPI
  use mpi
#endif
  implicit none
#ifndef MODULE_MPI
  include 'mpif.h'
#endif
  integer :: world, rank, size, right, left, code, failures = 0, i
  logical :: is_world_there
  is_world_there = is_beside_world()
  call open_world(world, merge(1, 0, is_world_there))
  call MPI_Comm_rank(world, rank, code); call succeed(code, 'MPI_Comm_rank')
  call MPI_Comm_size(world, size, code); call succeed(code, 'MPI_Comm_size')
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  call messages()
  call collectives()
  call communicators()
  call operations(world)
  call attributes(world)
  call attributes_of_mpi1(world)
  call attributes_of_types()
  call types_of_kinds()
  call generalised_requests()
  call error_handlers(world)
  if (is_world_there) then
    call operations(MPI_COMM_WORLD)
    call attributes(MPI_COMM_WORLD)
    call attributes_of_mpi1(MPI_COMM_WORLD)
    call error_handlers(MPI_COMM_WORLD)
  end if
  call close_world(failures)
contains
  subroutine messages()
    double precision :: out(100), in(100)
    integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2), requests(2), count, vector
    logical :: flag
    out = rank; in = -1
    call MPI_Sendrecv(out, 100, MPI_DOUBLE_PRECISION, right, 3, &
                      in, 100, MPI_DOUBLE_PRECISION, left, 3, world, status, code)
    call succeed(code, 'MPI_Sendrecv')
    call check(all(in == left), 'MPI_Sendrecv receives')
    call check(status(MPI_SOURCE) == left .and. status(MPI_TAG) == 3, 'a status has source and tag')
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, code)
    call check(count == 100, 'MPI_Get_count of a status')
    call MPI_Get_elements(status, MPI_DOUBLE_PRECISION, count, code)
    call check(count == 100, 'MPI_Get_elements of a status')
    call MPI_Test_cancelled(status, flag, code)
    call check(.not. flag, 'no message is cancelled')
    in = -1
    call MPI_Irecv(in, 100, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 4, world, requests(1), code)
    call MPI_Isend(out, 100, MPI_DOUBLE_PRECISION, right, 4, world, requests(2), code)
    call MPI_Waitall(2, requests, statuses, code); call succeed(code, 'MPI_Waitall')
    call check(all(in == left) .and. statuses(MPI_SOURCE, 1) == left, 'MPI_Waitall fills statuses')
    call check(all(requests == MPI_REQUEST_NULL), 'MPI_Waitall resets requests')
    call MPI_Isend(out, 100, MPI_DOUBLE_PRECISION, right, 5, world, requests(1), code)
    call MPI_Recv(in, 100, MPI_DOUBLE_PRECISION, left, MPI_ANY_TAG, world, MPI_STATUS_IGNORE, code)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, code); call succeed(code, 'MPI_Wait')
    call MPI_Type_vector(10, 1, 2, MPI_DOUBLE_PRECISION, vector, code)
    call MPI_Type_commit(vector, code); call succeed(code, 'MPI_Type_commit')
    in = -1
    call MPI_Sendrecv(out, 1, vector, right, 6, in, 1, vector, left, 6, world, status, code)
    call check(in(1) == left .and. in(2) == -1 .and. in(19) == left, 'a vector is received')
    call MPI_Type_free(vector, code); call succeed(code, 'MPI_Type_free')
  end subroutine
  subroutine types_of_kinds()
    integer, parameter :: classes(3) = [MPI_TYPECLASS_REAL, MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_COMPLEX]
    integer, parameter :: sizes(3) = [8, 4, 16]
    integer :: matched, length
    double precision :: number
    do i = 1, 3
      call MPI_Type_match_size(classes(i), sizes(i), matched, code)
      call succeed(code, 'MPI_Type_match_size')
      call MPI_Type_size(matched, length, code)
      call check(length == sizes(i), 'MPI_Type_match_size gives a type of the size')
    end do
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, matched, code)
    number = rank
    call MPI_Allreduce(MPI_IN_PLACE, number, 1, matched, MPI_MAX, world, code)
    call check(number == size - 1, 'MPI_Allreduce on a type of MPI_Type_match_size')
  end subroutine
  subroutine collectives()
    integer :: sum, some(100), many(100)
    call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, world, code)
    call succeed(code, 'MPI_Allreduce')
    call check(sum == size*(size - 1)/2, 'MPI_Allreduce sums')
    some = rank
    call MPI_Allreduce(MPI_IN_PLACE, some, 100, MPI_INTEGER, MPI_MAX, world, code)
    call check(all(some == size - 1), 'MPI_Allreduce in place')
    some(1) = 42 + rank
    call MPI_Bcast(some, 1, MPI_INTEGER, 0, world, code)
    call check(some(1) == 42, 'MPI_Bcast')
    call MPI_Gather(rank, 1, MPI_INTEGER, many, 1, MPI_INTEGER, 0, world, code)
    if (rank == 0) call check(all(many(1:size) == [(i, i=0, size - 1)]), 'MPI_Gather')
    some = rank
    call MPI_Alltoall(some, 1, MPI_INTEGER, many, 1, MPI_INTEGER, world, code)
    call check(all(many(1:size) == [(i, i=0, size - 1)]), 'MPI_Alltoall')
    call MPI_Barrier(world, code); call succeed(code, 'MPI_Barrier')
  end subroutine
  subroutine communicators()
    integer :: made, group, number, before, after, length
    character(len=MPI_MAX_OBJECT_NAME) :: name
    call MPI_Comm_split(world, mod(rank, 2), 0, made, code); call succeed(code, 'MPI_Comm_split')
    call MPI_Comm_size(made, number, code)
    call check(number == (size + 1 - mod(rank, 2))/2, 'the size of a half')
    call MPI_Comm_free(made, code); call succeed(code, 'MPI_Comm_free')
    call check(made == MPI_COMM_NULL, 'MPI_Comm_free resets its argument')
    call MPI_Comm_group(world, group, code)
    call MPI_Group_size(group, number, code)
    call check(number == size, 'MPI_Group_size')
    call MPI_Group_free(group, code)
    call MPI_Cart_create(world, 1, [size], [.true.], .false., made, code)
    call succeed(code, 'MPI_Cart_create')
    call MPI_Cart_shift(made, 0, 1, before, after, code)
    call check(before == left .and. after == right, 'MPI_Cart_shift')
    call MPI_Comm_free(made, code)
    call MPI_Comm_set_name(world, 'a name', code)
    call MPI_Comm_get_name(world, name, length, code)
    call check(name(1:length) == 'a name', 'MPI_Comm_get_name')
  end subroutine
  subroutine operations(comm)
    integer, intent(in) :: comm
    integer :: op, sum, number
    logical :: commutes
    call MPI_Op_create(add, .true., op, code); call succeed(code, 'MPI_Op_create')
    call MPI_Op_commutative(op, commutes, code)
    call check(commutes, 'MPI_Op_commutative')
    call MPI_Comm_size(comm, number, code)
    type_of_operation = MPI_INTEGER
    call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, op, comm, code)
    call succeed(code, 'MPI_Allreduce with a procedure')
    call check(sum == number*(number - 1)/2, 'a procedure sums')
    call check(type_of_operation == MPI_INTEGER, 'a procedure gets the number of the datatype')
    call MPI_Op_free(op, code); call succeed(code, 'MPI_Op_free')
    call check(op == MPI_OP_NULL, 'MPI_Op_free resets its argument')
  end subroutine
  subroutine attributes(comm)
    integer, intent(in) :: comm
    integer :: keyval, copied
    integer(MPI_ADDRESS_KIND) :: value, seen
    integer(MPI_ADDRESS_KIND), save :: state = 5, large = 2_MPI_ADDRESS_KIND**40
    logical :: flag
    copies = 0; deletions = 0
    call MPI_Comm_get_attr(comm, MPI_TAG_UB, value, flag, code)
    call succeed(code, 'MPI_Comm_get_attr')
    call check(flag .and. value >= 32767, 'MPI_TAG_UB is a number')
    call MPI_Comm_create_keyval(copy_plus_state, count_deletion, keyval, state, code)
    call succeed(code, 'MPI_Comm_create_keyval')
    call MPI_Comm_get_attr(comm, keyval, value, flag, code); call succeed(code, 'MPI_Comm_get_attr')
    call check(.not. flag, 'no attribute is set')
    call MPI_Comm_set_attr(comm, keyval, large, code); call succeed(code, 'MPI_Comm_set_attr')
    call MPI_Comm_get_attr(comm, keyval, value, flag, code)
    call check(flag .and. value == large, 'an attribute is a number')
    call comm_value_seen_by_c(comm, keyval, seen)
    call check(seen == large, 'C reads the number behind an address')
    call MPI_Comm_dup(comm, copied, code); call succeed(code, 'MPI_Comm_dup')
    call MPI_Comm_get_attr(copied, keyval, value, flag, code)
    call check(flag .and. value == large + state .and. copies == 1, &
               'the copy procedure runs with its extra state')
    call MPI_Comm_free(copied, code)
    call check(deletions == 1, 'MPI_Comm_free runs the delete procedure')
    call set_comm_value_in_c(comm, keyval, seen)
    call check(deletions == 2, 'C replaces a value of Fortran')
    call MPI_Comm_get_attr(comm, keyval, value, flag, code)
    call check(flag .and. value == seen, 'a pointer of C is its address')
    call MPI_Comm_delete_attr(comm, keyval, code); call succeed(code, 'MPI_Comm_delete_attr')
    call check(deletions == 3, 'MPI_Comm_delete_attr runs the delete procedure')
    call MPI_Comm_free_keyval(keyval, code); call succeed(code, 'MPI_Comm_free_keyval')
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, state, code)
    call MPI_Comm_set_attr(comm, keyval, large, code)
    call MPI_Comm_dup(comm, copied, code); call succeed(code, 'MPI_Comm_dup')
    call MPI_Comm_get_attr(copied, keyval, value, flag, code)
    call check(flag .and. value == large, 'MPI_COMM_DUP_FN copies')
    call MPI_Comm_free(copied, code)
    call MPI_Comm_delete_attr(comm, keyval, code)
    call MPI_Comm_free_keyval(keyval, code); call succeed(code, 'MPI_Comm_free_keyval')
  end subroutine
  subroutine attributes_of_mpi1(comm)
    integer, intent(in) :: comm
    integer :: keyval, copied, value
    integer, save :: state = 5
    logical :: flag
    copies = 0; deletions = 0
    call MPI_Keyval_create(copy_integer_plus_state, count_integer_deletion, keyval, state, code)
    call succeed(code, 'MPI_Keyval_create')
    call MPI_Attr_put(comm, keyval, -7, code); call succeed(code, 'MPI_Attr_put')
    call MPI_Attr_get(comm, keyval, value, flag, code); call succeed(code, 'MPI_Attr_get')
    call check(flag .and. value == -7, 'an attribute of MPI-1 is an integer')
    call MPI_Comm_dup(comm, copied, code); call succeed(code, 'MPI_Comm_dup')
    call MPI_Attr_get(copied, keyval, value, flag, code)
    call check(flag .and. value == -7 + state .and. copies == 1, &
               'the copy procedure of MPI-1 runs with its state')
    call MPI_Comm_free(copied, code)
    call MPI_Attr_delete(comm, keyval, code); call succeed(code, 'MPI_Attr_delete')
    call check(deletions == 2, 'the delete procedure of MPI-1 runs')
    call MPI_Attr_get(comm, MPI_TAG_UB, value, flag, code)
    call check(flag .and. value >= 32767, 'MPI_TAG_UB is an integer')
    call MPI_Keyval_free(keyval, code); call succeed(code, 'MPI_Keyval_free')
  end subroutine
  subroutine attributes_of_types()
    integer :: keyval, type, copied
    integer(MPI_ADDRESS_KIND) :: value
    integer(MPI_ADDRESS_KIND), save :: state = 5, first = 77
    logical :: flag
    copies = 0; deletions = 0
    call MPI_Type_create_keyval(copy_plus_state, count_deletion, keyval, state, code)
    call succeed(code, 'MPI_Type_create_keyval')
    call MPI_Type_contiguous(3, MPI_INTEGER, type, code)
    call MPI_Type_set_attr(type, keyval, first, code); call succeed(code, 'MPI_Type_set_attr')
    call MPI_Type_get_attr(type, keyval, value, flag, code); call succeed(code, 'MPI_Type_get_attr')
    call check(flag .and. value == first, 'an attribute of a datatype is a number')
    call MPI_Type_dup(type, copied, code); call succeed(code, 'MPI_Type_dup')
    call MPI_Type_get_attr(copied, keyval, value, flag, code)
    call check(flag .and. value == first + state .and. copies == 1, &
               'MPI_Type_dup runs the copy procedure')
    call MPI_Type_free(copied, code)
    call MPI_Type_free(type, code)
    call check(deletions == 2, 'MPI_Type_free runs the delete procedure')
    call MPI_Type_free_keyval(keyval, code); call succeed(code, 'MPI_Type_free_keyval')
  end subroutine
  subroutine generalised_requests()
    integer :: request, status(MPI_STATUS_SIZE), count
    integer(MPI_ADDRESS_KIND), save :: state = 7
    call MPI_Grequest_start(describe_request, free_state, cancel_request, state, request, code)
    call succeed(code, 'MPI_Grequest_start')
    call MPI_Cancel(request, code); call succeed(code, 'MPI_Cancel')
    call MPI_Grequest_complete(request, code); call succeed(code, 'MPI_Grequest_complete')
    call MPI_Wait(request, status, code); call succeed(code, 'MPI_Wait')
    call MPI_Get_elements(status, MPI_BYTE, count, code)
    call check(count == 7 .and. status(MPI_TAG) == 7, &
               'the query procedure fills the status from its extra state')
    call check(queries == 1 .and. frees == 1 .and. cancellations == 1, &
               'each procedure of a request runs once')
  end subroutine
  subroutine error_handlers(comm)
    integer, intent(in) :: comm
    integer :: handler, current, class
    double precision :: data(1)
    handled = 0; data = 0
    call MPI_Comm_create_errhandler(handle_error, handler, code)
    call succeed(code, 'MPI_Comm_create_errhandler')
    call MPI_Comm_set_errhandler(comm, handler, code); call succeed(code, 'MPI_Comm_set_errhandler')
    call MPI_Send(data, -1, MPI_DOUBLE_PRECISION, right, 4, comm, code)
    call MPI_Error_class(code, class, i)
    call check(class == MPI_ERR_COUNT .and. handled == 1, 'a procedure handles the error')
    call check(last_comm == comm .and. last_class == code, &
               'the procedure gets communicator and code')
    call MPI_Comm_get_errhandler(comm, current, code)
    call check(current == handler, 'MPI_Comm_get_errhandler')
    call MPI_Errhandler_free(current, code); call succeed(code, 'MPI_Errhandler_free')
    call MPI_Comm_call_errhandler(comm, MPI_ERR_ARG, code)
    call succeed(code, 'MPI_Comm_call_errhandler')
    call check(handled == 2 .and. last_class == MPI_ERR_ARG, &
               'MPI_Comm_call_errhandler calls the procedure')
    call MPI_Errhandler_free(handler, code); call succeed(code, 'MPI_Errhandler_free')
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, code)
    call MPI_Send(data, -1, MPI_DOUBLE_PRECISION, right, 4, comm, code)
    call check(code /= MPI_SUCCESS .and. handled == 2, 'MPI_ERRORS_RETURN returns')
  end subroutine
  include 'checks.inc'
end program
