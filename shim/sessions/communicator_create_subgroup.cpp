// SPDX-License-Identifier: BSD-3-Clause
// Implements MPI_Comm_create_group (MPI-4.1 §7.4.2): only members of the group take part.
#include "shim/sessions/creations.hpp"
#include "shim/sessions/derived_communicator.hpp"
#include "shim/sessions/process.hpp"
#include "shim/sessions/survivors.hpp"

namespace shim::sessions {

base::Result<CommunicatorPtr> create_subgroup(const CommunicatorPtr& parent, GroupPtr group,
                                              int tag) {
  // Creations inside different communicators never match, whatever their tags.
  SHIM_TRY(check_not_revoked(*parent));
  SHIM_TRY(check_is_part(*parent, *group));
  Process& process = parent->process();
  if (group->size() == 0) return CommunicatorPtr();
  if (group->rank_of(process.self()) == kUndefined)
    return base::Error(base::ErrorClass::group,
                       "the calling process (rank " + std::to_string(parent->rank()) + " of the " +
                           parent->description() + ") is not a member of the group " +
                           group->text());
  group = process.groups().intern(std::move(group));
  const std::string text = std::to_string(tag);
  const auto operation = process.new_creation(text, *group);
  SHIM_TRY_ASSIGN(Agreement agreement,
                  process.creations().agree(
                      {.scope = scope_of(*parent),
                       .tag = text,
                       .group = group,
                       .operation = operation,
                       .vci = parent->vci(),
                       .check_precondition = [&] { return check_not_revoked(*parent); }}));
  operation.begin(base::Phase::context);
  auto made = Communicator::make(process, {.session = parent->session(),
                                           .group = group,
                                           .id = agreement.id,
                                           .context = agreement.context_of(group, process.self()),
                                           .error_handler = parent->error_handler(),
                                           .info = nullptr,
                                           .name = "",
                                           .vci = agreement.vci,
                                           .remote = nullptr,
                                           .local = nullptr,
                                           .tag = parent->parts().tag,
                                           .is_derived = true});
  operation.end_all();
  return made;
}

}  // namespace shim::sessions
