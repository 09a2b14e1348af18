// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/bodies/attributes.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "shim/intercept/abi/codes.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/keys.hpp"
#include "shim/intercept/substrate.hpp"
#include "shim/intercept/user_codes.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::Attribute;
using sessions::Key;
using sessions::KeyFor;
using sessions::KeyPtr;

constexpr std::array kPredefined = {MPI_TAG_UB, MPI_HOST, MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_APPNUM, MPI_LASTUSEDCODE, MPI_UNIVERSE_SIZE,
                                    MPI_WIN_BASE, MPI_WIN_SIZE, MPI_WIN_DISP_UNIT, MPI_WIN_CREATE_FLAVOR, MPI_WIN_MODEL};

const char* name_of(KeyFor kind) { return kind == KeyFor::communicator ? "communicators" : "datatypes"; }

Error wrong_key(int number, const std::string& why) { return Error(ErrorClass::keyval, "the key " + std::to_string(number) + " " + why); }

/// What the user calls a key; null where only attributes know it any more, because it was freed.
base::Result<KeyPtr> take_key(KeyFor kind, int number) {
  if (number == MPI_KEYVAL_INVALID) return Error(ErrorClass::keyval, "the key is MPI_KEYVAL_INVALID");
  if (std::ranges::find(kPredefined, number) != kPredefined.end())
    return wrong_key(number, "is that of a predefined attribute, which nobody can change");
  KeyPtr key = find_key(number);
  if (key && key->object != kind) return wrong_key(number, std::string("was not made for ") + name_of(kind));
  return key;
}

/// The attribute of this key; nothing where there is none, but the key is good. Errors: keyval.
base::Result<std::optional<Attribute>> look_up(const AttributeOwner& owner, int number) {
  SHIM_TRY_ASSIGN(KeyPtr key, take_key(owner.kind, number));
  std::optional<Attribute> found;
  if (key) found = owner.attributes.find(*key);
  // freed keys live on in what is cached under them, and the user may have kept the number (MPI-4.1 §7.7.2)
  if (!found) found = owner.attributes.find_number(number);
  if (!found && !key) return wrong_key(number, "was never made, was freed, or was made where Intersession could not see it");
  return found;
}

/// Is it an error code at all, one that the program or the library below has made?
bool is_code(int code) {
  int error_class;
  return user_codes().class_of(code) || (is_active() && active_table.Error_class(code, &error_class) == MPI_SUCCESS);
}

Error refused(const char* what, const Key& key, int code) {
  const std::optional<ErrorClass> error_class = abi::class_of(code);
  const auto origin = !error_class && is_code(code) ? base::Origin::user : base::Origin::shim;
  return Error(error_class.value_or(ErrorClass::other), origin, code,
               std::string("the ") + what + " function of the key " + std::to_string(key.number) + " gave the error code " +
                   std::to_string(code));
}

int call_copy(const Key& key, abi::Bits from, void* value, void* copy, int* flag) {
  if (key.object == KeyFor::communicator)
    return reinterpret_cast<MPI_Comm_copy_attr_function*>(key.copy)(abi::from_bits<MPI_Comm>(from), key.number, key.extra_state, value,
                                                                    copy, flag);
  return reinterpret_cast<MPI_Type_copy_attr_function*>(key.copy)(abi::from_bits<MPI_Datatype>(from), key.number, key.extra_state, value,
                                                                  copy, flag);
}

int call_erase(const Key& key, abi::Bits from, void* value) {
  if (key.object == KeyFor::communicator)
    return reinterpret_cast<MPI_Comm_delete_attr_function*>(key.erase)(abi::from_bits<MPI_Comm>(from), key.number, value, key.extra_state);
  return reinterpret_cast<MPI_Type_delete_attr_function*>(key.erase)(abi::from_bits<MPI_Datatype>(from), key.number, value,
                                                                     key.extra_state);
}

/// The time in which the delete function of a value runs. An exception of the function, or
/// pthread_exit in it, leaves the value.
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
  /// False if another call deletes the value: this thread further up, or another thread.
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
    if (int code = call_erase(*attribute.key, owner.handle, attribute.value)) return refused("delete", *attribute.key, code);
  deletion.succeed();
  return {};
}

base::Status copy(const AttributeOwner& from, const AttributeOwner& to, const Attribute& attribute) {
  if (attribute.key->copy == nullptr) return {};
  int flag = 0;
  void* value = nullptr;
  if (int code = call_copy(*attribute.key, from.handle, attribute.value, &value, &flag)) return refused("copy", *attribute.key, code);
  if (flag != 0) to.attributes.set(attribute.key, value);
  return {};
}

}  // namespace

base::Result<std::optional<void*>> get_attribute(const AttributeOwner& owner, int number) {
  SHIM_TRY_ASSIGN(std::optional<Attribute> found, look_up(owner, number));
  return found ? std::optional<void*>(found->value) : std::nullopt;
}

base::Status set_attribute(const AttributeOwner& owner, int number, void* value) {
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

// Functions may set and delete attributes of the object: each time the next attribute is looked up
// anew.

base::Status copy_attributes(const AttributeOwner& from, const AttributeOwner& to) {
  std::uint64_t place = 0;
  while (const std::optional<Attribute> attribute = from.attributes.next_after(place)) {
    place = attribute->place;
    auto copied = copy(from, to, *attribute);
    if (copied) continue;
    (void)delete_attributes(to);  // the first error counts
    return copied;
  }
  return {};
}

base::Status delete_attributes(const AttributeOwner& owner) {
  while (const std::optional<Attribute> attribute = owner.attributes.last())
    SHIM_TRY(erase(owner, *attribute));
  return {};
}

int create_key(const char* function, Key key, int* number, int (*below)(const Key& key, int* number)) {
  if (notice_activity()) {
    int code = below(key, number);
    if (code != MPI_SUCCESS) return code;
    key.number = *number;
    remember_native_key(key);
    return code;
  }
  return deliver(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_output(number, "key"));
    SHIM_TRY(need_substrate());
    SHIM_TRY_ASSIGN(*number, make_key(key));
    return {};
  });
}

int free_key(const char* function, KeyFor kind, int* number, int (*below)(int* number)) {
  const bool is_theirs = number == nullptr || !is_key_of_ours(*number);
  if (is_theirs && notice_activity()) {
    if (number != nullptr) forget_key(*number);
    return below(number);
  }
  return deliver(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_output(number, "key"));
    SHIM_TRY_ASSIGN(KeyPtr key, take_key(kind, *number));
    if (!forget_key(*number)) return wrong_key(*number, "was never made, or was freed");
    *number = MPI_KEYVAL_INVALID;
    return {};
  });
}

}  // namespace shim::intercept
