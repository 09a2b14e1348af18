// SPDX-License-Identifier: BSD-3-Clause
// A network of the test's own, for what stops over one as the system sets it up.
#pragma once

#include <string_view>

namespace shim::transport::testing {

/// To be called by tests before they open this provider. Where it is one that may stop over TCP connections with as little memory as
/// theirs have at first (caution_about), the caller, and the threads it starts from now on, get a network namespace in which they have
/// enough, with nothing but "lo" in it. Where the system does not allow that, nothing changes.
void make_room_for(std::string_view provider);

}  // namespace shim::transport::testing
