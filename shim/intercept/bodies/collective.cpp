// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/bodies/collective.hpp"

#include <string>

namespace shim::intercept {

using base::Error;
using base::ErrorClass;

coll::Task keeping(Kept, coll::Task task) { co_await task; }

base::Status check_root(const sessions::Communicator& comm, int root) {
  if (root >= 0 && root < comm.peers()) return {};
  if (comm.is_inter() && (root == MPI_ROOT || root == MPI_PROC_NULL)) return {};
  Error error = slow::bad_rank(comm, root, "root");
  return Error(ErrorClass::root, error.text());
}

base::Status check_counts(std::span<const std::int64_t> counts, const char* what) {
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] < 0)
      return Error(ErrorClass::count, std::string("the ") + what + " count for rank " + std::to_string(i) + " is negative");
  return {};
}

base::Status check_no_alias(const void* send, const void* receive, std::uint64_t bytes) {
  if (send != receive || bytes == 0) return {};
  return Error(ErrorClass::buffer, "send and receive buffer are the same memory: use MPI_IN_PLACE");
}

base::Status check_in_place(const void* address, bool is_root) {
  if (address != MPI_IN_PLACE || is_root) return {};
  return Error(ErrorClass::buffer, "MPI_IN_PLACE is for the root only");
}

}  // namespace shim::intercept
