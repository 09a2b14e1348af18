// SPDX-License-Identifier: BSD-3-Clause
// Detects processes of one host that do not share /dev/shm, for example in separate containers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shim::node {

/// Return the id of a process of this user that has another file at this path because another file
/// system is mounted there; nothing if none is found. Scans /proc, which takes milliseconds.
std::optional<std::int32_t> process_with_another_file(const std::string& path);

}  // namespace shim::node
