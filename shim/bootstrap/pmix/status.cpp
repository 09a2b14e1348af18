// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmix/status.hpp"

#include <string>

namespace shim::bootstrap::pmix {
namespace {

using base::ErrorClass;

/// PMIX_ERR_PROC_ENTRY_NOT_FOUND (pmix_deprecated.h): what PMIx 4.0 returns where later versions
/// return PMIX_ERR_NOT_FOUND, for data that a process has not published yet.
constexpr pmix_status_t kProcessEntryNotFound = -17;

ErrorClass class_of(pmix_status_t status) {
  switch (status) {
    case PMIX_ERR_NOMEM:
    case PMIX_ERR_OUT_OF_RESOURCE:
      return ErrorClass::no_mem;
    case PMIX_ERR_NO_PERMISSIONS:
    case PMIX_ERR_INVALID_CRED:
      return ErrorClass::access;
    case PMIX_ERR_BAD_PARAM:
      return ErrorClass::arg;
    case PMIX_ERR_NOT_SUPPORTED:
    case PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED:
      return ErrorClass::unsupported_operation;
    case PMIX_ERR_NOT_FOUND:
    case kProcessEntryNotFound:
      return ErrorClass::name;
    case PMIX_ERR_PROC_REQUESTED_ABORT:
    case PMIX_ERR_PROC_TERM_WO_SYNC:
#ifdef PMIX_ERR_PROC_KILLED_BY_CMD  // since PMIx 4.1
    case PMIX_ERR_PROC_KILLED_BY_CMD:
    case PMIX_ERR_PROC_ABORTED_BY_SIG:
#endif
    case PMIX_ERR_JOB_ABORTED:
    case PMIX_ERR_JOB_ABORTED_BY_SIG:
      return ErrorClass::proc_aborted;
    default:
      return ErrorClass::other;
  }
}

/// Return advice for the user; empty if there is none.
std::string_view advice_for(pmix_status_t status) {
  switch (status) {
    case PMIX_ERR_UNREACH:
    case PMIX_ERR_LOST_CONNECTION:
    case PMIX_ERR_COMM_FAILURE:
      return "; the launcher's daemon on this node does not respond: if its job has ended, restart "
             "the program with a launcher, or unset PMIX_NAMESPACE to run as a single process";
    case PMIX_ERR_INIT:
      return "; another library of this process has finalized PMIx";
    case PMIX_ERR_TIMEOUT:
      return "; a participating process may be stuck or may have exited";
    case PMIX_ERR_NO_PERMISSIONS:
    case PMIX_ERR_INVALID_CRED:
      return "; the process must run as the user who started the job";
    default:
      return "";
  }
}

}  // namespace

Meaning meaning_of(pmix_status_t status) {
  switch (status) {
    case PMIX_SUCCESS:
      return Meaning::accepted;
    case PMIX_OPERATION_SUCCEEDED:
      return Meaning::completed;
    case PMIX_ERR_NOT_FOUND:
    case kProcessEntryNotFound:
    case PMIX_ERR_TIMEOUT:
      return Meaning::not_there;
    case PMIX_ERR_NOT_SUPPORTED:
      return Meaning::refused;
    default:
      return Meaning::failed;
  }
}

base::Error pmix_error(pmix_status_t status, std::string_view what, std::string_view name) {
  std::string text(what);
  text += ": PMIx returned ";
  text += name;
  text += " (" + std::to_string(status) + ")";
  text += advice_for(status);
  return base::Error(class_of(status), base::Origin::pmix, status, std::move(text));
}

}  // namespace shim::bootstrap::pmix
