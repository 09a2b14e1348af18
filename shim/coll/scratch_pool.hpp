// SPDX-License-Identifier: BSD-3-Clause
// ScratchPool keeps memory of long collectives from call to call.
// Fresh pages for each call cost as much as the collective itself (1 MiB: 256 page faults).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace shim::coll {

/// Pool of memory blocks, one per process, shared by all its communicators. Thread-safe.
class ScratchPool {
 public:
  /// Callers allocate blocks shorter than kShortest with malloc, which keeps them for reuse itself.
  /// kMost limits the bytes that the pool keeps.
  static constexpr std::uint64_t kShortest = 64 * 1024, kMost = 16 * 1024 * 1024;

  struct Block {
    std::unique_ptr<std::byte[]> memory;
    std::uint64_t bytes = 0;
  };
  /// Return uninitialized memory of at least `bytes`, aligned for every predefined type. Throws
  /// std::bad_alloc.
  Block take(std::uint64_t bytes);
  void give_back(Block block);

 private:
  std::mutex mutex_;
  std::vector<Block> kept_;
  std::uint64_t kept_bytes_ = 0;
};
using ScratchPoolPtr = std::shared_ptr<ScratchPool>;

}  // namespace shim::coll
