// SPDX-License-Identifier: BSD-3-Clause
// Predefined handles of the substrate. MPICH's are constants. Open MPI's are addresses of its
// library's data; Intersession does not link with that library and looks each address up by name,
// once.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "shim/base/result.hpp"
#include "shim/intercept/abi/handle.hpp"
#include "shim/types/types.hpp"

namespace shim::intercept::abi {

/// A predefined handle; unset until resolved, and if the substrate has no such object. Relaxed: the
/// value never changes once set, and a thread that holds an object of Intersession has synchronised
/// with its creation, which follows the resolution.
template <typename H>
class Predefined {
 public:
  operator H() const noexcept {
    return handle_.load(std::memory_order_relaxed);
  }  // NOLINT(google-explicit-constructor)
  void set(H handle) noexcept { handle_.store(handle, std::memory_order_relaxed); }

 private:
  std::atomic<H> handle_{};
};

struct PredefinedHandles {
  Predefined<MPI_Comm> comm_null, comm_world, comm_self;
  Predefined<MPI_Group> group_null, group_empty;
  Predefined<MPI_Request> request_null;
  Predefined<MPI_Message> message_null, message_no_proc;
  Predefined<MPI_Datatype> datatype_null;
  Predefined<MPI_Op> op_null;
  Predefined<MPI_Errhandler> errhandler_null, errors_are_fatal, errors_return;
  Predefined<MPI_Info> info_null, info_env;
  Predefined<MPI_Win> win_null;
  Predefined<MPI_File> file_null;
};
extern constinit PredefinedHandles predefined;

/// Return the address of a symbol as the program itself resolves it; null if there is none.
using SymbolLookup = void* (*)(const char* name);

/// Resolve all predefined handles. Any thread, any number of times; does nothing after a success.
/// Errors: other (the program has no substrate; the text names the setting).
base::Status resolve_predefined(SymbolLookup lookup);

/// Map from handle to description: open addressing, filled once, read without a lock.
template <typename Value, std::size_t kSlots>
class HandleMap {
 public:
  const Value* find(Bits handle) const noexcept {
    for (std::size_t at = home_slot(handle);; at = (at + 1) % kSlots) {
      const Bits key = slots_[at].key.load(
          std::memory_order_acquire);  // pairs with the release in insert()
      if (key == handle && key != 0) return slots_[at].value;
      if (key == 0) return nullptr;
    }
  }
  /// One thread at a time; at most kSlots - 1 keys in total.
  void insert(Bits handle, const Value* value) noexcept {
    std::size_t at = home_slot(handle);
    while (slots_[at].key.load(std::memory_order_relaxed) != 0) at = (at + 1) % kSlots;
    slots_[at].value = value;
    slots_[at].key.store(handle, std::memory_order_release);  // pairs with the acquire in find()
  }
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& slot : slots_)
      if (const Bits key = slot.key.load(std::memory_order_acquire)) visit(key, *slot.value);
  }

 private:
  static std::size_t home_slot(Bits handle) noexcept {
    // Fibonacci hashing: aligned addresses and small integers both differ in the upper bits
    return static_cast<std::size_t>(handle * 0x9e3779b97f4a7c15u >> 40) % kSlots;
  }
  struct Slot {
    std::atomic<Bits> key{0};
    const Value* value = nullptr;
  };
  std::array<Slot, kSlots> slots_;
};

extern constinit HandleMap<types::Type, 256> predefined_types;
extern constinit HandleMap<types::Op, 32> predefined_ops;

/// Return null for handles that are not predefined. On the path of every communication call.
inline const types::Type* find_type(MPI_Datatype handle) noexcept {
  return predefined_types.find(bits(handle));
}
inline const types::Op* find_op(MPI_Op handle) noexcept {
  return predefined_ops.find(bits(handle));
}

/// Return the handle of a predefined type, for MPI_Type_get_contents; MPI_DATATYPE_NULL if there is
/// none.
MPI_Datatype handle_of(const types::Type& type) noexcept;

// Implemented by each substrate's predefined.cpp.

/// Return the Fortran integer of a predefined object that is not null, for a library whose handles
/// are not integers (abi/fortran.hpp).
std::optional<MPI_Fint> integer_of_predefined(SymbolLookup lookup, Bits handle);
/// Return 0 if there is none.
Bits predefined_of_integer(SymbolLookup lookup, HandleKind kind, MPI_Fint integer);

/// Return MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY; valid once the handles are resolved.
const int* unweighted() noexcept;
const int* weights_empty() noexcept;

/// True if the program contains a library with this substrate's ABI.
bool has_library(SymbolLookup lookup);
/// Fill `predefined`.
void resolve_handles(SymbolLookup lookup);
/// Call insert for every predefined datatype, with its MPI name, and for every operation.
void resolve_types(SymbolLookup lookup,
                   const std::function<void(Bits handle, std::string_view name)>& insert);
void resolve_ops(SymbolLookup lookup,
                 const std::function<void(Bits handle, types::Operator op)>& insert);

}  // namespace shim::intercept::abi
