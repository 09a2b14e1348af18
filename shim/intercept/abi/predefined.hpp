// SPDX-License-Identifier: BSD-3-Clause
// The substrate's predefined handles. Over Open MPI they are addresses of data of its library, which this library is not
// linked with: they are looked up by name, once.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "shim/base/result.hpp"
#include "shim/types/types.hpp"

namespace shim::intercept::abi {

/// Null until resolved, and where the substrate has no such object. Atomic, relaxed: the values never change once they are
/// there, and whoever holds an object of ours has synchronised with its making, which came after.
template <typename H>
class Predefined {
 public:
  operator H() const noexcept { return handle_.load(std::memory_order_relaxed); }  // NOLINT(google-explicit-constructor)
  void set(void* address) noexcept { handle_.store(static_cast<H>(address), std::memory_order_relaxed); }

 private:
  std::atomic<H> handle_{nullptr};
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

/// Finds the address of a data symbol as the program itself sees it; null where there is none.
using SymbolLookup = void* (*)(const char* name);

/// Looks all of them up. Any thread, any number of times; does nothing once it has succeeded.
/// Errors: other (no substrate in this program; says how to name one).
base::Status resolve_predefined(SymbolLookup lookup);

/// Handle to description, by address: open addressing, filled once, read without a lock.
template <typename Value, std::size_t kSlots>
class HandleMap {
 public:
  const Value* find(const void* handle) const noexcept {
    for (std::size_t at = place(handle);; at = (at + 1) % kSlots) {
      const void* key = slots_[at].key.load(std::memory_order_acquire);  // pairs with the release in insert()
      if (key == handle && key != nullptr) return slots_[at].value;
      if (key == nullptr) return nullptr;
    }
  }
  /// One thread at a time; less than kSlots keys in all.
  void insert(const void* handle, const Value* value) noexcept {
    std::size_t at = place(handle);
    while (slots_[at].key.load(std::memory_order_relaxed) != nullptr) at = (at + 1) % kSlots;
    slots_[at].value = value;
    slots_[at].key.store(handle, std::memory_order_release);  // pairs with the acquire in find()
  }
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& slot : slots_)
      if (const void* key = slot.key.load(std::memory_order_acquire)) visit(key, *slot.value);
  }

 private:
  static std::size_t place(const void* handle) noexcept {
    // Open MPI's objects are 256 or 512 bytes and 32-byte aligned; the multiplication spreads them (Fibonacci hashing)
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(handle) >> 5) * 0x9e3779b97f4a7c15u >> 32) % kSlots;
  }
  struct Slot {
    std::atomic<const void*> key{nullptr};
    const Value* value = nullptr;
  };
  std::array<Slot, kSlots> slots_;
};

extern constinit HandleMap<types::Type, 256> predefined_types;
extern constinit HandleMap<types::Op, 32> predefined_ops;

/// Null for handles that are not predefined. On the path of every communication call.
inline const types::Type* find_type(MPI_Datatype handle) noexcept { return predefined_types.find(handle); }
inline const types::Op* find_op(MPI_Op handle) noexcept { return predefined_ops.find(handle); }

/// The handle of a predefined type, for MPI_Type_get_contents; MPI_DATATYPE_NULL where there is none.
MPI_Datatype handle_of(const types::Type& type) noexcept;

}  // namespace shim::intercept::abi
