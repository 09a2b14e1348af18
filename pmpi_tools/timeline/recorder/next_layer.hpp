// SPDX-License-Identifier: BSD-3-Clause
// Finds the functions of the next layer: the library after this tool in the order of symbol lookup.
#pragma once

namespace timeline {

/// Return the function with this name in the next library in the order of symbol lookup, else in
/// any loaded library (an MPI library loaded by an interpreter extension is not globally visible).
/// If there is none, end the program with an error: without this tool it could not have been
/// linked.
void* find_in_next_layer(const char* name);

template <typename Signature>
struct NextLayer;

template <typename Result, typename... Arguments>
struct NextLayer<Result(Arguments...)> {
  explicit NextLayer(const char* name)
      : function(reinterpret_cast<Result (*)(Arguments...)>(find_in_next_layer(name))) {}
  Result (*const function)(Arguments...);
};

}  // namespace timeline
