// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/ofi.hpp"

#include <malloc.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "shim/base/clock.hpp"
#include "shim/transport/ofi/buffers.hpp"
#include "shim/transport/ofi/endpoint.hpp"
#include "shim/transport/ofi/fork_mark.hpp"
#include "shim/transport/ofi/wire.hpp"

namespace shim::transport {

/// A peer. Known by its cookie; in the address table from the first send on.
struct OfiLink final : Link {
  explicit OfiLink(OfiAddress peer) : to(std::move(peer)) {}
  OfiAddress to;
  fi_addr_t address = FI_ADDR_UNSPEC;
  std::optional<base::Error> failure;  ///< why nothing can be sent any more
  bool is_introduced = false;  ///< the peer has our address
  std::uint64_t packets_seen = 0;  ///< of the peer's
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_confirmed = 0;  ///< the peer has seen these
  std::uint64_t packets_asked = 0;      ///< and has been asked about these
  base::Nanoseconds asked_at = 0;
  base::Nanoseconds refused_since = 0;  ///< asking has found no room since then
  bool has_said_bye = false;  ///< we have, to it
  bool bye_is_heard = false;  ///< and it has heard it, or will

  /// Nothing is on its way any more, or never will arrive.
  bool is_settled() const { return packets_sent == packets_confirmed || failure; }
  /// Would the peer wait for us, or we for it?
  bool needs_goodbye() const { return (packets_sent > 0 || packets_seen > 0) && !failure && !bye_is_heard; }
};

namespace {

using base::Error;
using base::ErrorClass;
using base::Result;
using base::Status;

constexpr int kReadBatch = 16;     ///< completions taken from the queue at once
constexpr int kReadsPerPoll = 4;   ///< and how often in one poll
constexpr std::int64_t kLongestNapNs = 1'000'000;
/// A flush asks again after this long: an ask, unlike silence, finds out that the peer is gone.
constexpr base::Nanoseconds kAskAgainNs = 20'000'000;
/// tcp;ofi_rxm (libfabric 1.17) connects to a peer that is gone again and again, and says "try again" meanwhile. A peer that
/// neither takes nor says anything for this long while we flush is taken for gone.
constexpr base::Nanoseconds kGoneNs = 2'000'000'000;
/// Closing waits this long for the peers to hear our goodbye; one that is busy elsewhere hears it later.
constexpr base::Nanoseconds kGoodbyeNs = 100'000'000;

class Ofi final : public Transport {
 public:
  Ofi(Library library, Endpoint endpoint, std::uint64_t cookie)
      : library_(library), endpoint_(std::move(endpoint)), cookie_(cookie), sends_(kSendDepth), receives_(kReceiveDepth) {}
  ~Ofi() override;

  std::string_view name() const override { return "ofi"; }
  std::size_t max_packet_bytes() const override { return kFrameBytes - sizeof(Frame); }
  Bytes address() const override;
  Result<Link*> open(ConstSpan address) override;
  Result<Attempt> try_send(Link& link, ConstSpan header, ConstSpan payload) override;
  Result<int> poll(Sink& sink) override;
  Result<Attempt> try_read(Link&, std::uint64_t, std::span<std::byte>) override { return Attempt::unsupported; }
  bool is_flushed() const override;
  bool can_sleep() const override { return false; }
  void sleep(std::int64_t nanoseconds) override;
  const Counts& counts() const override { return counts_; }

  /// Posts as many receives as there are free buffers, as far as the provider takes them.
  Status post_receives();

 private:
  Status check_process() const;
  Result<Attempt> introduce_ourselves(OfiLink& link);
  Result<Attempt> send_frame(OfiLink& link, FrameKind kind, ConstSpan header, ConstSpan payload);
  Result<Attempt> send_receipt(OfiLink& link, FrameKind kind);
  Error failure(int code) const;
  void ask_for_receipts();
  void take_receipt(OfiLink& link, ConstSpan bytes);
  void take_bye(OfiLink& link, ConstSpan bytes);
  void say_goodbye();
  OfiLink* sender_of(const Frame& frame, ConstSpan rest);
  void take_frame(ConstSpan bytes, Sink& sink);
  void complete(const fi_cq_msg_entry& entry, Sink& sink);
  Status take_error();

  Library library_;
  Endpoint endpoint_;
  std::uint64_t cookie_;
  Buffers sends_;
  Buffers receives_;
  std::unordered_map<std::uint64_t, std::unique_ptr<OfiLink>> links_;  ///< by the peer's cookie
  mutable bool is_flushing_ = false;  ///< somebody asked is_flushed, and the answer was no
  ForkMark mark_;
  Counts counts_;
};

Ofi::~Ofi() {
  // In a forked child nothing here is ours: closing would say goodbye on the parent's connections.
  if (!mark_.is_own_process()) {
    endpoint_.abandon();
    return;
  }
  say_goodbye();
  endpoint_.close();
  // tcp;ofi_rxm frees some 90 MiB here, which malloc would keep (docs/measurements.md).
  ::malloc_trim(0);
}

Status Ofi::check_process() const {
  if (mark_.is_own_process()) [[likely]] return {};
  return Error(ErrorClass::other, "a child made by fork cannot use its parent's network endpoint; communicate from the parent");
}

Bytes Ofi::address() const {
  return OfiAddress{cookie_, endpoint_.address_format(), endpoint_.provider(), endpoint_.name()}.to_bytes();
}

Result<Link*> Ofi::open(ConstSpan bytes) {
  auto address = OfiAddress::from_bytes(bytes);
  if (!address) return Error(ErrorClass::arg, "this is not an address of a libfabric endpoint");
  if (address->provider != endpoint_.provider() || address->format != endpoint_.address_format())
    return Error(ErrorClass::arg, "the other process uses libfabric provider " + address->provider + " and this one " +
                                      endpoint_.provider() +
                                      ", perhaps with another kind of address; set INTERSESSION_PROVIDER and "
                                      "INTERSESSION_INTERFACE alike for all processes");
  auto& link = links_[address->cookie];
  if (!link) {
    link = std::make_unique<OfiLink>(*std::move(address));
    ++counts_.links_opened;
  }
  return link.get();
}

Result<Attempt> Ofi::introduce_ourselves(OfiLink& link) {
  SHIM_TRY_ASSIGN(Attempt attempt, send_frame(link, FrameKind::hello, address(), {}));
  link.is_introduced = attempt == Attempt::done;
  return attempt;
}

/// The one place that sends. Copies, so that the caller's bytes are free at once.
Result<Attempt> Ofi::send_frame(OfiLink& link, FrameKind kind, ConstSpan header, ConstSpan payload) {
  if (link.failure) return link.failure->clone();
  if (link.address == FI_ADDR_UNSPEC) {
    SHIM_TRY_ASSIGN(link.address, endpoint_.insert(library_, link.to.name));
  }
  Operation* send = sends_.take();
  if (!send) return Attempt::again;
  const Frame frame{link.to.cookie, cookie_, static_cast<std::uint32_t>(kind), 0};
  std::memcpy(send->bytes, &frame, sizeof frame);
  if (!header.empty()) std::memcpy(send->bytes + sizeof frame, header.data(), header.size());
  if (!payload.empty()) std::memcpy(send->bytes + sizeof frame + header.size(), payload.data(), payload.size());
  send->link = &link;
  const std::size_t bytes = sizeof frame + header.size() + payload.size();
  auto code = ::fi_send(endpoint_.ep(), send->bytes, bytes, nullptr, link.address, &send->context);
  if (code == 0) return Attempt::done;
  sends_.give_back(send);
  if (code == -FI_EAGAIN) return Attempt::again;
  link.failure = failure(static_cast<int>(code));
  return link.failure->clone();
}

Error Ofi::failure(int code) const {
  Error detail = library_.error(code, "a process cannot be reached over " + endpoint_.provider());
  return Error(ErrorClass::proc_aborted, base::Origin::fabric, detail.foreign_code(), detail.text());
}

Result<Attempt> Ofi::try_send(Link& to, ConstSpan header, ConstSpan payload) {
  auto& link = static_cast<OfiLink&>(to);
  SHIM_TRY(check_process());
  const std::size_t bytes = header.size() + payload.size();
  if (bytes > max_packet_bytes()) return Error(ErrorClass::intern, "a packet is longer than the libfabric transport's max_packet_bytes");
  Attempt attempt = Attempt::done;
  if (!link.is_introduced) [[unlikely]] {
    SHIM_TRY_ASSIGN(attempt, introduce_ourselves(link));
  }
  if (attempt == Attempt::done) {
    SHIM_TRY_ASSIGN(attempt, send_frame(link, FrameKind::packet, header, payload));
  }
  if (attempt == Attempt::again) {
    ++counts_.sends_again;
    return attempt;
  }
  if (link.packets_sent++ == 0) ++counts_.links_used;
  ++counts_.packets_sent;
  counts_.bytes_sent += bytes;
  return attempt;
}

/// A completed send says that the bytes left our hands, not that they will arrive: when an endpoint closes with bytes unread,
/// TCP resets its connections and drops what is on its way. So a flush asks every peer for a receipt.
bool Ofi::is_flushed() const {
  bool settled = std::ranges::all_of(links_, [](const auto& entry) { return entry.second->is_settled(); });
  is_flushing_ = !settled;
  return settled && sends_.in_use() == 0;
}

void Ofi::ask_for_receipts() {
  base::Nanoseconds now = base::now_ns();
  for (auto& [cookie, link] : links_) {
    if (link->is_settled()) continue;
    if (link->packets_asked == link->packets_sent && now - link->asked_at < kAskAgainNs) continue;
    auto attempt = send_frame(*link, FrameKind::ask, {}, {});
    if (!attempt) continue;  // the failure is the link's
    if (*attempt == Attempt::done) {
      link->packets_asked = link->packets_sent;
      link->asked_at = now;
      link->refused_since = 0;
    } else if (link->refused_since == 0) {
      link->refused_since = now;
    } else if (now - link->refused_since > kGoneNs) {
      link->failure = Error(ErrorClass::proc_aborted, "a process takes no packets any more over " + endpoint_.provider());
    }
  }
}

/// Packets come in the order sent, so what was sent before an ask has been seen by then. Where an answer finds no room it is
/// dropped: the asker asks again.
Result<Attempt> Ofi::send_receipt(OfiLink& link, FrameKind kind) {
  const Receipt receipt{link.packets_seen};
  return send_frame(link, kind, std::as_bytes(std::span(&receipt, 1)), {});
}

void Ofi::take_receipt(OfiLink& link, ConstSpan bytes) {
  Receipt receipt;
  if (bytes.size() < sizeof receipt) return;
  std::memcpy(&receipt, bytes.data(), sizeof receipt);
  link.packets_confirmed = std::max(link.packets_confirmed, receipt.packets);
}

void Ofi::take_bye(OfiLink& link, ConstSpan bytes) {
  take_receipt(link, bytes);
  // If there is no room, it stops waiting by itself.
  if (closing_loses_packets(endpoint_.provider())) (void)send_frame(link, FrameKind::bye_heard, {}, {});
  if (!link.failure) link.failure = Error(ErrorClass::proc_aborted, "a process has closed its network endpoint");
}

/// Tells everybody we have exchanged packets with what we have seen, so that nobody waits for a receipt from us, and answers
/// their last questions, until all have heard it.
void Ofi::say_goodbye() {
  struct Deaf final : Sink {
    void on_packet(ConstSpan) override {}
  } nobody;
  const base::Nanoseconds end = base::now_ns() + kGoodbyeNs;
  // Reads first: to one whose own goodbye has come nothing must be sent any more.
  while (poll(nobody) && base::now_ns() < end) {
    bool is_over = true;
    for (auto& [cookie, link] : links_) {
      if (!link->needs_goodbye()) continue;
      is_over = false;
      if (link->has_said_bye) continue;
      auto attempt = send_receipt(*link, FrameKind::bye);
      link->has_said_bye = attempt && *attempt == Attempt::done;
      link->bye_is_heard = link->has_said_bye && !closing_loses_packets(endpoint_.provider());
    }
    if (is_over) return;
  }
}

Status Ofi::post_receives() {
  while (Operation* receive = receives_.take()) {
    receive->link = nullptr;
    auto code = ::fi_recv(endpoint_.ep(), receive->bytes, kFrameBytes, nullptr, FI_ADDR_UNSPEC, &receive->context);
    if (code == 0) continue;
    receives_.give_back(receive);
    if (code == -FI_EAGAIN) return {};  // the next poll tries again
    return library_.error(static_cast<int>(code), "fi_recv");
  }
  return {};
}

/// Null for a stranger.
OfiLink* Ofi::sender_of(const Frame& frame, ConstSpan rest) {
  if (frame.to != cookie_) return nullptr;
  if (static_cast<FrameKind>(frame.kind) == FrameKind::hello) {
    auto link = open(rest);
    return link ? static_cast<OfiLink*>(*link) : nullptr;
  }
  auto found = links_.find(frame.from);
  return found == links_.end() ? nullptr : found->second.get();
}

void Ofi::take_frame(ConstSpan bytes, Sink& sink) {
  Frame frame{};
  if (bytes.size() >= sizeof frame) std::memcpy(&frame, bytes.data(), sizeof frame);
  ConstSpan rest = bytes.subspan(std::min(bytes.size(), sizeof frame));
  OfiLink* link = sender_of(frame, rest);
  if (!link) {
    ++counts_.packets_refused;
    return;
  }
  link->refused_since = 0;
  switch (static_cast<FrameKind>(frame.kind)) {
    case FrameKind::packet:
      ++counts_.packets_received;
      if (link->has_said_bye) return;
      ++link->packets_seen;
      return sink.on_packet(rest);
    case FrameKind::hello: return;
    case FrameKind::ask: (void)send_receipt(*link, FrameKind::seen); return;
    case FrameKind::seen: return take_receipt(*link, rest);
    case FrameKind::bye: return take_bye(*link, rest);
    case FrameKind::bye_heard: link->bye_is_heard = true; return;
  }
  ++counts_.packets_refused;
}

void Ofi::complete(const fi_cq_msg_entry& entry, Sink& sink) {
  Operation* operation = operation_of(entry.op_context);
  if (operation->link) {
    sends_.give_back(operation);
    return;
  }
  take_frame(ConstSpan(operation->bytes, entry.len), sink);
  receives_.give_back(operation);
}

/// One failed operation. It belongs to one link, and so does the error.
Status Ofi::take_error() {
  fi_cq_err_entry entry{};
  auto code = ::fi_cq_readerr(endpoint_.cq(), &entry, 0);
  if (code == -FI_EAGAIN) return {};
  if (code < 0) return library_.error(static_cast<int>(code), "fi_cq_readerr");
  if (!entry.op_context) return {};
  Operation* operation = operation_of(entry.op_context);
  if (!operation->link) {  // a receive: too long a packet, from a stranger then, or one cut off by a dying peer
    ++counts_.packets_refused;
    receives_.give_back(operation);
    return {};
  }
  if (!operation->link->failure) operation->link->failure = failure(entry.err);
  sends_.give_back(operation);
  return {};
}

Result<int> Ofi::poll(Sink& sink) {
  SHIM_TRY(check_process());
  const std::uint64_t before = counts_.packets_received;
  for (int reads = 0; reads < kReadsPerPoll; ++reads) {
    fi_cq_msg_entry entries[kReadBatch];
    auto count = ::fi_cq_read(endpoint_.cq(), entries, kReadBatch);
    if (count == -FI_EAGAIN || count == 0) break;
    if (count == -FI_EAVAIL) {
      SHIM_TRY(take_error());
      continue;
    }
    if (count < 0) return library_.error(static_cast<int>(count), "fi_cq_read");
    for (ssize_t i = 0; i < count; ++i) complete(entries[i], sink);
    SHIM_TRY(post_receives());
    if (count < kReadBatch) break;
  }
  if (is_flushing_) [[unlikely]] ask_for_receipts();  // after reading, so that a goodbye that has come counts
  return static_cast<int>(counts_.packets_received - before);
}

void Ofi::sleep(std::int64_t nanoseconds) {
  timespec nap{0, static_cast<long>(std::clamp<std::int64_t>(nanoseconds, 0, kLongestNapNs))};
  ::nanosleep(&nap, nullptr);
}

Result<std::uint64_t> random_cookie() {
  std::uint64_t cookie = 0;
  if (::getrandom(&cookie, sizeof cookie, 0) != static_cast<ssize_t>(sizeof cookie))
    return base::system_error(errno, "getrandom for the endpoint's secret");
  return cookie;
}

Result<std::unique_ptr<Transport>> open_provider(const Library& library, std::string_view provider,
                                                 const std::string& interface) {
  SHIM_TRY_ASSIGN(InfoList info, find_provider(library, provider, interface));
  SHIM_TRY_ASSIGN(Endpoint endpoint, Endpoint::open(library, std::move(info)));
  SHIM_TRY_ASSIGN(std::uint64_t cookie, random_cookie());
  auto transport = std::make_unique<Ofi>(library, std::move(endpoint), cookie);
  SHIM_TRY(transport->post_receives());
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace

Result<std::unique_ptr<Transport>> make_ofi(const OfiSettings& settings) {
  SHIM_TRY_ASSIGN(Library library, Library::load());
  const std::string_view wanted = settings.provider;
  auto candidates = wanted.empty() ? known_providers() : std::span(&wanted, 1);
  std::string reasons;
  for (std::string_view provider : candidates) {
    auto transport = open_provider(library, provider, settings.interface);
    if (transport) return transport;
    reasons += (reasons.empty() ? "" : "; ") + std::string(provider) + ": " + transport.error().text();
  }
  return Error(ErrorClass::other, "no libfabric provider is usable (" + reasons +
                                      "); name another with INTERSESSION_PROVIDER, or another network with INTERSESSION_INTERFACE");
}

}  // namespace shim::transport
