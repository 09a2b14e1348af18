// SPDX-License-Identifier: BSD-3-Clause
// Which message belongs to which receive (MPI-4.1 §3.5): the queues of one plane of one communicator, and nothing else.
//
// Receives for one source wait in that source's queue, those for any source in a queue of their own; a running number tells
// which of two was posted first. Unexpected messages are in their source's queue and in one of all by arrival. Exact sources
// therefore cost the same however many others wait. Who has looked through many of other tags in vain makes an index of all that wait, by
// source and tag (key_index.hpp), which is kept until nothing waits; so those of other tags cost nothing either.
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

/// The part of a receive that waits for its message. Owned by who posts it.
struct Posted : list_base_hook<link_mode<normal_link>>, KeyHook<ByKey> {
  int source = kAnySource;
  int tag = kAnyTag;
  std::uint64_t number = 0;  ///< order of posting, set by post()
};

struct BySource;
struct ByArrival;
template <typename Tag>
using ArrivedHook = list_base_hook<boost::intrusive::tag<Tag>, link_mode<normal_link>>;
/// The part of a message that waits for its receive. Owned by who adds it.
struct Arrived : ArrivedHook<BySource>, ArrivedHook<ByArrival>, KeyHook<ByKey>, KeyHook<ByTag> {
  int source = 0;
  int tag = 0;
};

/// Of a receive what it asks for, wildcards included; of a message what it has.
struct SourceAndTag {
  int source, tag;
  template <typename Item>
  static SourceAndTag from(const Item& item) { return {item.source, item.tag}; }
  std::uint64_t number() const { return std::uint64_t{static_cast<std::uint32_t>(source)} << 32 | static_cast<std::uint32_t>(tag); }
  bool operator==(const SourceAndTag&) const = default;
};
struct TagAlone {
  int tag;
  static TagAlone from(const Arrived& message) { return {message.tag}; }
  std::uint64_t number() const { return static_cast<std::uint32_t>(tag); }
  bool operator==(const TagAlone&) const = default;
};

class Matching {
 public:
  /// Sources are 0 to sources-1.
  explicit Matching(int sources) : by_source_(sources) {}

  /// A message has come: takes out the receive it belongs to, the one posted first of those that accept it; null if none.
  Posted* take_posted(int source, int tag) { return posted_count_ == 0 ? nullptr : take_first_posted(source, tag); }
  /// The first message by arrival that a receive for this source and tag accepts; stays where it is. Null if none.
  Arrived* find_arrived(int source, int tag) { return arrived_.empty() ? nullptr : find_first_arrived(source, tag); }

  /// The first message from this source that satisfies the predicate, whatever its tag; null if none.
  template <typename Predicate>
  Arrived* find_arrived_if(int source, const Predicate& predicate);

  void post(Posted& receive);
  void remove(Posted& receive);
  void add(Arrived& message);
  void remove(Arrived& message);

  bool has_posted() const { return posted_count_ != 0; }
  /// Does a receive wait that messages of this source may be for?
  bool has_posted_for(int source) const {
    if (posted_count_ == 0) return false;
    const Queues* queues = by_source_.find(source);
    return !any_source_.empty() || (queues != nullptr && !queues->posted.empty());
  }
  /// Some posted receive that satisfies the predicate, null if none; for failures, not for matching.
  template <typename Predicate>
  Posted* find_posted(const Predicate& predicate);
  /// Visits each source, or kAnySource, that some posted receive waits for.
  template <typename Visit>
  void for_each_source(const Visit& visit) const {
    if (!any_source_.empty()) visit(kAnySource);
    by_source_.for_each([&](int source, const Queues& queues) {
      if (!queues.posted.empty()) visit(source);
    });
  }
  Arrived* first_arrived() { return arrived_.empty() ? nullptr : &arrived_.front(); }

 private:
  using PostedList = boost::intrusive::list<Posted, boost::intrusive::constant_time_size<false>>;
  template <typename Tag>
  using ArrivedList = boost::intrusive::list<Arrived, boost::intrusive::constant_time_size<false>,
                                             boost::intrusive::base_hook<ArrivedHook<Tag>>>;
  struct Queues {
    PostedList posted;
    ArrivedList<BySource> arrived;
  };
  Posted* search_posted(int source, int tag);
  Posted* first_posted(int source, int tag);
  Posted* first_indexed(int source, int tag);
  Posted* take_first_posted(int source, int tag);
  // Where there is one at all: mostly there is none, which is seen without a call.
  Arrived* find_first_arrived(int source, int tag);
  void index_posted();
  void enter_in_index(Posted& receive);
  void take_out_of_index(Posted& receive);
  void index_arrived();

  using PostedIndex = KeyIndex<Posted, ByKey, SourceAndTag>;
  struct ArrivedIndex {
    explicit ArrivedIndex(std::size_t most) : by_key(most), by_tag(most) {}
    KeyIndex<Arrived, ByKey, SourceAndTag> by_key;
    KeyIndex<Arrived, ByTag, TagAlone> by_tag;
  };

  SourceTable<Queues> by_source_;
  PostedList any_source_;
  ArrivedList<ByArrival> arrived_;
  std::uint64_t next_number_ = 0;
  std::uint64_t posted_count_ = 0;
  std::size_t arrived_count_ = 0;
  std::unique_ptr<PostedIndex> posted_index_;    ///< null unless one was needed
  std::unique_ptr<ArrivedIndex> arrived_index_;  ///< null unless one was needed
};

// Inlined, as it is a part of every message for which a receive waits: mostly that is the one that its source was waited for with first.
inline Posted* Matching::take_first_posted(int source, int tag) {
  Posted* first = nullptr;
  if (any_source_.empty() && posted_index_ == nullptr) [[likely]] {
    Queues* queues = by_source_.find(source);
    if (queues == nullptr || queues->posted.empty()) return nullptr;
    Posted& front = queues->posted.front();
    if (front.tag == tag || front.tag == kAnyTag) first = &front;
  }
  if (first == nullptr) [[unlikely]] first = search_posted(source, tag);
  if (first != nullptr) remove(*first);
  return first;
}

inline void Matching::post(Posted& receive) {
  receive.number = next_number_++;
  (receive.source == kAnySource ? any_source_ : by_source_.at(receive.source).posted).push_back(receive);
  ++posted_count_;
  if (posted_index_ != nullptr) [[unlikely]] enter_in_index(receive);
}

inline void Matching::remove(Posted& receive) {
  PostedList::node_algorithms::unlink(PostedList::value_traits::to_node_ptr(receive));  // out of whichever list it is in
  --posted_count_;
  if (posted_index_ != nullptr) [[unlikely]] take_out_of_index(receive);
}

template <typename Predicate>
Arrived* Matching::find_arrived_if(int source, const Predicate& predicate) {
  Queues* queues = by_source_.find(source);
  if (queues == nullptr) return nullptr;
  for (Arrived& message : queues->arrived) {
    if (predicate(message)) return &message;
  }
  return nullptr;
}

template <typename Predicate>
Posted* Matching::find_posted(const Predicate& predicate) {
  for (Posted& receive : any_source_) {
    if (predicate(receive)) return &receive;
  }
  Posted* found = nullptr;
  by_source_.for_each([&](int, Queues& queues) {
    for (Posted& receive : queues.posted) {
      if (found == nullptr && predicate(receive)) found = &receive;
    }
  });
  return found;
}

}  // namespace shim::p2p
