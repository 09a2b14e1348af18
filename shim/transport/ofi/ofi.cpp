// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/ofi.hpp"

#include <malloc.h>
#include <rdma/fi_errno.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "shim/transport/cookie.hpp"
#include "shim/transport/ofi/caution.hpp"
#include "shim/transport/ofi/ofi_transport.hpp"
#include "shim/transport/ofi/provider.hpp"

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;
using base::Status;

constexpr std::int64_t kLongestNapNs = 1'000'000;
/// Frames shorter than this would have no room for an address.
constexpr std::size_t kLeastFrameBytes = 1024;
/// Receives are posted anew when this part of them is free: one at a time each would stand between a message and its answer.
constexpr std::size_t kPartPosted = 16;

}  // namespace

Ofi::Ofi(Library library, Endpoint endpoint, std::uint64_t cookie, base::Nanoseconds patience)
    : library_(library), endpoint_(std::move(endpoint)), traits_(endpoint_.traits()),
      caution_(caution_about(endpoint_.provider(), tcp_receive_memory())), cookie_(cookie), patience_(patience),
      sends_(traits_.sends, traits_.prefix_bytes + traits_.frame_bytes),
      injected_(std::make_unique_for_overwrite<std::byte[]>(traits_.prefix_bytes + traits_.inject_bytes)),
      receives_(traits_.receives, traits_.prefix_bytes + traits_.frame_bytes),
      least_posted_(std::max<std::size_t>(1, traits_.receives / kPartPosted)), reads_(traits_.read_bytes != 0 ? kReadDepth : 0, 0) {}

Status Ofi::begin() {
  SHIM_TRY_ASSIGN(sends_.description, endpoint_.register_buffers(library_, sends_.memory(), FI_SEND));
  SHIM_TRY_ASSIGN(receives_.description, endpoint_.register_buffers(library_, receives_.memory(), FI_RECV));
  receives_.touch();
  SHIM_TRY(post_receives());
  if (!traits_.match_bits) return {};
  matcher_ = std::make_unique<OfiMatcher>(*this, *traits_.match_bits);
  return matcher_->begin();
}

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

Status Ofi::check() const {
  SHIM_TRY(mark_.check());
  if (broken_) [[unlikely]] return broken_->clone();
  return {};
}

Bytes Ofi::address() const {
  const std::uint32_t matching = traits_.match_bits ? traits_.match_bits->number() : 0;
  return OfiAddress{cookie_, endpoint_.address_format(), matching, endpoint_.provider(), endpoint_.name()}.to_bytes();
}

/// The sender of a frame may be known by its number alone, until the frame with its address has come.
OfiLink& Ofi::link_of(std::uint64_t cookie) {
  auto& link = links_[cookie];
  if (!link) link = std::make_unique<OfiLink>(OfiAddress{.cookie = cookie});
  return *link;
}

Result<Link*> Ofi::open(ConstSpan bytes) {
  auto address = OfiAddress::from_bytes(bytes);
  if (!address) return Error(ErrorClass::arg, "this is not an address of a libfabric endpoint");
  if (address->provider != endpoint_.provider() || address->format != endpoint_.address_format())
    return Error(ErrorClass::arg, "the other process uses libfabric provider " + address->provider + " and this one " +
                                      endpoint_.provider() +
                                      ", perhaps with another kind of address; set INTERSESSION_PROVIDER and "
                                      "INTERSESSION_INTERFACE alike for all processes");
  if (address->matching != (traits_.match_bits ? traits_.match_bits->number() : 0))
    return Error(ErrorClass::arg, "the other process and this one do not leave the same to libfabric's matching; set INTERSESSION_MATCHING "
                                  "and INTERSESSION_PROVIDER alike for all processes");
  OfiLink& link = link_of(address->cookie);
  if (link.to.name.empty()) {
    link.to = *std::move(address);
    ++counts_.links_opened;
  }
  return &link;
}

Error Ofi::failure(int code) const {
  Error detail = library_.error(code, "no message goes to it over " + endpoint_.provider());
  return Error(ErrorClass::proc_aborted, base::Origin::fabric, detail.foreign_code(), detail.text());
}

/// Nothing more goes to it, and nobody shall wait for it; it is told, in case it lives. Not over libfabric's shm: what cannot be sent there was
/// for the dead.
void Ofi::cut_off(OfiLink& link, Error why) {
  if (!link.failure) {
    link.is_gone = true;
    if (closing_loses_packets(endpoint_.provider())) owe_answer(link);
  }
  link.is_told = false;  // that may be what could not be sent
  fail(link, std::move(why));
}

/// Nothing can be sent to it any more.
void Ofi::fail(OfiLink& link, Error why) {
  if (!link.failure) link.failure = std::move(why);
  for (Operation* send : link.unsent) give_back(send);
  unsent_ -= link.unsent.size();
  link.unsent.clear();
}

void Ofi::sleep(std::int64_t nanoseconds, const LastLook&, std::span<const int>) {
  timespec nap{0, static_cast<long>(std::clamp<std::int64_t>(nanoseconds, 0, kLongestNapNs))};
  ::nanosleep(&nap, nullptr);
}

bool is_passing(ssize_t code) {
  const ssize_t positive = std::abs(code);
  return positive == FI_EAGAIN || positive == FI_ENOMEM || positive == FI_ENOSPC || positive == FI_ENOBUFS || positive == FI_EINTR;
}

namespace {

constexpr const char* kSharedMemory = "/dev/shm";

Result<std::unique_ptr<Ofi>> open_provider(const Library& library, std::string_view provider,
                                           const OfiSettings& settings) {
  SHIM_TRY_ASSIGN(InfoList info, find_provider(library, settings, provider));
  SHIM_TRY_ASSIGN(Endpoint endpoint, Endpoint::open(library, std::move(info), settings.tuning));
  if (endpoint.traits().frame_bytes < kLeastFrameBytes)
    return Error(ErrorClass::other, "its messages are too short, at most " + std::to_string(endpoint.traits().frame_bytes) + " bytes");
  SHIM_TRY_ASSIGN(std::uint64_t cookie, random_cookie());
  auto transport = std::make_unique<Ofi>(library, std::move(endpoint), cookie, settings.tuning.patience);
  SHIM_TRY(transport->begin());
  if (provider == "shm") {
    SHIM_TRY_ASSIGN(auto marker, RegionMarker::make(kSharedMemory));
    transport->keep(std::move(marker));
  }
  return transport;
}

}  // namespace

Result<std::unique_ptr<Transport>> make_ofi(const OfiSettings& settings) {
  auto streams = std::make_unique<base::StandardStreamsHeld>();
  SHIM_TRY_ASSIGN(Library library, Library::load());
  std::string reasons;
  for (const std::string& provider : candidates(settings.provider)) {
    auto transport = open_provider(library, provider, settings);
    if (!transport && settings.matching) {  // which may be why
      OfiSettings without = settings;
      without.matching = false;
      transport = open_provider(library, provider, without);
    }
    if (transport) {
      (*transport)->hold(std::move(streams));
      return std::unique_ptr<Transport>(*std::move(transport));
    }
    reasons += (reasons.empty() ? "" : "; ") + provider + ": " + transport.error().text();
  }
  return Error(ErrorClass::other, "no libfabric provider is usable (" + reasons +
                                      "); name another with INTERSESSION_PROVIDER, or another network with INTERSESSION_INTERFACE");
}

std::size_t ofi_packet_bytes() { return kFrameBytes - sizeof(Frame); }

int sweep_fabric_memory() { return sweep_regions(kSharedMemory); }

}  // namespace shim::transport
