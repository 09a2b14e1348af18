// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/context_table.hpp"

#include <iterator>

namespace shim::p2p {

std::vector<Message*> ContextTable::add(Context& context) {
  contexts_[context.id] = &context;
  Family& family = families_[base_of(context.id)];
  ++family.living;
  family.over.erase(context.id);
  auto held = held_.find(context.id);
  if (held == held_.end()) return {};
  std::vector<Message*> messages = std::move(held->second);
  held_.erase(held);
  return messages;
}

void ContextTable::remove(Context& context) {
  contexts_.erase(context.id);
  if (last_ == &context) last_ = nullptr;
  auto family = families_.find(base_of(context.id));
  family->second.over.insert(context.id);
  if (--family->second.living != 0) return;
  families_.erase(family);
  end_base(base_of(context.id));
}

Context* ContextTable::find_slowly(base::ContextId id) {
  auto found = contexts_.find(id);
  if (found == contexts_.end()) return nullptr;
  last_ = found->second;
  return last_;
}

bool ContextTable::is_over(base::ContextId id) const {
  std::uint32_t base = base_of(id);
  if (base < first_base_) return true;
  auto family = families_.find(base);
  if (family != families_.end()) return family->second.over.contains(id);
  auto range = over_.upper_bound(base);
  return range != over_.begin() && std::prev(range)->second >= base;
}

std::vector<Message*> ContextTable::set_first_base(std::uint32_t base) {
  first_base_ = base;
  std::vector<Message*> dropped;
  for (auto held = held_.begin(); held != held_.end();) {
    if (base_of(held->first) >= base) {
      ++held;
      continue;
    }
    dropped.insert(dropped.end(), held->second.begin(), held->second.end());
    held = held_.erase(held);
  }
  return dropped;
}

void ContextTable::end_base(std::uint32_t base) {
  auto after = over_.upper_bound(base);
  std::uint32_t first = base, last = base;
  if (after != over_.begin() && std::prev(after)->second >= base - 1 && base > 0) {
    first = std::prev(after)->first;
    last = std::max(base, std::prev(after)->second);
  }
  if (after != over_.end() && after->first == last + 1) {
    last = after->second;
    over_.erase(after);
  }
  over_[first] = last;
}

}  // namespace shim::p2p
