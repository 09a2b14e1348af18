// SPDX-License-Identifier: BSD-3-Clause
// The backends that the conformance tests run over.
#include <rdma/fi_errno.h>

#include <atomic>

#include "shim/transport/loop/loop.hpp"
#include "shim/transport/net/net.hpp"
#include "shim/transport/ofi/ofi.hpp"
#include "shim/transport/self/self.hpp"
#include "shim/transport/shm/depot.hpp"
#include "shim/transport/shm/shm.hpp"
#include "tests/transport/anonymous_area.hpp"
#include "tests/transport/rig.hpp"
#include "tests/transport/roomy_network.hpp"
#include "tests/transport/sabotage.hpp"

namespace shim::transport::testing {
namespace {

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

struct ShmGround {
  std::shared_ptr<AnonymousGround> memory;
  std::vector<std::unique_ptr<AnonymousArea>> views;
};

std::unique_ptr<Rig> make_shm_rig(const ShmSettings& settings, int size, std::string& reason, std::size_t depot_bytes = 0) {
  auto slots = static_cast<std::uint32_t>(size);
  auto ground = std::make_shared<ShmGround>();
  ground->memory = std::make_shared<AnonymousGround>(slots, shm_slot_bytes(slots), shm_pair_bytes(settings), 0, depot_bytes);
  std::vector<std::unique_ptr<Transport>> transports;
  for (std::uint32_t i = 0; i < slots; ++i) {
    ground->views.push_back(std::make_unique<AnonymousArea>(ground->memory, i));
    auto transport = make_shm(*ground->views.back(), settings);
    if (!transport) {
      reason = transport.error().text();
      return nullptr;
    }
    ground->views.back()->set_ready();
    transports.push_back(*std::move(transport));
  }
  return std::make_unique<OwningRig>(std::move(transports), ground);
}

/// What stands between a transport and its provider; none.
using Saboteur = std::function<std::unique_ptr<Sabotage>(Transport&)>;

std::unique_ptr<Rig> make_ofi_rig(const OfiSettings& settings, const Saboteur& saboteur, int size, std::string& reason) {
  pass_over_leaks_of(settings.provider);
  make_room_for(settings.provider);
  auto sabotages = std::make_shared<std::vector<std::unique_ptr<Sabotage>>>();
  std::vector<std::unique_ptr<Transport>> transports;
  for (int i = 0; i < size; ++i) {
    auto transport = make_ofi(settings);
    if (!transport) {
      reason = transport.error().text();
      return nullptr;
    }
    transports.push_back(*std::move(transport));
    if (saboteur) sabotages->push_back(saboteur(*transports.back()));
  }
  return std::make_unique<OwningRig>(std::move(transports), sabotages);
}

/// The way between nodes.
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

/// With a fabric in memory.
std::unique_ptr<Rig> make_net_rig_with_fabric(int size, std::string& reason) {
  auto network = std::make_shared<LoopNetwork>();
  return make_net_rig({.interface = "lo", .open_fabric = [network] { return network->add(); }, .max_packet_bytes = LoopFaults().max_packet_bytes},
                      size, reason);
}

Backend ofi_backend(const std::string& name, const OfiSettings& settings, const Saboteur& saboteur = {}) {
  return {name, 4, [=](int size, std::string& reason) { return make_ofi_rig(settings, saboteur, size, reason); }};
}

/// Refuses every third call, with another reason each time.
std::unique_ptr<Sabotage> refuse_some(Transport& transport) {
  return std::make_unique<Sabotage>(transport, [calls = 0](Call call) mutable -> ssize_t {
    constexpr ssize_t kReasons[] = {-FI_EAGAIN, -FI_ENOMEM, -FI_ENOSPC};
    if (call == Call::completions || call == Call::register_memory || ++calls % 3 != 0) return 0;
    return kReasons[calls / 3 % 3];
  });
}

std::unique_ptr<Sabotage> shuffle(Transport& transport) {
  return std::make_unique<Sabotage>(transport, [](Call) { return 0; }, true);
}

}  // namespace

#ifdef __SANITIZE_ADDRESS__
static std::atomic<bool> is_forgetful{false};

/// Asked by the leak sanitizer at the end of the process. Not a suppression by the library's name, which would also hide what we
/// forget to close. Visible, or the sanitizer's own is taken.
extern "C" [[gnu::visibility("default")]] int __lsan_is_turned_off() { return is_forgetful; }

/// Of libfabric 1.17: "net" keeps the fi_info and more of each end point and connection, though all of ours are closed.
void pass_over_leaks_of(const std::string& provider) {
  if (provider == "net") is_forgetful = true;
}
#else
void pass_over_leaks_of(const std::string&) {}
#endif

std::vector<Backend> all_backends() {
  LoopFaults faulty{.seed = 7, .again_chance = 0.3, .max_delay = 5, .reorder_pairs = true, .outbox_polls = 2};
  return {
      {"self", 1, make_self_rig},
      {"loop", 8, [](int size, std::string&) { return make_loop_rig({}, size); }},
      {"loop_with_faults", 8, [faulty](int size, std::string&) { return make_loop_rig(faulty, size); }},
      {"loop_with_offers", 8, [](int size, std::string&) { return make_loop_rig({.reads = LoopFaults::Reads::offered}, size); }},
      {"shm", 8, [](int size, std::string& reason) { return make_shm_rig({.cookie = 77}, size, reason); }},
      {"shm_with_small_rings", 8,
       [](int size, std::string& reason) { return make_shm_rig({.ring_bytes = 4096, .cookie = 77}, size, reason); }},
      {"shm_with_depots", 8,
       [](int size, std::string& reason) { return make_shm_rig({.cookie = 77}, size, reason, 16 * kDepotCell); }},
      {"net", 8, [](int size, std::string& reason) { return make_net_rig({.interface = "lo"}, size, reason); }},
      {"net_with_fabric", 8, make_net_rig_with_fabric},
      ofi_backend("ofi_tcp_rxm", {.provider = "tcp;ofi_rxm", .interface = "lo"}),
      ofi_backend("ofi_sockets", {.provider = "sockets", .interface = "lo"}),
      ofi_backend("ofi_tcp", {.provider = "tcp", .interface = "lo"}),
      ofi_backend("ofi_udp_rxd", {.provider = "udp;ofi_rxd", .interface = "lo"}),
      ofi_backend("ofi_shm", {.provider = "shm"}),
      ofi_backend("ofi_net", {.provider = "net", .interface = "lo"}),
      // Packets beside messages that the provider matches.
      ofi_backend("ofi_matching", {.provider = "tcp;ofi_rxm", .interface = "lo", .matching = true}),
      // What other providers want, asked of one that does not mind.
      ofi_backend("ofi_in_parts", {.provider = "sockets", .interface = "lo", .tuning = {.longest_frame = 1500}}),
      ofi_backend("ofi_with_prefix", {.provider = "sockets", .interface = "lo", .tuning = {.prefix_bytes = 40}}),
      ofi_backend("ofi_registered", {.provider = "sockets", .interface = "lo", .tuning = {.reads = true, .registers_buffers = true}}),
      ofi_backend("ofi_ordered_here", {.provider = "sockets", .interface = "lo", .tuning = {.orders_itself = true}}, shuffle),
      ofi_backend("ofi_refusing", {.provider = "sockets", .interface = "lo", .tuning = {.reads = true, .longest_frame = 4000}}, refuse_some),
  };
}

}  // namespace shim::transport::testing
