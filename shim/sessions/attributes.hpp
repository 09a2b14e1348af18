// SPDX-License-Identifier: BSD-3-Clause
// What users cache on objects (MPI-4.1 §7.7), as values: the functions of a key are called in intercept alone.
#pragma once

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
};

/// What is cached on one object, in the order in which it was first set. Thread-safe.
class Attributes {
 public:
  std::optional<Attribute> find(const Key& key) const;
  /// For keys that were freed while in use: the user may still have their number.
  std::optional<Attribute> find_number(int number) const;
  void set(const KeyPtr& key, void* value);
  void erase(const Key& key);
  std::vector<Attribute> all() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Attribute> attributes_;
};

}  // namespace shim::sessions
