// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/address_table.hpp"

#include <cstring>

namespace shim::bootstrap {
namespace {

using Words = std::array<std::uint64_t, AddressRecord::kWords>;

/// Two who write different records at once leave a mixture; whoever comes last writes again, so a few attempts are many.
constexpr int kAttempts = 4;

std::uint64_t check_of(const Words& words, std::uint32_t rank) {
  std::uint64_t check = 0x6a09e667f3bcc909u + rank;
  for (std::size_t i = 1; i < words.size(); ++i) {
    check = (check ^ words[i]) * 0x9e3779b97f4a7c15u;
    check ^= check >> 29;
  }
  return check;
}

std::uint32_t life_in(const Words& words) { return static_cast<std::uint32_t>(words[1]); }
std::size_t length_in(const Words& words) { return words[1] >> 32; }

Words words_of(std::uint32_t rank, std::uint32_t life, std::span<const std::byte> bytes) {
  Words words{};
  words[1] = std::uint64_t{bytes.size()} << 32 | life;
  std::memcpy(&words[2], bytes.data(), bytes.size());
  words[0] = check_of(words, rank);
  return words;
}

/// What stands in the record; nothing where that is no address of this process.
std::optional<Words> read(const AddressRecord& record, std::uint32_t rank) {
  Words words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = record.words[i].load(std::memory_order_relaxed);  // see AddressRecord
  const std::size_t length = length_in(words);
  if (length == 0 || length > AddressRecord::kMostBytes || words[0] != check_of(words, rank)) return std::nullopt;
  return words;
}

}  // namespace

AddressTable::AddressTable(std::span<std::atomic<std::uint64_t>> marks, std::span<AddressRecord> records, Back back)
    : marks_(marks), records_(records), back_(std::move(back)) {}

bool AddressTable::is_backed(std::uint32_t rank) const {
  const std::uint32_t chunk = rank / kRecordsPerChunk;
  // acquire: pairs with the release in make_backed(), so that the memory is there
  return (marks_[chunk / 64].load(std::memory_order_acquire) >> (chunk % 64) & 1) != 0;
}

bool AddressTable::make_backed(std::uint32_t rank) {
  if (is_backed(rank)) return true;
  const std::uint32_t chunk = rank / kRecordsPerChunk;
  const auto records = records_.subspan(std::size_t{chunk} * kRecordsPerChunk, kRecordsPerChunk);
  if (!back_(reinterpret_cast<std::byte*>(records.data()), records.size_bytes())) return false;
  marks_[chunk / 64].fetch_or(std::uint64_t{1} << (chunk % 64), std::memory_order_release);  // pairs with is_backed()
  return true;
}

bool AddressTable::insert(std::uint32_t rank, std::uint32_t life, std::span<const std::byte> bytes) {
  if (rank >= records_.size() || bytes.empty() || bytes.size() > AddressRecord::kMostBytes || !make_backed(rank)) return false;
  AddressRecord& record = records_[rank];
  const Words wanted = words_of(rank, life, bytes);
  for (int attempt = 0;; ++attempt) {
    const auto there = read(record, rank);
    if (there && (*there == wanted || life_in(*there) > life)) return true;
    if (attempt == kAttempts) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i) record.words[i].store(wanted[i], std::memory_order_relaxed);
  }
}

std::optional<AddressTable::Words> AddressTable::record_of(std::uint32_t rank) const {
  if (rank >= records_.size() || !is_backed(rank)) return std::nullopt;
  return read(records_[rank], rank);
}

std::optional<AddressTable::Found> AddressTable::find(std::uint32_t rank) const {
  const auto words = record_of(rank);
  if (!words) return std::nullopt;
  Found found{life_in(*words), std::vector<std::byte>(length_in(*words))};
  std::memcpy(found.bytes.data(), &(*words)[2], found.bytes.size());
  return found;
}

std::optional<std::uint32_t> AddressTable::life_of(std::uint32_t rank) const {
  const auto words = record_of(rank);
  if (!words) return std::nullopt;
  return life_in(*words);
}

}  // namespace shim::bootstrap
