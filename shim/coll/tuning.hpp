// SPDX-License-Identifier: BSD-3-Clause
// A tuning file is a text with rows for AlgorithmTable, written by bench/algorithms.
//
// The first line is "intersession-coll-tuning 1". Each further line is one row, empty, or a comment
// that begins with #. Fields of a row, separated by blanks:
//
//   COLLECTIVE ALGORITHM PROCESSES BYTES MEMORY [power_of_two] [commutative]
//
//   COLLECTIVE  a name of for_each_collective()
//   ALGORITHM   the name of a row of the table up to its comma, with _ for blanks; or no_segment or
//               no_inline, which exclude algorithms of that kind
//   PROCESSES   N, N-M or N-: sizes of the communicator
//   BYTES       as PROCESSES: the length that AlgorithmTable states
//   MEMORY      any; memory: members may read each other's memory; segment: they share memory, but
//               may not
//   the rest    the row is only for powers of two of processes, for operations that commute
//
// Rows precede the rows of the same kind that are compiled in, in the order of the file. The parser
// adds the needs of each algorithm: a file cannot make a collective incorrect.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "shim/base/result.hpp"

namespace shim::coll {

struct AlgorithmTable;

using AlgorithmTablePtr = std::shared_ptr<const AlgorithmTable>;

/// Most rows of a file, because each is compared with all others.
inline constexpr int kMaxTuningRows = 4096;

/// Return the table of a tuning file's text. Errors: arg (with `name`, the line, and a remedy): an
/// unknown first line, collective, algorithm, memory or restriction; a range that is not a range;
/// an algorithm that no communicator of these sizes can run; two rows of a kind for the same case.
base::Result<AlgorithmTablePtr> parse_tuning(std::string_view text, const std::string& name);

/// Return the table that a process uses.
/// @param setting INTERSESSION_COLL_TUNING: a path; a name without a slash is a file of the folder
/// of installed files; empty: the table that is compiled in
/// Errors: parse_tuning()'s and base::read_file()'s, with the file's name.
base::Result<AlgorithmTablePtr> load_tuning(const std::string& setting);

}  // namespace shim::coll
