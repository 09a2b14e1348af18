// SPDX-License-Identifier: BSD-3-Clause
// TypeContents is the record of a derived type's constructor, in the order of
// MPI_Type_get_contents; types are built from it.
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

/// A datatype from which another is constructed.
struct OldType {
  const types::Type* type = nullptr;
  MPI_Datatype predefined{};  ///< the user's handle, if the type is predefined
  DerivedPtr derived;         ///< otherwise
};

/// Arguments of a constructor in the order of MPI-4.1 §5.1.13; the old types are in arrays by kind.
/// Large forms have `counts` instead of integers and addresses.
struct TypeContents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> counts;
  std::vector<OldType> old_types;

  bool is_large() const { return !counts.empty(); }
};

/// Return `number` values from next().
template <typename Number, typename Next>
std::vector<Number> read_many(std::size_t number, Next next) {
  std::vector<Number> read(number);
  for (Number& value : read) value = next();
  return read;
}

/// Reads a TypeContents argument by argument, in the order of the constructor's parameters.
class ContentsReader {
 public:
  explicit ContentsReader(const TypeContents& contents) : contents_(contents) {}

  /// Read a parameter whose type is int in both forms.
  int integer() { return contents_.integers[integer_++]; }
  /// Read a parameter that is int in one form and MPI_Count in the other.
  MPI_Count count() {
    return contents_.is_large() ? contents_.counts[count_++] : contents_.integers[integer_++];
  }
  /// Read a parameter that is MPI_Aint in one form and MPI_Count in the other.
  MPI_Count address() {
    return contents_.is_large() ? contents_.counts[count_++] : contents_.addresses[address_++];
  }

  std::vector<int> integers(std::size_t number) {
    return read_many<int>(number, [this] { return integer(); });
  }
  std::vector<MPI_Count> counts(std::size_t number) {
    return read_many<MPI_Count>(number, [this] { return count(); });
  }
  std::vector<MPI_Count> addresses(std::size_t number) {
    return read_many<MPI_Count>(number, [this] { return address(); });
  }

 private:
  const TypeContents& contents_;
  std::size_t integer_ = 0, address_ = 0, count_ = 0;
};

/// Build the type that a TypeContents describes. Local. Errors: count (negative count), arg
/// (negative block length; invalid dimensions, orders or distributions; sizes beyond 64 bits; the
/// text names it).
base::Result<types::Type> build(const TypeContents& contents);

/// A derived type of either library.
struct Derived {
  Derived(types::TypePtr made, TypeContents from);
  ~Derived();
  Derived(const Derived&) = delete;
  Derived& operator=(const Derived&) = delete;

  types::TypePtr type;
  TypeContents contents;

  /// Return the native handle of the type, made and committed at the first call. Only while the
  /// native library is active. Errors: type, count (numbers too large for the native library), and
  /// errors of the native library.
  base::Result<MPI_Datatype> native_handle() const;

  /// Record that the handle of a type that the native library derived is no longer valid.
  // relaxed: a thread that uses a handle has synchronised with the thread that frees it
  void record_handle_freed() const { is_handle_freed_.store(true, std::memory_order_relaxed); }
  bool is_handle_freed() const { return is_handle_freed_.load(std::memory_order_relaxed); }

 private:
  mutable std::atomic<bool> is_handle_freed_{false};
  struct NativeHandleSlot;
  std::unique_ptr<NativeHandleSlot> native_;
};

/// Bounds of a type in bytes. Two libraries may disagree, because the padding of an extent is the
/// implementation's choice (MPI-4.1 §5.1.6). A type known to both has the bounds of the library
/// that made it.
struct Bounds {
  std::int64_t lower = 0, extent = 0;
  bool operator==(const Bounds&) const = default;
};

/// Build a type, or find the predefined type of a parametrised Fortran type, and keep the contents.
/// Errors: as build and fortran_type.
/// @param bounds those in the library that made the type; nothing: as built.
base::Result<DerivedPtr> derive(TypeContents contents, std::optional<Bounds> bounds = std::nullopt);

/// Return the predefined type of a parametrised Fortran type (MPI-4.1 §19.1.9): gfortran's smallest
/// kind with at least the decimal precision and exponent range in the integers of the contents.
/// Errors: arg (there is none).
base::Result<const types::Type*> fortran_type(int combiner, const std::vector<int>& integers);

/// Return a type that the substrate derived. Reads envelope and contents once and caches them as an
/// attribute of the handle until the program frees it. Only while the substrate is active. Errors:
/// type (unknown to the substrate), other.
base::Result<DerivedPtr> native_derived_type(MPI_Datatype datatype);
/// Return only the type; fast for this thread's last datatype. Errors: as native_derived_type.
base::Result<const types::Type*> native_type(MPI_Datatype datatype);

}  // namespace shim::intercept
