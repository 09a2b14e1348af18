// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/creation_send.hpp"

#include <utility>

#include "shim/sessions/process.hpp"

namespace shim::sessions {

void send_creation_bytes(Process& process, base::ProcessId to, std::vector<std::byte> bytes) {
  auto sent = process.engine().send_control(to, std::move(bytes));
  if (!sent) process.log().write(base::LogLevel::info, sent.error().text());
}

void send_creation_message(Process& process, base::ProcessId to, const CreationMessage& message) {
  send_creation_bytes(process, to, encode(message));
}

}  // namespace shim::sessions
