// SPDX-License-Identifier: BSD-3-Clause
// Reads derived types of the substrate through its own functions. The result is cached on the type
// as an attribute, whose delete function the substrate calls when the type is freed (MPI-4.1
// §7.7.4).
#include <atomic>
#include <mutex>

#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/datatypes/type_contents.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

Error not_known() {
  return Error(ErrorClass::type, "the datatype is unknown to the native MPI library");
}

// A duplicate is a different type: it is read when it is needed.
int copy_nothing(MPI_Datatype, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}
/// Number of types freed so far. Relaxed: a thread that reuses a handle has synchronised with the
/// thread that freed it.
constinit std::atomic<std::uint64_t> freed_types{0};
int delete_cached(MPI_Datatype, int, void* kept, void*) {
  freed_types.fetch_add(1, std::memory_order_relaxed);
  auto* derived = static_cast<DerivedPtr*>(kept);
  (*derived)->record_handle_freed();
  delete derived;
  return MPI_SUCCESS;
}

/// Serialises threads that read types of the substrate, so that no thread replaces another's cached
/// type.
constinit std::mutex reading;
/// Key of the cached types, made by the first reader. Valid until the program ends, because the
/// substrate is initialised once in a program.
constinit std::atomic<int> contents_keyval{MPI_KEYVAL_INVALID};

DerivedPtr* find_cached(MPI_Datatype datatype) {
  const int key = contents_keyval.load(
      std::memory_order_acquire);  // pairs with the release in ensure_keyval()
  if (key == MPI_KEYVAL_INVALID) return nullptr;
  void* kept = nullptr;
  int found = 0;
  const int code = active_table.Type_get_attr(datatype, key, &kept, &found);
  return code == MPI_SUCCESS && found ? static_cast<DerivedPtr*>(kept) : nullptr;
}

base::Status ensure_keyval() {
  if (contents_keyval.load(std::memory_order_relaxed) != MPI_KEYVAL_INVALID) return {};
  int made = MPI_KEYVAL_INVALID;
  if (active_table.Type_create_keyval(copy_nothing, delete_cached, &made, nullptr) != MPI_SUCCESS)
    return Error(ErrorClass::other,
                 "the native MPI library cannot create a key for datatype attributes");
  contents_keyval.store(made, std::memory_order_release);
  return {};
}

/// Numbers of arguments in a type's contents.
struct TypeEnvelope {
  MPI_Count integers = 0, addresses = 0, counts = 0, datatypes = 0;
  int combiner = MPI_COMBINER_NAMED;
};

/// True if the library has large counts. It then returns them in the envelopes of some types, and
/// fails for these types in the old functions.
bool has_large_counts() {
  static const bool has = substrate_symbol("PMPI_Type_get_contents_c") != nullptr;
  return has;
}

base::Result<TypeEnvelope> envelope_of(MPI_Datatype datatype) {
  TypeEnvelope envelope;
  if (has_large_counts()) {
    if (active_table.Type_get_envelope_c(datatype, &envelope.integers, &envelope.addresses,
                                         &envelope.counts, &envelope.datatypes,
                                         &envelope.combiner) != MPI_SUCCESS)
      return not_known();
    return envelope;
  }
  int integers = 0, addresses = 0, datatypes = 0;
  if (active_table.Type_get_envelope(datatype, &integers, &addresses, &datatypes,
                                     &envelope.combiner) != MPI_SUCCESS)
    return not_known();
  envelope.integers = integers;
  envelope.addresses = addresses;
  envelope.datatypes = datatypes;
  return envelope;
}

int get_contents(MPI_Datatype datatype, const TypeEnvelope& envelope, TypeContents& contents,
                 std::vector<MPI_Datatype>& olds) {
  if (has_large_counts())
    return active_table.Type_get_contents_c(
        datatype, envelope.integers, envelope.addresses, envelope.counts, envelope.datatypes,
        contents.integers.data(), contents.addresses.data(), contents.counts.data(), olds.data());
  return active_table.Type_get_contents(
      datatype, static_cast<int>(envelope.integers), static_cast<int>(envelope.addresses),
      static_cast<int>(envelope.datatypes), contents.integers.data(), contents.addresses.data(),
      olds.data());
}

/// Free the derived types that MPI_Type_get_contents returned, each with a new handle (MPI-4.1
/// §5.1.13); predefined types must not be freed.
void free_old_types(std::vector<MPI_Datatype>& olds) {
  for (MPI_Datatype& old : olds) {
    if (abi::find_type(old) != nullptr) continue;
    auto envelope = envelope_of(old);
    if (envelope && envelope->datatypes > 0) active_table.Type_free(&old);
  }
}

base::Result<DerivedPtr> read_type(MPI_Datatype datatype);

base::Result<OldType> old_native_type(MPI_Datatype old) {
  if (const types::Type* type = abi::find_type(old)) return OldType{type, old, nullptr};
  SHIM_TRY_ASSIGN(DerivedPtr derived, read_type(old));
  const types::Type* type = derived->type.get();
  return OldType{type, {}, std::move(derived)};
}

base::Result<DerivedPtr> read_uncached(MPI_Datatype datatype) {
  SHIM_TRY_ASSIGN(const TypeEnvelope envelope, envelope_of(datatype));
  if (envelope.combiner == MPI_COMBINER_NAMED)
    return Error(ErrorClass::type,
                 "the predefined datatype is not supported on communicators of sessions");
  TypeContents contents;
  contents.combiner = envelope.combiner;
  contents.integers.resize(static_cast<std::size_t>(envelope.integers));
  contents.addresses.resize(static_cast<std::size_t>(envelope.addresses));
  contents.counts.resize(static_cast<std::size_t>(envelope.counts));
  std::vector<MPI_Datatype> olds(static_cast<std::size_t>(envelope.datatypes));
  if (get_contents(datatype, envelope, contents, olds) != MPI_SUCCESS) return not_known();
  base::Status all_read;
  for (MPI_Datatype old : olds) {
    auto old_type = old_native_type(old);
    if (!old_type) {
      all_read = std::move(old_type).error();
      break;
    }
    contents.old_types.push_back(*std::move(old_type));
  }
  free_old_types(olds);
  SHIM_TRY(std::move(all_read));
  MPI_Count lower = 0, extent = 0;
  active_table.Type_get_extent_x(datatype, &lower, &extent);
  return derive(std::move(contents), Bounds{lower, extent});
}

base::Result<DerivedPtr> read_type(MPI_Datatype datatype) {
  if (DerivedPtr* kept = find_cached(datatype)) return *kept;
  SHIM_TRY_ASSIGN(DerivedPtr derived, read_uncached(datatype));
  auto kept = std::make_unique<DerivedPtr>(derived);
  // callers use the type after they have returned the reference: it must last as long as the handle
  if (active_table.Type_set_attr(datatype, contents_keyval.load(std::memory_order_relaxed),
                                 kept.get()) != MPI_SUCCESS)
    return Error(
        ErrorClass::other,
        "the native MPI library cannot keep a description of the datatype as an attribute");
  static_cast<void>(kept.release());  // delete_cached() owns it now
  return derived;
}

}  // namespace

base::Result<DerivedPtr> native_derived_type(MPI_Datatype datatype) {
  if (DerivedPtr* kept = find_cached(datatype)) return *kept;
  std::lock_guard lock(reading);
  SHIM_TRY(ensure_keyval());
  return read_type(datatype);
}

base::Result<const types::Type*> native_type(MPI_Datatype datatype) {
  // Programs use a type many times in succession, and querying the substrate costs more than
  // packing a short message.
  struct Last {
    MPI_Datatype handle{};
    const types::Type* type = nullptr;
    std::uint64_t freed_before = 0;
  };
  static thread_local constinit Last last;
  const std::uint64_t freed_now = freed_types.load(std::memory_order_relaxed);
  if (last.handle == datatype && last.freed_before == freed_now) [[likely]]
    return last.type;
  SHIM_TRY_ASSIGN(const DerivedPtr derived, native_derived_type(datatype));
  last = {datatype, derived->type.get(), freed_now};
  return last.type;
}

}  // namespace shim::intercept
