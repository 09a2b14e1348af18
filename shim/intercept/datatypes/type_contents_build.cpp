// SPDX-License-Identifier: BSD-3-Clause
// Builds a type from its constructor's arguments, MPI-4.1 §5.1.2 to §5.1.7. All checks of these
// arguments are here.
#include <algorithm>
#include <string>

#include "shim/intercept/datatypes/type_contents.hpp"
#include "shim/types/type_constructors.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using types::Type;

base::Status check_not_negative(MPI_Count value, const char* what,
                                ErrorClass error_class = ErrorClass::arg) {
  if (value >= 0) return {};
  return Error(error_class,
               std::string("the ") + what + " " + std::to_string(value) + " is negative");
}

base::Status check_lengths(const std::vector<MPI_Count>& lengths) {
  for (MPI_Count length : lengths) SHIM_TRY(check_not_negative(length, "block length"));
  return {};
}

base::Result<std::int64_t> scaled(MPI_Count items, const Type& type) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(items, type.extent, &bytes))
    return Error(ErrorClass::arg, "a displacement or stride of " + std::to_string(items) +
                                      " items exceeds the address range");
  return bytes;
}

std::uint64_t number(MPI_Count count) { return static_cast<std::uint64_t>(count); }

/// Input of the functions below: the arguments, read in order, and the old type.
struct Arguments {
  const TypeContents& contents;
  ContentsReader read{contents};
  const Type& old() const { return *contents.old_types.front().type; }

  /// Read the first argument of most constructors.
  base::Result<MPI_Count> count() {
    const MPI_Count count = read.count();
    SHIM_TRY(check_not_negative(count, "count", ErrorClass::count));
    return count;
  }
};

base::Result<Type> contiguous(Arguments& args) {
  SHIM_TRY_ASSIGN(const MPI_Count count, args.count());
  return types::contiguous(number(count), args.old());
}

base::Result<Type> vector_with(MPI_Count count, MPI_Count length, std::int64_t stride,
                               const Type& old) {
  SHIM_TRY(check_not_negative(length, "block length"));
  return types::vector(number(count), number(length), stride, old);
}

base::Result<Type> vector(Arguments& args) {
  SHIM_TRY_ASSIGN(const MPI_Count count, args.count());
  const MPI_Count length = args.read.count();
  SHIM_TRY_ASSIGN(const std::int64_t stride, scaled(args.read.count(), args.old()));
  return vector_with(count, length, stride, args.old());
}

base::Result<Type> hvector(Arguments& args) {
  SHIM_TRY_ASSIGN(const MPI_Count count, args.count());
  const MPI_Count length = args.read.count();
  return vector_with(count, length, args.read.address(), args.old());
}

enum class Unit : std::uint8_t { items, bytes };

/// Displacements of the h-forms are in bytes, all others in items.
base::Result<Type> blocks_with(Arguments& args, Unit unit, const std::vector<MPI_Count>& lengths) {
  SHIM_TRY(check_lengths(lengths));
  std::vector<types::ItemBlock> blocks(lengths.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].count = number(lengths[i]);
    SHIM_TRY_ASSIGN(blocks[i].offset, unit == Unit::bytes
                                          ? base::Result<std::int64_t>(args.read.address())
                                          : scaled(args.read.count(), args.old()));
  }
  return types::indexed(blocks, args.old());
}

base::Result<Type> indexed(Arguments& args, Unit unit) {
  SHIM_TRY_ASSIGN(const MPI_Count count, args.count());
  return blocks_with(args, unit, args.read.counts(number(count)));
}

base::Result<Type> indexed_block(Arguments& args, Unit unit) {
  SHIM_TRY_ASSIGN(const MPI_Count count, args.count());
  const MPI_Count length = args.read.count();
  return blocks_with(args, unit, std::vector<MPI_Count>(number(count), length));
}

base::Result<Type> structure(Arguments& args) {
  SHIM_TRY_ASSIGN(const MPI_Count count, args.count());
  const std::vector<MPI_Count> lengths = args.read.counts(number(count)),
                               offsets = args.read.addresses(number(count));
  SHIM_TRY(check_lengths(lengths));
  std::vector<types::Member> members(lengths.size());
  for (std::size_t i = 0; i < members.size(); ++i)
    members[i] = {offsets[i], number(lengths[i]), args.contents.old_types[i].type};
  return types::structure(members);
}

base::Result<Type> resized(Arguments& args) {
  const std::int64_t lower = args.read.address();
  return types::resized(lower, args.read.address(), args.old());
}

/// Check the order, and sort dimensions as types::subarray requires: the dimension that is
/// contiguous in memory first.
template <typename Dimension>
base::Status order_dimensions(int order, std::vector<Dimension>& dimensions) {
  if (order == MPI_ORDER_C)
    std::ranges::reverse(dimensions);
  else if (order != MPI_ORDER_FORTRAN)
    return Error(ErrorClass::arg, "the order " + std::to_string(order) +
                                      " is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN");
  return {};
}

base::Status check_dimensions(int number) {
  if (number > 0) return {};
  return Error(ErrorClass::arg,
               "the number of dimensions " + std::to_string(number) + " is not positive");
}

base::Status check_range(MPI_Count size, MPI_Count part, MPI_Count start) {
  if (size >= 1 && part >= 1 && part <= size && start >= 0 && start <= size - part) return {};
  return Error(ErrorClass::arg, "a subarray of size " + std::to_string(part) + " at start " +
                                    std::to_string(start) + " does not fit a dimension of size " +
                                    std::to_string(size));
}

base::Result<Type> subarray(Arguments& args) {
  const int dimensions = args.read.integer();
  SHIM_TRY(check_dimensions(dimensions));
  const auto n = static_cast<std::size_t>(dimensions);
  const auto sizes = args.read.counts(n), parts = args.read.counts(n), starts = args.read.counts(n);
  std::vector<types::SubarrayDimension> ranges(n);
  for (std::size_t i = 0; i < n; ++i) {
    SHIM_TRY(check_range(sizes[i], parts[i], starts[i]));
    ranges[i] = {number(sizes[i]), number(parts[i]), number(starts[i])};
  }
  SHIM_TRY(order_dimensions(args.read.integer(), ranges));
  return types::subarray(ranges, args.old());
}

base::Result<types::DistributedDimension> share_of(MPI_Count size, int distribution, int argument,
                                                   int processes, int coordinate) {
  if (size < 1)
    return Error(ErrorClass::arg,
                 "the array has a dimension of invalid size " + std::to_string(size));
  if (argument != MPI_DISTRIBUTE_DFLT_DARG && argument < 1)
    return Error(ErrorClass::arg, "the distribution argument " + std::to_string(argument) +
                                      " is neither positive nor MPI_DISTRIBUTE_DFLT_DARG");
  types::DistributedDimension share{
      .size = number(size),
      .block = argument == MPI_DISTRIBUTE_DFLT_DARG ? 0u : static_cast<std::uint64_t>(argument),
      .processes = static_cast<std::uint64_t>(processes),
      .coordinate = static_cast<std::uint64_t>(coordinate)};
  switch (distribution) {
    case MPI_DISTRIBUTE_BLOCK:
      share.distribution = types::DistributedDimension::Distribution::block;
      return share;
    case MPI_DISTRIBUTE_CYCLIC:
      share.distribution = types::DistributedDimension::Distribution::cyclic;
      return share;
    case MPI_DISTRIBUTE_NONE:
      if (processes == 1) return share;
      return Error(ErrorClass::arg, "MPI_DISTRIBUTE_NONE needs 1 process in its dimension, not " +
                                        std::to_string(processes));
    default:
      return Error(ErrorClass::arg,
                   "the distribution " + std::to_string(distribution) + " is invalid");
  }
}

/// Return the coordinates of a process. The last dimension of the process grid varies fastest,
/// whatever the order of the array (MPI-4.1 §5.1.4).
base::Result<std::vector<int>> coordinates_of(int rank, int size, const std::vector<int>& grid) {
  std::vector<int> coordinates(grid.size());
  std::int64_t processes = 1;
  for (std::size_t i = grid.size(); i-- > 0;) {
    if (grid[i] < 1)
      return Error(ErrorClass::arg,
                   "the process grid has a dimension of invalid size " + std::to_string(grid[i]));
    coordinates[i] = static_cast<int>(rank / processes % grid[i]);
    processes *= grid[i];
    if (processes > size) break;
  }
  if (processes != size)
    return Error(ErrorClass::arg,
                 "the process grid does not have " + std::to_string(size) + " processes");
  return coordinates;
}

base::Result<Type> darray(Arguments& args) {
  const int size = args.read.integer(), rank = args.read.integer(),
            dimensions = args.read.integer();
  if (size < 1)
    return Error(ErrorClass::arg,
                 "the number of processes " + std::to_string(size) + " is not positive");
  if (rank < 0 || rank >= size)
    return Error(ErrorClass::arg,
                 "the rank " + std::to_string(rank) + " is not in 0…" + std::to_string(size - 1));
  SHIM_TRY(check_dimensions(dimensions));
  const auto n = static_cast<std::size_t>(dimensions);
  const auto sizes = args.read.counts(n);
  const auto distributions = args.read.integers(n), arguments = args.read.integers(n),
             grid = args.read.integers(n);
  SHIM_TRY_ASSIGN(const std::vector<int> coordinates, coordinates_of(rank, size, grid));
  std::vector<types::DistributedDimension> shares(n);
  for (std::size_t i = 0; i < n; ++i) {
    SHIM_TRY_ASSIGN(shares[i],
                    share_of(sizes[i], distributions[i], arguments[i], grid[i], coordinates[i]));
  }
  SHIM_TRY(order_dimensions(args.read.integer(), shares));
  return types::distributed_array(shares, args.old());
}

base::Result<Type> dup(Arguments& args) {
  if (args.old().is_predefined()) return types::contiguous(1, args.old());
  Type type = args.old();
  type.self.reset();
  return type;
}

}  // namespace

base::Result<Type> build(const TypeContents& contents) {
  Arguments args{contents};
  switch (contents.combiner) {
    case MPI_COMBINER_DUP:
      return dup(args);
    case MPI_COMBINER_CONTIGUOUS:
      return contiguous(args);
    case MPI_COMBINER_VECTOR:
      return vector(args);
    case MPI_COMBINER_HVECTOR:
      return hvector(args);
    case MPI_COMBINER_INDEXED:
      return indexed(args, Unit::items);
    case MPI_COMBINER_HINDEXED:
      return indexed(args, Unit::bytes);
    case MPI_COMBINER_INDEXED_BLOCK:
      return indexed_block(args, Unit::items);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return indexed_block(args, Unit::bytes);
    case MPI_COMBINER_STRUCT:
      return structure(args);
    case MPI_COMBINER_SUBARRAY:
      return subarray(args);
    case MPI_COMBINER_DARRAY:
      return darray(args);
    case MPI_COMBINER_RESIZED:
      return resized(args);
    default:
      return Error(ErrorClass::type,
                   "the combiner " + std::to_string(contents.combiner) + " is unknown");
  }
}

}  // namespace shim::intercept
