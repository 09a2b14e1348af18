// SPDX-License-Identifier: BSD-3-Clause
// A report as data, and its text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shim/sessions/group.hpp"

namespace shim::info {

struct Row {
  std::string label;
  std::string text;
};

/// Rows whose texts begin at one column.
struct Section {
  std::string title;
  std::vector<Row> rows;

  void add(std::string label, std::string text) { rows.push_back({std::move(label), std::move(text)}); }
};

inline constexpr std::size_t kColumns = 100;

/// The sections, an empty line between two. Lines are folded at blanks to kColumns; what has no blank (a path) stays whole.
std::string text_of(std::span<const Section> sections);

/// Ranks with their neighbours taken together: "0-3, 7, 9-15:2".
std::string ranks_text(std::span<const std::uint32_t> ranks);
std::string ranks_text(const sessions::Group& group);

/// The first line, without what would upset a terminal or an alignment: tabs and control characters become blanks.
std::string first_line(std::string_view text);

}  // namespace shim::info
