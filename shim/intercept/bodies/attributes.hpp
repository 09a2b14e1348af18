// SPDX-License-Identifier: BSD-3-Clause
// Attributes of the user's on objects of ours, MPI-4.1 §7.7: what communicators and datatypes have in common.
#pragma once

#include <optional>
#include <utility>

#include "shim/intercept/bodies/arguments.hpp"
#include "shim/sessions/attributes.hpp"

namespace shim::intercept {

/// An object as the user's functions see it, and what is cached on it.
struct AttributeOwner {
  sessions::KeyFor kind;
  abi::Bits handle;
  sessions::Attributes& attributes;
};

// The user's functions run under no lock. One that does not return MPI_SUCCESS makes the call fail (MPI-4.1 §7.7.2), with its
// code, or with MPI_ERR_OTHER where that is no error code.

/// Errors: keyval (none, predefined, freed, made for other objects).
base::Result<std::optional<void*>> get_attribute(const AttributeOwner& owner, int number);
/// What was there before is deleted first, and stays where its function refuses. Errors: keyval.
base::Status set_attribute(const AttributeOwner& owner, int number, void* value);
/// What is not there counts as deleted. Errors: keyval.
base::Status delete_attribute(const AttributeOwner& owner, int number);

/// At the making of a duplicate, in the order in which the attributes were set. Where a function fails, what was copied before is
/// deleted from the duplicate again.
base::Status copy_attributes(const AttributeOwner& from, const AttributeOwner& to);
/// The handle of a duplicate while copy functions run. Taken back unless kept: a function may fail,
/// throw, or end its thread.
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

/// At the end of the object, the latest first (MPI-4.1 §11.2.4 asks for it at MPI_COMM_SELF and
/// leaves it free elsewhere), until none is left: also those that a delete function sets, and not
/// those that it deletes. If a function fails, that attribute and all earlier ones stay.
base::Status delete_attributes(const AttributeOwner& owner);

/// The bodies of MPI_X_create_keyval and MPI_X_free_keyval. A key that is made while the substrate is active is the substrate's
/// (`below` makes or frees it); its functions are remembered for objects of ours.
int create_key(const char* function, sessions::Key key, int* number, int (*below)(const sessions::Key& key, int* number));
int free_key(const char* function, sessions::KeyFor kind, int* number, int (*below)(int* number));

}  // namespace shim::intercept
