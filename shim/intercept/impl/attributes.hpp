// SPDX-License-Identifier: BSD-3-Clause
// Implements the user's attributes on Intersession's objects, MPI-4.1 §7.7. This is the common part
// for communicators and datatypes.
#pragma once

#include <optional>
#include <utility>

#include "shim/intercept/impl/arguments.hpp"
#include "shim/sessions/attributes.hpp"

namespace shim::intercept {

/// An object as the user's callbacks see it, and its attributes.
struct AttributeOwner {
  sessions::KeyFor kind;
  abi::Bits handle;
  sessions::Attributes& attributes;
};

// The user's callbacks run without locks held. If a callback does not return MPI_SUCCESS, the call
// fails (MPI-4.1 §7.7.2) with the callback's code, or with MPI_ERR_OTHER if that is not an error
// code.

/// Errors: keyval (invalid, predefined, freed, of another kind of object).
base::Result<std::optional<sessions::AttributeValue>> get_attribute(const AttributeOwner& owner,
                                                                    int number);
/// Set an attribute. The old value is deleted first, and stays if its callback fails. Errors:
/// keyval.
base::Status set_attribute(const AttributeOwner& owner, int number, sessions::AttributeValue value);
/// Delete an attribute; succeed if there is none. Errors: keyval.
base::Status delete_attribute(const AttributeOwner& owner, int number);

/// Copy attributes to a duplicate in the order in which they were set. If a callback fails, delete
/// the copied ones from the duplicate.
base::Status copy_attributes(const AttributeOwner& from, const AttributeOwner& to);
/// Owns the handle of a duplicate while copy callbacks run. Frees it unless kept: a callback may
/// fail, throw, or end its thread.
template <typename Table, typename Handle>
class HandleOfCopy {
 public:
  HandleOfCopy(Table& table, Handle handle) : table_(table), handle_(handle) {}
  ~HandleOfCopy() {
    if (!abi::is_unset(handle_)) static_cast<void>(table_.take(handle_));
  }
  HandleOfCopy(const HandleOfCopy&) = delete;
  HandleOfCopy& operator=(const HandleOfCopy&) = delete;
  Handle handle() const { return handle_; }
  Handle keep() { return std::exchange(handle_, Handle{}); }

 private:
  Table& table_;
  Handle handle_;
};

/// Delete all attributes of an object that ends, latest first (MPI-4.1 §11.2.4 requires it for
/// MPI_COMM_SELF only). Includes attributes that a delete callback sets, and skips those that it
/// deletes. If a callback fails, its attribute and all earlier ones stay.
base::Status delete_attributes(const AttributeOwner& owner);

/// Implement MPI_X_create_keyval and MPI_X_free_keyval. A key made while the substrate is active is
/// the substrate's (`native_call` makes or frees it); its callbacks are remembered for objects of
/// ours.
int create_key(const char* function, sessions::Key key, int* number,
               int (*native_call)(const sessions::Key& key, int* number));
int free_key(const char* function, sessions::KeyFor kind, int* number,
             int (*native_call)(int* number));

}  // namespace shim::intercept
