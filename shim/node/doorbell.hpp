// SPDX-License-Identifier: BSD-3-Clause
// Doorbell wakes a process that waits for descriptors and so cannot sleep on a futex. It is a
// datagram socket with a random name, reachable from any process of this machine and network
// namespace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "shim/base/descriptor.hpp"
#include "shim/base/result.hpp"

namespace shim::node {

class Doorbell {
 public:
  /// Create a doorbell. Local. Errors: other (no socket).
  static base::Result<Doorbell> make();

  /// Name under which others ring; never 0.
  std::uint64_t name() const { return name_; }
  /// Most descriptors of wait(); further ones are ignored.
  static constexpr std::size_t kMaxDescriptors = 4;

  /// Wait until a ring, or until a descriptor is readable, at most this long. Earlier rings count;
  /// the call consumes them.
  void wait(std::span<const int> descriptors, std::int64_t nanoseconds) const;

 private:
  Doorbell(base::Descriptor socket, std::uint64_t name) : socket_(std::move(socket)), name_(name) {}
  base::Descriptor socket_;
  std::uint64_t name_;
};

/// Ring the doorbell of this name. Never blocks; no effect if the name does not exist.
void ring(std::uint64_t name);

}  // namespace shim::node
