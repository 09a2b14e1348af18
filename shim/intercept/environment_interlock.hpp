// SPDX-License-Identifier: BSD-3-Clause
// EnvironmentInterlock separates the start of a Process from calls that change the environment.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace shim::intercept {

/// Closed while the substrate is in MPI_Init or MPI_Finalize on some thread. There Open MPI calls
/// setenv() and unsetenv(), which must not overlap getenv() on another thread (setenv(3)); the
/// start of a Process calls getenv(), as does PMIx_Init within it. Thread-safe.
class EnvironmentInterlock {
 public:
  /// Close until reopen() is called or `seconds` have passed.
  void close_for(double seconds);
  void reopen();
  bool is_closed();
  /// Wait until it is open.
  void wait_until_open();

 private:
  using Clock = std::chrono::steady_clock;

  std::mutex mutex_;
  std::condition_variable opened_;
  std::optional<Clock::time_point> closed_until_;
};

}  // namespace shim::intercept
