// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/kvs_log.hpp"

#include <array>
#include <utility>

#include "shim/bootstrap/arguments.hpp"

namespace shim::bootstrap {
namespace {

std::uint64_t ranks_below(std::uint32_t level) {
  std::uint64_t ranks = 1;
  for (; level > 0; --level) ranks *= KvsLog::kFanOut;
  return ranks;
}

std::uint32_t root_level_for(std::uint32_t size) {
  std::uint32_t level = 1;
  while (ranks_below(level) < size) ++level;
  return level;
}

bool is_unsupported(const base::Error& error) {
  return error.error_class() == base::ErrorClass::unsupported_operation;
}

}  // namespace

KvsLog::KvsLog(KvsLogStore& store, std::uint32_t rank, std::uint32_t size)
    : store_(store),
      rank_(rank),
      size_(size),
      root_level_(root_level_for(size)),
      frontier_{{root_level_, 0, 0}} {}

/// The key of an entry is "notice.<index>", and the key of a flag is "posted.<level>".
KvsLogStore::Name KvsLog::name_of(const TreeNode& node) {
  if (node.level == 0) return {node.rank, "notice." + std::to_string(node.index)};
  return {node.rank, "posted." + std::to_string(node.level)};
}

/// Count the entries of this process, which may include entries of an earlier incarnation, or of a
/// call whose response was lost.
base::Status KvsLog::count_own_entries() {
  for (std::uint32_t count = 0; !own_entry_count_; ++count) {
    const KvsLogStore::Name name = name_of({0, rank_, count});
    SHIM_TRY_ASSIGN(const auto found, store_.find({&name, 1}));
    if (!found.front()) own_entry_count_ = count;
  }
  return {};
}

base::Status KvsLog::set_flags() {
  static constexpr std::array<std::byte, 1> kSet{std::byte{1}};
  for (std::uint32_t level = 1; level <= root_level_; ++level) {
    const auto below = static_cast<std::uint32_t>(ranks_below(level - 1) * kFanOut);
    const KvsLogStore::Name flag = name_of(
        {level, level == root_level_ ? 0 : rank_ / below * below, 0});
    SHIM_TRY_ASSIGN(const auto found, store_.find({&flag, 1}));
    if (found.front()) continue;
    auto stored = store_.put(flag, kSet);
    if (stored) continue;
    SHIM_TRY_ASSIGN(const auto by_another,
                    // another process stored the flag meanwhile, and the store rejected ours
                    store_.find({&flag, 1}));
    if (!by_another.front()) return stored;
  }
  return {};
}

base::Status KvsLog::append_log(std::span<const std::byte> entry) {
  SHIM_TRY(check_log_entry(entry));
  std::lock_guard lock(mutex_);
  SHIM_TRY(count_own_entries());
  auto stored = store_.put(name_of({0, rank_, *own_entry_count_}), entry);
  if (!stored) {
    own_entry_count_.reset();
    return stored;
  }
  ++*own_entry_count_;
  if (!flags_are_set_) SHIM_TRY(set_flags());
  flags_are_set_ = true;
  return {};
}

void KvsLog::expand(const TreeNode& node, Bytes value, std::vector<TreeNode>& next) {
  if (node.level == 0) {
    entries_.push_back({node.rank, node.index, std::move(value)});
    return next.push_back({0, node.rank, node.index + 1});
  }
  const std::uint64_t step = ranks_below(node.level - 1);
  for (std::uint64_t rank = node.rank; rank < node.rank + step * kFanOut && rank < size_;
       rank += step)
    next.push_back({node.level - 1, static_cast<std::uint32_t>(rank), 0});
}

base::Status KvsLog::read_new() {
  std::vector<TreeNode> without_value, pending = frontier_;
  while (!pending.empty()) {
    std::vector<KvsLogStore::Name> names;
    for (const TreeNode& node : pending) names.push_back(name_of(node));
    SHIM_TRY_ASSIGN(auto found, store_.find(names));
    std::vector<TreeNode> next;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      if (found[i])
        expand(pending[i], *std::move(found[i]), next);
      else
        without_value.push_back(pending[i]);
    }
    pending = std::move(next);
    frontier_ = without_value;  // so that an error in the next round loses no node
    frontier_.insert(frontier_.end(), pending.begin(), pending.end());
  }
  return {};
}

base::Result<std::vector<LogEntry>> KvsLog::read_log() {
  std::lock_guard lock(mutex_);
  if (!has_no_store_) {
    auto read = read_new();
    if (!read && !is_unsupported(read.error())) return std::move(read).error();
    has_no_store_ = !read;
  }
  return entries_;
}

}  // namespace shim::bootstrap
