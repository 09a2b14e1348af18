// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/matching.hpp"

namespace shim::p2p {

namespace {
bool accepts(int wanted_tag, int tag) { return wanted_tag == kAnyTag || wanted_tag == tag; }
}  // namespace

Posted* Matching::first_for(PostedList& list, int tag) {
  for (Posted& receive : list) {
    if (accepts(receive.tag, tag)) return &receive;
  }
  return nullptr;
}

Posted* Matching::take_first_posted(int source, int tag) {
  Queues* queues = by_source_.find(source);
  Posted* exact = queues == nullptr ? nullptr : first_for(queues->posted, tag);
  Posted* any = any_source_.empty() ? nullptr : first_for(any_source_, tag);
  Posted* first = exact == nullptr || (any != nullptr && any->number < exact->number) ? any : exact;
  if (first != nullptr) remove(*first);
  return first;
}

Arrived* Matching::find_first_arrived(int source, int tag) {
  auto first_in = [tag](auto& list) -> Arrived* {
    for (Arrived& message : list) {
      if (accepts(tag, message.tag)) return &message;
    }
    return nullptr;
  };
  if (source == kAnySource) return first_in(arrived_);
  Queues* queues = by_source_.find(source);
  return queues == nullptr ? nullptr : first_in(queues->arrived);
}

void Matching::post(Posted& receive) {
  receive.number = next_number_++;
  (receive.source == kAnySource ? any_source_ : by_source_.at(receive.source).posted).push_back(receive);
  ++posted_count_;
}

void Matching::remove(Posted& receive) {
  PostedList& list = receive.source == kAnySource ? any_source_ : by_source_.at(receive.source).posted;
  list.erase(list.iterator_to(receive));
  --posted_count_;
}

void Matching::add(Arrived& message) {
  by_source_.at(message.source).arrived.push_back(message);
  arrived_.push_back(message);
}

void Matching::remove(Arrived& message) {
  auto& list = by_source_.at(message.source).arrived;
  list.erase(list.iterator_to(message));
  arrived_.erase(arrived_.iterator_to(message));
}

}  // namespace shim::p2p
