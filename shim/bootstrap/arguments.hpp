// SPDX-License-Identifier: BSD-3-Clause
// Argument checks that all backends share.
#pragma once

#include <span>
#include <string_view>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {

/// Check that the job has this rank. Errors: rank.
base::Status check_rank(std::uint32_t rank, std::uint32_t size);

/// Check that a fence's ranks include the caller, and each rank once. Errors: rank, arg.
base::Status check_fence(std::span<const std::uint32_t> ranks, const Job& job);

/// Check the length of a log entry. Errors: arg (longer than kMaxLogEntryBytes).
base::Status check_log_entry(std::span<const std::byte> entry);

}  // namespace shim::bootstrap
