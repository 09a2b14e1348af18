// SPDX-License-Identifier: BSD-3-Clause
// Implements functions on intercommunicators (MPI-4.1 §7.6).
#include "shim/sessions/intercommunicator.hpp"

#include <string>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/handles/info_handles.hpp"
#include "shim/intercept/impl/comm/from_group.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"
#include "shim/intercept/impl/group/group_arguments.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::CommunicatorPtr;

base::Result<CommunicatorPtr> get_intercomm(MPI_Comm handle) {
  SHIM_TRY_ASSIGN(CommunicatorPtr found, get_comm(handle));
  if (found->is_inter()) return found;
  return Error(ErrorClass::comm, "the " + found->description() + " is not an intercommunicator");
}

base::Status check_leader(int leader, int processes, const char* what) {
  if (leader >= 0 && leader < processes) return {};
  return Error(ErrorClass::rank, std::string("the ") + what + " " + std::to_string(leader) +
                                     " is not in 0…" + std::to_string(processes - 1));
}

/// Return the bridge to the remote leader; significant only at the local leader (MPI-4.1 §7.6.2).
base::Result<sessions::Bridge> get_bridge(MPI_Comm peer_handle, int remote_leader, int tag) {
  SHIM_TRY_ASSIGN(CommunicatorPtr peer, get_intracomm(peer_handle));
  SHIM_TRY(check_leader(remote_leader, peer->size(), "remote leader"));
  SHIM_TRY(check_send_tag(tag));
  return sessions::Bridge{std::move(peer), remote_leader, tag};
}

base::Result<sessions::GroupPtr> get_remote_group(MPI_Group handle, int remote_leader) {
  SHIM_TRY_ASSIGN(GroupObject remote, get_group(handle));
  SHIM_TRY(check_leader(remote_leader, remote.group->size(), "remote leader"));
  return remote.group;
}

/// True for MPI_GROUP_EMPTY, which makes the call local with a null result (MPI-4.1 §7.6.2).
bool is_empty(MPI_Group handle) {
  return !abi::is_unset(handle) && handle == abi::predefined.group_empty;
}

base::Result<CommunicatorPtr> create_from_groups(MPI_Group local_handle, int local_leader,
                                                 MPI_Group remote_handle, int remote_leader,
                                                 const char* tag, MPI_Info info_handle,
                                                 MPI_Errhandler errhandler) {
  SHIM_TRY_ASSIGN(sessions::ErrorHandlerPtr handler, comm_handler(errhandler));
  SHIM_TRY_ASSIGN(GroupObject local, get_group(local_handle));
  SHIM_TRY(check_string_tag(tag));
  SHIM_TRY_ASSIGN(sessions::InfoPtr info, copy_info(info_handle));
  if (local.group->size() == 0 || is_empty(remote_handle)) return CommunicatorPtr();
  SHIM_TRY(check_leader(local_leader, local.group->size(), "local leader"));
  SHIM_TRY_ASSIGN(sessions::SessionPtr session, session_of_group(local));
  SHIM_TRY_ASSIGN(sessions::Process* const process, session->process());
  base::Result<sessions::GroupPtr> remote = sessions::GroupPtr();
  if (local.group->rank_of(process->self()) == local_leader)
    remote = get_remote_group(remote_handle, remote_leader);
  return sessions::intercomm_create_from_groups(session, local.group, local_leader,
                                                std::move(remote), tag, std::move(info),
                                                std::move(handler));
}

}  // namespace

namespace impl {

int Comm_remote_size(MPI_Comm comm, int* size) {
  return run_with_handler(Subject::comm(comm), "MPI_Comm_remote_size", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr found, get_intercomm(comm));
    SHIM_TRY(check_output(size, "size"));
    *size = found->peers();
    return {};
  });
}

int Comm_remote_group(MPI_Comm comm, MPI_Group* group) {
  return run_with_handler(Subject::comm(comm), "MPI_Comm_remote_group", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr found, get_intercomm(comm));
    SHIM_TRY(check_output(group, "group"));
    SHIM_TRY_ASSIGN(*group, make_group_handle({found->remote_group(), found->process().self(), true,
                                               found->session()}));
    return {};
  });
}

int Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader,
                     int tag, MPI_Comm* newintercomm) {
  return derive("MPI_Intercomm_create", local_comm, newintercomm,
                [&](const CommunicatorPtr& local) -> base::Result<CommunicatorPtr> {
                  SHIM_TRY(check_intra(*local));
                  SHIM_TRY(check_leader(local_leader, local->size(), "local leader"));
                  base::Result<sessions::Bridge> bridge = sessions::Bridge();
                  if (local->rank() == local_leader)
                    bridge = get_bridge(peer_comm, remote_leader, tag);
                  return sessions::intercomm_create(local, local_leader, std::move(bridge));
                });
}

int Intercomm_create_from_groups(MPI_Group local_group, int local_leader, MPI_Group remote_group,
                                 int remote_leader, const char* stringtag, MPI_Info info,
                                 MPI_Errhandler errhandler, MPI_Comm* newintercomm) {
  return run_with_handler(
      Subject::errhandler(errhandler), "MPI_Intercomm_create_from_groups", [&]() -> base::Status {
        SHIM_TRY(clear_output(newintercomm));
        SHIM_TRY_ASSIGN(CommunicatorPtr made,
                        create_from_groups(local_group, local_leader, remote_group, remote_leader,
                                           stringtag, info, errhandler));
        SHIM_TRY_ASSIGN(*newintercomm, make_comm_handle(std::move(made)));
        return {};
      });
}

int Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm* newintracomm) {
  return derive("MPI_Intercomm_merge", intercomm, newintracomm,
                [&](const CommunicatorPtr&) -> base::Result<CommunicatorPtr> {
                  SHIM_TRY_ASSIGN(CommunicatorPtr inter, get_intercomm(intercomm));
                  return sessions::merge(inter, high != 0);
                });
}

}  // namespace impl
}  // namespace shim::intercept
