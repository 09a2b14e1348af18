// SPDX-License-Identifier: BSD-3-Clause
// AddressTable is a table of peer addresses in the node segment. It has one record for each process
// of the job, shared by the processes of the node.
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

namespace shim::node {

/// Address of one process. Every word carries the incarnation of the process, and a
/// compare-and-exchange replaces a word only by one of an equal or later incarnation, so a slow
/// writer cannot overwrite newer data. A record is valid if all words carry one incarnation and the
/// checksum matches; a mixture of two processes' words, or the words of a process killed while it
/// wrote, are invalid. Therefore no access needs ordering, and none takes a lock.
struct AddressRecord {
  static constexpr std::size_t kWords = 16, kPart = 5,
                               kMaxBytes = (kWords - 1) *
                                           kPart;  // three IPv6 addresses and one IPv4 address
  /// three bytes of each word hold the incarnation
  static constexpr std::uint32_t kLastIncarnation = (1u << 24) - 2;
  /// word 0: incarnation, length, checksum; each other word, as needed: incarnation and kPart bytes
  std::array<std::atomic<std::uint64_t>, kWords> words;
};
static_assert(sizeof(AddressRecord) == 128);

/// The table as mapped by one process. Thread-safe and lock-free across the processes of the node.
/// Memory is backed page by page, so it grows with the number of known peers.
class AddressTable {
 public:
  static constexpr std::uint32_t kRecordsPerChunk = 32;  ///< backed together: one page of 4 KiB
  static constexpr std::size_t chunks_for(std::uint32_t processes) {
    return (processes + kRecordsPerChunk - 1) / kRecordsPerChunk;
  }
  static constexpr std::size_t chunk_bitmap_words(std::uint32_t processes) {
    return (chunks_for(processes) + 63) / 64;
  }
  static constexpr std::size_t bytes_for(std::uint32_t processes) {
    return chunks_for(processes) * kRecordsPerChunk * sizeof(AddressRecord);
  }

  /// Back memory of the table before the first access, as SharedArea::back().
  using Back = std::function<base::Status(std::byte* begin, std::size_t bytes)>;
  /// @param chunk_bitmap one bit for each backed chunk, initially zero; outlives this object
  /// @param records bytes_for(processes) bytes, initially unbacked; outlive this object
  AddressTable(std::span<std::atomic<std::uint64_t>> chunk_bitmap, std::span<AddressRecord> records,
               Back back);

  struct Found {
    std::uint32_t incarnation = 0;
    std::vector<std::byte> bytes;
  };
  /// Store the address of process `rank` unless a later incarnation's address is stored. Return
  /// false if it cannot be stored (no memory, too long, incarnation too large, or a concurrent
  /// writer); the caller then keeps the address locally.
  bool insert(std::uint32_t rank, std::uint32_t incarnation, std::span<const std::byte> bytes);
  std::optional<Found> find(std::uint32_t rank) const;
  std::optional<std::uint32_t> incarnation_of(std::uint32_t rank) const;

 private:
  using Words = std::array<std::uint64_t, AddressRecord::kWords>;
  std::optional<Words> record_of(std::uint32_t rank) const;
  bool is_backed(std::uint32_t rank) const;
  bool make_backed(std::uint32_t rank);

  std::span<std::atomic<std::uint64_t>> chunk_bitmap_;
  std::span<AddressRecord> records_;
  Back back_;
};

}  // namespace shim::node
