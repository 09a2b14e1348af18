// SPDX-License-Identifier: BSD-3-Clause
// Interface of the types module: datatypes, reduction operations, packing.
// The interposition layer maps MPI handles to these.
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

/// Machine representation of a predefined type, which selects the reduction loop: MPI_INT and
/// MPI_INT32_T are both int32.
enum class Element : std::uint8_t {
  none,  ///< no predefined operation is defined (MPI_PACKED, MPI_CHAR, derived types)
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float32,
  float64,
  float80,    ///< long double, 16 bytes in memory: 80 bits on x86-64, binary128 on aarch64
  float128,   ///< Fortran REAL(16)
  complex32,  ///< complex types are named by the width of one part: MPI_C_COMPLEX is complex32
  complex64,
  complex80,
  complex128,
  boolean8,   ///< C and C++ bool, Fortran LOGICAL of one byte
  logical16,  ///< Fortran LOGICAL of 2, 4 (the default) and 8 bytes
  logical32,
  logical64,
  byte,       ///< MPI_BYTE: bitwise operations only
  float_int,  ///< this and all further values: pairs of MPI_MINLOC and MPI_MAXLOC
  double_int,
  long_int,
  two_int,
  short_int,
  long_double_int,
  two_float32,  ///< MPI_2REAL
  two_float64,  ///< MPI_2DOUBLE_PRECISION
};
inline constexpr std::size_t kElements = static_cast<std::size_t>(Element::two_float64) + 1;

/// Groups of types by which MPI-4.1 §6.9.2 lists the allowed operations. MPI_INT and MPI_INTEGER
/// have one representation but different groups: logical operations apply to MPI_INT only.
enum class TypeGroup : std::uint8_t {
  none,  ///< no predefined operation is allowed
  c_integer,
  fortran_integer,
  floating,
  logical,
  complex,
  byte,
  multi_language,  ///< MPI_AINT, MPI_OFFSET, MPI_COUNT
  pair             ///< types of MPI_MINLOC and MPI_MAXLOC (MPI-4.1 §6.9.4)
};

struct Type;
/// A derived type, shared by its handle and every operation in progress on it.
using TypePtr = std::shared_ptr<const Type>;
struct Signature;
using SignaturePtr = std::shared_ptr<const Signature>;

/// A datatype. Immutable; predefined types exist until the process ends. A buffer (address, count,
/// type) has `count` items, which are `extent` bytes apart.
struct Type {
  std::string_view name;  ///< the standard's name of a predefined type, else empty
  Element element = Element::none;
  std::uint64_t size = 0;      ///< bytes of data in one item
  std::int64_t extent = 0;     ///< distance between consecutive items, bytes
  std::uint64_t elements = 1;  ///< basic elements in one item; pairs have two (MPI-4.1 §5.1.11)
  /// true if an array of items is one run of bytes: the data of an item begin at offset 0, have no
  /// holes, and are in stream order; size == extent
  bool contiguous = true;
  /// predefined type of all elements (itself if predefined); null if they differ or there are none
  const Type* base = nullptr;
  TypeGroup family = TypeGroup::none;
  LayoutPtr layout;        ///< location of the data in one item; null if contiguous
  std::int64_t lower = 0;  ///< lower bound, bytes; the upper bound is lower + extent
  /// largest alignment of its elements; an extent without explicit bounds is rounded up to it
  /// (MPI-4.1 §5.1.2)
  std::uint32_t alignment = 1;
  /// true if the bounds are explicit: set by MPI_Type_create_resized, MPI_Type_create_subarray or
  /// MPI_Type_create_darray, here or in an inner type
  bool is_resized = false;
  SignaturePtr signature;          ///< set if elements differ: their types, in stream order
  std::weak_ptr<const Type> self;  ///< set by share()

  /// True for a predefined type; false for a copy of its object.
  bool is_predefined() const { return base == this; }
};

/// Return a type that several owners can share.
TypePtr share(Type type);
/// Return a reference that keeps a shared type alive for an operation in progress; null for a
/// predefined type, which exists until the process ends.
inline TypePtr keep(const Type& type) { return type.self.lock(); }

/// Return all predefined types of MPI-4.1 (annex A.1) that Open MPI 4.1 has on x86-64, for C, C++
/// and Fortran, with Open MPI's MPI_2COMPLEX and MPI_2DOUBLE_COMPLEX and MPICH's MPIX_C_FLOAT16.
std::span<const Type> predefined_types();
/// Return the predefined type of this name or synonym (MPI_LONG_LONG, MPI_C_FLOAT_COMPLEX); null if
/// there is none.
const Type* find_predefined(std::string_view name);
/// Return MPI_BYTE.
const Type& byte_type();

/// Memory described by (address, count, type), as in every communication call.
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

/// The packed data of an array of items are called its stream: count * size bytes, without holes.
/// pack() copies out.size() bytes of the stream from byte `first` on; unpack() copies in.size()
/// bytes back to the items and does not write holes. Both accept contiguous types, and parts of the
/// stream that begin or end inside an element.
void pack(const Type& type, const void* items, std::uint64_t first, std::span<std::byte> out);
void unpack(const Type& type, std::span<const std::byte> in, std::uint64_t first, void* items);

/// Number of address ranges that find_pieces() has stored, and their total bytes.
struct Pieces {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
};
/// Find where the stream from byte `first` on is in memory: store address ranges in `out`, in
/// stream order, until `out` is full or they have `bytes` bytes. A run that begins where the last
/// range ends extends that range. The type must not be contiguous.
Pieces find_pieces(const Type& type, void* items, std::uint64_t first, std::uint64_t bytes,
                   std::span<std::span<std::byte>> out);

/// Return the address of the first `bytes` bytes of the stream if they are one run; else null. One
/// item of a resized type can be one run although the type is not contiguous.
std::byte* find_one_run(const Type& type, void* items, std::uint64_t bytes);

/// Copy count items to an array that does not overlap the source; holes of the target are
/// unchanged.
void copy(const Type& type, const void* from, void* to, std::uint64_t count);

/// Predefined reduction operations (MPI-4.1 §6.9.2, §6.9.4).
enum class Operator : std::uint8_t {
  max,
  min,
  sum,
  prod,
  land,
  band,
  lor,
  bor,
  lxor,
  bxor,
  maxloc,
  minloc,
  replace,
  no_op
};
inline constexpr std::size_t kOperators = static_cast<std::size_t>(Operator::no_op) + 1;

/// Computes inout[i] = in[i] op inout[i] for count items; the operand order matters for operations
/// that do not commute. The arrays do not overlap and need no alignment.
using Kernel = void (*)(const void* in, void* inout, std::uint64_t count);

/// A user's operation (MPI_Op_create), with the semantics of Kernel.
using UserFunction = void (*)(void* context, const void* in, void* inout, std::uint64_t count,
                              const Type& type);

/// A reduction operation: predefined, or a user's operation, which a session owns.
struct Op {
  std::string_view name;
  Operator code = Operator::no_op;  ///< unused if user is set
  bool commutative = true;
  UserFunction user = nullptr;  ///< null for predefined operations
  void* context = nullptr;      ///< passed to user
};
const Op& predefined(Operator code);

/// True if a reduction may apply the operation to the type: as MPI-4.1 §6.9.2 and §6.9.4 list, and
/// logical operations on multi-language types. User operations are allowed on all types, predefined
/// operations on predefined types only. Always false for MPI_REPLACE and MPI_NO_OP, which are for
/// one-sided communication.
bool is_allowed(const Op& op, const Type& type);

/// Vector registers that kernels are compiled for on x86-64: SSE2, which every processor has, or
/// AVX2. The results are identical.
enum class Registers : std::uint8_t {
  common,  ///< SSE2
  wide     ///< AVX2
};
/// Return the widest registers of this processor.
Registers widest_registers();

/// Return the kernel for an operation on an element kind, whatever the type's family; null if the
/// operation is not defined for it.
Kernel kernel(Operator code, Element element, Registers registers = widest_registers());

/// Apply op to two arrays of count items: inout[i] = in[i] op inout[i]. Errors: op (not allowed on
/// the type; the message names both).
base::Status reduce(const Op& op, const Type& type, const void* in, void* inout,
                    std::uint64_t count);

}  // namespace shim::types
