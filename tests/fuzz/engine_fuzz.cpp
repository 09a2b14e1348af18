// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes an engine with packets of arbitrary contents while it sends and receives: it must not
// crash, and must keep working.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "shim/p2p/p2p.hpp"

namespace shim::p2p {
namespace {

/// A transport that delivers packets from the input and accepts all sends.
class Scripted final : public transport::Transport {
 public:
  std::deque<transport::Bytes> incoming;

  std::string_view name() const override { return "scripted"; }
  transport::Reach reach() const override { return transport::Reach::node; }
  std::size_t max_packet_bytes() const override { return 4096; }
  transport::Bytes address() const override { return transport::Bytes(1); }
  base::Result<transport::Link*> open(transport::ConstSpan) override { return &link_; }
  base::Result<transport::Attempt> try_send(transport::Link&, transport::ConstSpan,
                                            transport::ConstSpan) override {
    return transport::Attempt::done;
  }
  base::Result<int> poll(transport::Sink& sink) override {
    if (incoming.empty()) return 0;
    transport::Bytes packet = std::move(incoming.front());
    incoming.pop_front();
    if (!is_placed(packet, sink)) sink.on_packet(packet);
    return 1;
  }
  bool is_flushed() const override { return true; }
  const Counts& counts() const override { return counts_; }

 private:
  /// Announce twice the packet's length. The rest of packets with odd length never arrives.
  static bool is_placed(const transport::Bytes& packet, transport::Sink& sink) {
    const auto place = sink.place(packet, 2 * packet.size());
    if (!place) return false;
    const transport::ConstSpan header = transport::ConstSpan(packet).first(place->header_bytes);
    std::ranges::fill(place->payload, std::byte{1});
    if (packet.size() % 2 == 0) sink.on_placed(header, place->payload.size());
    return true;
  }

  transport::Link link_;
  Counts counts_;
};

class Both final : public Members {
 public:
  int size() const override { return 2; }
  base::ProcessId at(int rank) const override { return {0, static_cast<std::uint32_t>(rank)}; }
};

class OneWay final : public Router {
 public:
  explicit OneWay(Scripted& transport) : transport_(transport) {}
  base::Result<Route> route_to(base::ProcessId) override {
    return Route{&transport_, transport::Bytes(1)};
  }
  bool is_alive(base::ProcessId) override { return true; }

 private:
  Scripted& transport_;
};

}  // namespace
}  // namespace shim::p2p

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace shim::p2p;
  Scripted transport;
  OneWay router(transport);
  EngineSpec spec;
  spec.self = {0, 0};
  spec.router = &router;
  spec.transports = {&transport};
  Engine engine(std::move(spec));
  engine.set_control_handler([](shim::base::ProcessId, std::span<const std::byte>) {});
  auto bases = std::make_shared<ContextBases>();
  bases->common = 100;
  ContextPtr context = engine.make_context({std::make_shared<Both>(), 0, bases, 100, {}});
  std::vector<std::byte> in(512), out(100'000);
  const auto& byte = shim::types::byte_type();
  std::vector<Request*> requests;
  for (int i = 0; i < 2; ++i) {
    if (auto made = engine.irecv(*context, {in.data(), in.size(), &byte}, kAnySource, kAnyTag))
      requests.push_back(*made);
    if (auto made = engine.isend(*context, {out.data(), out.size(), &byte}, 1, i,
                                 SendMode::standard))
      requests.push_back(*made);
  }
  for (std::size_t at = 0; at < size;) {
    const std::size_t asked = data[at++];
    const std::size_t length = std::min(asked, size - at);
    const auto* begin = reinterpret_cast<const std::byte*>(data + at);
    shim::transport::Bytes packet(begin, begin + length);
    at += length;
    transport.incoming.push_back(std::move(packet));
    static_cast<void>(engine.progress());
  }
  for (Request* request : requests) {
    static_cast<void>(engine.cancel(*request));
    engine.release(request);
  }
  return 0;
}
