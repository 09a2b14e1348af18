// SPDX-License-Identifier: BSD-3-Clause
// Creates communicators from groups and from communicators, MPI-4.1 §7.4.2.
#include <string>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/handles/info_handles.hpp"
#include "shim/intercept/impl/comm/from_group.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"
#include "shim/intercept/impl/group/group_arguments.hpp"
#include "shim/intercept/lifetime.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::CommunicatorPtr;

constexpr const char* kHardwareKey = "mpi_hw_resource_type";

base::Result<CommunicatorPtr> create_from_group(MPI_Group handle, const char* tag,
                                                MPI_Info info_handle, MPI_Errhandler errhandler) {
  SHIM_TRY_ASSIGN(sessions::ErrorHandlerPtr handler, comm_handler(errhandler));
  SHIM_TRY_ASSIGN(GroupObject group, get_group(handle));
  SHIM_TRY(check_string_tag(tag));
  SHIM_TRY_ASSIGN(sessions::InfoPtr info, copy_info(info_handle));
  // a caller with the empty group needs no session, but takes part in the fence of the job if a
  // session lives (exchange=world_fence)
  const bool is_empty = group.group->size() == 0;
  SHIM_TRY_ASSIGN(sessions::SessionPtr session, is_empty ? any_session() : session_of_group(group));
  if (!session) return CommunicatorPtr();
  return sessions::create_from_group(session, group.group, tag, std::move(info),
                                     std::move(handler));
}

std::string value_of(const sessions::InfoPtr& info, std::string_view key) {
  return info ? info->get(key).value_or("") : "";
}

/// Split by the info's resource. Without known key each process gets its own part; still
/// collective, because other processes may have a key.
base::Result<CommunicatorPtr> split_by_resource(const CommunicatorPtr& parent,
                                                const sessions::InfoPtr& info, bool with_psets,
                                                int key) {
  const std::string pset = with_psets ? value_of(info, "mpi_pset_name") : "",
                    kind = value_of(info, kHardwareKey);
  if (pset.empty()) return sessions::split_by_hardware(parent, kind, key);
  if (!kind.empty())
    return Error(ErrorClass::info,
                 "info keys mpi_pset_name and mpi_hw_resource_type are both set; set only one");
  return sessions::split_by_pset(parent, pset, key);
}

/// Split at the next hardware level; store the level in the info, if given (MPI-4.1 §7.4.2).
base::Result<CommunicatorPtr> split_unguided(const CommunicatorPtr& parent, MPI_Info info,
                                             int key) {
  SHIM_TRY(check_intra(*parent));  // the next level is defined for one group
  SHIM_TRY_ASSIGN(sessions::HardwareLevel level, sessions::split_at_next_level(parent, key));
  if (level.communicator) SHIM_TRY(put_into_info(info, kHardwareKey, level.kind));
  return level.communicator;
}

base::Result<CommunicatorPtr> split_by_type(const CommunicatorPtr& parent, int type,
                                            MPI_Info handle, int key) {
  SHIM_TRY_ASSIGN(sessions::InfoPtr info, copy_info(handle));
  switch (type) {
    case MPI_COMM_TYPE_SHARED:
      return sessions::split_by_node(parent, key);
    case MPI_COMM_TYPE_HW_GUIDED:
      return split_by_resource(parent, info, false, key);
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
      return split_by_resource(parent, info, true, key);
    case MPI_COMM_TYPE_HW_UNGUIDED:
      return split_unguided(parent, handle, key);
    // own part; still collective, because another process may pass another type
    case MPI_UNDEFINED:
      return sessions::split(parent, MPI_UNDEFINED, key);
    default:
      return Error(ErrorClass::arg, "the split type " + std::to_string(type) + " is invalid");
  }
}

}  // namespace

namespace impl {

int Comm_create_from_group(MPI_Group group, const char* stringtag, MPI_Info info,
                           MPI_Errhandler errhandler, MPI_Comm* newcomm) {
  return run_with_handler(Subject::errhandler(errhandler), "MPI_Comm_create_from_group",
                          [&]() -> base::Status {
                            SHIM_TRY(clear_output(newcomm));
                            SHIM_TRY_ASSIGN(CommunicatorPtr made,
                                            create_from_group(group, stringtag, info, errhandler));
                            SHIM_TRY_ASSIGN(*newcomm, make_comm_handle(std::move(made)));
                            return {};
                          });
}

int Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  return derive("MPI_Comm_split", comm, newcomm,
                [&](const CommunicatorPtr& parent) -> base::Result<CommunicatorPtr> {
                  if (color < 0 && color != MPI_UNDEFINED)
                    return Error(ErrorClass::arg, "the color " + std::to_string(color) +
                                                      " is negative and not MPI_UNDEFINED");
                  return sessions::split(parent, color, key);
                });
}

int Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm) {
  return derive("MPI_Comm_split_type", comm, newcomm,
                [&](const CommunicatorPtr& parent) -> base::Result<CommunicatorPtr> {
                  return split_by_type(parent, split_type, info, key);
                });
}

int Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm) {
  return derive("MPI_Comm_create", comm, newcomm,
                [&](const CommunicatorPtr& parent) -> base::Result<CommunicatorPtr> {
                  SHIM_TRY_ASSIGN(GroupObject members, get_group(group));
                  return sessions::create(parent, members.group);
                });
}

int Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm) {
  return derive("MPI_Comm_create_group", comm, newcomm,
                [&](const CommunicatorPtr& parent) -> base::Result<CommunicatorPtr> {
                  SHIM_TRY(check_intra(*parent));
                  SHIM_TRY_ASSIGN(GroupObject members, get_group(group));
                  SHIM_TRY(check_send_tag(tag));
                  if (members.group->size() == 0) return CommunicatorPtr();
                  return sessions::create_subgroup(parent, members.group, tag);
                });
}

}  // namespace impl
}  // namespace shim::intercept
