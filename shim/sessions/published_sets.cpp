// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/published_sets.hpp"

#include <algorithm>

namespace shim::sessions {

using base::Error;
using base::ErrorClass;

void PublishedSets::take(const bootstrap::Notice& notice) {
  auto read = decode_pset_notice(notice.bytes, bootstrap_.job().size);
  if (!read) return;  // not about sets, or of another version of this library
  Claim& claim = claims_[{notice.poster, read->name}];
  if (read->kind == PsetNotice::Kind::wanted) {
    if (claim.state != PsetNotice::Kind::granted) claim = {std::move(read->group), PsetNotice::Kind::wanted};
    return;
  }
  if (!claim.group || claim.state == PsetNotice::Kind::granted) return;
  claim.state = read->kind;
  const bool is_new = std::ranges::none_of(granted_, [&](const NamedGroup& set) { return set.name == read->name; });
  if (claim.state == PsetNotice::Kind::granted && is_new) granted_.push_back({read->name, claim.group});
}

base::Status PublishedSets::read() {
  SHIM_TRY_ASSIGN(const auto notices, bootstrap_.notices());
  std::lock_guard guard(mutex_);
  for (; notices_read_ < notices.size(); ++notices_read_) take(notices[notices_read_]);
  return {};
}

base::Result<std::vector<NamedGroup>> PublishedSets::sets() {
  SHIM_TRY(read());
  std::lock_guard guard(mutex_);
  return granted_;
}

GroupPtr PublishedSets::find_known(std::string_view name) {
  std::lock_guard guard(mutex_);
  const auto found = std::ranges::find(granted_, name, &NamedGroup::name);
  return found == granted_.end() ? nullptr : found->group;
}

base::Status PublishedSets::check_free(const std::string& name, const Group& group) {
  const GroupPtr known = find_known(name);
  if (!known || *known == group) return {};
  return Error(ErrorClass::name, "the process set \"" + name + "\" is published with the processes " + known->text() +
                                     " of the world; it cannot also be " + group.text());
}

base::Status PublishedSets::check_rivals(const std::string& name, const Group& group) {
  std::lock_guard guard(mutex_);
  for (const auto& [whose, claim] : claims_) {
    if (whose.second != name || whose.first == bootstrap_.job().rank || claim.state == PsetNotice::Kind::withdrawn || !claim.group) continue;
    if (*claim.group == group) continue;
    return Error(ErrorClass::name, "process " + std::to_string(whose.first) + " publishes a process set \"" + name + "\" with the processes " +
                                       claim.group->text() + " of the world; this one would be " + group.text());
  }
  return {};
}

base::Status PublishedSets::post(PsetNotice::Kind kind, const std::string& name, const GroupPtr& group) {
  return bootstrap_.post(encode({kind, name, group}));
}

base::Status PublishedSets::publish(const std::string& name, const GroupPtr& group) {
  std::lock_guard guard(publishing_);
  SHIM_TRY(read());
  SHIM_TRY(check_free(name, *group));
  if (find_known(name)) return {};
  auto wanted = post(PsetNotice::Kind::wanted, name, group);
  if (wanted) wanted = read();
  if (wanted) wanted = check_rivals(name, *group);
  if (wanted) return post(PsetNotice::Kind::granted, name);
  static_cast<void>(post(PsetNotice::Kind::withdrawn, name));  // as well as it goes: what failed is told anyway
  return wanted;
}

}  // namespace shim::sessions
