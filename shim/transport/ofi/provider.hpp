// SPDX-License-Identifier: BSD-3-Clause
// Which of libfabric's providers to use, and over which interface.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shim/transport/ofi/library.hpp"
#include "shim/transport/ofi/ofi.hpp"

namespace shim::transport {

/// The providers to try, in this order: the one that the user wants, else those that pass the conformance tests, the one to
/// prefer first (measured: docs/measurements.md).
std::vector<std::string> candidates(const std::string& wanted);

/// "eth1 10.1.0.2": where the endpoint described would be; without the address where it is none of the Internet's.
std::string interface_of(const fi_info& info);

/// The description of an endpoint of this provider over the interface wanted. Nothing but the means we need is asked for, and what it
/// lacks is done here (traits.hpp). A name may lack the layers that make the provider fit: "verbs" finds "verbs;ofi_rxm".
/// Errors: other (with the reason, without the provider's name).
base::Result<InfoList> find_provider(const Library& library, const OfiSettings& settings, std::string_view provider);

}  // namespace shim::transport
