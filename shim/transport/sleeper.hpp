// SPDX-License-Identifier: BSD-3-Clause
// Sleeper blocks a thread until the transport may have packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Most descriptors that sleep() may be passed.
inline constexpr std::size_t kMaxDescriptors = 4;

/// Optional interface of a transport whose packets wake a sleeping thread. Without it, the wait
/// loop sleeps for short times only.
class Sleeper {
 public:
  /// Final check by the sleeping thread, once it is announced as a sleeper; true if it must not
  /// sleep.
  using LastCheck = std::function<bool()>;
  /// Sleep until a packet may have arrived or a descriptor is readable, for at most `nanoseconds`.
  /// Called without the owner's lock. Calls `last_check` once the sleeper is announced, and does
  /// not sleep if it returns true; a transport that wakes its sleeper only by a descriptor may call
  /// it at once. `descriptors` are of other transports; there are none unless
  /// may_wait_for_descriptors().
  virtual void sleep(std::int64_t nanoseconds, const LastCheck& last_check,
                     std::span<const int> descriptors) = 0;
  /// True if sleep() accepts descriptors; allocates the resources for that.
  virtual bool may_wait_for_descriptors() = 0;
  /// File descriptor that becomes readable when poll() may have work, for a thread that sleeps in
  /// another transport; -1 if there is none.
  virtual int descriptor() const = 0;

 protected:
  ~Sleeper() = default;
};

}  // namespace shim::transport
