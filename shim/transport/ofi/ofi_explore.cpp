// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/descriptor.hpp"
#include "shim/transport/ofi/endpoint.hpp"
#include "shim/transport/ofi/ofi.hpp"
#include "shim/transport/ofi/provider.hpp"
#include "shim/transport/ofi/provider_warning.hpp"

namespace shim::transport {
namespace {

base::LoadedLibrary describe(const OfiLibrary& library) {
  const std::uint32_t version = library.version();
  return {base::file_of(reinterpret_cast<const void*>(library.version)),
          std::to_string(FI_MAJOR(version)) + "." + std::to_string(FI_MINOR(version))};
}

/// Check that a provider is usable. A listed provider's endpoint may still fail to open; that is
/// tried only where make_ofi would.
base::Status explore(const OfiLibrary& library, const OfiSettings& settings, bool tries_endpoint,
                     OfiProvider& provider) {
  SHIM_TRY_ASSIGN(InfoList info, find_provider(library, settings, provider.name));
  provider.interface = interface_of(*info);
  provider.warning = provider_warning(provider.name, tcp_receive_memory());
  if (tries_endpoint) {
    SHIM_TRY_ASSIGN(Endpoint endpoint, Endpoint::open(library, std::move(info), settings.tuning));
    endpoint.close();
  }
  return {};
}

}  // namespace

base::Result<ProviderReport> explore_ofi(const OfiSettings& settings) {
  const base::StandardStreamsHeld streams;
  SHIM_TRY_ASSIGN(const OfiLibrary library, OfiLibrary::load());
  ProviderReport offer{describe(library), {}, std::nullopt};
  for (const std::string& name : candidates(settings.provider)) {
    OfiProvider& provider = offer.providers.emplace_back(OfiProvider{name, {}, std::nullopt});
    auto explored = explore(library, settings, !offer.chosen, provider);
    if (!explored)
      provider.error = std::move(explored).error();
    else if (!offer.chosen)
      offer.chosen = offer.providers.size() - 1;
  }
  return offer;
}

}  // namespace shim::transport
