// SPDX-License-Identifier: BSD-3-Clause
// Intercommunicators, MPI-4.1 §7.6.
#include "shim/sessions/intercommunicator.hpp"

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

base::Result<CommunicatorPtr> take_inter(MPI_Comm handle) {
  SHIM_TRY_ASSIGN(CommunicatorPtr found, take_comm(handle));
  if (found->is_inter()) return found;
  return Error(ErrorClass::comm, "the " + found->description() + " is not an intercommunicator");
}

base::Status check_leader(int leader, int processes, const char* what) {
  if (leader >= 0 && leader < processes) return {};
  return Error(ErrorClass::rank, std::string("the ") + what + " " + std::to_string(leader) + " is not in 0…" +
                                     std::to_string(processes - 1));
}

/// The way to the other leader, which is of meaning at the local leader alone (MPI-4.1 §7.6.2).
base::Result<sessions::Bridge> take_bridge(MPI_Comm peer_handle, int remote_leader, int tag) {
  SHIM_TRY_ASSIGN(CommunicatorPtr peer, take_intra(peer_handle));
  SHIM_TRY(check_leader(remote_leader, peer->size(), "remote leader"));
  SHIM_TRY(check_send_tag(tag));
  return sessions::Bridge{std::move(peer), remote_leader, tag};
}

base::Result<sessions::GroupPtr> take_remote_group(MPI_Group handle, int remote_leader) {
  SHIM_TRY_ASSIGN(GroupObject remote, take_group(handle));
  SHIM_TRY(check_leader(remote_leader, remote.group->size(), "remote leader"));
  return remote.group;
}

/// MPI_GROUP_EMPTY for either group makes the call a local one that gives nothing (MPI-4.1 §7.6.2).
bool is_empty(MPI_Group handle) { return !abi::is_unset(handle) && handle == abi::predefined.group_empty; }

base::Result<CommunicatorPtr> create_from_groups(MPI_Group local_handle, int local_leader, MPI_Group remote_handle,
                                                 int remote_leader, const char* tag, MPI_Info info_handle,
                                                 MPI_Errhandler errhandler) {
  SHIM_TRY_ASSIGN(sessions::ErrorHandlerPtr handler, comm_handler(errhandler));
  SHIM_TRY_ASSIGN(GroupObject local, take_group(local_handle));
  SHIM_TRY(check_string_tag(tag));
  SHIM_TRY_ASSIGN(sessions::InfoPtr info, take_info(info_handle));
  if (local.group->size() == 0 || is_empty(remote_handle)) return CommunicatorPtr();
  SHIM_TRY(check_leader(local_leader, local.group->size(), "local leader"));
  SHIM_TRY_ASSIGN(sessions::SessionPtr session, session_of_group(local));
  SHIM_TRY_ASSIGN(sessions::Process* const process, session->process());
  base::Result<sessions::GroupPtr> remote = sessions::GroupPtr();
  if (local.group->rank_of(process->self()) == local_leader) remote = take_remote_group(remote_handle, remote_leader);
  return sessions::intercomm_create_from_groups(session, local.group, local_leader, std::move(remote), tag, std::move(info),
                                                std::move(handler));
}

}  // namespace

namespace ours {

int Comm_remote_size(MPI_Comm comm, int* size) {
  return deliver(Subject::comm(comm), "MPI_Comm_remote_size", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr found, take_inter(comm));
    SHIM_TRY(check_output(size, "size"));
    *size = found->peers();
    return {};
  });
}

int Comm_remote_group(MPI_Comm comm, MPI_Group* group) {
  return deliver(Subject::comm(comm), "MPI_Comm_remote_group", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr found, take_inter(comm));
    SHIM_TRY(check_output(group, "group"));
    SHIM_TRY_ASSIGN(*group, hand_out_group({found->remote_group(), found->process().self(), true, found->session()}));
    return {};
  });
}

int Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag,
                     MPI_Comm* newintercomm) {
  return derive("MPI_Intercomm_create", local_comm, newintercomm, [&](const CommunicatorPtr& local) -> base::Result<CommunicatorPtr> {
    SHIM_TRY(check_intra(*local));
    SHIM_TRY(check_leader(local_leader, local->size(), "local leader"));
    base::Result<sessions::Bridge> bridge = sessions::Bridge();
    if (local->rank() == local_leader) bridge = take_bridge(peer_comm, remote_leader, tag);
    return sessions::intercomm_create(local, local_leader, std::move(bridge));
  });
}

int Intercomm_create_from_groups(MPI_Group local_group, int local_leader, MPI_Group remote_group, int remote_leader,
                                 const char* stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm* newintercomm) {
  return deliver(Subject::errhandler(errhandler), "MPI_Intercomm_create_from_groups", [&]() -> base::Status {
    SHIM_TRY(clear_output(newintercomm));
    SHIM_TRY_ASSIGN(CommunicatorPtr made, create_from_groups(local_group, local_leader, remote_group, remote_leader, stringtag,
                                                             info, errhandler));
    SHIM_TRY_ASSIGN(*newintercomm, hand_out_comm(std::move(made)));
    return {};
  });
}

int Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm* newintracomm) {
  return derive("MPI_Intercomm_merge", intercomm, newintracomm, [&](const CommunicatorPtr&) -> base::Result<CommunicatorPtr> {
    SHIM_TRY_ASSIGN(CommunicatorPtr inter, take_inter(intercomm));
    return sessions::merge(inter, high != 0);
  });
}

}  // namespace ours
}  // namespace shim::intercept
