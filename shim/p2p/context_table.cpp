// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/context_table.hpp"

namespace shim::p2p {

std::vector<StoredMessage*> ContextTable::add(Context& context) {
  contexts_[context.id] = &context;
  ++families_[base_of(context.id)].living;
  auto held = held_.find(context.id);
  if (held == held_.end()) return {};
  std::vector<StoredMessage*> messages = std::move(held->second);
  held_.erase(held);
  return messages;
}

void ContextTable::remove(Context& context) {
  contexts_.erase(context.id);
  if (last_ == &context) last_ = nullptr;
  auto family = families_.find(base_of(context.id));
  family->second.over.add(path_of(context.id));
  if (--family->second.living != 0) return;
  families_.erase(family);
  ended_->add(base_of(context.id));
}

Context* ContextTable::find_slowly(base::ContextId id) {
  auto found = contexts_.find(id);
  if (found == contexts_.end()) return nullptr;
  last_ = found->second;
  return last_;
}

bool ContextTable::has_ended(base::ContextId id) const {
  std::uint32_t base = base_of(id);
  if (base < first_base_) return true;
  auto family = families_.find(base);
  return family == families_.end() ? ended_->contains(base)
                                   : family->second.over.contains(path_of(id));
}

template <typename Predicate>
std::vector<StoredMessage*> ContextTable::take_held_for(const Predicate& predicate) {
  std::vector<StoredMessage*> taken;
  for (auto held = held_.begin(); held != held_.end();) {
    if (!predicate(base_of(held->first))) {
      ++held;
      continue;
    }
    taken.insert(taken.end(), held->second.begin(), held->second.end());
    held = held_.erase(held);
  }
  return taken;
}

std::vector<StoredMessage*> ContextTable::set_first_base(std::uint32_t base) {
  first_base_ = base;
  return take_held_for([base](std::uint32_t held) { return held < base; });
}

std::vector<StoredMessage*> ContextTable::skip_base(std::uint32_t base) {
  ended_->add(base);
  return take_held_for([base](std::uint32_t held) { return held == base; });
}

}  // namespace shim::p2p
