// SPDX-License-Identifier: BSD-3-Clause
// Returns the version of this build.
#pragma once

namespace shim::base {

/// Return version and git commit, for example "0.2.0 (commit 0123456789ab)"; only the version if
/// the sources were not in a git repository. The definition is generated (cmake/Version.cmake).
const char* version_text() noexcept;

}  // namespace shim::base
