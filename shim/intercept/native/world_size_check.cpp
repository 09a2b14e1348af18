// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/native/world_size_check.hpp"

#include <atomic>

#include "shim/intercept/abi/library.hpp"
#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/native/activity.hpp"

namespace shim::intercept {
namespace {

std::string processes(int count) {
  return std::to_string(count) + (count == 1 ? " process" : " processes");
}

std::string difference(int world_size, int job_size) {
  std::string sizes = "MPI_COMM_WORLD has " + processes(world_size) + ", mpi://WORLD has " +
                      processes(job_size) + ": ";
  if (world_size < job_size)
    return sizes + "the launcher does not belong to " + abi::kFamily.name +
           ", which therefore runs each process as a job of its own. Sessions work; for the world "
           "model start the program with the launcher of its MPI library";
  return sizes +
         "Intersession does not know the interface between the launcher and the MPI library (it "
         "needs PMIx or PMI-1; " +
         "intersession-info shows what it finds)";
}

}  // namespace

void warn_if_world_sizes_differ(sessions::Process& process) {
  static std::atomic<bool> has_looked{false};  // once in a program; pairs with nothing
  if (!may_call_substrate() || has_looked.exchange(true, std::memory_order_relaxed)) return;
  int size = 0, rank = 0;
  const MPI_Comm world = abi::predefined.comm_world;
  if (active_table.Comm_size(world, &size) != MPI_SUCCESS ||
      active_table.Comm_rank(world, &rank) != MPI_SUCCESS)
    return;
  const auto& job = process.bootstrap().job();
  if (static_cast<int>(job.size) == size || rank != 0 || job.rank != 0) return;
  process.log().write(base::LogLevel::warn, difference(size, static_cast<int>(job.size)));
}

}  // namespace shim::intercept
