// SPDX-License-Identifier: BSD-3-Clause
// ProcessSets lists all process sets of a process and finds them by name.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "shim/base/log.hpp"
#include "shim/base/result.hpp"
#include "shim/base/settings.hpp"
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/node/node_hardware.hpp"
#include "shim/sessions/group.hpp"
#include "shim/sessions/pset_text.hpp"
#include "shim/sessions/published_sets.hpp"

namespace shim::sessions {

/// One per Process object. Thread-safe, local. If two sets share a name, the first in this order
/// counts: mpi://WORLD, mpi://SELF, mpix://SHARED, `mpix://NODE/<host>` for every node,
/// `mpix://APP/<n>` for every application of a multi-application launch, `mpix://NUMA/<host>/<n>`
/// and `mpix://SOCKET/<host>/<n>` of this node (hardware_sets.hpp), the launcher's sets, the
/// user's, the published ones. The launcher's and the published sets are read again at each call. A
/// set of a million processes takes a few bytes if it consists of ranges.
class ProcessSets {
 public:
  /// Read the settings `psets` and `pset_file`; log invalid entries once and keep the others.
  ProcessSets(const base::Settings& settings, bootstrap::Bootstrap& bootstrap,
              const base::Log& log);

  /// Add the sets of this node's hardware. `hardware` outlives this object. Call before any query.
  void use_hardware(node::NodeHardware& hardware) { hardware_ = &hardware; }

  /// Return all names that exist now.
  std::vector<std::string> names();
  /// Errors: arg (unknown name; the text lists the existing ones).
  base::Result<GroupPtr> find(std::string_view name);
  /// Publish a set to all processes of the job. Publishing an equal set again succeeds. Errors: arg
  /// (empty or reserved name), group (empty, or with processes of another world), name (in use for
  /// another set), and those of PublishedSets::publish.
  base::Status publish(const std::string& name, const GroupPtr& group);

 private:
  GroupPtr built_in(std::string_view name);
  std::vector<std::string> built_in_names();
  template <typename Sets>
  Sets log_and_ignore_error(base::Result<Sets> sets, bool& has_failed, std::string_view error_text);
  std::vector<bootstrap::NamedSet> launcher_sets();
  std::vector<NamedGroup> published_sets();
  std::vector<NamedGroup> sets_of_hardware();
  GroupPtr find_unpublished(std::string_view name);
  base::Error unknown(std::string_view name);
  void read_user_sets(const base::Settings& settings);
  void read_file(const std::string& path);
  void take(PsetText text, const std::string& source);

  bootstrap::Bootstrap& bootstrap_;
  const base::Log& log_;
  node::NodeHardware* hardware_ = nullptr;
  std::vector<NamedGroup> user_sets_;  ///< in the user's order
  std::unordered_map<std::string, GroupPtr> user_sets_by_name_;
  PublishedSets published_;
  std::mutex mutex_;                       ///< guards all members below
  std::vector<NamedGroup> hardware_sets_;  ///< constant once known
  bool launcher_has_failed_ = false;       ///< already logged
  bool store_has_failed_ = false;          ///< published sets failed; already logged
};

}  // namespace shim::sessions
