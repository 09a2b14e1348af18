// SPDX-License-Identifier: BSD-3-Clause
// What a process does with the creation messages of others.
#include <algorithm>

#include "shim/sessions/creation.hpp"
#include "shim/sessions/process.hpp"

namespace shim::sessions {

void Creations::on_control(base::ProcessId from, std::span<const std::byte> bytes) {
  auto message = decode(bytes);
  if (!message) {
    process_.log().write(base::LogLevel::error, "a message of process " + std::to_string(from.rank) +
                                                    " about the creation of a communicator is damaged; dropped");
    return;
  }
  std::lock_guard guard(mutex_);
  std::visit([&](auto& alternative) { handle(from, std::move(alternative)); }, *message);
}

CreationPtr Creations::find(const CreationKey& key) const {
  auto at = creations_.find(key.bytes());
  return at == creations_.end() ? nullptr : at->second;
}

CreationPtr Creations::find_or_begin(const CreationKey& key) {
  CreationPtr& place = creations_[key.bytes()];
  if (place) return place;
  place = std::make_shared<Creation>();
  place->key = key;
  place->group = Group::of_ranges(key.ranges);
  place->roles =
      roles_in(*place->group, process_.bootstrap().node_map(), process_.self(), process_.everything_over_fabric());
  return place;
}

void Creations::forget(const Creation& creation) {
  auto at = creations_.find(creation.key.bytes());
  if (at != creations_.end() && at->second.get() == &creation) creations_.erase(at);
}

void Creations::send(base::ProcessId to, const CreationMessage& message) {
  auto sent = process_.engine().send_control(to, encode(message));
  // who cannot be reached is found missing, or dead, by whoever waits for it
  if (!sent) process_.log().write(base::LogLevel::info, sent.error().text());
}

void Creations::send(const Creation& to, int rank, const CreationMessage& message) { send(to.group->at(rank), message); }

/// Is this process a member of the group that a message speaks of? Whoever sends anything else is not one of us.
static bool is_member(const CreationKey& key, base::ProcessId process) {
  return Group::of_ranges(key.ranges)->rank_of(process) != kUndefined;
}

void Creations::handle(base::ProcessId from, Contribution message) {
  if (!is_member(message.key, process_.self()) || !is_member(message.key, from)) return;
  CreationPtr creation = find_or_begin(message.key);
  const int rank = creation->group->rank_of(from);
  if (creation->failure) {
    if (creation->untold.erase(rank) > 0) {
      send(from, Failure{creation->key, creation->failure->error_class(), creation->failure->text()});
      if (creation->untold.empty()) forget(*creation);
      return;
    }
    forget(*creation);  // it knows of the failure, so this is a new attempt
    creation = find_or_begin(message.key);
  }
  const auto& roles = creation->roles;
  auto is_in = [&](const std::vector<int>& ranks) { return std::find(ranks.begin(), ranks.end(), rank) != ranks.end(); };
  if (!is_in(roles.local) && !is_in(roles.children)) return;
  for (auto& [member, entry] : message.entries) {
    if (member < 0 || member >= creation->group->size()) return;
    if (!entry.address.empty()) process_.learn_address(creation->group->at(member), entry.address);
  }
  creation->entries.merge(message.entries);
  creation->contributed.insert(rank);
}

void Creations::handle(base::ProcessId from, Outcome message) {
  CreationPtr creation = find(message.key);
  if (!creation || !creation->joined || creation->is_over()) return;
  const auto& roles = creation->roles;
  const int expected = roles.is_root() ? roles.parent.value_or(roles.self) : roles.root;
  const bool complete = static_cast<int>(message.entries.size()) == creation->group->size() &&
                        message.entries.begin()->first == 0 &&
                        message.entries.rbegin()->first == creation->group->size() - 1;
  if (creation->group->rank_of(from) != expected || !complete) return;
  finish(creation, message.id, message.entries);
}

void Creations::handle(base::ProcessId from, Failure message) {
  if (!is_member(message.key, process_.self())) return;
  CreationPtr creation = find_or_begin(message.key);
  if (creation->is_over()) return;
  const int rank = creation->group->rank_of(from);
  std::set<int> told;
  if (rank != kUndefined) told.insert(rank);
  if (creation->joined) told.insert(creation->roles.self);
  fail(creation, base::Error(message.error_class, std::move(message.text)), std::move(told));
}

void Creations::fail(const CreationPtr& creation, const base::Error& error, std::set<int> told) {
  const auto& roles = creation->roles;
  creation->failure.emplace(error.clone());
  const Failure message{creation->key, error.error_class(), error.text()};
  auto tell = [&](int rank) {
    if (told.insert(rank).second) send(*creation, rank, message);
  };
  // Upwards at once: that partner is told whether it has called or not, and keeps it for its call.
  if (!roles.is_root()) tell(roles.root);
  if (roles.parent) tell(*roles.parent);
  for (int rank : creation->contributed) tell(rank);
  // Downwards those who have not come yet are told when they come.
  for (const auto* partners : {&roles.local, &roles.children})
    for (int rank : *partners)
      if (!told.contains(rank)) creation->untold.insert(rank);
  if (!creation->joined && !told.contains(roles.self)) creation->untold.insert(roles.self);
  if (creation->untold.empty()) forget(*creation);
}

void Creations::handle(base::ProcessId from, Question message) {
  Answer answer{std::move(message.key), several_threads_, {}};
  for (const auto& [bytes, creation] : creations_)
    if (creation->joined && !creation->is_over()) answer.waiting.push_back(creation->key);
  send(from, answer);
}

}  // namespace shim::sessions
