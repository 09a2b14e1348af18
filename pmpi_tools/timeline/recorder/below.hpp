// SPDX-License-Identifier: BSD-3-Clause
// The MPI that the calls go on to: the next in front of which this tool stands, whichever it is.
#pragma once

namespace timeline {

/// The function of this name in whatever comes after us: the next in the order of symbol lookup, else any library that the program
/// has loaded (an MPI inside an extension of an interpreter is visible to nobody else). Where there is none the program ends with a
/// message: without this tool it could not have been linked.
void* find_below(const char* name);

template <typename Signature>
struct Below;

template <typename Result, typename... Arguments>
struct Below<Result(Arguments...)> {
  explicit Below(const char* name) : function(reinterpret_cast<Result (*)(Arguments...)>(find_below(name))) {}
  Result (*const function)(Arguments...);
};

}  // namespace timeline
