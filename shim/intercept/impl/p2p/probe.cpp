// SPDX-License-Identifier: BSD-3-Clause
// Implements probes (MPI-4.1 §3.8.1, §3.8.2).
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/arguments.hpp"

namespace shim::intercept {
namespace {

/// Return the place of the communicator's pointer: copying it costs locked instructions in threaded
/// programs.
[[gnu::hot]] inline base::Result<const sessions::CommunicatorPtr*> comm_for_probe(MPI_Comm handle,
                                                                                  int source,
                                                                                  int tag) {
  const sessions::CommunicatorPtr* comm = find_comm(handle);
  if (comm == nullptr) return slow::no_comm(handle);
  SHIM_TRY(check_source(**comm, source));
  SHIM_TRY(check_receive_tag(tag));
  return comm;
}

/// Make a handle for a matched message; MPI_MESSAGE_NO_PROC for MPI_PROC_NULL.
base::Status make_message_handle(const p2p::Engine::Matched& matched,
                                 const sessions::CommunicatorPtr& comm, MPI_Comm handle,
                                 MPI_Message* message, MPI_Status* status) {
  if (matched.message == nullptr) {
    *message = abi::predefined.message_no_proc;
  } else {
    SHIM_TRY_ASSIGN(*message, objects.messages.insert({matched.message, {comm, handle}}));
  }
  abi::write_status(status, matched.outcome);
  return {};
}

}  // namespace

namespace impl {

int Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  return run_with_handler(Subject::comm(comm), "MPI_Probe", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr* on, comm_for_probe(comm, source, tag));
    SHIM_TRY_ASSIGN(p2p::MessageStatus outcome,
                    engine_of(**on).probe((*on)->context(), abi::to_p2p_rank(source), tag));
    abi::write_status(status, outcome);
    return {};
  });
}

int Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  return run_with_handler(Subject::comm(comm), "MPI_Iprobe", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr* on, comm_for_probe(comm, source, tag));
    SHIM_TRY(check_output(flag, "flag"));
    SHIM_TRY_ASSIGN(auto outcome,
                    engine_of(**on).iprobe((*on)->context(), abi::to_p2p_rank(source), tag));
    *flag = outcome.has_value();
    if (outcome) abi::write_status(status, *outcome);
    return {};
  });
}

int Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  return run_with_handler(Subject::comm(comm), "MPI_Mprobe", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr* on, comm_for_probe(comm, source, tag));
    SHIM_TRY(check_output(message, "message"));
    SHIM_TRY_ASSIGN(p2p::Engine::Matched matched,
                    engine_of(**on).mprobe((*on)->context(), abi::to_p2p_rank(source), tag));
    return make_message_handle(matched, *on, comm, message, status);
  });
}

int Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
            MPI_Status* status) {
  return run_with_handler(Subject::comm(comm), "MPI_Improbe", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const sessions::CommunicatorPtr* on, comm_for_probe(comm, source, tag));
    SHIM_TRY(check_output(flag, "flag"));
    SHIM_TRY(check_output(message, "message"));
    SHIM_TRY_ASSIGN(auto matched,
                    engine_of(**on).improbe((*on)->context(), abi::to_p2p_rank(source), tag));
    *flag = matched.has_value();
    return matched ? make_message_handle(*matched, *on, comm, message, status) : base::Status{};
  });
}

}  // namespace impl
}  // namespace shim::intercept
