// SPDX-License-Identifier: BSD-3-Clause
// Constructors of derived datatypes: MPI-4.1 §5.1.2 to §5.1.7.
#pragma once

#include <cstdint>
#include <span>

#include "shim/base/result.hpp"
#include "shim/types/types.hpp"

namespace shim::types {

// Displacements and strides are bytes, as in MPI_Type_create_hvector; callers multiply those that
// MPI counts in items by the extent. All functions are local; `old` need not be committed.
// Errors: arg (bounds or a size that exceed 64 bits).

/// Implement MPI_Type_contiguous.
base::Result<Type> contiguous(std::uint64_t count, const Type& old);
/// Implement MPI_Type_create_hvector: `count` blocks of `length` items; blocks begin `stride`
/// apart.
base::Result<Type> vector(std::uint64_t count, std::uint64_t length, std::int64_t stride,
                          const Type& old);
/// Implement MPI_Type_create_hindexed.
base::Result<Type> indexed(std::span<const ItemBlock> blocks, const Type& old);

/// One block of a structure: `count` items of a type.
struct Member {
  std::int64_t offset = 0;
  std::uint64_t count = 0;
  const Type* type = nullptr;
};
/// Implement MPI_Type_create_struct.
base::Result<Type> structure(std::span<const Member> members);

/// Implement MPI_Type_create_resized: the data of `old`, with other bounds.
base::Result<Type> resized(std::int64_t lower, std::int64_t extent, const Type& old);

/// One dimension of an array: its size, and the subsize (`part`) and start of the subarray, in
/// items.
struct SubarrayDimension {
  std::uint64_t size = 0, part = 0, start = 0;
};
/// Implement MPI_Type_create_subarray. The fastest-varying dimension comes first: the last one in C
/// order.
base::Result<Type> subarray(std::span<const SubarrayDimension> dimensions, const Type& old);

/// Distribution of one dimension of an array (MPI_DISTRIBUTE_…) over one dimension of the process
/// grid, and the coordinate there of the process whose items are selected.
struct DistributedDimension {
  enum class Distribution : std::uint8_t { none, block, cyclic };
  std::uint64_t size = 0;
  Distribution distribution = Distribution::none;
  std::uint64_t block = 0;  ///< the distribution argument; 0: MPI_DISTRIBUTE_DFLT_DARG
  std::uint64_t processes = 1, coordinate = 0;  ///< the caller checks: coordinate < processes
};
/// Implement MPI_Type_create_darray. Dimensions are in the order that subarray() requires. Further
/// errors: arg (blocks that do not cover a dimension).
base::Result<Type> distributed_array(std::span<const DistributedDimension> dimensions,
                                     const Type& old);

}  // namespace shim::types
