// SPDX-License-Identifier: BSD-3-Clause
// The backends that the conformance tests run over.
#include "shim/transport/loop/loop.hpp"
#include "shim/transport/self/self.hpp"
#include "tests/transport/rig.hpp"

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

}  // namespace

std::vector<Backend> all_backends() {
  LoopFaults faulty{.seed = 7, .again_chance = 0.3, .max_delay = 5, .reorder_pairs = true, .outbox_polls = 2};
  return {
      {"self", 1, make_self_rig},
      {"loop", 8, [](int size, std::string&) { return make_loop_rig({}, size); }},
      {"loop_with_faults", 8, [faulty](int size, std::string&) { return make_loop_rig(faulty, size); }},
  };
}

}  // namespace shim::transport::testing
