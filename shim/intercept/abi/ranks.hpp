// SPDX-License-Identifier: BSD-3-Clause
// Converts MPI_ANY_SOURCE and MPI_PROC_NULL between the substrate's and p2p's numbers. All other
// ranks, and MPI_ANY_TAG, have equal numbers in both.
#pragma once

#include <mpi.h>

#include "shim/p2p/p2p.hpp"

namespace shim::intercept::abi {

static_assert(p2p::kAnyTag == MPI_ANY_TAG);
inline constexpr bool kSameWildcards = p2p::kAnySource == MPI_ANY_SOURCE &&
                                       p2p::kProcNull == MPI_PROC_NULL;

constexpr int to_p2p_rank(int rank) noexcept {
  if (kSameWildcards || rank >= 0) return rank;
  return rank == MPI_ANY_SOURCE ? p2p::kAnySource : rank == MPI_PROC_NULL ? p2p::kProcNull : rank;
}

constexpr int to_mpi_rank(int rank) noexcept {
  if (kSameWildcards || rank >= 0) return rank;
  return rank == p2p::kAnySource ? MPI_ANY_SOURCE : rank == p2p::kProcNull ? MPI_PROC_NULL : rank;
}

}  // namespace shim::intercept::abi
