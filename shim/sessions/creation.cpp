// SPDX-License-Identifier: BSD-3-Clause
// A member's way through a creation: join, send the contribution, wait; as a node root, collect and pass on.
#include "shim/sessions/creation.hpp"

#include <algorithm>

#include "shim/sessions/derive.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

/// So long a call that has failed waits for those to be found who do not know of it yet; later creations go on looking for them.
constexpr base::Nanoseconds kNotesWait = 2'000'000'000;

using base::Error;
using base::ErrorClass;

std::shared_ptr<const p2p::ContextBases> bases_of_members(const MemberTable& entries) {
  std::vector<std::uint32_t> by_rank;
  by_rank.reserve(entries.size());
  for (std::size_t place = 0; place < entries.size(); ++place) by_rank.push_back(entries.entry_at(place).context_base);
  return bases_of(std::move(by_rank));
}

CreationKey key_of(const Creations::Call& call) { return key_of(call.scope, call.tag, *call.group); }

/// Groups can be made of any numbers; only processes of the own world can be reached.
base::Status check_members(const Group& group, std::uint32_t world_size) {
  for (const Range& range : group.ranges())
    if (range.world != 0 || range.highest() >= world_size)
      return Error(ErrorClass::group, "the group " + group.text() + " has processes outside mpi://WORLD, whose ranks end at " +
                                          std::to_string(world_size - 1));
  return {};
}

}  // namespace

CreationKey key_of(std::string scope, std::string tag, const Group& group) {
  const auto ranges = group.ranges();
  return {std::move(scope), std::move(tag), {ranges.begin(), ranges.end()}};
}

p2p::ContextSpec Agreement::context_of(const GroupPtr& group, base::ProcessId self) const {
  return {.members = group, .own_rank = group->rank_of(self), .bases = bases, .own_base = own_base, .path = {}};
}

Creations::Creations(Process& process) : process_(process) {
  process_.engine().set_control_handler(
      [this](base::ProcessId from, std::span<const std::byte> bytes) { on_control(from, bytes); });
}

Creations::~Creations() { process_.engine().set_control_handler({}); }

base::Result<Creations::Own> Creations::own_part(const CreationRoles& roles, const base::Operation& during) {
  Own own;
  if (roles.spans_nodes) {
    if (roles.is_root()) SHIM_TRY(process_.publish_address(during));  // the others' come with the contributions
    SHIM_TRY_ASSIGN(own.address, process_.own_address());
  }
  own.context_base = process_.take_context_base();  // last: where there is no network none is taken
  return own;
}

std::unique_ptr<ParentSearch> Creations::search_in(const Creation& creation) {
  const auto& roles = creation.roles;
  std::vector<std::uint32_t> roots;
  for (int root : roles.roots) roots.push_back(creation.group->at(root).rank);
  std::optional<std::uint32_t> parent;
  if (roles.parent) parent = creation.group->at(*roles.parent).rank;
  return std::make_unique<ParentSearch>(process_, std::move(roots), parent);
}

void Creations::note_thread() {
  last_call_ = base::now_ns();
  if (!first_thread_) first_thread_ = std::this_thread::get_id();
  if (*first_thread_ != std::this_thread::get_id()) several_threads_ = true;
}

base::Error Creations::called_twice(const Call& call) const {
  return {ErrorClass::arg, "another thread of this process is creating a communicator with the same group and the same tag \"" + call.tag +
                               "\" (MPI-4.1 §7.4.2)"};
}

base::Result<CreationPtr> Creations::join(const Call& call, const CreationRoles& roles, const Own& own) {
  const CreationKey key = key_of(call);
  std::lock_guard guard(mutex_);
  note_thread();

  std::erase_if(notes_, [&](const Note& note) { return note.message.key == key; });  // of an older attempt
  CreationPtr creation = find_or_begin(key);
  if (creation->failure && creation->untold.erase(roles.self) > 0) {
    auto failure = creation->failure->clone();
    if (creation->untold.empty()) forget(*creation);
    return failure;
  }
  if (creation->failure) {  // an older attempt of which we know; this is a new one
    forget(*creation);
    creation = find_or_begin(key);
  }
  if (creation->joined) return called_twice(call);
  creation->joined = true;
  creation->lane = call.lane;
  creation->operation = call.operation;
  creation->started = base::now_ns();
  creation->next_look = creation->started + kLookEvery;  // most are over by then, and asking the system about each partner takes longer
  creation->entries.set(roles.self, own.entry());
  if (roles.is_root() && !roles.spans_nodes) creation->name = bytes_of(key);
  creation->operation.begin(base::Phase::links);
  if (!partners_are_in_reach(creation)) return creation;
  if (!roles.is_root()) contribute(*creation);
  else begin_to_wait(*creation);
  return creation;
}

void Creations::begin_to_wait(Creation& creation) {
  const auto& roles = creation.roles;
  creation.operation.next(base::Phase::collect);
  if (subtree_is_complete(creation)) creation.operation.end(base::Phase::collect);  // all were here before
  if (!roles.spans_nodes) return;
  creation.search = search_in(creation);
  if (roles.parent) creation.operation.begin(base::Phase::parent);
}

/// Those of the own node, from the start: a process that cannot answer must not collect.
bool Creations::partners_are_in_reach(const CreationPtr& creation) {
  const auto& roles = creation->roles;
  if (!roles.is_root()) return !fail_if_out_of_reach(creation, roles.root);
  return std::none_of(roles.local.begin(), roles.local.end(),
                      [&](int rank) { return fail_if_out_of_reach(creation, rank); });
}

void Creations::contribute(Creation& creation) {
  const auto& roles = creation.roles;
  creation.operation.next(base::Phase::outcome);
  if (!roles.is_root()) return send(creation, roles.root, Contribution{creation.key, {roles.self, creation.entries.at(roles.self)}});
  send(creation, *roles.parent, Contribution{creation.key, creation.entries});
  creation.sent_up = true;
  creation.sent_to_life = creation.search->life();
}

bool Creations::subtree_is_complete(const Creation& creation) const {
  return creation.joined && creation.contributed.size() == creation.roles.local.size() + creation.roles.children.size();
}

bool Creations::advance(const CreationPtr& creation) {
  std::lock_guard guard(mutex_);
  if (creation->is_over()) return true;
  call_off_roll_call(*creation);
  bool way_is_free = true;
  if (creation->search) {
    auto found = creation->search->poll();
    if (!found) {
      fail(creation, std::move(found).error().within("cannot find the address of another node's process"),
           {creation->roles.self});
      return true;
    }
    way_is_free = *found;
    if (way_is_free && creation->roles.parent)
      creation->operation.end(base::Phase::parent, creation->group->at(*creation->roles.parent).rank);
  }
  if (creation->roles.is_root() && way_is_free && subtree_is_complete(*creation)) {
    if (creation->roles.is_leader()) lead(creation);
    // once more if the parent turns out to have begun anew: what its former life had is lost
    else if (!creation->sent_up || creation->sent_to_life != creation->search->life()) {
      if (fail_if_out_of_reach(creation, *creation->roles.parent)) return true;
      contribute(*creation);
    }
  }
  if (!creation->is_over()) look_after(creation);
  return creation->is_over();
}

/// All contributions are here: the communicator is made.
void Creations::lead(const CreationPtr& creation) {
  if (static_cast<int>(creation->entries.size()) != creation->group->size())
    return fail(creation, Error(ErrorClass::intern, "contributions to the creation of a communicator are incomplete"),
                {creation->roles.self});
  const std::uint32_t lane = creation->roles.spans_nodes ? 0 : usable_lane(creation->lane);
  finish(creation, {creation->key, process_.make_extended_id(), static_cast<std::uint8_t>(lane), creation->entries});
}

/// Opened here before others learn of it, who then find its shared memory there.
std::uint32_t Creations::usable_lane(std::uint32_t wanted) {
  auto opened = process_.begin_lane(wanted);
  if (opened) return wanted;
  process_.log().write(base::LogLevel::info, "a communicator shares the first lane: " + opened.error().text());
  return 0;
}

base::Result<Agreement> Creations::agree(const Call& call) {
  SHIM_TRY(check_members(*call.group, process_.bootstrap().job().size));
  if (call.group->size() == 1) {
    std::lock_guard guard(mutex_);
    note_thread();
    auto bases = std::make_shared<p2p::ContextBases>();
    bases->common = process_.take_context_base();
    return Agreement{process_.make_extended_id(), bases, bases->common, usable_lane(call.lane)};
  }
  if (auto agreed = by_roll_call(call)) return *std::move(agreed);
  const auto roles = roles_in(*call.group, process_.self(), process_.creation_ground());
  auto own = own_part(roles, call.operation);  // may ask the launcher: not under the mutex
  if (!own) {
    refuse(call, own.error());
    return std::move(own).error();
  }
  const std::uint32_t base = own->context_base;
  return in_open_lane(agree(call, roles, *own), base);
}

/// No context is made of the base where there is no agreement, or no lane.
base::Result<Agreement> Creations::in_open_lane(base::Result<Agreement> agreed, std::uint32_t base) {
  if (agreed) {
    if (auto opened = process_.open_lane(agreed->lane); !opened) agreed = std::move(opened).error();
  }
  if (!agreed) process_.skip_base(base);
  return agreed;
}

base::Result<Agreement> Creations::agree(const Call& call, const CreationRoles& roles, const Own& own) {
  SHIM_TRY_ASSIGN(CreationPtr creation, join(call, roles, own));
  auto waited = process_.engine().wait_until([&] { return advance(creation); });
  await_notes();
  std::lock_guard guard(mutex_);
  if (!waited && !creation->is_over()) fail(creation, waited.error(), {creation->roles.self});
  if (creation->failure) return creation->failure->clone();
  return *creation->agreement;
}

void Creations::await_notes() {
  auto none_is_new = [&] {
    std::lock_guard guard(mutex_);
    pass_notes_on();
    return std::none_of(notes_.begin(), notes_.end(), [](const Note& note) { return base::now_ns() - note.since < kNotesWait; });
  };
  if (!none_is_new()) (void)process_.engine().wait_until(none_is_new);
}

/// This member cannot take part: those who wait for it, or will, are told.
void Creations::refuse(const Call& call, const base::Error& reason) {
  {
    std::lock_guard guard(mutex_);
    CreationPtr creation = find_or_begin(key_of(call));
    const auto& roles = creation->roles;
    if (creation->joined || creation->is_over()) return;
    if (roles.parent && !process_.known_life(creation->group->at(*roles.parent)))
      note(creation->group->at(*roles.parent), {creation->key, 0, reason.error_class(), reason.text(), {}});
    fail(creation, base::Error(reason.error_class(), "a member cannot take part: " + reason.text()), {roles.self});
  }
  await_notes();
}

/// What every member learns of the others.
void Creations::learn(const Creation& creation, const MemberTable& entries) {
  for (std::size_t place = 0; place < entries.size(); ++place) {
    const int rank = entries.rank_at(place);
    const Entry entry = entries.entry_at(place);
    if (rank == creation.roles.self) continue;
    if (entry.is_in_table) process_.learn_life(creation.group->at(rank), entry.life);
    else if (!entry.address.empty()) process_.learn_address(creation.group->at(rank), entry.life, entry.address);
  }
}

/// For those of the own node: addresses are not sent that stand in its table.
MemberTable Creations::for_own_node(const Creation& creation, const MemberTable& entries) const {
  MemberTable told;
  for (std::size_t place = 0; place < entries.size(); ++place) {
    const int rank = entries.rank_at(place);
    Entry entry = entries.entry_at(place);
    entry.is_in_table = !entry.address.empty() && process_.node_knows(creation.group->at(rank), entry.life);
    if (entry.is_in_table) entry.address = {};
    told.set(rank, entry);
  }
  return told;
}

void Creations::finish(const CreationPtr& creation, const Outcome& outcome) {
  const MemberTable& entries = outcome.entries;
  creation->operation.next(base::Phase::spread);
  const auto& roles = creation->roles;
  auto send_to = [&](const std::vector<int>& partners, const MemberTable& told) {
    if (partners.empty()) return;
    const auto bytes = encode(Outcome{creation->key, outcome.id, outcome.lane, told});
    for (int rank : partners) send_bytes(creation->group->at(rank), bytes);
  };
  send_to(roles.children, entries);  // first: others wait for them
  learn(*creation, entries);
  send_to(roles.local, roles.spans_nodes ? for_own_node(*creation, entries) : entries);
  creation->operation.end_all();
  creation->agreement = Agreement{outcome.id, bases_of_members(entries), entries.at(roles.self).context_base, outcome.lane};
  forget(*creation);
}

std::size_t Creations::untold_failures() const {
  std::lock_guard guard(mutex_);
  return static_cast<std::size_t>(
      std::count_if(creations_.begin(), creations_.end(), [](const auto& kept) { return kept.second->failure.has_value(); }));
}

void Creations::close() {
  std::lock_guard guard(mutex_);
  closing_ = true;
  for (const auto& [key, creation] : creations_)
    if (!creation->is_over())
      for (int rank : creation->contributed)
        give_back(creation->group->at(rank), creation->key, creation->entries.at(rank).context_base);
  creations_.clear();
}

}  // namespace shim::sessions
