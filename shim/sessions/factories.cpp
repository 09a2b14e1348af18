// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/factories.hpp"

#include "shim/transport/ofi/ofi.hpp"

namespace shim::sessions {

Factories Factories::standard() {
  Factories factories;
  factories.launch_env = bootstrap::read_launch_env();
  factories.bootstrap = [lifetime = factories.lifetime,
                         env = factories.launch_env](const base::Settings& settings) {
    return bootstrap::open_bootstrap({.ready_timeout_s = settings.ready_timeout,
                                      .lifetime = lifetime.get(),
                                      .env = env,
                                      .pmix_everywhere = settings.bootstrap == "pmix"});
  };
  factories.fabric = [](const base::Settings& settings) {
    return transport::make_ofi({.provider = settings.provider,
                                .interface = settings.interface,
                                .matching = settings.matching == "provider"});
  };
  factories.fabric_packet_bytes = transport::ofi_packet_bytes();
  return factories;
}

}  // namespace shim::sessions
