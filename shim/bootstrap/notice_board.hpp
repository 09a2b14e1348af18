// SPDX-License-Identifier: BSD-3-Clause
// Notices that all processes of a job find, over a launcher that keeps values under names and can do nothing else with them.
//
// A reader does not know who posts, and nobody can be asked. Names are all there is, and of some launchers' stores a second value
// replaces the first (PMIx under Open MPI 4.1), of others it is refused (hydra), so no list can be appended to by many. Hence
// every name has one value for ever: notices are their poster's, numbered; above them is a tree over the ranks of the job, and
// its flags say that somebody below has posted. A poster writes the notice first, and with its first one the flags from the
// lowest to the root's. Two who raise one flag write the same.
//
//   root flag   level L, all ranks            none: nobody has posted, which is one question to the launcher
//   flags       level l, kFanOut^l ranks      present: look at those below
//   notices     (rank, 0), (rank, 1), …       present: look for the next
//
// A reader keeps the border of what it has found, and begins there the next time. What a poster posted before a reader began,
// it finds: all flags were there. So of two who post first and read then, at least one finds the other's.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {

/// What a launcher's store has to do.
class NoticeStore {
 public:
  /// A name: (rank, key), unique in the job.
  struct Name {
    std::uint32_t rank = 0;
    std::string key;
    auto operator<=>(const Name&) const = default;
  };
  virtual ~NoticeStore() = default;
  /// Once for each name; of flags again, by others too, with the same value, which may be refused.
  /// Errors: unsupported_operation, where there is no store; other.
  virtual base::Status put(const Name& name, std::span<const std::byte> value) = 0;
  /// One answer for each name: its value, or nothing where there is none at this moment. Errors as in put.
  virtual base::Result<std::vector<std::optional<Bytes>>> find(std::span<const Name> names) = 0;
};

/// Thread-safe; one call goes on at a time.
class NoticeBoard {
 public:
  static constexpr std::uint32_t kFanOut = 8;

  /// Of process `rank` of a job of `size`. The store outlives the board.
  NoticeBoard(NoticeStore& store, std::uint32_t rank, std::uint32_t size);
  base::Status post(std::span<const std::byte> notice);
  base::Result<std::vector<Notice>> notices();

 private:
  /// A name that may get a value: a flag, or on level 0 a notice.
  struct Place {
    std::uint32_t level = 0;
    std::uint32_t rank = 0;    ///< the first below it
    std::uint32_t number = 0;  ///< of a notice
  };
  static NoticeStore::Name name_of(const Place& place);
  base::Status count_own();
  base::Status raise_flags();
  base::Status read_on();
  /// What is to be looked at next, now that this place has a value.
  void go_on_from(const Place& place, Bytes value, std::vector<Place>& next);

  NoticeStore& store_;
  const std::uint32_t rank_, size_, root_level_;
  std::mutex mutex_;                        ///< guards what follows
  std::optional<std::uint32_t> own_count_;  ///< notices of this process, of earlier Bootstraps too; unknown before the first post
  bool flags_are_up_ = false;               ///< those above this process
  bool has_no_store_ = false;
  std::vector<Place> border_;               ///< had no value when they were looked at last
  std::vector<Notice> notices_;
};

}  // namespace shim::bootstrap
