// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/matching.hpp"

namespace shim::p2p {

namespace {

// Who has looked through more than so many in vain makes an index, for the next ones.
constexpr int kFew = 32;

bool accepts(int wanted_tag, int tag) { return wanted_tag == kAnyTag || wanted_tag == tag; }

/// The first in a list that satisfies the predicate; counts those that do not.
template <typename List, typename Predicate>
auto* first_in(List& list, const Predicate& predicate, int& in_vain) {
  for (auto& item : list) {
    if (predicate(item)) return &item;
    ++in_vain;
  }
  return static_cast<typename List::pointer>(nullptr);
}

}  // namespace

Posted* Matching::search_posted(int source, int tag) {
  return posted_index_ != nullptr ? first_indexed(source, tag) : first_posted(source, tag);
}

/// Of the receives that accept a message there are four kinds.
Posted* Matching::first_indexed(int source, int tag) {
  Posted* first = nullptr;
  for (const SourceAndTag& key : {SourceAndTag{source, tag}, {source, kAnyTag}, {kAnySource, tag}, {kAnySource, kAnyTag}}) {
    Posted* found = posted_index_->first(key);
    if (found != nullptr && (first == nullptr || found->number < first->number)) first = found;
  }
  return first;
}

Posted* Matching::first_posted(int source, int tag) {
  const auto is_meant = [tag](const Posted& receive) { return accepts(receive.tag, tag); };
  int in_vain = 0;
  Queues* queues = by_source_.find(source);
  Posted* exact = queues == nullptr ? nullptr : first_in(queues->posted, is_meant, in_vain);
  Posted* any = any_source_.empty() ? nullptr : first_in(any_source_, is_meant, in_vain);
  if (in_vain > kFew) index_posted();
  return exact == nullptr || (any != nullptr && any->number < exact->number) ? any : exact;
}

Arrived* Matching::find_first_arrived(int source, int tag) {
  if (arrived_index_ != nullptr && tag != kAnyTag)
    return source == kAnySource ? arrived_index_->by_tag.first({tag}) : arrived_index_->by_key.first({source, tag});
  const auto is_meant = [tag](const Arrived& message) { return accepts(tag, message.tag); };
  int in_vain = 0;
  Arrived* found = nullptr;
  if (source == kAnySource) found = first_in(arrived_, is_meant, in_vain);
  else if (Queues* queues = by_source_.find(source)) found = first_in(queues->arrived, is_meant, in_vain);
  if (in_vain > kFew) index_arrived();
  return found;
}

void Matching::enter_in_index(Posted& receive) {
  if (posted_index_->has_room(posted_count_)) posted_index_->add(receive);
  else index_posted();
}

void Matching::take_out_of_index(Posted& receive) {
  PostedIndex::remove(receive);
  if (posted_count_ == 0) posted_index_.reset();
}

/// Those of one key are in one queue, in their order.
void Matching::index_posted() {
  auto index = std::make_unique<PostedIndex>(2 * posted_count_);
  const auto add_all = [&](PostedList& list) {
    for (Posted& receive : list) {
      PostedIndex::remove(receive);
      index->add(receive);
    }
  };
  add_all(any_source_);
  by_source_.for_each([&](int, Queues& queues) { add_all(queues.posted); });
  posted_index_ = std::move(index);
}

void Matching::add(Arrived& message) {
  by_source_.at(message.source).arrived.push_back(message);
  arrived_.push_back(message);
  ++arrived_count_;
  if (arrived_index_ == nullptr) [[likely]] return;
  if (!arrived_index_->by_key.has_room(arrived_count_)) return index_arrived();
  arrived_index_->by_key.add(message);
  arrived_index_->by_tag.add(message);
}

void Matching::remove(Arrived& message) {
  auto& list = by_source_.at(message.source).arrived;
  list.erase(list.iterator_to(message));
  arrived_.erase(arrived_.iterator_to(message));
  KeyIndex<Arrived, ByKey, SourceAndTag>::remove(message);
  KeyIndex<Arrived, ByTag, TagAlone>::remove(message);
  if (--arrived_count_ == 0) arrived_index_.reset();
}

void Matching::index_arrived() {
  auto index = std::make_unique<ArrivedIndex>(2 * arrived_count_);
  for (Arrived& message : arrived_) {
    KeyIndex<Arrived, ByKey, SourceAndTag>::remove(message);
    KeyIndex<Arrived, ByTag, TagAlone>::remove(message);
    index->by_key.add(message);
    index->by_tag.add(message);
  }
  arrived_index_ = std::move(index);
}

}  // namespace shim::p2p
