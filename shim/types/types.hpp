// SPDX-License-Identifier: BSD-3-Clause
// What a datatype is, for those who move and combine data. MPI handles are mapped to these at the border.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "shim/base/result.hpp"
#include "shim/types/layout.hpp"

namespace shim::types {

/// How the bytes of one predefined element are to be understood in reductions. One name per machine representation:
/// MPI_INT and MPI_INT32_T are both int32.
enum class Element : std::uint8_t {
  none,  ///< bytes that no arithmetic applies to (MPI_PACKED, MPI_CHAR, derived layouts)
  int8, int16, int32, int64, uint8, uint16, uint32, uint64,
  float32, float64, float80,            ///< float80 is long double of x86-64, 16 bytes stored
  float128,                             ///< Fortran REAL(16)
  complex32, complex64, complex80, complex128,  ///< by the width of one part
  boolean8,                             ///< C and C++ bool, Fortran LOGICAL of one byte
  logical16, logical32, logical64,      ///< Fortran LOGICAL of 2, 4 (the default) and 8 bytes
  byte,                                 ///< MPI_BYTE: bitwise operations only
  float_int, double_int, long_int, two_int, short_int, long_double_int,  ///< the C pairs of MPI_MINLOC and MPI_MAXLOC
  two_float32, two_float64,             ///< MPI_2REAL, MPI_2DOUBLE_PRECISION
};
inline constexpr std::size_t kElements = static_cast<std::size_t>(Element::two_float64) + 1;

/// The groups of types that MPI-4.1 §6.9.2 allows operations on. MPI_INT and MPI_INTEGER have the same representation but
/// different groups: logical operations apply to the first only.
enum class Family : std::uint8_t {
  none, c_integer, fortran_integer, floating, logical, complex, byte, multi_language, pair
};

struct Type;
/// Shared by whoever needs a derived type: its handle, and every operation in progress on it.
using TypePtr = std::shared_ptr<const Type>;
struct Signature;
using SignaturePtr = std::shared_ptr<const Signature>;

/// A datatype. Immutable once made. Predefined ones live for ever.
struct Type {
  std::string_view name;      ///< the standard's name where predefined, empty where not
  Element element = Element::none;
  std::uint64_t size = 0;     ///< bytes of data in one item
  std::int64_t extent = 0;    ///< distance between consecutive items, bytes
  std::uint64_t elements = 1; ///< basic elements in one item; the pairs have two (MPI-4.1 §5.1.11)
  bool contiguous = true;     ///< size == extent and no holes: an array of items is one run of bytes
  const Type* base = nullptr; ///< the predefined type all elements have, itself where predefined, null where they differ
  Family family = Family::none;
  LayoutPtr layout;           ///< where the data of one item is; null where contiguous
  std::int64_t lower = 0;     ///< lower bound, bytes; the upper one is an extent further
  std::uint32_t alignment = 1;  ///< the largest of its elements', which extents are rounded up to (MPI-4.1 §5.1.2)
  bool is_resized = false;    ///< the bounds are said by MPI_Type_create_resized somewhere inside, not by where the data is
  SignaturePtr signature;     ///< what the elements are, where base does not say it
  std::weak_ptr<const Type> self;  ///< of a shared one

  bool is_predefined() const { return base == this; }
};

/// A type that others can share.
TypePtr share(Type type);
/// For operations in progress: the type stays as long as this does. Null, and without cost, for predefined types.
inline TypePtr keep(const Type& type) { return type.self.lock(); }

/// All predefined types of MPI-4.1 (annex A.1) that Open MPI 4.1 has on x86-64, for C and for Fortran, and Open MPI's own
/// MPI_2COMPLEX and MPI_2DOUBLE_COMPLEX; one row a type.
std::span<const Type> predefined_types();
/// The predefined type of this name, synonyms (MPI_LONG_LONG, MPI_C_FLOAT_COMPLEX) included; null where there is none.
const Type* find_predefined(std::string_view name);
/// MPI_BYTE.
const Type& byte_type();

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

/// The data of an array of items, holes left out, is a stream of count * size bytes. pack() copies the part of that stream
/// which begins at byte `first` and is as long as `out`; unpack() writes such a part back and leaves holes alone. Both take
/// contiguous types too. A part may begin and end anywhere, also inside an element.
void pack(const Type& type, const void* items, std::uint64_t first, std::span<std::byte> out);
void unpack(const Type& type, std::span<const std::byte> in, std::uint64_t first, void* items);

/// Runs of memory: how many, and the bytes in all of them.
struct Pieces {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
};
/// Where the part of the stream lies that begins at byte `first`: the runs that hold it, in order, as many as there is room for and at most
/// `bytes` bytes. The type has holes.
Pieces find_pieces(const Type& type, void* items, std::uint64_t first, std::uint64_t bytes, std::span<std::span<std::byte>> out);

/// Where all of the first `bytes` bytes of the stream lie, if in one run, though their type may have bounds elsewhere; null where they do not.
std::byte* find_one_run(const Type& type, void* items, std::uint64_t bytes);

/// Copies count items from one array to another that does not overlap it; holes of the target stay as they are.
void copy(const Type& type, const void* from, void* to, std::uint64_t count);

/// The predefined reduction operations (MPI-4.1 §6.9.2, §6.9.4).
enum class Operator : std::uint8_t { max, min, sum, prod, land, band, lor, bor, lxor, bxor, maxloc, minloc, replace, no_op };
inline constexpr std::size_t kOperators = static_cast<std::size_t>(Operator::no_op) + 1;

/// inout[i] = in[i] op inout[i] for count items (the order matters for operations that do not commute). The arrays do not
/// overlap; no alignment is asked for.
using Kernel = void (*)(const void* in, void* inout, std::uint64_t count);

/// A user's operation (MPI_Op_create), with the meaning of Kernel.
using UserFunction = void (*)(void* context, const void* in, void* inout, std::uint64_t count, const Type& type);

/// A reduction operation: predefined here; user operations are owned by sessions.
struct Op {
  std::string_view name;
  Operator code = Operator::no_op;  ///< of no meaning where user is set
  bool commutative = true;
  UserFunction user = nullptr;      ///< null for predefined operations
  void* context = nullptr;          ///< handed to user
};
const Op& predefined(Operator code);

/// Does MPI-4.1 §6.9.2 (for maxloc and minloc §6.9.4) allow the operation on the type? User operations apply to all types,
/// predefined ones to predefined types only; MPI_REPLACE and MPI_NO_OP are for one-sided communication.
bool is_allowed(const Op& op, const Type& type);

/// What kernels are compiled for: registers that all processors of the kind have, and wider ones. Results are the same.
enum class Registers : std::uint8_t { common, wide };
/// Of this processor.
Registers widest_registers();

/// The kernel for an operation on an element kind; null where there is no meaning to it, whatever the type's family.
Kernel kernel(Operator code, Element element, Registers registers = widest_registers());

/// Applies op to two arrays of count items: inout[i] = in[i] op inout[i]. Errors: op (not allowed on the type; names both).
base::Status reduce(const Op& op, const Type& type, const void* in, void* inout, std::uint64_t count);

}  // namespace shim::types
