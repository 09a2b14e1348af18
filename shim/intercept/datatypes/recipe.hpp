// SPDX-License-Identifier: BSD-3-Clause
// How a derived datatype was made: what MPI_Type_get_contents answers, and what the type is made from again, here or below.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "shim/base/result.hpp"
#include "shim/types/types.hpp"

namespace shim::intercept {

struct Derived;
using DerivedPtr = std::shared_ptr<const Derived>;

/// A datatype that another is made of.
struct Ingredient {
  const types::Type* type = nullptr;
  MPI_Datatype predefined{};  ///< the handle that the user gave, where it is a predefined type's
  DerivedPtr derived;         ///< else
};

/// The arguments of a constructor in the order of MPI-4.1 §5.1.13, but for the old types in arrays by kind. Those of the large
/// forms have `counts` where those of the others have integers and addresses.
struct Recipe {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> counts;
  std::vector<Ingredient> types;

  bool is_large() const { return !counts.empty(); }
};

/// So many values of what `next` gives.
template <typename Number, typename Next>
std::vector<Number> read_many(std::size_t number, Next next) {
  std::vector<Number> read(number);
  for (Number& value : read) value = next();
  return read;
}

/// Reads a recipe argument by argument, in the order of the constructor's parameters.
class RecipeReader {
 public:
  explicit RecipeReader(const Recipe& recipe) : recipe_(recipe) {}

  /// Parameters that have the same type in both forms.
  int integer() { return recipe_.integers[integer_++]; }
  /// Those that are int in one form and MPI_Count in the other.
  MPI_Count count() { return recipe_.is_large() ? recipe_.counts[count_++] : recipe_.integers[integer_++]; }
  /// Those that are MPI_Aint in one form and MPI_Count in the other.
  MPI_Count address() { return recipe_.is_large() ? recipe_.counts[count_++] : recipe_.addresses[address_++]; }

  std::vector<int> integers(std::size_t number) { return read_many<int>(number, [this] { return integer(); }); }
  std::vector<MPI_Count> counts(std::size_t number) { return read_many<MPI_Count>(number, [this] { return count(); }); }
  std::vector<MPI_Count> addresses(std::size_t number) { return read_many<MPI_Count>(number, [this] { return address(); }); }

 private:
  const Recipe& recipe_;
  std::size_t integer_ = 0, address_ = 0, count_ = 0;
};

/// The type that a recipe with old types describes. Local. Errors: count (negative count), arg (negative block length; dimensions, orders and
/// distributions that make no sense; sizes beyond 64 bits; says which).
base::Result<types::Type> build(const Recipe& recipe);

/// A derived type, whoever made it.
struct Derived {
  Derived(types::TypePtr made, Recipe from);
  ~Derived();
  Derived(const Derived&) = delete;
  Derived& operator=(const Derived&) = delete;

  types::TypePtr type;
  Recipe recipe;

  /// Its stand-in in the library below, made and committed at the first need. Errors: type, count (has numbers that the library
  /// below has no room for), and what it refuses. Only while the library below is active.
  base::Result<MPI_Datatype> twin() const;

  /// For a type that the library below derived: its handle is not valid any more.
  // relaxed: a thread that uses a handle has synchronised with the thread that frees it
  void note_handle_gone() const { is_handle_gone_.store(true, std::memory_order_relaxed); }
  bool is_handle_gone() const { return is_handle_gone_.load(std::memory_order_relaxed); }

 private:
  mutable std::atomic<bool> is_handle_gone_{false};
  struct TwinPlace;
  std::unique_ptr<TwinPlace> twin_;
};

/// Bounds of a type, bytes. Two libraries need not agree on them: what an extent is rounded up by is the implementation's choice
/// (MPI-4.1 §5.1.6). A type that is known to both has those of the one that made it.
struct Bounds {
  std::int64_t lower = 0, extent = 0;
  bool operator==(const Bounds&) const = default;
};

/// Builds the type, or finds the predefined one that a parametrised Fortran type is, and keeps its recipe. Errors: as build and
/// fortran_type.
/// @param bounds those that it has where it comes from; nothing: as built.
base::Result<DerivedPtr> derive(Recipe recipe, std::optional<Bounds> bounds = std::nullopt);

/// The predefined type that a parametrised Fortran type is (MPI-4.1 §19.1.9): the smallest kind of gfortran's with at least the
/// decimal precision and exponent range that the integers of the recipe give. Errors: arg (there is none).
base::Result<const types::Type*> fortran_type(int combiner, const std::vector<int>& integers);

/// A type that the substrate derived: read through its envelope and contents once, and kept with its handle, as an attribute, until
/// the program frees it. Only while the substrate is active. Errors: type (the substrate does not know it), other.
base::Result<DerivedPtr> native_recipe(MPI_Datatype datatype);
/// The type alone, quickly for the one that this thread asked for last. Errors: as above.
base::Result<const types::Type*> native_type(MPI_Datatype datatype);

}  // namespace shim::intercept
