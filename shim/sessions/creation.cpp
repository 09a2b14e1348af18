// SPDX-License-Identifier: BSD-3-Clause
// Runs one member's call: join, contribute, wait. Node leaders also collect and forward.
#include "shim/sessions/creation.hpp"

#include <algorithm>
#include <new>

#include "shim/sessions/derived_communicator.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

/// 2 s that a failed call waits for the addresses of processes to notify; later creations continue
/// the search.
constexpr base::Nanoseconds kQueuedFailuresWait = 2'000'000'000;

using base::Error;
using base::ErrorClass;

std::shared_ptr<const p2p::ContextBases> bases_of_members(const MemberTable& entries) {
  std::vector<std::uint32_t> by_rank;
  by_rank.reserve(entries.size());
  for (std::size_t index = 0; index < entries.size(); ++index)
    by_rank.push_back(entries.entry_at(index).context_base);
  return bases_of(std::move(by_rank));
}

CreationKey key_of(const Creations::Call& call) {
  return key_of(call.scope, call.tag, *call.group, call.topology);
}

/// Check that all members are processes of world 0: a Group accepts any world and rank, but only
/// processes of world 0 can be reached.
base::Status check_members(const Group& group, std::uint32_t world_size) {
  for (const ProcessRange& range : group.ranges())
    if (range.world != 0 || range.highest() >= world_size)
      return Error(ErrorClass::group,
                   "the group " + group.text() +
                       " contains processes outside mpi://WORLD, whose last rank is " +
                       std::to_string(world_size - 1));
  return {};
}

}  // namespace

CreationKey key_of(std::string scope, std::string tag, const Group& group, std::string topology) {
  const auto ranges = group.ranges();
  return {std::move(scope), std::move(tag), {ranges.begin(), ranges.end()}, std::move(topology)};
}

p2p::ContextSpec Agreement::context_of(const GroupPtr& group, base::ProcessId self) const {
  return {.members = group,
          .own_rank = group->rank_of(self),
          .bases = bases,
          .own_base = own_base,
          .path = {}};
}

Creations::Creations(Process& process) : process_(process) {}
Creations::~Creations() = default;

base::Result<Creations::OwnContribution> Creations::make_own_contribution(
    const CreationRoles& roles, const base::TracedOperation& during) {
  OwnContribution own;
  if (roles.spans_nodes) {
    if (roles.is_node_leader())
      // peers look up node leaders only: contributions carry the other members' addresses
      SHIM_TRY(process_.publish_address(during));
    SHIM_TRY_ASSIGN(own.address, process_.own_address());
  }
  // last, so that no base is taken if the process has no network
  own.context_base = process_.take_context_base();
  return own;
}

std::unique_ptr<ParentResolver> Creations::make_parent_resolver(const TrackedCreation& creation) {
  const auto& roles = creation.roles();
  std::vector<std::uint32_t> node_leaders;
  for (int leader : roles.node_leaders) node_leaders.push_back(creation.group()->at(leader).rank);
  std::optional<std::uint32_t> parent;
  if (roles.parent) parent = creation.group()->at(*roles.parent).rank;
  return std::make_unique<ParentResolver>(process_, std::move(node_leaders), parent);
}

void Creations::record_thread() {
  last_call_ = base::now_ns();
  if (!first_thread_) first_thread_ = std::this_thread::get_id();
  if (*first_thread_ != std::this_thread::get_id()) several_threads_ = true;
}

base::Error Creations::called_twice(const Call& call) const {
  return {ErrorClass::arg,
          "another thread of this process is creating a communicator with the same group and the "
          "same tag \"" +
              call.tag + "\"; use another tag (MPI-4.1 §7.4.2)"};
}

base::Status Creations::join(const Call& call, const CreationRoles& roles,
                             const OwnContribution& own, JoinedCall& joined) {
  const CreationKey key = key_of(call);
  std::lock_guard guard(mutex_);
  record_thread();

  // drop unsent failures of an earlier attempt
  std::erase_if(queued_failures_, [&](const QueuedFailure& failure_entry) {
    return failure_entry.message.key == key;
  });
  CreationPtr creation = find_or_begin(key);
  // failed before this call: this call returns the failure
  if (creation->failure() && creation->is_unnotified(roles.self)) {
    auto failure = creation->failure()->clone();
    record_notified(creation, roles.self);
    return failure;
  }
  if (creation->failure()) {  // this process knows that failure, so this call is a new attempt
    forget(*creation);
    creation = find_or_begin(key);
  }
  if (!creation->call(own.entry(), call.operation)) return called_twice(call);
  joined.creation = creation;
  creation->vci = call.vci;
  // no earlier check, because most creations are over by then, and a check queries the system about
  // each partner
  creation->next_check = creation->started() + kCreationCheckInterval;
  if (roles.is_node_leader() && !roles.spans_nodes) creation->name = bytes_of(key);
  creation->operation().begin(base::Phase::links);
  if (!partners_are_in_reach(creation)) return {};
  if (!roles.is_node_leader())
    contribute(*creation);
  else
    start_waiting(*creation);
  return {};
}

/// Fail the creation if an exception has ended its call, because partners may have the
/// contribution.
void Creations::leave(const CreationPtr& creation) {
  std::lock_guard guard(mutex_);
  if (creation->is_over()) return;
  try {
    fail(creation,
         Error(ErrorClass::other,
               name_of(*creation) +
                   " has failed: an exception or pthread_exit has ended the call of process " +
                   std::to_string(process_.self().rank)),
         {creation->roles().self});
  } catch (const std::bad_alloc&) {
    forget(*creation);  // no memory for messages: the partners report that this process is missing
  }
}

void Creations::start_waiting(TrackedCreation& creation) {
  const auto& roles = creation.roles();
  creation.operation().next(base::Phase::collect);
  if (creation.subtree_is_complete())
    creation.operation().end(base::Phase::collect);  // all contributions arrived before
  if (!roles.spans_nodes) return;
  creation.parent_resolver = make_parent_resolver(creation);
  if (roles.parent) creation.operation().begin(base::Phase::parent);
}

/// Open the links to all partners on this node; if that is impossible, fail the creation and return
/// false. Called first, because a node leader that cannot answer must not collect.
bool Creations::partners_are_in_reach(const CreationPtr& creation) {
  const auto& roles = creation->roles();
  if (!roles.is_node_leader()) return !fail_if_out_of_reach(creation, roles.node_leader);
  return std::none_of(roles.local.begin(), roles.local.end(),
                      [&](int rank) { return fail_if_out_of_reach(creation, rank); });
}

void Creations::contribute(TrackedCreation& creation) {
  if (!creation.send_contribution()) return;
  const auto& roles = creation.roles();
  creation.operation().next(base::Phase::outcome);
  if (!roles.is_node_leader())
    return send(
        creation, roles.node_leader,
        ContributionMessage{creation.key(), {roles.self, creation.entries().at(roles.self)}});
  send(creation, *roles.parent, ContributionMessage{creation.key(), creation.entries()});
  creation.sent_to_incarnation = creation.parent_resolver->incarnation();
}

bool Creations::advance(const CreationPtr& creation) {
  std::lock_guard guard(mutex_);
  if (creation->is_over()) return true;
  abort_rendezvous(*creation);
  bool parent_is_known = true;
  if (creation->parent_resolver) {
    auto found = creation->parent_resolver->poll();
    if (!found) {
      fail(creation,
           std::move(found).error().within("cannot get the address of a process on another node"),
           {creation->roles().self});
      return true;
    }
    parent_is_known = *found;
    if (parent_is_known && creation->roles().parent)
      creation->operation().end(base::Phase::parent,
                                creation->group()->at(*creation->roles().parent).rank);
  }
  if (creation->roles().is_node_leader() && parent_is_known && creation->subtree_is_complete()) {
    if (creation->roles().is_tree_root()) lead(creation);
    // send again if the parent re-initialized: its former incarnation lost the contribution
    else if (creation->state() == CreationState::collecting ||
             creation->sent_to_incarnation != creation->parent_resolver->incarnation()) {
      if (fail_if_out_of_reach(creation, *creation->roles().parent)) return true;
      contribute(*creation);
    }
  }
  if (!creation->is_over()) check_waiting(creation);
  return creation->is_over();
}

/// Call check_precondition without the mutex, because it may take the lock of another VCI's engine.
bool Creations::fail_if_ended(const CreationPtr& creation, const Call& call) {
  if (!call.check_precondition) return false;
  const base::Status may = call.check_precondition();
  if (may) return false;
  std::lock_guard guard(mutex_);
  if (!creation->is_over()) fail(creation, may.error(), {creation->roles().self});
  return true;
}

/// Complete the creation. Called on rank 0, which has all contributions.
void Creations::lead(const CreationPtr& creation) {
  if (static_cast<int>(creation->entries().size()) != creation->group()->size())
    return fail(
        creation,
        Error(ErrorClass::intern, "contributions to the creation of a communicator are incomplete"),
        {creation->roles().self});
  const std::uint32_t vci = creation->roles().spans_nodes ? 0 : usable_vci(creation->vci);
  finish(creation, {creation->key(), process_.make_extended_id(), static_cast<std::uint8_t>(vci),
                    creation->entries()});
}

/// Open the VCI before other members learn of it, so that its shared memory exists for them.
std::uint32_t Creations::usable_vci(std::uint32_t wanted) {
  auto opened = process_.open_vci_if_space(wanted);
  if (opened) return wanted;
  process_.log().write(
      base::LogLevel::info,
      "a communicator uses VCI 0 instead of one of its own: " + opened.error().text());
  return 0;
}

base::Result<Agreement> Creations::agree(const Call& call) {
  SHIM_TRY(check_members(*call.group, process_.bootstrap().job().size));
  if (call.group->size() == 1) {
    std::lock_guard guard(mutex_);
    record_thread();
    auto bases = std::make_shared<p2p::ContextBases>();
    bases->common = process_.take_context_base();
    return Agreement{process_.make_extended_id(), bases, bases->common, usable_vci(call.vci)};
  }
  if (auto agreed = try_rendezvous(call)) return *std::move(agreed);
  const auto roles = roles_in(*call.group, process_.self(), process_.creation_context());
  auto own = make_own_contribution(roles,
                                   call.operation);  // may query the launcher: not under the mutex
  if (!own) {
    refuse(call, own.error());
    return std::move(own).error();
  }
  OfferedBase base(process_, own->context_base);
  return with_open_vci(agree(call, roles, *own), base);
}

Creations::OfferedBase::~OfferedBase() {
  if (!is_used) process.skip_base(base);
}

/// Open the agreed VCI; without an agreement or a VCI, the context base is not used.
base::Result<Agreement> Creations::with_open_vci(base::Result<Agreement> agreed,
                                                 OfferedBase& base) {
  if (agreed) {
    if (auto opened = process_.open_vci(agreed->vci); !opened) agreed = std::move(opened).error();
  }
  base.is_used = agreed.has_value();
  return agreed;
}

base::Result<Agreement> Creations::agree(const Call& call, const CreationRoles& roles,
                                         const OwnContribution& own) {
  JoinedCall joined(*this);
  SHIM_TRY(join(call, roles, own, joined));
  const CreationPtr& creation = joined.creation;
  CreationSubject subject(*this, creation);
  auto waited = process_.engine().wait_until(
      [&] { return fail_if_ended(creation, call) || advance(creation); }, subject);
  wait_for_queued_failures();
  std::lock_guard guard(mutex_);
  if (!waited && !creation->is_over()) fail(creation, waited.error(), {creation->roles().self});
  return creation->result();
}

void Creations::CreationSubject::describe(p2p::WaitDescription& description) const {
  std::lock_guard guard(of_.mutex_);
  description.text = of_.describe_missing(*creation_) + ", in the " + name_of(*creation_);
  description.is_only_on_request = true;  // report_when_due
}

void Creations::wait_for_queued_failures() {
  auto none_is_new = [&] {
    std::lock_guard guard(mutex_);
    send_queued_failures();
    return std::none_of(queued_failures_.begin(), queued_failures_.end(),
                        [](const QueuedFailure& failure_entry) {
                          return base::now_ns() - failure_entry.since < kQueuedFailuresWait;
                        });
  };
  if (!none_is_new()) (void)process_.engine().wait_until(none_is_new);
}

/// Notify members that wait for this one, now or later, that it cannot take part.
void Creations::refuse(const Call& call, const base::Error& reason) {
  {
    std::lock_guard guard(mutex_);
    CreationPtr creation = find_or_begin(key_of(call));
    const auto& roles = creation->roles();
    if (creation->state() != CreationState::announced) return;
    if (roles.parent && !process_.known_incarnation(creation->group()->at(*roles.parent)))
      queue_failure(creation->group()->at(*roles.parent),
                    {creation->key(), 0, reason.error_class(), reason.text(), {}});
    fail(creation,
         base::Error(reason.error_class(), "a member cannot participate: " + reason.text()),
         {roles.self});
  }
  wait_for_queued_failures();
}

/// Record the addresses of all members.
void Creations::record_addresses(const TrackedCreation& creation, const MemberTable& entries) {
  for (std::size_t index = 0; index < entries.size(); ++index) {
    const int rank = entries.rank_at(index);
    const MemberEntry entry = entries.entry_at(index);
    if (rank == creation.roles().self) continue;
    if (entry.is_in_table)
      process_.record_incarnation(creation.group()->at(rank), entry.incarnation);
    else if (!entry.address.empty())
      process_.record_address(creation.group()->at(rank), entry.incarnation, entry.address);
  }
}

/// Return the table for local members, without addresses that the node's table has.
MemberTable Creations::for_local_node(const TrackedCreation& creation,
                                      const MemberTable& entries) const {
  MemberTable table;
  for (std::size_t index = 0; index < entries.size(); ++index) {
    const int rank = entries.rank_at(index);
    MemberEntry entry = entries.entry_at(index);
    entry.is_in_table = !entry.address.empty() &&
                        process_.node_knows(creation.group()->at(rank), entry.incarnation);
    if (entry.is_in_table) entry.address = {};
    table.set(rank, entry);
  }
  return table;
}

void Creations::finish(const CreationPtr& creation, const OutcomeMessage& outcome) {
  const MemberTable& entries = outcome.entries;
  creation->operation().next(base::Phase::spread);
  const auto& roles = creation->roles();
  auto send_to = [&](const std::vector<int>& partners, const MemberTable& table) {
    if (partners.empty()) return;
    const auto bytes = encode(OutcomeMessage{creation->key(), outcome.id, outcome.vci, table});
    for (int rank : partners) send_bytes(creation->group()->at(rank), bytes);
  };
  send_to(roles.children, entries);  // first, because their subtrees wait for it
  record_addresses(*creation, entries);
  send_to(roles.local, roles.spans_nodes ? for_local_node(*creation, entries) : entries);
  if (creation->agree({outcome.id, bases_of_members(entries), entries.at(roles.self).context_base,
                       outcome.vci}))
    forget(*creation);
}

std::size_t Creations::unnotified_failures() const {
  std::lock_guard guard(mutex_);
  return static_cast<std::size_t>(
      std::count_if(creations_.begin(), creations_.end(),
                    [](const auto& kept) { return kept.second->failure() != nullptr; }));
}

void Creations::close() {
  std::lock_guard guard(mutex_);
  closing_ = true;
  for (const auto& [key, creation] : creations_)
    if (!creation->is_over())
      for (int rank : creation->contributed())
        return_contribution(creation->group()->at(rank), creation->key(),
                            creation->entries().at(rank).context_base);
  creations_.clear();
}

}  // namespace shim::sessions
