// SPDX-License-Identifier: BSD-3-Clause
// Forwarding tests: the table of the library below is replaced by functions that write down their arguments; then each entry
// point is called with arguments that all differ, and must have passed on exactly those, to its own slot and to no other.
#pragma once

#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "shim/intercept/generated/table.hpp"

namespace shim::intercept::testing {

/// A call that arrived below.
struct Recorded {
  std::string function;
  std::vector<std::uint64_t> arguments;  ///< as bits
  bool operator==(const Recorded&) const = default;
};

void PrintTo(const Recorded& call, std::ostream* stream);

/// What arrived since it was last cleared.
std::vector<Recorded>& recorded();


/// Memory for pointer arguments, zero throughout: null handles, wherever an entry point looks into it.
inline constexpr std::size_t kMaxParameters = 16;
inline constexpr std::size_t kAreaBytes = 64 * 1024;
std::byte* area(std::size_t parameter);

/// A value of type T that no other parameter has. Small enough as a count that the handles counted are inside an area.
template <class T>
T distinct(std::size_t parameter) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(area(parameter));
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(1);  // no call has two of these, and their values are few
  } else {
    return static_cast<T>(1000 + 17 * parameter);
  }
}

template <class T>
std::uint64_t bits(T value) {
  std::uint64_t result = 0;
  static_assert(sizeof value <= sizeof result);
  std::memcpy(&result, &value, sizeof value);
  return result;
}

/// What a recorder returns: nothing that a wrapper would make up by itself.
template <class R>
R returned() {
  return distinct<R>(kMaxParameters);
}

/// The recording function of one slot.
template <auto slot, class Signature>
struct Recorder;

template <auto slot, class R, class... A>
struct Recorder<slot, R(A...)> {
  static inline const char* name = nullptr;
  static R call(A... arguments) {
    recorded().push_back({name, {bits(arguments)...}});
    return returned<R>();
  }
  /// Calls an entry point, and answers what must have arrived below and whether the right value came back.
  template <class Entry, std::size_t... i>
  static std::pair<Recorded, bool> exercise(Entry entry, std::index_sequence<i...>) {
    const bool right = bits(entry(distinct<A>(i)...)) == bits(returned<R>());
    return {{name, {bits(distinct<A>(i))...}}, right};
  }
  template <class Entry>
  static std::pair<Recorded, bool> exercise(Entry entry) { return exercise(entry, std::index_sequence_for<A...>()); }
};

template <auto slot, class R, class... A>
struct Recorder<slot, R(A..., ...)> : Recorder<slot, R(A...)> {
  static R call(A... arguments, ...) { return Recorder<slot, R(A...)>::call(arguments...); }
};

template <class Signature>
std::type_identity<Signature> signature_of(Slot<Signature> Table::*);
template <auto slot>
using RecorderOf = Recorder<slot, typename decltype(signature_of(slot))::type>;

/// Puts the recorder into the slot.
template <auto slot>
void record(Table& table, const char* name) {
  RecorderOf<slot>::name = name;
  (table.*slot).set(RecorderOf<slot>::call);
}

/// One function and its two entry points, which have the slot's own type: else this does not compile.
struct Forwarding {
  const char* function;
  std::pair<Recorded, bool> (*through_mpi)();
  std::pair<Recorded, bool> (*through_pmpi)();
};
void PrintTo(const Forwarding& forwarding, std::ostream* stream);

template <auto slot, auto mpi, auto pmpi>
Forwarding forwarding(const char* function) {
  static_assert(std::is_same_v<decltype(mpi), typename decltype(signature_of(slot))::type*>);
  static_assert(std::is_same_v<decltype(mpi), decltype(pmpi)>);
  return {function, [] { return RecorderOf<slot>::exercise(mpi); }, [] { return RecorderOf<slot>::exercise(pmpi); }};
}

// Generated: every slot; every function of which calls on objects of the library below reach it.
void record_all(Table& table);
const std::vector<Forwarding>& forwardings();

}  // namespace shim::intercept::testing
