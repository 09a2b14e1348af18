// SPDX-License-Identifier: BSD-3-Clause
// Where the processes of other nodes can be called, once on each node: a record for each process of the job, in the node segment.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "shim/base/result.hpp"

namespace shim::bootstrap {

/// One process's address. Every word says of which life it is, and only a word of the same life or of a later one takes its place, by
/// compare-and-exchange: a writer that has been slow cannot undo what others have written since. It counts only where all its words are
/// of one life and the check fits, so a record that two have written at once, or whose writer was killed in the middle, is none; therefore
/// no load or store of it has to be ordered after another, and none of them is a lock.
struct AddressRecord {
  static constexpr std::size_t kWords = 16, kPart = 5, kMostBytes = (kWords - 1) * kPart;  // three addresses of IPv6 and one of IPv4
  static constexpr std::uint32_t kLastLife = (1u << 24) - 2;  ///< three bytes of each word are for the life
  std::array<std::atomic<std::uint64_t>, kWords> words;  ///< life, length and check; in each of the others, as far as needed, life and bytes
};
static_assert(sizeof(AddressRecord) == 128);

/// The table of one node, as one process sees it. Any thread of any of the node's processes may insert and look up; none waits for
/// another. Memory comes page by page, so it grows with the processes that are met.
class AddressTable {
 public:
  static constexpr std::uint32_t kRecordsPerChunk = 32;  ///< that are backed together: a page of 4 KiB
  static constexpr std::size_t chunks_for(std::uint32_t processes) { return (processes + kRecordsPerChunk - 1) / kRecordsPerChunk; }
  static constexpr std::size_t marks_for(std::uint32_t processes) { return (chunks_for(processes) + 63) / 64; }
  static constexpr std::size_t bytes_for(std::uint32_t processes) { return chunks_for(processes) * kRecordsPerChunk * sizeof(AddressRecord); }

  /// Backs memory of the table before it is touched, as base::SharedArea::back.
  using Back = std::function<base::Status(std::byte* begin, std::size_t bytes)>;
  /// marks: a bit for each chunk that is backed, zero at first; records: bytes_for(processes), unbacked at first. Both outlive this.
  AddressTable(std::span<std::atomic<std::uint64_t>> marks, std::span<AddressRecord> records, Back back);

  struct Found {
    std::uint32_t life = 0;
    std::vector<std::byte> bytes;
  };
  /// Makes this the address of process `rank` unless one of a later life is there. False where it cannot be kept here: no memory, too
  /// long, a life too many, or others write at the same moment; the caller then keeps it by itself.
  bool insert(std::uint32_t rank, std::uint32_t life, std::span<const std::byte> bytes);
  std::optional<Found> find(std::uint32_t rank) const;
  std::optional<std::uint32_t> life_of(std::uint32_t rank) const;

 private:
  using Words = std::array<std::uint64_t, AddressRecord::kWords>;
  std::optional<Words> record_of(std::uint32_t rank) const;
  bool is_backed(std::uint32_t rank) const;
  bool make_backed(std::uint32_t rank);

  std::span<std::atomic<std::uint64_t>> marks_;
  std::span<AddressRecord> records_;
  Back back_;
};

}  // namespace shim::bootstrap
