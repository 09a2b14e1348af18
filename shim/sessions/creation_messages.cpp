// SPDX-License-Identifier: BSD-3-Clause
// What a process does with the creation messages of others.
#include <algorithm>

#include "shim/sessions/creation.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {

/// Failures that a process remembers.
static constexpr std::size_t kMostRemembered = 32;

static bool contains(const std::vector<int>& ranks, int rank) { return std::ranges::find(ranks, rank) != ranks.end(); }

void Creations::on_control(base::ProcessId from, std::span<const std::byte> bytes) {
  auto message = decode(bytes, process_.bootstrap().job().size);
  if (!message) return note_dropped(from);
  std::lock_guard guard(mutex_);
  std::visit([&](auto& alternative) { handle(from, std::move(alternative)); }, *message);
}

void Creations::note_dropped(base::ProcessId from) const {
  process_.log().write(base::LogLevel::error, "a message of process " + std::to_string(from.rank) +
                                                  " about the creation of a communicator is damaged; dropped");
}

CreationPtr Creations::find(const CreationKey& key) const {
  auto at = creations_.find(key);
  return at == creations_.end() ? nullptr : at->second;
}

CreationPtr Creations::find_or_begin(const CreationKey& key) {
  CreationPtr& place = creations_[key];
  if (place) return place;
  place = std::make_shared<Creation>();
  place->key = key;
  place->group = Group::of_ranges(key.ranges);
  place->roles = roles_in(*place->group, process_.self(), process_.creation_ground());
  return place;
}

CreationPtr Creations::find_or_begin(const CreationKey& key, base::ProcessId from) {
  if (CreationPtr known = find(key)) return known->group->rank_of(from) == kUndefined ? nullptr : known;
  return is_plausible(key, from) ? find_or_begin(key) : nullptr;
}

void Creations::forget(const Creation& creation) {
  auto at = creations_.find(creation.key);
  if (at != creations_.end() && at->second.get() == &creation) creations_.erase(at);
}

void Creations::send_bytes(base::ProcessId to, std::vector<std::byte> bytes) {
  auto sent = process_.engine().send_control(to, std::move(bytes));
  // who cannot be reached is found missing, or dead, by whoever waits for it
  if (!sent) process_.log().write(base::LogLevel::info, sent.error().text());
}

void Creations::send(base::ProcessId to, const CreationMessage& message) { send_bytes(to, encode(message)); }
void Creations::send(const Creation& to, int rank, const CreationMessage& message) { send(to.group->at(rank), message); }

/// A partner that is gone is found missing by look_after(), which says more.
bool Creations::fail_if_out_of_reach(const CreationPtr& creation, int rank) {
  auto reached = process_.engine().reach(creation->group->at(rank));
  if (reached || reached.error().error_class() == base::ErrorClass::proc_aborted) return false;
  fail(creation, reached.error(), {creation->roles.self});
  return true;
}

/// Could this key be one that a process of this job has sent us? All of it is bounded by what the job has, so that a damaged
/// message does no harm. with_us: and are we in its group?
bool Creations::is_plausible(const CreationKey& key, base::ProcessId from, bool with_us) const {
  const std::int64_t world_size = process_.bootstrap().job().size;
  std::int64_t members = 0;
  for (const Range& range : key.ranges) {
    members += range.count;
    if (range.world != 0 || range.stride == 0 || range.lowest() < 0 || range.highest() >= world_size || members > world_size)
      return false;
  }
  GroupPtr group = Group::of_ranges(key.ranges);
  return (!with_us || group->rank_of(process_.self()) != kUndefined) && group->rank_of(from) != kUndefined;
}

/// The members in a table without these, which are in ascending order.
static std::vector<int> all_but(std::span<const int> these, const MemberTable& entries) {
  std::vector<int> others;
  auto next = these.begin();
  for (std::size_t place = 0; place < entries.size(); ++place) {
    const int member = entries.rank_at(place);
    while (next != these.end() && *next < member) ++next;
    if (next == these.end() || *next != member) others.push_back(member);
  }
  return others;
}

/// A member of the own node brings itself, the root of another its subtree's nodes: what others have brought of the rest, or this
/// process has itself, is not replaced.
bool Creations::may_bring(const Creation& creation, int rank, const MemberTable& entries) const {
  const auto& roles = creation.roles;
  if (!entries.find(rank) || entries.last() >= creation.group->size()) return false;
  if (contains(roles.local, rank)) return entries.size() == 1;
  if (!contains(roles.children, rank)) return false;
  const auto roots = roles.roots_from(rank);
  const std::vector<int> others = all_but(roots, entries);
  if (others.empty()) return true;  // at the largest scale, and soon seen
  const auto ground = process_.creation_ground();
  auto node_of = [&](int member) { return ground.node_of(creation.group->at(member)); };
  std::vector<std::uint32_t> nodes;
  for (int root : roots) nodes.push_back(node_of(root));
  std::ranges::sort(nodes);
  return std::ranges::all_of(others, [&](int member) { return std::ranges::binary_search(nodes, node_of(member)); });
}

void Creations::handle(base::ProcessId from, Contribution message) {
  CreationPtr creation = from == process_.self() ? nullptr : find_or_begin(message.key, from);
  if (!creation) return;
  send_on(message.key);
  const int rank = creation->group->rank_of(from);
  if (!may_bring(*creation, rank, message.entries)) return note_dropped(from);
  learn(*creation, message.entries);
  const Entry own = message.entries.at(rank);
  if (contains(creation->roles.children, rank)) process_.note_published(from, own.life);  // node roots do before they say anything
  const std::uint32_t call = own.context_base;
  if (closing_) {
    forget(*creation);
    return give_back(from, message.key, call);
  }
  if (creation->failure) {
    if (creation->untold.contains(rank)) {
      send(from, Failure{creation->key, call, creation->failure->error_class(), creation->failure->text(), {}});
      return note_told(creation, rank);
    }
    forget(*creation);  // it knows of the failure, so this is a new attempt
    creation = find_or_begin(message.key);
  }
  creation->entries.merge(message.entries);
  creation->contributed.insert(rank);
  if (subtree_is_complete(*creation)) creation->operation.end(base::Phase::collect, from.rank);
}

/// Others have made a communicator that this process has given up. What they send it there has to be taken out all the same.
void Creations::take_part_in_lane(std::uint32_t lane) {
  // memory is there, as the leader has opened it
  if (lane < process_.lane_count()) (void)process_.open_lane(lane);
}

void Creations::handle(base::ProcessId from, Outcome message) {
  CreationPtr creation = find(message.key);
  if (!creation || !creation->joined || creation->is_over()) return take_part_in_lane(message.lane);
  const auto& roles = creation->roles;
  const int expected = roles.is_root() ? roles.parent.value_or(roles.self) : roles.root;
  const bool complete = static_cast<int>(message.entries.size()) == creation->group->size() &&
                        message.entries.last() == creation->group->size() - 1;
  if (creation->group->rank_of(from) != expected || !complete) return;
  // one of an earlier attempt that we had given up
  if (message.entries.at(roles.self).context_base != creation->own_call()) return take_part_in_lane(message.lane);
  if (message.lane >= (roles.spans_nodes ? 1 : process_.lane_count())) return note_dropped(from);
  creation->operation.end(base::Phase::outcome, from.rank);
  finish(creation, message);
}

void Creations::handle(base::ProcessId from, Failure message) {
  CreationPtr creation = find_or_begin(message.key, from);
  if (!creation) return;
  send_on(message.key);
  const int rank = creation->group->rank_of(from);
  if (creation->failure) return note_told(creation, rank);  // two have noticed
  const auto& roles = creation->roles;
  if (message.call != 0) {
    // either our own contribution is answered, or a partner takes its own back
    const int above = roles.is_root() ? roles.parent.value_or(kUndefined) : roles.root;
    const auto awaited = waited_for(*creation);
    const bool may_answer = rank == above || std::find(awaited.begin(), awaited.end(), rank) != awaited.end();
    const bool answers_us = creation->joined && may_answer && message.call == creation->own_call();
    const bool takes_back =
        creation->contributed.contains(rank) && creation->entries.at(rank).context_base == message.call;
    if (!answers_us && !takes_back) {  // of an earlier attempt
      if (!creation->joined && creation->contributed.empty()) forget(*creation);
      return;
    }
  }
  const bool is_elsewhere = Group::of_ranges(message.absent.elsewhere)->rank_of(process_.self()) != kUndefined;
  if (is_elsewhere && creation->joined) return;  // it is here again
  std::set<int> told = {rank};
  if (is_elsewhere || creation->joined) told.insert(roles.self);
  fail(creation, base::Error(message.error_class, std::move(message.text)), std::move(told), message.absent);
}

void Creations::fail(const CreationPtr& creation, const base::Error& error, std::set<int> told, const Absent& absent) {
  const auto& roles = creation->roles;
  const GroupPtr elsewhere = Group::of_ranges(absent.elsewhere), dead = Group::of_ranges(absent.dead);
  auto is_in = [&](const GroupPtr& these, int rank) { return these->rank_of(creation->group->at(rank)) != kUndefined; };
  creation->failure.emplace(error.clone());
  creation->operation.fail();
  Failure message{creation->key, 0, error.error_class(), error.text(), absent};
  std::optional<base::ProcessId> parent;
  if (roles.parent && process_.known_life(creation->group->at(*roles.parent))) parent = creation->group->at(*roles.parent);
  remember(message, parent);
  auto tell = [&](int rank, std::uint32_t call) {
    if (!told.insert(rank).second) return;
    message.call = call;
    send(*creation, rank, message);
  };
  // Upwards at once: that partner is told whether it has called or not, and keeps it for its call. A parent that is nowhere to be
  // found yet asks when it has come.
  if (!roles.is_root()) tell(roles.root, creation->own_call());
  if (parent) tell(*roles.parent, creation->sent_up ? creation->own_call() : 0);
  else if (roles.parent && !told.contains(*roles.parent) && !is_in(dead, *roles.parent)) creation->untold.insert(*roles.parent);
  for (int rank : creation->contributed) tell(rank, creation->entries.at(rank).context_base);
  // Downwards those who have not come yet are told when they come, and those who will not come, for others who wait for them.
  for (const auto* partners : {&roles.local, &roles.children})
    for (int rank : *partners) {
      if (is_in(elsewhere, rank)) tell(rank, 0);
      else if (!told.contains(rank) && !is_in(dead, rank)) creation->untold.insert(rank);
    }
  if (!creation->joined && !told.contains(roles.self)) creation->untold.insert(roles.self);
  creation->to_be_asked.clear();
  creation->inquiries.clear();
  creation->stuck.clear();
  if (creation->untold.empty()) forget(*creation);
}

void Creations::note_told(const CreationPtr& creation, int rank) {
  creation->untold.erase(rank);
  if (creation->untold.empty()) forget(*creation);
}

void Creations::give_back(base::ProcessId to, const CreationKey& key, std::uint32_t call) {
  send(to, Returned{key, call, process_.own_life()});
}

void Creations::handle(base::ProcessId from, Returned message) {
  CreationPtr creation = find(message.key);
  if (!creation || !creation->joined || creation->is_over() || message.call != creation->own_call()) return;
  const int rank = creation->group->rank_of(from);
  // To a local root it can be sent at once: it waits in shared memory until that process begins anew.
  if (!creation->roles.is_root() && rank == creation->roles.root) contribute(*creation);
  if (creation->search && rank == creation->roles.parent) creation->search->parent_has_left(message.life);
}

void Creations::remember(const Failure& failure, std::optional<base::ProcessId> parent) {
  failures_.push_back({failure, base::now_ns(), parent, parent ? *process_.known_life(*parent) : 0});
  if (failures_.size() > kMostRemembered) failures_.pop_front();
}

/// Others than a parent in a new life may have been told, and try again: for them only what has happened since they joined counts.
bool Creations::is_news(Remembered& remembered, base::ProcessId asker, const Question& question) const {
  if (remembered.parent == asker && question.asker.life > remembered.told_in_life) {
    remembered.told_in_life = question.asker.life;
    return true;
  }
  const base::Nanoseconds joined = base::now_ns() - base::Nanoseconds{question.waited_ms} * 1'000'000;
  return remembered.when > joined;
}

/// Whoever stands among the untold waits for what has failed, however long ago.
std::optional<Failure> Creations::failure_for(base::ProcessId asker, const Question& question) {
  const CreationPtr asked = find(question.key);
  if (asked && asked->joined && !asked->is_over()) return std::nullopt;  // so this process does
  if (const int rank = asked ? asked->group->rank_of(asker) : kUndefined; rank != kUndefined && asked->untold.contains(rank)) {
    note_told(asked, rank);
    return Failure{question.key, question.call, asked->failure->error_class(), asked->failure->text(), {}};
  }
  const auto last = std::find_if(failures_.rbegin(), failures_.rend(),
                                 [&](const Remembered& remembered) { return remembered.failure.key == question.key; });
  if (last == failures_.rend() || !is_news(*last, asker, question)) return std::nullopt;
  Failure failure = last->failure;
  failure.call = question.call;
  return failure;
}

void Creations::handle(base::ProcessId from, Question message) {
  if (!is_plausible(message.key, from)) return;
  // one that comes late may be unknown here; what is no address changes nothing
  if (!message.asker.bytes.empty()) (void)process_.learn_found(from, message.asker);
  if (const auto failure = failure_for(from, message)) return send(from, *failure);
  CreationPtr asked = find(message.key);
  const bool is_in_it = asked && asked->joined && !asked->is_over();
  Answer answer{.asked = std::move(message.key), .several_threads = another_may_call()};
  if (is_in_it) answer.missing = describe_missing(*asked);
  for (const auto& [key, creation] : creations_)
    if (creation->joined && !creation->is_over()) answer.waiting.push_back(creation->key);
  const auto quiet_ms = (base::now_ns() - last_call_) / 1'000'000;
  answer.quiet_ms = static_cast<std::uint32_t>(std::min<base::Nanoseconds>(quiet_ms, UINT32_MAX));
  send(from, answer);
}

}  // namespace shim::sessions
