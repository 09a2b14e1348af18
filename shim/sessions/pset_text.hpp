// SPDX-License-Identifier: BSD-3-Clause
// Process sets as the user writes them: in a setting, "ocean=0-3;atmosphere=4-7", or in a file, one a line.
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

/// What is wrong with an entry, and where: lines and columns count from 1, in bytes.
struct PsetComplaint {
  int line = 1;
  int column = 1;
  std::string text;
};

struct PsetText {
  std::vector<NamedGroup> sets;
  std::vector<PsetComplaint> complaints;
};

/// entry:  NAME = item,item,…     item: RANK, FIRST-LAST or FIRST-LAST:STRIDE     blanks around any of them are ignored
///
/// Entries end at the separator (';' or '\n'); a '#' begins a comment that lasts to the end of its line. An entry that is
/// wrong (ranks outside the world or twice, backward ranges, a name that is empty, taken, or of the mpi:// and mpix:// schemes)
/// is left out and complained of; the others hold.
PsetText parse_psets(std::string_view text, char separator, std::uint32_t world_size);

}  // namespace shim::sessions
