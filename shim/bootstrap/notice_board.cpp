// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/notice_board.hpp"

#include <array>
#include <utility>

#include "shim/bootstrap/arguments.hpp"

namespace shim::bootstrap {
namespace {

std::uint64_t ranks_below(std::uint32_t level) {
  std::uint64_t ranks = 1;
  for (; level > 0; --level) ranks *= NoticeBoard::kFanOut;
  return ranks;
}

std::uint32_t level_over(std::uint32_t size) {
  std::uint32_t level = 1;
  while (ranks_below(level) < size) ++level;
  return level;
}

bool is_unsupported(const base::Error& error) { return error.error_class() == base::ErrorClass::unsupported_operation; }

}  // namespace

NoticeBoard::NoticeBoard(NoticeStore& store, std::uint32_t rank, std::uint32_t size)
    : store_(store), rank_(rank), size_(size), root_level_(level_over(size)), border_{{root_level_, 0, 0}} {}

NoticeStore::Name NoticeBoard::name_of(const Place& place) {
  if (place.level == 0) return {place.rank, "notice." + std::to_string(place.number)};
  return {place.rank, "posted." + std::to_string(place.level)};
}

/// A Bootstrap of an earlier life of this process may have posted, or a call whose answer was lost.
base::Status NoticeBoard::count_own() {
  for (std::uint32_t count = 0; !own_count_; ++count) {
    const NoticeStore::Name name = name_of({0, rank_, count});
    SHIM_TRY_ASSIGN(const auto found, store_.find({&name, 1}));
    if (!found.front()) own_count_ = count;
  }
  return {};
}

base::Status NoticeBoard::raise_flags() {
  static constexpr std::array<std::byte, 1> kRaised{std::byte{1}};
  for (std::uint32_t level = 1; level <= root_level_; ++level) {
    const auto below = static_cast<std::uint32_t>(ranks_below(level - 1) * kFanOut);
    const NoticeStore::Name flag = name_of({level, level == root_level_ ? 0 : rank_ / below * below, 0});
    SHIM_TRY_ASSIGN(const auto found, store_.find({&flag, 1}));
    if (found.front()) continue;
    auto put = store_.put(flag, kRaised);
    if (put) continue;
    SHIM_TRY_ASSIGN(const auto by_another, store_.find({&flag, 1}));  // somebody raised it meanwhile, and ours was refused
    if (!by_another.front()) return put;
  }
  return {};
}

base::Status NoticeBoard::post(std::span<const std::byte> notice) {
  SHIM_TRY(check_notice(notice));
  std::lock_guard lock(mutex_);
  SHIM_TRY(count_own());
  auto put = store_.put(name_of({0, rank_, *own_count_}), notice);
  if (!put) {
    own_count_.reset();
    return put;
  }
  ++*own_count_;
  if (!flags_are_up_) SHIM_TRY(raise_flags());
  flags_are_up_ = true;
  return {};
}

void NoticeBoard::go_on_from(const Place& place, Bytes value, std::vector<Place>& next) {
  if (place.level == 0) {
    notices_.push_back({place.rank, place.number, std::move(value)});
    return next.push_back({0, place.rank, place.number + 1});
  }
  const std::uint64_t step = ranks_below(place.level - 1);
  for (std::uint64_t rank = place.rank; rank < place.rank + step * kFanOut && rank < size_; rank += step)
    next.push_back({place.level - 1, static_cast<std::uint32_t>(rank), 0});
}

base::Status NoticeBoard::read_on() {
  std::vector<Place> without_value, asked = border_;
  while (!asked.empty()) {
    std::vector<NoticeStore::Name> names;
    for (const Place& place : asked) names.push_back(name_of(place));
    SHIM_TRY_ASSIGN(auto found, store_.find(names));
    std::vector<Place> next;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (found[i]) go_on_from(asked[i], *std::move(found[i]), next);
      else without_value.push_back(asked[i]);
    }
    asked = std::move(next);
    border_ = without_value;  // so that an error in the next round loses nothing
    border_.insert(border_.end(), asked.begin(), asked.end());
  }
  return {};
}

base::Result<std::vector<Notice>> NoticeBoard::notices() {
  std::lock_guard lock(mutex_);
  if (!has_no_store_) {
    auto read = read_on();
    if (!read && !is_unsupported(read.error())) return std::move(read).error();
    has_no_store_ = !read;
  }
  return notices_;
}

}  // namespace shim::bootstrap
