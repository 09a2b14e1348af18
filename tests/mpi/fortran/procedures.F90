! SPDX-License-Identifier: BSD-3-Clause
! Tests the older Fortran interfaces on a session's communicator: messages, collectives, groups,
! persistent requests, and all objects whose functions are Fortran procedures (operations, keys of
! attributes, error handlers; MPI-4.1 section 19.3). The program uses mpif.h, or the module mpi if
! MODULE_MPI is defined.
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
  call groups(world)
  call persistent_requests(world)
  call all_to_all_of_types(world)
  call neighbors()
  call graphs_without_weights()
  call operations(world)
  call attributes(world)
  call attributes_of_mpi1(world)
  call attributes_of_types()
  call types_of_kinds()
  call generalised_requests()
  call error_handlers(world)
  if (is_world_there) then
    call groups(MPI_COMM_WORLD)
    call persistent_requests(MPI_COMM_WORLD)
    call all_to_all_of_types(MPI_COMM_WORLD)
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
  subroutine groups(comm)
    integer, intent(in) :: comm
    integer :: whole, first, made, everyone(3, 1), rest
    everyone(:, 1) = [0, size - 1, 1]
    call MPI_Comm_group(comm, whole, code); call succeed(code, 'MPI_Comm_group')
    call MPI_Group_incl(whole, 1, [0], first, code); call succeed(code, 'MPI_Group_incl')
    call MPI_Group_excl(whole, 1, [0], rest, code); call succeed(code, 'MPI_Group_excl')
    call MPI_Group_union(first, rest, made, code); call check_group(made, size, 'MPI_Group_union')
    call MPI_Group_intersection(first, rest, made, code)
    call check_group(made, 0, 'MPI_Group_intersection')
    call MPI_Group_difference(whole, first, made, code)
    call check_group(made, size - 1, 'MPI_Group_difference')
    call MPI_Group_range_incl(whole, 1, everyone, made, code)
    call check_group(made, size, 'MPI_Group_range_incl')
    call MPI_Group_range_excl(whole, 1, everyone, made, code)
    call check_group(made, 0, 'MPI_Group_range_excl')
    call MPI_Group_incl(whole, 0, [0], made, code); call check_group(made, 0, 'MPI_Group_incl')
    call MPI_Group_excl(whole, size, [(i, i=0, size - 1)], made, code)
    call check_group(made, 0, 'MPI_Group_excl')
    call check_group(first, 1, 'MPI_Group_incl')
    call check_group(rest, size - 1, 'MPI_Group_excl')
    call MPI_Group_free(whole, code); call succeed(code, 'MPI_Group_free')
  end subroutine
  subroutine check_group(group, number, call_name)
    integer, intent(inout) :: group
    integer, intent(in) :: number
    character(*), intent(in) :: call_name
    integer :: found
    call succeed(code, call_name)
    call MPI_Group_size(group, found, code)
    call check(found == number, call_name//' makes a group of the right size')
    call check((group == MPI_GROUP_EMPTY) .eqv. (number == 0), call_name//' of an empty group')
    if (number > 0) call MPI_Group_free(group, code)
  end subroutine
  ! Complete persistent requests by each function for it.
  subroutine persistent_requests(comm)
    integer, intent(in) :: comm
    integer :: requests(2), kept(2)
    integer :: statuses(MPI_STATUS_SIZE, 2), some(MPI_STATUS_SIZE, 2), one(MPI_STATUS_SIZE)
    integer, volatile :: sent, received
    integer :: step, found, indices(2), finished, number
    logical :: flag
    call MPI_Recv_init(received, 1, MPI_INTEGER, left, 8, comm, requests(1), code)
    call succeed(code, 'MPI_Recv_init')
    call MPI_Send_init(sent, 1, MPI_INTEGER, right, 8, comm, requests(2), code)
    call succeed(code, 'MPI_Send_init')
    kept = requests
    do step = 1, 10
      sent = 100*rank + step; received = -1
      statuses(MPI_SOURCE, 1) = -1; statuses(MPI_SOURCE, 2) = -1
      if (step == 1) then
        call MPI_Start(requests(1), code); call succeed(code, 'MPI_Start')
        call MPI_Start(requests(2), code); call succeed(code, 'MPI_Start')
      else
        call MPI_Startall(2, requests, code); call succeed(code, 'MPI_Startall')
      end if
      flag = .false.; finished = 0
      select case (step)
      case (1)
        call MPI_Wait(requests(1), statuses(:, 1), code); call succeed(code, 'MPI_Wait')
        call MPI_Wait(requests(2), MPI_STATUS_IGNORE, code); call succeed(code, 'MPI_Wait')
      case (2)
        do while (.not. flag)
          call MPI_Test(requests(1), flag, statuses(:, 1), code); call succeed(code, 'MPI_Test')
        end do
        flag = .false.
        do while (.not. flag)
          call MPI_Test(requests(2), flag, MPI_STATUS_IGNORE, code); call succeed(code, 'MPI_Test')
        end do
      case (3)
        call MPI_Waitall(2, requests, statuses, code); call succeed(code, 'MPI_Waitall')
      case (4)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code); call succeed(code, 'MPI_Waitall')
        statuses(MPI_SOURCE, 1) = left
      case (5)
        do while (.not. flag)
          call MPI_Testall(2, requests, flag, statuses, code); call succeed(code, 'MPI_Testall')
        end do
      case (6)
        do i = 1, 2
          call MPI_Waitany(2, requests, found, one, code); call succeed(code, 'MPI_Waitany')
          call check(found == 1 .or. found == 2, 'MPI_Waitany counts from 1')
          statuses(:, found) = one
        end do
        call MPI_Waitany(2, requests, found, MPI_STATUS_IGNORE, code)
        call check(is_mpich() .or. found == MPI_UNDEFINED, &
                   'MPI_Waitany finds no active request')  ! MPICH 4.0 adds 1
      case (7)
        do while (finished < 2)
          call MPI_Testany(2, requests, found, flag, one, code); call succeed(code, 'MPI_Testany')
          if (.not. flag) cycle
          call check(found == 1 .or. found == 2, 'MPI_Testany counts from 1')
          statuses(:, found) = one
          finished = finished + 1
        end do
        call MPI_Testany(2, requests, found, flag, MPI_STATUS_IGNORE, code)
        call check(flag .and. (is_mpich() .or. found == MPI_UNDEFINED), &
                   'MPI_Testany finds no active request')
      case (8)
        do while (finished < 2)
          call MPI_Waitsome(2, requests, number, indices, some, code)
          call succeed(code, 'MPI_Waitsome')
          do i = 1, number
            call check(indices(i) == 1 .or. indices(i) == 2, 'MPI_Waitsome counts from 1')
            statuses(:, indices(i)) = some(:, i)
          end do
          finished = finished + number
        end do
        call MPI_Waitsome(2, requests, number, indices, MPI_STATUSES_IGNORE, code)
        call check(number == MPI_UNDEFINED, 'MPI_Waitsome finds no active request')
      case (9)
        do while (finished < 2)
          call MPI_Testsome(2, requests, number, indices, some, code)
          call succeed(code, 'MPI_Testsome')
          do i = 1, number
            call check(indices(i) == 1 .or. indices(i) == 2, 'MPI_Testsome counts from 1')
            statuses(:, indices(i)) = some(:, i)
          end do
          finished = finished + number
        end do
      case (10)
        do while (finished < 2)
          call MPI_Waitsome(2, requests, number, indices, MPI_STATUSES_IGNORE, code)
          call succeed(code, 'MPI_Waitsome')
          finished = finished + number
        end do
        statuses(MPI_SOURCE, 1) = left
      end select
      call check(received == 100*left + step, 'a persistent request receives')
      call check(statuses(MPI_SOURCE, 1) == left, 'a persistent request has a status')
      call check(all(requests == kept), 'persistent requests keep their handles')
    end do
    call MPI_Request_free(requests(1), code); call succeed(code, 'MPI_Request_free')
    call MPI_Request_free(requests(2), code); call succeed(code, 'MPI_Request_free')
    call check(requests(1) == MPI_REQUEST_NULL, 'MPI_Request_free resets its argument')
  end subroutine
  subroutine all_to_all_of_types(comm)
    integer, intent(in) :: comm
    integer :: type, types(size)
    integer :: request
    integer, volatile :: out(size), in(size)
    integer :: counts(size), places(size)
    call MPI_Type_contiguous(1, MPI_INTEGER, type, code)
    call MPI_Type_commit(type, code); call succeed(code, 'MPI_Type_commit')
    counts = 1; places = [(4*i, i=0, size - 1)]; types = MPI_INTEGER
    if (comm == world) types = type  ! MPI_Ialltoallw of Open MPI 4.1 fails with such types
    out = [(100*rank + i, i=0, size - 1)]
    in = -1
    call MPI_Alltoallw(out, counts, places, types, in, counts, places, types, comm, code)
    call succeed(code, 'MPI_Alltoallw')
    call check(all(in == [(100*i + rank, i=0, size - 1)]), 'MPI_Alltoallw')
    in = out
    call MPI_Alltoallw(MPI_IN_PLACE, counts, places, types, in, counts, places, types, comm, code)
    call succeed(code, 'MPI_Alltoallw in place')
    call check(all(in == [(100*i + rank, i=0, size - 1)]), 'MPI_Alltoallw in place')
    in = -1
    call MPI_Ialltoallw(out, counts, places, types, in, counts, places, types, comm, request, code)
    call succeed(code, 'MPI_Ialltoallw')
    call MPI_Wait(request, MPI_STATUS_IGNORE, code); call succeed(code, 'MPI_Wait')
    call check(all(in == [(100*i + rank, i=0, size - 1)]), 'MPI_Ialltoallw')
    call MPI_Type_free(type, code)
  end subroutine
  ! A process has two neighbors, also if it is the only one.
  subroutine neighbors()
    integer :: ring
    integer :: request
    integer :: types(2)
    integer(MPI_ADDRESS_KIND) :: places(2)
    integer, volatile :: out(2), in(2)
    integer :: counts(2)
    call MPI_Dist_graph_create_adjacent(world, 2, [left, right], MPI_UNWEIGHTED, 2, [left, right], &
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, .false., ring, code)
    call succeed(code, 'MPI_Dist_graph_create_adjacent')
    counts = 1; places = [0, 4]; types = MPI_INTEGER; out = rank; in = -1
    call MPI_Neighbor_alltoallw(out, counts, places, types, in, counts, places, types, ring, code)
    call succeed(code, 'MPI_Neighbor_alltoallw')
    call check(all(in == [left, right]), 'MPI_Neighbor_alltoallw')
    in = -1
    call MPI_Ineighbor_alltoallw(out, counts, places, types, in, counts, places, types, ring, &
                                 request, code)
    call succeed(code, 'MPI_Ineighbor_alltoallw')
    call MPI_Wait(request, MPI_STATUS_IGNORE, code); call succeed(code, 'MPI_Wait')
    call check(all(in == [left, right]), 'MPI_Ineighbor_alltoallw')
    call MPI_Comm_free(ring, code)
  end subroutine
  subroutine graphs_without_weights()
    integer :: graph
    integer :: sources(1), destinations(1), number_in, number_out
    logical :: is_weighted
    sources = left; destinations = right
    call MPI_Dist_graph_create_adjacent(world, 1, sources, MPI_UNWEIGHTED, 1, destinations, &
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, code)
    call succeed(code, 'MPI_Dist_graph_create_adjacent')
    call MPI_Dist_graph_neighbors_count(graph, number_in, number_out, is_weighted, code)
    call check(number_in == 1 .and. number_out == 1 .and. .not. is_weighted, &
               'MPI_UNWEIGHTED makes a graph without weights')
    sources = -1; destinations = -1
    call MPI_Dist_graph_neighbors(graph, 1, sources, MPI_UNWEIGHTED, 1, destinations, &
                                  MPI_UNWEIGHTED, code)
    call succeed(code, 'MPI_Dist_graph_neighbors')
    call check(sources(1) == left .and. destinations(1) == right, 'MPI_Dist_graph_neighbors')
    call MPI_Comm_free(graph, code)
    call MPI_Dist_graph_create_adjacent(world, 0, sources, MPI_WEIGHTS_EMPTY, 0, destinations, &
                                        MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., graph, code)
    call succeed(code, 'MPI_Dist_graph_create_adjacent without edges')
    call MPI_Dist_graph_neighbors_count(graph, number_in, number_out, is_weighted, code)
    call check(number_in == 0 .and. is_weighted, 'MPI_WEIGHTS_EMPTY makes a graph with weights')
    call MPI_Comm_free(graph, code)
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
