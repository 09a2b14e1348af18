// SPDX-License-Identifier: BSD-3-Clause
// Tables of the predefined types. Sizes and extents are Open MPI 4.1's on x86-64.
#include <utility>

#include "shim/types/types.hpp"

namespace shim::types {
namespace {

struct PlainType {
  std::string_view name;
  Element element;
  TypeGroup family;
  std::uint64_t size;
};

// Types without holes: extent == size.
constexpr PlainType kPlain[] = {
    // C, MPI-4.1 §3.2.2 table 3.2
    {"MPI_CHAR", Element::none, TypeGroup::none, 1},
    {"MPI_SHORT", Element::int16, TypeGroup::c_integer, 2},
    {"MPI_INT", Element::int32, TypeGroup::c_integer, 4},
    {"MPI_LONG", Element::int64, TypeGroup::c_integer, 8},
    {"MPI_LONG_LONG_INT", Element::int64, TypeGroup::c_integer, 8},
    {"MPI_SIGNED_CHAR", Element::int8, TypeGroup::c_integer, 1},
    {"MPI_UNSIGNED_CHAR", Element::uint8, TypeGroup::c_integer, 1},
    {"MPI_UNSIGNED_SHORT", Element::uint16, TypeGroup::c_integer, 2},
    {"MPI_UNSIGNED", Element::uint32, TypeGroup::c_integer, 4},
    {"MPI_UNSIGNED_LONG", Element::uint64, TypeGroup::c_integer, 8},
    {"MPI_UNSIGNED_LONG_LONG", Element::uint64, TypeGroup::c_integer, 8},
    {"MPI_FLOAT", Element::float32, TypeGroup::floating, 4},
    {"MPI_DOUBLE", Element::float64, TypeGroup::floating, 8},
    {"MPI_LONG_DOUBLE", Element::float80, TypeGroup::floating, 16},
    {"MPI_WCHAR", Element::none, TypeGroup::none, 4},
    {"MPI_C_BOOL", Element::boolean8, TypeGroup::logical, 1},
    {"MPI_INT8_T", Element::int8, TypeGroup::c_integer, 1},
    {"MPI_INT16_T", Element::int16, TypeGroup::c_integer, 2},
    {"MPI_INT32_T", Element::int32, TypeGroup::c_integer, 4},
    {"MPI_INT64_T", Element::int64, TypeGroup::c_integer, 8},
    {"MPI_UINT8_T", Element::uint8, TypeGroup::c_integer, 1},
    {"MPI_UINT16_T", Element::uint16, TypeGroup::c_integer, 2},
    {"MPI_UINT32_T", Element::uint32, TypeGroup::c_integer, 4},
    {"MPI_UINT64_T", Element::uint64, TypeGroup::c_integer, 8},
    {"MPI_C_COMPLEX", Element::complex32, TypeGroup::complex, 8},
    {"MPI_C_DOUBLE_COMPLEX", Element::complex64, TypeGroup::complex, 16},
    {"MPI_C_LONG_DOUBLE_COMPLEX", Element::complex80, TypeGroup::complex, 32},
    {"MPI_BYTE", Element::byte, TypeGroup::byte, 1},
    {"MPI_PACKED", Element::none, TypeGroup::none, 1},
    // C and Fortran, table 3.3
    {"MPI_AINT", Element::int64, TypeGroup::multi_language, 8},
    {"MPI_COUNT", Element::int64, TypeGroup::multi_language, 8},
    {"MPI_OFFSET", Element::int64, TypeGroup::multi_language, 8},
    // C++, table 3.4
    {"MPI_CXX_BOOL", Element::boolean8, TypeGroup::logical, 1},
    {"MPI_CXX_FLOAT_COMPLEX", Element::complex32, TypeGroup::complex, 8},
    {"MPI_CXX_DOUBLE_COMPLEX", Element::complex64, TypeGroup::complex, 16},
    {"MPI_CXX_LONG_DOUBLE_COMPLEX", Element::complex80, TypeGroup::complex, 32},
    // Fortran, table 3.1
    {"MPI_INTEGER", Element::int32, TypeGroup::fortran_integer, 4},
    {"MPI_REAL", Element::float32, TypeGroup::floating, 4},
    {"MPI_DOUBLE_PRECISION", Element::float64, TypeGroup::floating, 8},
    {"MPI_COMPLEX", Element::complex32, TypeGroup::complex, 8},
    {"MPI_LOGICAL", Element::logical32, TypeGroup::logical, 4},
    {"MPI_CHARACTER", Element::none, TypeGroup::none, 1},
    // Fortran, optional (§3.2.2, §19.1.9)
    {"MPI_DOUBLE_COMPLEX", Element::complex64, TypeGroup::complex, 16},
    {"MPI_INTEGER1", Element::int8, TypeGroup::fortran_integer, 1},
    {"MPI_INTEGER2", Element::int16, TypeGroup::fortran_integer, 2},
    {"MPI_INTEGER4", Element::int32, TypeGroup::fortran_integer, 4},
    {"MPI_INTEGER8", Element::int64, TypeGroup::fortran_integer, 8},
    {"MPI_LOGICAL1", Element::boolean8, TypeGroup::logical, 1},
    {"MPI_LOGICAL2", Element::logical16, TypeGroup::logical, 2},
    {"MPI_LOGICAL4", Element::logical32, TypeGroup::logical, 4},
    {"MPI_LOGICAL8", Element::logical64, TypeGroup::logical, 8},
    {"MPI_REAL4", Element::float32, TypeGroup::floating, 4},
    {"MPI_REAL8", Element::float64, TypeGroup::floating, 8},
    {"MPI_REAL16", Element::float128, TypeGroup::floating, 16},
    {"MPI_COMPLEX8", Element::complex32, TypeGroup::complex, 8},
    {"MPI_COMPLEX16", Element::complex64, TypeGroup::complex, 16},
    {"MPI_COMPLEX32", Element::complex128, TypeGroup::complex, 32},
    // pairs without padding
    {"MPI_FLOAT_INT", Element::float_int, TypeGroup::pair, 8},
    {"MPI_2INT", Element::two_int, TypeGroup::pair, 8},
    {"MPI_2INTEGER", Element::two_int, TypeGroup::pair, 8},
    {"MPI_2REAL", Element::two_float32, TypeGroup::pair, 8},
    {"MPI_2DOUBLE_PRECISION", Element::two_float64, TypeGroup::pair, 16},
    {"MPI_2COMPLEX", Element::none, TypeGroup::none, 16},
    {"MPI_2DOUBLE_COMPLEX", Element::none, TypeGroup::none, 32},
    // MPICH extension; no operation is defined on it
    {"MPIX_C_FLOAT16", Element::none, TypeGroup::none, 2},
};

static_assert(sizeof(long double) == 16 && sizeof(long) == 8 && sizeof(wchar_t) == 4 &&
              sizeof(bool) == 1);

// Pairs with holes: C structs whose padding is not data.
struct HoledType {
  std::string_view name;
  Element element;
  std::uint64_t size;
  std::int64_t extent;
  std::uint64_t first;     ///< size of the value, bytes; the index has size - first
  std::int64_t second_at;  ///< offset of the index, bytes
};
constexpr HoledType kHoled[] = {
    {"MPI_SHORT_INT", Element::short_int, 6, 8, 2, 4},
    {"MPI_LONG_INT", Element::long_int, 12, 16, 8, 8},
    {"MPI_DOUBLE_INT", Element::double_int, 12, 16, 8, 8},
    {"MPI_LONG_DOUBLE_INT", Element::long_double_int, 20, 32, 16, 16},
};

/// Return the alignment of the C or Fortran type. Complex numbers and pairs have the largest
/// alignment of their parts.
std::uint32_t alignment_of(Element element, std::uint64_t size) {
  switch (element) {
    case Element::byte:
      return 1;
    case Element::none:
      return static_cast<std::uint32_t>(
          size <= sizeof(wchar_t) ? size : size / 4);  // larger: pairs of complex numbers
    case Element::complex32:
    case Element::two_float32:
    case Element::two_int:
    case Element::short_int:
    case Element::float_int:
      return 4;
    case Element::complex64:
    case Element::two_float64:
    case Element::double_int:
    case Element::long_int:
      return 8;
    case Element::complex80:
    case Element::complex128:
    case Element::long_double_int:
      return 16;
    default:
      return static_cast<std::uint32_t>(size);
  }
}

LayoutPtr layout_of(const HoledType& row) {
  const PlacedLayout parts[] = {{0, Layout::run(row.first)},
                                {row.second_at, Layout::run(row.size - row.first)}};
  return Layout::sequence(parts);
}

constexpr std::size_t kPlainCount = std::size(kPlain);
constexpr std::size_t kCount = kPlainCount + std::size(kHoled);
struct PredefinedTable {
  Type rows[kCount];
};

/// Return a new table. It is never destroyed, because types are used until the process ends.
const PredefinedTable& make_table() {
  PredefinedTable& table = *new PredefinedTable;
  for (std::size_t i = 0; i < kPlainCount; ++i) {
    const PlainType& row = kPlain[i];
    std::uint64_t elements = row.family == TypeGroup::pair ? 2 : 1;
    table.rows[i] = Type{row.name,
                         row.element,
                         row.size,
                         static_cast<std::int64_t>(row.size),
                         elements,
                         true,
                         &table.rows[i],
                         row.family,
                         nullptr,
                         0,
                         alignment_of(row.element, row.size),
                         false,
                         nullptr,
                         {}};
  }
  for (std::size_t i = 0; i < std::size(kHoled); ++i) {
    const HoledType& row = kHoled[i];
    table.rows[kPlainCount + i] = Type{row.name,
                                       row.element,
                                       row.size,
                                       row.extent,
                                       2,
                                       false,
                                       &table.rows[kPlainCount + i],
                                       TypeGroup::pair,
                                       layout_of(row),
                                       0,
                                       alignment_of(row.element, row.size),
                                       false,
                                       nullptr,
                                       {}};
  }
  return table;
}

const PredefinedTable& table() {
  static const PredefinedTable& made = make_table();
  return made;
}

constexpr std::pair<std::string_view, std::string_view> kSynonyms[] = {
    {"MPI_LONG_LONG", "MPI_LONG_LONG_INT"},
    {"MPI_C_FLOAT_COMPLEX", "MPI_C_COMPLEX"},
    {"MPI_CXX_COMPLEX", "MPI_CXX_FLOAT_COMPLEX"},
};

}  // namespace

std::span<const Type> predefined_types() { return table().rows; }

const Type* find_predefined(std::string_view name) {
  for (auto [synonym, original] : kSynonyms) {
    if (name == synonym) name = original;
  }
  for (const Type& type : table().rows) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

const Type& byte_type() {
  static const Type& byte = *find_predefined("MPI_BYTE");
  return byte;
}

}  // namespace shim::types
