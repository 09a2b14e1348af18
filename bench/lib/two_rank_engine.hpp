// SPDX-License-Identifier: BSD-3-Clause
// TwoRankEngine is an engine over one transport in one of two ping-pong processes.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "bench/lib/fail.hpp"
#include "shim/base/result.hpp"
#include "shim/p2p/p2p.hpp"

namespace bench {

/// Return the value; exit on an error.
template <typename T>
T need(shim::base::Result<T> result) {
  if (!result) fail(result.error().text());
  return std::move(*result);
}
inline void need(shim::base::Status status) {
  if (!status) fail(status.error().text());
}

class TwoRankEngine {
 public:
  /// Returns the address of a rank; may block until it is known.
  using AddressOf = std::function<shim::transport::Bytes(std::uint32_t rank)>;

  /// @param transport must outlive this object
  TwoRankEngine(shim::transport::Transport& transport, AddressOf address_of, int rank,
                std::size_t bytes, bool is_oversubscribed = false)
      : both_(transport, std::move(address_of)),
        engine_({.self = both_.at(rank),
                 .router = &both_,
                 .transports = {&transport},
                 .is_oversubscribed = is_oversubscribed}),
        other_(1 - rank),
        sent_(bytes),
        received_(bytes) {
    auto bases = std::make_shared<shim::p2p::ContextBases>();
    bases->common = 1;
    std::shared_ptr<const shim::p2p::Members> members(std::shared_ptr<void>(),
                                                      &both_);  // stored in this object
    context_ = engine_.make_context({members, rank, bases, 1, {}});
  }

  void send() {
    need(engine_.send(*context_, {sent_.data(), sent_.size(), &byte()}, other_, kTag,
                      shim::p2p::SendMode::standard));
  }
  void receive() {
    need(engine_.recv(*context_, {received_.data(), received_.size(), &byte()}, other_, kTag));
  }
  shim::p2p::Engine& engine() { return engine_; }
  shim::p2p::Context& context() { return *context_; }

 private:
  static constexpr int kTag = 1;
  static const shim::types::Type& byte() { return shim::types::byte_type(); }

  class Both final : public shim::p2p::Members, public shim::p2p::Router {
   public:
    Both(shim::transport::Transport& transport, AddressOf address_of)
        : transport_(transport), address_of_(std::move(address_of)) {}
    int size() const override { return 2; }
    shim::base::ProcessId at(int rank) const override {
      return {0, static_cast<std::uint32_t>(rank)};
    }
    shim::base::Result<shim::p2p::Route> route_to(shim::base::ProcessId process) override {
      return shim::p2p::Route{&transport_, address_of_(process.rank)};
    }
    bool is_alive(shim::base::ProcessId) override { return true; }

   private:
    shim::transport::Transport& transport_;
    AddressOf address_of_;
  };

  Both both_;
  shim::p2p::Engine engine_;
  int other_;
  std::vector<std::byte> sent_, received_;
  shim::p2p::ContextPtr context_;
};

}  // namespace bench
