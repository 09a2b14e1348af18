// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/intercommunicator.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "shim/sessions/creation.hpp"
#include "shim/sessions/inter_derive.hpp"
#include "shim/sessions/parent_search.hpp"
#include "shim/sessions/process.hpp"
#include "shim/sessions/telling.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;
using Bytes = std::vector<std::byte>;

/// What the leader tells the members of its group: which creation of both groups follows, and who is in the other.
struct OtherGroup {
  base::ExtendedId meeting;  ///< makes the creation's key its own; the same in both groups
  GroupPtr group;
};

Bytes pack(const base::ExtendedId& meeting, std::span<const Range> ranges) {
  Bytes bytes(sizeof(base::ExtendedId) + ranges.size_bytes());
  std::memcpy(bytes.data(), &meeting, sizeof meeting);
  if (!ranges.empty()) std::memcpy(bytes.data() + sizeof meeting, ranges.data(), ranges.size_bytes());
  return bytes;
}

OtherGroup unpack(const Bytes& bytes) {
  OtherGroup other;
  std::memcpy(&other.meeting, bytes.data(), sizeof other.meeting);
  std::vector<Range> ranges((bytes.size() - sizeof other.meeting) / sizeof(Range));
  std::memcpy(ranges.data(), bytes.data() + sizeof other.meeting, ranges.size() * sizeof(Range));
  other.group = Group::of_ranges(std::move(ranges));
  return other;
}

/// A communicator that only this file knows, so the session does not tell of it.
CommunicatorPtr make_for_a_while(Process& process, const SessionPtr& session, GroupPtr group, const Agreement& agreement) {
  return std::make_shared<Communicator>(
      process, Communicator::Parts{
                   .session = session, .group = group, .id = agreement.id, .context = agreement.context_of(group, process.self())});
}

/// The creation of the intercommunicator itself, when every process knows both groups.
base::Result<CommunicatorPtr> meet(Process& process, Communicator::Parts parts, const GroupPtr& local, const GroupPtr& remote,
                                   const std::string& scope, const std::string& tag) {
  const bool is_first = comes_first(*local, *remote);
  const GroupPtr &first = is_first ? local : remote, &second = is_first ? remote : local;
  // where one group ends and the other begins is a part of what all must agree on
  const GroupPtr all = set_union(*first, *second);
  SHIM_TRY_ASSIGN(Agreement agreement,
                  process.creations().agree({.scope = scope + " " + std::to_string(first->size()), .tag = tag, .group = all,
                                             .operation = process.new_creation(tag, *all)}));
  parts.id = agreement.id;
  auto side = [&](const GroupPtr& group) {
    return Side{group, list_of(*agreement.bases, group == first ? 0 : first->size(), group->size())};
  };
  return make_inter(process, std::move(parts), side(local), side(remote));
}

Error not_disjoint(ErrorClass error_class, const Group& common) {
  return Error(error_class, "the two groups of an intercommunicator have the processes " + common.text() + " in common");
}

base::Result<Bytes> pack_if_disjoint(const Group& local, const Group& remote) {
  if (GroupPtr common = set_intersection(local, remote); common->size() > 0) return not_disjoint(ErrorClass::group, *common);
  return pack({}, remote.ranges());
}

/// Both leaders, and nobody else: a communicator of theirs.
base::Result<CommunicatorPtr> meet_other_leader(const Communicator& local, const Bridge& bridge) {
  Process& process = local.process();
  const Communicator& peer = *bridge.peer;
  const int own = peer.rank(), other = bridge.remote_leader;
  if (local.group()->rank_of(peer.group()->at(other)) != kUndefined)
    return Error(ErrorClass::comm, "the remote leader, rank " + std::to_string(other) + " of the " + peer.description() +
                                       ", is a member of the local group");
  const std::array<int, 2> ranks = {std::min(own, other), std::max(own, other)};
  SHIM_TRY_ASSIGN(GroupPtr pair, include(*peer.group(), ranks));
  const std::string tag = std::to_string(bridge.tag);
  SHIM_TRY_ASSIGN(Agreement agreement,
                  process.creations().agree({.scope = "leaders in " + scope_of(peer), .tag = tag, .group = pair,
                                             .operation = process.new_creation(tag, *pair)}));
  return make_for_a_while(process, local.session(), std::move(pair), agreement);
}

/// At the leader: the other leader's group, in exchange for the own one.
base::Result<Bytes> ask_other_leader(const Communicator& local, const Bridge& bridge) {
  SHIM_TRY_ASSIGN(CommunicatorPtr pair, meet_other_leader(local, bridge));
  Bytes own = pack(pair->id(), local.group()->ranges());
  Bytes other;
  for (int root : {0, 1}) {
    base::Result<Bytes> said = root == pair->rank() ? own : Bytes();
    SHIM_TRY_ASSIGN(Bytes heard, tell_all(*pair, root, std::move(said)));
    if (root != pair->rank()) other = std::move(heard);
  }
  return other;
}

}  // namespace

base::Result<CommunicatorPtr> intercomm_create(const CommunicatorPtr& local, int local_leader, base::Result<Bridge> bridge) {
  base::Result<Bytes> found = Bytes();
  if (local->rank() == local_leader) {
    if (bridge) found = ask_other_leader(*local, *bridge);
    else found = std::move(bridge).error();
  }
  SHIM_TRY_ASSIGN(Bytes told, tell_all(*local, local_leader, std::move(found)));
  const OtherGroup other = unpack(told);
  if (GroupPtr common = set_intersection(*local->group(), *other.group); common->size() > 0)
    return not_disjoint(ErrorClass::comm, *common);
  const std::string scope = "intercommunicator " + std::to_string(other.meeting.leader) + "/" + std::to_string(other.meeting.counter);
  Communicator::Parts parts{.session = local->session(), .error_handler = local->error_handler()};
  return meet(local->process(), std::move(parts), local->group(), other.group, scope, "");
}

base::Result<CommunicatorPtr> intercomm_create_from_groups(const SessionPtr& session, const GroupPtr& local, int local_leader,
                                                           base::Result<GroupPtr> remote, const std::string& tag,
                                                           InfoPtr info, ErrorHandlerPtr handler) {
  SHIM_TRY_ASSIGN(Process* const there, session->process());
  Process& process = *there;
  if (local->rank_of(process.self()) == kUndefined)
    return Error(ErrorClass::group, "the calling process (rank " + std::to_string(process.self().rank) +
                                        " of mpi://WORLD) is not a member of the local group " + local->text());
  const auto operation = process.new_creation(tag, *local);
  if (process.settings().exchange == "world_fence") SHIM_TRY(fence_world(process, operation));
  SHIM_TRY_ASSIGN(Agreement agreement, process.creations().agree(
                                           {.scope = "local group", .tag = tag, .group = local, .operation = operation}));
  CommunicatorPtr within = make_for_a_while(process, session, local, agreement);
  base::Result<Bytes> found = Bytes();
  if (within->rank() == local_leader) {
    if (remote) found = pack_if_disjoint(*local, **remote);
    else found = std::move(remote).error();
  }
  SHIM_TRY_ASSIGN(Bytes told, tell_all(*within, local_leader, std::move(found)));
  Communicator::Parts parts{
      .session = session, .error_handler = std::move(handler), .info = info ? info->duplicate() : nullptr};
  return meet(process, std::move(parts), local, unpack(told).group, "both groups", tag);
}

}  // namespace shim::sessions
