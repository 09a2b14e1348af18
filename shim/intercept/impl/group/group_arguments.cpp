// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/group/group_arguments.hpp"

#include <numeric>
#include <vector>

#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/lifetime.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// Return ranks in MPI_COMM_WORLD, which equal the launcher's ranks and thus ours.
base::Result<std::vector<int>> world_ranks(MPI_Group handle) {
  MPI_Group world = abi::predefined.group_null;
  int size = 0;
  int code = active_table.Group_size(handle, &size);
  if (code == MPI_SUCCESS) code = active_table.Comm_group(abi::predefined.comm_world, &world);
  if (code != MPI_SUCCESS)
    return Error(ErrorClass::group, "the group is unknown to the native MPI library");
  std::vector<int> own(static_cast<std::size_t>(size)), translated(own.size());
  std::iota(own.begin(), own.end(), 0);
  code = active_table.Group_translate_ranks(handle, size, own.data(), world, translated.data());
  active_table.Group_free(&world);
  if (code != MPI_SUCCESS)
    return Error(ErrorClass::group,
                 "the native MPI library cannot return the members of the group");
  return translated;
}

base::Result<sessions::GroupPtr> read_native_group(MPI_Group handle) {
  SHIM_TRY_ASSIGN(std::vector<int> ranks, world_ranks(handle));
  std::vector<std::uint32_t> members;
  for (int rank : ranks) {
    if (rank == MPI_UNDEFINED)
      return Error(ErrorClass::group,
                   "the group has members outside MPI_COMM_WORLD, which sessions do not support");
    members.push_back(static_cast<std::uint32_t>(rank));
  }
  return sessions::Group::of_ranks(members);
}

base::ProcessId self() {
  if (auto process = living_process()) return process->self();
  if (auto session = any_session())  // which may still start
    if (auto process = session->process()) return (*process)->self();
  return {};
}

}  // namespace

base::Result<GroupObject> get_group(MPI_Group handle) {
  SHIM_TRY(require_substrate());  // the call may be the program's first into Intersession
  if (GroupObject* object = objects.groups.find(handle)) return *object;
  if (!abi::is_unset(handle) && handle == abi::predefined.group_empty)
    return GroupObject{sessions::Group::empty(), self()};
  bool is_native = !abi::is_unset(handle) && !abi::is_ours(handle) &&
                   handle != abi::predefined.group_null && is_active();
  if (!is_native) return std::move(group_of(handle)).error();
  SHIM_TRY_ASSIGN(sessions::GroupPtr group, read_native_group(handle));
  return GroupObject{std::move(group), self()};
}

base::Result<sessions::GroupPtr> get_members(MPI_Comm handle) {
  if (auto* comm = find_comm(handle)) return (*comm)->group();
  SHIM_TRY(require_substrate());
  bool is_native = !abi::is_unset(handle) && !abi::is_ours(handle) &&
                   handle != abi::predefined.comm_null && is_active();
  if (!is_native) return slow::no_comm(handle);
  MPI_Group group = abi::predefined.group_null;
  if (active_table.Comm_group(handle, &group) != MPI_SUCCESS)
    return Error(ErrorClass::comm, "the communicator is unknown to the native MPI library");
  auto members = read_native_group(group);
  active_table.Group_free(&group);
  return members;
}

base::Result<MPI_Group> make_group_handle(GroupObject object) {
  if (object.group->size() == 0) return MPI_Group(abi::predefined.group_empty);
  return objects.groups.insert(std::move(object));
}

GroupObject combined(const GroupObject& a, const GroupObject& b, sessions::GroupPtr group) {
  GroupObject made = a.of_session ? a : b;
  made.group = std::move(group);
  return made;
}

}  // namespace shim::intercept
