// SPDX-License-Identifier: BSD-3-Clause
// Signature is the sequence of predefined elements in the data of a type (MPI-4.1 §5.1).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shim/types/types.hpp"

namespace shim::types {

/// The signature of a type whose elements have different predefined types, as a tree of
/// repetitions. Immutable; shared by types.
struct Signature {
  /// `count` items of a predefined type, or of an inner signature if `element` is null.
  struct Term {
    std::uint64_t count = 0;
    const Type* element = nullptr;
    SignaturePtr inner;
    std::uint64_t item_bytes = 0;  ///< bytes of data in each of the items
  };
  std::vector<Term> terms;

  /// Return a signature of these terms; adjacent equal terms are merged.
  static SignaturePtr of(std::span<const Term> terms);
};

/// Return `count` items of a type as a term.
Signature::Term term_of(const Type& type, std::uint64_t count);

/// Call visit(predefined type, number of items) for each sequence of equal elements in the first
/// `bytes` bytes of the data that a term describes, in order, without an incomplete last element.
/// Return the number of bytes visited.
template <typename Visit>
std::uint64_t visit_elements(const Signature::Term& term, std::uint64_t bytes, Visit&& visit) {
  if (term.item_bytes == 0) return 0;
  if (term.element != nullptr) {
    const std::uint64_t items = std::min(term.count, bytes / term.item_bytes);
    if (items > 0) visit(*term.element, items);
    return items * term.item_bytes;
  }
  std::uint64_t seen = 0;
  for (std::uint64_t item = 0; item < term.count; ++item)
    for (const Signature::Term& part : term.inner->terms) {
      const std::uint64_t whole = part.count * part.item_bytes;
      const std::uint64_t got = visit_elements(part, bytes - seen, visit);
      seen += got;
      if (got < whole) return seen;
    }
  return seen;
}

/// Return the basic elements in the first `bytes` bytes of data of an array of items, for
/// MPI_Get_elements; no value if the bytes end inside an element (MPI-4.1 §5.1.11).
std::optional<std::uint64_t> elements_in(const Type& type, std::uint64_t bytes);
/// Return the bytes of data of the first `elements` basic elements of an array of items, for
/// MPI_Status_set_elements.
std::uint64_t bytes_of_elements(const Type& type, std::uint64_t elements);

}  // namespace shim::types
