// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/intercommunicator.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "shim/sessions/bcast_result.hpp"
#include "shim/sessions/creations.hpp"
#include "shim/sessions/derived_intercommunicator.hpp"
#include "shim/sessions/parent_resolver.hpp"
#include "shim/sessions/process.hpp"
#include "shim/sessions/survivors.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;
using Bytes = std::vector<std::byte>;

/// Result that the local leader broadcasts: the creation of both groups that follows, and the other
/// group.
struct OtherGroup {
  base::ExtendedId creation_id;  ///< makes the creation's key unique; equal in both groups
  GroupPtr group;
};

Bytes pack(const base::ExtendedId& creation_id, std::span<const ProcessRange> ranges) {
  Bytes bytes(sizeof(base::ExtendedId) + ranges.size_bytes());
  std::memcpy(bytes.data(), &creation_id, sizeof creation_id);
  if (!ranges.empty())
    std::memcpy(bytes.data() + sizeof creation_id, ranges.data(), ranges.size_bytes());
  return bytes;
}

OtherGroup unpack(const Bytes& bytes) {
  OtherGroup other;
  std::memcpy(&other.creation_id, bytes.data(), sizeof other.creation_id);
  std::vector<ProcessRange> ranges((bytes.size() - sizeof other.creation_id) /
                                   sizeof(ProcessRange));
  std::memcpy(ranges.data(), bytes.data() + sizeof other.creation_id,
              ranges.size() * sizeof(ProcessRange));
  other.group = Group::of_ranges(std::move(ranges));
  return other;
}

/// Make a temporary communicator, which the session does not list because only this file uses it.
CommunicatorPtr make_temporary(Process& process, const SessionPtr& session, GroupPtr group,
                               const Agreement& agreement) {
  return std::make_shared<Communicator>(
      process, Communicator::Parts{.session = session,
                                   .group = group,
                                   .id = agreement.id,
                                   .context = agreement.context_of(group, process.self())});
}

/// Create the intercommunicator, once every process knows both groups.
/// @param within the communicator of the local group whose revocation ends the call
base::Result<CommunicatorPtr> create_from_both_groups(Process& process, Communicator::Parts parts,
                                                      const CommunicatorPtr& within,
                                                      const GroupPtr& remote,
                                                      const std::string& scope,
                                                      const std::string& tag) {
  const GroupPtr& local = within->group();
  const bool is_first = comes_first(*local, *remote);
  const GroupPtr &first = is_first ? local : remote, &second = is_first ? remote : local;
  // the boundary between the groups is a part of the key on which all must agree
  const GroupPtr all = set_union(*first, *second);
  SHIM_TRY_ASSIGN(Agreement agreement,
                  process.creations().agree(
                      {.scope = scope + " " + std::to_string(first->size()),
                       .tag = tag,
                       .group = all,
                       .operation = process.new_creation(tag, *all),
                       .check_precondition = [&] { return check_not_revoked(*within); }}));
  parts.id = agreement.id;
  auto side = [&](const GroupPtr& group) {
    return GroupSide{group,
                     list_of(*agreement.bases, group == first ? 0 : first->size(), group->size())};
  };
  return make_inter(process, std::move(parts), side(local), side(remote));
}

Error not_disjoint(ErrorClass error_class, const Group& common) {
  return Error(error_class, "the two groups of an intercommunicator have the processes " +
                                common.text() + " in common");
}

base::Result<Bytes> pack_if_disjoint(const Group& local, const Group& remote) {
  if (GroupPtr common = set_intersection(local, remote); common->size() > 0)
    return not_disjoint(ErrorClass::group, *common);
  return pack({}, remote.ranges());
}

/// Make a communicator of both leaders.
base::Result<CommunicatorPtr> connect_leaders(const Communicator& local, const Bridge& bridge) {
  Process& process = local.process();
  const Communicator& peer = *bridge.peer;
  SHIM_TRY(check_not_revoked(peer));
  const int own = peer.rank(), other = bridge.remote_leader;
  if (local.group()->rank_of(peer.group()->at(other)) != kUndefined)
    return Error(ErrorClass::comm, "the remote leader, rank " + std::to_string(other) + " of the " +
                                       peer.description() + ", is a member of the local group");
  const std::array<int, 2> ranks = {std::min(own, other), std::max(own, other)};
  SHIM_TRY_ASSIGN(GroupPtr pair, include(*peer.group(), ranks));
  const std::string tag = std::to_string(bridge.tag);
  SHIM_TRY_ASSIGN(Agreement agreement,
                  process.creations().agree({.scope = "leaders in " + scope_of(peer),
                                             .tag = tag,
                                             .group = pair,
                                             .operation = process.new_creation(tag, *pair),
                                             .check_precondition = [&]() -> base::Status {
                                               SHIM_TRY(check_not_revoked(peer));
                                               return check_not_revoked(local);
                                             }}));
  return make_temporary(process, local.session(), std::move(pair), agreement);
}

/// Exchange groups with the other leader. Called by the local leader.
base::Result<Bytes> exchange_with_other_leader(const Communicator& local, const Bridge& bridge) {
  SHIM_TRY_ASSIGN(CommunicatorPtr pair, connect_leaders(local, bridge));
  Bytes own = pack(pair->id(), local.group()->ranges());
  Bytes other;
  for (int root : {0, 1}) {
    base::Result<Bytes> sent = root == pair->rank() ? own : Bytes();
    SHIM_TRY_ASSIGN(Bytes response, bcast_result(*pair, root, std::move(sent)));
    if (root != pair->rank()) other = std::move(response);
  }
  return other;
}

}  // namespace

base::Result<CommunicatorPtr> intercomm_create(const CommunicatorPtr& local, int local_leader,
                                               base::Result<Bridge> bridge) {
  base::Result<Bytes> found = Bytes();
  if (local->rank() == local_leader) {
    if (bridge)
      found = exchange_with_other_leader(*local, *bridge);
    else
      found = std::move(bridge).error();
  }
  SHIM_TRY_ASSIGN(Bytes received, bcast_result(*local, local_leader, std::move(found)));
  const OtherGroup other = unpack(received);
  if (GroupPtr common = set_intersection(*local->group(), *other.group); common->size() > 0)
    return not_disjoint(ErrorClass::comm, *common);
  const std::string scope = "intercommunicator " + std::to_string(other.creation_id.root) + "/" +
                            std::to_string(other.creation_id.counter);
  Communicator::Parts parts{.session = local->session(),
                            .error_handler = local->error_handler(),
                            .tag = local->parts().tag,
                            .is_derived = true};
  return create_from_both_groups(local->process(), std::move(parts), local, other.group, scope, "");
}

base::Result<CommunicatorPtr> intercomm_create_from_groups(const SessionPtr& session,
                                                           const GroupPtr& local, int local_leader,
                                                           base::Result<GroupPtr> remote,
                                                           const std::string& tag, InfoPtr info,
                                                           ErrorHandlerPtr handler) {
  SHIM_TRY_ASSIGN(Process* const there, session->process());
  Process& process = *there;
  if (local->rank_of(process.self()) == kUndefined)
    return Error(ErrorClass::group,
                 "the calling process (rank " + std::to_string(process.self().rank) +
                     " of mpi://WORLD) is not a member of the local group " + local->text());
  const auto operation = process.new_creation(tag, *local);
  if (process.settings().exchange == "world_fence") SHIM_TRY(fence_world(process, operation));
  SHIM_TRY_ASSIGN(
      Agreement agreement,
      process.creations().agree(
          {.scope = "local group", .tag = tag, .group = local, .operation = operation}));
  CommunicatorPtr within = make_temporary(process, session, local, agreement);
  base::Result<Bytes> found = Bytes();
  if (within->rank() == local_leader) {
    if (remote)
      found = pack_if_disjoint(*local, **remote);
    else
      found = std::move(remote).error();
  }
  SHIM_TRY_ASSIGN(Bytes received, bcast_result(*within, local_leader, std::move(found)));
  Communicator::Parts parts{.session = session,
                            .error_handler = std::move(handler),
                            .info = info ? info->duplicate() : nullptr,
                            .tag = std::make_shared<const std::string>(tag)};
  return create_from_both_groups(process, std::move(parts), within, unpack(received).group,
                                 "both groups", tag);
}

}  // namespace shim::sessions
