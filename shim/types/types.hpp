// SPDX-License-Identifier: BSD-3-Clause
// What a datatype is, for those who move and combine data. MPI handles are mapped to these at the border.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "shim/base/result.hpp"

namespace shim::types {

/// How the bytes of one predefined element are to be understood in reductions. One name per machine representation:
/// MPI_INT and MPI_INT32_T are both int32.
enum class Element : std::uint8_t {
  none,  ///< bytes that no arithmetic applies to (MPI_PACKED, MPI_CHAR, derived layouts)
  int8, int16, int32, int64, uint8, uint16, uint32, uint64,
  float32, float64, float80,            ///< float80 is long double of x86-64, 16 bytes stored
  complex32, complex64, complex80,
  boolean8,                             ///< C and C++ bool
  logical32,                            ///< Fortran LOGICAL, 4 bytes
  byte,                                 ///< MPI_BYTE: bitwise operations only
  float_int, double_int, long_int, two_int, short_int, long_double_int,  ///< the C pairs of MPI_MINLOC and MPI_MAXLOC
  two_float32, two_float64,             ///< MPI_2REAL, MPI_2DOUBLE_PRECISION
};

/// A datatype. Immutable once made; predefined ones live for ever, derived ones are owned by sessions.
struct Type {
  std::string_view name;      ///< the standard's name where predefined, empty where not
  Element element = Element::none;
  std::uint64_t size = 0;     ///< bytes of data in one item
  std::int64_t extent = 0;    ///< distance between consecutive items, bytes
  std::uint64_t elements = 1; ///< predefined elements in one item
  bool contiguous = true;     ///< size == extent and no holes: an array of items is one run of bytes
  const Type* base = nullptr; ///< the predefined type all elements have, itself where predefined, null where they differ
};

/// Memory described by (address, count, type), as every communication call has it.
struct Buffer {
  void* address = nullptr;
  std::uint64_t count = 0;
  const Type* type = nullptr;
  std::uint64_t bytes() const { return count * type->size; }
};
struct ConstBuffer {
  const void* address = nullptr;
  std::uint64_t count = 0;
  const Type* type = nullptr;
  std::uint64_t bytes() const { return count * type->size; }
};

/// The predefined reduction operations (MPI-4.1 §6.9.2, §6.9.4).
enum class Operator : std::uint8_t { max, min, sum, prod, land, band, lor, bor, lxor, bxor, maxloc, minloc, replace, no_op };

/// inout[i] = in[i] op inout[i] for count items (the order matters for operations that do not commute).
using Kernel = void (*)(const void* in, void* inout, std::uint64_t count);

/// A reduction operation: predefined here; user operations are owned by sessions.
struct Op {
  std::string_view name;
  Operator code = Operator::no_op;
  bool commutative = true;
};
const Op& predefined(Operator code);

/// The kernel for an operation on an element kind; null where the standard does not allow the pair.
Kernel kernel(Operator code, Element element);

/// Applies op to two buffers of this type. Errors: op (not allowed on the type; names both).
base::Status reduce(const Op& op, const Type& type, const void* in, void* inout, std::uint64_t count);

}  // namespace shim::types
