// SPDX-License-Identifier: BSD-3-Clause
// Parses process sets written by the user. A setting has "ocean=0-3;atmosphere=4-7", a file one set
// per line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shim/sessions/group.hpp"

namespace shim::sessions {

struct NamedGroup {
  std::string name;
  GroupPtr group;
};

/// Error in an entry; lines and columns count from 1, in bytes.
struct PsetTextError {
  int line = 1;
  int column = 1;
  std::string text;
};

struct PsetText {
  std::vector<NamedGroup> sets;
  std::vector<PsetTextError> complaints;
};

/// Parse entries:  NAME = item,item,…     item: RANK, FIRST-LAST or FIRST-LAST:STRIDE
/// Blanks are ignored.
///
/// Entries end at the separator (';' or '\n'); '#' begins a comment up to the end of its line. An
/// invalid entry (ranks outside the world or repeated, backward ranges, a name that is empty,
/// taken, or of the mpi:// and mpix:// schemes) is skipped with an error text; the others are kept.
PsetText parse_psets(std::string_view text, char separator, std::uint32_t world_size);

}  // namespace shim::sessions
