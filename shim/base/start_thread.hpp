// SPDX-License-Identifier: BSD-3-Clause
// Starts a thread with an error text that names its purpose.
#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace shim::base {

/// Start a thread that runs `function`. Throws std::system_error if none can be created, with a
/// text that names its purpose and the limits to check.
template <class Function>
std::thread start_thread(const std::string& purpose, Function&& function) {
  try {
    return std::thread(std::forward<Function>(function));
  } catch (const std::system_error& error) {
    throw std::system_error(error.code(), "cannot create the thread " + purpose +
                                              " (check ulimit -u, ulimit -s and ulimit -v)");
  }
}

}  // namespace shim::base
