// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/matching.hpp"

namespace shim::p2p {

namespace {

// A search that passes more than this many entries without a match builds the index, which later
// searches use.
constexpr int kMaxUnindexedScan = 32;

bool accepts(int wanted_tag, int tag) { return wanted_tag == kAnyTag || wanted_tag == tag; }

/// Return the first entry of a list that satisfies the predicate, null if there is none; add the
/// number of entries before it to `skipped`.
template <typename List, typename Predicate>
auto* first_in(List& list, const Predicate& predicate, int& skipped) {
  for (auto& item : list) {
    if (predicate(item)) return &item;
    ++skipped;
  }
  return static_cast<typename List::pointer>(nullptr);
}

}  // namespace

PostedReceive* Matching::search_posted(int source, int tag) {
  return posted_index_ != nullptr ? first_indexed(source, tag) : first_posted(source, tag);
}

/// Return the oldest of the first receives under the four keys that accept a message: source and
/// tag, each exact or a wildcard.
PostedReceive* Matching::first_indexed(int source, int tag) {
  PostedReceive* first = nullptr;
  for (const SourceAndTag& key :
       {SourceAndTag{source, tag}, {source, kAnyTag}, {kAnySource, tag}, {kAnySource, kAnyTag}}) {
    PostedReceive* found = posted_index_->first(key);
    if (found != nullptr && (first == nullptr || found->number < first->number)) first = found;
  }
  return first;
}

PostedReceive* Matching::first_posted(int source, int tag) {
  const auto is_match = [tag](const PostedReceive& receive) { return accepts(receive.tag, tag); };
  int skipped = 0;
  Queues* queues = by_source_.find(source);
  PostedReceive* exact = queues == nullptr ? nullptr : first_in(queues->posted, is_match, skipped);
  PostedReceive* any = any_source_.empty() ? nullptr : first_in(any_source_, is_match, skipped);
  if (skipped > kMaxUnindexedScan) index_posted();
  return exact == nullptr || (any != nullptr && any->number < exact->number) ? any : exact;
}

UnexpectedMsg* Matching::find_first_unexpected(int source, int tag) {
  if (unexpected_index_ != nullptr && tag != kAnyTag)
    return source == kAnySource ? unexpected_index_->by_tag.first({tag})
                                : unexpected_index_->by_key.first({source, tag});
  const auto is_match = [tag](const UnexpectedMsg& message) { return accepts(tag, message.tag); };
  int skipped = 0;
  UnexpectedMsg* found = nullptr;
  if (source == kAnySource)
    found = first_in(unexpected_, is_match, skipped);
  else if (Queues* queues = by_source_.find(source))
    found = first_in(queues->unexpected, is_match, skipped);
  if (skipped > kMaxUnindexedScan) index_unexpected();
  return found;
}

void Matching::add_to_index(PostedReceive& receive) {
  if (posted_index_->has_capacity(posted_count_))
    posted_index_->add(receive);
  else
    index_posted();
}

void Matching::remove_from_index(PostedReceive& receive) {
  PostedIndex::remove(receive);
  if (posted_count_ == 0) posted_index_.reset();
}

/// Rebuild the index with space for twice the posted receives. All receives of one key are in one
/// queue, in the order of posting, and the index keeps that order.
void Matching::index_posted() {
  auto index = std::make_unique<PostedIndex>(2 * posted_count_);
  const auto add_all = [&](PostedList& list) {
    for (PostedReceive& receive : list) {
      PostedIndex::remove(receive);
      index->add(receive);
    }
  };
  add_all(any_source_);
  by_source_.for_each([&](int, Queues& queues) { add_all(queues.posted); });
  posted_index_ = std::move(index);
}

void Matching::add(UnexpectedMsg& message) {
  by_source_.at(message.source).unexpected.push_back(message);
  unexpected_.push_back(message);
  ++unexpected_count_;
  if (unexpected_index_ == nullptr) [[likely]]
    return;
  if (!unexpected_index_->by_key.has_capacity(unexpected_count_)) return index_unexpected();
  unexpected_index_->by_key.add(message);
  unexpected_index_->by_tag.add(message);
}

void Matching::remove(UnexpectedMsg& message) {
  auto& list = by_source_.at(message.source).unexpected;
  list.erase(list.iterator_to(message));
  unexpected_.erase(unexpected_.iterator_to(message));
  KeyIndex<UnexpectedMsg, ByKey, SourceAndTag>::remove(message);
  KeyIndex<UnexpectedMsg, ByTag, TagAlone>::remove(message);
  if (--unexpected_count_ == 0) unexpected_index_.reset();
}

void Matching::index_unexpected() {
  auto index = std::make_unique<UnexpectedIndex>(2 * unexpected_count_);
  for (UnexpectedMsg& message : unexpected_) {
    KeyIndex<UnexpectedMsg, ByKey, SourceAndTag>::remove(message);
    KeyIndex<UnexpectedMsg, ByTag, TagAlone>::remove(message);
    index->by_key.add(message);
    index->by_tag.add(message);
  }
  unexpected_index_ = std::move(index);
}

}  // namespace shim::p2p
