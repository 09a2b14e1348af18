// SPDX-License-Identifier: BSD-3-Clause
// KvsLog is a job-wide append-only log over a launcher's key-value store.
//
// A reader knows neither the writers nor their number. Some launchers replace a key's first value
// by a second (PMIx under Open MPI 4.1), others reject the second (hydra), so processes cannot
// append to a common list. Therefore every key gets one value for ever: entries are numbered for
// each writer, and a tree of flags over the ranks of the job shows which subtrees have entries. A
// writer puts the entry first, then, with its first entry, the flags from the lowest to the root's.
// Two writers of one flag write equal values.
//
//   root flag   level L, all ranks         absent: no entries at all, found by one request
//   flags       level l, kFanOut^l ranks   present: read the children
//   entries     (rank, 0), (rank, 1), …    present: read the next one
//
// A reader keeps the frontier of keys without a value, and resumes there at the next call. It finds
// every entry appended before the call, because all flags are set by then. If two processes append
// first and read afterwards, at least one finds the other's entry.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {

/// Interface to a launcher's key-value store.
class KvsLogStore {
 public:
  /// A key, unique in the job.
  struct Name {
    std::uint32_t rank = 0;
    std::string key;
    auto operator<=>(const Name&) const = default;
  };
  virtual ~KvsLogStore() = default;
  /// Put a value. Called once for each entry; other processes may put a flag again with an equal
  /// value, which the store may reject. Errors: unsupported_operation (no store), other.
  virtual base::Status put(const Name& name, std::span<const std::byte> value) = 0;
  /// Return the value of each name, nothing for a name that has none now. Errors: as put().
  virtual base::Result<std::vector<std::optional<Bytes>>> find(std::span<const Name> names) = 0;
};

/// Thread-safe; calls are serialized.
class KvsLog {
 public:
  static constexpr std::uint32_t kFanOut = 8;

  /// Open the log of process `rank` in a job of `size` processes. The store outlives the log.
  KvsLog(KvsLogStore& store, std::uint32_t rank, std::uint32_t size);
  base::Status append_log(std::span<const std::byte> entry);
  base::Result<std::vector<LogEntry>> read_log();

 private:
  /// A key that may get a value: a flag, or on level 0 an entry.
  struct TreeNode {
    std::uint32_t level = 0;
    std::uint32_t rank = 0;   ///< first rank below the node
    std::uint32_t index = 0;  ///< of an entry
  };
  static KvsLogStore::Name name_of(const TreeNode& node);
  base::Status count_own_entries();
  base::Status set_flags();
  base::Status read_new();
  /// Collect the keys to read next, after this node got a value.
  void expand(const TreeNode& node, Bytes value, std::vector<TreeNode>& next);

  KvsLogStore& store_;
  const std::uint32_t rank_, size_, root_level_;
  std::mutex mutex_;  ///< guards the members below
  /// entries of this process, including earlier Bootstraps; unknown before the first append
  std::optional<std::uint32_t> own_entry_count_;
  bool flags_are_set_ = false;  ///< flags above this process
  bool has_no_store_ = false;
  std::vector<TreeNode> frontier_;  ///< nodes without a value at the last read
  std::vector<LogEntry> entries_;
};

}  // namespace shim::bootstrap
