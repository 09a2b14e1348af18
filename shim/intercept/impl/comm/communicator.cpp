// SPDX-License-Identifier: BSD-3-Clause
// Queries and frees communicators (MPI-4.1 §7.4.1, §7.4.3, §7.4.4, §7.6.1, §7.8).
#include "shim/intercept/impl/comm/communicator.hpp"

#include <algorithm>
#include <cstring>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/handles/info_handles.hpp"
#include "shim/intercept/impl/attributes.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"
#include "shim/intercept/impl/group/group_arguments.hpp"
#include "shim/intercept/impl/p2p/buffer_pool.hpp"
#include "shim/intercept/impl/p2p/partitions.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// Return a communicator's group, which references its session for MPI_Comm_create_from_group.
GroupObject group_object(const sessions::CommunicatorPtr& comm) {
  return {comm->group(), comm->process().self(), true, comm->session()};
}

/// Compare with a communicator of the world model: never identical, but possibly congruent.
base::Result<int> compare_groups(MPI_Comm comm1, MPI_Comm comm2) {
  SHIM_TRY_ASSIGN(sessions::GroupPtr a, get_members(comm1));
  SHIM_TRY_ASSIGN(sessions::GroupPtr b, get_members(comm2));
  sessions::Comparison result = sessions::compare(*a, *b);
  return static_cast<int>(
      result == sessions::Comparison::identical ? sessions::Comparison::congruent : result);
}

base::Status release(MPI_Comm* handle) {
  SHIM_TRY(check_output(handle, "communicator"));
  SHIM_TRY_ASSIGN(sessions::CommunicatorPtr comm, get_comm(*handle));
  SHIM_TRY(
      delete_attributes({sessions::KeyFor::communicator, abi::bits(*handle), comm->attributes()}));
  SHIM_TRY(free_comm_handle(*handle));
  *handle = abi::predefined.comm_null;
  return {};
}

}  // namespace

base::Status free_comm_handle(MPI_Comm handle) {
  SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr comm, get_comm(handle));
  keep_for_requests(comm);
  if (!objects.comms.take(handle)) return std::move(comm_of(handle)).error();
  object_buffers().forget(comm.get());
  forget_partition_matcher(comm.get());
  return {};
}

namespace impl {

int Comm_rank(MPI_Comm comm, int* rank) {
  auto* found = find_comm(comm);
  if (found == nullptr) [[unlikely]]
    return fail(Subject::comm(comm), "MPI_Comm_rank", slow::no_comm(comm));
  if (rank == nullptr) [[unlikely]]
    return fail(Subject::comm(comm), "MPI_Comm_rank", slow::no_output("rank"));
  *rank = (*found)->rank();
  return MPI_SUCCESS;
}

int Comm_size(MPI_Comm comm, int* size) {
  auto* found = find_comm(comm);
  if (found == nullptr) [[unlikely]]
    return fail(Subject::comm(comm), "MPI_Comm_size", slow::no_comm(comm));
  if (size == nullptr) [[unlikely]]
    return fail(Subject::comm(comm), "MPI_Comm_size", slow::no_output("size"));
  *size = (*found)->size();
  return MPI_SUCCESS;
}

int Comm_test_inter(MPI_Comm comm, int* flag) {
  return run_with_handler(Subject::comm(comm), "MPI_Comm_test_inter", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr found, get_comm(comm));
    SHIM_TRY(check_output(flag, "flag"));
    *flag = found->is_inter();
    return {};
  });
}

int Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int* result) {
  return run_with_handler(Subject::comm(comm1), "MPI_Comm_compare", [&]() -> base::Status {
    SHIM_TRY(check_output(result, "result"));
    auto *a = find_comm(comm1), *b = find_comm(comm2);
    if (a != nullptr && b != nullptr) {
      *result = static_cast<int>(sessions::compare(**a, **b));
      return {};
    }
    const bool has_inter = (a != nullptr && (*a)->is_inter()) || (b != nullptr && (*b)->is_inter());
    SHIM_TRY_ASSIGN(*result, compare_groups(comm1, comm2));
    if (has_inter) *result = MPI_UNEQUAL;
    return {};
  });
}

int Comm_group(MPI_Comm comm, MPI_Group* group) {
  return run_with_handler(Subject::comm(comm), "MPI_Comm_group", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr found, get_comm(comm));
    SHIM_TRY(check_output(group, "group"));
    SHIM_TRY_ASSIGN(*group, make_group_handle(group_object(found)));
    return {};
  });
}

int Comm_set_name(MPI_Comm comm, const char* name) {
  return run_with_handler(Subject::comm(comm), "MPI_Comm_set_name", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr found, get_comm(comm));
    if (name == nullptr) return Error(ErrorClass::arg, "the name is a null pointer");
    found->set_name(std::string(name, strnlen(name, MPI_MAX_OBJECT_NAME - 1)));
    return {};
  });
}

int Comm_get_name(MPI_Comm comm, char* name, int* length) {
  return run_with_handler(Subject::comm(comm), "MPI_Comm_get_name", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr found, get_comm(comm));
    return store_name(found->name().substr(0, MPI_MAX_OBJECT_NAME - 1), name, length);
  });
}

int Comm_set_info(MPI_Comm comm, MPI_Info info) {
  return run_with_handler(Subject::comm(comm), "MPI_Comm_set_info", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr found, get_comm(comm));
    SHIM_TRY_ASSIGN(sessions::InfoPtr hints, copy_info(info));
    return found->adopt_hints(hints);
  });
}

int Comm_get_info(MPI_Comm comm, MPI_Info* info_used) {
  return run_with_handler(Subject::comm(comm), "MPI_Comm_get_info", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::CommunicatorPtr found, get_comm(comm));
    SHIM_TRY(check_output(info_used, "info object"));
    SHIM_TRY_ASSIGN(*info_used, make_info_handle(found->info()));
    return {};
  });
}

int Comm_free(MPI_Comm* comm) {
  return run_with_handler(
      Subject::at(abi::HandleKind::comm, comm), "MPI_Comm_free", [&]() -> base::Status {
        if (reset_handle_of_parent(objects.comms, comm, MPI_Comm(abi::predefined.comm_null)))
          return {};
        return release(comm);
      });
}

/// Wait for all pending communication first (MPI-4.1 §11.10.4): sent messages must leave before the
/// communicator is freed.
int Comm_disconnect(MPI_Comm* comm) {
  return run_with_handler(
      Subject::at(abi::HandleKind::comm, comm), "MPI_Comm_disconnect", [&]() -> base::Status {
        SHIM_TRY(check_output(comm, "communicator"));
        if (reset_handle_of_parent(objects.comms, comm, MPI_Comm(abi::predefined.comm_null)))
          return {};
        SHIM_TRY_ASSIGN(sessions::CommunicatorPtr found, get_comm(*comm));
        engine_of(*found).flush(found->context(), base::Deadline::never());
        return release(comm);
      });
}

}  // namespace impl
}  // namespace shim::intercept
