// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/liveness.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "shim/p2p/context_failures.hpp"
#include "shim/transport/matching.hpp"

namespace shim::p2p {

namespace {

constexpr base::Nanoseconds kLivenessInterval = 100'000'000;
// Enough polls for all packets in a ring or a completion queue.
constexpr int kMaxDrainPolls = 10'000;
/// Most links that a receive from any source opens to watch members; each may use a descriptor at
/// both ends. Other members report further deaths.
constexpr std::size_t kMaxLinksPerAnySource = 256;

/// Return the error of a link, with the process added.
base::Error unreachable_error(base::ProcessId process, const base::Error& why) {
  return why.clone().within(text_of(process) + " is unreachable");
}

/// @param why the process is unreachable though it may be alive; empty: it has died or finalized
base::Error gone_error(base::ProcessId process, std::string_view why) {
  if (!why.empty())
    return unreachable_error(process, {base::ErrorClass::proc_aborted, std::string(why)});
  return died_error(process);
}

/// True if the link to this peer, or its last one, has lost packets.
bool has_lost_packets(const Peer& peer, const transport::Link* link) {
  return link != nullptr && peer.interfaces->loss_detector != nullptr &&
         peer.interfaces->loss_detector->has_lost_packets(*link);
}

/// Return why nothing more arrives over the peer's link though its process may live; else empty.
std::string_view gone_reason(const Peer& peer) {
  const transport::FailureDetector* detector = peer.interfaces->failure_detector;
  return detector == nullptr ? std::string_view() : detector->gone_reason(*peer.link);
}

transport::ShutdownNotice shutdown_notice(const Peer& peer, const transport::Link& link) {
  const transport::FailureDetector* detector = peer.interfaces->failure_detector;
  return detector == nullptr ? transport::ShutdownNotice::not_expected
                             : detector->shutdown_notice(link);
}

void sort_unique(std::vector<base::ProcessId>& processes) {
  std::sort(processes.begin(), processes.end());
  processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
}

}  // namespace

/// Processes that this engine depends on now: single ones, and sets of which one living member is
/// enough.
struct Liveness::Dependencies {
  std::vector<base::ProcessId> single;
  /// members of communicators with active collectives, which a member's death ends
  std::vector<base::ProcessId> members;
  /// sets, one for each receive or probe from any source
  std::vector<std::vector<base::ProcessId>> any;
};

void Liveness::add_dependency(Dependencies& dependencies, const Context& context,
                              int source) const {
  if (source != kAnySource) {
    dependencies.single.push_back(context.spec.members->at(source));
    return;
  }
  std::vector<base::ProcessId>& others = dependencies.any.emplace_back();
  for (int rank = 0; rank < context.size; ++rank) {
    base::ProcessId member = context.spec.members->at(rank);
    Peer* known = context.known_peer(rank);
    if (member != collaborators_.self && (known == nullptr || !known->failure))
      others.push_back(member);
  }
}

/// Add the source of unsuccessful probes. A program that probed both before and after the last
/// liveness check probes in a loop: it depends on the source like a waiting thread.
void Liveness::add_probed_source(Dependencies& dependencies, Context& context) const {
  if (!context.probed) return;
  if (!std::exchange(context.probed->is_fresh, false))
    context.probed.reset();
  else if (std::exchange(context.probed->was_seen, true))
    add_dependency(dependencies, context, context.probed->source);
}

void Liveness::add_members(Dependencies& dependencies, const Context& context) const {
  for (int rank = 0; rank < context.size; ++rank) {
    const base::ProcessId member = context.spec.members->at(rank);
    if (member != collaborators_.self) dependencies.members.push_back(member);
  }
}

Liveness::Dependencies Liveness::dependencies(bool with_output) {
  Dependencies all;
  std::vector<const Context*> in_collectives;  // includes ended communicators: for comparison only
  collaborators_.peers.for_each([&](const Peer& peer) {
    if (!peer.unfinished.empty() || !peer.incoming.empty() || !peer.provider_receives.empty() ||
        (with_output && !peer.queue.empty()))
      all.single.push_back(peer.process);
    for (const SendRequest& request : peer.unfinished)
      if (request.address.plane == Plane::collective)
        in_collectives.push_back(request.address.context);
  });
  for (const Progress::Watched* watched : watched_)
    if (!watched->is_gone) all.single.push_back(watched->process);
  for (const MessageAddress* from : awaited_) {
    add_dependency(all, *from->context, from->rank);
    if (from->plane == Plane::collective) in_collectives.push_back(from->context);
  }
  collaborators_.contexts.for_each([&](Context& context) {
    add_probed_source(all, context);
    for (Matching& matching : context.queues) {
      if (!matching.has_posted()) continue;
      matching.for_each_source([&](int source) { add_dependency(all, context, source); });
    }
    const bool is_collective = context.matching(Plane::collective).has_posted() ||
                               std::ranges::find(in_collectives, &context) != in_collectives.end();
    if (is_collective && !context.collective_failure) add_members(all, context);
  });
  sort_unique(all.single);
  sort_unique(all.members);
  return all;
}

void Liveness::check() {
  Dependencies watched;
  std::vector<base::ProcessId> gone, link_gone;
  {
    Guard guard = collaborators_.lock.enter();
    base::Nanoseconds now = base::now_ns();
    if (now < next_check_.load(std::memory_order_relaxed)) return;
    next_check_.store(now + kLivenessInterval, std::memory_order_relaxed);
    collaborators_.actions.complete_overdue();
    collaborators_.transports.probe_losses();
    update_watched();
    watched = dependencies(true);
    record_late_losses();
    open_links(watched, guard);
    gone = link_gone = peers_with_losses();
  }
  const auto is_gone = [&](base::ProcessId process) {
    if (!collaborators_.router->is_alive(process)) return true;
    Guard guard = collaborators_.lock.enter();
    if (!is_link_gone(process)) return false;
    link_gone.push_back(process);
    return true;
  };
  for (base::ProcessId process : watched.single) {
    if (process != collaborators_.self && is_gone(process)) gone.push_back(process);
  }
  const auto has_died = [&](base::ProcessId process) {
    Guard guard = collaborators_.lock.enter();
    return is_dead(process);
  };
  for (base::ProcessId process : watched.members) {
    // a process that has finalized has completed its part
    if (process != collaborators_.self && has_died(process)) gone.push_back(process);
  }
  for (const auto& members : watched.any) {
    std::ranges::copy_if(members, std::back_inserter(gone), has_died);
    for (base::ProcessId process : members) {
      if (!is_gone(process)) break;
      gone.push_back(process);
    }
  }
  if (gone.empty()) return;
  Guard guard = collaborators_.lock.enter();
  drain_transports();
  sort_unique(gone);
  // a process may have re-initialized meanwhile, with a new link
  std::erase_if(gone, [&](base::ProcessId process) {
    return std::ranges::find(link_gone, process) != link_gone.end() && !is_link_gone(process);
  });
  for (base::ProcessId process : gone) {
    Peer& failed = collaborators_.peers.at(process);
    const bool may_live = failed.link != nullptr &&
                          std::ranges::find(link_gone, process) != link_gone.end();
    fail(failed, gone_error(process, may_live ? gone_reason(failed) : std::string_view()));
  }
}

/// A process that has ended its last session has left all its communicators, though it may begin
/// another session.
void Liveness::update_watched() {
  for (Progress::Watched* watched : watched_)
    watched->is_gone = watched->is_gone ||
                       !collaborators_.router->receives_packets(watched->process);
}

/// Open links to processes that this one only receives from: between nodes the connection reports a
/// death, and a fabric reports lost messages. The next check retries failed ones.
void Liveness::open_links(const Dependencies& watched, Guard& guard) {
  const bool any_lost_packets = collaborators_.transports.any_lost_packets();
  const auto open_link_to = [&](base::ProcessId process) {
    const Peer* known = collaborators_.peers.find(process);
    if (process == collaborators_.self || (known != nullptr && known->link != nullptr)) return;
    guard.unlock();
    auto route = collaborators_.router->route_to(process);
    guard.lock();
    if (!route) return;
    if (route->transport->presence_detector() == nullptr) {
      const transport::LossDetector* losses = route->transport->loss_detector();
      if (losses == nullptr || !losses->any_lost_packets()) return;
      auto link = route->transport->open(route->address);
      if (!link || !losses->has_lost_packets(**link)) return;
    }
    Peer& to = collaborators_.peers.at(process);
    if (to.link == nullptr && !to.failure)
      (void)collaborators_.actions.open_link(to, *std::move(route));
  };
  std::ranges::for_each(watched.single, open_link_to);
  for (const auto& members : watched.any) {
    const std::size_t most = any_lost_packets ? members.size()
                                              : std::min(members.size(), kMaxLinksPerAnySource);
    std::ranges::for_each(std::span(members).first(most), open_link_to);
  }
}

/// Record losses that a link has reported only after its peer failed, for example because the
/// process died.
void Liveness::record_late_losses() {
  const auto is_new = [](const Peer& gone) {
    return !gone.has_lost_packets && has_lost_packets(gone, gone.last_link);
  };
  bool has_new = false;
  collaborators_.peers.for_each_retired(
      [&](const Peer& gone) { has_new = has_new || is_new(gone); });
  if (!has_new) return;
  drain_transports();
  collaborators_.peers.for_each_retired([&](Peer& gone) {
    if (!is_new(gone)) return;
    gone.has_lost_packets = true;
    collaborators_.contexts.for_each_retained([&](Context& context) {
      context.peers.for_each([&](int, const Peer* member) {
        if (member == &gone) context.lossy_peer = &gone;
      });
      collaborators_.failed_ranks.end_unsatisfiable(context);
    });
  });
}

/// Return the peers whose links have lost packets, whether or not an operation waits for them: a
/// lost message may have matched a receive from any source.
std::vector<base::ProcessId> Liveness::peers_with_losses() const {
  std::vector<base::ProcessId> found;
  collaborators_.peers.for_each([&](const Peer& peer) {
    if (has_lost_packets(peer, peer.link)) found.push_back(peer.process);
  });
  return found;
}

/// True if the link reports that the process is gone; the router knows processes of this node only.
bool Liveness::is_link_gone(base::ProcessId process) const {
  const Peer* known = collaborators_.peers.find(process);
  return known != nullptr && known->link != nullptr &&
         known->interfaces->failure_detector != nullptr &&
         known->interfaces->failure_detector->is_gone(*known->link);
}

/// True if the process is known to have died.
bool Liveness::is_dead(base::ProcessId process) const {
  if (collaborators_.router->has_died(process)) return true;
  const Peer* known = collaborators_.peers.find(process);
  return known != nullptr && is_link_gone(process) && end_of(*known) == ProcessEnd::died;
}

/// True if an operation of the program, or a watch, waits for this process and no other.
bool Liveness::is_depended_on(base::ProcessId process) {
  return std::ranges::binary_search(dependencies(false).single, process);
}

/// Return how a process that is gone ended.
Liveness::ProcessEnd Liveness::end_of(const Peer& gone) const {
  if (collaborators_.router->has_died(gone.process)) return ProcessEnd::died;
  if (!collaborators_.router->receives_packets(gone.process)) return ProcessEnd::left;
  const transport::Link* link = gone.link != nullptr ? gone.link : gone.last_link;
  if (link == nullptr || has_lost_packets(gone, link)) return ProcessEnd::unknown;
  switch (shutdown_notice(gone, *link)) {
    case transport::ShutdownNotice::missing:
      return ProcessEnd::died;
    case transport::ShutdownNotice::received:
      return ProcessEnd::left;
    case transport::ShutdownNotice::not_expected:
      break;
  }
  return ProcessEnd::unknown;
}

/// Receive what a process sent before it died or re-initialized.
void Liveness::drain_transports() {
  transport::Matcher* matcher = collaborators_.may_match_in_provider
                                    ? collaborators_.transports.matcher()
                                    : nullptr;
  const std::uint64_t drain = matcher == nullptr ? 0 : matcher->request_drain();
  const auto is_drained = [&] {
    return matcher == nullptr || matcher->drains_completed() >= drain;
  };
  base::Status status;
  for (int i = 0;
       i < kMaxDrainPolls && (collaborators_.actions.poll_all(status) != 0 || !is_drained()); ++i) {
  }
}

const base::Error* Liveness::link_failure_reason(base::ProcessId process) const {
  const Peer* known = collaborators_.peers.find(process);
  return known != nullptr && known->link != nullptr ? nullptr
                                                    : collaborators_.peers.last_failure(process);
}

void Liveness::reset_peer(base::ProcessId process, const base::Error& reason) {
  if (collaborators_.peers.at(process).link == nullptr) return;
  drain_transports();
  fail(collaborators_.peers.at(process), reason, ProcessEnd::left);
}

void Liveness::end_operations(Peer& with, const base::Error& reason) {
  base::Error kept = reason.clone();  // the reason may belong to an object that ends here
  for (const QueuedOutput& queued : with.queue) {
    // information only: an operation that waits for an answer detects the failure itself
    if (queued.is_control)
      log("a control message to process " + std::to_string(with.process.rank) +
          " is lost: " + kept.text());
  }
  with.queue.clear();
  while (!with.unfinished.empty()) {
    SendRequest& request = with.unfinished.front();
    if (request.was_sent)
      collaborators_.operations.end(
          request,
          std::nullopt);  // it was complete, and can no longer be cancelled
    else
      collaborators_.operations.end(request, kept.clone());
  }
  while (!with.incoming.empty()) {
    ReceiveRequest& request = with.incoming.front();
    collaborators_.operations.end(
        request, {request.matched_source, request.matched_tag, request.received}, kept.clone());
  }
}

void Liveness::on_send_error(Peer& to, const base::Error& reason) {
  if (reason.error_class() == base::ErrorClass::proc_aborted) {
    fail_link(to, reason);
  } else {
    end_operations(to, reason);  // later packets may succeed: out of memory or space
  }
}

/// Handle a link's report that the process is gone.
void Liveness::fail_link(Peer& from, const base::Error& why) {
  fail(from, unreachable_error(from.process, why));
}

void Liveness::fail(Peer& gone, const base::Error& reason, std::optional<ProcessEnd> how) {
  if (gone.failure) return;
  gone.failure = reason.clone();
  if (collaborators_.log != nullptr)
    collaborators_.log->write_if_wanted(base::LogLevel::info, [&] {
      return "lost process " + std::to_string(gone.process.rank) + ": " + gone.failure->text();
    });
  const bool is_depended_on = this->is_depended_on(gone.process);
  for (Progress::Watched* watched : watched_)
    watched->is_gone = watched->is_gone || watched->process == gone.process;
  gone.drop_link();
  gone.has_lost_packets = has_lost_packets(gone, gone.last_link);
  end_operations(gone, *gone.failure);
  while (!gone.provider_receives.empty()) {
    ReceiveRequest& request = gone.provider_receives.front();
    collaborators_.operations.end(request, {request.address.rank, request.address.tag, 0},
                                  gone.failure->clone());
  }
  collaborators_.peers.retire(gone);
  ProcessEnd end = how ? *how : end_of(gone);
  // no operation waits for it: it may have finalized while only packets of this library, such as
  // notices, were on their way to it
  if (end == ProcessEnd::unknown && !is_depended_on) end = ProcessEnd::left;
  collaborators_.contexts.for_each_retained(
      [&](Context& context) { record_failure(context, gone, end); });
}

/// A member that finalized has completed its part of collectives that others are still in: only
/// operations that wait for it end.
void Liveness::record_failure(Context& context, Peer& gone, ProcessEnd how) {
  bool is_member = false;
  std::vector<int> failed;
  int others = 0;
  for (int rank = 0; rank < context.size; ++rank) {
    base::ProcessId member = context.spec.members->at(rank);
    if (member != collaborators_.self) ++others;
    if (member != gone.process) continue;
    is_member = true;
    if (how != ProcessEnd::left) failed.push_back(rank);
    Peer*& known = context.peers.at(rank);
    if (known != &gone && known != nullptr && known->failure)
      continue;  // an earlier incarnation, which was the known one
    known = &gone;
    ++context.failed;
    context.has_failures = true;
    if (gone.has_lost_packets) context.lossy_peer = &gone;
  }
  context.others = others;
  if (is_member && how == ProcessEnd::died)
    collaborators_.collectives.end_collectives(context, *gone.failure);
  for (int rank : failed) collaborators_.failed_ranks.record_failed_rank(context, rank);
  if (is_member) collaborators_.failed_ranks.end_unsatisfiable(context);
}

/// Check for deaths as a waiting thread would, without waiting.
std::vector<int> Liveness::check_members(Context& context) {
  Guard guard = collaborators_.lock.enter();
  drain_transports();
  for (int rank = 0; rank < context.size; ++rank) {
    const base::ProcessId member = context.spec.members->at(rank);
    const Peer* known = context.known_peer(rank);
    const bool is_known = member == collaborators_.self || (known != nullptr && known->failure);
    if (!is_known && is_dead(member))
      fail(collaborators_.peers.at(member), died_error(member), ProcessEnd::died);
  }
  return context.failed_ranks;
}

void Liveness::log(const std::string& text) const {
  if (collaborators_.log != nullptr && collaborators_.log->wants(base::LogLevel::info))
    collaborators_.log->write(base::LogLevel::info, text);
}

}  // namespace shim::p2p
