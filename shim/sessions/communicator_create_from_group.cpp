// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/communicator.hpp"
#include "shim/sessions/creations.hpp"
#include "shim/sessions/parent_resolver.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {

base::Result<CommunicatorPtr> create_from_group(const SessionPtr& session, GroupPtr group,
                                                const std::string& tag, InfoPtr info,
                                                ErrorHandlerPtr handler,
                                                const TopologyOfGroup* topology) {
  SHIM_TRY_ASSIGN(Process* const found, session->process());
  Process& process = *found;
  if (group->size() > 0 && group->rank_of(process.self()) == kUndefined)
    return base::Error(base::ErrorClass::group,
                       "the calling process (rank " + std::to_string(process.self().rank) +
                           " of mpi://WORLD) is not a member of the group " + group->text());
  const TopologyOfGroup without{"", group};
  const TopologyOfGroup& of = topology != nullptr ? *topology : without;
  const std::string& text = of.text;  // no structured binding: a lambda of clang 14 cannot use it
  const GroupPtr& members = of.members;
  const auto operation = process.new_creation(text.empty() ? tag : tag + " (" + text + ")",
                                              *members);
  // depends on the size of the group, because processes outside it do not know the topology
  if (process.exchange_strategy().fence == FenceScope::world && group->size() != 1)
    SHIM_TRY(fence_world(process, operation));
  if (members->rank_of(process.self()) == kUndefined) return CommunicatorPtr();
  group = process.groups().intern(members);
  SHIM_TRY_ASSIGN(const std::uint32_t vci, session->vci());
  SHIM_TRY_ASSIGN(Agreement agreement, process.creations().agree({.scope = "",
                                                                  .tag = tag,
                                                                  .group = group,
                                                                  .topology = text,
                                                                  .operation = operation,
                                                                  .vci = vci}));
  operation.begin(base::Phase::context);
  auto made = Communicator::make(
      process, Communicator::Parts{.session = session,
                                   .group = group,
                                   .id = agreement.id,
                                   .context = agreement.context_of(group, process.self()),
                                   .error_handler = std::move(handler),
                                   .info = info ? info->duplicate() : nullptr,
                                   .name = "",
                                   .vci = agreement.vci,
                                   .remote = nullptr,
                                   .local = nullptr,
                                   .tag = std::make_shared<const std::string>(tag)});
  process.log().write_if_wanted(base::LogLevel::info, [&] {
    return "created " + made->description() + " over group " + group->text() +
           (text.empty() ? "" : ", " + text);
  });
  operation.end_all();
  return made;
}

}  // namespace shim::sessions
