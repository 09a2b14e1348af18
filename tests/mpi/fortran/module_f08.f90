! SPDX-License-Identifier: BSD-3-Clause
! Tests the module mpi_f08 on a session's communicator: messages, collectives, groups, persistent
! requests, statuses in all forms (MPI-4.1 section 19.3.5), and all objects whose functions are
! Fortran procedures.
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
  integer :: rank, size, right, left, code, failures = 0, i
  logical :: is_world_there
  is_world_there = is_beside_world()
  call open_world(world%MPI_VAL, merge(1, 0, is_world_there))
  call MPI_Comm_rank(world, rank)
  call MPI_Comm_size(world, size)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  call messages()
  call communicators()
  call groups(world)
  call persistent_requests(world)
  call all_to_all_of_types(world)
  call neighbors()
  call graphs_without_weights()
  call operations(world)
  call attributes(world)
  call error_handlers(world)
  call refused_file()
  if (is_world_there) then
    call groups(MPI_COMM_WORLD)
    call persistent_requests(MPI_COMM_WORLD)
    call all_to_all_of_types(MPI_COMM_WORLD)
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
  subroutine groups(comm)
    type(MPI_Comm), intent(in) :: comm
    type(MPI_Group) :: whole, first, made, rest
    integer :: everyone(3, 1)
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
    type(MPI_Group), intent(inout) :: group
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
    type(MPI_Comm), intent(in) :: comm
    type(MPI_Request) :: requests(2), kept(2)
    type(MPI_Status) :: statuses(2), some(2), one
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
      statuses(1)%MPI_SOURCE = -1; statuses(2)%MPI_SOURCE = -1
      if (step == 1) then
        call MPI_Start(requests(1), code); call succeed(code, 'MPI_Start')
        call MPI_Start(requests(2), code); call succeed(code, 'MPI_Start')
      else
        call MPI_Startall(2, requests, code); call succeed(code, 'MPI_Startall')
      end if
      flag = .false.; finished = 0
      ! MPICH 4.0 returns indices from 0
      select case (merge(3, step, is_mpich() .and. step >= 6 .and. step <= 9))
      case (1)
        call MPI_Wait(requests(1), statuses(1), code); call succeed(code, 'MPI_Wait')
        call MPI_Wait(requests(2), MPI_STATUS_IGNORE, code); call succeed(code, 'MPI_Wait')
      case (2)
        do while (.not. flag)
          call MPI_Test(requests(1), flag, statuses(1), code); call succeed(code, 'MPI_Test')
        end do
        flag = .false.
        do while (.not. flag)
          call MPI_Test(requests(2), flag, MPI_STATUS_IGNORE, code); call succeed(code, 'MPI_Test')
        end do
      case (3)
        call MPI_Waitall(2, requests, statuses, code); call succeed(code, 'MPI_Waitall')
      case (4)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code); call succeed(code, 'MPI_Waitall')
        statuses(1)%MPI_SOURCE = left
      case (5)
        do while (.not. flag)
          call MPI_Testall(2, requests, flag, statuses, code); call succeed(code, 'MPI_Testall')
        end do
      case (6)
        do i = 1, 2
          call MPI_Waitany(2, requests, found, one, code); call succeed(code, 'MPI_Waitany')
          call check(found == 1 .or. found == 2, 'MPI_Waitany counts from 1')
          statuses(found) = one
        end do
        call MPI_Waitany(2, requests, found, MPI_STATUS_IGNORE, code)
        call check(found == MPI_UNDEFINED, 'MPI_Waitany finds no active request')
      case (7)
        do while (finished < 2)
          call MPI_Testany(2, requests, found, flag, one, code); call succeed(code, 'MPI_Testany')
          if (.not. flag) cycle
          call check(found == 1 .or. found == 2, 'MPI_Testany counts from 1')
          statuses(found) = one
          finished = finished + 1
        end do
        call MPI_Testany(2, requests, found, flag, MPI_STATUS_IGNORE, code)
        call check(flag .and. found == MPI_UNDEFINED, 'MPI_Testany finds no active request')
      case (8)
        do while (finished < 2)
          call MPI_Waitsome(2, requests, number, indices, some, code)
          call succeed(code, 'MPI_Waitsome')
          do i = 1, number
            call check(indices(i) == 1 .or. indices(i) == 2, 'MPI_Waitsome counts from 1')
            statuses(indices(i)) = some(i)
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
            statuses(indices(i)) = some(i)
          end do
          finished = finished + number
        end do
      case (10)
        do while (finished < 2)
          call MPI_Waitsome(2, requests, number, indices, MPI_STATUSES_IGNORE, code)
          call succeed(code, 'MPI_Waitsome')
          finished = finished + number
        end do
        statuses(1)%MPI_SOURCE = left
      end select
      call check(received == 100*left + step, 'a persistent request receives')
      call check(statuses(1)%MPI_SOURCE == left, 'a persistent request has a status')
      call check(requests(1) == kept(1) .and. requests(2) == kept(2), &
                 'persistent requests keep their handles')
    end do
    call MPI_Request_free(requests(1), code); call succeed(code, 'MPI_Request_free')
    call MPI_Request_free(requests(2), code); call succeed(code, 'MPI_Request_free')
    call check(requests(1) == MPI_REQUEST_NULL, 'MPI_Request_free resets its argument')
  end subroutine
  subroutine all_to_all_of_types(comm)
    type(MPI_Comm), intent(in) :: comm
    type(MPI_Datatype) :: type, types(size)
    type(MPI_Request) :: request
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
    type(MPI_Comm) :: ring
    type(MPI_Request) :: request
    type(MPI_Datatype) :: types(2)
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
    type(MPI_Comm) :: graph
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
