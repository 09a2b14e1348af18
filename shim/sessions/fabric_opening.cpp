// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/fabric_opening.hpp"

#include <unistd.h>

#include <system_error>
#include <utility>

#include "shim/base/signals_blocked.hpp"

namespace shim::sessions {

FabricOpening::FabricOpening(Open open) : maker_(::getpid()), open_(std::move(open)) {
  base::SignalsBlocked blocked;  // the new thread begins with the mask of its maker
  try {
    thread_ = std::thread([this] { opened_.emplace(open_()); });
  } catch (const std::system_error&) {
    // no threads to be had: take() opens
  }
}

void FabricOpening::wait() {
  if (!thread_.joinable()) return;
  if (::getpid() == maker_) thread_.join();
  else thread_.detach();
}

FabricOpening::Opened FabricOpening::take() {
  wait();
  if (!opened_) return open_();
  Opened opened = std::move(*opened_);
  opened_.reset();
  return opened;
}

}  // namespace shim::sessions
