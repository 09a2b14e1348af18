// SPDX-License-Identifier: BSD-3-Clause
// ContextTable finds the context of a message: existing, still to be made, or gone.
#pragma once

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

#include "shim/p2p/context.hpp"
#include "shim/p2p/ended_bases.hpp"
#include "shim/p2p/number_ranges.hpp"

namespace shim::p2p {

/// Maps context ids of the user plane (bit 0 is zero) to contexts.
class ContextTable {
 public:
  /// @param ended common to all tables with one sequence of bases
  explicit ContextTable(std::shared_ptr<EndedBases> ended = std::make_shared<EndedBases>())
      : ended_(std::move(ended)) {}

  /// Add a context; return the messages that arrived before, in the order of arrival.
  std::vector<StoredMessage*> add(Context& context);
  /// Remove a context; later messages for it are stale.
  void remove(Context& context);

  Context* find(base::ContextId id) {
    if (last_ != nullptr && last_->id == id) [[likely]]
      return last_;
    return find_slowly(id);
  }
  /// True if no context will ever receive messages with this id.
  bool has_ended(base::ContextId id) const;
  /// Keep a message for a context that does not exist yet.
  void hold(base::ContextId id, StoredMessage& message) { held_[id].push_back(&message); }
  /// Remove and return the first held message that satisfies the predicate; null if there is none.
  template <typename Predicate>
  StoredMessage* take_held(base::ContextId id, const Predicate& predicate) {
    auto held = held_.find(id);
    if (held == held_.end()) return nullptr;
    std::vector<StoredMessage*>& messages = held->second;
    auto found = std::find_if(messages.begin(), messages.end(),
                              [&](const StoredMessage* message) { return predicate(*message); });
    if (found == messages.end()) return nullptr;
    StoredMessage* taken = *found;
    messages.erase(found);
    return taken;
  }
  /// Set the first valid base; return the held messages that this makes stale.
  std::vector<StoredMessage*> set_first_base(std::uint32_t base);
  /// Mark one base without contexts as ended; return its held messages.
  std::vector<StoredMessage*> skip_base(std::uint32_t base);

  template <typename Visit>
  void for_each(const Visit& visit) {
    for (auto& [id, context] : contexts_) visit(*context);
  }
  /// Visit all contexts, each of which is kept alive while its operations end.
  template <typename Visit>
  void for_each_retained(const Visit& visit) {
    std::vector<Context*> contexts;
    for_each([&](Context& context) {
      context.retain();
      contexts.push_back(&context);
    });
    for (Context* context : contexts) {
      visit(*context);
      context->drop();
    }
  }

 private:
  static std::uint32_t base_of(base::ContextId id) { return static_cast<std::uint32_t>(id >> 32); }
  static std::uint32_t path_of(base::ContextId id) { return static_cast<std::uint32_t>(id) >> 1; }
  Context* find_slowly(base::ContextId id);
  /// Remove and return the messages held for bases that satisfy the predicate.
  template <typename Predicate>
  std::vector<StoredMessage*> take_held_for(const Predicate& predicate);

  // Ended ids are remembered forever, in little memory. A base without living contexts has ended as
  // a whole, because only a living parent can create a new path on it. Consecutive bases are one
  // range; so are the paths of duplicates made and freed one after the other.
  struct PathTree {
    std::uint32_t living = 0;
    NumberRanges over;  ///< paths
  };

  std::unordered_map<base::ContextId, Context*> contexts_;
  Context* last_ = nullptr;  ///< the last one found
  std::unordered_map<base::ContextId, std::vector<StoredMessage*>> held_;
  /// by base; only bases with a living context
  std::unordered_map<std::uint32_t, PathTree> families_;
  std::shared_ptr<EndedBases> ended_;
  std::uint32_t first_base_ = 0;
};

}  // namespace shim::p2p
