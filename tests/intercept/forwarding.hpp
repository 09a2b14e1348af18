// SPDX-License-Identifier: BSD-3-Clause
// Provides helpers for forwarding tests. Recorders, which record their arguments, replace the
// functions of the native library's table. Each entry point is called with distinct arguments, and
// must pass exactly these to its own slot and to no other.
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

/// A recorded call of a native function.
struct Recorded {
  std::string function;
  std::vector<std::uint64_t> arguments;  ///< bit patterns
  bool operator==(const Recorded&) const = default;
};

void PrintTo(const Recorded& call, std::ostream* stream);

/// Return the calls recorded since the list was last cleared.
std::vector<Recorded>& recorded();

/// Return zeroed memory for the pointer argument `parameter`: entry points read null handles from
/// it.
inline constexpr std::size_t kMaxParameters = 16;
inline constexpr std::size_t kAreaBytes = 64 * 1024;
std::byte* area(std::size_t parameter);

/// Return a value of type T that no other parameter has. As a count it is small enough that an area
/// has the counted handles.
template <class T>
T distinct(std::size_t parameter) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(area(parameter));
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(1);  // no call has two enumerators; enumerations have few values
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

/// The kind of the handle that a parameter is (by value) or points to.
template <abi::HandleKind the_kind = abi::HandleKind::none, bool is_by_value = false>
struct Carries {
  static constexpr abi::HandleKind kind = the_kind;
  static constexpr bool by_value = is_by_value;
};

/// Write the handle to the memory of a pointer argument. Functions for tools have pointers to
/// handles of any kind.
template <class T, class Carried>
void put_behind(std::size_t parameter, abi::Bits handle) {
  if constexpr (Carried::kind != abi::HandleKind::none) {
    const auto value = abi::from_bits<std::remove_cv_t<std::remove_pointer_t<T>>>(handle);
    std::memcpy(area(parameter), &value, sizeof value);
  } else {
    std::memcpy(area(parameter), &handle, sizeof handle);
  }
}

/// Return a distinct argument, or pass the handle if it is not 0: by value, or as the first
/// pointee.
template <class T, class Carried>
T handle_or_distinct(std::size_t parameter, abi::Bits handle) {
  if constexpr (Carried::by_value) {
    return handle != 0 ? abi::from_bits<T>(handle) : distinct<T>(parameter);
  } else {
    if (handle != 0) put_behind<T, Carried>(parameter, handle);
    return distinct<T>(parameter);
  }
}

/// Return the return value of recorders, which no wrapper would return by itself.
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
  /// Call an entry point; return the expected native call, and true if the return value is right.
  template <class Entry, std::size_t... i>
  static std::pair<Recorded, bool> exercise(Entry entry, std::index_sequence<i...>) {
    const bool right = bits(entry(distinct<A>(i)...)) == bits(returned<R>());
    return {{name, {bits(distinct<A>(i))...}}, right};
  }
  template <class Entry>
  static std::pair<Recorded, bool> exercise(Entry entry) {
    return exercise(entry, std::index_sequence_for<A...>());
  }

  /// Call an entry point with a handle as one parameter.
  template <class... Carried>
  struct WithHandle {
    template <class Entry, std::size_t... i>
    static std::uint64_t call(Entry entry, std::size_t index, abi::Bits handle,
                              std::index_sequence<i...>) {
      return bits(entry(handle_or_distinct<A, Carried>(i, i == index ? handle : 0)...));
    }
    template <class Entry>
    static std::uint64_t call(Entry entry, std::size_t index, abi::Bits handle) {
      return call(entry, index, handle, std::index_sequence_for<A...>());
    }
  };
  static constexpr bool kReturnsCode = std::is_same_v<R, int>;
};

template <auto slot, class R, class... A>
struct Recorder<slot, R(A..., ...)> : Recorder<slot, R(A...)> {
  static R call(A... arguments, ...) { return Recorder<slot, R(A...)>::call(arguments...); }
};

template <class Signature>
std::type_identity<Signature> signature_of(AtomicFunction<Signature> Table::*);
template <auto slot>
using RecorderOf = Recorder<slot, typename decltype(signature_of(slot))::type>;

/// Put the recorder into the slot.
template <auto slot>
void record(Table& table, const char* name) {
  RecorderOf<slot>::name = name;
  (table.*slot).set(RecorderOf<slot>::call);
}

/// One function and its two entry points. It compiles only if their type is the type of the slot.
struct EntryPoint {
  const char* function;
  bool is_forwarded;  ///< calls on objects of the native library reach the slot
  /// Index of the pointer parameter whose handles select the library; -1 if all are by value.
  int address_that_decides;
  std::pair<Recorded, bool> (*through_mpi)();
  std::pair<Recorded, bool> (*through_pmpi)();
  std::span<const abi::HandleKind> kinds;  ///< of each parameter's handle
  std::span<const bool> by_value;          ///< the parameter itself is the handle
  std::uint64_t (*with_handle)(std::size_t parameter, abi::Bits handle);
  bool returns_code;
  std::uint64_t address, recorder;  ///< of MPI_X, and of the function in its slot
};
void PrintTo(const EntryPoint& entry, std::ostream* stream);

/// A pointer type without const of its pointee, which MPI-4.1 added to some parameters.
template <class T>
struct Plain {
  using type = T;
};
template <class T>
struct Plain<const T*> {
  using type = T*;
};
template <class R, class... A>
struct Plain<R (*)(A...)> {
  using type = R (*)(typename Plain<A>::type...);
};
template <class R, class... A>
struct Plain<R (*)(A..., ...)> {
  using type = R (*)(typename Plain<A>::type..., ...);
};

template <class... Carried>
struct AllCarried {
  static constexpr std::array<abi::HandleKind, sizeof...(Carried)> kinds = {Carried::kind...};
  static constexpr std::array<bool, sizeof...(Carried)> by_value = {Carried::by_value...};
};

template <auto slot, auto mpi, auto pmpi, class... Carried>
EntryPoint entry_point(const char* function, bool is_forwarded, int address_that_decides) {
  using R = RecorderOf<slot>;
  using Entry = typename decltype(signature_of(slot))::type*;
  static_assert(std::is_same_v<typename Plain<decltype(mpi)>::type, typename Plain<Entry>::type>);
  static_assert(std::is_same_v<decltype(mpi), decltype(pmpi)>);
  return {function,
          is_forwarded,
          address_that_decides,
          [] { return R::exercise(reinterpret_cast<Entry>(mpi)); },
          [] { return R::exercise(reinterpret_cast<Entry>(pmpi)); },
          AllCarried<Carried...>::kinds,
          AllCarried<Carried...>::by_value,
          [](std::size_t parameter, abi::Bits handle) {
            return R::template WithHandle<Carried...>::call(reinterpret_cast<Entry>(mpi), parameter,
                                                            handle);
          },
          R::kReturnsCode,
          bits(mpi),
          bits(static_cast<Entry>(R::call))};
}

// Generated: every slot, every function.
void record_all(Table& table);
const std::vector<EntryPoint>& entry_points();

}  // namespace shim::intercept::testing
