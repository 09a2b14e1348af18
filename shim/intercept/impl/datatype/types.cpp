// SPDX-License-Identifier: BSD-3-Clause
// Queries, commits, names and frees datatypes (MPI-4.1 §5.1.5 to §5.1.13): types of ours, and
// predefined ones while the substrate is inactive.
#include <algorithm>
#include <cstring>
#include <string>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/impl/datatype/predefined_type_records.hpp"
#include "shim/intercept/impl/datatype/type_attributes.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// Return the stored name of a type in any state.
base::Result<std::string*> stored_name(MPI_Datatype datatype) {
  if (DatatypeObject* object = objects.datatypes.find(datatype)) return &object->name;
  SHIM_TRY_ASSIGN(const types::Type* type, get_type(datatype));
  return &record_of(*type).name;
}

template <typename Number>
int size(const char* function, MPI_Datatype datatype, Number* size) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const types::Type* type, any_type(datatype));
    SHIM_TRY(check_output(size, "size"));
    store_or_undefined(type->size, size);
    return {};
  });
}

/// Store a lower bound and an extent that `measure` computes. Either pointer may be null if the
/// function has only one.
struct BoundsOutput {
  std::int64_t lower, extent;
};
template <typename Number, typename Measure>
int bounds(const char* function, MPI_Datatype datatype, Number* lower, Number* extent,
           Measure measure) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const types::Type* type, any_type(datatype));
    SHIM_TRY(check_output(lower, "lower bound"));
    SHIM_TRY(check_output(extent, "extent"));
    const BoundsOutput measured = measure(*type);
    store_or_undefined(measured.lower, lower);
    store_or_undefined(measured.extent, extent);
    return {};
  });
}
BoundsOutput set_bounds(const types::Type& type) { return {type.lower, type.extent}; }
/// Return the bounds from the first to the last byte with data (MPI-4.1 §5.1.8).
BoundsOutput true_bounds(const types::Type& type) {
  if (!type.layout) return {0, static_cast<std::int64_t>(type.size)};
  return {type.layout->lower(), type.layout->upper() - type.layout->lower()};
}

/// Store one bound, for functions that MPI-3.0 removed.
int one_bound(const char* function, MPI_Datatype datatype, MPI_Aint* bound,
              std::int64_t (*of)(const types::Type&)) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const types::Type* type, any_type(datatype));
    SHIM_TRY(check_output(bound, "bound"));
    store_or_undefined(of(*type), bound);
    return {};
  });
}

/// Return the contents of a type; null if it is predefined.
base::Result<const TypeContents*> contents_of(MPI_Datatype datatype) {
  if (DatatypeObject* object = objects.datatypes.find(datatype)) return &object->derived->contents;
  SHIM_TRY(get_type(datatype));
  return nullptr;
}

Error is_large() {
  return Error(ErrorClass::type,
               "the datatype was made with large counts: use MPI_Type_get_envelope_c and "
               "MPI_Type_get_contents_c");
}

/// Return a handle of an old type; the caller frees it if the type is derived.
base::Result<MPI_Datatype> handle_for(const OldType& old_type) {
  if (!old_type.derived) return old_type.predefined;
  DatatypeObject object;
  object.derived = old_type.derived;
  object.committed = true;
  return objects.datatypes.insert(std::move(object));
}

template <typename Number>
base::Status copy_out(const std::vector<Number>& values, MPI_Count capacity, Number* to,
                      const char* what) {
  if (capacity < static_cast<MPI_Count>(values.size()) || (to == nullptr && !values.empty()))
    return Error(ErrorClass::arg, "the array for the " + std::string(what) +
                                      " is shorter than the " + std::to_string(values.size()) +
                                      " elements that MPI_Type_get_envelope returned");
  std::ranges::copy(values, to);
  return {};
}

/// Array sizes of MPI_Type_get_contents.
struct ContentsCapacity {
  MPI_Count integers, addresses, counts, datatypes;
};
base::Status get_contents(MPI_Datatype datatype, const ContentsCapacity& capacity, int* integers,
                          MPI_Aint* addresses, MPI_Count* counts, MPI_Datatype* datatypes) {
  SHIM_TRY_ASSIGN(const TypeContents* contents, contents_of(datatype));
  if (contents == nullptr) return Error(ErrorClass::type, "a predefined datatype has no contents");
  if (contents->is_large() && counts == nullptr) return is_large();
  SHIM_TRY(copy_out(contents->integers, capacity.integers, integers, "integers"));
  SHIM_TRY(copy_out(contents->addresses, capacity.addresses, addresses, "addresses"));
  SHIM_TRY(copy_out(contents->counts, capacity.counts, counts, "large counts"));
  if (capacity.datatypes < static_cast<MPI_Count>(contents->old_types.size()) ||
      (datatypes == nullptr && !contents->old_types.empty()))
    return Error(ErrorClass::arg,
                 "the array for the datatypes is shorter than MPI_Type_get_envelope returned");
  for (const OldType& old_type : contents->old_types) {
    SHIM_TRY_ASSIGN(*datatypes++, handle_for(old_type));
  }
  return {};
}

}  // namespace

namespace impl {

/// Commit a type; predefined types are always committed.
int Type_commit(MPI_Datatype* datatype) {
  return run_with_handler(Subject(), "MPI_Type_commit", [&]() -> base::Status {
    SHIM_TRY(check_output(datatype, "datatype"));
    if (abi::find_type(*datatype) != nullptr) return {};
    SHIM_TRY_ASSIGN(DatatypeObject * object, datatype_of(*datatype));
    object->committed = true;
    return {};
  });
}

int Type_size(MPI_Datatype datatype, int* out) { return size("MPI_Type_size", datatype, out); }
int Type_size_c(MPI_Datatype datatype, MPI_Count* out) {
  return size("MPI_Type_size_c", datatype, out);
}
int Type_size_x(MPI_Datatype datatype, MPI_Count* out) {
  return size("MPI_Type_size_x", datatype, out);
}
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
  return one_bound("MPI_Type_extent", datatype, extent,
                   [](const types::Type& type) { return type.extent; });
}
int Type_lb(MPI_Datatype datatype, MPI_Aint* lower) {
  return one_bound("MPI_Type_lb", datatype, lower,
                   [](const types::Type& type) { return type.lower; });
}
int Type_ub(MPI_Datatype datatype, MPI_Aint* upper) {
  return one_bound("MPI_Type_ub", datatype, upper,
                   [](const types::Type& type) { return type.lower + type.extent; });
}

int Type_get_name(MPI_Datatype datatype, char* name, int* length) {
  return run_with_handler(Subject(), "MPI_Type_get_name", [&]() -> base::Status {
    static const std::string name_of_null = "MPI_DATATYPE_NULL";  // MPI-4.1 §7.8
    const std::string* text = &name_of_null;
    if (datatype != MPI_Datatype(abi::predefined.datatype_null)) {
      SHIM_TRY_ASSIGN(text, stored_name(datatype));
    }
    SHIM_TRY(check_output(name, "name"));
    SHIM_TRY(check_output(length, "length of the name"));
    std::memcpy(name, text->c_str(), text->size() + 1);
    *length = static_cast<int>(text->size());
    return {};
  });
}

int Type_set_name(MPI_Datatype datatype, const char* name) {
  return run_with_handler(Subject(), "MPI_Type_set_name", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(std::string * text, stored_name(datatype));
    if (name == nullptr) return Error(ErrorClass::arg, "the name is a null pointer");
    text->assign(name, strnlen(name, MPI_MAX_OBJECT_NAME - 1));
    return {};
  });
}

int Type_get_envelope(MPI_Datatype datatype, int* integers, int* addresses, int* datatypes,
                      int* combiner) {
  return run_with_handler(Subject(), "MPI_Type_get_envelope", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const TypeContents* contents, contents_of(datatype));
    for (int* output : {integers, addresses, datatypes, combiner})
      SHIM_TRY(check_output(output, "envelope"));
    const TypeContents named;
    if (contents == nullptr) contents = &named;
    if (contents->is_large()) return is_large();
    *integers = static_cast<int>(contents->integers.size());
    *addresses = static_cast<int>(contents->addresses.size());
    *datatypes = static_cast<int>(contents->old_types.size());
    *combiner = contents->combiner;
    return {};
  });
}
int Type_get_envelope_c(MPI_Datatype datatype, MPI_Count* integers, MPI_Count* addresses,
                        MPI_Count* large_counts, MPI_Count* datatypes, int* combiner) {
  return run_with_handler(Subject(), "MPI_Type_get_envelope_c", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const TypeContents* contents, contents_of(datatype));
    for (MPI_Count* output : {integers, addresses, large_counts, datatypes})
      SHIM_TRY(check_output(output, "envelope"));
    SHIM_TRY(check_output(combiner, "combiner"));
    const TypeContents named;
    if (contents == nullptr) contents = &named;
    *integers = static_cast<MPI_Count>(contents->integers.size());
    *addresses = static_cast<MPI_Count>(contents->addresses.size());
    *large_counts = static_cast<MPI_Count>(contents->counts.size());
    *datatypes = static_cast<MPI_Count>(contents->old_types.size());
    *combiner = contents->combiner;
    return {};
  });
}

int Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                      int integers[], MPI_Aint addresses[], MPI_Datatype datatypes[]) {
  return run_with_handler(Subject(), "MPI_Type_get_contents", [&] {
    return get_contents(datatype, {max_integers, max_addresses, 0, max_datatypes}, integers,
                        addresses, nullptr, datatypes);
  });
}
int Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses,
                        MPI_Count max_large_counts, MPI_Count max_datatypes, int integers[],
                        MPI_Aint addresses[], MPI_Count large_counts[], MPI_Datatype datatypes[]) {
  return run_with_handler(Subject(), "MPI_Type_get_contents_c", [&] {
    return get_contents(datatype, {max_integers, max_addresses, max_large_counts, max_datatypes},
                        integers, addresses, large_counts, datatypes);
  });
}

/// Free a type; operations in progress and types made from it keep it (MPI-4.1 §5.1.9).
int Type_free(MPI_Datatype* datatype) {
  return run_with_handler(Subject(), "MPI_Type_free", [&]() -> base::Status {
    SHIM_TRY(check_output(datatype, "datatype"));
    if (const types::Type* type = abi::find_type(*datatype))
      return Error(ErrorClass::type,
                   std::string(type->name) + " is predefined and cannot be freed");
    SHIM_TRY_ASSIGN(DatatypeObject * object, datatype_of(*datatype));
    if (object->is_permanent)
      return Error(ErrorClass::type,
                   "a parametrised Fortran datatype cannot be freed (MPI-4.1 §19.1.9)");
    if (object->attributes) SHIM_TRY(delete_attributes(owner_of(*datatype, *object)));
    if (!objects.datatypes.take(*datatype)) return std::move(datatype_of(*datatype)).error();
    *datatype = abi::predefined.datatype_null;
    return {};
  });
}

}  // namespace impl
}  // namespace shim::intercept
