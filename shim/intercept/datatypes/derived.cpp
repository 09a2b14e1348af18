// SPDX-License-Identifier: BSD-3-Clause
// A derived type's life, and its stand-in below.
#include <atomic>
#include <limits>
#include <optional>
#include <string>

#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/datatypes/recipe.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/substrate.hpp"
#include "shim/types/derive.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

bool is_fortran(int combiner) {
  return combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

base::Result<MPI_Datatype> handle_below(const Ingredient& ingredient) {
  if (ingredient.derived) return ingredient.derived->twin();
  return ingredient.predefined;
}

/// A recipe's arguments as the int forms of the constructors take them; remembers whether any did not fit.
class NarrowReader {
 public:
  explicit NarrowReader(const Recipe& recipe) : read_(recipe) {}
  int integer() { return read_.integer(); }
  int count() { return narrow<int>(read_.count()); }
  MPI_Aint address() { return narrow<MPI_Aint>(read_.address()); }
  std::vector<int> counts(int number) { return read_many<int>(static_cast<std::size_t>(number), [this] { return count(); }); }
  std::vector<MPI_Aint> addresses(int number) { return read_many<MPI_Aint>(static_cast<std::size_t>(number), [this] { return address(); }); }
  std::vector<int> integers(int number) { return read_many<int>(static_cast<std::size_t>(number), [this] { return integer(); }); }
  bool fits() const { return fits_; }

 private:
  template <typename Number>
  Number narrow(MPI_Count value) {
    const bool fits = value >= std::numeric_limits<Number>::min() && value <= std::numeric_limits<Number>::max();
    fits_ = fits_ && fits;
    return fits ? static_cast<Number>(value) : Number{};
  }

  RecipeReader read_;
  bool fits_ = true;
};

Error refused(int code) {
  return Error(ErrorClass::other, "the MPI library below refuses a datatype (code " + std::to_string(code) + ")");
}
Error no_room() { return Error(ErrorClass::count, "the datatype has counts that the MPI library below has no room for"); }

/// The arguments of one constructor, and how the library below is called with them.
template <typename Call>
base::Result<MPI_Datatype> made_below(const NarrowReader& read, Call call) {
  if (!read.fits()) return no_room();
  MPI_Datatype made{};
  const int code = call(&made);
  if (code != MPI_SUCCESS) return refused(code);
  return made;
}

/// Types that are needed for the making of another only.
class Helpers {
 public:
  ~Helpers() {
    for (MPI_Datatype& helper : made_) active_table.Type_free(&helper);
  }
  base::Result<MPI_Datatype> contiguous(int count, MPI_Datatype old) {
    MPI_Datatype made{};
    if (int code = active_table.Type_contiguous(count, old, &made)) return refused(code);
    made_.push_back(made);
    return made;
  }

 private:
  std::vector<MPI_Datatype> made_;
};

/// More items than an int can say: so many large parts, and a rest behind them.
base::Result<MPI_Datatype> make_contiguous(MPI_Count count, const types::Type& type, MPI_Datatype old) {
  constexpr int kPart = 1 << 30;
  MPI_Datatype made{};
  if (count <= kPart) {
    if (int code = active_table.Type_contiguous(static_cast<int>(count), old, &made)) return refused(code);
    return made;
  }
  if (count / kPart > std::numeric_limits<int>::max()) return no_room();
  Helpers helpers;
  SHIM_TRY_ASSIGN(const MPI_Datatype part, helpers.contiguous(kPart, old));
  SHIM_TRY_ASSIGN(const MPI_Datatype parts, helpers.contiguous(static_cast<int>(count / kPart), part));
  SHIM_TRY_ASSIGN(const MPI_Datatype rest, helpers.contiguous(static_cast<int>(count % kPart), old));
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, count / kPart * kPart * type.extent};
  const MPI_Datatype both[] = {parts, rest};
  if (int code = active_table.Type_create_struct(2, lengths, places, both, &made)) return refused(code);
  return made;
}

base::Result<MPI_Datatype> make_vector(const Recipe& recipe, MPI_Datatype old) {
  NarrowReader read(recipe);
  const int count = read.count(), length = read.count();
  if (recipe.combiner == MPI_COMBINER_VECTOR) {
    const int stride = read.count();
    return made_below(read, [&](MPI_Datatype* made) { return active_table.Type_vector(count, length, stride, old, made); });
  }
  const MPI_Aint stride = read.address();
  return made_below(read, [&](MPI_Datatype* made) { return active_table.Type_create_hvector(count, length, stride, old, made); });
}

base::Result<MPI_Datatype> make_indexed(const Recipe& recipe, MPI_Datatype old) {
  NarrowReader read(recipe);
  const int count = read.count();
  const std::vector<int> lengths = read.counts(count);
  if (recipe.combiner == MPI_COMBINER_INDEXED) {
    const std::vector<int> places = read.counts(count);
    return made_below(read, [&](MPI_Datatype* made) { return active_table.Type_indexed(count, lengths.data(), places.data(), old, made); });
  }
  const std::vector<MPI_Aint> places = read.addresses(count);
  return made_below(
      read, [&](MPI_Datatype* made) { return active_table.Type_create_hindexed(count, lengths.data(), places.data(), old, made); });
}

base::Result<MPI_Datatype> make_indexed_block(const Recipe& recipe, MPI_Datatype old) {
  NarrowReader read(recipe);
  const int count = read.count(), length = read.count();
  if (recipe.combiner == MPI_COMBINER_INDEXED_BLOCK) {
    const std::vector<int> places = read.counts(count);
    return made_below(
        read, [&](MPI_Datatype* made) { return active_table.Type_create_indexed_block(count, length, places.data(), old, made); });
  }
  const std::vector<MPI_Aint> places = read.addresses(count);
  return made_below(
      read, [&](MPI_Datatype* made) { return active_table.Type_create_hindexed_block(count, length, places.data(), old, made); });
}

base::Result<MPI_Datatype> make_structure(const Recipe& recipe) {
  NarrowReader read(recipe);
  const int count = read.count();
  const std::vector<int> lengths = read.counts(count);
  const std::vector<MPI_Aint> places = read.addresses(count);
  std::vector<MPI_Datatype> olds;
  for (const Ingredient& ingredient : recipe.types) {
    SHIM_TRY_ASSIGN(MPI_Datatype old, handle_below(ingredient));
    olds.push_back(old);
  }
  return made_below(read, [&](MPI_Datatype* made) {
    return active_table.Type_create_struct(count, lengths.data(), places.data(), olds.data(), made);
  });
}

base::Result<MPI_Datatype> make_subarray(const Recipe& recipe, MPI_Datatype old) {
  NarrowReader read(recipe);
  const int dimensions = read.integer();
  const std::vector<int> sizes = read.counts(dimensions), parts = read.counts(dimensions), starts = read.counts(dimensions);
  const int order = read.integer();
  return made_below(read, [&](MPI_Datatype* made) {
    return active_table.Type_create_subarray(dimensions, sizes.data(), parts.data(), starts.data(), order, old, made);
  });
}

base::Result<MPI_Datatype> make_darray(const Recipe& recipe, MPI_Datatype old) {
  NarrowReader read(recipe);
  const int size = read.integer(), rank = read.integer(), dimensions = read.integer();
  const std::vector<int> sizes = read.counts(dimensions), distributions = read.integers(dimensions),
                         arguments = read.integers(dimensions), grid = read.integers(dimensions);
  const int order = read.integer();
  return made_below(read, [&](MPI_Datatype* made) {
    return active_table.Type_create_darray(size, rank, dimensions, sizes.data(), distributions.data(), arguments.data(), grid.data(),
                                           order, old, made);
  });
}

base::Result<MPI_Datatype> make_fortran(const Recipe& recipe) {
  const std::vector<int>& integers = recipe.integers;
  return made_below(NarrowReader(recipe), [&](MPI_Datatype* made) {
    switch (recipe.combiner) {
      case MPI_COMBINER_F90_REAL: return active_table.Type_create_f90_real(integers[0], integers[1], made);
      case MPI_COMBINER_F90_COMPLEX: return active_table.Type_create_f90_complex(integers[0], integers[1], made);
      default: return active_table.Type_create_f90_integer(integers[0], made);
    }
  });
}

base::Result<MPI_Datatype> make_below(const Recipe& recipe) {
  if (is_fortran(recipe.combiner)) return make_fortran(recipe);
  if (recipe.combiner == MPI_COMBINER_STRUCT) return make_structure(recipe);
  SHIM_TRY_ASSIGN(const MPI_Datatype old, handle_below(recipe.types.front()));
  switch (recipe.combiner) {
    case MPI_COMBINER_VECTOR: case MPI_COMBINER_HVECTOR: return make_vector(recipe, old);
    case MPI_COMBINER_INDEXED: case MPI_COMBINER_HINDEXED: return make_indexed(recipe, old);
    case MPI_COMBINER_INDEXED_BLOCK: case MPI_COMBINER_HINDEXED_BLOCK: return make_indexed_block(recipe, old);
    case MPI_COMBINER_SUBARRAY: return make_subarray(recipe, old);
    case MPI_COMBINER_DARRAY: return make_darray(recipe, old);
    case MPI_COMBINER_CONTIGUOUS: return make_contiguous(RecipeReader(recipe).count(), *recipe.types.front().type, old);
    case MPI_COMBINER_RESIZED: {
      NarrowReader read(recipe);
      const MPI_Aint lower = read.address(), extent = read.address();
      return made_below(read, [&](MPI_Datatype* made) { return active_table.Type_create_resized(old, lower, extent, made); });
    }
    default: return made_below(NarrowReader(recipe), [&](MPI_Datatype* made) { return active_table.Type_dup(old, made); });
  }
}

/// The type that was made below, with other bounds where it has not those that it has here.
base::Result<MPI_Datatype> with_bounds(MPI_Datatype made, const types::Type& type) {
  MPI_Aint lower = 0, extent = 0;
  active_table.Type_get_extent(made, &lower, &extent);
  if (lower == type.lower && extent == type.extent) return made;
  MPI_Datatype bounded{};
  const int code = active_table.Type_create_resized(made, type.lower, type.extent, &bounded);
  active_table.Type_free(&made);
  if (code != MPI_SUCCESS) return refused(code);
  return bounded;
}

}  // namespace

/// One for all threads, freed with the type; a parametrised Fortran type belongs to the library below.
struct Derived::TwinPlace {
  std::atomic<MPI_Datatype> handle{};
};

Derived::Derived(types::TypePtr made, Recipe from) : type(std::move(made)), recipe(std::move(from)), twin_(std::make_unique<TwinPlace>()) {}

Derived::~Derived() {
  MPI_Datatype made = twin_->handle.load(std::memory_order_acquire);  // pairs with the exchange in twin()
  if (!abi::is_unset(made) && !is_fortran(recipe.combiner) && is_active() && may_call_substrate()) active_table.Type_free(&made);
}

base::Result<MPI_Datatype> Derived::twin() const {
  if (MPI_Datatype made = twin_->handle.load(std::memory_order_acquire); !abi::is_unset(made)) return made;
  SHIM_TRY_ASSIGN(MPI_Datatype made, make_below(recipe));
  if (!is_fortran(recipe.combiner)) {
    SHIM_TRY_ASSIGN(made, with_bounds(made, *type));
    active_table.Type_commit(&made);
  }
  MPI_Datatype other{};
  if (twin_->handle.compare_exchange_strong(other, made)) return made;  // pairs with the loads above
  if (!is_fortran(recipe.combiner)) active_table.Type_free(&made);      // another thread was faster
  return other;
}

base::Result<DerivedPtr> derive(Recipe recipe, std::optional<Bounds> bounds) {
  if (is_fortran(recipe.combiner)) {
    SHIM_TRY_ASSIGN(const types::Type* type, fortran_type(recipe.combiner, recipe.integers));
    return std::make_shared<const Derived>(types::TypePtr(types::TypePtr(), type), std::move(recipe));
  }
  SHIM_TRY_ASSIGN(types::Type type, build(recipe));
  if (bounds && *bounds != Bounds{type.lower, type.extent}) {
    SHIM_TRY_ASSIGN(type, types::resized(bounds->lower, bounds->extent, type));
  }
  return std::make_shared<const Derived>(types::share(std::move(type)), std::move(recipe));
}

}  // namespace shim::intercept
