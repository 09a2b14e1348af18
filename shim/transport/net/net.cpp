// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/net/net.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/transport/fork_mark.hpp"
#include "shim/transport/matching.hpp"
#include "shim/transport/net/connection_manager.hpp"
#include "shim/transport/optional_interfaces.hpp"

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;
using base::Status;

/// Least time between two polls of all connections: without a fabric; without a fabric while
/// poll_last_sender() receives packets; with a fabric; and with a fabric that has received packets
/// since the last poll. A poll is a system call, so the fabric and shared memory are polled far
/// more often.
constexpr base::Nanoseconds kMessagePollInterval = 2'000, kOtherPollInterval = 20'000,
                            kPollIntervalWithFabric = 10'000, kPollIntervalWithBusyFabric = 100'000;
/// Polls of one link without result after which all connections are polled: a small part of the
/// time, however long a system call takes.
constexpr unsigned kLinkPollsPerFullPoll = 32;
/// For this time after its last packet, the last sender is polled every time, because it may reply
/// at once.
constexpr base::Nanoseconds kReplyWindow = 50'000;
constexpr base::Nanoseconds kMaxSleep = 1'000'000;
/// Longer packets need fewer system calls per byte; beyond this nothing is gained
/// (docs/decisions/0024-tcp-between-nodes.md).
constexpr std::size_t kLongPacketBytes = 80 * 1024;

struct NetLink final : Link {
  PeerConnection* peer = nullptr;
  Link* fabric = nullptr;         ///< set once both ends are open
  Bytes address;                  ///< of its fabric; empty until known
  bool has_requested = false;     ///< its fabric address
  bool has_sent_address = false;  ///< the local fabric's address, to the peer
  std::optional<Error> failure;   ///< of either fabric, for good
  bool is_used = false;           ///< packets have been sent over its connection
};

/// Return the error that ends waits for a process that cannot be reached.
Error unreachable(const std::string& why) {
  return Error(ErrorClass::proc_aborted,
               "cannot communicate with a process of another node: " + why);
}

/// Sends packets over TCP, and over a fabric once both processes know each other's fabric address.
///
/// Size: Transport and its optional interfaces, of which most functions forward to the connections
/// or to the fabric in one line; the rest exchanges fabric addresses and polls.
class NetTransport final : public Net,
                           private StreamLimits,
                           private SetupPath,
                           private RegisteredReads,
                           private Sleeper,
                           private FailureDetector,
                           private PresenceDetector,
                           private LossDetector,
                           private Matcher {
 public:
  NetTransport(std::unique_ptr<ConnectionManager> connections, NetSettings settings)
      : settings_(std::move(settings)),
        connections_(std::move(connections)),
        open_task_(settings_.open_fabric) {}

  ~NetTransport() override {
    if (fork_mark_.is_own_process()) connections_->send_shutdown_notices();
  }

  std::string_view name() const override { return "net"; }
  Reach reach() const override { return Reach::other_nodes; }
  std::size_t max_packet_bytes() const override { return settings_.max_packet_bytes; }
  Bytes address() const override { return connections_->address().to_bytes(); }
  Result<Link*> open(ConstSpan address) override;
  [[gnu::hot]] Result<Attempt> try_send(Link& link, ConstSpan header, ConstSpan payload) override;
  [[gnu::hot]] Result<int> poll(Sink& sink) override;
  [[gnu::hot]] Result<int> poll_link(Link& link, Sink& sink) override;
  bool is_flushed() const override {
    return connections_->is_flushed() && (!fabric_ || fabric_->is_flushed());
  }
  const Counts& counts() const override;
  StreamLimits* stream_limits() override { return this; }
  SetupPath* setup_path() override { return this; }
  RegisteredReads* registered_reads() override { return wants_fabric() ? this : nullptr; }
  /// Null with a fabric, whose packets wake no thread.
  Sleeper* sleeper() override { return descriptor() >= 0 ? this : nullptr; }
  FailureDetector* failure_detector() override { return this; }
  PresenceDetector* presence_detector() override { return this; }
  LossDetector* loss_detector() override { return wants_fabric() ? this : nullptr; }
  Matcher* matcher() override { return fabric_ && fabric_->matcher() ? this : nullptr; }
  bool may_match() const override {
    return fabric_ ? fabric_->may_match() : settings_.may_match && !fabric_failure_;
  }

  void open_fabric_early() override {
    if (wants_fabric()) open_task_.begin();
  }
  void wait_for_fabric() const override { open_task_.wait(); }

 private:
  // --- StreamLimits
  std::size_t long_packet_bytes(const Link& to) const override;
  StreamBudget stream_budget() override { return {}; }  // no shared memory
  // --- SetupPath
  Result<Attempt> try_send_ahead(Link& link, ConstSpan header, ConstSpan payload) override;
  // --- RegisteredReads: forwarded to the fabric
  std::unique_ptr<MemoryRegistration> offer(Link& link, ConstSpan memory) override;
  std::unique_ptr<Read> begin_read(Link& link, const RemoteMemory& from,
                                   std::span<std::byte> into) override;
  // --- Sleeper
  void sleep(std::int64_t nanoseconds, const LastCheck& last_check, std::span<const int>) override;
  bool may_wait_for_descriptors() override { return false; }
  int descriptor() const override { return wants_fabric() ? -1 : connections_->descriptor(); }
  // --- FailureDetector
  bool is_gone(const Link& link) const override;
  std::string_view gone_reason(const Link& link) const override;
  ShutdownNotice shutdown_notice(const Link& link) const override;
  // --- PresenceDetector
  Presence presence(const Link& link) const override;
  // --- LossDetector: forwarded to the fabric
  bool has_lost_packets(const Link& link) const override;
  bool any_lost_packets() const override;
  void probe_losses() override;
  // --- Matcher: forwarded to the fabric
  bool takes(base::ContextId context, std::int32_t source) const override {
    return fabric_->matcher()->takes(context, source);
  }
  [[gnu::hot]] Result<Attempt> try_send(Link& to, const Envelope& message, ConstSpan header,
                                        ConstSpan payload) override;
  [[gnu::hot]] Result<Attempt> post(MatchedReceive& receive, Link& from,
                                    const Envelope& wanted) override;
  std::size_t free_receives() const override { return fabric_->matcher()->free_receives(); }
  void cancel(MatchedReceive& receive) override { fabric_->matcher()->cancel(receive); }
  void detach(MatchedReceive& receive) override { fabric_->matcher()->detach(receive); }
  void set_drain(const DrainScope& what) override { fabric_->matcher()->set_drain(what); }
  bool is_draining(base::ContextId context) const override {
    return fabric_->matcher()->is_draining(context);
  }
  std::uint64_t request_drain() override { return fabric_->matcher()->request_drain(); }
  std::uint64_t drains_completed() const override { return fabric_->matcher()->drains_completed(); }

  bool wants_fabric() const { return settings_.open_fabric != nullptr; }
  RegisteredReads* registered_reads_of(const NetLink& link) const;
  const FailureDetector* failure_detector_of(const NetLink& link) const;
  void count_packet(NetLink& link, std::size_t bytes);
  NetLink& link_of(PeerConnection& peer);
  Result<bool> has_fabric_link(NetLink& link);
  Status request_fabric_address(NetLink& link);
  bool send_fabric_response(NetLink& link);
  void set_fabric_address(NetLink& link, ConstSpan address);
  Result<bool> send_fabric_address(NetLink& link);
  void connect_fabric(NetLink& link);
  void finish_fabric_request(NetLink& link);
  void adopt_fabric();
  void record_packet_from(PeerConnection& from);
  class FrameReceiver;
  [[gnu::hot]] void handle_frame(PeerConnection& peer, const ReceivedFrame& frame, Sink& sink);
  void handle_fabric_frame(NetLink& link, const ReceivedFrame& frame);
  [[gnu::hot]] int poll_connections(Sink& sink, base::Nanoseconds now, base::Nanoseconds interval);
  [[gnu::hot]] int poll_last_sender(Sink& sink, base::Nanoseconds now);
  base::Nanoseconds poll_interval() const;

  NetSettings settings_;
  ForkMark fork_mark_;
  std::unique_ptr<ConnectionManager> connections_;
  std::unordered_map<const PeerConnection*, std::unique_ptr<NetLink>> links_;
  std::vector<NetLink*> pending_responses_;
  FabricOpenTask open_task_;
  std::unique_ptr<Transport> fabric_;
  std::optional<OptionalInterfaces> fabric_interfaces_;  ///< set with fabric_
  std::optional<Error> fabric_failure_;
  /// Of all connections; 0: the last one found data, so there may be more.
  base::Nanoseconds last_poll_ = 0;
  unsigned empty_link_polls_ = 0;          ///< in a row
  bool is_fabric_busy_ = false;            ///< has received a packet since last_poll_
  PeerConnection* last_sender_ = nullptr;  ///< peer of the last TCP packet
  bool has_received_ = false;              ///< since the last clock read
  base::Nanoseconds last_receive_ = 0;     ///< at the last clock read
  std::uint64_t sends_again_ = 0, links_used_ = 0, packets_sent_ = 0, bytes_sent_ = 0,
                packets_received_ = 0;  ///< without the fabric's
  mutable Counts counts_;
};

NetLink& NetTransport::link_of(PeerConnection& peer) {
  auto& link = links_[&peer];
  if (!link) {
    link = std::make_unique<NetLink>();
    link->peer = &peer;
  }
  return *link;
}

Result<Link*> NetTransport::open(ConstSpan address) {
  SHIM_TRY_ASSIGN(PeerConnection * peer, connections_->open(address));
  return &link_of(*peer);
}

Status NetTransport::request_fabric_address(NetLink& link) {
  open_task_.begin();
  const Bytes own = fabric_ ? fabric_->address() : Bytes();  // included to save the peer a request
  SHIM_TRY_ASSIGN(link.has_requested,
                  connections_->send(*link.peer, TcpFrameKind::fabric_request, own));
  link.has_sent_address = link.has_requested && fabric_;
  return {};
}

/// True if packets can go over the fabric. Else request the peer's fabric address, unless that is
/// done.
Result<bool> NetTransport::has_fabric_link(NetLink& link) {
  if (link.fabric) [[likely]]
    return true;
  if (link.failure) return link.failure->clone();
  SHIM_TRY(fork_mark_.check());
  if (const Error* failure = link.peer->failure()) return failure->clone();
  if (fabric_failure_) return unreachable(fabric_failure_->text());
  if (!link.has_requested) SHIM_TRY(request_fabric_address(link));
  return false;
}

std::size_t NetTransport::long_packet_bytes(const Link& to) const {
  const auto& link = static_cast<const NetLink&>(to);
  if (wants_fabric())
    return link.fabric != nullptr && fabric_interfaces_->stream_limits != nullptr
               ? fabric_interfaces_->stream_limits->long_packet_bytes(*link.fabric)
               : max_packet_bytes();
  return link.peer->fits_in_buffer(kLongPacketBytes) ? kLongPacketBytes : max_packet_bytes();
}

Presence NetTransport::presence(const Link& link) const {
  const PeerConnection& peer = *static_cast<const NetLink&>(link).peer;
  const Presence known = peer.presence();
  return known == Presence::gone && wants_fabric() && peer.failure() == nullptr
             ? Presence::unknown
             : known;  // see is_gone()
}

void NetTransport::count_packet(NetLink& link, std::size_t bytes) {
  if (!std::exchange(link.is_used, true)) ++links_used_;
  ++packets_sent_;
  bytes_sent_ += bytes;
}

Result<Attempt> NetTransport::try_send(Link& to, ConstSpan header, ConstSpan payload) {
  auto& link = static_cast<NetLink&>(to);
  if (!wants_fabric()) {
    SHIM_TRY(fork_mark_.check());
    SHIM_TRY_ASSIGN(const bool taken, connections_->send_now(*link.peer, header, payload));
    if (taken)
      count_packet(link, header.size() + payload.size());
    else
      ++sends_again_;
    return taken ? Attempt::done : Attempt::again;
  }
  SHIM_TRY_ASSIGN(const bool has_link, has_fabric_link(link));
  if (!has_link) {
    ++sends_again_;
    return Attempt::again;
  }
  return fabric_->try_send(*link.fabric, header, payload);
}

Result<Attempt> NetTransport::try_send(Link& to, const Envelope& message, ConstSpan header,
                                       ConstSpan payload) {
  auto& link = static_cast<NetLink&>(to);
  SHIM_TRY_ASSIGN(const bool has_link, has_fabric_link(link));
  if (!has_link) {
    ++sends_again_;
    return Attempt::again;
  }
  return fabric_->matcher()->try_send(*link.fabric, message, header, payload);
}

Result<Attempt> NetTransport::post(MatchedReceive& receive, Link& from, const Envelope& wanted) {
  auto& link = static_cast<NetLink&>(from);
  SHIM_TRY_ASSIGN(const bool has_link, has_fabric_link(link));
  if (!has_link) return Attempt::again;
  return fabric_->matcher()->post(receive, *link.fabric, wanted);
}

Result<Attempt> NetTransport::try_send_ahead(Link& to, ConstSpan header, ConstSpan payload) {
  SHIM_TRY(fork_mark_.check());
  SHIM_TRY_ASSIGN(const bool taken, connections_->send(*static_cast<NetLink&>(to).peer,
                                                       TcpFrameKind::packet, header, payload));
  return taken ? Attempt::done : Attempt::again;
}

/// A fabric may never report that a process is gone, and with a fabric connections are closed after
/// use, so their end proves nothing. But an ended process accepts no new connection.
bool NetTransport::is_gone(const Link& to) const {
  const auto& link = static_cast<const NetLink&>(to);
  PeerConnection& peer = *link.peer;
  if (!fork_mark_.is_own_process()) return !wants_fabric() && peer.has_disconnected();
  if (!wants_fabric()) {
    if (!peer.has_disconnected()) connections_->ensure_connecting(peer);
    return peer.has_disconnected();
  }
  connections_->ensure_connecting(peer);
  if (peer.failure() != nullptr) return true;
  const FailureDetector* detector = failure_detector_of(link);
  return detector != nullptr && detector->is_gone(*link.fabric);
}

std::string_view NetTransport::gone_reason(const Link& to) const {
  const auto& link = static_cast<const NetLink&>(to);
  const bool has_ended = link.peer->failure() != nullptr;  // the cause of fabric errors
  const FailureDetector* detector = failure_detector_of(link);
  return detector == nullptr || has_ended ? std::string_view()
                                          : detector->gone_reason(*link.fabric);
}

bool NetTransport::has_lost_packets(const Link& to) const {
  const auto& link = static_cast<const NetLink&>(to);
  return link.fabric != nullptr && fabric_interfaces_->loss_detector != nullptr &&
         fabric_interfaces_->loss_detector->has_lost_packets(*link.fabric);
}

/// With a fabric, a connection may have been closed after use long before its process ended.
ShutdownNotice NetTransport::shutdown_notice(const Link& of) const {
  const auto& link = static_cast<const NetLink&>(of);
  const ShutdownNotice over_connection = link.peer->shutdown_notice();
  if (!wants_fabric() || over_connection == ShutdownNotice::received) return over_connection;
  const FailureDetector* detector = failure_detector_of(link);
  return detector == nullptr ? ShutdownNotice::not_expected
                             : detector->shutdown_notice(*link.fabric);
}

bool NetTransport::any_lost_packets() const {
  return fabric_ != nullptr && fabric_interfaces_->loss_detector != nullptr &&
         fabric_interfaces_->loss_detector->any_lost_packets();
}

void NetTransport::probe_losses() {
  if (fabric_ && fabric_interfaces_->loss_detector != nullptr)
    fabric_interfaces_->loss_detector->probe_losses();
}

/// Return the registered reads of the link's fabric; null while it has none.
RegisteredReads* NetTransport::registered_reads_of(const NetLink& link) const {
  return link.fabric == nullptr ? nullptr : fabric_interfaces_->registered_reads;
}

/// Return what detects failures of the link's fabric; null while it has none.
const FailureDetector* NetTransport::failure_detector_of(const NetLink& link) const {
  return link.fabric == nullptr ? nullptr : fabric_interfaces_->failure_detector;
}

std::unique_ptr<MemoryRegistration> NetTransport::offer(Link& to, ConstSpan memory) {
  const auto& link = static_cast<const NetLink&>(to);
  RegisteredReads* reads = registered_reads_of(link);
  return reads == nullptr ? nullptr : reads->offer(*link.fabric, memory);
}

std::unique_ptr<Read> NetTransport::begin_read(Link& from, const RemoteMemory& memory,
                                               std::span<std::byte> into) {
  const auto& link = static_cast<const NetLink&>(from);
  RegisteredReads* reads = registered_reads_of(link);
  return reads == nullptr ? nullptr : reads->begin_read(*link.fabric, memory, into);
}

Result<bool> NetTransport::send_fabric_address(NetLink& link) {
  SHIM_TRY_ASSIGN(link.has_sent_address,
                  connections_->send(*link.peer, TcpFrameKind::fabric_address, fabric_->address()));
  return link.has_sent_address;
}

/// Respond to a fabric request; false: no space now. An unreachable peer gets no response.
bool NetTransport::send_fabric_response(NetLink& link) {
  Result<bool> sent = true;
  if (fabric_) {
    sent = send_fabric_address(link);
  } else {
    const std::string_view text = fabric_failure_->text();
    sent = connections_->send(*link.peer, TcpFrameKind::fabric_error,
                              std::as_bytes(std::span(text)));
  }
  return !sent || *sent;
}

void NetTransport::set_fabric_address(NetLink& link, ConstSpan address) {
  link.address.assign(address.begin(), address.end());
  if (fabric_ && !link.fabric) connect_fabric(link);
}

/// Open the link once the local fabric is open and the peer's address is known. A peer that
/// requests the local address includes its own address, or sends it before it sends over the
/// fabric, so this process need not request it. Both may request, even if only one is about to
/// send, because posting a provider-matched receive also requests the address.
void NetTransport::connect_fabric(NetLink& link) {
  auto opened = fabric_->open(link.address);
  if (!opened) {
    link.failure = unreachable(opened.error().text());
    return;
  }
  link.fabric = *opened;
  if (fabric_interfaces_->fabric != nullptr) fabric_interfaces_->fabric->expect(*link.fabric);
  if (link.has_requested && !link.has_sent_address)
    (void)send_fabric_address(link);  // a lost peer is detected by senders
}

void NetTransport::finish_fabric_request(NetLink& link) {
  if (link.has_requested && (link.fabric || link.failure))
    connections_->close_if_unused(*link.peer);
}

void NetTransport::adopt_fabric() {
  auto opened = open_task_.take();
  if (opened && (*opened)->max_packet_bytes() < settings_.max_packet_bytes)
    opened = Error(ErrorClass::intern, "the packet limit of the libfabric endpoint is too small");
  if (opened) {
    fabric_ = *std::move(opened);
    fabric_interfaces_.emplace(*fabric_);
  } else {
    fabric_failure_ = std::move(opened).error();
  }
  for (auto& [peer, link] : links_) {
    if (!fabric_)
      link->failure = unreachable(fabric_failure_->text());
    else if (!link->address.empty()) {
      connect_fabric(*link);
      finish_fabric_request(*link);
    }
  }
}

void NetTransport::record_packet_from(PeerConnection& from) {
  ++packets_received_;
  last_sender_ = &from;
  has_received_ = true;
}

void NetTransport::handle_frame(PeerConnection& peer, const ReceivedFrame& frame, Sink& sink) {
  if (frame.kind != TcpFrameKind::packet) return handle_fabric_frame(link_of(peer), frame);
  if (!wants_fabric()) record_packet_from(peer);
  if (frame.placed != 0)
    sink.on_placed(frame.bytes, frame.placed);
  else
    sink.on_packet(frame.bytes);
}

/// Handle a fabric request or response.
void NetTransport::handle_fabric_frame(NetLink& link, const ReceivedFrame& frame) {
  switch (frame.kind) {
    case TcpFrameKind::fabric_request:
      if (!wants_fabric())
        fabric_failure_ = Error(
            ErrorClass::other,
            "it uses TCP between nodes; set INTERSESSION_PROVIDER equally on all processes");
      pending_responses_.push_back(&link);
      if (wants_fabric()) open_task_.begin();
      if (!frame.bytes.empty()) set_fabric_address(link, frame.bytes);
      return;
    case TcpFrameKind::fabric_address:
      set_fabric_address(link, frame.bytes);
      finish_fabric_request(link);
      return;
    case TcpFrameKind::fabric_error:
      link.failure = unreachable(
          "the peer reports: " +
          std::string(reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size()));
      return;
    case TcpFrameKind::shutdown:
    case TcpFrameKind::packet:
    case TcpFrameKind::hello:
    case TcpFrameKind::challenge:
    case TcpFrameKind::proof:
    case TcpFrameKind::welcome:
    case TcpFrameKind::sealed:
      return;
  }
}

/// Passes frames of connections to the transport's sink.
class NetTransport::FrameReceiver final : public ConnectionManager::Receiver {
 public:
  FrameReceiver(NetTransport& net, Sink& sink) : net_(net), sink_(sink) {}
  void on_frame(PeerConnection& from, const ReceivedFrame& frame) override {
    net_.handle_frame(from, frame, sink_);
  }

 private:
  NetTransport& net_;
  Sink& sink_;
};

/// Return the poll interval of the connections.
base::Nanoseconds NetTransport::poll_interval() const {
  if (!wants_fabric()) return kMessagePollInterval;
  return is_fabric_busy_ ? kPollIntervalWithBusyFabric : kPollIntervalWithFabric;
}

/// Poll the last sender for kReplyWindow after its last packet.
int NetTransport::poll_last_sender(Sink& sink, base::Nanoseconds now) {
  if (std::exchange(has_received_, false)) last_receive_ = now;
  if (last_sender_ == nullptr || now - last_receive_ > kReplyWindow) return 0;
  FrameReceiver receiver(*this, sink);
  return connections_->poll_from(*last_sender_, receiver, sink);
}

int NetTransport::poll_connections(Sink& sink, base::Nanoseconds now, base::Nanoseconds interval) {
  if (now - last_poll_ < interval) return 0;
  FrameReceiver receiver(*this, sink);
  const int frames = connections_->poll(receiver, sink);
  last_poll_ = frames > 0 ? 0 : now;
  is_fabric_busy_ = false;
  if (wants_fabric() && !fabric_ && !fabric_failure_ && open_task_.is_over()) adopt_fabric();
  if (fabric_ || fabric_failure_)
    std::erase_if(pending_responses_, [&](NetLink* link) { return send_fabric_response(*link); });
  return frames;
}

Result<int> NetTransport::poll(Sink& sink) {
  SHIM_TRY(fork_mark_.check());
  const base::Nanoseconds now = base::now_ns();
  int moved = poll_last_sender(sink, now);
  moved += poll_connections(
      sink, now,
      moved == 0 ? poll_interval() : kOtherPollInterval);  // bounded, so that other peers are
                                                           // polled even if one sends all the time
  if (fabric_) {
    SHIM_TRY_ASSIGN(const int packets, fabric_->poll(sink));
    is_fabric_busy_ |= packets != 0;
    moved += packets;
  }
  return moved;
}

Result<int> NetTransport::poll_link(Link& from, Sink& sink) {
  auto& link = static_cast<NetLink&>(from);
  if (link.fabric) {
    auto packets = fabric_->poll_link(*link.fabric, sink);
    is_fabric_busy_ |= packets && *packets != 0;
    return packets;
  }
  if (wants_fabric()) return poll(sink);
  SHIM_TRY(fork_mark_.check());
  FrameReceiver receiver(*this, sink);
  const int frames = connections_->poll_from(*link.peer, receiver, sink);
  if (frames > 0 || ++empty_link_polls_ % kLinkPollsPerFullPoll != 0) return frames;
  return poll_connections(sink, base::now_ns(), 0);
}

void NetTransport::sleep(std::int64_t nanoseconds, const LastCheck& last_check,
                         std::span<const int>) {
  if (!last_check()) connections_->sleep(std::min(nanoseconds, kMaxSleep));
}

const Transport::Counts& NetTransport::counts() const {
  counts_ = fabric_ ? fabric_->counts() : Counts{};
  const ConnectionManager::Counts& connections = connections_->counts();
  counts_.links_opened = links_.size();
  counts_.sends_again += sends_again_;
  counts_.links_used += links_used_;
  counts_.packets_sent += packets_sent_;
  counts_.bytes_sent += bytes_sent_;
  counts_.packets_received += packets_received_;
  counts_.tcp_connections = connections.connections;
  counts_.tcp_messages = connections.frames_sent;
  counts_.tcp_bytes = connections.bytes_sent;
  counts_.fabrics_open = fabric_ ? 1 : 0;
  counts_.packets_refused += connections.refused;
  return counts_;
}

}  // namespace

Result<std::unique_ptr<Net>> make_net(NetSettings settings) {
  // with a fabric it may be the name of a libfabric network
  if (!settings.open_fabric) SHIM_TRY(check_interface(settings.interface));
  SHIM_TRY_ASSIGN(auto connections, ConnectionManager::listen(settings.interface));
  return std::unique_ptr<Net>(
      std::make_unique<NetTransport>(std::move(connections), std::move(settings)));
}

}  // namespace shim::transport
