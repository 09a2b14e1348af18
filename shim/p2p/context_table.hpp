// SPDX-License-Identifier: BSD-3-Clause
// Which context a message is for: one that exists, one that is still to be made, or one that is gone.
#pragma once

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <vector>

#include "shim/p2p/context.hpp"
#include "shim/p2p/ended_bases.hpp"
#include "shim/p2p/number_ranges.hpp"

namespace shim::p2p {

/// Ids are those of the user plane (bit 0 is zero).
class ContextTable {
 public:
  /// @param ended common to all tables whose bases are of one sequence
  explicit ContextTable(std::shared_ptr<EndedBases> ended = std::make_shared<EndedBases>()) : ended_(std::move(ended)) {}

  /// Answers the messages that came before, in the order in which they came.
  std::vector<Message*> add(Context& context);
  /// Messages for it that still come are late from now on.
  void remove(Context& context);

  Context* find(base::ContextId id) {
    if (last_ != nullptr && last_->id == id) [[likely]] return last_;
    return find_slowly(id);
  }
  /// True for messages that no context will ever want.
  bool is_over(base::ContextId id) const;
  /// Keeps a message for a context that is not made yet.
  void hold(base::ContextId id, Message& message) { held_[id].push_back(&message); }
  /// Takes out the first message kept for it that satisfies the predicate; null if none does.
  template <typename Predicate>
  Message* take_held(base::ContextId id, const Predicate& predicate) {
    auto held = held_.find(id);
    if (held == held_.end()) return nullptr;
    std::vector<Message*>& messages = held->second;
    auto found = std::find_if(messages.begin(), messages.end(), [&](const Message* message) { return predicate(*message); });
    if (found == messages.end()) return nullptr;
    Message* taken = *found;
    messages.erase(found);
    return taken;
  }
  /// Answers the held messages that are over by this.
  std::vector<Message*> set_first_base(std::uint32_t base);
  /// The same for a single base, of which there is no context and will be none.
  std::vector<Message*> skip_base(std::uint32_t base);

  template <typename Visit>
  void for_each(const Visit& visit) {
    for (auto& [id, context] : contexts_) visit(*context);
  }

 private:
  static std::uint32_t base_of(base::ContextId id) { return static_cast<std::uint32_t>(id >> 32); }
  static std::uint32_t path_of(base::ContextId id) { return static_cast<std::uint32_t>(id) >> 1; }
  Context* find_slowly(base::ContextId id);
  /// Takes out the messages held for bases that satisfy the predicate.
  template <typename Predicate>
  std::vector<Message*> take_held_for(const Predicate& predicate);

  // What is over is remembered for ever, and small: a base none of whose contexts lives is over as a whole, because a new path
  // on it can only come from a living parent; bases in a row are one range, and so are duplicates made and freed one after the other.
  struct Family {
    std::uint32_t living = 0;
    NumberRanges over;  ///< paths
  };

  std::unordered_map<base::ContextId, Context*> contexts_;
  Context* last_ = nullptr;  ///< the one found last
  std::unordered_map<base::ContextId, std::vector<Message*>> held_;
  std::unordered_map<std::uint32_t, Family> families_;  ///< by base, those with a living context
  std::shared_ptr<EndedBases> ended_;
  std::uint32_t first_base_ = 0;
};

}  // namespace shim::p2p
