// SPDX-License-Identifier: BSD-3-Clause
// Asking about datatypes, committing, naming and freeing them, MPI-4.1 §5.1.5 to §5.1.13: those of ours, and predefined ones while the
// substrate is idle.
#include <algorithm>
#include <cstring>
#include <string>

#include "shim/intercept/bodies/arguments.hpp"
#include "shim/intercept/bodies/predefined_notes.hpp"
#include "shim/intercept/bodies/type_attributes.hpp"
#include "shim/intercept/generated/bodies.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// Where the name of a type in any state is kept.
base::Result<std::string*> stored_name(MPI_Datatype datatype) {
  if (DatatypeObject* object = objects.datatypes.find(datatype)) return &object->name;
  SHIM_TRY_ASSIGN(const types::Type* type, take_type(datatype));
  return &notes_of(*type).name;
}

template <typename Number>
int size(const char* function, MPI_Datatype datatype, Number* size) {
  return deliver(Subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const types::Type* type, any_type(datatype));
    SHIM_TRY(check_output(size, "size"));
    store_or_undefined(type->size, size);
    return {};
  });
}

/// Two numbers that `measure` finds out: a lower bound and an extent. Either place may be null where the function has but one.
struct Bounds {
  std::int64_t lower, extent;
};
template <typename Number, typename Measure>
int bounds(const char* function, MPI_Datatype datatype, Number* lower, Number* extent, Measure measure) {
  return deliver(Subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const types::Type* type, any_type(datatype));
    SHIM_TRY(check_output(lower, "lower bound"));
    SHIM_TRY(check_output(extent, "extent"));
    const Bounds measured = measure(*type);
    store_or_undefined(measured.lower, lower);
    store_or_undefined(measured.extent, extent);
    return {};
  });
}
Bounds set_bounds(const types::Type& type) { return {type.lower, type.extent}; }
/// From the first to the last byte with data (MPI-4.1 §5.1.8).
Bounds true_bounds(const types::Type& type) {
  if (!type.layout) return {0, static_cast<std::int64_t>(type.size)};
  return {type.layout->lower(), type.layout->upper() - type.layout->lower()};
}

/// One of the bounds, for the functions that MPI-3.0 has removed.
int one_bound(const char* function, MPI_Datatype datatype, MPI_Aint* bound, std::int64_t (*of)(const types::Type&)) {
  return deliver(Subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const types::Type* type, any_type(datatype));
    SHIM_TRY(check_output(bound, "bound"));
    store_or_undefined(of(*type), bound);
    return {};
  });
}

/// The recipe of a type that is asked for its contents; null where it is predefined.
base::Result<const Recipe*> recipe_of(MPI_Datatype datatype) {
  if (DatatypeObject* object = objects.datatypes.find(datatype)) return &object->derived->recipe;
  SHIM_TRY(take_type(datatype));
  return nullptr;
}

Error is_large() {
  return Error(ErrorClass::type, "the datatype was made with large counts: use MPI_Type_get_envelope_c and MPI_Type_get_contents_c");
}

/// A handle for one of the types that another was made of; the caller frees it where it is a derived one.
base::Result<MPI_Datatype> handle_for(const Ingredient& ingredient) {
  if (!ingredient.derived) return ingredient.predefined;
  DatatypeObject object;
  object.derived = ingredient.derived;
  object.committed = true;
  return objects.datatypes.insert(std::move(object));
}

template <typename Number>
base::Status copy_out(const std::vector<Number>& values, MPI_Count room, Number* to, const char* what) {
  if (room < static_cast<MPI_Count>(values.size()) || (to == nullptr && !values.empty()))
    return Error(ErrorClass::arg, "the array for the " + std::string(what) + " is shorter than the " + std::to_string(values.size()) +
                                      " that the envelope says");
  std::ranges::copy(values, to);
  return {};
}

/// Where MPI_Type_get_contents puts things, and how many there is room for.
struct ContentsRoom {
  MPI_Count integers, addresses, counts, datatypes;
};
base::Status get_contents(MPI_Datatype datatype, const ContentsRoom& room, int* integers, MPI_Aint* addresses, MPI_Count* counts,
                          MPI_Datatype* datatypes) {
  SHIM_TRY_ASSIGN(const Recipe* recipe, recipe_of(datatype));
  if (recipe == nullptr) return Error(ErrorClass::type, "a predefined datatype has no contents");
  if (recipe->is_large() && counts == nullptr) return is_large();
  SHIM_TRY(copy_out(recipe->integers, room.integers, integers, "integers"));
  SHIM_TRY(copy_out(recipe->addresses, room.addresses, addresses, "addresses"));
  SHIM_TRY(copy_out(recipe->counts, room.counts, counts, "large counts"));
  if (room.datatypes < static_cast<MPI_Count>(recipe->types.size()) || (datatypes == nullptr && !recipe->types.empty()))
    return Error(ErrorClass::arg, "the array for the datatypes is shorter than the envelope says");
  for (const Ingredient& ingredient : recipe->types) {
    SHIM_TRY_ASSIGN(*datatypes++, handle_for(ingredient));
  }
  return {};
}

}  // namespace

namespace ours {

/// Predefined types are committed already.
int Type_commit(MPI_Datatype* datatype) {
  return deliver(Subject(), "MPI_Type_commit", [&]() -> base::Status {
    SHIM_TRY(check_output(datatype, "datatype"));
    if (abi::find_type(*datatype) != nullptr) return {};
    SHIM_TRY_ASSIGN(DatatypeObject * object, datatype_of(*datatype));
    object->committed = true;
    return {};
  });
}

int Type_size(MPI_Datatype datatype, int* out) { return size("MPI_Type_size", datatype, out); }
int Type_size_c(MPI_Datatype datatype, MPI_Count* out) { return size("MPI_Type_size_c", datatype, out); }
int Type_size_x(MPI_Datatype datatype, MPI_Count* out) { return size("MPI_Type_size_x", datatype, out); }
int Type_get_extent(MPI_Datatype datatype, MPI_Aint* lb, MPI_Aint* extent) {
  return bounds("MPI_Type_get_extent", datatype, lb, extent, set_bounds);
}
int Type_get_extent_c(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent) {
  return bounds("MPI_Type_get_extent_c", datatype, lb, extent, set_bounds);
}
int Type_get_extent_x(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent) {
  return bounds("MPI_Type_get_extent_x", datatype, lb, extent, set_bounds);
}
int Type_get_true_extent(MPI_Datatype datatype, MPI_Aint* lb, MPI_Aint* extent) {
  return bounds("MPI_Type_get_true_extent", datatype, lb, extent, true_bounds);
}
int Type_get_true_extent_c(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent) {
  return bounds("MPI_Type_get_true_extent_c", datatype, lb, extent, true_bounds);
}
int Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent) {
  return bounds("MPI_Type_get_true_extent_x", datatype, lb, extent, true_bounds);
}
int Type_extent(MPI_Datatype datatype, MPI_Aint* extent) {
  return one_bound("MPI_Type_extent", datatype, extent, [](const types::Type& type) { return type.extent; });
}
int Type_lb(MPI_Datatype datatype, MPI_Aint* lower) {
  return one_bound("MPI_Type_lb", datatype, lower, [](const types::Type& type) { return type.lower; });
}
int Type_ub(MPI_Datatype datatype, MPI_Aint* upper) {
  return one_bound("MPI_Type_ub", datatype, upper, [](const types::Type& type) { return type.lower + type.extent; });
}

int Type_get_name(MPI_Datatype datatype, char* name, int* length) {
  return deliver(Subject(), "MPI_Type_get_name", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const std::string* text, stored_name(datatype));
    SHIM_TRY(check_output(name, "name"));
    SHIM_TRY(check_output(length, "length of the name"));
    std::memcpy(name, text->c_str(), text->size() + 1);
    *length = static_cast<int>(text->size());
    return {};
  });
}

int Type_set_name(MPI_Datatype datatype, const char* name) {
  return deliver(Subject(), "MPI_Type_set_name", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(std::string* text, stored_name(datatype));
    if (name == nullptr) return Error(ErrorClass::arg, "the name is a null pointer");
    text->assign(name, strnlen(name, MPI_MAX_OBJECT_NAME - 1));
    return {};
  });
}

int Type_get_envelope(MPI_Datatype datatype, int* integers, int* addresses, int* datatypes, int* combiner) {
  return deliver(Subject(), "MPI_Type_get_envelope", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const Recipe* recipe, recipe_of(datatype));
    for (int* place : {integers, addresses, datatypes, combiner}) SHIM_TRY(check_output(place, "envelope"));
    const Recipe named;
    if (recipe == nullptr) recipe = &named;
    if (recipe->is_large()) return is_large();
    *integers = static_cast<int>(recipe->integers.size());
    *addresses = static_cast<int>(recipe->addresses.size());
    *datatypes = static_cast<int>(recipe->types.size());
    *combiner = recipe->combiner;
    return {};
  });
}
int Type_get_envelope_c(MPI_Datatype datatype, MPI_Count* integers, MPI_Count* addresses, MPI_Count* large_counts, MPI_Count* datatypes,
                        int* combiner) {
  return deliver(Subject(), "MPI_Type_get_envelope_c", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const Recipe* recipe, recipe_of(datatype));
    for (MPI_Count* place : {integers, addresses, large_counts, datatypes}) SHIM_TRY(check_output(place, "envelope"));
    SHIM_TRY(check_output(combiner, "combiner"));
    const Recipe named;
    if (recipe == nullptr) recipe = &named;
    *integers = static_cast<MPI_Count>(recipe->integers.size());
    *addresses = static_cast<MPI_Count>(recipe->addresses.size());
    *large_counts = static_cast<MPI_Count>(recipe->counts.size());
    *datatypes = static_cast<MPI_Count>(recipe->types.size());
    *combiner = recipe->combiner;
    return {};
  });
}

int Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes, int integers[], MPI_Aint addresses[],
                      MPI_Datatype datatypes[]) {
  return deliver(Subject(), "MPI_Type_get_contents", [&] {
    return get_contents(datatype, {max_integers, max_addresses, 0, max_datatypes}, integers, addresses, nullptr, datatypes);
  });
}
int Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses, MPI_Count max_large_counts,
                        MPI_Count max_datatypes, int integers[], MPI_Aint addresses[], MPI_Count large_counts[],
                        MPI_Datatype datatypes[]) {
  return deliver(Subject(), "MPI_Type_get_contents_c", [&] {
    return get_contents(datatype, {max_integers, max_addresses, max_large_counts, max_datatypes}, integers, addresses, large_counts,
                        datatypes);
  });
}

/// Operations in progress and types made of it keep what they need (MPI-4.1 §5.1.9).
int Type_free(MPI_Datatype* datatype) {
  return deliver(Subject(), "MPI_Type_free", [&]() -> base::Status {
    SHIM_TRY(check_output(datatype, "datatype"));
    if (const types::Type* type = abi::find_type(*datatype))
      return Error(ErrorClass::type, std::string(type->name) + " is predefined and cannot be freed");
    SHIM_TRY_ASSIGN(DatatypeObject * object, datatype_of(*datatype));
    if (object->is_permanent) return Error(ErrorClass::type, "a parametrised Fortran datatype cannot be freed (MPI-4.1 §19.1.9)");
    if (object->attributes) SHIM_TRY(delete_attributes(owner_of(*datatype, *object)));
    if (!objects.datatypes.take(*datatype)) return std::move(datatype_of(*datatype)).error();
    *datatype = abi::predefined.datatype_null;
    return {};
  });
}

}  // namespace ours
}  // namespace shim::intercept
