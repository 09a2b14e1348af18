// SPDX-License-Identifier: BSD-3-Clause
// Memory for collectives on long data, kept from one call to the next: to get fresh pages from the system for each call costs as
// much as the collective itself (a megabyte: 256 page faults).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace shim::coll {

/// Lives in the process; those who have a block share it. All functions from any thread.
class ScratchPool {
 public:
  /// What malloc keeps itself is not kept here, and never more than so much in all.
  static constexpr std::uint64_t kShortest = 64 * 1024, kMost = 16 * 1024 * 1024;

  struct Block {
    std::unique_ptr<std::byte[]> memory;
    std::uint64_t bytes = 0;
  };
  /// Uninitialised, at least as long, aligned for every predefined type. Throws std::bad_alloc.
  Block take(std::uint64_t bytes);
  void give_back(Block block);

 private:
  std::mutex mutex_;
  std::vector<Block> kept_;
  std::uint64_t kept_bytes_ = 0;
};
using ScratchPoolPtr = std::shared_ptr<ScratchPool>;

}  // namespace shim::coll
