// SPDX-License-Identifier: BSD-3-Clause
// PublishedSets holds the process sets that processes publish at run time.
//
// A name must permanently denote one set for all processes. No process arbitrates: two may
// concurrently publish different sets under one name, and the launchers' stores have no
// compare-and-swap. So a publisher appends its claim (wanted), reads the others' claims, and
// appends granted if no other claim has a different set under this name; else it appends withdrawn
// and fails. Readers use granted sets only. Of two publishers with different sets at least one
// reads after both have appended (bootstrap/kvs_log.hpp), so both never succeed; both may fail. If
// a process dies in between, the name stays reserved for its set.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shim/base/result.hpp"
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/sessions/pset_record.hpp"
#include "shim/sessions/pset_text.hpp"

namespace shim::sessions {

/// Thread-safe, local.
class PublishedSets {
 public:
  explicit PublishedSets(bootstrap::Bootstrap& bootstrap) : bootstrap_(bootstrap) {}

  /// Return the sets published so far, in the order in which this process read them. Queries the
  /// launcher. Errors: the launcher's.
  base::Result<std::vector<NamedGroup>> sets();
  /// Return a set that this process has already read; else null. Published sets never disappear.
  GroupPtr find_known(std::string_view name);
  /// Publish a set, possibly again. Errors: name (the name denotes another set, or another process
  /// claims it now), unsupported_operation (the launcher has no store), arg (the group has too many
  /// ranges for a record), the launcher's.
  base::Status publish(const std::string& name, const GroupPtr& group);

 private:
  struct Claim {
    GroupPtr group;
    PsetRecord::State state = PsetRecord::State::wanted;
  };
  base::Status read();
  void take(const bootstrap::LogEntry& entry);
  base::Status check_free(const std::string& name, const Group& group);
  base::Status check_rivals(const std::string& name, const Group& group);
  base::Status append_claim(PsetRecord::State kind, const std::string& name,
                            const GroupPtr& group = nullptr);

  bootstrap::Bootstrap& bootstrap_;
  std::mutex publishing_;  ///< allows one claim of this process at a time; taken before mutex_
  std::mutex mutex_;       ///< guards all members below
  std::size_t entries_read_ = 0;
  /// Last claim by writer and name.
  std::map<std::pair<std::uint32_t, std::string>, Claim> claims_;
  std::vector<NamedGroup> granted_;
};

}  // namespace shim::sessions
