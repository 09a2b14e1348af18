// SPDX-License-Identifier: BSD-3-Clause
// Implements the lifetime of derived types and of their native handles.
#include <atomic>
#include <limits>
#include <optional>
#include <string>

#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/datatypes/type_contents.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/types/type_constructors.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

bool is_fortran(int combiner) {
  return combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

base::Result<MPI_Datatype> native_handle_of(const OldType& old_type) {
  if (old_type.derived) return old_type.derived->native_handle();
  return old_type.predefined;
}

/// Reads a TypeContents as the int forms of the constructors require, and records if a number did
/// not fit.
class NarrowReader {
 public:
  explicit NarrowReader(const TypeContents& contents) : read_(contents) {}
  int integer() { return read_.integer(); }
  int count() { return narrow<int>(read_.count()); }
  MPI_Aint address() { return narrow<MPI_Aint>(read_.address()); }
  std::vector<int> counts(int number) {
    return read_many<int>(static_cast<std::size_t>(number), [this] { return count(); });
  }
  std::vector<MPI_Aint> addresses(int number) {
    return read_many<MPI_Aint>(static_cast<std::size_t>(number), [this] { return address(); });
  }
  std::vector<int> integers(int number) {
    return read_many<int>(static_cast<std::size_t>(number), [this] { return integer(); });
  }
  bool fits() const { return fits_; }

 private:
  template <typename Number>
  Number narrow(MPI_Count value) {
    const bool fits = value >= std::numeric_limits<Number>::min() &&
                      value <= std::numeric_limits<Number>::max();
    fits_ = fits_ && fits;
    return fits ? static_cast<Number>(value) : Number{};
  }

  ContentsReader read_;
  bool fits_ = true;
};

Error refused(int code) {
  return Error(ErrorClass::other, "the native MPI library cannot create the datatype (error code " +
                                      std::to_string(code) + ")");
}
Error table_full_error() {
  return Error(ErrorClass::count,
               "the counts of the datatype exceed the int range of the native MPI library");
}

/// Call a native constructor with its arguments and return the type.
template <typename Call>
base::Result<MPI_Datatype> construct_native(const NarrowReader& read, Call call) {
  if (!read.fits()) return table_full_error();
  MPI_Datatype made{};
  const int code = call(&made);
  if (code != MPI_SUCCESS) return refused(code);
  return made;
}

/// Intermediate types, freed at the end.
class TemporaryTypes {
 public:
  ~TemporaryTypes() {
    for (MPI_Datatype& temporary : made_) active_table.Type_free(&temporary);
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

/// Make a contiguous type even if the count exceeds int: large parts, followed by a remainder.
base::Result<MPI_Datatype> make_contiguous(MPI_Count count, const types::Type& type,
                                           MPI_Datatype old) {
  constexpr int kPart = 1 << 30;
  MPI_Datatype made{};
  if (count <= kPart) {
    if (int code = active_table.Type_contiguous(static_cast<int>(count), old, &made))
      return refused(code);
    return made;
  }
  if (count / kPart > std::numeric_limits<int>::max()) return table_full_error();
  TemporaryTypes temporaries;
  SHIM_TRY_ASSIGN(const MPI_Datatype part, temporaries.contiguous(kPart, old));
  SHIM_TRY_ASSIGN(const MPI_Datatype parts,
                  temporaries.contiguous(static_cast<int>(count / kPart), part));
  SHIM_TRY_ASSIGN(const MPI_Datatype rest,
                  temporaries.contiguous(static_cast<int>(count % kPart), old));
  const int lengths[] = {1, 1};
  const MPI_Aint displacements[] = {0, count / kPart * kPart * type.extent};
  const MPI_Datatype both[] = {parts, rest};
  if (int code = active_table.Type_create_struct(2, lengths, displacements, both, &made))
    return refused(code);
  return made;
}

base::Result<MPI_Datatype> make_vector(const TypeContents& contents, MPI_Datatype old) {
  NarrowReader read(contents);
  const int count = read.count(), length = read.count();
  if (contents.combiner == MPI_COMBINER_VECTOR) {
    const int stride = read.count();
    return construct_native(read, [&](MPI_Datatype* made) {
      return active_table.Type_vector(count, length, stride, old, made);
    });
  }
  const MPI_Aint stride = read.address();
  return construct_native(read, [&](MPI_Datatype* made) {
    return active_table.Type_create_hvector(count, length, stride, old, made);
  });
}

base::Result<MPI_Datatype> make_indexed(const TypeContents& contents, MPI_Datatype old) {
  NarrowReader read(contents);
  const int count = read.count();
  const std::vector<int> lengths = read.counts(count);
  if (contents.combiner == MPI_COMBINER_INDEXED) {
    const std::vector<int> displacements = read.counts(count);
    return construct_native(read, [&](MPI_Datatype* made) {
      return active_table.Type_indexed(count, lengths.data(), displacements.data(), old, made);
    });
  }
  const std::vector<MPI_Aint> displacements = read.addresses(count);
  return construct_native(read, [&](MPI_Datatype* made) {
    return active_table.Type_create_hindexed(count, lengths.data(), displacements.data(), old,
                                             made);
  });
}

base::Result<MPI_Datatype> make_indexed_block(const TypeContents& contents, MPI_Datatype old) {
  NarrowReader read(contents);
  const int count = read.count(), length = read.count();
  if (contents.combiner == MPI_COMBINER_INDEXED_BLOCK) {
    const std::vector<int> displacements = read.counts(count);
    return construct_native(read, [&](MPI_Datatype* made) {
      return active_table.Type_create_indexed_block(count, length, displacements.data(), old, made);
    });
  }
  const std::vector<MPI_Aint> displacements = read.addresses(count);
  return construct_native(read, [&](MPI_Datatype* made) {
    return active_table.Type_create_hindexed_block(count, length, displacements.data(), old, made);
  });
}

base::Result<MPI_Datatype> make_structure(const TypeContents& contents) {
  NarrowReader read(contents);
  const int count = read.count();
  const std::vector<int> lengths = read.counts(count);
  const std::vector<MPI_Aint> displacements = read.addresses(count);
  std::vector<MPI_Datatype> olds;
  for (const OldType& old_type : contents.old_types) {
    SHIM_TRY_ASSIGN(MPI_Datatype old, native_handle_of(old_type));
    olds.push_back(old);
  }
  return construct_native(read, [&](MPI_Datatype* made) {
    return active_table.Type_create_struct(count, lengths.data(), displacements.data(), olds.data(),
                                           made);
  });
}

base::Result<MPI_Datatype> make_subarray(const TypeContents& contents, MPI_Datatype old) {
  NarrowReader read(contents);
  const int dimensions = read.integer();
  const std::vector<int> sizes = read.counts(dimensions), parts = read.counts(dimensions),
                         starts = read.counts(dimensions);
  const int order = read.integer();
  return construct_native(read, [&](MPI_Datatype* made) {
    return active_table.Type_create_subarray(dimensions, sizes.data(), parts.data(), starts.data(),
                                             order, old, made);
  });
}

base::Result<MPI_Datatype> make_darray(const TypeContents& contents, MPI_Datatype old) {
  NarrowReader read(contents);
  const int size = read.integer(), rank = read.integer(), dimensions = read.integer();
  const std::vector<int> sizes = read.counts(dimensions), distributions = read.integers(dimensions),
                         arguments = read.integers(dimensions), grid = read.integers(dimensions);
  const int order = read.integer();
  return construct_native(read, [&](MPI_Datatype* made) {
    return active_table.Type_create_darray(size, rank, dimensions, sizes.data(),
                                           distributions.data(), arguments.data(), grid.data(),
                                           order, old, made);
  });
}

base::Result<MPI_Datatype> make_fortran(const TypeContents& contents) {
  const std::vector<int>& integers = contents.integers;
  return construct_native(NarrowReader(contents), [&](MPI_Datatype* made) {
    switch (contents.combiner) {
      case MPI_COMBINER_F90_REAL:
        return active_table.Type_create_f90_real(integers[0], integers[1], made);
      case MPI_COMBINER_F90_COMPLEX:
        return active_table.Type_create_f90_complex(integers[0], integers[1], made);
      default:
        return active_table.Type_create_f90_integer(integers[0], made);
    }
  });
}

base::Result<MPI_Datatype> make_native(const TypeContents& contents) {
  if (is_fortran(contents.combiner)) return make_fortran(contents);
  if (contents.combiner == MPI_COMBINER_STRUCT) return make_structure(contents);
  SHIM_TRY_ASSIGN(const MPI_Datatype old, native_handle_of(contents.old_types.front()));
  switch (contents.combiner) {
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
      return make_vector(contents, old);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
      return make_indexed(contents, old);
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
      return make_indexed_block(contents, old);
    case MPI_COMBINER_SUBARRAY:
      return make_subarray(contents, old);
    case MPI_COMBINER_DARRAY:
      return make_darray(contents, old);
    case MPI_COMBINER_CONTIGUOUS:
      return make_contiguous(ContentsReader(contents).count(), *contents.old_types.front().type,
                             old);
    case MPI_COMBINER_RESIZED: {
      NarrowReader read(contents);
      const MPI_Aint lower = read.address(), extent = read.address();
      return construct_native(read, [&](MPI_Datatype* made) {
        return active_table.Type_create_resized(old, lower, extent, made);
      });
    }
    default:
      return construct_native(NarrowReader(contents),
                              [&](MPI_Datatype* made) { return active_table.Type_dup(old, made); });
  }
}

/// Return the native type, resized if its bounds differ from Intersession's.
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

/// Native handle that all threads share. Derived frees it, except that of a parametrised Fortran
/// type, which the native library owns.
struct Derived::NativeHandleSlot {
  std::atomic<MPI_Datatype> handle{};
};

Derived::Derived(types::TypePtr made, TypeContents from)
    : type(std::move(made)),
      contents(std::move(from)),
      native_(std::make_unique<NativeHandleSlot>()) {}

Derived::~Derived() {
  MPI_Datatype made = native_->handle.load(
      std::memory_order_acquire);  // pairs with the exchange in native_handle()
  if (!abi::is_unset(made) && !is_fortran(contents.combiner) && is_active() && may_call_substrate())
    active_table.Type_free(&made);
}

base::Result<MPI_Datatype> Derived::native_handle() const {
  if (MPI_Datatype made = native_->handle.load(std::memory_order_acquire); !abi::is_unset(made))
    return made;
  SHIM_TRY_ASSIGN(MPI_Datatype made, make_native(contents));
  if (!is_fortran(contents.combiner)) {
    SHIM_TRY_ASSIGN(made, with_bounds(made, *type));
    active_table.Type_commit(&made);
  }
  MPI_Datatype other{};
  if (native_->handle.compare_exchange_strong(other, made))
    return made;                                                      // pairs with the loads above
  if (!is_fortran(contents.combiner)) active_table.Type_free(&made);  // another thread was first
  return other;
}

base::Result<DerivedPtr> derive(TypeContents contents, std::optional<Bounds> bounds) {
  if (is_fortran(contents.combiner)) {
    SHIM_TRY_ASSIGN(const types::Type* type, fortran_type(contents.combiner, contents.integers));
    return std::make_shared<const Derived>(types::TypePtr(types::TypePtr(), type),
                                           std::move(contents));
  }
  SHIM_TRY_ASSIGN(types::Type type, build(contents));
  if (bounds && *bounds != Bounds{type.lower, type.extent}) {
    SHIM_TRY_ASSIGN(type, types::resized(bounds->lower, bounds->extent, type));
  }
  return std::make_shared<const Derived>(types::share(std::move(type)), std::move(contents));
}

}  // namespace shim::intercept
