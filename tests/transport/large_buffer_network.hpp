// SPDX-License-Identifier: BSD-3-Clause
// Provides a network namespace with large TCP buffers for providers that stall with the default.
#pragma once

#include <string_view>

namespace shim::transport::testing {

/// Give TCP connections enough receive memory for `provider`; call it before opening the provider.
/// Some providers may stall over connections with the initial receive memory of the system
/// (provider_warning). For those, move the calling thread, and threads that it starts later, to a
/// network namespace with more memory, which has only the interface "lo". No effect if the system
/// does not allow it.
void raise_receive_memory_for(std::string_view provider);

}  // namespace shim::transport::testing
