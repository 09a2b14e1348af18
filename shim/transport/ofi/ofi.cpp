// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/ofi.hpp"

#include <malloc.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "shim/transport/cookie.hpp"
#include "shim/transport/ofi/ofi_transport.hpp"

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;
using base::Status;

constexpr int kReadBatch = 16;     ///< completions taken from the queue at once
constexpr int kReadsPerPoll = 4;   ///< and how often in one poll
constexpr std::int64_t kLongestNapNs = 1'000'000;

}  // namespace

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
    ++counts_.addresses_inserted;
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
  SHIM_TRY(mark_.check());
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
      sink.on_packet(rest);
      return;
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
  SHIM_TRY(mark_.check());
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

namespace {

constexpr const char* kSharedMemory = "/dev/shm";

Result<std::unique_ptr<Transport>> open_provider(const Library& library, std::string_view provider,
                                                 const std::string& interface) {
  SHIM_TRY_ASSIGN(InfoList info, find_provider(library, provider, interface));
  SHIM_TRY_ASSIGN(Endpoint endpoint, Endpoint::open(library, std::move(info)));
  SHIM_TRY_ASSIGN(std::uint64_t cookie, random_cookie());
  auto transport = std::make_unique<Ofi>(library, std::move(endpoint), cookie);
  SHIM_TRY(transport->post_receives());
  if (provider == "shm") {
    SHIM_TRY_ASSIGN(auto marker, RegionMarker::make(kSharedMemory));
    transport->keep(std::move(marker));
  }
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace

Result<std::unique_ptr<Transport>> make_ofi(const OfiSettings& settings) {
  SHIM_TRY_ASSIGN(Library library, Library::load());
  std::string reasons;
  for (const std::string& provider : candidates(settings.provider)) {
    auto transport = open_provider(library, provider, settings.interface);
    if (transport) return transport;
    reasons += (reasons.empty() ? "" : "; ") + provider + ": " + transport.error().text();
  }
  return Error(ErrorClass::other, "no libfabric provider is usable (" + reasons +
                                      "); name another with INTERSESSION_PROVIDER, or another network with INTERSESSION_INTERFACE");
}

std::size_t ofi_packet_bytes() { return kFrameBytes - sizeof(Frame); }

int sweep_fabric_memory() { return sweep_regions(kSharedMemory); }

}  // namespace shim::transport
