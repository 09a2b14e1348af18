// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/lending.hpp"

#include <sched.h>

#include "shim/intercept/generated/bodies.hpp"

namespace shim::intercept {
namespace {

/// Turns before the processor is given to others; the substrate itself polls without end.
constexpr unsigned kEagerTurns = 200;

}  // namespace

void Lending::turn() {
  lend_to_ours();
  if (++turns_ > kEagerTurns) sched_yield();
}

int wait_lending(MPI_Request begun, MPI_Status* status) {
  if (abi::is_ours(begun)) return ours::Wait(&begun, status);  // composed: waiting for it moves both sides
  for (Lending lending;; lending.turn()) {
    int done = 0;
    const int code = active_table.Test(&begun, &done, status);
    if (code != MPI_SUCCESS || done != 0) return code;
  }
}

}  // namespace shim::intercept
