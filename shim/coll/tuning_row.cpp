// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/tuning_row.hpp"

#include "shim/base/parsing.hpp"

namespace shim::coll {
namespace {

using base::take_word;

base::Error error(std::string what) { return {base::ErrorClass::arg, std::move(what)}; }

template <typename Number>
struct Range {
  Number first, last;
};

/// Return the range N, N-M or N-; nothing if the word is no range or its limits are out of order.
template <typename Number>
std::optional<Range<Number>> range_from(std::string_view word, Number least, Number most) {
  const auto number_at = [&](std::string_view& text) -> std::optional<Number> {
    const auto number = base::take_number<Number>(text);
    return number && *number >= least && *number <= most ? number : std::nullopt;
  };
  const auto first = number_at(word);
  if (!first) return std::nullopt;
  if (word.empty()) return Range<Number>{*first, *first};
  if (word.front() != '-') return std::nullopt;
  word.remove_prefix(1);
  if (word.empty()) return Range<Number>{*first, most};
  const auto last = number_at(word);
  if (!last || !word.empty() || *last < *first) return std::nullopt;
  return Range<Number>{*first, *last};
}

}  // namespace

std::string quoted(std::string_view word) {
  constexpr std::size_t kLongest = 40;
  std::string text(word.substr(0, kLongest));
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return "\"" + text + (word.size() > kLongest ? "...\"" : "\"");
}

base::Result<std::optional<TuningRow>> parse_tuning_row(std::string_view line) {
  TuningRow row;
  row.collective = take_word(line);
  if (row.collective.empty() || row.collective.front() == '#') return std::optional<TuningRow>();
  row.algorithm = take_word(line);
  const std::string_view sizes = take_word(line), bytes = take_word(line), memory = take_word(line);
  if (memory.empty())
    return error("fewer than 5 fields; write COLLECTIVE ALGORITHM PROCESSES BYTES MEMORY");
  const auto size_range = range_from<int>(sizes, 1, kMaxTuningProcesses);
  if (!size_range)
    return error(quoted(sizes) + " is no range of processes; write N, N-M or N-, ascending");
  row.when.min_size = size_range->first;
  row.when.max_size = size_range->last;
  const auto byte_range = range_from<std::uint64_t>(bytes, 0, kMaxTuningBytes);
  if (!byte_range)
    return error(quoted(bytes) + " is no range of bytes; write N, N-M or N-, ascending");
  row.when.min_bytes = byte_range->first;
  row.when.max_bytes = byte_range->last;
  if (memory == "memory")
    row.when.wants = MemorySharing::memory;
  else if (memory == "segment")
    row.when.wants = MemorySharing::segment;
  else if (memory != "any")
    return error("unknown memory " + quoted(memory) + "; use any, memory or segment");
  for (std::string_view word = take_word(line); !word.empty(); word = take_word(line)) {
    if (word == "power_of_two")
      row.when.needs_power_of_two = true;
    else if (word == "commutative")
      row.when.needs_commutative = true;
    else
      return error("unknown restriction " + quoted(word) + "; use power_of_two or commutative");
  }
  return std::optional(row);
}

}  // namespace shim::coll
