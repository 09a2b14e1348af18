// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/job_span.hpp"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace shim::bootstrap {
namespace {

std::optional<long> number_in(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return std::nullopt;
  const std::string_view text(value);
  long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

bool environment_says_several_nodes(std::span<const SizeVariables> launchers) {
  for (const auto& variables : launchers) {
    const auto job = number_in(variables.job), node = number_in(variables.node);
    if (job && node) return *job > *node;
  }
  return number_in("SLURM_STEP_NUM_NODES").value_or(1) > 1;  // srun(1)
}

}  // namespace shim::bootstrap
