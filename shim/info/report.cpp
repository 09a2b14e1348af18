// SPDX-License-Identifier: BSD-3-Clause
#include "shim/info/report.hpp"

#include <algorithm>

#include "shim/base/parsing.hpp"

namespace shim::info {
namespace {

/// Blanks before a label, and between the longest label and the texts.
constexpr std::size_t kIndent = 2, kGap = 2;

/// Return the columns of a UTF-8 text: one per code point, i.e. per byte that is no continuation
/// byte.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

/// Break a text at blanks into lines of at most `width` columns, or of one longer word; indent all
/// lines but the first.
std::string folded(std::string_view text, std::size_t width, std::size_t indent) {
  std::string result;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::string_view word = base::take_until(text, ' ');
    const std::size_t columns = columns_of(word);
    if (used > 0 && used + 1 + columns > width) {
      result += "\n" + std::string(indent, ' ');
      used = 0;
    } else if (used > 0) {
      result += ' ';
      ++used;
    }
    result += word;
    used += columns;
  }
  return result;
}

std::string text_of(const Section& section) {
  std::size_t label_columns = 0;
  for (const ReportRow& row : section.rows)
    label_columns = std::max(label_columns, columns_of(row.label));
  const std::size_t start = kIndent + label_columns + kGap;
  std::string result = section.title + "\n";
  for (const ReportRow& row : section.rows) {
    const std::string padding(label_columns - columns_of(row.label) + kGap, ' ');
    result += std::string(kIndent, ' ') + row.label + padding +
              folded(row.text, kColumns - std::min(start, kColumns / 2), start) + "\n";
  }
  return result;
}

}  // namespace

std::string text_of(std::span<const Section> sections) {
  std::string result;
  for (const Section& section : sections) result += (result.empty() ? "" : "\n") + text_of(section);
  return result;
}

std::string ranks_text(std::span<const std::uint32_t> ranks) {
  return ranks_text(*sessions::Group::of_ranks(ranks));
}

std::string ranks_text(const sessions::Group& group) {
  const std::string braced = group.text();  // "{0-3, 7}"
  return braced.substr(1, braced.size() - 2);
}

std::string first_line(std::string_view text) {
  std::string line(text.substr(0, text.find_first_of("\r\n")));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, ' ');
  return line;
}

}  // namespace shim::info
