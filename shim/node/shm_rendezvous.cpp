// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/shm_rendezvous.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

#include "shim/base/spin_pause.hpp"

namespace shim::node {
namespace {

using Stage = RendezvousState::Stage;

/// Per host: this many creations of different names can run concurrently, if their hashes differ.
constexpr std::size_t kRendezvousBuckets = 4;
/// Reads of a record that another process is just opening or completing.
constexpr int kMaxAttempts = 200;

constexpr std::size_t stride_of(std::uint32_t slots) {
  const std::size_t bytes = sizeof(RendezvousRecord) +
                            (slots + kRendezvousExtraWords) * sizeof(std::uint64_t);
  return (bytes + base::kCacheLine - 1) / base::kCacheLine * base::kCacheLine;
}
constexpr std::size_t bucket_bytes(std::size_t record_stride) {
  return sizeof(RendezvousSelector) + 2 * record_stride;
}

// Processes of one node use one version of this library, and so one hash.
std::size_t hash_of_name(std::span<const std::byte> name) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(name.data()), name.size()});
}

/// Visit the words that store a name, in order, until visit returns false.
template <typename Visit>
bool visit_words(std::span<const std::byte> name, Visit visit) {
  if (!visit(std::size_t{0}, static_cast<std::uint64_t>(name.size()))) return false;
  for (std::size_t at = 0; at < name.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, name.data() + at, std::min(sizeof word, name.size() - at));
    if (!visit(1 + at / sizeof word, word)) return false;
  }
  return true;
}

bool has_name(const RendezvousRecord& record, std::span<const std::byte> name) {
  return visit_words(name, [&](std::size_t index, std::uint64_t word) {
    return record.name[index].load(std::memory_order_relaxed) == word;
  });
}

std::uint64_t in_round(std::uint32_t round, std::uint32_t value) {
  return std::uint64_t{round} << 32 | value;
}

/// Return the index of a member's n-th word; only rank 0 has more than one.
std::size_t index_of(const ShmRendezvousTable::Participant& participant, std::size_t word) {
  return word == 0 ? participant.rank : participant.members.size() + word - 1;
}

enum class StoreStatus : std::uint8_t { stored, stored_before, round_passed };

/// Store a word unless the round has passed: a round must not overwrite a later one.
StoreStatus store_payload(RendezvousRecord& record, std::uint32_t round, std::size_t index,
                          std::uint32_t value) {
  std::uint64_t there = record.payload_at(index).load(std::memory_order_relaxed);
  do {
    const auto ahead = static_cast<std::int32_t>(static_cast<std::uint32_t>(there >> 32) - round);
    if (ahead >= 0) return ahead == 0 ? StoreStatus::stored_before : StoreStatus::round_passed;
    // relaxed: the arrival that follows releases it
  } while (!record.payload_at(index).compare_exchange_weak(there, in_round(round, value),
                                                           std::memory_order_relaxed));
  return StoreStatus::stored;
}

/// Update the state atomically while the record is in this round and update_fields returns true.
/// Return the new state.
template <typename Update>
std::optional<RendezvousState> update(RendezvousRecord& record, std::uint32_t round,
                                      Update update_fields) {
  std::uint64_t word = record.state.load(std::memory_order_relaxed);
  for (;;) {
    RendezvousState next = RendezvousState::of(word);
    if (next.round != round || !update_fields(next)) return std::nullopt;
    // acq_rel: an arrival publishes its member's words, and a reader of all arrivals sees all
    // words; seq_cst because the sleepers' announcements are read next (wake.hpp)
    if (record.state.compare_exchange_weak(word, next.word(), std::memory_order_seq_cst,
                                           std::memory_order_relaxed))
      return next;
  }
}

void wake_all_of(const RendezvousMembers& members, SharedArea& area) {
  for (std::uint32_t rank = 0; rank < members.size(); ++rank)
    wake_sleepers(slot_memory(area, members.slot_of(rank)).wake);
}

void abort_round(RendezvousRecord& record, std::uint32_t round, const RendezvousMembers& members,
                 SharedArea& area) {
  const auto aborted = update(record, round, [&](RendezvousState& state) {
    if (!state.is_open(members.size())) return false;
    state.phase = Stage::aborted;
    return true;
  });
  if (aborted) wake_all_of(members, area);
}

}  // namespace

ShmRendezvous::ShmRendezvous(ShmRendezvous&& other) noexcept
    : record_(std::exchange(other.record_, nullptr)),
      round_(other.round_),
      members_(other.members_),
      area_(other.area_) {}

/// Leave. The last member to leave frees the record. An incomplete rendezvous is aborted first.
ShmRendezvous::~ShmRendezvous() {
  if (record_ == nullptr) return;
  abort();
  update(*record_, round_, [](RendezvousState& state) {
    if (++state.left == state.arrivals) state = {.round = state.round};
    return true;
  });
}

void ShmRendezvous::abort() const { abort_round(*record_, round_, *members_, *area_); }

std::size_t ShmRendezvousTable::store_bytes(std::uint32_t slots) {
  return kRendezvousBuckets * bucket_bytes(stride_of(slots));
}

ShmRendezvousTable::ShmRendezvousTable(SharedArea& area, std::size_t offset)
    : area_(area),
      offset_(offset),
      record_stride_(stride_of(area.slot_count())),
      backed_(area.slot_count()) {}

ShmRendezvousTable::Bucket ShmRendezvousTable::bucket_of(const Participant& participant) {
  std::byte* const begin = area_.store(participant.host) + offset_ +
                           hash_of_name(participant.name) % kRendezvousBuckets *
                               bucket_bytes(record_stride_);
  std::byte* const records = begin + sizeof(RendezvousSelector);
  return {reinterpret_cast<RendezvousSelector*>(begin),
          {reinterpret_cast<RendezvousRecord*>(records),
           reinterpret_cast<RendezvousRecord*>(records + record_stride_)}};
}

bool ShmRendezvousTable::is_backed(std::uint32_t host) {
  if (backed_[host].load(std::memory_order_relaxed)) return true;
  if (!area_.back(area_.store(host) + offset_, store_bytes(area_.slot_count()))) return false;
  backed_[host].store(true, std::memory_order_relaxed);
  return true;
}

/// Open the record as the first member; no other can arrive until it is open.
ShmRendezvousTable::ArriveResult ShmRendezvousTable::open(const Bucket& bucket,
                                                          std::uint64_t generation,
                                                          RendezvousState seen,
                                                          const Participant& participant,
                                                          std::span<const std::uint32_t> payload) {
  RendezvousRecord& record = *bucket.records[generation % 2];
  const std::uint32_t round = seen.round + 1;
  for (std::size_t word = 0; word < payload.size(); ++word)
    record.payload_at(index_of(participant, word))
        .store(in_round(round, payload[word]), std::memory_order_relaxed);
  visit_words(participant.name, [&](std::size_t index, std::uint64_t word) {
    record.name[index].store(word, std::memory_order_relaxed);
    return true;
  });
  // release: pairs with the acquire of readers of the name
  record.state.store(RendezvousState{.round = round, .arrivals = 1, .phase = Stage::open}.word(),
                     std::memory_order_release);
  ArriveResult arrived{ArriveStatus::arrived,
                       ShmRendezvous(record, round, participant.members, area_)};
  if (bucket.generation->generation.load(std::memory_order_acquire) == generation) return arrived;
  // The generation has changed: either all members have arrived here meanwhile, or this member was
  // delayed since it read the generation, and opened a record that no other member looks at.
  arrived.rendezvous->abort();
  if (arrived.rendezvous->is_complete()) return arrived;
  return {ArriveStatus::unavailable, std::nullopt};
}

ShmRendezvousTable::ArriveResult ShmRendezvousTable::join(const Bucket& bucket,
                                                          std::uint64_t generation,
                                                          RendezvousState seen,
                                                          const Participant& participant,
                                                          std::span<const std::uint32_t> payload) {
  RendezvousRecord& record = *bucket.records[generation % 2];
  for (std::size_t word = 0; word < payload.size(); ++word) {
    const StoreStatus there = store_payload(record, seen.round, index_of(participant, word),
                                            payload[word]);
    if (there == StoreStatus::stored_before) return {ArriveStatus::arrived_before, std::nullopt};
    if (there == StoreStatus::round_passed) return {ArriveStatus::unavailable, std::nullopt};
  }
  const auto now = update(record, seen.round, [&](RendezvousState& state) {
    if (!state.is_open(participant.members.size())) return false;
    ++state.arrivals;
    return true;
  });
  if (!now) return {ArriveStatus::unavailable, std::nullopt};
  ArriveResult arrived{ArriveStatus::arrived,
                       ShmRendezvous(record, seen.round, participant.members, area_)};
  if (!now->is_complete(participant.members.size())) return arrived;
  bucket.generation->generation.store(generation + 1,
                                      std::memory_order_release);  // pairs with arrive and open
  wake_all_of(participant.members, area_);
  return arrived;
}

ShmRendezvousTable::ArriveResult ShmRendezvousTable::arrive(
    const Participant& participant, std::span<const std::uint32_t> payload) {
  if (participant.name.size() > kMaxRendezvousName ||
      participant.members.size() > RendezvousState::kMaxMembers || !is_backed(participant.host))
    return {ArriveStatus::unavailable, std::nullopt};
  const Bucket bucket = bucket_of(participant);
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const std::uint64_t generation = bucket.generation->generation.load(std::memory_order_acquire);
    RendezvousRecord& record = *bucket.records[generation % 2];
    // acquire: pairs with the release in open, so that the name is visible
    std::uint64_t word = record.state.load(std::memory_order_acquire);
    const RendezvousState seen = RendezvousState::of(word);
    if (seen.phase == Stage::free) {
      RendezvousState opening{.round = seen.round, .phase = Stage::opening};
      // acquire: pairs with the last leave; the writes that follow must not become visible before
      // it
      if (record.state.compare_exchange_strong(word, opening.word(), std::memory_order_acq_rel))
        return open(bucket, generation, seen, participant, payload);
    } else if (seen.phase == Stage::open) {
      if (!has_name(record, participant.name)) return {ArriveStatus::unavailable, std::nullopt};
      if (!seen.is_complete(participant.members.size()))
        return join(bucket, generation, seen, participant, payload);
    } else if (seen.phase == Stage::aborted) {
      return {ArriveStatus::unavailable, std::nullopt};
    }
    base::spin_pause();  // opening, or complete and about to change generation
  }
  return {ArriveStatus::unavailable, std::nullopt};
}

void ShmRendezvousTable::abort(const Participant& participant) {
  if (!is_backed(participant.host)) return;
  const Bucket bucket = bucket_of(participant);
  RendezvousRecord& record =
      *bucket.records[bucket.generation->generation.load(std::memory_order_acquire) % 2];
  const RendezvousState seen = RendezvousState::of(
      record.state.load(std::memory_order_acquire));  // pairs with the release in open
  if (!seen.is_open(participant.members.size()) || !has_name(record, participant.name)) return;
  abort_round(record, seen.round, participant.members, area_);
}

}  // namespace shim::node
