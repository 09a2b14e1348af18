// SPDX-License-Identifier: BSD-3-Clause
// SendrecvEnvelope holds the envelopes of both sides of MPI_Sendrecv and related calls (MPI-4.1
// §3.10).
#pragma once

#include "shim/intercept/impl/arguments.hpp"

namespace shim::intercept {

struct SendrecvEnvelope {
  int dest, send_tag, source, receive_tag;
};

/// Check both envelopes and return the communicator. Errors: comm, rank, tag.
inline base::Result<sessions::CommunicatorPtr> check_envelope(MPI_Comm handle,
                                                              const SendrecvEnvelope& envelope) {
  auto* comm = find_comm(handle);
  if (comm == nullptr) [[unlikely]]
    return slow::no_comm(handle);
  SHIM_TRY(check_destination(**comm, envelope.dest));
  SHIM_TRY(check_send_tag(envelope.send_tag));
  SHIM_TRY(check_source(**comm, envelope.source));
  SHIM_TRY(check_receive_tag(envelope.receive_tag));
  return *comm;
}

}  // namespace shim::intercept
