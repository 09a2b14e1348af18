// SPDX-License-Identifier: BSD-3-Clause
// Defines the names of process sets and their comparison.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace shim::sessions {

inline constexpr std::string_view kWorldName = "mpi://WORLD", kSelfName = "mpi://SELF",
                                  kSharedName = "mpix://SHARED";
inline constexpr std::string_view kNodePrefix = "mpix://NODE/", kAppPrefix = "mpix://APP/";
inline constexpr std::string_view kNumaPrefix = "mpix://NUMA/", kSocketPrefix = "mpix://SOCKET/";

inline std::string lowered(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return result;
}

/// True for the schemes mpi:// (the standard's, MPI-4.1 §11.3.2) and mpix:// (this library's).
inline bool is_reserved_name(std::string_view name) {
  std::string lower = lowered(name);
  return lower.starts_with("mpi://") || lower.starts_with("mpix://");
}

/// True if the names are equal; names of the reserved schemes ignore case.
inline bool same_pset_name(std::string_view a, std::string_view b) {
  return a == b || (is_reserved_name(a) && lowered(a) == lowered(b));
}

/// Return one spelling for all spellings of a name, for sets and maps of names.
inline std::string canonical_pset_name(std::string_view name) {
  return is_reserved_name(name) ? lowered(name) : std::string(name);
}

}  // namespace shim::sessions
