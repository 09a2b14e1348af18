// SPDX-License-Identifier: BSD-3-Clause
// Processes of one host that do not share a folder for shared memory, as when each is in a container of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shim::bootstrap {

/// Return the id of a process of this user that has another file at this path, because another file system is mounted
/// there for it; nothing if this process sees none. Looks at all processes in /proc: milliseconds.
std::optional<std::int32_t> process_with_another_file(const std::string& path);

}  // namespace shim::bootstrap
