// SPDX-License-Identifier: BSD-3-Clause
// The Transport over one libfabric endpoint. sending.cpp and receiving.cpp move frames; reading.cpp reads other processes' memory;
// receipts.cpp knows what has arrived; ofi.cpp is the rest.
#pragma once

#include <rdma/fi_eq.h>

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "shim/base/descriptor.hpp"
#include "shim/transport/fork_mark.hpp"
#include "shim/transport/ofi/buffers.hpp"
#include "shim/transport/ofi/endpoint.hpp"
#include "shim/transport/ofi/link.hpp"
#include "shim/transport/ofi/matcher.hpp"
#include "shim/transport/ofi/region_marker.hpp"

namespace shim::transport {

/// What came while somebody could not take it.
struct Held {
  Bytes packet;
  MatchedReceive* receive = nullptr;  ///< that has got it; null: none
  bool is_withdrawn = false;          ///< the receive is given back, and there is no packet
};

class Ofi final : public Transport {
 public:
  Ofi(Library library, Endpoint endpoint, std::uint64_t cookie, base::Nanoseconds patience);
  ~Ofi() override;

  std::string_view name() const override { return "ofi"; }
  std::size_t max_packet_bytes() const override { return ofi_packet_bytes(); }
  Bytes address() const override;
  base::Result<Link*> open(ConstSpan address) override;
  void expect(Link& link) override;
  [[gnu::hot]] base::Result<Attempt> try_send(Link& link, ConstSpan header, ConstSpan payload) override;
  [[gnu::hot]] base::Result<int> poll(Sink& sink) override;
  base::Result<Attempt> try_read(Link&, std::uint64_t, std::span<std::byte>) override { return Attempt::unsupported; }
  bool needs_offers() const override { return true; }
  std::unique_ptr<Offer> offer(Link& link, ConstSpan memory) override;
  std::unique_ptr<Read> begin_read(Link& link, const RemoteMemory& from, std::span<std::byte> into) override;
  bool is_gone(const Link& link) const override;
  bool has_lost(const Link& link) const override;
  bool has_losses() const override { return has_losses_; }
  std::string_view why_gone(const Link& link) const override;
  void look_for_losses() override { is_in_doubt_ = true; }
  bool is_flushed() const override;
  bool can_sleep() const override { return false; }
  void sleep(std::int64_t nanoseconds, const LastLook&, std::span<const int>) override;
  const Counts& counts() const override { return counts_; }
  Matcher* matcher() override { return matcher_.get(); }
  bool may_match() const override { return matcher_ != nullptr; }
  std::string_view caution() const override { return caution_; }

  /// Makes the buffers known to the provider, and posts receives.
  base::Status begin();
  /// Keeps the marker of the endpoint's shared memory as long as the endpoint.
  void keep(RegionMarker marker) { marker_ = std::move(marker); }
  /// Keep the closed standard streams' numbers occupied while the provider may open sockets: at any send or poll.
  void hold(std::unique_ptr<base::StandardStreamsHeld> streams) { streams_ = std::move(streams); }
  const Endpoint& endpoint() const { return endpoint_; }

 private:
  friend class OfiOffered;
  friend class OfiRead;
  friend class OfiMatcher;

  // --- ofi.cpp
  [[gnu::hot]] base::Status check() const;
  [[gnu::hot]] OfiLink& link_of(std::uint64_t cookie);
  base::Error failure(int code) const;
  void fail(OfiLink& link, base::Error why);
  void cut_off(OfiLink& link, base::Error why);

  // --- sending.cpp
  base::Result<Attempt> introduce_ourselves(OfiLink& link);
  base::Result<Attempt> insert(OfiLink& link);
  [[gnu::hot]] base::Result<Attempt> make_ready(OfiLink& link);
  [[gnu::hot]] base::Result<Attempt> reach(OfiLink& link);
  [[gnu::hot]] base::Result<Attempt> try_send_as(FrameKind kind, std::uint64_t bits, OfiLink& link, ConstSpan header, ConstSpan payload);
  [[gnu::hot]] base::Result<Attempt> send_frame(OfiLink& link, FrameKind kind, ConstSpan header, ConstSpan payload, std::uint64_t bits = 0);
  [[gnu::hot]] base::Result<Attempt> inject(OfiLink& link, const Match& match, std::size_t bytes);
  base::Result<Attempt> send_copy(OfiLink& link, const Match& match, FrameKind kind, ConstSpan header, ConstSpan payload);
  base::Result<Attempt> send_in_parts(OfiLink& link, ConstSpan header, ConstSpan payload);
  [[gnu::hot]] std::size_t write_frame(std::byte* into, OfiLink& link, FrameKind kind, ConstSpan header, ConstSpan payload) const;
  bool has_room(const OfiLink& link, std::size_t sends) const;
  Operation* take_send(OfiLink& link);
  void give_back(Operation* send);
  base::Result<Attempt> post(OfiLink& link, Operation& send);
  [[gnu::hot]] base::Result<Attempt> outcome_of(OfiLink& link, ssize_t code);
  base::Result<Attempt> push(OfiLink& link);
  void push_all();

  // --- receiving.cpp
  [[gnu::hot]] base::Status post_receives();
  bool is_time_to_post() const { return receives_.available() >= least_posted_; }
  [[gnu::hot]] std::optional<Frame> frame_of(ConstSpan message);
  [[gnu::hot]] void take_message(ConstSpan message, Sink& sink);
  [[gnu::hot]] void take_frame(const Frame& frame, ConstSpan rest, Sink& sink);
  [[gnu::hot]] void take_packet(OfiLink& link, ConstSpan rest, bool is_last, Sink& sink);
  ConstSpan matched_packet(ConstSpan message, OfiLink*& link);
  [[gnu::hot]] void hand_on_held(Sink& sink);
  [[gnu::hot]] OfiLink* sender_of(const Frame& frame, ConstSpan rest);
  [[gnu::hot]] void complete(const fi_cq_msg_entry& entry, fi_addr_t sender, Sink& sink);
  base::Status take_error(Sink& sink);
  [[gnu::hot]] base::Result<bool> refill(Sink& sink);
  [[gnu::hot]] base::Result<bool> read_completions(int most, Sink& sink);

  // --- reading.cpp
  void end_read(Operation& operation, int code);
  void settle(OfiRead& read);

  // --- receipts.cpp
  base::Result<Attempt> send_receipt(OfiLink& link, FrameKind kind);
  base::Result<Attempt> ask(OfiLink& link);
  void ask_for_receipts();
  void ask_of_losses();
  void look_for_gaps();
  void take_ask(OfiLink& link, ConstSpan bytes);
  bool owe_answer(OfiLink& link);
  bool has_asked(OfiLink& link);
  void answer_asks();
  bool misses_packets(OfiLink& link) const;
  bool answer(OfiLink& link);
  void take_receipt(OfiLink& link, ConstSpan bytes);
  void take_failure(OfiLink& link, FrameKind kind);
  void miss_frames(OfiLink& link, FrameKind before);
  void note_missing(OfiLink& link);
  void note_loss(OfiLink& link, const char* which_way);
  void take_bye(OfiLink& link, ConstSpan bytes);
  void say_goodbye();

  std::unique_ptr<base::StandardStreamsHeld> streams_;
  RegionMarker marker_;
  Library library_;
  Endpoint endpoint_;
  const Traits traits_;
  const std::string caution_;
  std::uint64_t cookie_;
  const base::Nanoseconds patience_;
  Buffers sends_;
  std::unique_ptr<std::byte[]> injected_;  ///< one frame, for as long as it takes to inject it
  Buffers receives_;
  const std::size_t least_posted_;  ///< receives that are posted together
  Buffers reads_;
  std::unordered_map<std::uint64_t, std::unique_ptr<OfiLink>> links_;  ///< by the peer's cookie
  std::size_t unsent_ = 0;  ///< in all links
  bool has_losses_ = false;
  base::Nanoseconds gaps_looked_at_ = 0;
  std::vector<OfiLink*> asking_;  ///< peers that want a receipt
  struct {
    fi_cq_msg_entry entries[16];
    fi_addr_t senders[16];  ///< of messages, where receives name them
    int next = 0, end = 0;
  } batch_;  ///< completions read and not looked at; a member, because a packet's receiver may have to look at the rest (settle)
  std::deque<Held> held_;
  std::unique_ptr<OfiMatcher> matcher_;
  std::optional<base::Error> broken_;  ///< why the endpoint is of no use any more
  mutable bool is_flushing_ = false;  ///< somebody asked is_flushed, and the answer was no
  bool is_in_doubt_ = false;  ///< somebody has waited for long
  ForkMark mark_;
  Counts counts_;
};

/// May what libfabric answered with this code succeed later? Its queues are full, or memory has run out.
bool is_passing(ssize_t code);

}  // namespace shim::transport
