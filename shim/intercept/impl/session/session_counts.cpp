// SPDX-License-Identifier: BSD-3-Clause
// Implements an extension: counts of this process's start-up and communication costs
// (docs/user/counts.md).
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/handles/info_handles.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/sessions/process_counts.hpp"

namespace shim::intercept::impl {

int Session_get_counts(MPI_Session session, MPI_Info* counts) {
  return run_with_handler(
      Subject::session(session), "MPIX_Session_get_counts", [&]() -> base::Status {
        SHIM_TRY_ASSIGN(sessions::SessionPtr found, session_of(session));
        SHIM_TRY(check_output(counts, "info object"));
        SHIM_TRY_ASSIGN(sessions::Process* const process, found->process());
        SHIM_TRY_ASSIGN(*counts, make_info_handle(sessions::counts_of(*process)));
        return {};
      });
}

}  // namespace shim::intercept::impl
