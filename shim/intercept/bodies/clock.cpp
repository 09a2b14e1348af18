// SPDX-License-Identifier: BSD-3-Clause
// Time (MPI-4.1 §9.6) while the substrate is not initialised. Where its own clock runs then, that is asked, so that times taken
// before and after MPI_Init can be subtracted; else this one runs.
#include <ctime>

#include "shim/intercept/abi/library.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept::idle {
namespace {

using Clock = double (*)();

/// The substrate's function where it may be called now, else null.
Clock clock_below(const char* symbol) {
  return abi::kClockAlwaysRuns ? reinterpret_cast<Clock>(substrate_symbol(symbol)) : nullptr;
}

double seconds(const timespec& time) { return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec); }

}  // namespace

double Wtime() {
  static const Clock below = clock_below("PMPI_Wtime");
  timespec now{};
  return below ? below() : (::clock_gettime(CLOCK_MONOTONIC, &now), seconds(now));
}

double Wtick() {
  static const Clock below = clock_below("PMPI_Wtick");
  timespec step{};
  return below ? below() : (::clock_getres(CLOCK_MONOTONIC, &step), seconds(step));
}

}  // namespace shim::intercept::idle
