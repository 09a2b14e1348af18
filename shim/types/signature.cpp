// SPDX-License-Identifier: BSD-3-Clause
#include "shim/types/signature.hpp"

namespace shim::types {
namespace {

/// Return the bytes of a pair's value. Value and index are one basic element each.
std::uint64_t first_part_of(const Type& pair) {
  return pair.element == Element::two_float64 ? 8 : pair.size - 4;
}

/// Return the predefined type of the element that begins at byte `at` of one item's data.
const Type* element_at(const Signature::Term& term, std::uint64_t at) {
  if (term.element != nullptr) return term.element;
  at %= term.item_bytes;
  for (const Signature::Term& part : term.inner->terms) {
    const std::uint64_t whole = part.count * part.item_bytes;
    if (at < whole) return element_at(part, at);
    at -= whole;
  }
  return nullptr;
}

}  // namespace

TypePtr share(Type type) {
  auto made = std::make_shared<Type>(std::move(type));
  made->self = made;
  return made;
}

SignaturePtr Signature::of(std::span<const Term> terms) {
  auto made = std::make_shared<Signature>();
  for (const Term& term : terms) {
    const bool is_more = !made->terms.empty() && term.element != nullptr &&
                         made->terms.back().element == term.element;
    if (is_more)
      made->terms.back().count += term.count;
    else
      made->terms.push_back(term);
  }
  return made;
}

Signature::Term term_of(const Type& type, std::uint64_t count) {
  if (type.base == nullptr) return {count, nullptr, type.signature, type.size};
  return {type.base->size == 0 ? 0 : count * (type.size / type.base->size), type.base, nullptr,
          type.base->size};
}

std::optional<std::uint64_t> elements_in(const Type& type, std::uint64_t bytes) {
  if (type.size == 0) return 0;
  const Signature::Term item = term_of(type, 1);
  std::uint64_t elements = bytes / type.size * type.elements;
  const std::uint64_t rest = bytes % type.size;
  const std::uint64_t seen = visit_elements(
      item, rest,
      [&](const Type& element, std::uint64_t items) { elements += items * element.elements; });
  if (seen == rest) return elements;
  const Type* begun = element_at(item, seen);
  if (begun->elements == 2 && rest - seen == first_part_of(*begun)) return elements + 1;
  return std::nullopt;
}

std::uint64_t bytes_of_elements(const Type& type, std::uint64_t elements) {
  if (type.elements == 0) return 0;
  std::uint64_t bytes = elements / type.elements * type.size, left = elements % type.elements;
  visit_elements(term_of(type, 1), type.size, [&](const Type& element, std::uint64_t items) {
    const std::uint64_t whole = std::min(items, left / element.elements);
    bytes += whole * element.size;
    left -= whole * element.elements;
    if (whole < items && left > 0) {  // the first part of a pair
      bytes += first_part_of(element);
      left = 0;
    }
  });
  return bytes;
}

}  // namespace shim::types
