// SPDX-License-Identifier: BSD-3-Clause
// Process sets that processes of the job publish while it runs.
//
// A name must mean one set, for all processes and for ever, and nobody decides that for the job: two may publish different sets
// under one name at the same moment, and the launchers' stores cannot compare and set. So whoever publishes says what it wants
// (wanted), reads what the others want, and grants it to itself (granted) where none of them wants another set under this name;
// else it takes its wish back (withdrawn) and fails. Readers heed what is granted alone. Of two with different sets at least
// one reads after both have said so (bootstrap/notice_board.hpp), so never are both granted; both may fail. A process that
// dies in between leaves a name that nobody can publish with another set.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shim/base/result.hpp"
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/sessions/pset_notice.hpp"
#include "shim/sessions/pset_text.hpp"

namespace shim::sessions {

/// Thread-safe, local.
class PublishedSets {
 public:
  explicit PublishedSets(bootstrap::Bootstrap& bootstrap) : bootstrap_(bootstrap) {}

  /// Those there are at this moment, in the order in which this process has heard of them. Asks the launcher. Errors: the launcher's.
  base::Result<std::vector<NamedGroup>> sets();
  /// As far as this process has heard; null otherwise. Published sets never go.
  GroupPtr find_known(std::string_view name);
  /// Publishes a set, which may have been published already. Errors: name (the name stands for another set, or somebody wants it to at
  /// this moment), unsupported_operation (the launcher keeps nothing), arg (a group of so many ranges that no notice holds it), the launcher's.
  base::Status publish(const std::string& name, const GroupPtr& group);

 private:
  struct Claim {
    GroupPtr group;
    PsetNotice::Kind state = PsetNotice::Kind::wanted;
  };
  base::Status read();
  void take(const bootstrap::Notice& notice);
  base::Status check_free(const std::string& name, const Group& group);
  base::Status check_rivals(const std::string& name, const Group& group);
  base::Status post(PsetNotice::Kind kind, const std::string& name, const GroupPtr& group = nullptr);

  bootstrap::Bootstrap& bootstrap_;
  std::mutex publishing_;  ///< one wish of this process at a time; taken before the other
  std::mutex mutex_;       ///< guards what follows
  std::size_t notices_read_ = 0;
  std::map<std::pair<std::uint32_t, std::string>, Claim> claims_;  ///< of each poster and name the last
  std::vector<NamedGroup> granted_;
};

}  // namespace shim::sessions
