// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/ofi.hpp"

#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <sys/random.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <optional>

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
  bool is_used = false;
};

namespace {

using base::Error;
using base::ErrorClass;
using base::Result;
using base::Status;

constexpr int kReadBatch = 16;     ///< completions taken from the queue at once
constexpr int kReadsPerPoll = 4;   ///< and how often in one poll
constexpr std::int64_t kLongestNapNs = 1'000'000;

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
  bool is_flushed() const override { return sends_.in_use() == 0; }
  bool can_sleep() const override { return false; }
  void sleep(std::int64_t nanoseconds) override;
  const Counts& counts() const override { return counts_; }

  /// Posts as many receives as there are free buffers, as far as the provider takes them.
  Status post_receives();

 private:
  Status check_process() const;
  Status enter(OfiLink& link);
  void complete(const fi_cq_msg_entry& entry, Sink& sink, int& delivered);
  Status take_error();

  Library library_;
  Endpoint endpoint_;
  std::uint64_t cookie_;
  Buffers sends_;
  Buffers receives_;
  std::map<std::uint64_t, std::unique_ptr<OfiLink>> links_;  ///< by the peer's cookie
  ForkMark mark_;
  Counts counts_;
};

Ofi::~Ofi() {
  // In a forked child nothing here is ours: closing would say goodbye on the parent's connections.
  if (!mark_.is_own_process()) endpoint_.abandon();
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

Status Ofi::enter(OfiLink& link) {
  SHIM_TRY_ASSIGN(link.address, endpoint_.insert(library_, link.to.name));
  return {};
}

Result<Attempt> Ofi::try_send(Link& to, ConstSpan header, ConstSpan payload) {
  auto& link = static_cast<OfiLink&>(to);
  SHIM_TRY(check_process());
  if (link.failure) return link.failure->clone();
  const std::size_t bytes = header.size() + payload.size();
  if (bytes > max_packet_bytes()) return Error(ErrorClass::intern, "a packet is longer than the libfabric transport's max_packet_bytes");
  if (link.address == FI_ADDR_UNSPEC) SHIM_TRY(enter(link));
  Operation* send = sends_.take();
  if (!send) {
    ++counts_.sends_again;
    return Attempt::again;
  }
  Frame frame{link.to.cookie, static_cast<std::uint32_t>(FrameKind::packet), 0};
  std::memcpy(send->bytes, &frame, sizeof frame);
  if (!header.empty()) std::memcpy(send->bytes + sizeof frame, header.data(), header.size());
  if (!payload.empty()) std::memcpy(send->bytes + sizeof frame + header.size(), payload.data(), payload.size());
  send->link = &link;
  auto code = ::fi_send(endpoint_.ep(), send->bytes, sizeof frame + bytes, nullptr, link.address, &send->context);
  if (code != 0) sends_.give_back(send);
  if (code == -FI_EAGAIN) {
    ++counts_.sends_again;
    return Attempt::again;
  }
  if (code != 0) {
    link.failure = library_.error(static_cast<int>(code), "sending to a process over " + endpoint_.provider());
    return link.failure->clone();
  }
  if (!std::exchange(link.is_used, true)) ++counts_.links_used;
  ++counts_.packets_sent;
  counts_.bytes_sent += bytes;
  return Attempt::done;
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

void Ofi::complete(const fi_cq_msg_entry& entry, Sink& sink, int& delivered) {
  Operation* operation = operation_of(entry.op_context);
  if (operation->link) {
    sends_.give_back(operation);
    return;
  }
  Frame frame{};
  if (entry.len >= sizeof frame) std::memcpy(&frame, operation->bytes, sizeof frame);
  if (frame.cookie == cookie_ && frame.kind == static_cast<std::uint32_t>(FrameKind::packet)) {
    ++counts_.packets_received;
    ++delivered;
    sink.on_packet(ConstSpan(operation->bytes, entry.len).subspan(sizeof frame));
  } else {
    ++counts_.packets_refused;
  }
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
  if (!operation->link->failure) {
    Error detail = library_.error(entry.err, "a process could not be reached over " + endpoint_.provider());
    operation->link->failure = Error(ErrorClass::proc_aborted, base::Origin::fabric, entry.err, detail.text());
  }
  sends_.give_back(operation);
  return {};
}

Result<int> Ofi::poll(Sink& sink) {
  SHIM_TRY(check_process());
  int delivered = 0;
  for (int reads = 0; reads < kReadsPerPoll; ++reads) {
    fi_cq_msg_entry entries[kReadBatch];
    auto count = ::fi_cq_read(endpoint_.cq(), entries, kReadBatch);
    if (count == -FI_EAGAIN || count == 0) break;
    if (count == -FI_EAVAIL) {
      SHIM_TRY(take_error());
      continue;
    }
    if (count < 0) return library_.error(static_cast<int>(count), "fi_cq_read");
    for (ssize_t i = 0; i < count; ++i) complete(entries[i], sink, delivered);
    SHIM_TRY(post_receives());
    if (count < kReadBatch) break;
  }
  return delivered;
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
