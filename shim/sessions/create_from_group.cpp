// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/communicator.hpp"
#include "shim/sessions/creation.hpp"
#include "shim/sessions/parent_search.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {

base::Result<CommunicatorPtr> create_from_group(const SessionPtr& session, GroupPtr group, const std::string& tag,
                                                InfoPtr info, ErrorHandlerPtr handler) {
  SHIM_TRY_ASSIGN(Process* const found, session->process());
  Process& process = *found;
  if (group->size() > 0 && group->rank_of(process.self()) == kUndefined)
    return base::Error(base::ErrorClass::group, "the calling process (rank " + std::to_string(process.self().rank) +
                                                    " of mpi://WORLD) is not a member of the group " + group->text());
  const auto operation = process.new_creation(tag, *group);
  if (process.exchange().meeting == Meeting::world && group->size() != 1) SHIM_TRY(fence_world(process, operation));
  if (group->size() == 0) return CommunicatorPtr();
  group = process.groups().same_as(std::move(group));
  SHIM_TRY_ASSIGN(const std::uint32_t lane, session->lane());
  SHIM_TRY_ASSIGN(Agreement agreement,
                  process.creations().agree({.scope = "", .tag = tag, .group = group, .operation = operation, .lane = lane}));
  operation.begin(base::Phase::context);
  process.look_at_crowd();
  auto made = Communicator::make(
      process, Communicator::Parts{.session = session,
                                   .group = group,
                                   .id = agreement.id,
                                   .context = agreement.context_of(group, process.self()),
                                   .error_handler = std::move(handler),
                                   .info = info ? info->duplicate() : nullptr,
                                   .name = "",
                                   .lane = agreement.lane});
  operation.end_all();
  return made;
}

}  // namespace shim::sessions
