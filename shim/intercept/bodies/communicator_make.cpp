// SPDX-License-Identifier: BSD-3-Clause
// Making communicators, MPI-4.1 §7.4.2: from a group alone, and from others.
#include <string>

#include "shim/intercept/bodies/communicators.hpp"
#include "shim/intercept/bodies/from_group.hpp"
#include "shim/intercept/bodies/groups.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/infos.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::CommunicatorPtr;

base::Result<CommunicatorPtr> create_from_group(MPI_Group handle, const char* tag, MPI_Info info_handle, MPI_Errhandler errhandler) {
  SHIM_TRY_ASSIGN(sessions::ErrorHandlerPtr handler, comm_handler(errhandler));
  SHIM_TRY_ASSIGN(GroupObject group, take_group(handle));
  SHIM_TRY(check_string_tag(tag));
  SHIM_TRY_ASSIGN(sessions::InfoPtr info, take_info(info_handle));
  if (group.group->size() == 0) return CommunicatorPtr();
  SHIM_TRY_ASSIGN(sessions::SessionPtr session, session_of_group(group));
  return sessions::create_from_group(session, group.group, tag, std::move(info), std::move(handler));
}

/// Of the types of the standard, MPI_COMM_TYPE_SHARED.
base::Result<CommunicatorPtr> split_by_type(const CommunicatorPtr& parent, int type, int key) {
  if (type == MPI_COMM_TYPE_SHARED) return sessions::split_by_node(parent, key);
  // everybody stays alone: collective all the same, because another process may name another type
  if (type == MPI_UNDEFINED) return sessions::split(parent, MPI_UNDEFINED, key);
  return Error(ErrorClass::unsupported_operation, "the split type " + std::to_string(type) + " is not supported; MPI_COMM_TYPE_SHARED is");
}

}  // namespace

namespace ours {

int Comm_create_from_group(MPI_Group group, const char* stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm* newcomm) {
  return deliver(Subject::errhandler(errhandler), "MPI_Comm_create_from_group", [&]() -> base::Status {
    SHIM_TRY(check_output(newcomm, "communicator"));
    SHIM_TRY_ASSIGN(CommunicatorPtr made, create_from_group(group, stringtag, info, errhandler));
    SHIM_TRY_ASSIGN(*newcomm, hand_out_comm(std::move(made)));
    return {};
  });
}

int Comm_dup(MPI_Comm comm, MPI_Comm* newcomm) {
  return derive("MPI_Comm_dup", comm, newcomm, [](const CommunicatorPtr& parent) { return sessions::duplicate(parent, true); });
}

int Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* newcomm) {
  return derive("MPI_Comm_dup_with_info", comm, newcomm, [&](const CommunicatorPtr& parent) -> base::Result<CommunicatorPtr> {
    SHIM_TRY(take_info(info));  // hints, of which none is known
    return sessions::duplicate(parent, true);
  });
}

int Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* newcomm) {
  return derive("MPI_Comm_split", comm, newcomm, [&](const CommunicatorPtr& parent) -> base::Result<CommunicatorPtr> {
    if (color < 0 && color != MPI_UNDEFINED)
      return Error(ErrorClass::arg, "the color " + std::to_string(color) + " is negative and not MPI_UNDEFINED");
    return sessions::split(parent, color, key);
  });
}

int Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm* newcomm) {
  return derive("MPI_Comm_split_type", comm, newcomm, [&](const CommunicatorPtr& parent) -> base::Result<CommunicatorPtr> {
    SHIM_TRY(check_intra(*parent));
    SHIM_TRY(take_info(info));
    return split_by_type(parent, split_type, key);
  });
}

int Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* newcomm) {
  return derive("MPI_Comm_create", comm, newcomm, [&](const CommunicatorPtr& parent) -> base::Result<CommunicatorPtr> {
    SHIM_TRY_ASSIGN(GroupObject members, take_group(group));
    return sessions::create(parent, members.group);
  });
}

int Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* newcomm) {
  return derive("MPI_Comm_create_group", comm, newcomm, [&](const CommunicatorPtr& parent) -> base::Result<CommunicatorPtr> {
    SHIM_TRY(check_intra(*parent));
    SHIM_TRY_ASSIGN(GroupObject members, take_group(group));
    SHIM_TRY(check_send_tag(tag));
    if (members.group->size() == 0) return CommunicatorPtr();
    return sessions::create_subgroup(parent, members.group, tag);
  });
}

}  // namespace ours
}  // namespace shim::intercept
