// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/published_sets.hpp"

#include <algorithm>

namespace shim::sessions {

using base::Error;
using base::ErrorClass;

void PublishedSets::take(const bootstrap::LogEntry& entry) {
  auto read = decode_pset_record(entry.bytes, bootstrap_.job().size);
  if (!read) return;  // not about sets, or from another version of this library
  Claim& claim = claims_[{entry.writer, read->name}];
  if (read->kind == PsetRecord::State::wanted) {
    if (claim.state != PsetRecord::State::granted)
      claim = {std::move(read->group), PsetRecord::State::wanted};
    return;
  }
  if (!claim.group || claim.state == PsetRecord::State::granted) return;
  claim.state = read->kind;
  const bool is_new = std::ranges::none_of(
      granted_, [&](const NamedGroup& set) { return set.name == read->name; });
  if (claim.state == PsetRecord::State::granted && is_new)
    granted_.push_back({read->name, claim.group});
}

base::Status PublishedSets::read() {
  SHIM_TRY_ASSIGN(const auto entries, bootstrap_.read_log());
  std::lock_guard guard(mutex_);
  for (; entries_read_ < entries.size(); ++entries_read_) take(entries[entries_read_]);
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
  return Error(ErrorClass::name, "the process set \"" + name +
                                     "\" is already published as the processes " + known->text() +
                                     " of mpi://WORLD; it cannot also be published as " +
                                     group.text());
}

base::Status PublishedSets::check_rivals(const std::string& name, const Group& group) {
  std::lock_guard guard(mutex_);
  for (const auto& [whose, claim] : claims_) {
    if (whose.second != name || whose.first == bootstrap_.job().rank ||
        claim.state == PsetRecord::State::withdrawn || !claim.group)
      continue;
    if (*claim.group == group) continue;
    return Error(ErrorClass::name,
                 "process " + std::to_string(whose.first) + " publishes the process set \"" + name +
                     "\" as the processes " + claim.group->text() +
                     " of mpi://WORLD; it cannot also be published as " + group.text());
  }
  return {};
}

base::Status PublishedSets::append_claim(PsetRecord::State kind, const std::string& name,
                                         const GroupPtr& group) {
  return bootstrap_.append_log(encode({kind, name, group}));
}

base::Status PublishedSets::publish(const std::string& name, const GroupPtr& group) {
  std::lock_guard guard(publishing_);
  SHIM_TRY(read());
  SHIM_TRY(check_free(name, *group));
  if (find_known(name)) return {};
  auto wanted = append_claim(PsetRecord::State::wanted, name, group);
  if (wanted) wanted = read();
  if (wanted) wanted = check_rivals(name, *group);
  if (wanted) return append_claim(PsetRecord::State::granted, name);
  static_cast<void>(append_claim(PsetRecord::State::withdrawn,
                                 name));  // best effort: the caller gets the first error anyway
  return wanted;
}

}  // namespace shim::sessions
