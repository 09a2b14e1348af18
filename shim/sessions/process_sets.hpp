// SPDX-License-Identifier: BSD-3-Clause
// The process sets that a process can name: the standard's, those of nodes and applications, the launcher's, the user's.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "shim/base/log.hpp"
#include "shim/base/result.hpp"
#include "shim/base/settings.hpp"
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/sessions/group.hpp"
#include "shim/sessions/pset_text.hpp"

namespace shim::sessions {

/// One per Process object. Thread-safe, local. Where two sets have one name, the first in this order counts: mpi://WORLD,
/// mpi://SELF, mpix://SHARED, mpix://NODE/<host> for every node, mpix://APP/<n> for every application of a launch with several,
/// the launcher's, the user's. Sets of a million processes cost a few bytes where they are ranges.
class ProcessSets {
 public:
  /// Reads the settings `psets` and `pset_file`; what is wrong there goes to the log, once, and the rest holds.
  ProcessSets(const base::Settings& settings, bootstrap::Bootstrap& bootstrap, const base::Log& log);

  /// All names there are at this moment.
  std::vector<std::string> names();
  /// Errors: arg (unknown; the text names those there are).
  base::Result<GroupPtr> find(std::string_view name);

 private:
  GroupPtr built_in(std::string_view name) const;
  std::vector<std::string> built_in_names() const;
  std::vector<bootstrap::NamedSet> launcher_sets();
  void read_user_sets(const base::Settings& settings);
  void read_file(const std::string& path);
  void take(PsetText text, const std::string& source);

  bootstrap::Bootstrap& bootstrap_;
  const base::Log& log_;
  std::vector<NamedGroup> user_sets_;
  std::mutex mutex_;                    ///< guards what follows
  bool launcher_has_failed_ = false;    ///< and the log says so
};

}  // namespace shim::sessions
