// SPDX-License-Identifier: BSD-3-Clause
// The two sides of calls that send and receive (MPI-4.1 §3.10).
#pragma once

#include "shim/intercept/bodies/arguments.hpp"

namespace shim::intercept {

struct Sides {
  int dest, send_tag, source, receive_tag;
};

/// The communicator, with the sides' arguments checked. Errors: comm, rank, tag.
inline base::Result<sessions::CommunicatorPtr> check_sides(MPI_Comm handle, const Sides& sides) {
  auto* comm = find_comm(handle);
  if (comm == nullptr) [[unlikely]] return slow::no_comm(handle);
  SHIM_TRY(check_destination(**comm, sides.dest));
  SHIM_TRY(check_send_tag(sides.send_tag));
  SHIM_TRY(check_source(**comm, sides.source));
  SHIM_TRY(check_receive_tag(sides.receive_tag));
  return *comm;
}

}  // namespace shim::intercept
