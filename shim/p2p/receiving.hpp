// SPDX-License-Identifier: BSD-3-Clause
// Receiving matches messages with receives and probes, and receives short messages.
//
// A receive on the fast path polls for its message with the lock held, and is in no queue. All
// other receives are requests: they take a stored message, or are posted.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>

#include "shim/p2p/context_table.hpp"
#include "shim/p2p/peers.hpp"
#include "shim/p2p/pool.hpp"
#include "shim/p2p/services.hpp"
#include "shim/p2p/transports.hpp"
#include "shim/p2p/unexpected_messages.hpp"
#include "shim/p2p/whole_message.hpp"

namespace shim::p2p {

/// Callers hold the engine's lock.
class Receiving final : public ProviderReceives {
 public:
  /// Objects and settings that the part uses; the objects must outlive it.
  struct Collaborators {
    base::ProcessId self;
    bool may_match_in_provider;
    transport::Sink& sink;  ///< gets the packets that polls of this part find
    Transports& transports;
    ContextTable& contexts;
    Peers& peers;
    UnexpectedMessages& unexpected;
    PacketOutput& output;
    LongReceives& long_receives;
    ProviderPosting& provider;
    MessageRefusal& refusals;
    Engine::Counts& counts;
  };
  explicit Receiving(const Collaborators& collaborators) : collaborators_(collaborators) {}

  // --- arriving messages
  /// Handle a message that needs no answer. Return as is_poll_wanted(). Inlined
  /// (receiving_fast_path.hpp).
  bool on_whole_message(const WholeMessage& message);
  /// Handle a message that is announced, or whose sender waits for an answer.
  void on_answered_message(const wire::EagerWords& header, const MessageInfo& info,
                           base::ContextId id);
  /// False, which ends the poll, once all receives that the poll is for have their messages.
  bool is_poll_wanted() const {
    return expected_ == nullptr ? !is_served() : !expected_->is_received;
  }
  /// Poll the transports; return the number of packets. Thorough: idle ones, too.
  [[gnu::hot]] int poll_all(bool thorough, base::Status& status);

  // --- receives on the fast path; inlined
  /// True if the receive bypasses no other message and no other receive.
  bool may_take_fast_path(const ExpectedRecv& expected);
  /// Count a receive on the fast path; true if a round must poll all transports and run registered
  /// work instead, now and then.
  bool is_round_due_after_fast_paths();
  /// Poll up to `polls` times. True if the message has arrived or a poll has failed; if false and
  /// expected.can_retry is false, the caller must use the slow path.
  bool poll_for(ExpectedRecv& expected, int polls);
  /// Receives on the fast path in a row before a round.
  static constexpr int kMaxFastPathsInARow = 16;
  /// Receive without waiting: take the message if it is the next one from its source and no other
  /// receive is posted for that source. If false, the slow path is needed and `received` is
  /// unchanged.
  bool receive_if_arrived(const MessageAddress& from, const types::Buffer& into,
                          MessageStatus& received);

  // --- receives as requests
  /// Take a stored message, or post the receive.
  [[gnu::hot]] base::Status start(ReceiveRequest& request);
  /// Do what start() does; inlined.
  base::Status find_or_post(ReceiveRequest& request);
  /// Receive a message that take_message() has removed.
  void start_matched(ReceiveRequest& request, StoredMessage& message);
  void deliver(ReceiveRequest& request, const MessageInfo& info, Context& context) override;
  base::Status restart(ReceiveRequest& request) override { return start(request); }
  void end(ReceiveRequest& request, const MessageStatus& outcome, std::optional<base::Error> error);
  /// Remove a receive from all lists, and do not complete it.
  void abandon(ReceiveRequest& request) { unlink(request); }
  void cancel(ReceiveRequest& request);
  template <typename... Arguments>
  [[gnu::always_inline]] ReceiveRequest* make(Arguments&&... arguments) {
    return requests_.make(std::forward<Arguments>(arguments)...);
  }
  void free(ReceiveRequest& request);
  /// Record a receive of the program that was freed while active, unless this process alone could
  /// send its message.
  void record_freed(ReceiveRequest& request);
  bool has_no_freed() const { return freed_.empty(); }
  /// True if no receive that was freed while active is posted in this context or matched.
  bool has_no_freed(const Context& context) const;

  // --- probes
  /// Return the first message that a user-plane receive would match now; null if there is none.
  StoredMessage* find_message(Context& context, int source, int tag) {
    UnexpectedMsg* found = context.matching(Plane::user).find_unexpected(source, tag);
    if (found == nullptr && collaborators_.may_match_in_provider)
      collaborators_.provider.drain_for_probe(context, source);
    return static_cast<StoredMessage*>(found);
  }
  /// Remove a message from matching, for mrecv.
  static void take_message(Context& context, StoredMessage& message);

 private:
  void on_message(const MessageInfo& info, base::ContextId id);
  void deliver_posted(PostedReceive& posted, const MessageInfo& info, Context& context);
  void deliver_whole(PostedReceive& posted, const WholeMessage& message, Context& context);
  bool match_expected(const wire::EagerWords& message, transport::ConstSpan payload, bool is_whole);
  int poll_once(const ExpectedRecv& expected, base::Status& status);
  bool serve_posted(Context& context, Matching& matching, int source);
  /// True if serve_posted() polls and no receive is posted for its source any more: its poll stops.
  bool is_served() const { return served_ != nullptr && !served_->has_posted_for(served_source_); }
  /// True if many receives in a row found their messages without a progress round; then make one.
  bool is_round_due() { return ++immediate_receives_ % kMaxImmediateReceives == 0; }
  void post(ReceiveRequest& request);
  void unlink(ReceiveRequest& request);

  // If receives are already posted for a source, only one new receive in this many polls, for all
  // of them. If each polled, this core would take the cache line of each message from the sender
  // while the sender writes it.
  static constexpr unsigned kPostedPerPoll = 8;
  // A round stores messages as unexpected although the program would soon receive them at lower
  // cost, so rounds are rare here.
  static constexpr std::uint32_t kMaxImmediateReceives = 512;

  const Collaborators collaborators_;
  ExpectedRecv* expected_ = nullptr;  ///< the receive that polls on the fast path
  /// queues of the receives that serve_posted() polls for; null while it does not poll
  const Matching* served_ = nullptr;
  int served_source_ = 0;
  unsigned posted_behind_others_ = 0;
  int fast_paths_in_a_row_ = 0;  ///< receives on the fast path since all transports were polled
  /// calls that may have received a message without a round
  std::uint32_t immediate_receives_ = 0;
  Pool<ReceiveRequest> requests_;
  /// receives that the program freed while they were active
  std::unordered_set<const ReceiveRequest*> freed_;
};

}  // namespace shim::p2p
