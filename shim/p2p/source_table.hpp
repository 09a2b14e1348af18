// SPDX-License-Identifier: BSD-3-Clause
// SourceTable holds an object per rank, allocated in chunks on first access.
// A large communicator of which few ranks communicate uses little memory.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "shim/base/cache_line_isolation.hpp"

namespace shim::p2p {

template <typename T>
class SourceTable {
 public:
  explicit SourceTable(int size) : size_(size) {}

  int size() const { return size_; }
  /// Return the object of this rank; null if its chunk has not been allocated.
  T* find(int rank) { return const_cast<T*>(std::as_const(*this).find(rank)); }
  const T* find(int rank) const {
    const std::size_t chunk = static_cast<std::size_t>(rank) / kChunk;
    if (chunk >= count_) [[unlikely]]
      return nullptr;
    T* const first = firsts_[chunk];
    return first == nullptr ? nullptr : first + static_cast<std::size_t>(rank) % kChunk;
  }
  T& at(int rank) {
    if (T* found = find(rank)) [[likely]]
      return *found;
    make_chunk(rank);
    return *find(rank);
  }
  /// Visit all existing objects, in rank order.
  template <typename Visit>
  void for_each(const Visit& visit) {
    visit_all(*this, visit);
  }
  template <typename Visit>
  void for_each(const Visit& visit) const {
    visit_all(*this, visit);
  }

 private:
  static constexpr std::size_t kChunk = 64;
  template <typename Table, typename Visit>
  static void visit_all(Table& table, const Visit& visit) {
    for (std::size_t chunk = 0; chunk < table.chunks_.size(); ++chunk)
      for (std::size_t i = 0; i < table.chunks_[chunk].size(); ++i)
        visit(static_cast<int>(chunk * kChunk + i), table.chunks_[chunk][i]);
  }
  using Chunk = std::vector<T, base::IsolatedAllocator<T>>;  // empty until allocated
  // Not inlined, so that at() is.
  [[gnu::noinline]] void make_chunk(int rank) {
    const std::size_t chunk = static_cast<std::size_t>(rank) / kChunk;
    if (count_ == 0) {
      const std::size_t count = (static_cast<std::size_t>(size_) + kChunk - 1) / kChunk;
      chunks_.resize(count);
      firsts_ = std::make_unique<T*[]>(count);
      count_ = count;
    }
    chunks_[chunk] = Chunk(std::min(kChunk, static_cast<std::size_t>(size_) - chunk * kChunk));
    firsts_[chunk] = chunks_[chunk].data();
  }
  int size_;
  std::size_t count_ = 0;         ///< number of chunks; 0 until the first access
  std::unique_ptr<T*[]> firsts_;  ///< begin of each chunk for find(); null if empty
  std::vector<Chunk> chunks_;
};

}  // namespace shim::p2p
