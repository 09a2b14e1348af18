// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/attributes.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "shim/intercept/abi/codes.hpp"
#include "shim/intercept/abi/ours.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/keyvals.hpp"
#include "shim/intercept/handles/user_codes.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::Attribute;
using sessions::AttributeValue;
using sessions::Key;
using sessions::KeyFor;
using sessions::KeyLanguage;
using sessions::KeyPtr;

constexpr std::array kPredefined = {MPI_TAG_UB,
                                    MPI_HOST,
                                    MPI_IO,
                                    MPI_WTIME_IS_GLOBAL,
                                    MPI_APPNUM,
                                    MPI_LASTUSEDCODE,
                                    MPI_UNIVERSE_SIZE,
                                    MPI_WIN_BASE,
                                    MPI_WIN_SIZE,
                                    MPI_WIN_DISP_UNIT,
                                    MPI_WIN_CREATE_FLAVOR,
                                    MPI_WIN_MODEL};

const char* name_of(KeyFor kind) {
  return kind == KeyFor::communicator ? "communicators" : "datatypes";
}

Error wrong_key(int number, const std::string& why) {
  return Error(ErrorClass::keyval, "the key " + std::to_string(number) + " " + why);
}

/// Return the key of a number; null if it was freed, so that only attributes may know it.
base::Result<KeyPtr> get_key(KeyFor kind, int number) {
  if (number == MPI_KEYVAL_INVALID)
    return Error(ErrorClass::keyval, "the key is MPI_KEYVAL_INVALID");
  if (std::ranges::find(kPredefined, number) != kPredefined.end())
    return wrong_key(number, "is the key of a predefined attribute, which cannot be changed");
  KeyPtr key = find_key(number);
  if (key && key->object != kind)
    return wrong_key(number, std::string("was not created for ") + name_of(kind));
  return key;
}

/// Return the attribute of a key; nothing if the key is valid and has none. Errors: keyval.
base::Result<std::optional<Attribute>> look_up(const AttributeOwner& owner, int number) {
  SHIM_TRY_ASSIGN(KeyPtr key, get_key(owner.kind, number));
  std::optional<Attribute> found;
  if (key) found = owner.attributes.find(*key);
  // freed keys exist as long as attributes use them, and the user may still use the number (MPI-4.1
  // §7.7.2)
  if (!found) found = owner.attributes.find_number(number);
  if (!found && !key)
    return wrong_key(number, "was not created through Intersession, or was freed");
  return found;
}

/// True if the code is an error code that the program or the native library has made.
bool is_code(int code) {
  int error_class;
  return user_codes().class_of(code) ||
         (is_active() && active_table.Error_class(code, &error_class) == MPI_SUCCESS);
}

Error refused(const char* what, const Key& key, int code) {
  const std::optional<ErrorClass> error_class = abi::class_of(code);
  const auto origin = !error_class && is_code(code) ? base::Origin::user : base::Origin::shim;
  return Error(error_class.value_or(ErrorClass::other), origin, code,
               std::string("the ") + what + " function of the key " + std::to_string(key.number) +
                   " returned error code " + std::to_string(code));
}

int call_c_copy(const Key& key, abi::Bits from, void* value, void* copy, int* flag) {
  if (key.object == KeyFor::communicator)
    return reinterpret_cast<MPI_Comm_copy_attr_function*>(key.copy)(
        abi::from_bits<MPI_Comm>(from), key.number, key.extra_state, value, copy, flag);
  return reinterpret_cast<MPI_Type_copy_attr_function*>(key.copy)(
      abi::from_bits<MPI_Datatype>(from), key.number, key.extra_state, value, copy, flag);
}

int call_c_erase(const Key& key, abi::Bits from, void* value) {
  if (key.object == KeyFor::communicator)
    return reinterpret_cast<MPI_Comm_delete_attr_function*>(key.erase)(
        abi::from_bits<MPI_Comm>(from), key.number, value, key.extra_state);
  return reinterpret_cast<MPI_Type_delete_attr_function*>(key.erase)(
      abi::from_bits<MPI_Datatype>(from), key.number, value, key.extra_state);
}

// Fortran procedures get all arguments by address. Number: MPI_Aint, or MPI_Fint for MPI-1 keys.
template <typename Number>
using FortranCopy = void(MPI_Fint* object, MPI_Fint* keyval, Number* extra_state, Number* value,
                         Number* copy, MPI_Fint* flag, MPI_Fint* code);
template <typename Number>
using FortranErase = void(MPI_Fint* object, MPI_Fint* keyval, Number* value, Number* extra_state,
                          MPI_Fint* code);

MPI_Fint fortran_handle(const Key& key, abi::Bits handle) {
  return key.object == KeyFor::communicator ? PMPI_Comm_c2f(abi::from_bits<MPI_Comm>(handle))
                                            : PMPI_Type_c2f(abi::from_bits<MPI_Datatype>(handle));
}

template <typename Number>
int call_fortran_copy(const Key& key, abi::Bits from, std::intptr_t value, std::intptr_t* copy,
                      int* flag) {
  MPI_Fint object = fortran_handle(key, from), number = key.number, is_copied = 0,
           code = MPI_SUCCESS;
  auto extra_state = static_cast<Number>(reinterpret_cast<std::intptr_t>(key.extra_state)),
       in = static_cast<Number>(value);
  Number out{};
  reinterpret_cast<FortranCopy<Number>*>(key.copy)(&object, &number, &extra_state, &in, &out,
                                                   &is_copied, &code);
  *copy = out;
  *flag = is_copied;
  return code;
}

template <typename Number>
int call_fortran_erase(const Key& key, abi::Bits from, std::intptr_t value) {
  MPI_Fint object = fortran_handle(key, from), number = key.number, code = MPI_SUCCESS;
  auto extra_state = static_cast<Number>(reinterpret_cast<std::intptr_t>(key.extra_state)),
       in = static_cast<Number>(value);
  reinterpret_cast<FortranErase<Number>*>(key.erase)(&object, &number, &in, &extra_state, &code);
  return code;
}

int call_copy(const Key& key, abi::Bits from, const AttributeValue& value, AttributeValue* copy,
              int* flag) {
  if (key.language == KeyLanguage::c) {
    void* pointer = nullptr;
    const int code = call_c_copy(key, from, value.as_pointer(), &pointer, flag);
    *copy = pointer;
    return code;
  }
  auto* call = key.is_of_mpi1 ? call_fortran_copy<MPI_Fint> : call_fortran_copy<MPI_Aint>;
  std::intptr_t number = 0;
  const int code = call(key, from, value.as_number(), &number, flag);
  *copy = AttributeValue::of_number(number);
  return code;
}

int call_erase(const Key& key, abi::Bits from, const AttributeValue& value) {
  if (key.language == KeyLanguage::c) return call_c_erase(key, from, value.as_pointer());
  auto* call = key.is_of_mpi1 ? call_fortran_erase<MPI_Fint> : call_fortran_erase<MPI_Aint>;
  return call(key, from, value.as_number());
}

/// Exists while a value's delete callback runs. If the callback throws or calls pthread_exit, the
/// value stays.
class Deletion {
 public:
  Deletion(const AttributeOwner& owner, const Attribute& attribute)
      : attributes_(owner.attributes),
        attribute_(attribute),
        is_ours_(attributes_.begin_deletion(attribute)) {}
  ~Deletion() {
    if (is_ours_) attributes_.end_deletion(attribute_, is_deleted_);
  }
  Deletion(const Deletion&) = delete;
  Deletion& operator=(const Deletion&) = delete;
  /// False if another call deletes the value, on this thread or another.
  bool is_ours() const { return is_ours_; }
  void succeed() { is_deleted_ = true; }

 private:
  sessions::Attributes& attributes_;
  const Attribute& attribute_;
  const bool is_ours_;
  bool is_deleted_ = false;
};

base::Status erase(const AttributeOwner& owner, const Attribute& attribute) {
  Deletion deletion(owner, attribute);
  if (!deletion.is_ours()) return {};
  if (attribute.key->erase != nullptr)
    if (int code = call_erase(*attribute.key, owner.handle, attribute.value))
      return refused("delete", *attribute.key, code);
  deletion.succeed();
  return {};
}

base::Status copy(const AttributeOwner& from, const AttributeOwner& to,
                  const Attribute& attribute) {
  if (attribute.key->copy == nullptr) return {};
  int flag = 0;
  AttributeValue value;
  if (int code = call_copy(*attribute.key, from.handle, attribute.value, &value, &flag))
    return refused("copy", *attribute.key, code);
  if (flag != 0) to.attributes.set(attribute.key, value);
  return {};
}

}  // namespace

base::Result<std::optional<AttributeValue>> get_attribute(const AttributeOwner& owner, int number) {
  SHIM_TRY_ASSIGN(std::optional<Attribute> found, look_up(owner, number));
  return found ? std::optional(found->value) : std::nullopt;
}

base::Status set_attribute(const AttributeOwner& owner, int number, AttributeValue value) {
  SHIM_TRY_ASSIGN(std::optional<Attribute> before, look_up(owner, number));
  KeyPtr key = find_key(number);
  if (!key && before) key = before->key;
  if (before) SHIM_TRY(erase(owner, *before));
  owner.attributes.set(key, value);
  return {};
}

base::Status delete_attribute(const AttributeOwner& owner, int number) {
  SHIM_TRY_ASSIGN(std::optional<Attribute> found, look_up(owner, number));
  if (found) SHIM_TRY(erase(owner, *found));
  return {};
}

// Callbacks may set and delete attributes of the object: look each next attribute up again.

base::Status copy_attributes(const AttributeOwner& from, const AttributeOwner& to) {
  std::uint64_t position = 0;
  while (const std::optional<Attribute> attribute = from.attributes.next_after(position)) {
    position = attribute->position;
    auto copied = copy(from, to, *attribute);
    if (copied) continue;
    (void)delete_attributes(to);  // the first error is returned
    return copied;
  }
  return {};
}

base::Status delete_attributes(const AttributeOwner& owner) {
  while (const std::optional<Attribute> attribute = owner.attributes.last())
    SHIM_TRY(erase(owner, *attribute));
  return {};
}

int create_key(const char* function, Key key, int* number,
               int (*native_call)(const Key& key, int* number)) {
  if (detect_activity()) {
    int code = native_call(key, number);
    if (code != MPI_SUCCESS) return code;
    key.number = *number;
    remember_native_key(key);
    return code;
  }
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_output(number, "key"));
    SHIM_TRY(require_substrate());
    SHIM_TRY_ASSIGN(*number, make_key(key));
    return {};
  });
}

int free_key(const char* function, KeyFor kind, int* number, int (*native_call)(int* number)) {
  const bool is_theirs = number == nullptr || !abi::is_key_of_ours(*number);
  if (is_theirs && detect_activity()) {
    if (number != nullptr) forget_key(*number);
    return native_call(number);
  }
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_output(number, "key"));
    SHIM_TRY_ASSIGN(KeyPtr key, get_key(kind, *number));
    if (!forget_key(*number)) return wrong_key(*number, "was not created, or was freed");
    *number = MPI_KEYVAL_INVALID;
    return {};
  });
}

}  // namespace shim::intercept
