// SPDX-License-Identifier: BSD-3-Clause
// Implements process sets and groups made from them (MPI-4.1 §11.3.2, §11.3.3, §7.3.2). Includes an
// extension: process sets that the program names.
#include <algorithm>
#include <cstring>
#include <string>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/handles/info_handles.hpp"
#include "shim/intercept/impl/group/group_arguments.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

base::Result<std::string> pset_name(const char* name) {
  if (name == nullptr)
    return Error(ErrorClass::arg, "the name of the process set is a null pointer");
  return std::string(name);
}

/// Check a name: MPI_Session_get_nth_pset must fit it in MPI_MAX_PSET_NAME_LEN characters with NUL.
base::Result<std::string> new_pset_name(const char* name) {
  SHIM_TRY_ASSIGN(std::string found, pset_name(name));
  if (found.size() < MPI_MAX_PSET_NAME_LEN) return found;
  return Error(ErrorClass::arg, "the name of the process set has " + std::to_string(found.size()) +
                                    " characters; at most " +
                                    std::to_string(MPI_MAX_PSET_NAME_LEN - 1) +
                                    " fit MPI_MAX_PSET_NAME_LEN");
}

/// Store a name, truncated and NUL-terminated, and always the length of the full name with NUL
/// (MPI-4.1 §11.3.3).
base::Status put_name(const std::string& name, int* length, char* to) {
  int capacity = *length;
  if (capacity < 0)
    return Error(ErrorClass::arg, "the length " + std::to_string(capacity) + " is negative");
  if (capacity > 0 && to == nullptr)
    return Error(ErrorClass::arg, "the buffer for the name is a null pointer");
  *length = static_cast<int>(name.size()) + 1;
  if (capacity == 0) return {};
  std::size_t copied = std::min(name.size(), static_cast<std::size_t>(capacity - 1));
  std::memcpy(to, name.data(), copied);
  to[copied] = '\0';
  return {};
}

}  // namespace

namespace impl {

int Session_get_num_psets(MPI_Session session, MPI_Info info, int* npset_names) {
  return run_with_handler(
      Subject::session(session), "MPI_Session_get_num_psets", [&]() -> base::Status {
        SHIM_TRY_ASSIGN(sessions::SessionPtr found, session_of(session));
        SHIM_TRY(copy_info(info));  // no key is supported, but it must be an info object
        SHIM_TRY(check_output(npset_names, "number of process sets"));
        SHIM_TRY_ASSIGN(*npset_names, found->pset_count());
        return {};
      });
}

int Session_get_nth_pset(MPI_Session session, MPI_Info info, int n, int* pset_len,
                         char* pset_name) {
  return run_with_handler(Subject::session(session), "MPI_Session_get_nth_pset",
                          [&]() -> base::Status {
                            SHIM_TRY_ASSIGN(sessions::SessionPtr found, session_of(session));
                            SHIM_TRY(copy_info(info));
                            SHIM_TRY(check_output(pset_len, "length of the name"));
                            SHIM_TRY_ASSIGN(std::string name, found->nth_pset(n));
                            return put_name(name, pset_len, pset_name);
                          });
}

int Session_get_pset_info(MPI_Session session, const char* name, MPI_Info* info) {
  return run_with_handler(Subject::session(session), "MPI_Session_get_pset_info",
                          [&]() -> base::Status {
                            SHIM_TRY_ASSIGN(sessions::SessionPtr found, session_of(session));
                            SHIM_TRY(check_output(info, "info object"));
                            SHIM_TRY_ASSIGN(std::string wanted, pset_name(name));
                            SHIM_TRY_ASSIGN(sessions::InfoPtr known, found->pset_info(wanted));
                            SHIM_TRY_ASSIGN(*info, make_info_handle(known));
                            return {};
                          });
}

int Session_publish_pset(MPI_Session session, const char* name, MPI_Group group) {
  return run_with_handler(Subject::session(session), "MPIX_Session_publish_pset",
                          [&]() -> base::Status {
                            SHIM_TRY_ASSIGN(sessions::SessionPtr found, session_of(session));
                            SHIM_TRY_ASSIGN(const std::string wanted, new_pset_name(name));
                            SHIM_TRY_ASSIGN(const GroupObject members, get_group(group));
                            return found->publish_pset(wanted, members.group);
                          });
}

int Group_from_session_pset(MPI_Session session, const char* name, MPI_Group* newgroup) {
  return run_with_handler(
      Subject::session(session), "MPI_Group_from_session_pset", [&]() -> base::Status {
        SHIM_TRY_ASSIGN(sessions::SessionPtr found, session_of(session));
        SHIM_TRY(check_output(newgroup, "group"));
        SHIM_TRY_ASSIGN(std::string wanted, pset_name(name));
        SHIM_TRY_ASSIGN(sessions::Process* const process, found->process());
        SHIM_TRY_ASSIGN(sessions::GroupPtr group, process->sets().find(wanted));
        SHIM_TRY_ASSIGN(*newgroup, make_group_handle(
                                       {std::move(group), process->self(), true, found, session}));
        return {};
      });
}

}  // namespace impl
}  // namespace shim::intercept
