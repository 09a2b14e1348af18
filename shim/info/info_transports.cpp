// SPDX-License-Identifier: BSD-3-Clause
#include "shim/info/info.hpp"

namespace shim::info {
namespace {

/// Return the state of a provider; `if_chosen` is appended to the text of a usable provider (empty
/// unless the transport would choose this one).
std::string provider_text(const transport::OfiProvider& provider, const char* if_chosen) {
  if (provider.error) return "not usable: " + provider.error->text();
  return "available at " + provider.interface + if_chosen;
}

}  // namespace

Section transports_section(const base::Result<transport::ProviderReport>& fabric,
                           const base::Settings& settings) {
  Section section{"transports", {}};
  const bool uses_libfabric = !settings.provider.empty();
  const std::string between = uses_libfabric ? "libfabric" : "TCP connections";
  section.add("inside a node", settings.transport == "fabric" ? between : "shared memory");
  section.add("between nodes", between);
  if (!fabric) {
    section.add("libfabric", "not found: " + fabric.error().text());
    return section;
  }
  section.add("libfabric", fabric->library.version);
  section.add("", fabric->library.file);
  const char* if_chosen = uses_libfabric ? "; would be used"
                                         : "; would be used if INTERSESSION_PROVIDER were any";
  for (std::size_t i = 0; i < fabric->providers.size(); ++i) {
    const transport::OfiProvider& provider = fabric->providers[i];
    section.add(std::to_string(i + 1) + ". " + provider.name,
                provider_text(provider, fabric->chosen == i ? if_chosen : ""));
    if (!provider.warning.empty()) section.add("", provider.warning);
  }
  if (!fabric->chosen && uses_libfabric)
    section.add("", "no provider is usable: groups that span nodes will fail");
  return section;
}

}  // namespace shim::info
