// SPDX-License-Identifier: BSD-3-Clause
// Section is a titled list of rows, each with a label and a text; text_of() formats sections.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shim/sessions/group.hpp"

namespace shim::info {

struct ReportRow {
  std::string label;
  std::string text;
};

/// A title and rows. text_of() aligns the texts of all rows of a section. An empty label continues
/// the row before.
struct Section {
  std::string title;
  std::vector<ReportRow> rows;

  void add(std::string label, std::string text) {
    rows.push_back({std::move(label), std::move(text)});
  }
};

inline constexpr std::size_t kColumns = 100;

/// Return the text of the sections, with an empty line between them. Long lines are broken at
/// blanks so that they have at most kColumns columns. Longer are lines with a long word (a path),
/// which is not broken, and lines of sections with a label of about half of kColumns or more.
std::string text_of(std::span<const Section> sections);

/// Return ranks as text, in which a range may have a stride: "0-3, 7, 9-15:2" (9, 11, 13, 15).
/// Long texts are truncated as in Group::text(). `ranks` has no duplicates.
std::string ranks_text(std::span<const std::uint32_t> ranks);
std::string ranks_text(const sessions::Group& group);

/// Return the first line of a text, with each control character (also a tab) replaced by a blank.
std::string first_line(std::string_view text);

}  // namespace shim::info
