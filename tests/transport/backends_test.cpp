// SPDX-License-Identifier: BSD-3-Clause
// Defines the backends that the conformance tests run over.
#include <rdma/fi_errno.h>

#include <atomic>

#include "shim/transport/loop/loop.hpp"
#include "shim/transport/net/net.hpp"
#include "shim/transport/ofi/ofi.hpp"
#include "shim/transport/self/self.hpp"
#include "shim/transport/shm/cell_pool.hpp"
#include "shim/transport/shm/shm.hpp"
#include "tests/node/anonymous_area.hpp"
#include "tests/transport/fault_injection.hpp"
#include "tests/transport/large_buffer_network.hpp"
#include "tests/transport/rig.hpp"

namespace shim::transport::testing {
namespace {

using node::testing::AnonymousArea;
using node::testing::AnonymousSegment;

std::unique_ptr<Rig> make_self_rig(int, std::string&) {
  std::vector<std::unique_ptr<Transport>> transports;
  transports.push_back(make_self());
  return std::make_unique<OwningRig>(std::move(transports));
}

std::unique_ptr<Rig> make_loop_rig(LoopFaults faults, int size) {
  LoopNetwork network(faults);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int i = 0; i < size; ++i) transports.push_back(network.add());
  return std::make_unique<OwningRig>(std::move(transports));
}

struct ShmFixture {
  std::shared_ptr<AnonymousSegment> memory;
  std::vector<std::unique_ptr<AnonymousArea>> views;
};

std::unique_ptr<Rig> make_shm_rig(const ShmSettings& settings, int size, std::string& reason,
                                  std::size_t cell_pool_bytes = 0) {
  auto slots = static_cast<std::uint32_t>(size);
  auto fixture = std::make_shared<ShmFixture>();
  fixture->memory = std::make_shared<AnonymousSegment>(
      slots, shm_slot_bytes(slots), shm_pair_bytes(settings), 0, cell_pool_bytes);
  std::vector<std::unique_ptr<Transport>> transports;
  for (std::uint32_t i = 0; i < slots; ++i) {
    fixture->views.push_back(std::make_unique<AnonymousArea>(fixture->memory, i));
    auto transport = make_shm(*fixture->views.back(), settings);
    if (!transport) {
      reason = transport.error().text();
      return nullptr;
    }
    fixture->views.back()->set_ready();
    transports.push_back(*std::move(transport));
  }
  return std::make_unique<OwningRig>(std::move(transports), fixture);
}

/// Makes the fault injector of a transport; empty: inject no faults.
using InjectorFactory = std::function<std::unique_ptr<FaultInjector>(Transport&)>;

std::unique_ptr<Rig> make_ofi_rig(const OfiSettings& settings, const InjectorFactory& make_injector,
                                  int size, std::string& reason) {
  pass_over_leaks_of(settings.provider);
  raise_receive_memory_for(settings.provider);
  auto injectors = std::make_shared<std::vector<std::unique_ptr<FaultInjector>>>();
  std::vector<std::unique_ptr<Transport>> transports;
  for (int i = 0; i < size; ++i) {
    auto transport = make_ofi(settings);
    if (!transport) {
      reason = transport.error().text();
      return nullptr;
    }
    transports.push_back(*std::move(transport));
    if (make_injector) injectors->push_back(make_injector(*transports.back()));
  }
  return std::make_unique<OwningRig>(std::move(transports), injectors);
}

/// The transport between nodes, over TCP only.
std::unique_ptr<Rig> make_net_rig(const NetSettings& settings, int size, std::string& reason) {
  std::vector<std::unique_ptr<Transport>> transports;
  for (int i = 0; i < size; ++i) {
    auto net = make_net(settings);
    if (!net) {
      reason = net.error().text();
      return nullptr;
    }
    transports.push_back(*std::move(net));
  }
  return std::make_unique<OwningRig>(std::move(transports));
}

/// The transport between nodes, with an in-memory fabric.
std::unique_ptr<Rig> make_net_rig_with_fabric(int size, std::string& reason) {
  const LoopFaults faults{.reads = LoopFaults::Reads::offered};
  auto network = std::make_shared<LoopNetwork>(faults);
  return make_net_rig({.interface = "lo",
                       .open_fabric = [network] { return network->add(); },
                       .max_packet_bytes = faults.max_packet_bytes},
                      size, reason);
}

Backend ofi_backend(const std::string& name, const OfiSettings& settings,
                    const InjectorFactory& make_injector = {}) {
  return {name, 4, [=](int size, std::string& reason) {
            return make_ofi_rig(settings, make_injector, size, reason);
          }};
}

/// Make every third call fail, each time with the next of three error codes.
std::unique_ptr<FaultInjector> refuse_some(Transport& transport) {
  return std::make_unique<FaultInjector>(transport, [calls = 0](Call call) mutable -> ssize_t {
    constexpr ssize_t kReasons[] = {-FI_EAGAIN, -FI_ENOMEM, -FI_ENOSPC};
    if (call == Call::completions || call == Call::register_memory || ++calls % 3 != 0) return 0;
    return kReasons[calls / 3 % 3];
  });
}

std::unique_ptr<FaultInjector> shuffle(Transport& transport) {
  return std::make_unique<FaultInjector>(
      transport, [](Call) { return 0; }, true);
}

}  // namespace

#ifdef __SANITIZE_ADDRESS__
static std::atomic<bool> provider_leaks{false};

/// Called by LeakSanitizer at the end of the process. A suppression by the library's name would
/// also hide leaks of Intersession. Visible, because otherwise the sanitizer's own function is
/// used.
extern "C" [[gnu::visibility("default")]] int __lsan_is_turned_off() { return provider_leaks; }

/// Ignore leaks of the provider "net": in libfabric 1.17 it keeps the fi_info and other memory of
/// each endpoint and connection, although Intersession closes all of them.
void pass_over_leaks_of(const std::string& provider) {
  if (provider == "net") provider_leaks = true;
}
#else
void pass_over_leaks_of(const std::string&) {}
#endif

std::vector<Backend> all_backends() {
  LoopFaults faulty{
      .seed = 7, .again_chance = 0.3, .max_delay = 5, .reorder_pairs = true, .outbox_polls = 2};
  return {
      {"self", 1, make_self_rig},
      {"loop", 8, [](int size, std::string&) { return make_loop_rig({}, size); }},
      {"loop_with_faults", 8,
       [faulty](int size, std::string&) { return make_loop_rig(faulty, size); }},
      {"loop_with_offers", 8,
       [](int size, std::string&) {
         return make_loop_rig({.reads = LoopFaults::Reads::offered}, size);
       }},
      {"shm", 8,
       [](int size, std::string& reason) { return make_shm_rig({.cookie = 77}, size, reason); }},
      {"shm_with_small_rings", 8,
       [](int size, std::string& reason) {
         return make_shm_rig({.ring_bytes = 4096, .cookie = 77}, size, reason);
       }},
      {"shm_with_cell_pools", 8,
       [](int size, std::string& reason) {
         return make_shm_rig({.cookie = 77}, size, reason, 16 * kCellBytes);
       }},
      {"net", 8,
       [](int size, std::string& reason) {
         return make_net_rig({.interface = "lo"}, size, reason);
       }},
      {"net_with_fabric", 8, make_net_rig_with_fabric},
      ofi_backend("ofi_tcp_rxm", {.provider = "tcp;ofi_rxm", .interface = "lo"}),
      ofi_backend("ofi_sockets", {.provider = "sockets", .interface = "lo"}),
      ofi_backend("ofi_tcp", {.provider = "tcp", .interface = "lo"}),
      ofi_backend("ofi_udp_rxd", {.provider = "udp;ofi_rxd", .interface = "lo"}),
      ofi_backend("ofi_shm", {.provider = "shm"}),
      ofi_backend("ofi_net", {.provider = "net", .interface = "lo"}),
      // Packets together with messages that the provider matches.
      ofi_backend("ofi_matching", {.provider = "tcp;ofi_rxm", .interface = "lo", .matching = true}),
      // Modes that other providers require, over a provider that also accepts them.
      ofi_backend("ofi_in_parts",
                  {.provider = "sockets", .interface = "lo", .tuning = {.longest_frame = 1500}}),
      ofi_backend("ofi_with_prefix",
                  {.provider = "sockets", .interface = "lo", .tuning = {.prefix_bytes = 40}}),
      ofi_backend("ofi_registered", {.provider = "sockets",
                                     .interface = "lo",
                                     .tuning = {.reads = true, .registers_buffers = true}}),
      ofi_backend("ofi_ordered_here",
                  {.provider = "sockets", .interface = "lo", .tuning = {.orders_itself = true}},
                  shuffle),
      ofi_backend("ofi_refusing",
                  {.provider = "sockets",
                   .interface = "lo",
                   .tuning = {.reads = true, .longest_frame = 4000}},
                  refuse_some),
  };
}

}  // namespace shim::transport::testing
