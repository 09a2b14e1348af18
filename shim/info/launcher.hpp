// SPDX-License-Identifier: BSD-3-Clause
// The job as the launcher tells it, taken down so that nothing of the launcher's client is needed afterwards.
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
  std::vector<std::uint32_t> app_numbers;
  std::vector<std::pair<std::string, std::string>> sets;  ///< names and members, as a session shows them; in rank 0 alone
};

/// Speaks with the launcher, if there is one, and takes leave of it once all processes of the job have spoken to it, or after
/// the setting ready_timeout. Errors: open_bootstrap's.
base::Result<JobFacts> ask_launcher(const base::Settings& settings);

}  // namespace shim::info
