// SPDX-License-Identifier: BSD-3-Clause
// The process sets that a process can name: the standard's, those of nodes and applications, the launcher's, the user's, and those
// that processes publish.
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
#include "shim/bootstrap/node_hardware.hpp"
#include "shim/sessions/group.hpp"
#include "shim/sessions/pset_text.hpp"
#include "shim/sessions/published_sets.hpp"

namespace shim::sessions {

/// One per Process object. Thread-safe, local. Where two sets have one name, the first in this order counts: mpi://WORLD,
/// mpi://SELF, mpix://SHARED, mpix://NODE/<host> for every node, mpix://APP/<n> for every application of a launch with several,
/// mpix://NUMA/<host>/<n> and mpix://SOCKET/<host>/<n> of the own node (hardware_sets.hpp),
/// the launcher's, the user's, the published ones. The launcher's and the published ones are asked for anew each time. Sets of a million processes cost a few bytes where they are ranges.
class ProcessSets {
 public:
  /// Reads the settings `psets` and `pset_file`; what is wrong there goes to the log, once, and the rest holds.
  ProcessSets(const base::Settings& settings, bootstrap::Bootstrap& bootstrap, const base::Log& log);

  /// From now on there are sets of the own node's hardware, which outlives this. Before the first question.
  void use_hardware(bootstrap::NodeHardware& hardware) { hardware_ = &hardware; }

  /// All names there are at this moment.
  std::vector<std::string> names();
  /// Errors: arg (unknown; the text names those there are).
  base::Result<GroupPtr> find(std::string_view name);
  /// Names a set for all processes of the job, from now on. Publishing the same set again is no error.
  /// Errors: arg (a name that is empty or reserved), group (empty, or with processes of another world), name (it stands for another
  /// set), and those of PublishedSets::publish.
  base::Status publish(const std::string& name, const GroupPtr& group);

 private:
  GroupPtr built_in(std::string_view name);
  std::vector<std::string> built_in_names();
  template <typename Sets>
  Sets or_none(base::Result<Sets> sets, bool& has_failed, std::string_view complaint);
  std::vector<bootstrap::NamedSet> launcher_sets();
  std::vector<NamedGroup> published_sets();
  std::vector<NamedGroup> sets_of_hardware();
  GroupPtr find_given(std::string_view name);
  base::Error unknown(std::string_view name);
  void read_user_sets(const base::Settings& settings);
  void read_file(const std::string& path);
  void take(PsetText text, const std::string& source);

  bootstrap::Bootstrap& bootstrap_;
  const base::Log& log_;
  bootstrap::NodeHardware* hardware_ = nullptr;
  std::vector<NamedGroup> user_sets_;  ///< in the order in which the user gives them
  std::unordered_map<std::string, GroupPtr> user_sets_by_name_;
  PublishedSets published_;
  std::mutex mutex_;                    ///< guards what follows
  std::vector<NamedGroup> hardware_sets_;  ///< kept once they are known: they do not change
  bool launcher_has_failed_ = false;    ///< and the log says so
  bool store_has_failed_ = false;       ///< likewise: published sets
};

}  // namespace shim::sessions
