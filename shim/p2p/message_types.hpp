// SPDX-License-Identifier: BSD-3-Clause
// Types of messages that all interfaces of the module share. Include p2p.hpp instead.
#pragma once

#include <cstdint>

#include "shim/base/error.hpp"

namespace shim::p2p {

// Wildcards and the null rank of this module; the interposition layer translates MPI's constants.
inline constexpr int kAnySource = -1;
inline constexpr int kAnyTag = -1;
inline constexpr int kProcNull = -2;
/// Largest tag of a user message (MPI_TAG_UB of our communicators).
inline constexpr int kTagUpperBound = 0x7fffffff;

enum class SendMode : std::uint8_t { standard, synchronous, ready };
/// First tag of partitioned communication, which uses the collective plane; collectives use the
/// tags below.
inline constexpr int kFirstPartitionTag = 0x60000000;
/// Part of a communicator's messages: user messages and messages of collectives never match each
/// other.
enum class Plane : std::uint8_t { user, collective };

/// Behaviour of the caller until the operation is complete: it returns to the program, waits for
/// several operations, or waits for this operation alone. A waiting caller makes progress on long
/// messages all the time unless an error occurs, so protocols that need this may be used.
enum class Caller : std::uint8_t { returns_at_once, waits_for_several, waits };

/// Result of a completed operation (MPI_Status without the substrate's layout).
struct MessageStatus {
  int source = kAnySource;
  int tag = kAnyTag;
  std::uint64_t bytes = 0;
  bool cancelled = false;
  base::ErrorClass error = base::ErrorClass::success;
};

/// Status of a receive from kProcNull.
inline constexpr MessageStatus kNoMessage{.source = kProcNull, .tag = kAnyTag};

/// A message that left during the call that sent it, so that no request exists. MPI_Cancel uses
/// this record to request cancellation.
struct InlineSent {
  /// number by which the receiver knows the message; 0: none, so it cannot be cancelled
  std::uint64_t number = 0;
  int dest = 0;
};

}  // namespace shim::p2p
