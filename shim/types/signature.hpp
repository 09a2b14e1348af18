// SPDX-License-Identifier: BSD-3-Clause
// Which predefined elements the data of a type is made of, in the order in which it travels (MPI-4.1 §5.1: the type signature).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shim/types/types.hpp"

namespace shim::types {

/// The signature of a type whose elements are of different kinds, as a tree of repetitions. Immutable; shared by types.
struct Signature {
  /// So many items of a predefined type, or, where that is null, of what another signature says.
  struct Term {
    std::uint64_t count = 0;
    const Type* element = nullptr;
    SignaturePtr inner;
    std::uint64_t item_bytes = 0;
  };
  std::vector<Term> terms;

  /// Neighbours that are alike become one.
  static SignaturePtr of(std::span<const Term> terms);
};

/// `count` items of a type as a term.
Signature::Term term_of(const Type& type, std::uint64_t count);

/// Calls visit(predefined type, items of it) for the runs of equal elements in the first `bytes` bytes of data of an array of items,
/// in order. An element that is not there as a whole at the end is left out. Answers how many bytes were visited.
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

/// Basic elements in the first `bytes` bytes of data of an array of items, for MPI_Get_elements: nothing where they end inside an
/// element (MPI-4.1 §5.1.11).
std::optional<std::uint64_t> elements_in(const Type& type, std::uint64_t bytes);
/// The other way round, for MPI_Status_set_elements: bytes of data of so many basic elements of an array of items.
std::uint64_t bytes_of_elements(const Type& type, std::uint64_t elements);

}  // namespace shim::types
