// SPDX-License-Identifier: BSD-3-Clause
// TuningRow is a line of a tuning file (tuning.hpp), before its algorithm is looked up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shim/base/result.hpp"
#include "shim/coll/algorithm_table.hpp"

namespace shim::coll {

inline constexpr int kMaxTuningProcesses = INT32_MAX;
inline constexpr std::uint64_t kMaxTuningBytes = UINT64_MAX;

/// Refers to the text of the file.
struct TuningRow {
  std::string_view collective, algorithm;
  When when;
};

/// Parse a line; nothing if it is empty or a comment. Errors: arg, without file and line.
base::Result<std::optional<TuningRow>> parse_tuning_row(std::string_view line);

/// Return a word of a file for an error text: short, and without control characters.
std::string quoted(std::string_view word);

}  // namespace shim::coll
