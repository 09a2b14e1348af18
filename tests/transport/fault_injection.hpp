// SPDX-License-Identifier: BSD-3-Clause
// FaultInjector makes a libfabric provider fail calls or reorder sends: it replaces functions in
// the provider's function tables.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>

#include "shim/transport/transport.hpp"

namespace shim::transport::testing {

enum class Call {
  send,
  inject,
  receive,
  send_matched,
  inject_matched,
  receive_matched,
  cancel,
  insert,
  read,
  register_memory,
  completions
};

/// Intercepts the calls of one libfabric transport to its provider. Construct it right after the
/// transport, and destroy it after the transport.
class FaultInjector {
 public:
  /// Called at each call. 0 passes the call on. kLost drops an injected send, damages the bytes of
  /// another send, or drops a read, and reports success; the read never completes. Any other value,
  /// such as -FI_EAGAIN, is returned instead of calling the provider.
  static constexpr ssize_t kLost = 1;
  using Refusal = std::function<ssize_t(Call)>;

  /// @param shuffles defer and reorder up to four sends at a time
  explicit FaultInjector(Transport& ofi, Refusal refusal, bool shuffles = false);
  ~FaultInjector();

  static constexpr int kNotClosed = 1;
  /// Return the result of the last fi_close of the domain; kNotClosed if there was none.
  int domain_closed() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace shim::transport::testing
