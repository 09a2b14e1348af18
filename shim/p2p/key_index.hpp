// SPDX-License-Identifier: BSD-3-Clause
// KeyIndex is a hash table of queues: finds the first entry of a key in constant time.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shim::p2p {

/// Hook of an indexed entry; unlinks itself when destroyed.
template <typename Tag>
using KeyHook = boost::intrusive::list_base_hook<
    boost::intrusive::tag<Tag>, boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// Entries of one key stay in the order of insertion. Does not grow: see has_capacity.
/// @tparam T a KeyHook<Tag>  @tparam Key a struct with from(const T&), number() and ==
template <typename T, typename Tag, typename Key>
class KeyIndex {
 public:
  /// Create an index for up to `most` entries.
  explicit KeyIndex(std::size_t most) {
    while (std::size_t{1} << bits_ < most) ++bits_;
    lists_ = std::vector<List>(std::size_t{1} << bits_);
  }
  /// True if lists are short with this many entries.
  bool has_capacity(std::size_t count) const { return count <= lists_.size(); }
  void add(T& item) { list_of(Key::from(item)).push_back(item); }
  static void remove(T& item) {
    auto& hook = static_cast<KeyHook<Tag>&>(item);
    if (hook.is_linked()) hook.unlink();
  }
  /// Return the first entry of the key; null if there is none.
  T* first(const Key& key) {
    for (T& item : list_of(key)) {
      if (Key::from(item) == key) return &item;
    }
    return nullptr;
  }

 private:
  using List = boost::intrusive::list<T, boost::intrusive::constant_time_size<false>,
                                      boost::intrusive::base_hook<KeyHook<Tag>>>;
  // Fibonacci hashing: the upper bits of the product depend on all bits of the number.
  List& list_of(const Key& key) {
    return lists_[static_cast<std::size_t>(key.number() * 0x9e3779b97f4a7c15u >> (64 - bits_))];
  }

  unsigned bits_ = 8;
  std::vector<List> lists_;
};

}  // namespace shim::p2p
