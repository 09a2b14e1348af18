// SPDX-License-Identifier: BSD-3-Clause
// Implements functions for survivors of a failure. The names are those of ULFM (User-Level Failure
// Mitigation, the proposal for MPI; Bland et al. 2013).
#include "shim/sessions/survivors.hpp"

#include <limits>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"
#include "shim/intercept/impl/group/group_arguments.hpp"

namespace shim::intercept {
namespace {

using sessions::CommunicatorPtr;

template <typename Members>
int make_members_handle(const char* function, MPI_Comm comm, MPI_Group* group,
                        const Members& members) {
  return run_with_handler(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr of, get_comm(comm));
    SHIM_TRY(check_output(group, "group"));
    SHIM_TRY_ASSIGN(*group,
                    make_group_handle({members(*of), of->process().self(), true, of->session()}));
    return {};
  });
}

}  // namespace

namespace impl {

int Comm_revoke(MPI_Comm comm) {
  return run_with_handler(Subject::comm(comm), "MPIX_Comm_revoke", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr revoked, get_comm(comm));
    sessions::revoke(*revoked);
    return {};
  });
}

int Comm_is_revoked(MPI_Comm comm, int* flag) {
  return run_with_handler(Subject::comm(comm), "MPIX_Comm_is_revoked", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr of, get_comm(comm));
    SHIM_TRY(check_output(flag, "flag"));
    SHIM_TRY(engine_of(*of).progress());  // so that a caller that polls sees a revocation
    *flag = sessions::is_revoked(*of);
    return {};
  });
}

int Comm_get_failed(MPI_Comm comm, MPI_Group* failedgrp) {
  return make_members_handle("MPIX_Comm_get_failed", comm, failedgrp, sessions::failed_members);
}

int Comm_ack_failed(MPI_Comm comm, int num_to_ack, int* num_acked) {
  return run_with_handler(Subject::comm(comm), "MPIX_Comm_ack_failed", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr of, get_comm(comm));
    SHIM_TRY(check_output(num_acked, "number of acknowledged failures"));
    if (num_to_ack < 0) return slow::bad_count(num_to_ack, "number of failures to acknowledge");
    *num_acked = sessions::acknowledge_failed(*of, num_to_ack);
    return {};
  });
}

int Comm_failure_ack(MPI_Comm comm) {
  return run_with_handler(Subject::comm(comm), "MPIX_Comm_failure_ack", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr of, get_comm(comm));
    static_cast<void>(sessions::acknowledge_failed(*of, std::numeric_limits<int>::max()));
    return {};
  });
}

int Comm_failure_get_acked(MPI_Comm comm, MPI_Group* failedgrp) {
  return make_members_handle("MPIX_Comm_failure_get_acked", comm, failedgrp,
                             sessions::acknowledged_members);
}

int Comm_agree(MPI_Comm comm, int* flag) {
  return run_with_handler(Subject::comm(comm), "MPIX_Comm_agree", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr of, get_comm(comm));
    SHIM_TRY(check_output(flag, "flag"));
    return sessions::agree(of, *flag);
  });
}

int Comm_iagree(MPI_Comm comm, int* flag, MPI_Request* request) {
  return run_with_handler(Subject::comm(comm), "MPIX_Comm_iagree", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr of, get_comm(comm));
    SHIM_TRY(check_output(flag, "flag"));
    SHIM_TRY(check_output(request, "request"));
    return make_request_handle(sessions::begin_agree(of, flag), of, comm, request);
  });
}

int Comm_shrink(MPI_Comm comm, MPI_Comm* newcomm) {
  return derive("MPIX_Comm_shrink", comm, newcomm, sessions::shrink);
}

int Comm_ishrink(MPI_Comm comm, MPI_Comm* newcomm, MPI_Request* request) {
  return run_with_handler(Subject::comm(comm), "MPIX_Comm_ishrink", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr of, get_comm(comm));
    SHIM_TRY(clear_output(newcomm));
    SHIM_TRY(check_output(request, "request"));
    const auto made = [newcomm](CommunicatorPtr shrunk) -> base::Status {
      SHIM_TRY_ASSIGN(*newcomm, make_comm_handle(std::move(shrunk)));
      return {};
    };
    return make_request_handle(sessions::begin_shrink(of, made), of, comm, request);
  });
}

}  // namespace impl
}  // namespace shim::intercept
