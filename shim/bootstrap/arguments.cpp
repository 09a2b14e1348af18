// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/arguments.hpp"

#include <algorithm>

namespace shim::bootstrap {

using base::Error;
using base::ErrorClass;

base::Status check_rank(std::uint32_t rank, std::uint32_t size) {
  if (rank < size) return {};
  return Error(ErrorClass::rank, "process " + std::to_string(rank) +
                                     " does not exist; the job has " + std::to_string(size) +
                                     " processes");
}

base::Status check_fence(std::span<const std::uint32_t> ranks, const Job& job) {
  for (auto rank : ranks) SHIM_TRY(check_rank(rank, job.size));
  std::vector<std::uint32_t> sorted(ranks.begin(), ranks.end());
  std::sort(sorted.begin(), sorted.end());
  if (auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    return Error(ErrorClass::arg,
                 "process " + std::to_string(*twice) + " is listed twice in a fence");
  if (!std::binary_search(sorted.begin(), sorted.end(), job.rank))
    return Error(ErrorClass::arg, "process " + std::to_string(job.rank) +
                                      " is not a member of the fence that it calls");
  return {};
}

base::Status check_log_entry(std::span<const std::byte> entry) {
  if (entry.size() <= kMaxLogEntryBytes) return {};
  return base::Error(base::ErrorClass::arg, "a KVS log entry of " + std::to_string(entry.size()) +
                                                " bytes is too long; the limit is " +
                                                std::to_string(kMaxLogEntryBytes) + " bytes");
}

}  // namespace shim::bootstrap
