// SPDX-License-Identifier: BSD-3-Clause
// What users cache on objects (MPI-4.1 §7.7), as values: the functions of a key are called in intercept alone.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace shim::sessions {

/// Which MPI objects a key was made for: the first argument's type of its functions.
enum class KeyFor { communicator, datatype };

/// A key, by whatever number the user knows it. It lives as long as anything is cached under it (MPI-4.1 §7.7.2).
struct Key {
  KeyFor object = KeyFor::communicator;
  int number = 0;
  // the user's functions, whose exact C types the border knows; null for those that do nothing
  void (*copy)() = nullptr;
  void (*erase)() = nullptr;
  void* extra_state = nullptr;
};
using KeyPtr = std::shared_ptr<const Key>;

struct Attribute {
  KeyPtr key;
  void* value = nullptr;
  std::uint64_t place = 0;    ///< in the order in which attributes were first set; from 1
  std::uint64_t version = 0;  ///< of the value: another number each time that it is set
};

/// The attributes of one object, in the order in which they were first set. Thread-safe.
/// Functions of keys run between two calls, so they may change the attributes: a version names a
/// value that may be gone.
class Attributes {
 public:
  std::optional<Attribute> find(const Key& key) const;
  /// For keys that were freed while in use: the user may still have their number.
  std::optional<Attribute> find_number(int number) const;
  /// The attribute with the lowest place above this one; with 0 the first.
  std::optional<Attribute> next_after(std::uint64_t place) const;
  /// The attribute with the highest place that no delete function runs for.
  std::optional<Attribute> last() const;
  void set(const KeyPtr& key, void* value);

  /// Before the delete function of a value runs. False if the value is gone, or the function runs
  /// for it already.
  bool begin_deletion(const Attribute& attribute);
  /// After it. The value stays unless it is deleted; a value that was set meanwhile stays in any
  /// case.
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
