// SPDX-License-Identifier: BSD-3-Clause
// Processes that die: noticed while somebody waits for them, and what then ends.
#include <algorithm>
#include <string>

#include "shim/p2p/core.hpp"
#include "shim/transport/matching.hpp"

namespace shim::p2p {

namespace {

constexpr base::Nanoseconds kLivenessInterval = 100'000'000;
// Enough for anything that lies in a ring or a completion queue.
constexpr int kLastPolls = 10'000;

std::string name_of(base::ProcessId process) {
  const std::string name = "process " + std::to_string(process.rank);
  return process.world == 0 ? name : name + " of world " + std::to_string(process.world);
}

/// Of a way's error, which does not know whom it leads to.
base::Error unreachable_error(base::ProcessId process, const base::Error& why) {
  return why.clone().within(name_of(process) + " cannot be reached any more");
}

/// @param why it is out of reach though it may be alive; empty: it is not
base::Error gone_error(base::ProcessId process, std::string_view why) {
  if (!why.empty()) return unreachable_error(process, {base::ErrorClass::proc_aborted, std::string(why)});
  return {base::ErrorClass::proc_aborted,
          name_of(process) + " has died or left; see its own output for the reason, and free the communicators it was in"};
}

void sort_out_doubles(std::vector<base::ProcessId>& processes) {
  std::sort(processes.begin(), processes.end());
  processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
}

}  // namespace

/// Whom this engine depends on at the moment: processes one by one, and sets of which one living member is enough.
struct Core::Concerns {
  std::vector<base::ProcessId> single;
  std::vector<base::ProcessId> members;  ///< of communicators with collectives under way: which end with a member's death
  std::vector<std::vector<base::ProcessId>> any;
};

void Core::add_concern(Concerns& concerns, const Context& context, int source) const {
  if (source != kAnySource) {
    concerns.single.push_back(context.spec.members->at(source));
    return;
  }
  std::vector<base::ProcessId>& others = concerns.any.emplace_back();
  for (int rank = 0; rank < context.size; ++rank) {
    base::ProcessId member = context.spec.members->at(rank);
    Peer* known = context.known_peer(rank);
    if (member != spec.self && (known == nullptr || !known->failure)) others.push_back(member);
  }
}

void Core::add_members(Concerns& concerns, const Context& context) const {
  for (int rank = 0; rank < context.size; ++rank) {
    const base::ProcessId member = context.spec.members->at(rank);
    if (member != spec.self) concerns.members.push_back(member);
  }
}

Core::Concerns Core::concerns() {
  Concerns all;
  std::vector<const Context*> in_collectives;  // those of ended communicators among them: for comparison alone
  for (auto& [process, peer] : peers_) {
    if (!peer->unfinished.empty() || !peer->incoming.empty() || !peer->queue.empty() || !peer->below.empty()) all.single.push_back(process);
    for (const SendRequest& request : peer->unfinished)
      if (request.address.plane == Plane::collective) in_collectives.push_back(request.address.context);
  }
  for (const Probing* probing : probing_) {
    add_concern(all, *probing->from.context, probing->from.rank);
    if (probing->from.plane == Plane::collective) in_collectives.push_back(probing->from.context);
  }
  contexts_.for_each([&](Context& context) {
    for (Matching& matching : context.queues) {
      if (!matching.has_posted()) continue;
      matching.for_each_source([&](int source) { add_concern(all, context, source); });
    }
    const bool is_collective = context.matching(Plane::collective).has_posted() || std::ranges::find(in_collectives, &context) != in_collectives.end();
    if (is_collective && !context.collective_failure) add_members(all, context);
  });
  sort_out_doubles(all.single);
  sort_out_doubles(all.members);
  return all;
}

void Core::check_liveness() {
  Concerns watched;
  std::vector<base::ProcessId> gone, cut_off;
  {
    Guard guard = enter();
    base::Nanoseconds now = base::now_ns();
    if (now < next_liveness_) return;
    next_liveness_ = now + kLivenessInterval;
    give_up_recalls();
    for (const Polled& polled : transports_) polled.transport->look_for_losses();
    look_at_disputes();
    watched = concerns();
    note_late_losses();
    find_ways(watched, guard);
    gone = cut_off = losers();
  }
  const auto is_gone = [&](base::ProcessId process) {
    if (!spec.router->is_alive(process)) return true;
    Guard guard = enter();
    if (!is_cut_off(process)) return false;
    cut_off.push_back(process);
    return true;
  };
  for (base::ProcessId process : watched.single) {
    if (process != spec.self && is_gone(process)) gone.push_back(process);
  }
  for (base::ProcessId process : watched.members) {
    // one that has left as it should has done its part
    if (process != spec.self && spec.router->has_died(process)) gone.push_back(process);
  }
  for (const auto& members : watched.any) {
    for (base::ProcessId process : members) {
      if (!is_gone(process)) break;
      gone.push_back(process);
    }
  }
  if (gone.empty()) return;
  Guard guard = enter();
  take_what_has_come();
  sort_out_doubles(gone);
  // meanwhile one may have begun anew, with another way to it
  std::erase_if(gone, [&](base::ProcessId process) { return std::ranges::find(cut_off, process) != cut_off.end() && !is_cut_off(process); });
  for (base::ProcessId process : gone) {
    Peer& failed = peer(process);
    const bool may_live = failed.link != nullptr && std::ranges::find(cut_off, process) != cut_off.end();
    fail(failed, gone_error(process, may_live ? failed.transport->why_gone(*failed.link) : std::string_view()));
  }
}

/// Those of communicators whose calls have been made meanwhile. Asks for no memory where there are none.
void Core::look_at_disputes() {
  bool has_some = false;
  contexts_.for_each([&](Context& context) { has_some = has_some || !context.disputed.empty(); });
  if (!has_some) return;
  for_each_retained([&](Context& context) {
    if (!context.disputed.empty()) settle_disputes(context);
  });
}

bool Core::has_losses() const {
  return std::ranges::any_of(transports_, [](const Polled& polled) { return polled.transport->has_losses(); });
}

/// Opens links to processes that this one only receives from: between nodes their connection tells of a death, and over a fabric they tell
/// of lost messages. What does not succeed is tried again by the next look.
void Core::find_ways(const Concerns& watched, Guard& guard) {
  const bool has_losses = this->has_losses();
  const auto find_way = [&](base::ProcessId process) {
    const auto known = peers_.find(process);
    if (process == spec.self || (known != peers_.end() && known->second->link != nullptr)) return;
    guard.unlock();
    auto route = spec.router->route_to(process);
    guard.lock();
    if (!route) return;
    const bool tells_of_death = route->transport->tells_of_death();
    if (!tells_of_death && !route->transport->has_losses()) return;
    if (!tells_of_death) {
      auto link = route->transport->open(route->address);
      if (!link || !route->transport->has_lost(**link)) return;
    }
    Peer& to = peer(process);
    if (to.link == nullptr && !to.failure) (void)open_link(to, *std::move(route));
  };
  std::ranges::for_each(watched.single, find_way);
  if (has_losses) for (const auto& members : watched.any) std::ranges::for_each(members, find_way);
}

/// Of those whose way failed before it said so: it fails for a death as well.
void Core::note_late_losses() {
  const auto is_new = [](const auto& gone) { return !gone->has_lost && gone->last_link != nullptr && gone->transport->has_lost(*gone->last_link); };
  if (std::ranges::none_of(retired_, is_new)) return;
  take_what_has_come();
  for (std::size_t i = 0; i < retired_.size(); ++i) {
    Peer& gone = *retired_[i];
    if (!is_new(retired_[i])) continue;
    gone.has_lost = true;
    for_each_retained([&](Context& context) {
      context.peers.for_each([&](int, const Peer* member) {
        if (member == &gone) context.loser = &gone;
      });
      end_hopeless(context);
    });
  }
}

/// Whose messages were lost is no matter of those alone who wait for it.
std::vector<base::ProcessId> Core::losers() const {
  std::vector<base::ProcessId> found;
  for (const auto& [process, peer] : peers_)
    if (peer->link != nullptr && peer->transport->has_lost(*peer->link)) found.push_back(process);
  return found;
}

/// Does the way to it say that it is gone? The router knows of processes of the own node alone.
bool Core::is_cut_off(base::ProcessId process) const {
  const auto known = peers_.find(process);
  return known != peers_.end() && known->second->link != nullptr && known->second->transport->is_gone(*known->second->link);
}

/// What a process sent before it died, or ended a life, still counts.
void Core::take_what_has_come() {
  transport::Matcher* below = matches_below_ ? matcher() : nullptr;
  const std::uint64_t sweep = below == nullptr ? 0 : below->begin_sweep();
  const auto is_swept = [&] { return below == nullptr || below->sweeps() >= sweep; };
  base::Status status;
  for (int i = 0; i < kLastPolls && (poll_all(true, status) != 0 || !is_swept()); ++i) {
  }
}

const base::Error* Core::why_lost(base::ProcessId process) const {
  const auto known = peers_.find(process);
  if (known != peers_.end() && known->second->link != nullptr) return nullptr;
  const auto last = std::find_if(retired_.rbegin(), retired_.rend(), [&](const auto& peer) { return peer->process == process; });
  return last == retired_.rend() ? nullptr : &*(*last)->failure;
}

void Core::forget(base::ProcessId process, const base::Error& reason) {
  if (peer(process).link == nullptr) return;
  take_what_has_come();
  fail(peer(process), reason);
}

void Core::end_all(Peer& with, const base::Error& reason) {
  base::Error kept = reason.clone();  // the reason may lie in what ends here
  for (const QueuedOutput& queued : with.queue) {
    // who waits for an answer finds out by itself: no more than information
    if (queued.is_control) say(base::LogLevel::info, "a control message to process " + std::to_string(with.process.rank) + " is lost: " + kept.text());
  }
  with.queue.clear();
  while (!with.unfinished.empty()) {
    SendRequest& request = with.unfinished.front();
    if (request.had_left) end(request, std::nullopt);  // it was complete, and nobody can take it back any more
    else end(request, kept.clone());
  }
  while (!with.incoming.empty()) {
    ReceiveRequest& request = with.incoming.front();
    end(request, {request.matched_source, request.matched_tag, request.received}, kept.clone());
  }
}

void Core::on_send_error(Peer& to, const base::Error& reason) {
  if (reason.error_class() == base::ErrorClass::proc_aborted) {
    lose_way(to, reason);
  } else {
    end_all(to, reason);  // what comes later may succeed again: no memory, no room
  }
}

/// It is gone, says the way to it.
void Core::lose_way(Peer& from, const base::Error& why) { fail(from, unreachable_error(from.process, why)); }

void Core::fail(Peer& gone, const base::Error& reason) {
  if (gone.failure) return;
  gone.failure = reason.clone();
  gone.last_link = std::exchange(gone.link, nullptr);
  gone.has_lost = gone.last_link != nullptr && gone.transport->has_lost(*gone.last_link);
  end_all(gone, *gone.failure);
  while (!gone.below.empty()) {
    ReceiveRequest& request = gone.below.front();
    end(request, {request.address.rank, request.address.tag, 0}, gone.failure->clone());
  }
  auto found = peers_.find(gone.process);
  if (found != peers_.end() && found->second.get() == &gone) {
    retired_.push_back(std::move(found->second));
    peers_.erase(found);
  }
  const bool has_died = spec.router->has_died(gone.process);
  for_each_retained([&](Context& context) { note_failure(context, gone, has_died); });
}

/// Ending its last receive must not take a context away under us.
template <typename Do>
void Core::for_each_retained(const Do& act) {
  std::vector<Context*> contexts;
  contexts_.for_each([&](Context& context) {
    retain(context);
    contexts.push_back(&context);
  });
  for (Context* context : contexts) {
    act(*context);
    drop(*context);
  }
}

/// A member that has left as it should has done its part of the collectives that others are still in: only those end that wait for it.
void Core::note_failure(Context& context, Peer& gone, bool has_died) {
  bool is_member = false;
  int others = 0;
  for (int rank = 0; rank < context.size; ++rank) {
    base::ProcessId member = context.spec.members->at(rank);
    if (member != spec.self) ++others;
    if (member != gone.process) continue;
    is_member = true;
    Peer*& known = context.peers.at(rank);
    if (known != &gone && known != nullptr && known->failure) continue;  // an earlier life of it, which is what we knew
    known = &gone;
    ++context.failed;
    context.has_failures = true;
    if (gone.has_lost) context.loser = &gone;
  }
  context.others = others;
  if (is_member && has_died) fail_collectives(context, *gone.failure);
  if (is_member) end_hopeless(context);
}

/// Receives that nobody is left for.
void Core::end_hopeless(Context& context) {
  for (Matching& matching : context.queues) {
    auto is_hopeless = [&](const Posted& receive) { return failure_of(context, receive.source) != nullptr; };
    while (Posted* posted = matching.find_posted(is_hopeless)) {
      end(static_cast<ReceiveRequest&>(*posted), {posted->source, posted->tag, 0},
          failure_of(context, posted->source)->clone());
    }
  }
}

}  // namespace shim::p2p
