// SPDX-License-Identifier: BSD-3-Clause
// The Transport over one libfabric endpoint. ofi.cpp sends and receives; receipts.cpp knows what has arrived when it ends.
#pragma once

#include <memory>
#include <unordered_map>

#include "shim/transport/fork_mark.hpp"
#include "shim/transport/ofi/buffers.hpp"
#include "shim/transport/ofi/endpoint.hpp"
#include "shim/transport/ofi/link.hpp"
#include "shim/transport/ofi/region_marker.hpp"

namespace shim::transport {

class Ofi final : public Transport {
 public:
  Ofi(Library library, Endpoint endpoint, std::uint64_t cookie)
      : library_(library), endpoint_(std::move(endpoint)), cookie_(cookie), sends_(kSendDepth), receives_(kReceiveDepth) {}
  ~Ofi() override;

  std::string_view name() const override { return "ofi"; }
  std::size_t max_packet_bytes() const override { return ofi_packet_bytes(); }
  Bytes address() const override;
  base::Result<Link*> open(ConstSpan address) override;
  base::Result<Attempt> try_send(Link& link, ConstSpan header, ConstSpan payload) override;
  base::Result<int> poll(Sink& sink) override;
  base::Result<Attempt> try_read(Link&, std::uint64_t, std::span<std::byte>) override { return Attempt::unsupported; }
  bool is_flushed() const override;
  bool can_sleep() const override { return false; }
  void sleep(std::int64_t nanoseconds) override;
  const Counts& counts() const override { return counts_; }

  /// Posts as many receives as there are free buffers, as far as the provider takes them.
  base::Status post_receives();
  /// Keeps the marker of the endpoint's shared memory as long as the endpoint.
  void keep(RegionMarker marker) { marker_ = std::move(marker); }

 private:
  base::Result<Attempt> introduce_ourselves(OfiLink& link);
  base::Result<Attempt> send_frame(OfiLink& link, FrameKind kind, ConstSpan header, ConstSpan payload);
  base::Result<Attempt> send_receipt(OfiLink& link, FrameKind kind);
  base::Error failure(int code) const;
  void ask_for_receipts();
  void take_receipt(OfiLink& link, ConstSpan bytes);
  void take_bye(OfiLink& link, ConstSpan bytes);
  void say_goodbye();
  OfiLink* sender_of(const Frame& frame, ConstSpan rest);
  void take_frame(ConstSpan bytes, Sink& sink);
  void complete(const fi_cq_msg_entry& entry, Sink& sink);
  base::Status take_error();

  RegionMarker marker_;
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

}  // namespace shim::transport
