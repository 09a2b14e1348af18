// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/creation_state.hpp"

#include <utility>

namespace shim::sessions {

bool Creation::pass(CreationEvent event) {
  const auto next = next_state(state_, event);
  if (next) state_ = *next;
  return next.has_value();
}

bool Creation::begin_call(const MemberEntry& own, const base::TracedOperation& operation) {
  if (!pass(CreationEvent::begin_call)) return false;
  own_call_id_ = own.context_base;
  started_ = base::now_ns();
  operation_ = operation;
  entries_.set(roles_.self, own);
  return true;
}

bool Creation::send_contribution() { return pass(CreationEvent::send_contribution); }

bool Creation::agree(Agreement agreement) {
  if (!pass(CreationEvent::agree)) return false;
  operation_.end_all();
  agreement_ = std::move(agreement);
  return true;
}

bool Creation::fail(const base::Error& error, std::set<int> unnotified) {
  if (!pass(CreationEvent::fail)) return false;
  operation_.fail();
  failure_.emplace(error.clone());
  unnotified_ = std::move(unnotified);
  return true;
}

void Creation::add_contribution(int rank, const MemberTable& entries) {
  entries_.merge(entries);
  contributed_.insert(rank);
}

bool Creation::subtree_is_complete() const {
  return is_waiting() && contributed_.size() == roles_.local.size() + roles_.children.size();
}

std::vector<int> Creation::missing_members() const {
  if (!roles_.is_node_leader()) return {roles_.node_leader};
  if (state_ == CreationState::awaiting_outcome) return {*roles_.parent};
  std::vector<int> missing;
  for (const auto* partners : {&roles_.local, &roles_.children})
    for (int rank : *partners)
      if (!contributed_.contains(rank)) missing.push_back(rank);
  if (missing.empty() && roles_.parent) missing.push_back(*roles_.parent);
  return missing;
}

base::Result<Agreement> Creation::result() const {
  if (failure_) return failure_->clone();
  return *agreement_;
}

}  // namespace shim::sessions
