// SPDX-License-Identifier: BSD-3-Clause
// A provider of libfabric's that refuses, or keeps no order: its calls go through tables of functions, which a test can replace.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>

#include "shim/transport/transport.hpp"

namespace shim::transport::testing {

enum class Call { send, inject, receive, send_matched, inject_matched, receive_matched, cancel, insert, read, register_memory, completions };

/// What stands between one libfabric transport and its provider. To be made right after the transport and destroyed after it.
class Sabotage {
 public:
  /// Asked at each call: 0 lets it pass, kLost drops what an injection would send, or damages what a send does, which the provider says has
  /// been sent; anything else is what the provider says instead (-FI_EAGAIN and so on).
  static constexpr ssize_t kLost = 1;
  using Refusal = std::function<ssize_t(Call)>;

  /// @param shuffles sends are put off and change places, up to four at a time
  explicit Sabotage(Transport& ofi, Refusal refusal, bool shuffles = false);
  ~Sabotage();

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace shim::transport::testing
