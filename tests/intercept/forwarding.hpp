// SPDX-License-Identifier: BSD-3-Clause
// Forwarding tests: the table of the library below is replaced by functions that write down their arguments; then each entry
// point is called with arguments that all differ, and must have passed on exactly those, to its own slot and to no other.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "shim/intercept/abi/handle.hpp"
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

/// The handle that a parameter is (by value), or the kind of those it points to.
template <abi::Kind the_kind = abi::Kind::none, bool is_by_value = false>
struct Carries {
  static constexpr abi::Kind kind = the_kind;
  static constexpr bool by_value = is_by_value;
};

/// Writes the handle where a pointer argument points to; tools have pointers to handles of any kind.
template <class T, class Carried>
void put_behind(std::size_t parameter, abi::Bits handle) {
  if constexpr (Carried::kind != abi::Kind::none) {
    const auto value = abi::from_bits<std::remove_cv_t<std::remove_pointer_t<T>>>(handle);
    std::memcpy(area(parameter), &value, sizeof value);
  } else {
    std::memcpy(area(parameter), &handle, sizeof handle);
  }
}

/// A distinct argument, or the handle if there is one: by value, or as the first one pointed to.
template <class T, class Carried>
T handle_or_distinct(std::size_t parameter, abi::Bits handle) {
  if constexpr (Carried::by_value) {
    return handle != 0 ? abi::from_bits<T>(handle) : distinct<T>(parameter);
  } else {
    if (handle != 0) put_behind<T, Carried>(parameter, handle);
    return distinct<T>(parameter);
  }
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

  /// Calls an entry point with a handle in the place of one parameter.
  template <class... Carried>
  struct WithHandle {
    template <class Entry, std::size_t... i>
    static std::uint64_t call(Entry entry, std::size_t place, abi::Bits handle, std::index_sequence<i...>) {
      return bits(entry(handle_or_distinct<A, Carried>(i, i == place ? handle : 0)...));
    }
    template <class Entry>
    static std::uint64_t call(Entry entry, std::size_t place, abi::Bits handle) {
      return call(entry, place, handle, std::index_sequence_for<A...>());
    }
  };
  static constexpr bool kReturnsCode = std::is_same_v<R, int>;
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
struct EntryPoint {
  const char* function;
  bool is_forwarded;      ///< do calls on objects of the library below reach it?
  int address_that_decides;  ///< the parameter whose pointed-to handles decide; -1 where handles are given by value alone
  std::pair<Recorded, bool> (*through_mpi)();
  std::pair<Recorded, bool> (*through_pmpi)();
  std::span<const abi::Kind> kinds;  ///< of the handles that the parameters carry
  std::span<const bool> by_value;    ///< is it the parameter itself?
  std::uint64_t (*with_handle)(std::size_t parameter, abi::Bits handle);
  bool returns_code;
  std::uint64_t address, recorder;  ///< where MPI_X begins, and what its slot holds
};
void PrintTo(const EntryPoint& entry, std::ostream* stream);

/// A type without the const of what it points to, which MPI-4.1 added to some parameters.
template <class T>
struct Plain { using type = T; };
template <class T>
struct Plain<const T*> { using type = T*; };
template <class R, class... A>
struct Plain<R (*)(A...)> { using type = R (*)(typename Plain<A>::type...); };
template <class R, class... A>
struct Plain<R (*)(A..., ...)> { using type = R (*)(typename Plain<A>::type..., ...); };

template <class... Carried>
struct AllCarried {
  static constexpr std::array<abi::Kind, sizeof...(Carried)> kinds = {Carried::kind...};
  static constexpr std::array<bool, sizeof...(Carried)> by_value = {Carried::by_value...};
};

template <auto slot, auto mpi, auto pmpi, class... Carried>
EntryPoint entry_point(const char* function, bool is_forwarded, int address_that_decides) {
  using R = RecorderOf<slot>;
  using Entry = typename decltype(signature_of(slot))::type*;
  static_assert(std::is_same_v<typename Plain<decltype(mpi)>::type, typename Plain<Entry>::type>);
  static_assert(std::is_same_v<decltype(mpi), decltype(pmpi)>);
  return {function, is_forwarded, address_that_decides, [] { return R::exercise(reinterpret_cast<Entry>(mpi)); },
          [] { return R::exercise(reinterpret_cast<Entry>(pmpi)); },
          AllCarried<Carried...>::kinds, AllCarried<Carried...>::by_value,
          [](std::size_t parameter, abi::Bits handle) { return R::template WithHandle<Carried...>::call(reinterpret_cast<Entry>(mpi), parameter, handle); },
          R::kReturnsCode, bits(mpi), bits(static_cast<Entry>(R::call))};
}

// Generated: every slot, every function.
void record_all(Table& table);
const std::vector<EntryPoint>& entry_points();

}  // namespace shim::intercept::testing
