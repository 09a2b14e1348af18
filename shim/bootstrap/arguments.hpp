// SPDX-License-Identifier: BSD-3-Clause
// What every backend checks before it asks its launcher.
#pragma once

#include <span>
#include <string_view>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap {

/// Errors: rank, where the job has no such process.
base::Status check_rank(std::uint32_t rank, std::uint32_t size);

/// A fence needs the caller among its ranks, and each rank once. Errors: rank, arg.
base::Status check_fence(std::span<const std::uint32_t> ranks, const Job& job);

/// Errors: arg, where it is longer than kLongestNotice.
base::Status check_notice(std::span<const std::byte> notice);

}  // namespace shim::bootstrap
