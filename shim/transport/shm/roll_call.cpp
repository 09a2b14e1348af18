// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/shm/roll_call.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

namespace shim::transport {
namespace {

using Phase = SheetState::Phase;

/// Of one host: so many creations with different names can be under way at a time, if their hashes differ.
constexpr std::size_t kBuckets = 4;
/// Looks at a sheet that another process is just opening, or has just completed.
constexpr int kLooks = 200;

constexpr std::size_t stride_of(std::uint32_t slots) {
  const std::size_t bytes = sizeof(RollSheet) + (slots + kRollCallExtra) * sizeof(std::uint64_t);
  return (bytes + kLine - 1) / kLine * kLine;
}
constexpr std::size_t bucket_bytes(std::size_t sheet_stride) { return sizeof(RollTurn) + 2 * sheet_stride; }

// Processes of one node are of one version of this library, and so of one hash.
std::size_t hash_of(std::span<const std::byte> name) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(name.data()), name.size()});
}

/// The words in which a name is kept, one after the other; visit answers whether to go on.
template <typename Visit>
bool visit_words(std::span<const std::byte> name, Visit visit) {
  if (!visit(std::size_t{0}, std::uint64_t{name.size()})) return false;
  for (std::size_t at = 0; at < name.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, name.data() + at, std::min(sizeof word, name.size() - at));
    if (!visit(1 + at / sizeof word, word)) return false;
  }
  return true;
}

bool has_name(const RollSheet& sheet, std::span<const std::byte> name) {
  return visit_words(name, [&](std::size_t place, std::uint64_t word) { return sheet.name[place].load(std::memory_order_relaxed) == word; });
}

std::uint64_t in_round(std::uint32_t round, std::uint32_t value) { return std::uint64_t{round} << 32 | value; }

/// Where a member's n-th word lies: only rank 0 has more than one.
std::size_t place_of(const RollCalls::Call& call, std::size_t word) { return word == 0 ? call.rank : call.members.size() + word - 1; }

enum class Brought : std::uint8_t { here, before, too_late };

/// A round that is over by now must not write into a later one, so this gives way to that.
Brought bring(RollSheet& sheet, std::uint32_t round, std::size_t place, std::uint32_t value) {
  std::uint64_t there = sheet.brought(place).load(std::memory_order_relaxed);
  do {
    const auto ahead = static_cast<std::int32_t>(static_cast<std::uint32_t>(there >> 32) - round);
    if (ahead >= 0) return ahead == 0 ? Brought::before : Brought::too_late;
    // relaxed: the signature that follows releases it
  } while (!sheet.brought(place).compare_exchange_weak(there, in_round(round, value), std::memory_order_relaxed));
  return Brought::here;
}

/// Changes the state as change(SheetState&) says, as long as the round is this one and it answers true. Answers the new state.
template <typename Change>
std::optional<SheetState> change(RollSheet& sheet, std::uint32_t round, Change change_it) {
  std::uint64_t word = sheet.state.load(std::memory_order_relaxed);
  for (;;) {
    SheetState next = SheetState::of(word);
    if (next.round != round || !change_it(next)) return std::nullopt;
    // acq_rel: a signature brings what its member has written, and who sees all signatures sees all of that; seq_cst as the sleepers'
    // announcements are looked at next (wake.hpp)
    if (sheet.state.compare_exchange_weak(word, next.word(), std::memory_order_seq_cst, std::memory_order_relaxed)) return next;
  }
}

void wake_all_of(const RollMembers& members, base::SharedArea& area) {
  for (std::uint32_t rank = 0; rank < members.size(); ++rank)
    wake_sleepers(slot_memory(area, members.slot_of(rank)).wake);
}

void call_off_round(RollSheet& sheet, std::uint32_t round, const RollMembers& members, base::SharedArea& area) {
  const auto off = change(sheet, round, [&](SheetState& state) {
    if (!state.is_open(members.size())) return false;
    state.phase = Phase::off;
    return true;
  });
  if (off) wake_all_of(members, area);
}

}  // namespace

RollCall::RollCall(RollCall&& other) noexcept
    : sheet_(std::exchange(other.sheet_, nullptr)), round_(other.round_), members_(other.members_), area_(other.area_) {}

/// The last one to leave makes it free. One that is neither complete nor off is called off before.
RollCall::~RollCall() {
  if (sheet_ == nullptr) return;
  call_off();
  change(*sheet_, round_, [](SheetState& state) {
    if (++state.left == state.signatures) state = {.round = state.round};
    return true;
  });
}

void RollCall::call_off() const { call_off_round(*sheet_, round_, *members_, *area_); }

std::size_t RollCalls::store_bytes(std::uint32_t slots) { return kBuckets * bucket_bytes(stride_of(slots)); }

RollCalls::RollCalls(base::SharedArea& area, std::size_t offset)
    : area_(area), offset_(offset), sheet_stride_(stride_of(area.slot_count())), backed_(area.slot_count()) {}

RollCalls::Bucket RollCalls::bucket_of(const Call& call) {
  std::byte* const begin = area_.store(call.host) + offset_ + hash_of(call.name) % kBuckets * bucket_bytes(sheet_stride_);
  std::byte* const sheets = begin + sizeof(RollTurn);
  return {reinterpret_cast<RollTurn*>(begin), {reinterpret_cast<RollSheet*>(sheets), reinterpret_cast<RollSheet*>(sheets + sheet_stride_)}};
}

bool RollCalls::is_backed(std::uint32_t host) {
  if (backed_[host].load(std::memory_order_relaxed)) return true;
  if (!area_.back(area_.store(host) + offset_, store_bytes(area_.slot_count()))) return false;
  backed_[host].store(true, std::memory_order_relaxed);
  return true;
}

/// The first one: nobody else can sign until it has.
RollCalls::Signed RollCalls::open(const Bucket& bucket, std::uint64_t turn, SheetState seen, const Call& call,
                                  std::span<const std::uint32_t> brought) {
  RollSheet& sheet = *bucket.sheets[turn % 2];
  const std::uint32_t round = seen.round + 1;
  for (std::size_t word = 0; word < brought.size(); ++word)
    sheet.brought(place_of(call, word)).store(in_round(round, brought[word]), std::memory_order_relaxed);
  visit_words(call.name, [&](std::size_t place, std::uint64_t word) {
    sheet.name[place].store(word, std::memory_order_relaxed);
    return true;
  });
  // release: pairs with the acquire of those who look for the name
  sheet.state.store(SheetState{.round = round, .signatures = 1, .phase = Phase::open}.word(), std::memory_order_release);
  Signed signed_up{Answer::signed_up, RollCall(sheet, round, call.members, area_)};
  if (bucket.turn->turn.load(std::memory_order_acquire) == turn) return signed_up;
  // The turn has gone on: either all have signed here meanwhile, or this member had been away since it read the turn, and has opened the
  // sheet where nobody looks.
  signed_up.call->call_off();
  if (signed_up.call->is_complete()) return signed_up;
  return {Answer::elsewhere, std::nullopt};
}

RollCalls::Signed RollCalls::join(const Bucket& bucket, std::uint64_t turn, SheetState seen, const Call& call,
                                  std::span<const std::uint32_t> brought) {
  RollSheet& sheet = *bucket.sheets[turn % 2];
  for (std::size_t word = 0; word < brought.size(); ++word) {
    const Brought there = bring(sheet, seen.round, place_of(call, word), brought[word]);
    if (there == Brought::before) return {Answer::signed_before, std::nullopt};
    if (there == Brought::too_late) return {Answer::elsewhere, std::nullopt};
  }
  const auto now = change(sheet, seen.round, [&](SheetState& state) {
    if (!state.is_open(call.members.size())) return false;
    ++state.signatures;
    return true;
  });
  if (!now) return {Answer::elsewhere, std::nullopt};
  Signed signed_up{Answer::signed_up, RollCall(sheet, seen.round, call.members, area_)};
  if (!now->is_complete(call.members.size())) return signed_up;
  bucket.turn->turn.store(turn + 1, std::memory_order_release);  // pairs with the acquires in sign and open: the next one is free soon
  wake_all_of(call.members, area_);
  return signed_up;
}

RollCalls::Signed RollCalls::sign(const Call& call, std::span<const std::uint32_t> brought) {
  if (call.name.size() > kRollCallName || call.members.size() > SheetState::kMostMembers || !is_backed(call.host)) return {Answer::elsewhere, std::nullopt};
  const Bucket bucket = bucket_of(call);
  for (int look = 0; look < kLooks; ++look) {
    const std::uint64_t turn = bucket.turn->turn.load(std::memory_order_acquire);
    RollSheet& sheet = *bucket.sheets[turn % 2];
    // acquire: pairs with the release in open, so that the name is there
    std::uint64_t word = sheet.state.load(std::memory_order_acquire);
    const SheetState seen = SheetState::of(word);
    if (seen.phase == Phase::free) {
      SheetState opening{.round = seen.round, .phase = Phase::opening};
      // acquire: pairs with the last one's leaving; what is written next must not be seen before
      if (sheet.state.compare_exchange_strong(word, opening.word(), std::memory_order_acq_rel)) return open(bucket, turn, seen, call, brought);
    } else if (seen.phase == Phase::open) {
      if (!has_name(sheet, call.name)) return {Answer::elsewhere, std::nullopt};
      if (!seen.is_complete(call.members.size())) return join(bucket, turn, seen, call, brought);
    } else if (seen.phase == Phase::off) {
      return {Answer::elsewhere, std::nullopt};
    }
    __builtin_ia32_pause();  // opening, or complete and about to be the last one's
  }
  return {Answer::elsewhere, std::nullopt};
}

void RollCalls::call_off(const Call& call) {
  if (!is_backed(call.host)) return;
  const Bucket bucket = bucket_of(call);
  RollSheet& sheet = *bucket.sheets[bucket.turn->turn.load(std::memory_order_acquire) % 2];
  const SheetState seen = SheetState::of(sheet.state.load(std::memory_order_acquire));  // pairs with the release in open
  if (!seen.is_open(call.members.size()) || !has_name(sheet, call.name)) return;
  call_off_round(sheet, seen.round, call.members, area_);
}

}  // namespace shim::transport
