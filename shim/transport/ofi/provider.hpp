// SPDX-License-Identifier: BSD-3-Clause
// Selection of the libfabric provider and interface.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shim/transport/ofi/library.hpp"
#include "shim/transport/ofi/ofi.hpp"

namespace shim::transport {

/// Return the providers to try, in order: the user's choice, else those that pass the conformance
/// tests, fastest first (docs/decisions/0024-tcp-between-nodes.md).
std::vector<std::string> candidates(const std::string& wanted);

/// Return the interface of an endpoint, e.g. "eth1 10.1.0.2"; without an Internet address only its
/// name.
std::string interface_of(const fi_info& info);

/// Return the description of an endpoint of this provider over the wanted interface. Requests only
/// capabilities that are needed; traits.hpp covers what a provider lacks. The name may lack upper
/// layers: "verbs" finds "verbs;ofi_rxm". Errors: other (the reason, without the provider's name).
base::Result<InfoList> find_provider(const OfiLibrary& library, const OfiSettings& settings,
                                     std::string_view provider);

}  // namespace shim::transport
