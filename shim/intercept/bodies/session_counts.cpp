// SPDX-License-Identifier: BSD-3-Clause
// Extension: what start-up and communication have cost this process, in counts (docs/counts.md).
#include "shim/intercept/bodies/arguments.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/infos.hpp"
#include "shim/sessions/counts.hpp"

namespace shim::intercept::ours {

int Session_get_counts(MPI_Session session, MPI_Info* counts) {
  return deliver(Subject::session(session), "MPIX_Session_get_counts", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::SessionPtr found, session_of(session));
    SHIM_TRY(check_output(counts, "info object"));
    SHIM_TRY_ASSIGN(sessions::Process* const process, found->process());
    SHIM_TRY_ASSIGN(*counts, hand_out_info(sessions::counts_of(*process)));
    return {};
  });
}

}  // namespace shim::intercept::ours
