// SPDX-License-Identifier: BSD-3-Clause
// Attributes holds the attributes that users cache on an object (MPI-4.1 §7.7). Only intercept
// calls the copy and delete functions of keys.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace shim::sessions {

/// MPI object type that a key was made for: the first argument's type of its functions.
enum class KeyFor { communicator, datatype };

/// Language of a key's functions (MPI-4.1 §19.3.7). Values are pointers in C and numbers in
/// Fortran.
enum class KeyLanguage { c, fortran };

/// Attribute value: a pointer set from C, or a number set from Fortran.
class AttributeValue {
 public:
  AttributeValue(void* pointer = nullptr) : pointer_(pointer) {}
  static AttributeValue of_number(std::intptr_t number) {
    AttributeValue value;
    value.number_ = std::make_shared<std::intptr_t>(number);
    return value;
  }
  /// Return the pointer, or the address of the number, valid while any copy of the value exists. On
  /// little-endian machines it is also the address of the number as a default integer.
  void* as_pointer() const { return number_ ? number_.get() : pointer_; }
  /// Return the number, or the pointer as a number.
  std::intptr_t as_number() const {
    return number_ ? *number_ : reinterpret_cast<std::intptr_t>(pointer_);
  }

 private:
  void* pointer_ = nullptr;
  std::shared_ptr<std::intptr_t> number_;  ///< null for a pointer
};

/// Attribute key, identified by the user's number. Exists while any attribute uses it (MPI-4.1
/// §7.7.2).
struct Key {
  KeyFor object = KeyFor::communicator;
  int number = 0;
  // the user's functions, whose exact types the interposition layer knows; null for the predefined
  // ones that do nothing
  void (*copy)() = nullptr;
  void (*erase)() = nullptr;
  void* extra_state = nullptr;  ///< a number, if the language is Fortran
  KeyLanguage language = KeyLanguage::c;
  bool is_of_mpi1 = false;  ///< made by MPI_Keyval_create: Fortran's numbers are default integers
};
using KeyPtr = std::shared_ptr<const Key>;

struct Attribute {
  KeyPtr key;
  AttributeValue value;
  std::uint64_t position = 0;  ///< in the order of first insertion; from 1
  std::uint64_t version = 0;   ///< changes each time the value is set
};

/// Attributes of one object, in the order of first insertion. Thread-safe. Functions of keys run
/// between two calls and may change the attributes, so a version may name a deleted value.
class Attributes {
 public:
  std::optional<Attribute> find(const Key& key) const;
  /// Find by number: the user may still hold the number of a freed key.
  std::optional<Attribute> find_number(int number) const;
  /// Return the attribute with the lowest position above `position`; 0 gives the first.
  std::optional<Attribute> next_after(std::uint64_t position) const;
  /// Return the attribute with the highest position whose delete function is not running.
  std::optional<Attribute> last() const;
  void set(const KeyPtr& key, AttributeValue value);

  /// Mark a value before its delete function runs. False if the value is gone, or its delete
  /// function is already running.
  bool begin_deletion(const Attribute& attribute);
  /// Finish after the delete function. Erases the value if is_deleted; keeps a value set meanwhile.
  void end_deletion(const Attribute& attribute, bool is_deleted);

 private:
  struct Entry {
    Attribute attribute;
    bool is_being_deleted = false;
  };
  Entry* entry_of(const Attribute& attribute);
  template <typename Wanted>
  std::optional<Attribute> find_if(const Wanted& wanted) const;

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::uint64_t versions_ = 0;
};

}  // namespace shim::sessions
