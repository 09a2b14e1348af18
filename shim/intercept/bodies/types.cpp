// SPDX-License-Identifier: BSD-3-Clause
// Datatypes while the substrate is idle, and those that were made then: contiguous ones and duplicates, MPI-4.1 §5.1. Each gets
// a twin below when a call of the substrate needs it.
#include <cstring>
#include <limits>
#include <string>

#include "shim/intercept/bodies/arguments.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// As an argument of calls that take types before they are committed.
base::Result<TypeItems> layout_of(MPI_Datatype datatype) {
  if (DatatypeObject* object = objects.datatypes.find(datatype)) return TypeItems{object->base, object->items};
  return type_items(datatype);
}

base::Status hand_out(DatatypeObject object, MPI_Datatype* newtype) {
  SHIM_TRY_ASSIGN(*newtype, objects.datatypes.insert(std::move(object)));
  return {};
}

template <typename Number>
void store(std::uint64_t value, Number* to) {
  bool fits = value <= static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
  *to = fits ? static_cast<Number>(value) : Number{MPI_UNDEFINED};
}

template <typename Number>
int size(const char* function, MPI_Datatype datatype, Number* size) {
  return deliver(Subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(TypeItems type, layout_of(datatype));
    SHIM_TRY(check_output(size, "size"));
    store(type.base->size * type.items, size);
    return {};
  });
}

template <typename Number>
int extent(const char* function, MPI_Datatype datatype, Number* lower, Number* extent) {
  return deliver(Subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(TypeItems type, layout_of(datatype));
    SHIM_TRY(check_output(lower, "lower bound"));
    SHIM_TRY(check_output(extent, "extent"));
    *lower = 0;
    store(static_cast<std::uint64_t>(type.base->extent) * type.items, extent);
    return {};
  });
}

/// The true extent ends where the data of the last item does, before its padding.
template <typename Number>
int true_extent(const char* function, MPI_Datatype datatype, Number* lower, Number* extent) {
  return deliver(Subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(TypeItems type, layout_of(datatype));
    SHIM_TRY(check_output(lower, "lower bound"));
    SHIM_TRY(check_output(extent, "extent"));
    const types::Type& base = *type.base;
    std::uint64_t last = base.pieces.empty() ? base.size : static_cast<std::uint64_t>(base.pieces.back().offset) + base.pieces.back().bytes;
    *lower = 0;
    store(type.items == 0 ? 0 : static_cast<std::uint64_t>(base.extent) * (type.items - 1) + last, extent);
    return {};
  });
}

}  // namespace

namespace ours {

int Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return deliver(Subject(), "MPI_Type_contiguous", [&]() -> base::Status {
    if (count < 0) return slow::bad_count(count, "count");
    SHIM_TRY_ASSIGN(TypeItems inner, layout_of(oldtype));
    SHIM_TRY(check_output(newtype, "datatype"));
    DatatypeObject object;
    object.base = inner.base;
    object.items = inner.items * static_cast<std::uint64_t>(count);
    object.combiner = MPI_COMBINER_CONTIGUOUS;
    object.count = count;
    object.made_of = oldtype;
    return hand_out(std::move(object), newtype);
  });
}

/// A duplicate is committed if its original is (MPI-4.1 §5.1.10).
int Type_dup(MPI_Datatype oldtype, MPI_Datatype* newtype) {
  return deliver(Subject(), "MPI_Type_dup", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(TypeItems inner, layout_of(oldtype));
    SHIM_TRY(check_output(newtype, "datatype"));
    DatatypeObject* original = objects.datatypes.find(oldtype);
    DatatypeObject object;
    object.base = inner.base;
    object.items = inner.items;
    object.committed = original == nullptr || original->committed;
    object.combiner = MPI_COMBINER_DUP;
    object.made_of = oldtype;
    return hand_out(std::move(object), newtype);
  });
}

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
int Type_size_x(MPI_Datatype datatype, MPI_Count* out) { return size("MPI_Type_size_x", datatype, out); }
int Type_get_extent(MPI_Datatype datatype, MPI_Aint* lb, MPI_Aint* out) { return extent("MPI_Type_get_extent", datatype, lb, out); }
int Type_get_extent_x(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* out) {
  return extent("MPI_Type_get_extent_x", datatype, lb, out);
}
int Type_get_true_extent(MPI_Datatype datatype, MPI_Aint* lb, MPI_Aint* out) {
  return true_extent("MPI_Type_get_true_extent", datatype, lb, out);
}
int Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count* lb, MPI_Count* out) {
  return true_extent("MPI_Type_get_true_extent_x", datatype, lb, out);
}

int Type_get_name(MPI_Datatype datatype, char* name, int* length) {
  return deliver(Subject(), "MPI_Type_get_name", [&]() -> base::Status {
    DatatypeObject* object = objects.datatypes.find(datatype);
    SHIM_TRY_ASSIGN(TypeItems type, layout_of(datatype));
    SHIM_TRY(check_output(name, "name"));
    SHIM_TRY(check_output(length, "length of the name"));
    std::string text = object != nullptr ? object->name : std::string(type.base->name);
    std::memcpy(name, text.c_str(), text.size() + 1);
    *length = static_cast<int>(text.size());
    return {};
  });
}

int Type_get_envelope(MPI_Datatype datatype, int* integers, int* addresses, int* datatypes, int* combiner) {
  return deliver(Subject(), "MPI_Type_get_envelope", [&]() -> base::Status {
    SHIM_TRY(layout_of(datatype));
    DatatypeObject* object = objects.datatypes.find(datatype);
    *combiner = object != nullptr ? object->combiner : MPI_COMBINER_NAMED;
    *integers = *combiner == MPI_COMBINER_CONTIGUOUS ? 1 : 0;
    *addresses = 0;
    *datatypes = object != nullptr ? 1 : 0;
    return {};
  });
}

int Type_free(MPI_Datatype* datatype) {
  return deliver(Subject(), "MPI_Type_free", [&]() -> base::Status {
    auto taken = objects.datatypes.take(*datatype);
    if (!taken) return std::move(datatype_of(*datatype)).error();
    MPI_Datatype twin = taken->twin.get();
    if (!abi::is_unset(twin) && is_active()) active_table.Type_free(&twin);
    *datatype = abi::predefined.datatype_null;
    return {};
  });
}

int Type_set_name(MPI_Datatype datatype, const char* name) {
  return deliver(Subject(), "MPI_Type_set_name", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(DatatypeObject * object, datatype_of(datatype));
    if (name == nullptr) return Error(ErrorClass::arg, "the name is a null pointer");
    object->name.assign(name, strnlen(name, MPI_MAX_OBJECT_NAME - 1));
    return {};
  });
}

int Type_get_contents(MPI_Datatype datatype, int max_integers, int, int max_datatypes, int integers[], MPI_Aint[],
                      MPI_Datatype datatypes[]) {
  return deliver(Subject(), "MPI_Type_get_contents", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(DatatypeObject * object, datatype_of(datatype));
    bool has_count = object->combiner == MPI_COMBINER_CONTIGUOUS;
    if (max_datatypes < 1 || (has_count && max_integers < 1))
      return Error(ErrorClass::arg, "the arrays are too short for what MPI_Type_get_envelope says");
    if (has_count) integers[0] = object->count;
    datatypes[0] = object->made_of;
    DatatypeObject* inner = objects.datatypes.find(object->made_of);
    if (inner == nullptr) return {};
    DatatypeObject copy;  // a handle of its own, which the caller frees
    copy.base = inner->base;
    copy.items = inner->items;
    copy.committed = inner->committed;
    copy.combiner = inner->combiner;
    copy.count = inner->count;
    copy.made_of = inner->made_of;
    return hand_out(std::move(copy), &datatypes[0]);
  });
}

}  // namespace ours
}  // namespace shim::intercept
