// SPDX-License-Identifier: BSD-3-Clause
// Implements MPI_Wtime and MPI_Wtick (MPI-4.1 §9.6) while the substrate is inactive. Uses the
// substrate's clock if that runs then, so that times before and after MPI_Init are comparable.
#include <ctime>

#include "shim/intercept/abi/library.hpp"
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept::impl_when_inactive {
namespace {

using Clock = double (*)();

/// Return the substrate's function if it may be called now, else null.
Clock native_clock(const char* symbol) {
  return abi::kClockAlwaysRuns ? reinterpret_cast<Clock>(substrate_symbol(symbol)) : nullptr;
}

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

double Wtime() {
  static const Clock native_call = native_clock("PMPI_Wtime");
  timespec now{};
  return native_call ? native_call() : (::clock_gettime(CLOCK_MONOTONIC, &now), seconds(now));
}

double Wtick() {
  static const Clock native_call = native_clock("PMPI_Wtick");
  timespec step{};
  return native_call ? native_call() : (::clock_getres(CLOCK_MONOTONIC, &step), seconds(step));
}

}  // namespace shim::intercept::impl_when_inactive
