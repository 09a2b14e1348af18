// SPDX-License-Identifier: BSD-3-Clause
// Types made of types: MPI-4.1 §5.1.2 to §5.1.7.
#pragma once

#include <cstdint>
#include <span>

#include "shim/base/result.hpp"
#include "shim/types/types.hpp"

namespace shim::types {

// Distances are bytes, as in the functions of the standard whose names have an h; whoever has elements multiplies by the extent.
// All are local and take old types in any state. Errors: arg (bounds or sizes that no address space has).

/// MPI_Type_contiguous.
base::Result<Type> contiguous(std::uint64_t count, const Type& old);
/// MPI_Type_create_hvector: `count` blocks of `length` items, their beginnings `stride` apart.
base::Result<Type> vector(std::uint64_t count, std::uint64_t length, std::int64_t stride, const Type& old);
/// MPI_Type_create_hindexed.
base::Result<Type> indexed(std::span<const Block> blocks, const Type& old);

struct Member {
  std::int64_t offset = 0;
  std::uint64_t count = 0;
  const Type* type = nullptr;
};
/// MPI_Type_create_struct.
base::Result<Type> structure(std::span<const Member> members);

/// MPI_Type_create_resized: the same data, other bounds.
base::Result<Type> resized(std::int64_t lower, std::int64_t extent, const Type& old);

/// One dimension of an array, and the part of it that is taken; items.
struct Range {
  std::uint64_t size = 0, part = 0, start = 0;
};
/// MPI_Type_create_subarray. The dimension whose neighbours are neighbours in memory comes first: in C's order it is the last.
base::Result<Type> subarray(std::span<const Range> dimensions, const Type& old);

/// How one dimension of an array is dealt out (MPI_DISTRIBUTE_…), and which share is taken.
struct Share {
  enum class Spread : std::uint8_t { none, block, cyclic };
  std::uint64_t size = 0;
  Spread spread = Spread::none;
  std::uint64_t block = 0;  ///< items that are dealt out at a time; 0: MPI_DISTRIBUTE_DFLT_DARG
  std::uint64_t processes = 1, coordinate = 0;
};
/// MPI_Type_create_darray. Dimensions as for subarray. Errors besides: arg (blocks that do not hold all of a dimension).
base::Result<Type> distributed_array(std::span<const Share> dimensions, const Type& old);

}  // namespace shim::types
