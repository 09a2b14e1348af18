// SPDX-License-Identifier: BSD-3-Clause
#include "shim/types/external.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "shim/types/quad.hpp"
#include "shim/types/signature.hpp"

namespace shim::types {
namespace {

/// Conversion of a number between memory ("inside") and external32 ("outside").
enum class Coding : std::uint8_t {
  bytes,             ///< equal size, reversed byte order
  signed_integer,    ///< fewer bytes outside; sign-extended when read
  unsigned_integer,  ///< fewer bytes outside; zero-extended when read
  extended,          ///< long double: 80 bits of x86-64 inside, IEEE binary128 outside
};
struct Number {
  Coding coding = Coding::bytes;
  std::uint32_t inside = 1, outside = 1;  ///< bytes
};
/// A predefined element in external32: `numbers` numbers of one kind, then `seconds` numbers of
/// another kind (the index of a pair).
struct ExternalElement {
  Number number;
  std::uint32_t numbers = 1;
  Number second;
  std::uint32_t seconds = 0;
  std::uint64_t outside() const {
    return std::uint64_t{number.outside} * numbers + std::uint64_t{second.outside} * seconds;
  }
};

constexpr Number same(std::uint32_t bytes) { return {Coding::bytes, bytes, bytes}; }
constexpr Number kExtended{kLongDoubleIsQuad ? Coding::bytes : Coding::extended, 16, 16};
constexpr Number kIndex = same(4);

/// Return the conversion of a type whose external32 size depends on its name, not on its element
/// kind (MPI_LONG has 4 bytes, MPI_LONG_LONG_INT 8; MPI-4.1 table 14.2); null for all other types.
const Number* special_conversion(std::string_view name) {
  struct SpecialSize {
    std::string_view name;
    Number number;
  };
  static constexpr SpecialSize kSpecialSizes[] = {
      {"MPI_LONG", {Coding::signed_integer, 8, 4}},
      {"MPI_UNSIGNED_LONG", {Coding::unsigned_integer, 8, 4}},
      {"MPI_WCHAR", {Coding::unsigned_integer, 4, 2}},
  };
  for (const SpecialSize& size : kSpecialSizes)
    if (size.name == name) return &size.number;
  return nullptr;
}

ExternalElement element_of(const Type& type) {
  if (const Number* number = special_conversion(type.name)) return {*number};
  const auto bytes = static_cast<std::uint32_t>(type.size);
  switch (type.element) {
    case Element::float80:
      return {kExtended};
    case Element::complex32:
    case Element::complex64:
    case Element::complex128:
      return {same(bytes / 2), 2};
    case Element::complex80:
      return {kExtended, 2};
    case Element::float_int:
    case Element::two_int:
      return {same(4), 1, kIndex, 1};
    case Element::double_int:
      return {same(8), 1, kIndex, 1};
    case Element::long_int:
      return {{Coding::signed_integer, 8, 4}, 1, kIndex, 1};
    case Element::short_int:
      return {same(2), 1, kIndex, 1};
    case Element::long_double_int:
      return {kExtended, 1, kIndex, 1};
    case Element::two_float32:
      return {same(4), 2};
    case Element::two_float64:
      return {same(8), 2};
    case Element::none:
      return bytes > 8 ? ExternalElement{same(bytes / 4), 4}
                       : ExternalElement{same(bytes)};  // > 8: MPI_2COMPLEX, MPI_2DOUBLE_COMPLEX
    default:
      return {same(bytes)};
  }
}

void copy_reversed(const std::byte* from, std::byte* to, std::uint32_t bytes) {
  std::reverse_copy(from, from + bytes, to);
}

base::Error does_not_fit(const Type& type) {
  return base::Error(base::ErrorClass::conversion,
                     "a value of " + std::string(type.name) + " does not fit its external32 size");
}

/// True if the number fits its external32 size: all omitted bytes are 0, or 0xff for a negative
/// number.
bool is_narrow(const std::byte* number, const Number& how) {
  const bool negative = how.coding == Coding::signed_integer &&
                        (number[how.outside - 1] & std::byte{0x80}) != std::byte{0};
  const std::byte filler = negative ? std::byte{0xff} : std::byte{0};
  return std::all_of(number + how.outside, number + how.inside,
                     [&](std::byte byte) { return byte == filler; });
}

/// Write a number in external32; false if it does not fit.
bool write(const std::byte* from, std::byte* to, const Number& how) {
  if (how.coding == Coding::extended) {
    long double value;
    std::memcpy(&value, from, sizeof value);
    const auto wide = static_cast<Quad>(value);
    std::byte bytes[sizeof wide];
    std::memcpy(bytes, &wide, sizeof wide);
    copy_reversed(bytes, to, sizeof wide);
    return true;
  }
  copy_reversed(from, to, how.outside);
  return how.coding == Coding::bytes || is_narrow(from, how);
}

/// Read a number from external32; always true.
bool read(const std::byte* from, std::byte* to, const Number& how) {
  if (how.coding == Coding::extended) {
    Quad wide;
    std::byte bytes[sizeof wide];
    copy_reversed(from, bytes, sizeof wide);
    std::memcpy(&wide, bytes, sizeof wide);
    const auto value = static_cast<long double>(wide);
    std::memset(to, 0, how.inside);
    std::memcpy(to, &value, 10);  // bytes 10 to 15 are padding
    return true;
  }
  copy_reversed(from, to, how.outside);
  if (how.coding == Coding::bytes) return true;
  const bool negative = how.coding == Coding::signed_integer &&
                        (from[0] & std::byte{0x80}) != std::byte{0};
  std::fill(to + how.outside, to + how.inside, negative ? std::byte{0xff} : std::byte{0});
  return true;
}

enum class Direction : std::uint8_t { out, in };

/// Address of the next number: in the packed data (pack()) and in the external32 data.
struct Cursor {
  std::byte* inside;
  std::byte* outside;
};

bool convert(Direction direction, const Number& how, Cursor& at) {
  const bool fits = direction == Direction::out ? write(at.inside, at.outside, how)
                                                : read(at.outside, at.inside, how);
  at.inside += how.inside;
  at.outside += how.outside;
  return fits;
}

/// Convert the packed data of one item to or from external32. Errors: conversion (a number does not
/// fit).
base::Status convert_item(Direction direction, const Type& type, Cursor& at) {
  const Type* refused = nullptr;
  visit_elements(term_of(type, 1), type.size, [&](const Type& element, std::uint64_t items) {
    const ExternalElement how = element_of(element);
    bool fits = true;
    for (std::uint64_t item = 0; item < items; ++item) {
      for (std::uint32_t i = 0; i < how.numbers; ++i)
        fits = convert(direction, how.number, at) && fits;
      for (std::uint32_t i = 0; i < how.seconds; ++i)
        fits = convert(direction, how.second, at) && fits;
    }
    if (!fits && refused == nullptr) refused = &element;
  });
  if (refused != nullptr) return does_not_fit(*refused);
  return {};
}

}  // namespace

std::uint64_t external_size(const Type& type, std::uint64_t count) {
  std::uint64_t bytes = 0;
  visit_elements(term_of(type, 1), type.size, [&](const Type& element, std::uint64_t items) {
    bytes += items * element_of(element).outside();
  });
  return bytes * count;
}

base::Status pack_external(const Type& type, const void* items, std::uint64_t count,
                           std::span<std::byte> out) {
  std::vector<std::byte> item(type.size);
  std::byte* to = out.data();
  for (std::uint64_t i = 0; i < count; ++i) {
    pack(type, items, i * type.size, item);
    Cursor at{item.data(), to};
    SHIM_TRY(convert_item(Direction::out, type, at));
    to = at.outside;
  }
  return {};
}

base::Status unpack_external(const Type& type, std::span<const std::byte> in, void* items,
                             std::uint64_t count) {
  std::vector<std::byte> item(type.size), stream(in.begin(), in.end());
  std::byte* from = stream.data();
  for (std::uint64_t i = 0; i < count; ++i) {
    Cursor at{item.data(), from};
    SHIM_TRY(convert_item(Direction::in, type, at));
    unpack(type, item, i * type.size, items);
    from = at.outside;
  }
  return {};
}

}  // namespace shim::types
