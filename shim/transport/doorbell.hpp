// SPDX-License-Identifier: BSD-3-Clause
// How a process is woken that waits for descriptors, and so cannot sleep on a word in shared memory: a datagram socket with a random name,
// at which any process of the same machine and network namespace can ring.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "shim/base/descriptor.hpp"
#include "shim/base/result.hpp"

namespace shim::transport {

class Doorbell {
 public:
  /// Local. Errors: other (no socket).
  static base::Result<Doorbell> make();

  /// What others ring by; never 0.
  std::uint64_t name() const { return name_; }
  /// Until somebody rings, or one of these can be read, at most so many nanoseconds. What was rung before counts, and no longer afterwards.
  void wait(std::span<const int> descriptors, std::int64_t nanoseconds) const;

 private:
  Doorbell(base::Descriptor socket, std::uint64_t name) : socket_(std::move(socket)), name_(name) {}
  base::Descriptor socket_;
  std::uint64_t name_;
};

/// Never blocks. Nothing happens where nobody has a bell of this name.
void ring(std::uint64_t name);

}  // namespace shim::transport
