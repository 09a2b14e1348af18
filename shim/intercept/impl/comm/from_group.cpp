// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/comm/from_group.hpp"

#include <cstring>
#include <string>

#include "shim/intercept/handles/forked.hpp"
#include "shim/intercept/lifetime.hpp"

namespace shim::intercept {

using base::Error;
using base::ErrorClass;

base::Result<sessions::SessionPtr> session_of_group(const GroupObject& group) {
  if (is_forked_child()) return forked_error(ErrorClass::group, "the session of the group");
  if (!group.of_session) return session_for_world();
  if (sessions::SessionPtr session = group.session.lock()) return session;
  return Error(ErrorClass::group, "the session that the group came from has been finalized");
}

base::Status check_string_tag(const char* tag) {
  if (tag == nullptr) return Error(ErrorClass::arg, "the string tag is a null pointer");
  if (strnlen(tag, MPI_MAX_STRINGTAG_LEN) < MPI_MAX_STRINGTAG_LEN) return {};
  return Error(ErrorClass::arg, "the string tag is longer than " +
                                    std::to_string(MPI_MAX_STRINGTAG_LEN - 1) + " characters");
}

}  // namespace shim::intercept
