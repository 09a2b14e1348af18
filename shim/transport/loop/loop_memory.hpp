// SPDX-License-Identifier: BSD-3-Clause
// LoopMemory: memory offered in a loop network, and multi-step reads of it.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "shim/transport/loop/loop.hpp"
#include "shim/transport/registered_reads.hpp"

namespace shim::transport {

/// Memory offers of one network. Thread-safe.
class LoopMemory : public std::enable_shared_from_this<LoopMemory> {
 public:
  std::unique_ptr<MemoryRegistration> offer(ConstSpan memory);
  /// @param step bytes per call of progress
  /// @param breaks_at byte from which on reads fail
  std::unique_ptr<Read> begin_read(const RemoteMemory& from, std::span<std::byte> into,
                                   std::size_t step, std::size_t breaks_at);

  /// Copy from offered memory; false if it is not offered (any more).
  bool copy(std::uint64_t key, std::size_t offset, std::span<std::byte> into) const;
  void withdraw(std::uint64_t key);

 private:
  mutable std::mutex mutex_;
  std::uint64_t last_key_ = 0;
  std::map<std::uint64_t, ConstSpan> offered_;
};

}  // namespace shim::transport
