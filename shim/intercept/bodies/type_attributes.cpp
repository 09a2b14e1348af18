// SPDX-License-Identifier: BSD-3-Clause
// Attributes of datatypes of ours, and of the predefined ones before MPI_Init, MPI-4.1 §7.7.4. (Making duplicates and freeing types
// call the users' functions: type_make.cpp, types.cpp.)
#include "shim/intercept/bodies/type_attributes.hpp"

#include <mutex>

#include "shim/intercept/bodies/predefined_notes.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/generated/table.hpp"

namespace shim::intercept {
namespace {

using sessions::KeyFor;

int make_below(const sessions::Key& key, int* number) {
  return active_table.Type_create_keyval(reinterpret_cast<MPI_Type_copy_attr_function*>(key.copy),
                                         reinterpret_cast<MPI_Type_delete_attr_function*>(key.erase), number, key.extra_state);
}

base::Result<AttributeOwner> take_owner(MPI_Datatype handle) {
  if (const types::Type* type = abi::find_type(handle))
    return AttributeOwner{KeyFor::datatype, abi::bits(handle), notes_of(*type).attributes};
  SHIM_TRY_ASSIGN(DatatypeObject * object, datatype_of(handle));
  return owner_of(handle, *object);
}

}  // namespace

AttributeOwner owner_of(MPI_Datatype handle, DatatypeObject& object) {
  static std::mutex& mutex = *new std::mutex;  // most types have none: the list is made when first asked for
  std::lock_guard lock(mutex);
  if (!object.attributes) object.attributes = std::make_shared<sessions::Attributes>();
  return {KeyFor::datatype, abi::bits(handle), *object.attributes};
}

namespace ours {

int Type_create_keyval(MPI_Type_copy_attr_function* type_copy_attr_fn, MPI_Type_delete_attr_function* type_delete_attr_fn,
                       int* type_keyval, void* extra_state) {
  return create_key("MPI_Type_create_keyval",
                    {KeyFor::datatype, MPI_KEYVAL_INVALID, reinterpret_cast<void (*)()>(type_copy_attr_fn),
                     reinterpret_cast<void (*)()>(type_delete_attr_fn), extra_state},
                    type_keyval, make_below);
}
int Type_free_keyval(int* type_keyval) {
  return free_key("MPI_Type_free_keyval", KeyFor::datatype, type_keyval,
                  [](int* number) -> int { return active_table.Type_free_keyval(number); });
}

int Type_set_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val) {
  return deliver(Subject(), "MPI_Type_set_attr", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(AttributeOwner owner, take_owner(datatype));
    return set_attribute(owner, type_keyval, attribute_val);
  });
}

int Type_get_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val, int* flag) {
  return deliver(Subject(), "MPI_Type_get_attr", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(AttributeOwner owner, take_owner(datatype));
    SHIM_TRY(check_output(attribute_val, "attribute"));
    SHIM_TRY(check_output(flag, "flag"));
    SHIM_TRY_ASSIGN(std::optional<void*> value, get_attribute(owner, type_keyval));
    *flag = value.has_value();
    if (value) *static_cast<void**>(attribute_val) = *value;
    return {};
  });
}

int Type_delete_attr(MPI_Datatype datatype, int type_keyval) {
  return deliver(Subject(), "MPI_Type_delete_attr", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(AttributeOwner owner, take_owner(datatype));
    return delete_attribute(owner, type_keyval);
  });
}

}  // namespace ours
}  // namespace shim::intercept
