// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/address_table.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace shim::node {
namespace {

using Words = std::array<std::uint64_t, AddressRecord::kWords>;

/// Attempts to write a record. Two processes that write different addresses of one incarnation
/// concurrently leave a mixture, and the later writer tries again.
constexpr int kAttempts = 4;

// A word: incarnation tag in the upper part, kPart bytes below; in the first word these hold the
// length and the check.
static_assert(std::endian::native == std::endian::little,
              "bytes are copied to where a word's lower part is");
constexpr int kTagShift = 8 * AddressRecord::kPart, kLengthShift = 32;

std::uint64_t tag_of(std::uint32_t incarnation) {
  return std::uint64_t{incarnation} + 1;
}  // 0: never written
std::uint64_t tag_in(std::uint64_t word) { return word >> kTagShift; }
std::uint32_t incarnation_in(const Words& words) {
  return static_cast<std::uint32_t>(tag_in(words[0]) - 1);
}
std::size_t length_in(const Words& words) { return words[0] >> kLengthShift & 0xff; }
std::size_t words_for(std::size_t length) {
  return 1 + (length + AddressRecord::kPart - 1) / AddressRecord::kPart;
}

std::uint64_t first_of(const Words& words, std::uint32_t rank, std::uint64_t tag,
                       std::size_t length) {
  std::uint64_t check = 0x6a09e667f3bcc909u + rank;
  for (std::size_t i = 1; i < words_for(length); ++i) {
    check = (check ^ words[i]) * 0x9e3779b97f4a7c15u;
    check ^= check >> 29;
  }
  return tag << kTagShift | std::uint64_t{length} << kLengthShift | (check & 0xffffffff);
}

Words words_of(std::uint32_t rank, std::uint32_t incarnation, std::span<const std::byte> bytes) {
  Words words{};
  const std::uint64_t tag = tag_of(incarnation);
  for (std::size_t i = 1; i < words_for(bytes.size()); ++i) {
    const auto part = bytes.subspan((i - 1) * AddressRecord::kPart);
    std::memcpy(&words[i], part.data(), std::min(part.size(), AddressRecord::kPart));
    words[i] |= tag << kTagShift;
  }
  words[0] = first_of(words, rank, tag, bytes.size());
  return words;
}

std::vector<std::byte> bytes_in(const Words& words) {
  std::vector<std::byte> bytes(length_in(words));
  for (std::size_t begin = 0, i = 1; begin < bytes.size(); begin += AddressRecord::kPart, ++i)
    std::memcpy(&bytes[begin], &words[i], std::min(bytes.size() - begin, AddressRecord::kPart));
  return bytes;
}

/// Return the record's contents; nothing if they are no valid address of this process. Words beyond
/// its end are zero.
std::optional<Words> read(const AddressRecord& record, std::uint32_t rank) {
  Words words{};
  // relaxed, here and below: see AddressRecord
  words[0] = record.words[0].load(std::memory_order_relaxed);
  const std::size_t length = length_in(words);
  if (length == 0 || length > AddressRecord::kMaxBytes) return std::nullopt;
  for (std::size_t i = 1; i < words_for(length); ++i) {
    words[i] = record.words[i].load(std::memory_order_relaxed);
    if (tag_in(words[i]) != tag_in(words[0])) return std::nullopt;
  }
  if (words[0] != first_of(words, rank, tag_in(words[0]), length)) return std::nullopt;
  return words;
}

/// Store a word, but never replace a later incarnation by an earlier one, however old the writer's
/// last read is.
void write(std::atomic<std::uint64_t>& word, std::uint64_t wanted) {
  std::uint64_t there = word.load(std::memory_order_relaxed);
  while (there != wanted && tag_in(there) <= tag_in(wanted))
    if (word.compare_exchange_weak(there, wanted, std::memory_order_relaxed)) return;
}

}  // namespace

AddressTable::AddressTable(std::span<std::atomic<std::uint64_t>> chunk_bitmap,
                           std::span<AddressRecord> records, Back back)
    : chunk_bitmap_(chunk_bitmap), records_(records), back_(std::move(back)) {}

bool AddressTable::is_backed(std::uint32_t rank) const {
  const std::uint32_t chunk = rank / kRecordsPerChunk;
  // acquire: pairs with the release in make_backed(), so that the memory is backed
  return (chunk_bitmap_[chunk / 64].load(std::memory_order_acquire) >> (chunk % 64) & 1) != 0;
}

bool AddressTable::make_backed(std::uint32_t rank) {
  if (is_backed(rank)) return true;
  const std::uint32_t chunk = rank / kRecordsPerChunk;
  const auto records = records_.subspan(std::size_t{chunk} * kRecordsPerChunk, kRecordsPerChunk);
  if (!back_(reinterpret_cast<std::byte*>(records.data()), records.size_bytes())) return false;
  chunk_bitmap_[chunk / 64].fetch_or(std::uint64_t{1} << (chunk % 64),
                                     std::memory_order_release);  // pairs with is_backed()
  return true;
}

bool AddressTable::insert(std::uint32_t rank, std::uint32_t incarnation,
                          std::span<const std::byte> bytes) {
  if (rank >= records_.size() || incarnation > AddressRecord::kLastIncarnation || bytes.empty() ||
      bytes.size() > AddressRecord::kMaxBytes)
    return false;
  if (!make_backed(rank)) return false;
  AddressRecord& record = records_[rank];
  const Words wanted = words_of(rank, incarnation, bytes);
  for (int attempt = 0;; ++attempt) {
    const auto there = read(record, rank);
    if (there && (*there == wanted || incarnation_in(*there) > incarnation)) return true;
    if (attempt == kAttempts) return false;
    for (std::size_t i = 0; i < words_for(bytes.size()); ++i) write(record.words[i], wanted[i]);
  }
}

std::optional<AddressTable::Words> AddressTable::record_of(std::uint32_t rank) const {
  if (rank >= records_.size() || !is_backed(rank)) return std::nullopt;
  return read(records_[rank], rank);
}

std::optional<AddressTable::Found> AddressTable::find(std::uint32_t rank) const {
  const auto words = record_of(rank);
  if (!words) return std::nullopt;
  return Found{incarnation_in(*words), bytes_in(*words)};
}

std::optional<std::uint32_t> AddressTable::incarnation_of(std::uint32_t rank) const {
  const auto words = record_of(rank);
  if (!words) return std::nullopt;
  return incarnation_in(*words);
}

}  // namespace shim::node
