// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/ofi.hpp"

#include <malloc.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "shim/base/cookie.hpp"
#include "shim/base/older_compilers.hpp"
#include "shim/transport/ofi/ofi_transport.hpp"
#include "shim/transport/ofi/provider.hpp"
#include "shim/transport/ofi/provider_warning.hpp"

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;
using base::Status;

/// Shorter frames could not hold an address.
constexpr std::size_t kMinFrameBytes = 1024;
/// Receives are reposted once 1/16 of them is free: reposting each alone would delay the reply to
/// its message.
constexpr std::size_t kPartPosted = 16;

}  // namespace

Ofi::Ofi(OfiLibrary library, Endpoint endpoint, std::uint64_t cookie,
         base::Nanoseconds probe_interval)
    : library_(library),
      endpoint_(std::move(endpoint)),
      traits_(endpoint_.traits()),
      warning_(provider_warning(endpoint_.provider(), tcp_receive_memory())),
      cookie_(cookie),
      probe_interval_(probe_interval),
      sends_(traits_.sends, traits_.prefix_bytes + traits_.frame_bytes),
      injected_(base::make_unique_for_overwrite<std::byte[]>(traits_.prefix_bytes +
                                                             traits_.inject_bytes)),
      receives_(traits_.receives, traits_.prefix_bytes + traits_.frame_bytes),
      least_posted_(std::max<std::size_t>(1, traits_.receives / kPartPosted)),
      reads_(traits_.read_bytes != 0 ? kReadDepth : 0, 0) {}

Status Ofi::begin() {
  SHIM_TRY_ASSIGN(sends_.description,
                  endpoint_.register_buffers(library_, sends_.memory(), FI_SEND));
  SHIM_TRY_ASSIGN(receives_.description,
                  endpoint_.register_buffers(library_, receives_.memory(), FI_RECV));
  receives_.touch();
  SHIM_TRY(post_receives());
  if (!traits_.match_bits) return {};
  matcher_ = std::make_unique<OfiMatcher>(*this, *traits_.match_bits);
  return matcher_->begin();
}

Ofi::~Ofi() {
  // In a forked child the endpoint is the parent's: closing would send fin on its connections.
  if (!fork_mark_.is_own_process()) {
    endpoint_.abandon();
    return;
  }
  shut_down_links();
  endpoint_.close();
  // tcp;ofi_rxm frees about 90 MiB here, which malloc would keep
  // (docs/decisions/0025-libfabric-provider-workarounds.md).
  ::malloc_trim(0);
}

Status Ofi::check() const {
  SHIM_TRY(fork_mark_.check());
  return check_endpoint();
}

Bytes Ofi::address() const {
  const std::uint32_t matching = traits_.match_bits ? traits_.match_bits->number() : 0;
  return OfiAddress{cookie_, endpoint_.address_format(), matching, endpoint_.provider(),
                    endpoint_.name()}
      .to_bytes();
}

/// Return the link of a cookie; only the cookie is known until the address frame arrives.
OfiLink& Ofi::link_of(std::uint64_t cookie) {
  auto& link = links_[cookie];
  if (!link) link = std::make_unique<OfiLink>(OfiAddress{.cookie = cookie});
  return *link;
}

Result<Link*> Ofi::open(ConstSpan bytes) {
  auto address = OfiAddress::from_bytes(bytes);
  if (!address) return Error(ErrorClass::arg, "invalid address of a libfabric endpoint");
  if (address->provider != endpoint_.provider() || address->format != endpoint_.address_format())
    return Error(ErrorClass::arg,
                 "the peer uses libfabric provider " + address->provider + ", this process " +
                     endpoint_.provider() +
                     ", or their address formats differ; set INTERSESSION_PROVIDER and "
                     "INTERSESSION_INTERFACE equally on all processes");
  if (address->matching != (traits_.match_bits ? traits_.match_bits->number() : 0))
    return Error(ErrorClass::arg,
                 "the peer and this process match messages in different ways; set "
                 "INTERSESSION_MATCHING and INTERSESSION_PROVIDER equally on all processes");
  OfiLink& link = link_of(address->cookie);
  if (link.to.name.empty()) {
    link.to = *std::move(address);
    ++counts_.links_opened;
  }
  return &link;
}

Error Ofi::failure(int code) const {
  Error detail = library_.error(code,
                                "cannot send over libfabric provider " + endpoint_.provider());
  return Error(ErrorClass::proc_aborted, base::Origin::fabric, detail.foreign_code(),
               detail.text());
}

/// Fail the link and send a reset, in case the peer lives. Not over libfabric's shm, where sends
/// fail only if the peer is dead.
void Ofi::reset_link(OfiLink& link, Error why) {
  if (!link.failure) {
    link.is_gone = true;
    if (closing_loses_packets(endpoint_.provider())) queue_ack(link);
  }
  link.reset_sent = false;  // a failed send may have been the reset
  fail(link, std::move(why));
}

/// Fail all further sends to the peer.
void Ofi::fail(OfiLink& link, Error why) {
  if (!link.failure) link.failure = std::move(why);
  for (PendingOperation* send : link.unsent) release(send);
  unsent_ -= link.unsent.size();
  link.unsent.clear();
}

bool is_transient(ssize_t code) {
  const ssize_t positive = std::abs(code);
  return positive == FI_EAGAIN || positive == FI_ENOMEM || positive == FI_ENOSPC ||
         positive == FI_ENOBUFS || positive == FI_EINTR;
}

namespace {

constexpr const char* kSharedMemory = "/dev/shm";

Result<std::unique_ptr<Ofi>> open_provider(const OfiLibrary& library, std::string_view provider,
                                           const OfiSettings& settings) {
  SHIM_TRY_ASSIGN(InfoList info, find_provider(library, settings, provider));
  SHIM_TRY_ASSIGN(Endpoint endpoint, Endpoint::open(library, std::move(info), settings.tuning));
  if (endpoint.traits().frame_bytes < kMinFrameBytes)
    return Error(ErrorClass::other, "its message limit is too small: " +
                                        std::to_string(endpoint.traits().frame_bytes) + " bytes");
  SHIM_TRY_ASSIGN(std::uint64_t cookie, base::random_cookie());
  auto transport = std::make_unique<Ofi>(library, std::move(endpoint), cookie,
                                         settings.tuning.probe_interval);
  SHIM_TRY(transport->begin());
  if (provider == "shm") {
    SHIM_TRY_ASSIGN(auto marker, RegionMarker::make(kSharedMemory));
    transport->set_marker(std::move(marker));
  }
  return transport;
}

}  // namespace

Result<std::unique_ptr<Transport>> make_ofi(const OfiSettings& settings) {
  auto streams = std::make_unique<base::StandardStreamsHeld>();
  SHIM_TRY_ASSIGN(OfiLibrary library, OfiLibrary::load());
  std::string reasons;
  for (const std::string& provider : candidates(settings.provider)) {
    auto transport = open_provider(library, provider, settings);
    if (!transport && settings.matching) {  // matching may be the reason
      OfiSettings without = settings;
      without.matching = false;
      transport = open_provider(library, provider, without);
    }
    if (transport) {
      (*transport)->set_streams(std::move(streams));
      return std::unique_ptr<Transport>(*std::move(transport));
    }
    reasons += (reasons.empty() ? "" : "; ") + provider + ": " + transport.error().text();
  }
  return Error(ErrorClass::other, "no libfabric provider is usable (" + reasons +
                                      "); select another one with INTERSESSION_PROVIDER, or "
                                      "another network with INTERSESSION_INTERFACE");
}

std::size_t ofi_packet_bytes() { return kFrameBytes - sizeof(Frame); }

int remove_stale_fabric_memory() { return remove_stale_regions(kSharedMemory); }

}  // namespace shim::transport
