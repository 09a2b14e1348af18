// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/request/polling.hpp"

#include <sched.h>

#include "shim/intercept/generated/impl.hpp"

namespace shim::intercept {
namespace {

/// Rounds before the thread yields; the substrate itself polls without limit.
constexpr unsigned kEagerRounds = 200;

}  // namespace

void PollingLoop::progress() {
  progress_sessions();
  if (++rounds_ > kEagerRounds) sched_yield();
}

int wait_by_polling(MPI_Request begun, MPI_Status* status) {
  if (abi::is_ours(begun))
    return impl::Wait(&begun, status);  // composed: its wait progresses both libraries
  for (PollingLoop loop;; loop.progress()) {
    int done = 0;
    const int code = active_table.Test(&begun, &done, status);
    if (code != MPI_SUCCESS || done != 0) return code;
  }
}

}  // namespace shim::intercept
