// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/consensus.hpp"

#include <algorithm>
#include <utility>

#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

using MessageType = ConsensusMessage::Type;

base::ProcessId process_of(std::uint32_t rank) { return {0, rank}; }

void add_all(std::vector<std::uint32_t>& into, const std::vector<std::uint32_t>& more) {
  into.insert(into.end(), more.begin(), more.end());
  std::ranges::sort(into);
  into.erase(std::unique(into.begin(), into.end()), into.end());
}

}  // namespace

class Consensus::Watch {
 public:
  Watch(p2p::Engine& engine, std::uint32_t member) : engine_(engine), watched_{process_of(member)} {
    engine_.watch(watched_);
  }
  ~Watch() { engine_.unwatch(watched_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  bool is_gone() const { return engine_.is_gone(watched_); }

 private:
  p2p::Engine& engine_;
  p2p::Engine::Watched watched_;
};

Consensus::Consensus(ConsensusKey of) : key(std::move(of)) {}
Consensus::~Consensus() = default;

Consensuses::Consensuses(Process& process) : process_(process) {}
Consensuses::~Consensuses() = default;

ConsensusPtr Consensuses::find(const ConsensusKey& key) const {
  const auto found = all_.find(key);
  return found != all_.end() ? found->second : nullptr;
}

/// Null if the consensus is forgotten.
ConsensusPtr Consensuses::find_or_make(const ConsensusKey& key) {
  if (is_forgotten(key)) return nullptr;
  ConsensusPtr& consensus = all_[key];
  if (!consensus) consensus = std::make_shared<Consensus>(key);
  return consensus;
}

/// True if this process began the consensus and has forgotten it. Consensuses of a communicator
/// begin in the order of their numbers, so one count per scope suffices.
bool Consensuses::is_forgotten(const ConsensusKey& key) const {
  const auto begun = begun_.find(key.scope);
  return begun != begun_.end() && key.number < begun->second && !all_.contains(key);
}

ConsensusPtr Consensuses::begin(const ConsensusKey& key, std::vector<std::uint32_t> members,
                                Vote vote) {
  std::lock_guard guard(mutex_);
  forget_completed();
  ConsensusPtr consensus = find_or_make(key);
  std::uint32_t& begun = begun_[key.scope];
  begun = std::max(begun, key.number + 1);
  consensus->members = std::move(members);
  consensus->vote = std::move(vote);
  consensus->gone.insert(consensus->vote.failed.begin(), consensus->vote.failed.end());
  step(*consensus);
  return consensus;
}

const Decision* Consensuses::advance(const ConsensusPtr& consensus) {
  std::lock_guard guard(mutex_);
  step(*consensus);
  return consensus->decided ? &*consensus->decided : nullptr;
}

void Consensuses::step(Consensus& consensus) {
  if (consensus.decided || !consensus.is_called()) return;
  find_failed(consensus);
  const std::uint32_t coordinator = coordinator_of(consensus);
  if (coordinator == process_.self().rank)
    coordinate(consensus);
  else
    follow(consensus, coordinator);
}

void Consensuses::find_failed(Consensus& consensus) {
  std::erase_if(consensus.watches, [&](const auto& watch) {
    if (!watch.second->is_gone()) return false;
    consensus.gone.insert(watch.first);
    return true;
  });
}

void Consensuses::watch(Consensus& consensus, std::uint32_t member) {
  auto& watch = consensus.watches[member];
  if (!watch) watch = std::make_unique<Consensus::Watch>(process_.engine(), member);
}

/// Return the lowest living member from `promised` on; if there is none, the lowest living member.
/// There is one, because this process lives.
std::uint32_t Consensuses::coordinator_of(const Consensus& consensus) const {
  const auto lives = [&](std::uint32_t member) {
    return member == process_.self().rank || !consensus.gone.contains(member);
  };
  const auto from = std::ranges::lower_bound(consensus.members, consensus.promised);
  const auto found = std::find_if(from, consensus.members.end(), lives);
  return found != consensus.members.end() ? *found
                                          : *std::ranges::find_if(consensus.members, lives);
}

ConsensusMessage Consensuses::join_of(const Consensus& consensus, std::uint32_t coordinator) const {
  ConsensusMessage join{.kind = MessageType::join,
                        .key = consensus.key,
                        .coordinator = coordinator,
                        .vote = consensus.vote};
  join.gone.assign(consensus.gone.begin(), consensus.gone.end());
  join.decision = consensus.decided ? consensus.decided : consensus.accepted;
  if (!consensus.decided) join.proposed_by = consensus.accepted_from;
  return join;
}

void Consensuses::follow(Consensus& consensus, std::uint32_t coordinator) {
  watch(consensus, coordinator);
  if (consensus.joined == coordinator) return;
  consensus.joined = coordinator;
  consensus.promised = std::max(consensus.promised, coordinator);
  send(coordinator, join_of(consensus, coordinator));
}

/// Act as coordinator. A new coordinator notifies all other members, lower ones included: a living
/// lower one then follows.
void Consensuses::coordinate(Consensus& consensus) {
  const std::uint32_t self = process_.self().rank;
  consensus.promised = std::max(consensus.promised, self);
  if (!std::exchange(consensus.coordination.has_announced, true) &&
      self != consensus.members.front()) {
    for (std::uint32_t member : consensus.members)
      if (member != self)
        send(member,
             {.kind = MessageType::new_coordinator, .key = consensus.key, .coordinator = self});
  }
  if (!has_all_votes(consensus)) return;
  if (!consensus.coordination.proposal) {
    consensus.coordination.proposal = decision_of(consensus);
    consensus.accepted = consensus.coordination.proposal;
    consensus.accepted_from = self;
    for (const auto& [member, join] : consensus.coordination.joins)
      send(member, {.kind = MessageType::propose,
                    .key = consensus.key,
                    .coordinator = self,
                    .decision = consensus.coordination.proposal});
  }
  const bool is_accepted = std::ranges::all_of(consensus.coordination.joins, [&](const auto& join) {
    return consensus.coordination.accepts.contains(join.first) ||
           consensus.gone.contains(join.first);
  });
  if (!is_accepted) return;
  decide(consensus, *consensus.coordination.proposal);
  announce_decision(consensus);
}

void Consensuses::announce_decision(Consensus& consensus) {
  const std::uint32_t self = process_.self().rank;
  consensus.coordination.has_announced_decision = true;
  for (std::uint32_t member : consensus.members)
    if (member != self)
      send(member, {.kind = MessageType::decide,
                    .key = consensus.key,
                    .coordinator = self,
                    .decision = consensus.decided});
  if (is_done_everywhere(consensus)) forget(consensus);
}

bool Consensuses::has_all_votes(Consensus& consensus) {
  bool has_all = true;
  for (std::uint32_t member : consensus.members) {
    if (member == process_.self().rank || consensus.gone.contains(member)) continue;
    watch(consensus, member);  // also a member that has voted: it must accept
    has_all = has_all &&
              (consensus.coordination.proposal || consensus.coordination.joins.contains(member));
  }
  return has_all;
}

/// Return the accepted proposal with the highest coordinator; else a new decision.
Decision Consensuses::decision_of(const Consensus& consensus) const {
  const std::optional<Decision>* found = &consensus.accepted;
  std::optional<std::uint32_t> by = consensus.accepted_from;
  for (const auto& [member, join] : consensus.coordination.joins) {
    if (!join.decision) continue;
    if (!join.proposed_by) return *join.decision;
    if (!by || *join.proposed_by > *by) found = &join.decision, by = join.proposed_by;
  }
  if (*found) return **found;

  Decision decision;
  std::vector<std::uint32_t> acknowledged = consensus.vote.acknowledged;
  decision.failed = consensus.vote.failed;
  decision.votes[process_.self().rank] = {consensus.vote.flag, consensus.vote.extra};
  for (const auto& [member, join] : consensus.coordination.joins) {
    if (consensus.gone.contains(member)) continue;  // died meanwhile
    decision.votes[member] = {join.vote.flag, join.vote.extra};
    add_all(decision.failed, join.vote.failed);
    const std::vector<std::uint32_t>& others = join.vote.acknowledged;
    std::erase_if(acknowledged, [&others](std::uint32_t failed) {
      return std::ranges::find(others, failed) == others.end();
    });
  }
  for (std::uint32_t member : consensus.members)
    if (!decision.votes.contains(member)) add_all(decision.failed, {member});
  decision.has_unacknowledged = std::ranges::any_of(decision.failed, [&](std::uint32_t failed) {
    return std::ranges::find(acknowledged, failed) == acknowledged.end();
  });
  return decision;
}

void Consensuses::decide(Consensus& consensus, Decision decision) {
  if (consensus.decided) return;
  consensus.decided = std::move(decision);
  consensus.accepted.reset();
  consensus.coordination.proposal.reset();
  consensus.coordination.joins.clear();
}

/// True if this coordinator has announced the decision and all living members have it.
bool Consensuses::is_done_everywhere(Consensus& consensus) {
  if (!consensus.coordination.has_announced_decision) return false;
  find_failed(consensus);
  return std::ranges::all_of(consensus.members, [&](std::uint32_t member) {
    return member == process_.self().rank || consensus.coordination.done.contains(member) ||
           consensus.gone.contains(member);
  });
}

void Consensuses::forget(const Consensus& consensus) {
  for (std::uint32_t member : consensus.coordination.done)
    send(member,
         {.kind = MessageType::forget, .key = consensus.key, .coordinator = process_.self().rank});
  all_.erase(ConsensusKey(consensus.key));
}

/// Forget complete consensuses; the death of the last pending member completes one.
void Consensuses::forget_completed() {
  for (auto at = all_.begin(); at != all_.end();) {
    const ConsensusPtr consensus = (at++)->second;
    if (is_done_everywhere(*consensus)) forget(*consensus);
  }
}

void Consensuses::close(const std::string& scope) {
  std::lock_guard guard(mutex_);
  begun_.erase(scope);
  std::erase_if(all_, [&](const auto& each) {
    return each.first.scope == scope && !each.second->is_called();
  });
}

std::size_t Consensuses::kept() const {
  std::lock_guard guard(mutex_);
  return all_.size();
}

void Consensuses::on_message(base::ProcessId from, std::span<const std::byte> bytes) {
  auto message = decode_consensus(bytes, process_.bootstrap().job().size);
  if (!message || from.world != 0) {
    process_.log().write(
        base::LogLevel::error,
        "invalid message of process " + std::to_string(from.rank) + " about an agreement; dropped");
    return;
  }
  std::lock_guard guard(mutex_);
  const bool is_about_known = message->kind == MessageType::accept ||
                              message->kind == MessageType::done ||
                              message->kind == MessageType::forget;
  const ConsensusPtr consensus = is_about_known ? find(message->key) : find_or_make(message->key);
  if (consensus)
    handle(consensus, from.rank, *std::move(message));
  else if (!is_about_known)
    reply_to_forgotten(from.rank, *message);
}

/// Reply to a message about a forgotten consensus. If its sender still waits, the deciding members
/// considered it dead: fail its call. A sender that has the decision ignores this reply.
void Consensuses::reply_to_forgotten(std::uint32_t to, const ConsensusMessage& message) {
  const std::uint32_t self = process_.self().rank;
  if (message.kind == MessageType::decide)
    return send(
        to, {.kind = MessageType::done, .key = message.key, .coordinator = message.coordinator});
  Decision without;
  without.failed = {to};
  without.has_unacknowledged = true;
  send(to, {.kind = MessageType::decide,
            .key = message.key,
            .coordinator = self,
            .decision = std::move(without)});
}

/// Handle a message. Its sender counts as living again, unless this process's vote reports that it
/// failed.
void Consensuses::handle(const ConsensusPtr& consensus, std::uint32_t from,
                         ConsensusMessage message) {
  const std::uint32_t self = process_.self().rank;
  const bool is_known_to_have_failed = std::ranges::find(consensus->vote.failed, from) !=
                                       consensus->vote.failed.end();
  if (!is_known_to_have_failed) consensus->gone.erase(from);
  switch (message.kind) {
    case MessageType::join:
      handle_join(*consensus, from, std::move(message));
      break;
    case MessageType::new_coordinator:
      handle_coordinator(*consensus, message.coordinator);
      break;
    case MessageType::propose:
      handle_proposal(*consensus, message);
      break;
    case MessageType::accept:
      if (message.coordinator == self) consensus->coordination.accepts.insert(from);
      break;
    case MessageType::decide:
      decide(*consensus, *std::move(message.decision));
      if (!consensus->coordination.has_announced_decision) consensus->watches.clear();
      send(from,
           {.kind = MessageType::done, .key = consensus->key, .coordinator = message.coordinator});
      break;
    case MessageType::done:
      consensus->coordination.done.insert(from);
      if (is_done_everywhere(*consensus)) forget(*consensus);
      break;
    case MessageType::forget:
      all_.erase(consensus->key);
      break;
  }
  step(*consensus);
}

/// Handle a join. Members that its sender considers gone count as gone here, too, unless they have
/// joined.
void Consensuses::handle_join(Consensus& consensus, std::uint32_t from, ConsensusMessage message) {
  const std::uint32_t self = process_.self().rank;
  if (consensus.decided)
    return send(from, {.kind = MessageType::decide,
                       .key = consensus.key,
                       .coordinator = self,
                       .decision = consensus.decided});
  if (message.coordinator != self) return;
  Consensus::Coordination& coordination = consensus.coordination;
  for (std::uint32_t member : message.gone)
    if (member != self && !coordination.joins.contains(member)) consensus.gone.insert(member);
  if (coordination.proposal && coordination.joins.contains(from)) return;
  if (coordination.proposal)  // the sender was considered gone: it gets the proposal of the others
    send(from, {.kind = MessageType::propose,
                .key = consensus.key,
                .coordinator = self,
                .decision = coordination.proposal});
  coordination.joins.insert_or_assign(from, std::move(message));
}

void Consensuses::handle_coordinator(Consensus& consensus, std::uint32_t coordinator) {
  if (consensus.decided) return send(coordinator, join_of(consensus, coordinator));
  if (coordinator > consensus.promised && coordinator != process_.self().rank) {
    consensus.promised = coordinator;
    consensus.joined.reset();
    consensus.coordination.proposal.reset();
  }
}

void Consensuses::handle_proposal(Consensus& consensus, const ConsensusMessage& message) {
  const std::uint32_t coordinator = message.coordinator;
  if (!consensus.decided) {
    if (coordinator < consensus.promised)
      return send(coordinator, {.kind = MessageType::new_coordinator,
                                .key = consensus.key,
                                .coordinator = consensus.promised});
    consensus.promised = coordinator;
    consensus.accepted = message.decision;
    consensus.accepted_from = coordinator;
  }
  send(coordinator,
       {.kind = MessageType::accept, .key = consensus.key, .coordinator = coordinator});
}

/// Send a message. Errors are only logged, because the watch of a member detects that it is gone.
void Consensuses::send(std::uint32_t to, const ConsensusMessage& message) {
  if (to == process_.self().rank) return;
  auto sent = process_.engine().send_control(process_of(to), encode(message));
  if (!sent) process_.log().write(base::LogLevel::info, sent.error().text());
}

}  // namespace shim::sessions
