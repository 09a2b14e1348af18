// SPDX-License-Identifier: BSD-3-Clause
// Implements attributes of datatypes of ours, and of predefined ones before MPI_Init (MPI-4.1
// §7.7.4). (Duplicating and freeing types calls the user's callbacks, too: type_make.cpp,
// types.cpp.)
#include "shim/intercept/impl/datatype/type_attributes.hpp"

#include <mutex>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/impl/datatype/predefined_type_records.hpp"

namespace shim::intercept {
namespace {

using sessions::KeyFor;

int make_native_type_key(const sessions::Key& key, int* number) {
  return active_table.Type_create_keyval(
      reinterpret_cast<MPI_Type_copy_attr_function*>(key.copy),
      reinterpret_cast<MPI_Type_delete_attr_function*>(key.erase), number, key.extra_state);
}

base::Result<AttributeOwner> get_attribute_owner(MPI_Datatype handle) {
  if (const types::Type* type = abi::find_type(handle))
    return AttributeOwner{KeyFor::datatype, abi::bits(handle), record_of(*type).attributes};
  SHIM_TRY_ASSIGN(DatatypeObject * object, datatype_of(handle));
  return owner_of(handle, *object);
}

int set_type_attribute(const char* function, MPI_Datatype datatype, int keyval,
                       const sessions::AttributeValue& value) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(AttributeOwner owner, get_attribute_owner(datatype));
    return set_attribute(owner, keyval, value);
  });
}

}  // namespace

AttributeOwner owner_of(MPI_Datatype handle, DatatypeObject& object) {
  // most types have none: the list is made at first need
  static std::mutex& mutex = *new std::mutex;
  std::lock_guard lock(mutex);
  if (!object.attributes) object.attributes = std::make_shared<sessions::Attributes>();
  return {KeyFor::datatype, abi::bits(handle), *object.attributes};
}

int get_type_number(const char* function, MPI_Datatype type, int keyval, std::intptr_t* value,
                    bool* flag) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(AttributeOwner owner, get_attribute_owner(type));
    SHIM_TRY_ASSIGN(auto attribute, get_attribute(owner, keyval));
    *flag = attribute.has_value();
    if (attribute) *value = attribute->as_number();
    return {};
  });
}

int set_type_number(const char* function, MPI_Datatype type, int keyval, std::intptr_t value) {
  return set_type_attribute(function, type, keyval, sessions::AttributeValue::of_number(value));
}

namespace impl {

int Type_create_keyval(MPI_Type_copy_attr_function* type_copy_attr_fn,
                       MPI_Type_delete_attr_function* type_delete_attr_fn, int* type_keyval,
                       void* extra_state) {
  return create_key(
      "MPI_Type_create_keyval",
      {KeyFor::datatype, MPI_KEYVAL_INVALID, reinterpret_cast<void (*)()>(type_copy_attr_fn),
       reinterpret_cast<void (*)()>(type_delete_attr_fn), extra_state},
      type_keyval, make_native_type_key);
}
int Type_free_keyval(int* type_keyval) {
  return free_key("MPI_Type_free_keyval", KeyFor::datatype, type_keyval,
                  [](int* number) -> int { return active_table.Type_free_keyval(number); });
}

int Type_set_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val) {
  return set_type_attribute("MPI_Type_set_attr", datatype, type_keyval, attribute_val);
}

int Type_get_attr(MPI_Datatype datatype, int type_keyval, void* attribute_val, int* flag) {
  return run_with_handler(Subject(), "MPI_Type_get_attr", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(AttributeOwner owner, get_attribute_owner(datatype));
    SHIM_TRY(check_output(attribute_val, "attribute"));
    SHIM_TRY(check_output(flag, "flag"));
    SHIM_TRY_ASSIGN(auto value, get_attribute(owner, type_keyval));
    *flag = value.has_value();
    if (value) *static_cast<void**>(attribute_val) = value->as_pointer();
    return {};
  });
}

int Type_delete_attr(MPI_Datatype datatype, int type_keyval) {
  return run_with_handler(Subject(), "MPI_Type_delete_attr", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(AttributeOwner owner, get_attribute_owner(datatype));
    return delete_attribute(owner, type_keyval);
  });
}

}  // namespace impl
}  // namespace shim::intercept
