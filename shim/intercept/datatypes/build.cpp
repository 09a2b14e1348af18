// SPDX-License-Identifier: BSD-3-Clause
// From a constructor's arguments to the type, MPI-4.1 §5.1.2 to §5.1.7; all checks of these arguments are here.
#include <algorithm>
#include <string>

#include "shim/intercept/datatypes/recipe.hpp"
#include "shim/types/derive.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using types::Type;

base::Status check_not_negative(MPI_Count value, const char* what, ErrorClass error_class = ErrorClass::arg) {
  if (value >= 0) return {};
  return Error(error_class, std::string("the ") + what + " " + std::to_string(value) + " is negative");
}

base::Status check_lengths(const std::vector<MPI_Count>& lengths) {
  for (MPI_Count length : lengths) SHIM_TRY(check_not_negative(length, "block length"));
  return {};
}

base::Result<std::int64_t> scaled(MPI_Count items, const Type& type) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(items, type.extent, &bytes))
    return Error(ErrorClass::arg, "a displacement or stride of " + std::to_string(items) + " items is beyond what an address can be");
  return bytes;
}

std::uint64_t number(MPI_Count count) { return static_cast<std::uint64_t>(count); }

/// What the functions below have: the arguments, read in order, and the type they are applied to.
struct Making {
  const Recipe& recipe;
  RecipeReader read{recipe};
  const Type& old() const { return *recipe.types.front().type; }

  /// The first argument of most constructors.
  base::Result<MPI_Count> count() {
    const MPI_Count count = read.count();
    SHIM_TRY(check_not_negative(count, "count", ErrorClass::count));
    return count;
  }
};

base::Result<Type> contiguous(Making& making) {
  SHIM_TRY_ASSIGN(const MPI_Count count, making.count());
  return types::contiguous(number(count), making.old());
}

base::Result<Type> vector_with(MPI_Count count, MPI_Count length, std::int64_t stride, const Type& old) {
  SHIM_TRY(check_not_negative(length, "block length"));
  return types::vector(number(count), number(length), stride, old);
}

base::Result<Type> vector(Making& making) {
  SHIM_TRY_ASSIGN(const MPI_Count count, making.count());
  const MPI_Count length = making.read.count();
  SHIM_TRY_ASSIGN(const std::int64_t stride, scaled(making.read.count(), making.old()));
  return vector_with(count, length, stride, making.old());
}

base::Result<Type> hvector(Making& making) {
  SHIM_TRY_ASSIGN(const MPI_Count count, making.count());
  const MPI_Count length = making.read.count();
  return vector_with(count, length, making.read.address(), making.old());
}

enum class Unit : std::uint8_t { items, bytes };

/// Displacements of the h-forms are in bytes, the others' in items.
base::Result<Type> blocks_with(Making& making, Unit unit, const std::vector<MPI_Count>& lengths) {
  SHIM_TRY(check_lengths(lengths));
  std::vector<types::Block> blocks(lengths.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].count = number(lengths[i]);
    SHIM_TRY_ASSIGN(blocks[i].offset, unit == Unit::bytes ? base::Result<std::int64_t>(making.read.address())
                                                          : scaled(making.read.count(), making.old()));
  }
  return types::indexed(blocks, making.old());
}

base::Result<Type> indexed(Making& making, Unit unit) {
  SHIM_TRY_ASSIGN(const MPI_Count count, making.count());
  return blocks_with(making, unit, making.read.counts(number(count)));
}

base::Result<Type> indexed_block(Making& making, Unit unit) {
  SHIM_TRY_ASSIGN(const MPI_Count count, making.count());
  const MPI_Count length = making.read.count();
  return blocks_with(making, unit, std::vector<MPI_Count>(number(count), length));
}

base::Result<Type> structure(Making& making) {
  SHIM_TRY_ASSIGN(const MPI_Count count, making.count());
  const std::vector<MPI_Count> lengths = making.read.counts(number(count)), offsets = making.read.addresses(number(count));
  SHIM_TRY(check_lengths(lengths));
  std::vector<types::Member> members(lengths.size());
  for (std::size_t i = 0; i < members.size(); ++i) members[i] = {offsets[i], number(lengths[i]), making.recipe.types[i].type};
  return types::structure(members);
}

base::Result<Type> resized(Making& making) {
  const std::int64_t lower = making.read.address();
  return types::resized(lower, making.read.address(), making.old());
}

/// Checks the order, and brings dimensions into the order of types::subarray: the one whose neighbours are neighbours in memory first.
template <typename Dimension>
base::Status order_dimensions(int order, std::vector<Dimension>& dimensions) {
  if (order == MPI_ORDER_C) std::ranges::reverse(dimensions);
  else if (order != MPI_ORDER_FORTRAN)
    return Error(ErrorClass::arg, "the order " + std::to_string(order) + " is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN");
  return {};
}

base::Status check_dimensions(int number) {
  if (number > 0) return {};
  return Error(ErrorClass::arg, "the number of dimensions " + std::to_string(number) + " is not positive");
}

base::Status check_range(MPI_Count size, MPI_Count part, MPI_Count start) {
  if (size >= 1 && part >= 1 && part <= size && start >= 0 && start <= size - part) return {};
  return Error(ErrorClass::arg, "no part of " + std::to_string(part) + " begins at " + std::to_string(start) + " of a dimension of " +
                                    std::to_string(size));
}

base::Result<Type> subarray(Making& making) {
  const int dimensions = making.read.integer();
  SHIM_TRY(check_dimensions(dimensions));
  const auto n = static_cast<std::size_t>(dimensions);
  const auto sizes = making.read.counts(n), parts = making.read.counts(n), starts = making.read.counts(n);
  std::vector<types::Range> ranges(n);
  for (std::size_t i = 0; i < n; ++i) {
    SHIM_TRY(check_range(sizes[i], parts[i], starts[i]));
    ranges[i] = {number(sizes[i]), number(parts[i]), number(starts[i])};
  }
  SHIM_TRY(order_dimensions(making.read.integer(), ranges));
  return types::subarray(ranges, making.old());
}

base::Result<types::Share> share_of(MPI_Count size, int distribution, int argument, int processes, int coordinate) {
  if (size < 1) return Error(ErrorClass::arg, "a dimension of the array has the size " + std::to_string(size));
  if (argument != MPI_DISTRIBUTE_DFLT_DARG && argument < 1)
    return Error(ErrorClass::arg, "the distribution argument " + std::to_string(argument) + " is neither positive nor MPI_DISTRIBUTE_DFLT_DARG");
  types::Share share{.size = number(size), .block = argument == MPI_DISTRIBUTE_DFLT_DARG ? 0u : static_cast<std::uint64_t>(argument),
                     .processes = static_cast<std::uint64_t>(processes), .coordinate = static_cast<std::uint64_t>(coordinate)};
  switch (distribution) {
    case MPI_DISTRIBUTE_BLOCK: share.spread = types::Share::Spread::block; return share;
    case MPI_DISTRIBUTE_CYCLIC: share.spread = types::Share::Spread::cyclic; return share;
    case MPI_DISTRIBUTE_NONE:
      if (processes == 1) return share;
      return Error(ErrorClass::arg, "MPI_DISTRIBUTE_NONE needs 1 process in its dimension, not " + std::to_string(processes));
    default: return Error(ErrorClass::arg, "the distribution " + std::to_string(distribution) + " is none of the standard's");
  }
}

/// The processes form a grid whose last dimension changes fastest, whatever the order of the array (MPI-4.1 §5.1.4).
base::Result<std::vector<int>> coordinates_of(int rank, int size, const std::vector<int>& grid) {
  std::vector<int> coordinates(grid.size());
  std::int64_t processes = 1;
  for (std::size_t i = grid.size(); i-- > 0;) {
    if (grid[i] < 1) return Error(ErrorClass::arg, "a dimension of the process grid has the size " + std::to_string(grid[i]));
    coordinates[i] = static_cast<int>(rank / processes % grid[i]);
    processes *= grid[i];
    if (processes > size) break;
  }
  if (processes != size)
    return Error(ErrorClass::arg, "the process grid does not have the " + std::to_string(size) + " processes that are said");
  return coordinates;
}

base::Result<Type> darray(Making& making) {
  const int size = making.read.integer(), rank = making.read.integer(), dimensions = making.read.integer();
  if (size < 1) return Error(ErrorClass::arg, "the number of processes " + std::to_string(size) + " is not positive");
  if (rank < 0 || rank >= size) return Error(ErrorClass::arg, "the rank " + std::to_string(rank) + " is not in 0…" + std::to_string(size - 1));
  SHIM_TRY(check_dimensions(dimensions));
  const auto n = static_cast<std::size_t>(dimensions);
  const auto sizes = making.read.counts(n);
  const auto distributions = making.read.integers(n), arguments = making.read.integers(n), grid = making.read.integers(n);
  SHIM_TRY_ASSIGN(const std::vector<int> coordinates, coordinates_of(rank, size, grid));
  std::vector<types::Share> shares(n);
  for (std::size_t i = 0; i < n; ++i) {
    SHIM_TRY_ASSIGN(shares[i], share_of(sizes[i], distributions[i], arguments[i], grid[i], coordinates[i]));
  }
  SHIM_TRY(order_dimensions(making.read.integer(), shares));
  return types::distributed_array(shares, making.old());
}

base::Result<Type> dup(Making& making) {
  Type type = making.old();
  if (type.is_predefined()) return types::contiguous(1, type);
  type.self.reset();
  return type;
}

}  // namespace

base::Result<Type> build(const Recipe& recipe) {
  Making making{recipe};
  switch (recipe.combiner) {
    case MPI_COMBINER_DUP: return dup(making);
    case MPI_COMBINER_CONTIGUOUS: return contiguous(making);
    case MPI_COMBINER_VECTOR: return vector(making);
    case MPI_COMBINER_HVECTOR: return hvector(making);
    case MPI_COMBINER_INDEXED: return indexed(making, Unit::items);
    case MPI_COMBINER_HINDEXED: return indexed(making, Unit::bytes);
    case MPI_COMBINER_INDEXED_BLOCK: return indexed_block(making, Unit::items);
    case MPI_COMBINER_HINDEXED_BLOCK: return indexed_block(making, Unit::bytes);
    case MPI_COMBINER_STRUCT: return structure(making);
    case MPI_COMBINER_SUBARRAY: return subarray(making);
    case MPI_COMBINER_DARRAY: return darray(making);
    case MPI_COMBINER_RESIZED: return resized(making);
    default: return Error(ErrorClass::type, "the combiner " + std::to_string(recipe.combiner) + " is not known");
  }
}

}  // namespace shim::intercept
