// SPDX-License-Identifier: BSD-3-Clause
// Matching assigns messages to receives (MPI-4.1 §3.5) on one plane of one communicator.
//
// Receives for one source wait in that source's queue, receives for any source in a separate queue;
// running numbers order the two. Unexpected messages are in their source's queue and in a list of
// all by arrival. The cost for an exact source therefore does not depend on other sources. After a
// search has passed many entries with other tags, Matching indexes all waiting entries by source
// and tag (key_index.hpp) until none is left, so that other tags cost nothing either.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>

#include "shim/p2p/key_index.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/p2p/source_table.hpp"

namespace shim::p2p {

using boost::intrusive::link_mode;
using boost::intrusive::list_base_hook;
using boost::intrusive::normal_link;

struct ByKey;
struct ByTag;

/// The part of a receive that waits for its message. Owned by the caller of post().
struct PostedReceive : list_base_hook<link_mode<normal_link>>, KeyHook<ByKey> {
  int source = kAnySource;
  int tag = kAnyTag;
  std::uint64_t number = 0;  ///< order of posting, set by post()
};

struct BySource;
struct ByArrivalOrder;
template <typename Tag>
using UnexpectedHook = list_base_hook<boost::intrusive::tag<Tag>, link_mode<normal_link>>;
/// The part of a message that waits for its receive. Owned by the caller of add().
struct UnexpectedMsg : UnexpectedHook<BySource>,
                       UnexpectedHook<ByArrivalOrder>,
                       KeyHook<ByKey>,
                       KeyHook<ByTag> {
  int source = 0;
  int tag = 0;
};

/// Source and tag of a message, or those that a receive asks for, wildcards included.
struct SourceAndTag {
  int source, tag;
  template <typename Item>
  static SourceAndTag from(const Item& item) {
    return {item.source, item.tag};
  }
  std::uint64_t number() const {
    return std::uint64_t{static_cast<std::uint32_t>(source)} << 32 |
           static_cast<std::uint32_t>(tag);
  }
  bool operator==(const SourceAndTag&) const = default;
};
struct TagAlone {
  int tag;
  static TagAlone from(const UnexpectedMsg& message) { return {message.tag}; }
  std::uint64_t number() const { return static_cast<std::uint32_t>(tag); }
  bool operator==(const TagAlone&) const = default;
};

class Matching {
 public:
  /// Sources are 0 to sources-1.
  explicit Matching(int sources) : by_source_(sources) {}

  /// Remove and return the first posted receive that accepts a message; null if there is none.
  PostedReceive* take_posted(int source, int tag) {
    return posted_count_ == 0 ? nullptr : take_first_posted(source, tag);
  }
  /// Return the first message by arrival that a receive for this source and tag accepts, without
  /// removing it; null if there is none.
  UnexpectedMsg* find_unexpected(int source, int tag) {
    return unexpected_.empty() ? nullptr : find_first_unexpected(source, tag);
  }

  /// Return the first message from this source that satisfies the predicate, whatever its tag; null
  /// if there is none.
  template <typename Predicate>
  UnexpectedMsg* find_unexpected_if(int source, const Predicate& predicate);

  void post(PostedReceive& receive);
  void remove(PostedReceive& receive);
  void add(UnexpectedMsg& message);
  void remove(UnexpectedMsg& message);

  bool has_posted() const { return posted_count_ != 0; }
  /// True if a posted receive may accept messages of this source.
  bool has_posted_for(int source) const {
    if (posted_count_ == 0) return false;
    const Queues* queues = by_source_.find(source);
    return !any_source_.empty() || (queues != nullptr && !queues->posted.empty());
  }
  /// Return any posted receive that satisfies the predicate, null if none; for failures, not for
  /// matching.
  template <typename Predicate>
  PostedReceive* find_posted(const Predicate& predicate);
  /// Visit each source, or kAnySource, that a posted receive waits for.
  template <typename Visit>
  void for_each_source(const Visit& visit) const {
    if (!any_source_.empty()) visit(kAnySource);
    by_source_.for_each([&](int source, const Queues& queues) {
      if (!queues.posted.empty()) visit(source);
    });
  }
  UnexpectedMsg* first_unexpected() { return unexpected_.empty() ? nullptr : &unexpected_.front(); }

 private:
  using PostedList =
      boost::intrusive::list<PostedReceive, boost::intrusive::constant_time_size<false>>;
  template <typename Tag>
  using UnexpectedList =
      boost::intrusive::list<UnexpectedMsg, boost::intrusive::constant_time_size<false>,
                             boost::intrusive::base_hook<UnexpectedHook<Tag>>>;
  struct Queues {
    PostedList posted;
    UnexpectedList<BySource> unexpected;
  };
  PostedReceive* search_posted(int source, int tag);
  PostedReceive* first_posted(int source, int tag);
  PostedReceive* first_indexed(int source, int tag);
  PostedReceive* take_first_posted(int source, int tag);
  // Separate function: usually there is no unexpected message, which callers check inline.
  UnexpectedMsg* find_first_unexpected(int source, int tag);
  void index_posted();
  void add_to_index(PostedReceive& receive);
  void remove_from_index(PostedReceive& receive);
  void index_unexpected();

  using PostedIndex = KeyIndex<PostedReceive, ByKey, SourceAndTag>;
  struct UnexpectedIndex {
    explicit UnexpectedIndex(std::size_t most) : by_key(most), by_tag(most) {}
    KeyIndex<UnexpectedMsg, ByKey, SourceAndTag> by_key;
    KeyIndex<UnexpectedMsg, ByTag, TagAlone> by_tag;
  };

  SourceTable<Queues> by_source_;
  PostedList any_source_;
  UnexpectedList<ByArrivalOrder> unexpected_;
  std::uint64_t next_number_ = 0;
  std::uint64_t posted_count_ = 0;
  std::size_t unexpected_count_ = 0;
  std::unique_ptr<PostedIndex> posted_index_;          ///< null unless one was needed
  std::unique_ptr<UnexpectedIndex> unexpected_index_;  ///< null unless one was needed
};

// Inlined, because it runs for each message with a posted receive: usually the first receive posted
// for the source.
inline PostedReceive* Matching::take_first_posted(int source, int tag) {
  PostedReceive* first = nullptr;
  if (any_source_.empty() && posted_index_ == nullptr) [[likely]] {
    Queues* queues = by_source_.find(source);
    if (queues == nullptr || queues->posted.empty()) return nullptr;
    PostedReceive& front = queues->posted.front();
    if (front.tag == tag || front.tag == kAnyTag) first = &front;
  }
  if (first == nullptr) [[unlikely]]
    first = search_posted(source, tag);
  if (first != nullptr) remove(*first);
  return first;
}

inline void Matching::post(PostedReceive& receive) {
  receive.number = next_number_++;
  (receive.source == kAnySource ? any_source_ : by_source_.at(receive.source).posted)
      .push_back(receive);
  ++posted_count_;
  if (posted_index_ != nullptr) [[unlikely]]
    add_to_index(receive);
}

inline void Matching::remove(PostedReceive& receive) {
  PostedList::node_algorithms::unlink(
      PostedList::value_traits::to_node_ptr(receive));  // from whichever list it is in
  --posted_count_;
  if (posted_index_ != nullptr) [[unlikely]]
    remove_from_index(receive);
}

template <typename Predicate>
UnexpectedMsg* Matching::find_unexpected_if(int source, const Predicate& predicate) {
  Queues* queues = by_source_.find(source);
  if (queues == nullptr) return nullptr;
  for (UnexpectedMsg& message : queues->unexpected) {
    if (predicate(message)) return &message;
  }
  return nullptr;
}

template <typename Predicate>
PostedReceive* Matching::find_posted(const Predicate& predicate) {
  for (PostedReceive& receive : any_source_) {
    if (predicate(receive)) return &receive;
  }
  PostedReceive* found = nullptr;
  by_source_.for_each([&](int, Queues& queues) {
    for (PostedReceive& receive : queues.posted) {
      if (found == nullptr && predicate(receive)) found = &receive;
    }
  });
  return found;
}

}  // namespace shim::p2p
