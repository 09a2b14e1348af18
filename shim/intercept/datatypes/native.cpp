// SPDX-License-Identifier: BSD-3-Clause
// Types that the substrate derived, read through its own functions. What was read is kept with the type itself, as an attribute:
// the substrate then says when it goes (MPI-4.1 §7.7.4).
#include <atomic>
#include <mutex>

#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/datatypes/recipe.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

Error not_known() { return Error(ErrorClass::type, "the datatype is not known to the MPI library below"); }

// The program's copy of a type is another type: it is read when it is needed.
int copy_nothing(MPI_Datatype, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}
/// Types that have gone so far. Relaxed: who uses a handle again has synchronised with who freed it.
constinit std::atomic<std::uint64_t> gone{0};
int delete_kept(MPI_Datatype, int, void* kept, void*) {
  gone.fetch_add(1, std::memory_order_relaxed);
  auto* derived = static_cast<DerivedPtr*>(kept);
  (*derived)->note_handle_gone();
  delete derived;
  return MPI_SUCCESS;
}

/// Threads that read types of the substrate's: one at a time, so that none replaces what another has just stored.
constinit std::mutex reading;
/// The key of what is kept; made by the first who reads. The substrate is initialised once in a program, so it stays valid.
constinit std::atomic<int> keyval{MPI_KEYVAL_INVALID};

DerivedPtr* find_kept(MPI_Datatype datatype) {
  const int key = keyval.load(std::memory_order_acquire);  // pairs with the release in ensure_keyval()
  if (key == MPI_KEYVAL_INVALID) return nullptr;
  void* kept = nullptr;
  int found = 0;
  const int code = active_table.Type_get_attr(datatype, key, &kept, &found);
  return code == MPI_SUCCESS && found ? static_cast<DerivedPtr*>(kept) : nullptr;
}

base::Status ensure_keyval() {
  if (keyval.load(std::memory_order_relaxed) != MPI_KEYVAL_INVALID) return {};
  int made = MPI_KEYVAL_INVALID;
  if (active_table.Type_create_keyval(copy_nothing, delete_kept, &made, nullptr) != MPI_SUCCESS)
    return Error(ErrorClass::other, "the MPI library below gives no key for attributes of datatypes");
  keyval.store(made, std::memory_order_release);
  return {};
}

/// How much there is to read of a type.
struct Envelope {
  MPI_Count integers = 0, addresses = 0, counts = 0, datatypes = 0;
  int combiner = MPI_COMBINER_NAMED;
};

/// A library with large counts has them in the envelopes of some types, and refuses to tell of those in the old way.
bool tells_large_counts() {
  static const bool has = substrate_symbol("PMPI_Type_get_contents_c") != nullptr;
  return has;
}

base::Result<Envelope> envelope_of(MPI_Datatype datatype) {
  Envelope envelope;
  if (tells_large_counts()) {
    if (active_table.Type_get_envelope_c(datatype, &envelope.integers, &envelope.addresses, &envelope.counts, &envelope.datatypes,
                                         &envelope.combiner) != MPI_SUCCESS)
      return not_known();
    return envelope;
  }
  int integers = 0, addresses = 0, datatypes = 0;
  if (active_table.Type_get_envelope(datatype, &integers, &addresses, &datatypes, &envelope.combiner) != MPI_SUCCESS) return not_known();
  envelope.integers = integers;
  envelope.addresses = addresses;
  envelope.datatypes = datatypes;
  return envelope;
}

int get_contents(MPI_Datatype datatype, const Envelope& envelope, Recipe& recipe, std::vector<MPI_Datatype>& olds) {
  if (tells_large_counts())
    return active_table.Type_get_contents_c(datatype, envelope.integers, envelope.addresses, envelope.counts, envelope.datatypes,
                                            recipe.integers.data(), recipe.addresses.data(), recipe.counts.data(), olds.data());
  return active_table.Type_get_contents(datatype, static_cast<int>(envelope.integers), static_cast<int>(envelope.addresses),
                                        static_cast<int>(envelope.datatypes), recipe.integers.data(), recipe.addresses.data(), olds.data());
}

/// MPI_Type_get_contents makes a new handle of every derived type (MPI-4.1 §5.1.13); those of predefined ones may not be freed.
void give_back(std::vector<MPI_Datatype>& olds) {
  for (MPI_Datatype& old : olds) {
    if (abi::find_type(old) != nullptr) continue;
    auto envelope = envelope_of(old);
    if (envelope && envelope->datatypes > 0) active_table.Type_free(&old);
  }
}

base::Result<DerivedPtr> read_type(MPI_Datatype datatype);

base::Result<Ingredient> ingredient_of(MPI_Datatype old) {
  if (const types::Type* type = abi::find_type(old)) return Ingredient{type, old, nullptr};
  SHIM_TRY_ASSIGN(DerivedPtr derived, read_type(old));
  const types::Type* type = derived->type.get();
  return Ingredient{type, {}, std::move(derived)};
}

base::Result<DerivedPtr> read_anew(MPI_Datatype datatype) {
  SHIM_TRY_ASSIGN(const Envelope envelope, envelope_of(datatype));
  if (envelope.combiner == MPI_COMBINER_NAMED)
    return Error(ErrorClass::type, "the datatype is a predefined one that communicators of sessions do not know");
  Recipe recipe;
  recipe.combiner = envelope.combiner;
  recipe.integers.resize(static_cast<std::size_t>(envelope.integers));
  recipe.addresses.resize(static_cast<std::size_t>(envelope.addresses));
  recipe.counts.resize(static_cast<std::size_t>(envelope.counts));
  std::vector<MPI_Datatype> olds(static_cast<std::size_t>(envelope.datatypes));
  if (get_contents(datatype, envelope, recipe, olds) != MPI_SUCCESS) return not_known();
  base::Status all_read;
  for (MPI_Datatype old : olds) {
    auto ingredient = ingredient_of(old);
    if (!ingredient) {
      all_read = std::move(ingredient).error();
      break;
    }
    recipe.types.push_back(*std::move(ingredient));
  }
  give_back(olds);
  SHIM_TRY(std::move(all_read));
  MPI_Count lower = 0, extent = 0;
  active_table.Type_get_extent_x(datatype, &lower, &extent);
  return derive(std::move(recipe), Bounds{lower, extent});
}

base::Result<DerivedPtr> read_type(MPI_Datatype datatype) {
  if (DerivedPtr* kept = find_kept(datatype)) return *kept;
  SHIM_TRY_ASSIGN(DerivedPtr derived, read_anew(datatype));
  auto kept = std::make_unique<DerivedPtr>(derived);
  if (active_table.Type_set_attr(datatype, keyval.load(std::memory_order_relaxed), kept.get()) == MPI_SUCCESS)
    static_cast<void>(kept.release());  // delete_kept() has it now
  return derived;
}

}  // namespace

base::Result<DerivedPtr> native_recipe(MPI_Datatype datatype) {
  if (DerivedPtr* kept = find_kept(datatype)) return *kept;
  std::lock_guard lock(reading);
  SHIM_TRY(ensure_keyval());
  return read_type(datatype);
}

base::Result<const types::Type*> native_type(MPI_Datatype datatype) {
  // Programs use a type many times in a row, and asking the substrate costs more than a short message's packing.
  struct Last {
    MPI_Datatype handle{};
    const types::Type* type = nullptr;
    std::uint64_t gone_before = 0;
  };
  static thread_local constinit Last last;
  const std::uint64_t gone_now = gone.load(std::memory_order_relaxed);
  if (last.handle == datatype && last.gone_before == gone_now) [[likely]] return last.type;
  SHIM_TRY_ASSIGN(const DerivedPtr derived, native_recipe(datatype));
  last = {datatype, derived->type.get(), gone_now};
  return last.type;
}

}  // namespace shim::intercept
