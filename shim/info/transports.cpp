// SPDX-License-Identifier: BSD-3-Clause
#include "shim/info/info.hpp"

namespace shim::info {
namespace {

std::string provider_text(const transport::OfiProvider& provider, bool is_chosen) {
  if (provider.error) return "not usable: " + provider.error->text();
  return "offered at " + provider.interface + (is_chosen ? "; would be used" : "");
}

}  // namespace

Section transports_section(const base::Result<transport::OfiOffer>& fabric, const base::Settings& settings) {
  Section section{"transports", {}};
  section.add("inside a node", settings.transport == "fabric" ? "libfabric" : "shared memory");
  section.add("between nodes", "libfabric");
  if (!fabric) {
    section.add("libfabric", "not found: " + fabric.error().text());
    return section;
  }
  section.add("libfabric", fabric->library.version);
  section.add("", fabric->library.file);
  for (std::size_t i = 0; i < fabric->providers.size(); ++i)
    section.add(std::to_string(i + 1) + ". " + fabric->providers[i].name, provider_text(fabric->providers[i], fabric->chosen == i));
  if (!fabric->chosen) section.add("", "none of them can be used: groups that span nodes will fail");
  return section;
}

}  // namespace shim::info
