// SPDX-License-Identifier: BSD-3-Clause
// JobFacts is a copy of the data that the launcher provides about the job.
// The copy stays valid after the Bootstrap, which owns the original data, is destroyed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shim/base/result.hpp"
#include "shim/base/settings.hpp"
#include "shim/bootstrap/bootstrap.hpp"

namespace shim::info {

struct JobFacts {
  std::string backend;  ///< Bootstrap::name()
  bootstrap::Job job;
  bootstrap::NodeMap node_map;
  std::vector<std::uint32_t> app_numbers;  ///< Bootstrap::app_numbers()
  /// Name and members (as text) of the process sets that a session of rank 0 would offer, except
  /// the sets of hardware (mpix://NUMA/…, mpix://SOCKET/…). Empty at other ranks.
  std::vector<std::pair<std::string, std::string>> sets;
  std::string warning{};  ///< Bootstrap::warning(), or empty
};

/// Open a Bootstrap and copy its data. Then wait until all processes of the job have called this
/// function, for at most the setting ready_timeout, and destroy the Bootstrap and the launcher's
/// client. Errors: those of open_bootstrap() and Bootstrap::query_node_map().
base::Result<JobFacts> query_launcher(const base::Settings& settings);

}  // namespace shim::info
